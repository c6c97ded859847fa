// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hybrid machine: two kinds of CPUs, each with a core PMU of its own, cpu_core and cpu_atom.  The
 * boot hybrid has two CPUs of each kind.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/kpmu-read.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define N		100000
#define CORE_COND	0x11c4	/* conditional branches, on cpu_core only */
#define ATOM_COND	0x7ec4	/* likewise on cpu_atom */

enum { CORE, ATOM };

static const char *const names[] = { "cpu_core", "cpu_atom" };
/* The first CPU of each kind, its attr.type, general counters, code of conditional branches */
static const int home[] = { 0, 2 }, gp[] = { 8, 6 }, cond[] = { CORE_COND, ATOM_COND };

static bool is_hybrid(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 15 & 1;
}

#define NEED_HYBRID()	do { if (!is_hybrid()) SKIP(return, "one kind of CPUs"); } while (0)

static int type_of(int kind)
{
	return pmu_type(names[kind]);
}

/* A generic event that names its PMU */
static uint64_t extended(int type, uint64_t config)
{
	return (uint64_t)type << 32 | config;
}

static void path_of(char *to, size_t size, int kind, const char *file)
{
	snprintf(to, size, "/sys/bus/%s/devices/%s/%s",
		 route_is_native() ? "event_source" : "kpmu", names[kind], file);
}

static const char *text_of(int kind, const char *file)
{
	static char text[200];
	char path[200];
	FILE *f;

	path_of(path, sizeof(path), kind, file);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f))
		strcpy(text, "none");
	if (f)
		fclose(f);
	text[strcspn(text, "\n")] = 0;
	return text;
}

TEST(folders)
{
	ROWS("HY-01");
	long native;

	NEED_HYBRID();
	EXPECT_EQ(type_of(CORE), PERF_TYPE_RAW);
	native = read_long("/sys/bus/event_source/devices/cpu_atom/type");
	EXPECT_GT(native, PERF_TYPE_RAW);
	EXPECT_EQ(type_of(ATOM), native);
	EXPECT_EQ(strcmp(text_of(CORE, "cpus"), "0-1"), 0);
	EXPECT_EQ(strcmp(text_of(ATOM, "cpus"), "2-3"), 0);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(strcmp(text_of(i, "format/offcore_rsp"), "config1:0-63"), 0);
		EXPECT_EQ(strcmp(text_of(i, "caps/pmu_name"), "alderlake_hybrid"), 0);
		EXPECT_EQ(strcmp(text_of(i, "events/instructions"), "event=0xc0"), 0);
		EXPECT_EQ(strcmp(text_of(i, "rdpmc"), "1"), 0);
	}
	EXPECT_EQ(strcmp(text_of(CORE, "events/slots"), "event=0x00,umask=0x4"), 0);
	EXPECT_EQ(strcmp(text_of(ATOM, "events/slots"), "none"), 0);
	EXPECT_EQ(strcmp(text_of(ATOM, "events/topdown-retiring"), "none") != 0, 1);
}

TEST(folders_follow_hotplug)
{
	ROWS("HY-01");
	struct perf_event_attr a;
	int type;

	NEED_HYBRID();
	type = type_of(ATOM);
	ASSERT_EQ(cpu_online(3, 0), 0);
	EXPECT_EQ(strcmp(text_of(ATOM, "cpus"), "2"), 0);
	EXPECT_EQ(strcmp(text_of(CORE, "cpus"), "0-1"), 0);
	ASSERT_EQ(cpu_online(3, 1), 0);
	EXPECT_EQ(strcmp(text_of(ATOM, "cpus"), "2-3"), 0);
	a = ev_attr(type, 0xc0);
	EXPECT_EQ(ev_errno(&a, -1, 3, -1, 0), 0);
}

/* What an event of this task counts of work(N) on a CPU; its times go to *@t */
static uint64_t count_at(int fd, int cpu, struct ev_times *t)
{
	pin_to(cpu);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	work_counted(fd, N, 0);
	*t = ev_times(fd);
	return t->value;
}

