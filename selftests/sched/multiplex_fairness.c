// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure how fairly flexible groups rotate when there are too few counters.
 *
 * Instruction events share the general counters, and a pinned event on the fixed counter counts
 * all instructions.  The groups' running times are compared over windows of 100 or more
 * rotations.
 *
 * All times are the events' times enabled and running.  On a busy host a rotation may be late.
 * The groups that run meanwhile are then ahead, until the others have run for as long.  Under
 * QEMU's -icount no rotation is late, so these tests run only there.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "event.h"
#include "harness.h"
#include "rotations.h"

#define MAX	64
#define WINDOWS	7
#define KPMU_INTERVAL	"/proc/sys/kernel/kpmu/perf_event_mux_interval_ms"

#define RAW_INSNS	0x00c0

struct group {
	int fd;
	int size;
	bool of_task;
	struct ev_times before;
};

static struct group g[MAX];
static int nr_groups;
static int truth_fd;

/*
 * Work steadily for @nr rotations.  Returns right after a rotation, so that no group is in the
 * middle of a turn.
 */
static void wait_rotations(uint64_t nr)
{
	uint64_t end = rotations() + nr;

	while (rotations() < end)
		work(10000);
}

static int open_one(pid_t pid, int cpu, int leader, int pinned)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_INSNS);

	a.pinned = pinned;
	a.disabled = leader < 0;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, cpu, leader, 0);
}

static void add_group(pid_t pid, int cpu, int size)
{
	int fd = open_one(pid, cpu, -1, 0), i;

	for (i = 1; i < size; i++)
		open_one(pid, cpu, fd, 0);
	g[nr_groups++] = (struct group) { .fd = fd, .size = size, .of_task = !pid };
}

static void add_groups(pid_t pid, int cpu, const int *sizes)
{
	for (; *sizes; sizes++)
		add_group(pid, cpu, *sizes);
}

static void add_singles(pid_t pid, int cpu, int nr)
{
	while (nr--)
		add_group(pid, cpu, 1);
}

static void begin(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	if (!exact_time())
		SKIP(return, "for -icount, where no rotation is late");
	if (!counters_fixed() || counters_general() != 4)
		SKIP(return, "for 4 general counters and one for the truth");
	/* Linux 6.12 has delayed a rotation by a whole turn in the first two seconds of uptime */
	sleep(3);
	pin_to(0);
	a.pinned = 1;
	a.read_format = FORMAT_TIMES;
	truth_fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(truth_fd);
}

struct window {
	double worst;		/* groups of the same size: (most - least) / most */
	double estimate;	/* task's groups: worst relative error of a scaled count */
	double used;		/* mean number of counters in use */
	double share[MAX];	/* time running / time enabled, per group */
};

static double diff(double a, double b)
{
	return a > b ? a - b : b - a;
}

/* Largest relative difference between the shares of two groups of the same size */
static double worst_pair(const double *share)
{
	double worst = 0;
	int i, k;

	for (i = 0; i < nr_groups; i++)
		for (k = 0; k < nr_groups; k++)
			if (g[k].size == g[i].size && share[i] &&
			    (share[i] - share[k]) / share[i] > worst)
				worst = (share[i] - share[k]) / share[i];
	return worst;
}

static void remember(void)
{
	int i;

	for (i = 0; i < nr_groups; i++)
		g[i].before = ev_times(g[i].fd);
}

/* Count and times of group @i since remember() */
static struct ev_times since(int i)
{
	struct ev_times t = ev_times(g[i].fd);

	t.value -= g[i].before.value;
	t.enabled -= g[i].before.enabled;
	t.running -= g[i].before.running;
	return t;
}

/* Measure a window of @nr rotations */
static struct window watch(int nr)
{
	struct window o = { 0 };
	double truth;
	int i;

	wait_rotations(8);
	truth = ev_count(truth_fd);
	remember();
	wait_rotations(nr);
	truth = ev_count(truth_fd) - truth;
	for (i = 0; i < nr_groups; i++) {
		struct ev_times t = since(i);
		double te = t.enabled, tr = t.running, n = t.value;

		o.share[i] = tr / te;
		o.used += g[i].size * tr / te;
		/* CPU events also run in other tasks and idle: they cannot be compared */
		if (g[i].of_task &&
		    diff(tr ? n * te / tr / truth : 0, 1) > o.estimate)
			o.estimate = diff(tr ? n * te / tr / truth : 0, 1);
	}
	o.worst = worst_pair(o.share);
	return o;
}

/* @x in hundredths of a percent: the harness compares integers only */
static long parts(double x)
{
	return x * 10000;
}

/*
 * Run all groups for several windows of @nr rotations.  Groups of the same size must run for
 * equal times, and each for at least the share @least of the time.  Together they must use
 * @counters counters.
 *
 * The kernel may keep interrupts off, which delays a rotation by up to a turn.  So one window may
 * be worse than the limit; the groups that ran less are served first in the next one.
 */
