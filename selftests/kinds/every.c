// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare kpmu with native perf for every kind of event: both count and sample the same work.
 * Prints a table (make kinds).  Clock events are left out, as two runs do not take the same
 * time; software/ tests them.
 */
/* User call chains follow RBP, so the compiler must not use it for anything else */
#pragma GCC optimize("no-omit-frame-pointer")

#define _GNU_SOURCE
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/hw_breakpoint.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "switches.h"

#define PAGE		4096
#define TIMES		7
#define ROUNDS		1000
#define MAX_SAMPLES	64
#define MAX_RAW		64
#define MAX_CHAIN	32
#define FUNC		"__x64_sys_getppid"
#define FIELDS		(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | \
			 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW | \
			 PERF_SAMPLE_CALLCHAIN)

static volatile long data[8] __attribute__((aligned(64)));
static char *pages;

static __attribute__((noinline)) void called(void)
{
	asm volatile("nop");
}

/* ---- work: counted between enable and disable ------------------------------- */

static void instructions(int fd)
{
	work_counted(fd, ROUNDS, 0);
}

static void loads(int fd)
{
	load_counted(fd, ROUNDS, (void *)pages, 8);
}

static void faults(int fd)
{
	int i;

	madvise(pages, TIMES * PAGE, MADV_DONTNEED);
	ev_enable(fd);
	for (i = 0; i < TIMES; i++)
		((volatile char *)pages)[i * PAGE] = 1;
	ev_disable(fd);
	memset(pages, 1, TIMES * PAGE);
}

static void sleeps(int fd)
{
	int i;

	ev_enable(fd);
	for (i = 0; i < TIMES; i++)
		sleep_switched(1000000);
	ev_disable(fd);
}

static void moves(int fd)
{
	int i;

	ev_enable(fd);
	for (i = 1; i <= TIMES; i++)
		pin_to(i & 1);
	ev_disable(fd);
	pin_to(0);
}

static void calls(int fd)
{
	int i;

	ev_enable(fd);
	for (i = 0; i < TIMES; i++) {
		syscall(SYS_getppid);
		called();
	}
	ev_disable(fd);
}

/* Names of maximum length: the bytes after a shorter one in the record are undefined */
static void names(int fd)
{
	char name[16];
	int i;

	prctl(PR_SET_NAME, "before the first");
	ev_enable(fd);
	for (i = 0; i < TIMES; i++) {
		snprintf(name, sizeof(name), "%015d", i);
		prctl(PR_SET_NAME, name);
	}
	ev_disable(fd);
}

static void writes(int fd)
{
	int i;

	ev_enable(fd);
	for (i = 0; i < TIMES; i++)
		data[i % 2]++;
	ev_disable(fd);
}

/* ---- kinds ------------------------------------------------------------------- */

static void kprobe(struct perf_event_attr *a)
{
	a->type = pmu_type("kprobe");
	a->kprobe_func = (uintptr_t)FUNC;
}

static void uprobe(struct perf_event_attr *a)
{
	a->type = pmu_type("uprobe");
	a->uprobe_path = (uintptr_t)"/proc/self/exe";
	a->probe_offset = file_offset(called);
}

#define TRACEPOINTS	"/sys/kernel/tracing/events/"

static void enter_getppid(struct perf_event_attr *a)
{
	a->config = read_long(TRACEPOINTS "syscalls/sys_enter_getppid/id");
}

static void exit_getppid(struct perf_event_attr *a)
{
	a->config = read_long(TRACEPOINTS "syscalls/sys_exit_getppid/id");
}

static void task_rename(struct perf_event_attr *a)
{
	a->config = read_long(TRACEPOINTS "task/task_rename/id");
}

static void break_write(struct perf_event_attr *a)
{
	a->bp_type = a->config;
	a->config = 0;
	a->bp_addr = (uintptr_t)&data[0];
	a->bp_len = HW_BREAKPOINT_LEN_8;
	a->exclude_kernel = 1;
}

static void break_execute(struct perf_event_attr *a)
{
	a->bp_type = HW_BREAKPOINT_X;
	a->bp_addr = (uintptr_t)called;
	a->bp_len = sizeof(long);
	a->exclude_kernel = 1;
}

static void user_only(struct perf_event_attr *a)
{
	a->exclude_kernel = 1;
}

#define HW	PERF_TYPE_HARDWARE
#define SW	PERF_TYPE_SOFTWARE

