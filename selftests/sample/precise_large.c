// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of precise events that wait in the buffer: many of them cause one interrupt, and they are
 * read earlier where their samples or counts are needed.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>

#include "precise.h"
#include "task.h"

/* An event of the caller, and its ring */
static int open_mapped(const struct perf_event_attr *a, struct ring *r)
{
	int fd = ev_must(a, 0, -1, -1, 0);

	ring_map(r, fd, a, 64);
	return fd;
}

static void close_mapped(int fd, struct ring *r)
{
	ring_unmap(r);
	close(fd);
}

/* Number of samples in the ring, which must be those of the row from the first on */
static int in_order(struct ring *r, int step)
{
	int i, n = collect(r);

	for (i = 0; i < n; i++)
		if (seen[i].ip != nth_inc((i + 1) * step))
			return -1;
	return n;
}

/* More records than the buffer has room for: none is lost */
TEST(full_buffer)
{
	struct perf_event_attr a;
	int i, n, step;

	ROWS("A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_REGS_INTR);
	a.sample_regs_intr = 1ULL << REGS_R8;
	a.sample_period = 9;
	step = a.sample_period + step_of(2) - PERIOD;
	n = of_rising(&a);
	EXPECT_EQ(n, N / step);
	for (i = 0; i < n; i++)
		EXPECT_EQ(seen[i].ip, nth_inc((i + 1) * step));
}

/* What was found around a read */
struct drained {
	long switches;
	int before, after;
	uint64_t count;
};

static struct drained read_after_row(const struct perf_event_attr *a)
{
	struct drained d;
	struct ring r;
	int fd = open_mapped(a, &r);
	long before = switches();

	ev_enable(fd);
	rising();
	d.before = collect(&r);
	d.count = ev_count(fd);
	/* The first read of the ring was counted, too */
	d.after = collect(&r);
	d.switches = switches() - before;
	ev_disable(fd);
	close_mapped(fd, &r);
	return d;
}

/*
 * A read finds the records of all that it counts in the ring.  A task switch does so, too: only a
 * try without one tells that the read did it.
 */
TEST(read_drains)
{
	struct perf_event_attr a;
	struct drained d;
	int i = 0;

	ROWS("A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	do {
		d = read_after_row(&a);
	} while (d.switches && ++i < TRIES);
	ASSERT_EQ(d.switches, 0);
	EXPECT_EQ(d.before, 0);
	EXPECT_GE(d.count, N - N / PERIOD);
	EXPECT_GE(d.after, N / step_of(2));
}

/* Records of vector registers do not wait in the buffer */
TEST(vector_registers)
{
	struct perf_event_attr a;

	ROWS("A-37");
	NEED_PRECISE();
	if (!is_adaptive())
		SKIP(return, "no vector registers in records");
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_REGS_INTR);
	a.sample_regs_intr = 1ULL << REGS_XMM0;
	EXPECT_GE(read_after_row(&a).before, N / step_of(2));
}

/* As upstream, a period is counted for each record, but not the event that causes it */
TEST(counts)
{
	struct perf_event_attr a;
	uint64_t count, all;
	int fd, other;

	ROWS("A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	other = ev_self(PERF_TYPE_RAW, RAW_INSNS, -1);
	rising_counted(other);
	all = ev_count(other);
	fd = ev_must(&a, 0, -1, -1, 0);
	rising_counted(fd);
	count = ev_count(fd);
	EXPECT_EQ(count + (step_of(2) - PERIOD) * (all / step_of(2)), all);
	rising_counted(fd);
	EXPECT_EQ(ev_count(fd) > count, 1);
	close(other);
	close(fd);
}

/* The time of a sample is that of the instruction, not that of the interrupt */
TEST(times)
{
	struct perf_event_attr a;
	int i, n;

	ROWS("S-05");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TIME);
	n = of_rising(&a);
	EXPECT_EQ(n, N / step_of(2));
	for (i = 1; i < n; i++)
		EXPECT_GE(seen[i].time, seen[i - 1].time);
	EXPECT_GT(seen[n - 1].time, seen[0].time);
}

/* Number of the first @n samples seen that are of rising(), not of the code around it */
static int of_row(int n)
{
	int i, found = 0;

	for (i = 0; i < n; i++)
		found += in_rising(&seen[i]);
	return found;
}

