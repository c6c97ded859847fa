// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each kind of side-band record finds no room in a ring that COMM records have filled: all of them
 * are counted as lost, and the number is in a LOST record later.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cgroup.h"
#include "event.h"
#include "harness.h"
#include "ring.h"

#define COMM_SIZE	(8 + 16)

static struct record rec;

/* Counts nothing.  Without sample_id_all a COMM record is small: at most 15 bytes stay free */
static struct perf_event_attr dummy(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);

	a.comm = 1;
	a.read_format = PERF_FORMAT_LOST;
	return a;
}

static uint64_t lost(int fd)
{
	uint64_t v[2] = { 0, -1 };

	if (read(fd, v, sizeof(v)) != sizeof(v))
		return -1;
	return v[1];
}

static void fill(int fd)
{
	int i;

	for (i = 0; i <= 4095 / COMM_SIZE && !lost(fd); i++)
		prctl(PR_SET_NAME, "x");
}

/*
 * The events of a test: with @r[0], which has room for all records, and with @r[1], which is full.  An
 * event of the task, or of CPU @cpu if it is not negative.
 */
static void open_both(int fd[2], struct ring r[2], const struct perf_event_attr *a, int cpu)
{
	const struct sched_param first = { .sched_priority = 1 };

	for (int i = 0; i < 2; i++) {
		fd[i] = ev_must(a, cpu < 0 ? 0 : -1, cpu, -1, 0);
		ring_map(&r[i], fd[i], a, i ? 1 : 64);
	}
	/* Preempted between two calls here, the task would have records in one ring only */
	sched_setscheduler(0, SCHED_FIFO, &first);
	for (int i = 0; i < 2; i++)
		ev_enable(fd[i]);
	fill(fd[1]);
	ring_skip(&r[0]);
}

/* Each of the records in @r[0] is lost in @r[1]; return: how many have type @type */
static int compare(struct __test *_metadata, int fd[2], struct ring r[2], uint64_t before,
		   uint32_t type)
{
	int n = 0, all = 0;
	uint64_t more;

	for (int i = 0; i < 2; i++)
		ev_disable(fd[i]);
	while (ring_next(&r[0], &rec)) {
		all++;
		n += rec.head.type == type;
	}
	more = lost(fd[1]);
	EXPECT_EQ(lost(fd[0]), 0);
	EXPECT_EQ(more - before, all);
	while (ring_next(&r[1], &rec))
		EXPECT_EQ(rec.head.type, PERF_RECORD_COMM);
	ring_consume(&r[1]);
	ev_enable(fd[1]);
	prctl(PR_SET_NAME, "y");
	ev_disable(fd[1]);
	ASSERT_TRUE(ring_next(&r[1], &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_LOST);
	EXPECT_EQ(record_u64(&rec, 0), ev_id(fd[1]));
	EXPECT_EQ(record_u64(&rec, 8), more);
	ASSERT_TRUE(ring_next(&r[1], &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_COMM);
	return n;
}

static void test(struct __test *_metadata, const struct perf_event_attr *a,
		 void (*cause)(struct __test *_metadata), uint32_t type, int expected)
{
	struct ring r[2];
	uint64_t before;
	int fd[2];

	open_both(fd, r, a, -1);
	before = lost(fd[1]);
	ASSERT_EQ(before, 1);
	cause(_metadata);
	EXPECT_EQ(compare(_metadata, fd, r, before, type), expected);
}

static void map_code(struct __test *_metadata)
{
	ASSERT_NE(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		  MAP_FAILED);
}

TEST(mmap_)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();

	a.mmap = 1;
	test(_metadata, &a, map_code, PERF_RECORD_MMAP, 1);
}

TEST(mmap2)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();

	a.mmap = 1;
	a.mmap2 = 1;
	test(_metadata, &a, map_code, PERF_RECORD_MMAP2, 1);
}

static void change_namespace(struct __test *_metadata)
{
	ASSERT_EQ(unshare(CLONE_NEWUTS), 0);
}

TEST(namespaces)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();

	a.namespaces = 1;
	test(_metadata, &a, change_namespace, PERF_RECORD_NAMESPACES, 1);
}

static struct cgroup root, born;

static void make_cgroup(struct __test *_metadata)
{
	cgroup_make(&born, &root, "kpmu-full");
}

TEST(cgroup)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();

	a.cgroup = 1;
	cgroup_v2();
	cgroup_root(&root);
	test(_metadata, &a, make_cgroup, PERF_RECORD_CGROUP, 1);
	cgroup_remove(&born);
}

static void fork_once(struct __test *_metadata)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
}