static const struct kind {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint64_t period;
	void (*work)(int fd);
	void (*set)(struct perf_event_attr *a);
	uint64_t count;
} kinds[] = {
	{ "instructions:u", HW, PERF_COUNT_HW_INSTRUCTIONS, 400, instructions,
	  user_only, WORK_INSNS(ROUNDS) },
	{ "branches:u", HW, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 100, instructions,
	  user_only, WORK_BRANCHES(ROUNDS) },
	{ "raw stores:u", PERF_TYPE_RAW, RAW_STORES, 100, instructions,
	  user_only, WORK_STORES(ROUNDS) },
	{ "L1D loads:u", PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D, 100, loads,
	  user_only, ROUNDS },
	{ "page-faults", SW, PERF_COUNT_SW_PAGE_FAULTS, 1, faults, NULL, TIMES },
	{ "minor-faults", SW, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1, faults, NULL, TIMES },
	{ "major-faults", SW, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, faults, NULL, 0 },
	{ "alignment-faults", SW, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1, instructions, NULL, 0 },
	{ "emulation-faults", SW, PERF_COUNT_SW_EMULATION_FAULTS, 1, instructions, NULL, 0 },
	{ "context-switches", SW, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, sleeps, NULL,
	  TIMES },
	{ "cpu-migrations", SW, PERF_COUNT_SW_CPU_MIGRATIONS, 1, moves, NULL, TIMES },
	{ "dummy", SW, PERF_COUNT_SW_DUMMY, 1, instructions, NULL, 0 },
	{ "bpf-output", SW, PERF_COUNT_SW_BPF_OUTPUT, 1, instructions, NULL, 0 },
	{ "sys_enter_getppid", PERF_TYPE_TRACEPOINT, 0, 1, calls, enter_getppid, TIMES },
	{ "sys_exit_getppid", PERF_TYPE_TRACEPOINT, 0, 1, calls, exit_getppid, TIMES },
	{ "task_rename", PERF_TYPE_TRACEPOINT, 0, 1, names, task_rename, TIMES },
	{ "kprobe", 0, 0, 1, calls, kprobe, TIMES },
	{ "kretprobe", 0, 1, 1, calls, kprobe, TIMES },
	{ "uprobe", 0, 0, 1, calls, uprobe, TIMES },
	{ "uretprobe", 0, 1, 1, calls, uprobe, TIMES },
	{ "breakpoint w", PERF_TYPE_BREAKPOINT, HW_BREAKPOINT_W, 1, writes,
	  break_write, (TIMES + 1) / 2 },
	{ "breakpoint rw", PERF_TYPE_BREAKPOINT, HW_BREAKPOINT_RW, 1, writes,
	  break_write, TIMES + 1 },
	{ "breakpoint x", PERF_TYPE_BREAKPOINT, 0, 1, calls, break_execute, TIMES },
};

/* ---- measuring --------------------------------------------------------------- */

struct sample {
	uint64_t ip, addr, period;
	uint32_t pid, tid, cpu, raw_size;
	uint8_t raw[MAX_RAW];
	uint64_t callchain[MAX_CHAIN];
};

#define NOT_HERE	-1		/* not in this CPU's event tables */

struct result {
	uint64_t count;
	int n;
	struct sample sample[MAX_SAMPLES];
};

static void take(struct ring *r, struct result *to)
{
	static struct record rec;

	for (to->n = 0; ring_find(r, &rec, PERF_RECORD_SAMPLE); to->n++) {
		struct parts p = record_sample(r, &rec);
		struct sample *s = &to->sample[to->n % MAX_SAMPLES];

		*s = (struct sample){
			.ip = p.ip, .addr = p.addr, .period = p.period, .pid = p.pid,
			.tid = p.tid, .cpu = p.cpu, .raw_size = p.raw_size,
		};
		memcpy(s->callchain, p.chain, 8 * (p.nr < MAX_CHAIN ? p.nr : MAX_CHAIN));
		if (p.raw)
			memcpy(s->raw, p.raw, p.raw_size < MAX_RAW ? p.raw_size : MAX_RAW);
		/* Flags and preempt count of a trace record may differ between the two runs */
		memset(s->raw + 2, 0, 2);
	}
}

static void measure(const struct kind *k, const char *route, struct result *to)
{
	struct perf_event_attr a;
	struct ring r;
	int fd;

	setenv("KPMU_ROUTE", route, 1);
	a = ev_attr(k->type, k->config);
	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	if (k->set)
		k->set(&a);
	a.sample_period = k->period;
	a.sample_type = FIELDS;
	no_throttle();
	to->n = NOT_HERE;
	if (ev_errno(&a, 0, -1, -1, 0) == ENOENT)
		return;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 16);
	k->work(fd);
	ring_skip(&r);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	/* The first run has faulted in everything that is needed; the second one is measured */
	k->work(fd);
	to->count = ev_count(fd);
	take(&r, to);
	ring_unmap(&r);
	close(fd);
}