/* Another period from the middle on: what was recorded before keeps the old one */
TEST(new_period)
{
	uint64_t period = 1000, step = period + step_of(2) - PERIOD, last = 0;
	struct perf_event_attr a;
	struct ring r;
	int fd, i, n, found = 0;

	ROWS("A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	fd = open_mapped(&a, &r);
	ev_enable(fd);
	rising();
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0);
	/* After a task switch there are also samples of what has been executed since */
	EXPECT_EQ(of_row(collect(&r)), N / step_of(2));
	rising();
	ev_disable(fd);
	n = collect(&r);
	for (i = 0; i < n; i++) {
		if (!in_rising(&seen[i]))
			continue;
		if (last)
			EXPECT_EQ(seen[i].ip - last, INC_LEN * step);
		last = seen[i].ip;
		found++;
	}
	EXPECT_GE(found, N / 1000 - 1);
	close_mapped(fd, &r);
}

/* Two events of different periods, whose records are mixed */
TEST(two_events)
{
	struct perf_event_attr a, b;
	struct ring ra, rb;
	int fa, fb;

	ROWS("A-37");
	NEED_PRECISE();
	if (cpu_model() == CPU_ICELAKE)
		SKIP(return, "two counters of instructions differ in precise distribution");
	a = precise_attr(RAW_INSNS, 2, 0);
	b = a;
	b.sample_period = 101;
	b.disabled = 0;
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, fa, 0);
	ring_map(&ra, fa, &a, 64);
	ring_map(&rb, fb, &b, 64);
	rising_counted(fa);
	EXPECT_EQ(in_order(&ra, step_of(2)), N / step_of(2));
	EXPECT_EQ(in_order(&rb, 101 + 1), N / 102);
	ring_unmap(&ra);
	ring_unmap(&rb);
	close(fb);
	close(fa);
}

#define USER_REGS	0xff00ff	/* AX to SP, R8 to R15 */

/*
 * Nothing but user registers is in samples of these, also if a record has none.  To see a kernel without
 * CONFIG_INIT_STACK_ALL_ZERO, build the module with KCFLAGS=-ftrivial-auto-var-init=pattern
 */
TEST(user_registers)
{
	static struct record rec;
	struct perf_event_attr a;
	struct ring r;
	int fd, i, n = 0, others = 0;

	ROWS("S-20");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_REGS_USER);
	a.sample_regs_user = USER_REGS;
	fd = open_mapped(&a, &r);
	rising_counted(fd);
	rising_counted(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&r, &rec);

		for (i = 0; i < 16 && p.user_abi; i++)
			others += p.user_regs[i] >> 47 && p.user_regs[i] < -4096ULL;
		n++;
	}
	EXPECT_GE(n, 2 * (N / step_of(2)));
	EXPECT_EQ(others, 0);
	close_mapped(fd, &r);
}

/* A precise event whose samples contain the counts of its group */
TEST(group_read)
{
	struct perf_event_attr a, b;
	static struct record rec;
	uint64_t last = 0;
	struct ring r;
	int fa, fb, n = 0;

	ROWS("S-11");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_READ);
	a.read_format = PERF_FORMAT_GROUP;
	b = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	b.disabled = 0;
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, fa, 0);
	ring_map(&r, fa, &a, 64);
	rising_counted(fa);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(&r, &rec);

		ASSERT_EQ(p.read[0], 2);
		if (n)
			EXPECT_GT(p.read[1], last);
		last = p.read[1];
		n++;
	}
	EXPECT_EQ(n, N / step_of(2));
	/* Upstream of 7.2 adds the period to the count only after the sample */
	if (route_is_native() && last == (uint64_t)(n - 1) * PERIOD)
		last += PERIOD;
	EXPECT_EQ(last, (uint64_t)n * PERIOD);
	ring_unmap(&r);
	close(fb);
	close(fa);
}