/* On CPUs of @kind the event counts @expected for work(N); on the others it does not run */
static void counts_on(struct __test *_metadata, int kind, uint32_t type, uint64_t config,
		      uint64_t expected)
{
	struct ev_times t;
	int fd;

	fd = ev_self_times(type, config, -1);
	EXPECT_EQ(count_at(fd, home[!kind], &t), 0);
	EXPECT_GT(t.enabled, 0);
	EXPECT_EQ(t.running, 0);
	close(fd);
	fd = ev_self_times(type, config, -1);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(count_at(fd, home[kind] + i, &t), expected);
		EXPECT_EQ(t.enabled, t.running);
	}
	close(fd);
}

TEST(raw_events)
{
	ROWS("HY-02");
	NEED_HYBRID();
	for (int i = 0; i < 2; i++) {
		counts_on(_metadata, i, type_of(i), 0x00c0, WORK_INSNS(N));
		counts_on(_metadata, i, type_of(i), RAW_BRANCHES, WORK_BRANCHES(N));
		counts_on(_metadata, i, type_of(i), RAW_LOADS, WORK_LOADS(N));
		counts_on(_metadata, i, type_of(i), RAW_STORES, WORK_STORES(N));
		counts_on(_metadata, i, type_of(i), cond[i], N);
		counts_on(_metadata, i, type_of(i), cond[!i], 0);
	}
}

/* Without a PMU in config, an event of a task on any CPU is one of the first PMU */
TEST(generic_events)
{
	ROWS("HY-03 U-21");
	const uint64_t insns = PERF_COUNT_HW_INSTRUCTIONS, loads = 0;	/* L1D, read, access */

	NEED_HYBRID();
	counts_on(_metadata, CORE, PERF_TYPE_HARDWARE, insns, WORK_INSNS(N));
	counts_on(_metadata, CORE, PERF_TYPE_HW_CACHE, loads, WORK_LOADS(N));
	for (int i = 0; i < 2; i++) {
		counts_on(_metadata, i, PERF_TYPE_HARDWARE, extended(type_of(i), insns), WORK_INSNS(N));
		counts_on(_metadata, i, PERF_TYPE_HW_CACHE, extended(type_of(i), loads), WORK_LOADS(N));
	}
}

/* A type that no PMU has is ignored; one of another PMU is not */
TEST(generic_events_of_others)
{
	ROWS("HY-03 U-21");
	const uint64_t insns = PERF_COUNT_HW_INSTRUCTIONS;
	struct perf_event_attr a;

	NEED_HYBRID();
	counts_on(_metadata, CORE, PERF_TYPE_HARDWARE, extended(77, insns), WORK_INSNS(N));
	for (int i = 0; i < 2; i++) {
		a = ev_attr(PERF_TYPE_HARDWARE, extended(77, insns));
		EXPECT_EQ(ev_errno(&a, -1, home[i], -1, 0), 0);
		a = ev_attr(PERF_TYPE_HARDWARE, extended(PERF_TYPE_SOFTWARE, insns));
		EXPECT_EQ(ev_errno(&a, -1, home[i], -1, 0), ENOENT);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	}
}

TEST(cpu_events)
{
	ROWS("HY-03 HY-04");
	struct perf_event_attr a;
	struct ev_times t;
	int fd;

	NEED_HYBRID();
	for (int i = 0; i < 2; i++) {
		const uint32_t types[] = { PERF_TYPE_HARDWARE, PERF_TYPE_HARDWARE, type_of(i) };
		const uint64_t configs[] = { 1, extended(type_of(i), 1), 0xc0 };

		for (int k = 0; k < 3; k++) {
			a = ev_attr(types[k], configs[k]);
			a.read_format = FORMAT_TIMES;
			fd = ev_must(&a, 0, home[i], -1, 0);
			EXPECT_EQ(count_at(fd, home[i], &t), WORK_INSNS(N));
			close(fd);
			EXPECT_EQ(ev_errno(&a, -1, home[i], -1, 0), 0);
			/* The first has no PMU of its own */
			EXPECT_EQ(ev_errno(&a, -1, home[!i], -1, 0), k ? ENOENT : 0);
			EXPECT_EQ(ev_errno(&a, 0, home[!i], -1, 0), k ? ENOENT : 0);
		}
	}
	/* Misses of the first-level data cache: not on cpu_atom */
	a = ev_attr(PERF_TYPE_HW_CACHE, 1 << 16);
	EXPECT_EQ(ev_errno(&a, -1, home[CORE], -1, 0), 0);
	EXPECT_EQ(ev_errno(&a, -1, home[ATOM], -1, 0), ENOENT);
}