static void fair(struct __test *_metadata, int nr, int counters, double least)
{
	int windows = nr > 200 ? 3 : WINDOWS, delayed = 0;
	struct window o;
	int i, n;

	for (i = 0; i < nr_groups; i++)
		ev_enable(g[i].fd);
	wait_rotations(20);
	for (n = 0; n < windows; n++) {
		o = watch(nr);
		printf("# %d rotations: equal groups differ by %.2f%%, estimates by %.2f%%, %.2f counters used\n",
		       nr, 100 * o.worst, 100 * o.estimate, o.used);
		if (o.worst >= 0.03)
			delayed++;
		EXPECT_LT(parts(o.worst), parts(0.05));
		for (i = 0; i < nr_groups; i++)
			EXPECT_GE(parts(o.share[i]), parts(least * 0.95));
		EXPECT_GT(parts(o.used), parts(counters * 0.99));
		/* The instruction rate varies between turns: usually by 1%, at most 2.2% so far */
		EXPECT_LT(parts(o.estimate), parts(0.03));
	}
	EXPECT_LE(delayed, 1);
	for (i = 0; i < nr_groups; i++)
		printf("# group %2d, size %d: %.2f%% of the time\n", i, g[i].size,
		       100 * o.share[i]);
}

TEST_TIMEOUT(sixteen_singles, 120)
{
	ROWS("Q-01 Q-02 Q-14 F-11");
	begin();
	add_singles(0, -1, 16);
	fair(_metadata, 100, 4, 0.25);
}

TEST_TIMEOUT(sizes_4_3_2_1, 120)
{
	ROWS("Q-02 Q-03");
	static const int sizes[] = { 1, 2, 3, 4, 4, 3, 2, 1, 0 };

	begin();
	add_groups(0, -1, sizes);
	fair(_metadata, 100, 4, 0.2);
}

/* One group of each size: turns of 4, 3 + 1 and 2 + 1 counters, so the single runs twice */
TEST_TIMEOUT(one_of_each_size, 120)
{
	ROWS("Q-02 Q-03");
	static const int sizes[] = { 1, 2, 3, 4, 0 };

	begin();
	add_groups(0, -1, sizes);
	for (int i = 0; i < 4; i++)
		ev_enable(g[i].fd);
	for (int i = 0; i < WINDOWS; i++) {
		struct window o = watch(102);

		printf("# of 4: %.2f%%, of 3: %.2f%%, of 2: %.2f%%, of 1: %.2f%%\n",
		       100 * o.share[3], 100 * o.share[2], 100 * o.share[1],
		       100 * o.share[0]);
		for (int k = 1; k < 4; k++)
			EXPECT_GE(parts(o.share[k]), parts(0.32));
		EXPECT_GE(parts(o.share[0]), parts(0.64));
	}
}

/* A group that needs all counters gets its share among many single events */
TEST_TIMEOUT(four_with_singles, 120)
{
	ROWS("Q-02 Q-03");
	begin();
	add_singles(0, -1, 12);
	add_group(0, -1, 4);
	add_singles(0, -1, 4);
	fair(_metadata, 100, 4, 0.2);
}

TEST_TIMEOUT(with_pinned, 120)
{
	ROWS("Q-02 Q-06");
	int pin;

	begin();
	pin = open_one(0, -1, -1, 1);
	ev_enable(pin);
	add_singles(0, -1, 6);
	add_group(0, -1, 3);
	add_group(0, -1, 3);
	fair(_metadata, 100, 3, 0.25);
	EXPECT_TRUE(always_ran(pin));
}

/*
 * Groups of the CPU and of the task get equal shares: 8 of each.
 *
 * While another task runs for a moment, only the CPU's groups use the counters.  Now and then the
 * task's groups get an extra turn to compensate.  One turn more or less must be below the limit
 * of 3%, so the windows are longer here.
 */
TEST_TIMEOUT(of_task_and_cpu, 120)
{
	ROWS("Q-02");
	begin();
	add_singles(0, -1, 8);
	add_singles(-1, 0, 8);
	fair(_metadata, 400, 4, 0.25);
}

/* The shares are equal too if the CPU and the task differ in their number of groups */
TEST_TIMEOUT(few_of_the_cpu, 120)
{
	ROWS("Q-02");
	begin();
	add_singles(-1, 0, 2);
	add_singles(0, -1, 14);
	fair(_metadata, 400, 4, 0.25);
}

TEST_TIMEOUT(few_of_the_task, 120)
{
	ROWS("Q-02");
	begin();
	add_singles(0, -1, 1);
	add_group(0, -1, 4);
	add_singles(-1, 0, 11);
	fair(_metadata, 400, 4, 0.25);
}

/*
 * An event that is disabled and enabled often gets no more than its share: what it ran before it was
 * disabled counts, too.
 */
TEST_TIMEOUT(often_disabled, 120)
{
	ROWS("Q-02");
	uint64_t end;
	int i, nr = 8;

	begin();
	add_singles(0, -1, nr);
	for (i = 0; i < nr; i++)
		ev_enable(g[i].fd);
	wait_rotations(8);
	remember();
	for (end = rotations() + 200; rotations() < end;) {
		work(20000);
		ev_disable(g[0].fd);
		ev_enable(g[0].fd);
	}
	for (i = 0; i < nr; i++) {
		struct ev_times t = since(i);
		double share = (double)t.running / t.enabled;

		printf("# event %d: %.2f%% of the time\n", i, 100 * share);
		if (i)
			EXPECT_GE(parts(share), parts(0.48));
		else
			EXPECT_LE(parts(share), parts(0.52));
	}
}

TEST_HARNESS_MAIN