/* Samples in the row whose branch stack has the call of the row, less those that have not */
static int with_call(const struct perf_event_attr *a)
{
	struct ring r;
	int i, n, fd = open_mapped(a, &r), found = 0;

	branch_target = (uintptr_t)rising;
	ev_enable(fd);
	rising();
	ev_disable(fd);
	n = collect(&r);
	for (i = 0; i < n; i++)
		if (in_rising(&seen[i]) && seen[i].ip != (uintptr_t)rising)
			found += seen[i].branch_found ? 1 : -1;
	close_mapped(fd, &r);
	return found;
}

/*
 * The last branches before each record: that into the row is among them.  A task switch clears
 * the branches, so there are several tries.
 */
TEST(branches)
{
	struct perf_event_attr a;
	int i, single, found = 0;

	ROWS("S-18 S-38");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_BRANCH_STACK);
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
	if (ev_errno(&a, 0, -1, -1, 0))
		SKIP(return, "this CPU does not record branches");
	for (single = 0; single < 2; single++) {
		a.wakeup_events = single;
		for (i = 0; i < TRIES && found < N / step_of(2) - 1; i++)
			found = with_call(&a);
		EXPECT_GE(found, N / step_of(2) - 1);
		found = 0;
	}
}

#define ROUNDS	20

/* Two tasks in turns on CPU 0: rising() of the parent, loads of the child */
static void take_turns(int to_child, int from_child, bool child)
{
	static uint64_t words[N];
	char c = 0;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (child && read(to_child, &c, 1) != 1)
			_exit(1);
		if (child)
			loads_counted(-1, words);
		else
			rising();
		if (write(child ? from_child : to_child, &c, 1) != 1)
			_exit(1);
		if (!child && read(from_child, &c, 1) != 1)
			_exit(1);
	}
}

/* An event of a CPU: each sample names the task whose instruction it was */
TEST(task_switch)
{
	struct perf_event_attr a;
	int i, n, fd, down[2], up[2], mine = 0, other = 0;
	struct ring r;
	pid_t child;

	ROWS("S-04");
	NEED_PRECISE();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID);
	a.exclude_kernel = 1;
	fd = ev_must(&a, -1, 0, -1, 0);
	ring_map(&r, fd, &a, 64);
	ASSERT_EQ(pipe(down) | pipe(up), 0);
	/* Then no context of an event that was closed is left, whose switch would fold the event */
	sleep(3);
	ev_enable(fd);
	child = fork();
	if (!child) {
		take_turns(down[0], up[1], true);
		_exit(0);
	}
	take_turns(down[1], up[0], false);
	ev_disable(fd);
	waitpid(child, NULL, 0);
	n = collect(&r);
	for (i = 0; i < n; i++) {
		if (in_rising(&seen[i])) {
			EXPECT_EQ(seen[i].tid, getpid());
			mine++;
		}
		if (seen[i].ip - (uintptr_t)loads_start < 16) {
			EXPECT_EQ(seen[i].tid, child);
			other++;
		}
	}
	EXPECT_GE(mine, ROUNDS * (N / (PERIOD + 1) - 1));
	EXPECT_GE(other, ROUNDS * (4 * N / (PERIOD + 1) - 1));
	close_mapped(fd, &r);
}

/* An event of one task: records of others do not come, and none of its own is lost */
TEST(scheduled_out)
{
	struct perf_event_attr a;
	int fd, n, i;
	struct ring r;

	ROWS("A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID);
	fd = open_mapped(&a, &r);
	ev_enable(fd);
	rising();
	usleep(1000);
	n = collect(&r);
	EXPECT_GE(n, N / step_of(2));
	for (i = 0; i < n; i++)
		EXPECT_EQ(seen[i].tid, getpid());
	ev_disable(fd);
	close_mapped(fd, &r);
}

/* Inherited events: the samples of children, too */
TEST(inherited)
{
	struct perf_event_attr a;
	int fd, n, i, found = 0;
	struct ring r;
	pid_t child;

	ROWS("A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID);
	a.inherit = 1;
	fd = ev_must(&a, 0, 0, -1, 0);
	pin_to(0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	child = fork();
	if (!child) {
		rising();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ev_disable(fd);
	n = collect(&r);
	for (i = 0; i < n; i++)
		found += seen[i].tid == child;
	EXPECT_GE(found, N / step_of(2));
	close_mapped(fd, &r);
}

TEST_HARNESS_MAIN