static int open_in(uint32_t type, uint64_t config, int lead)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.disabled = lead < 0;
	return ev_open(&a, 0, -1, lead, 0);
}

static int room_for(uint32_t type, uint64_t config)
{
	int fd[40], n;

	for (n = 0; n < 40; n++) {
		fd[n] = open_in(type, config, n ? fd[0] : -1);
		if (fd[n] < 0)
			break;
	}
	for (int i = 0; i < n; i++)
		close(fd[i]);
	return n;
}

TEST(counters)
{
	ROWS("HY-05");
	NEED_HYBRID();
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(room_for(type_of(i), 0x00c0), gp[i] + 1);
		EXPECT_EQ(room_for(type_of(i), 0x003c), gp[i] + 1);
		EXPECT_EQ(room_for(type_of(i), 0x013c), gp[i] + 1);
		EXPECT_EQ(room_for(type_of(i), RAW_BRANCHES), gp[i]);
		EXPECT_EQ(room_for(type_of(i), RAW_LOADS), i == CORE ? 4 : 6);
		EXPECT_EQ(room_for(type_of(i), 0x0300), 1);
	}
	EXPECT_EQ(room_for(type_of(CORE), 0x0400), 1);
}

TEST(groups)
{
	ROWS("HY-04");
	int lead, soft;

	NEED_HYBRID();
	for (int i = 0; i < 2; i++) {
		lead = open_in(type_of(i), 0xc0, -1);
		ASSERT_GE(lead, 0);
		EXPECT_GE(open_in(type_of(i), RAW_BRANCHES, lead), 0);
		EXPECT_EQ(open_in(type_of(!i), RAW_BRANCHES, lead), -1);
		EXPECT_EQ(errno, EINVAL);
		EXPECT_GE(open_in(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, lead), 0);
		soft = open_in(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, -1);
		EXPECT_GE(open_in(type_of(i), RAW_BRANCHES, soft), 0);
		EXPECT_EQ(open_in(type_of(!i), RAW_BRANCHES, soft), -1);
		EXPECT_EQ(errno, EINVAL);
	}
}

/* Each instruction of a task that changes its CPU is counted by one of the two events */
TEST(migration)
{
	ROWS("HY-06 T-97");
	struct perf_event_attr a;
	uint64_t sum[2] = { 0 };
	struct worker w;
	int fd[2];

	NEED_HYBRID();
	EXPECT_NE(type_of(0), type_of(1));
	worker_start(&w);
	for (int i = 0; i < 2; i++) {
		a = ev_attr(type_of(i), 0xc0);
		a.disabled = 0;
		a.read_format = FORMAT_TIMES;
		fd[i] = ev_must(&a, w.pid, -1, -1, 0);
	}
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 2; i++)
			sum[k] -= ev_count(fd[i]);
		worker_roam(&w, (k + 1) * N, 4 * nr_cpus());
		for (int i = 0; i < 2; i++) {
			EXPECT_GT(ev_count(fd[i]), 4 * 2 * WORK_INSNS((k + 1) * N));
			sum[k] += ev_count(fd[i]);
		}
	}
	EXPECT_EQ(sum[1] - sum[0], 4 * nr_cpus() * worker_insns(2 * N, N));
	EXPECT_EQ(ev_times(fd[0]).enabled, ev_times(fd[1]).enabled);
	if (!route_is_native())
		EXPECT_EQ(ev_times(fd[0]).running + ev_times(fd[1]).running,
			  ev_times(fd[0]).enabled);
	worker_stop(&w);
}

/* Children that run on the other kind of CPU count nothing; an event of both kinds gets each */
TEST(inherited)
{
	ROWS("HY-06");
	struct perf_event_attr a;
	struct worker w, kid;
	uint64_t before[2];
	int fd[2];

	NEED_HYBRID();
	worker_start(&w);
	for (int i = 0; i < 2; i++) {
		a = ev_attr(type_of(i), RAW_BRANCHES);
		a.disabled = 0;
		a.inherit = 1;
		fd[i] = ev_must(&a, w.pid, -1, -1, 0);
	}
	worker_fork(&w, &kid);
	for (int i = 0; i < 2; i++) {
		worker_pin(&kid, home[i]);
		worker_pin(&w, home[i]);
		worker_run(&kid, N);
		before[i] = ev_count(fd[i]);
		before[!i] = ev_count(fd[!i]);
		worker_run(&kid, 2 * N);
		worker_run(&kid, N);
		EXPECT_GE(ev_count(fd[i]) - before[i], 3 * N);
		EXPECT_LT(ev_count(fd[i]) - before[i], 3 * N + 1000);
		EXPECT_EQ(ev_count(fd[!i]), before[!i]);
	}
	worker_stop(&kid);
	worker_stop(&w);
}