#define MEMBER(m) { #m, offsetof(struct sample, m), sizeof(((struct sample *)0)->m) }

static const struct field {
	const char *name;
	int at, size;
} fields[] = {
	MEMBER(ip), MEMBER(tid), MEMBER(addr), MEMBER(cpu), MEMBER(period), MEMBER(raw),
	MEMBER(callchain),
};

static bool same_field(const struct result *a, const struct result *b,
		       const struct field *f)
{
	int i;

	for (i = 0; i < a->n; i++)
		if (memcmp((char *)&a->sample[i] + f->at,
			   (char *)&b->sample[i] + f->at, f->size))
			return false;
	return true;
}

/* Repeat a run with additional context switches: another task took the CPU meanwhile */
static void measure_alone(const struct kind *k, const char *route, struct result *to)
{
	int try;

	for (try = 0; try < 5; try++) {
		measure(k, route, to);
		if (k->work != sleeps || to->n == NOT_HERE || to->count == k->count)
			return;
	}
}

/* Print the first two call chains that differ, from their first difference on */
static void print_chains(const struct result *ours, const struct result *native)
{
	const uint64_t *a, *b;
	int i, j;

	for (i = 0; i < ours->n; i++) {
		a = ours->sample[i].callchain;
		b = native->sample[i].callchain;
		for (j = 0; j < MAX_CHAIN && a[j] == b[j]; j++)
			;
		if (j == MAX_CHAIN)
			continue;
		for (; j < MAX_CHAIN && (a[j] || b[j]); j++)
			printf("#   sample %d, call chain %d: %llx, natively %llx\n", i, j,
			       (unsigned long long)a[j], (unsigned long long)b[j]);
		return;
	}
}

/* On hardware each route's interrupts come late, so samples are elsewhere and not all are taken */
static bool is_near(const struct kind *k, const struct result *r)
{
	return r->count >= k->count && r->count <= k->count + SLACK(k->count) && r->n > 0 &&
	       r->n <= (int)(r->count / k->period);
}

/* Print one line of the table.  Return: the number of differences. */
static int row(const struct kind *k)
{
	static const char *const routes[] = { "native", "kpmu" };
	static struct result results[2];
	struct result *native = &results[0], *ours = &results[1];
	char same[80] = "", other[80] = "";
	volatile int route;
	int i, bad = 0;

	/* Call from one place: the return address is in the call chains */
	for (route = 0; route < 2; route++)
		measure_alone(k, routes[route], &results[route]);
	if (native->n == NOT_HERE || ours->n == NOT_HERE) {
		printf("# %-18s is not on this CPU\n", k->name);
		return native->n != ours->n;
	}
	for (i = 0; i < ARRAY_SIZE(fields) && native->n == ours->n && ours->n; i++) {
		bool is = same_field(native, ours, &fields[i]);

		bad += !is;
		strcat(is ? same : other, " ");
		strcat(is ? same : other, fields[i].name);
	}
	printf("# %-18s %9llu %9llu %9d %9d  %s%s%s\n", k->name,
	       (unsigned long long)native->count, (unsigned long long)ours->count,
	       native->n, ours->n, same, bad ? "; not:" : "", other);
	if (bad)
		print_chains(ours, native);
	if (!exact() && k->type != PERF_TYPE_SOFTWARE && k->type != PERF_TYPE_TRACEPOINT)
		return !is_near(k, native) + !is_near(k, ours);
	return bad + (native->count != ours->count) + (native->n != ours->n) +
	       (ours->count != k->count) + (ours->n != ours->count / k->period);
}

TEST(every_kind)
{
	ROWS("T-01 T-02 T-03 T-04 T-05 T-06");
	int i;

	if (route_is_native())
		SKIP(return, "both columns at once");
	pages = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, 16 * PAGE, MADV_NOHUGEPAGE);
	ASSERT_EQ(pin_to(0), 0);
	printf("#\n# %-18s %9s %9s %9s %9s\n", "", "counted", "", "sampled", "");
	printf("# %-18s %9s %9s %9s %9s   equal in each sample\n", "kind", "native",
	       "kpmu", "native", "kpmu");
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		EXPECT_EQ(row(&kinds[i]), 0);
	printf("#\n");
}

TEST_HARNESS_MAIN