/* The exit of the child is a record of its own events, of which there are none */
TEST(fork_)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();

	a.task = 1;
	test(_metadata, &a, fork_once, PERF_RECORD_FORK, 1);
}

static int program = -1;

static void load_program(struct __test *_metadata)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = 2, .insns = (uintptr_t)insns, .license = (uintptr_t)"GPL",
	};

	program = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
}

/* Records of the load only: the program exists until the end */
static void test_bpf(struct __test *_metadata, const struct perf_event_attr *a, uint32_t type)
{
	load_program(_metadata);
	if (program < 0)
		SKIP(return, "this kernel loads no BPF programs");
	test(_metadata, a, load_program, type, 1);
}

TEST(bpf_event)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();

	a.bpf_event = 1;
	test_bpf(_metadata, &a, PERF_RECORD_BPF_EVENT);
}

TEST(ksymbol)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();

	a.ksymbol = 1;
	write_long("/proc/sys/net/core/bpf_jit_enable", 1);
	test_bpf(_metadata, &a, PERF_RECORD_KSYMBOL);
}

/* Of the CPU, as another task may change the text */
TEST(text_poke)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();
	struct ring r[2];
	uint64_t before;
	int fd[2], probe;

	a.text_poke = 1;
	a.exclude_kernel = 0;
	probe = open("/sys/kernel/tracing/kprobe_events", O_WRONLY | O_APPEND);
	if (probe < 0)
		SKIP(return, "this kernel has no probes");
	pin_to(0);
	open_both(fd, r, &a, 0);
	before = lost(fd[1]);
	EXPECT_EQ(before, 1);
	ASSERT_EQ(write(probe, "p:kpmu_full do_sys_openat2\n", 27), 27);
	write_long("/sys/kernel/tracing/events/kprobes/kpmu_full/enable", 1);
	write_long("/sys/kernel/tracing/events/kprobes/kpmu_full/enable", 0);
	EXPECT_EQ(write(probe, "-:kpmu_full\n", 12), 12);
	EXPECT_GE(compare(_metadata, fd, r, before, PERF_RECORD_TEXT_POKE), 1);
}

/* Both events get a record for each switch, out or in, that is in the ring with room */
TEST(switch_)
{
	ROWS("D-14 D-15 F-09");
	struct perf_event_attr a = dummy();
	struct ring r[2];
	uint64_t before;
	int fd[2], i, n;

	a.context_switch = 1;
	open_both(fd, r, &a, -1);
	before = lost(fd[1]);
	EXPECT_GE(before, 1);
	/* A short sleep may have ended before the task is switched out */
	for (i = 0; i < 5; i++)
		usleep(20000 * slow());
	n = compare(_metadata, fd, r, before, PERF_RECORD_SWITCH);
	EXPECT_GE(n, 10);
}

/* The source fault_trace names the traced task when the event gets its AUX area and is enabled */
TEST(itrace_start)
{
	ROWS("D-28 D-14 D-15 F-09");
	struct perf_event_attr a = dummy();
	struct ring r[2];
	uint64_t before;
	int fd[2];

	if (route_is_native())
		SKIP(return, "native perf has no such source");
	a.type = pmu_type("fault_trace");
	a.config = 0;
	open_both(fd, r, &a, -1);
	before = lost(fd[1]);
	EXPECT_EQ(before, 1);
	for (int i = 0; i < 2; i++) {
		ev_disable(fd[i]);
		r[i].page->aux_offset = 1 << 20;
		r[i].page->aux_size = 4096;
		ASSERT_NE(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd[i], 1 << 20), MAP_FAILED);
	}
	ev_enable(fd[0]);
	ev_enable(fd[1]);
	EXPECT_GE(compare(_metadata, fd, r, before, PERF_RECORD_ITRACE_START), 1);
}

/* Of the whole machine */
static long free_mib(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[100];
	long kib = -1;

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "MemFree: %ld", &kib);
	if (f)
		fclose(f);
	return kib / 1024;
}

/* The pages of a ring are free again after the last munmap() and close(): they are in no slab cache */
TEST(pages_are_freed)
{
	ROWS("M-01");
	struct perf_event_attr a = dummy();
	int i, fd, pages = 32, rounds = 1200;
	struct ring r;
	long before = 0;

	for (i = 0; i < rounds + 100; i++) {
		if (i == 100)
			before = free_mib();
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, pages);
		ring_unmap(&r);
		close(fd);
	}
	/* They were 150 MiB */
	EXPECT_LT(before - free_mib(), rounds * pages / 256 / 2);
}

TEST_HARNESS_MAIN