/* A pinned event waits for its CPUs without an error */
TEST(pinned)
{
	ROWS("HY-02");
	struct perf_event_attr a;
	struct ev_times t;
	int fd;

	NEED_HYBRID();
	for (int i = 0; i < 2; i++) {
		pin_to(home[!i]);
		a = ev_attr(type_of(i), 0xc0);
		a.pinned = 1;
		a.read_format = FORMAT_TIMES;
		fd = ev_must(&a, 0, -1, -1, 0);
		work_counted(fd, N, 0);
		ASSERT_EQ(read(fd, &t, sizeof(t)), (ssize_t)sizeof(t));
		EXPECT_EQ(t.value, 0);
		EXPECT_EQ(t.running, 0);
		EXPECT_EQ(count_at(fd, home[i], &t), WORK_INSNS(N));
		close(fd);
	}
}

/* A software leader waits with its member */
TEST(software_leader)
{
	ROWS("HY-02");
	struct perf_event_attr a;
	struct ev_times t;
	int lead, fd;

	NEED_HYBRID();
	for (int i = 0; i < 2; i++) {
		pin_to(home[!i]);
		lead = ev_self_times(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, -1);
		a = ev_attr(type_of(i), 0xc0);
		a.disabled = 0;
		a.read_format = FORMAT_TIMES;
		fd = ev_must(&a, 0, -1, lead, 0);
		work_counted(lead, N, 0);
		t = ev_times(fd);
		EXPECT_EQ(t.value, 0);
		EXPECT_EQ(t.running, 0);
		EXPECT_GT(ev_times(lead).enabled, 0);
		pin_to(home[i]);
		work_counted(lead, N, 0);
		EXPECT_EQ(ev_count(fd), WORK_INSNS(N));
		close(fd);
		close(lead);
	}
}

/* More events than counters, of both kinds: those of a kind share its counters */
TEST(multiplexed)
{
	ROWS("HY-05");
	struct ev_times t;
	struct perf_event_attr a;
	struct worker w;
	int fd[2][12];

	NEED_HYBRID();
	worker_start(&w);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 12; k++) {
			a = ev_attr(type_of(i), RAW_BRANCHES);
			a.disabled = 0;
			a.read_format = FORMAT_TIMES;
			fd[i][k] = ev_must(&a, w.pid, -1, -1, 0);
		}
	for (int i = 0; i < 2; i++) {
		uint64_t ran = 0, enabled, before;

		worker_pin(&w, home[i]);
		before = ev_times(fd[i][0]).enabled;
		for (int k = 0; k < 12; k++)
			ran -= ev_times(fd[i][k]).running;
		worker_run(&w, 400 * (uint64_t)N);
		enabled = ev_times(fd[i][0]).enabled - before;
		for (int k = 0; k < 12; k++) {
			t = ev_times(fd[i][k]);
			EXPECT_GT(t.running, 0);
			EXPECT_LT(t.running, t.enabled);
			ran += t.running;
		}
		/* No counter is idle, and none has two events */
		EXPECT_LE(ran, gp[i] * enabled);
		EXPECT_GE(ran, gp[i] * enabled - (route_is_native() ? enabled / 10 : 0));
	}
	worker_stop(&w);
}

TEST(rdpmc)
{
	ROWS("HY-02");
	NEED_HYBRID();
	for (int i = 0; i < 2; i++) {
		int fd = ev_self_times(type_of(i), 0xc0, -1);
		struct perf_event_mmap_page *p =
			mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		struct kpmu_value v[2];

		ASSERT_NE(p, MAP_FAILED);
		pin_to(home[i]);
		ev_enable(fd);
		EXPECT_NE(p->index, 0);
		EXPECT_EQ((int)p->cap_user_rdpmc, 1);
		ASSERT_EQ(kpmu_read_self(p, &v[0]), 0);
		work(N);
		ASSERT_EQ(kpmu_read_self(p, &v[1]), 0);
		EXPECT_GE(v[1].value - v[0].value, WORK_INSNS(N));
		EXPECT_LT(v[1].value - v[0].value, WORK_INSNS(N) + 200);
		pin_to(home[!i]);
		EXPECT_EQ(p->index, 0);
		pin_to(home[i]);
		EXPECT_NE(p->index, 0);
		munmap(p, 4096);
		close(fd);
	}
}

#define PERIOD	10007

/* Overflows on each kind of CPU, and none on the other */
TEST(samples)
{
	ROWS("HY-02");
	struct perf_event_attr a;
	struct ring r;
	int fd;

	NEED_HYBRID();
	no_throttle();
	for (int i = 0; i < 2; i++) {
		a = ev_attr(type_of(i), 0xc0);
		a.sample_period = PERIOD;
		a.sample_type = PERF_SAMPLE_IP;
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 8);
		pin_to(home[!i]);
		work_counted(fd, 4 * N, 0);
		EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 0);
		pin_to(home[i]);
		work_counted(fd, 4 * N, 0);
		EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), (int)(WORK_INSNS(4 * N) / PERIOD));
		ring_unmap(&r);
		close(fd);
	}
}

/* The events of each kind of CPU get its counters: those of the other do not take them away */
TEST(explained)
{
	ROWS("W-01 W-02");
	struct kpmu_explain_event ev[16];
	struct perf_event_attr attr[2];
	struct kpmu_explain set = {
		.size = sizeof(ev[0]), .nr = 16, .cpu = -1, .events = (uintptr_t)ev,
	};
	int fd;

	NEED_HYBRID();
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	memset(ev, 0, sizeof(ev));
	for (int i = 0; i < 16; i++) {
		attr[i & 1] = ev_attr(type_of(i & 1), RAW_BRANCHES);
		ev[i].attr = (uintptr_t)&attr[i & 1];
		ev[i].group = -1;
	}
	fd = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(ioctl(fd, KPMU_IOC_EXPLAIN, &set), 0);
	for (int i = 0; i < 16; i++) {
		EXPECT_EQ(ev[i].error, 0);
		EXPECT_EQ(ev[i].fits, i / 2 < gp[i & 1]);
		EXPECT_EQ(ev[i].allowed, (1U << gp[i & 1]) - 1);
		EXPECT_EQ(ev[i].rules, 0);
	}
	set.cpu = home[ATOM];
	for (int i = 0; i < 16; i++) {
		ev[i].attr = (uintptr_t)&attr[i & 1];
		ev[i].group = -1;
	}
	ASSERT_EQ(ioctl(fd, KPMU_IOC_EXPLAIN, &set), 0);
	for (int i = 0; i < 16; i++) {
		EXPECT_EQ(ev[i].error, i & 1 ? 0 : ENOENT);
		EXPECT_EQ(ev[i].fits, (i & 1) && i / 2 < gp[ATOM]);
	}
}

/* A group whose leader needs no counter is one of its members' kind of CPUs */
TEST(explained_software_leader)
{
	ROWS("W-01 W-02");
	struct kpmu_explain_event ev[16];
	struct perf_event_attr attr[3];
	struct kpmu_explain set = {
		.size = sizeof(ev[0]), .cpu = -1, .events = (uintptr_t)ev,
	};
	int fd, last;

	NEED_HYBRID();
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	last = gp[CORE] + 1;
	ASSERT_LT(last + 1, 16);
	attr[0] = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	attr[1] = ev_attr(type_of(CORE), RAW_BRANCHES);
	attr[1].disabled = 0;
	attr[2] = ev_attr(type_of(ATOM), RAW_BRANCHES);
	memset(ev, 0, sizeof(ev));
	for (int i = 0; i < 16; i++) {
		ev[i].attr = (uintptr_t)&attr[!!i];
		ev[i].group = i == 1 ? 0 : -1;
	}
	ev[last + 1].attr = (uintptr_t)&attr[2];
	set.nr = last + 2;
	fd = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(ioctl(fd, KPMU_IOC_EXPLAIN, &set), 0);
	for (int i = 0; i <= last + 1; i++) {
		EXPECT_EQ(ev[i].error, 0);
		EXPECT_EQ(ev[i].fits, i != last);
	}
	EXPECT_EQ(ev[last].blocker, last - 1);
}

TEST_HARNESS_MAIN
