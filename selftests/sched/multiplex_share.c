// SPDX-License-Identifier: GPL-2.0-only
/*
 * More events than counters: all of them are rotated, and no counter is idle meanwhile.  The
 * fairness of the shares and the accuracy of scaled counts are checked only under QEMU's -icount:
 * on a busy host any turn may be long.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "rotations.h"
#include "task.h"

#define MS	1000000ULL
#define MAX	40

static int fd[MAX];

static int single(uint64_t code, pid_t pid, int cpu)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, code);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, cpu, -1, 0);
}

/* Work until each of @nr events has run for @running ns; false on timeout */
static bool work_until(int nr, uint64_t running)
{
	uint64_t end = patience();
	int i;

	do {
		for (i = 0; i < 10; i++)
			work(20000);
		for (i = 0; i < nr; i++)
			if (ev_times(fd[i]).running < running)
				break;
		if (i == nr)
			return true;
	} while (now_ns() < end);
	printf("# event %d of %d ran %lu of %lu ns\n", i, nr,
	       ev_times(fd[i]).running, ev_times(fd[i]).enabled);
	return false;
}

static bool is_fair(int nr)
{
	uint64_t least = -1, most = 0;

	for (int i = 0; i < nr; i++) {
		struct ev_times t = ev_times(fd[i]);

		if (t.running < least)
			least = t.running;
		if (t.running > most)
			most = t.running;
	}
	printf("# running times from %lu to %lu ns\n", least, most);
	return least * 10 >= most * 9;
}

/* Is the scaled count of each event within 10% of the true count? */
static bool is_right(int nr, uint64_t truth)
{
	for (int i = 0; i < nr; i++) {
		struct ev_times t = ev_times(fd[i]);
		double scaled = (double)t.value * t.enabled / t.running;

		if (scaled > truth * 1.1 || scaled * 1.1 < truth) {
			printf("# event %d: %.0f, in truth %lu\n", i, scaled, truth);
			return false;
		}
	}
	return true;
}

/*
 * Each of @nr events must run for 100 ms.  Under -icount, their running times must be similar.
 * If @insns is the fd of an instruction event that always runs, and not -1, the scaled counts
 * must be right as well.
 */
static bool all_run(int nr, int insns)
{
	if (!work_until(nr, 100 * MS))
		return false;
	if (!exact_time())
		return true;
	/* Every fourth instruction of work() is a branch */
	return is_fair(nr) && (insns < 0 || is_right(nr, ev_count(insns) / 4));
}

TEST(twelve_on_four)
{
	ROWS("Q-01 Q-02 Q-14 F-11");
	int nr = 3 * counters_general(), insns, i;
	uint64_t truth;
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	if (!counters_fixed())
		SKIP(return, "no counter to spare for the truth");
	a.pinned = 1;
	insns = ev_must(&a, 0, -1, -1, 0);
	ev_enable(insns);
	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, 0, -1);
	ASSERT_TRUE(all_run(nr, insns));
	for (i = nr - 1; i >= 0; i--)
		ev_disable(fd[i]);
	ev_disable(insns);
	truth = ev_count(insns) / 4;
	for (i = 0; i < nr; i++) {
		struct ev_times t = ev_times(fd[i]);

		EXPECT_GT(t.running, 0);
		EXPECT_GT(t.enabled, t.running);
		EXPECT_LE(t.value, truth + truth / 10);
		EXPECT_GT(t.value, 0);
	}
}

/* Sum of running times, read between @begin and @end of the first event's enabled time */
struct sample {
	uint64_t begin, end, running;
};

static struct sample sample(int nr)
{
	struct sample s = { .begin = ev_times(fd[0]).enabled };

	for (int i = 0; i < nr; i++)
		s.running += ev_times(fd[i]).running;
	s.end = ev_times(fd[0]).enabled;
	return s;
}

/* No counter is idle while an event waits */
TEST(counters_are_used)
{
	ROWS("Q-01");
	int gp = counters_general(), nr = gp + 1, i;
	struct sample one, two;
	uint64_t running;

	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, 0, -1);
	one = sample(nr);
	ASSERT_TRUE(work_until(nr, 30 * MS));
	two = sample(nr);
	running = two.running - one.running;
	/* The times are not read at the same instant, so check a lower and an upper limit */
	EXPECT_LE(running, (two.end - one.begin) * gp);
	if (!route_is_native())
		EXPECT_GE(running, (two.begin - one.end) * gp);
	else
		EXPECT_GE(running, (two.begin - one.end) * gp * 9 / 10);
}

/*
 * Exact, however late a rotation is: a pinned event counts every branch of a task.  The other
 * counters are always in use by the other events, so each branch adds one per counter to the sum
 * of their counts.
 */
TEST(no_branch_is_missed)
{
	ROWS("Q-01 Q-06");
	int gp = counters_general(), nr = 3 * gp, pinned, i, left;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	uint64_t end = patience(), sum;
	struct worker w;

	if (!exact())
		SKIP(return, "real counters add a little at interrupts");
	worker_start(&w);
	a.pinned = 1;
	a.disabled = 0;
	pinned = ev_must(&a, w.pid, -1, -1, 0);
	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, w.pid, -1);
	do {
		worker_run(&w, 200000);
		for (i = left = 0; i < nr; i++)
			left += ev_times(fd[i]).running < 10 * MS;
	} while (left && now_ns() < end);
	EXPECT_EQ(left, 0);
	for (i = sum = 0; i < nr; i++)
		sum += ev_count(fd[i]);
	EXPECT_GE(ev_count(pinned), 200000);
	EXPECT_EQ(sum, (gp - 1) * ev_count(pinned));
	worker_stop(&w);
}

TEST(different_needs)
{
	ROWS("Q-01 Q-02");
	static const uint64_t codes[] = { RAW_BRANCHES, RAW_LOADS, RAW_STORES, 0x00c5 };
	int nr = 3 * counters_general(), i;

	if (!cpu_model())
		SKIP(return, "no codes known for this CPU");
	for (i = 0; i < nr; i++)
		fd[i] = single(codes[i % 4], 0, -1);
	EXPECT_TRUE(work_until(nr, 20 * MS));
}

/* Events of a group count the same instructions, however often the group is rotated */
static void groups(struct __test *_metadata, int nr, const int *size)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int g, i;
	uint64_t v[20], least, end = patience();

	a.read_format = FORMAT_TIMES | PERF_FORMAT_GROUP;
	for (g = 0; g < nr; g++) {
		a.disabled = 1;
		fd[g] = ev_must(&a, 0, -1, -1, 0);
		a.disabled = 0;
		for (i = 1; i < size[g]; i++)
			ev_must(&a, 0, -1, fd[g], 0);
	}
	for (g = 0; g < nr; g++)
		ev_enable(fd[g]);
	do {
		least = -1;
		work(20000);
		for (g = 0; g < nr; g++) {
			ASSERT_EQ(read(fd[g], v, sizeof(v)), 8 * (3 + size[g]));
			EXPECT_LE(v[2], v[1]);
			for (i = 1; i < size[g]; i++)
				ASSERT_EQ(v[3 + i], v[3]);
			if (v[2] < least || !v[3])
				least = v[3] ? v[2] : 0;
		}
	} while (least < 20 * MS && now_ns() < end);
	for (g = 0; g < nr; g++) {
		ASSERT_EQ(read(fd[g], v, sizeof(v)), 8 * (3 + size[g]));
		printf("# group of %d ran %lu of %lu ns\n", size[g], v[2], v[1]);
		EXPECT_GT(v[2], 0);
		EXPECT_LT(v[2], v[1]);
		EXPECT_GT(v[3], 0);
	}
}

TEST(pairs_are_not_split)
{
	ROWS("Q-03 O-15");
	int size[16], gp = counters_general(), i;

	for (i = 0; i < gp; i++)
		size[i] = 2;
	groups(_metadata, gp, size);
}

TEST(groups_of_all_counters)
{
	ROWS("Q-03 Q-02 O-15");
	int gp = counters_general(), size[3] = { gp, gp, gp };

	groups(_metadata, 3, size);
}

TEST(groups_of_all_sizes)
{
	ROWS("Q-03 O-15");
	int gp = counters_general(), size[16], i;

	/* The largest group must run too */
	for (i = 0; i < gp; i++)
		size[i] = i + 1;
	groups(_metadata, gp, size);
}

TEST(groups_of_all_sizes_widest_first)
{
	ROWS("Q-03 O-15");
	int gp = counters_general(), size[16], i;

	for (i = 0; i < gp; i++)
		size[i] = gp - i;
	groups(_metadata, gp, size);
}

/* As many events as counters are not multiplexed */
TEST(as_many_as_fit)
{
	ROWS("Q-04");
	int gp = counters_general(), i;

	for (i = 0; i < gp; i++)
		fd[i] = single(RAW_BRANCHES, 0, -1);
	ASSERT_TRUE(work_until(gp, 20 * MS));
	for (i = 0; i < gp; i++)
		EXPECT_TRUE(always_ran(fd[i]));
}

TEST(waiting_events_start)
{
	ROWS("Q-01");
	int gp = counters_general(), nr = 2 * gp, i;
	struct ev_times before, after;

	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, 0, -1);
	ASSERT_TRUE(work_until(nr, MS));
	for (i = 0; i < gp; i++)
		close(fd[i]);
	/* The remaining events fit now; natively they start at the next task switch */
	usleep(1000);
	for (i = gp; i < nr; i++) {
		before = ev_times(fd[i]);
		work(20000);
		after = ev_times(fd[i]);
		EXPECT_GE(after.value - before.value, 20000);
		EXPECT_EQ(after.running - before.running,
			  after.enabled - before.enabled);
	}
}

TEST(on_a_cpu)
{
	ROWS("Q-01 Q-02");
	int nr = 3 * counters_general(), i;

	ASSERT_EQ(pin_to(nr_cpus() - 1), 0);
	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, -1, nr_cpus() - 1);
	EXPECT_TRUE(all_run(nr, -1));
}

/* Rotation also works on an idle CPU */
TEST(on_an_idle_cpu)
{
	ROWS("Q-01 Q-02");
	int nr = 3 * counters_general(), i;

	if (nr_cpus() < 2)
		SKIP(return, "no other CPU");
	ASSERT_EQ(pin_to(0), 0);
	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, -1, nr_cpus() - 1);
	EXPECT_TRUE(work_until(nr, 20 * MS));
}

TEST(task_and_cpu)
{
	ROWS("Q-01 Q-02");
	int gp = counters_general(), nr = 0, i;

	ASSERT_EQ(pin_to(nr_cpus() - 1), 0);
	for (i = 0; i < gp + 2; i++)
		fd[nr++] = single(RAW_BRANCHES, -1, nr_cpus() - 1);
	for (i = 0; i < gp + 2; i++)
		fd[nr++] = single(RAW_BRANCHES, 0, -1);
	EXPECT_TRUE(work_until(nr, 10 * MS));
}

/*
 * CPU events fill all counters and need no rotation among themselves.  Native perf never
 * schedules in the task's events; kpmu must.
 */
TEST(task_beside_a_full_cpu)
{
	ROWS("Q-02");
	int gp = counters_general(), nr = 0, i;

	ASSERT_EQ(pin_to(nr_cpus() - 1), 0);
	for (i = 0; i < gp; i++)
		fd[nr++] = single(RAW_BRANCHES, -1, nr_cpus() - 1);
	for (i = 0; i < 2; i++)
		fd[nr++] = single(RAW_BRANCHES, 0, -1);
	EXPECT_TRUE(work_until(nr, 10 * MS));
}

/* Many task events do not starve the CPU's events */
TEST(cpu_beside_a_full_task)
{
	ROWS("Q-02");
	int gp = counters_general(), nr = 0, i;

	ASSERT_EQ(pin_to(nr_cpus() - 1), 0);
	for (i = 0; i < 2 * gp; i++)
		fd[nr++] = single(RAW_BRANCHES, 0, -1);
	for (i = 0; i < 2; i++)
		fd[nr++] = single(RAW_BRANCHES, -1, nr_cpus() - 1);
	EXPECT_TRUE(work_until(nr, 10 * MS));
}

/* Two tasks share a CPU, each with more events than counters */
TEST(two_busy_tasks)
{
	ROWS("Q-01 Q-02");
	int gp = counters_general(), n = 2 * gp, i, left = 1;
	uint64_t end = patience();
	struct worker w[2];

	ASSERT_EQ(pin_to(0), 0);
	for (i = 0; i < 2; i++) {
		worker_start(&w[i]);
		worker_pin(&w[i], nr_cpus() - 1);
	}
	for (i = 0; i < n; i++)
		fd[i] = single(RAW_BRANCHES, w[i & 1].pid, -1);
	for (i = n; i < 2 * n; i++)
		fd[i] = single(RAW_BRANCHES, w[i & 1].pid, -1);
	while (left && now_ns() < end) {
		worker_go(&w[0], 2000000);
		worker_go(&w[1], 2000000);
		worker_wait(&w[0]);
		worker_wait(&w[1]);
		left = 0;
		for (i = 0; i < 2 * n; i++)
			left += ev_times(fd[i]).running < 10 * MS;
	}
	EXPECT_EQ(left, 0);
	for (i = 0; i < 2; i++)
		worker_stop(&w[i]);
}

/* A task that always sleeps before the rotation timer expires */
TEST(short_turns)
{
	ROWS("Q-02");
	int nr = 3 * counters_general(), i, left = 1;
	uint64_t end = patience();
	struct worker w;

	worker_start(&w);
	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, w.pid, -1);
	while (left && now_ns() < end) {
		for (i = 0; i < 20; i++)
			worker_run(&w, 20000);
		left = 0;
		for (i = 0; i < nr; i++)
			left += ev_times(fd[i]).running < MS;
	}
	EXPECT_EQ(left, 0);
	worker_stop(&w);
}

TEST(while_migrating)
{
	ROWS("Q-01 Q-03");
	int gp = counters_general(), nr = 2 * gp, i;

	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, 0, -1);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(pin_to(i % nr_cpus()), 0);
		for (int k = 0; k < 5; k++)
			work(20000);
	}
	for (i = 0; i < nr; i++) {
		struct ev_times t = ev_times(fd[i]);

		EXPECT_GT(t.running, 0);
		EXPECT_LT(t.running, t.enabled);
		EXPECT_GT(t.value, 0);
	}
}

/*
 * Open, close, disable and enable events while others rotate.  None counts more than a pinned
 * instruction event.
 */
TEST(open_close_while_rotating)
{
	ROWS("Q-14");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int gp = counters_general(), nr = 2 * gp, all, i, k;
	uint64_t last[MAX] = { 0 };

	a.pinned = 1;
	a.disabled = 0;
	all = ev_must(&a, 0, -1, -1, 0);
	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, 0, -1);
	for (k = 0; k < 300; k++) {
		i = k % nr;
		if (k % 3 == 0) {
			close(fd[i]);
			fd[i] = single(k % 2 ? RAW_BRANCHES : 0x00c0, 0, -1);
			last[i] = 0;
		} else if (k % 3 == 1) {
			ev_disable(fd[i]);
			ev_enable(fd[i]);
		}
		work(5000);
		for (i = 0; i < nr; i++) {
			struct ev_times t = ev_times(fd[i]);

			ASSERT_GE(t.value, last[i]);
			ASSERT_LE(t.running, t.enabled);
			last[i] = t.value;
		}
	}
	for (i = 0; i < nr; i++)
		EXPECT_LE(last[i], ev_count(all));
	EXPECT_GE(ev_count(all), 300 * WORK_INSNS(5000));
}

static const char *interval_file(void)
{
	return route_is_native() ?
		"/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms" :
		"/proc/sys/kernel/kpmu/perf_event_mux_interval_ms";
}

static int refused(long ms)
{
	return write_long(interval_file(), ms) ? errno : 0;
}

TEST(interval)
{
	ROWS("U-29");
	long old = read_long(interval_file());

	EXPECT_GT(old, 0);
	EXPECT_EQ(EINVAL, refused(0));
	EXPECT_EQ(EINVAL, refused(-1));
	EXPECT_EQ(old, read_long(interval_file()));
	EXPECT_EQ(0, refused(1));
	EXPECT_EQ(1, read_long(interval_file()));
	EXPECT_EQ(0, refused(INT_MAX));
	EXPECT_EQ(INT_MAX, read_long(interval_file()));
	EXPECT_EQ(0, refused(old));
}

/* A shorter multiplexing interval takes effect at once, not after a long one has expired */
TEST(interval_at_once)
{
	ROWS("U-29 Q-02");
	int gp = counters_general(), nr = 2 * gp, i, waiting = 0;
	long old = read_long(interval_file());

	ASSERT_EQ(0, write_long(interval_file(), 100000));
	for (i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, 0, -1);
	for (i = 0; i < 20; i++)
		work(100000);
	for (i = 0; i < nr; i++)
		waiting += !ev_times(fd[i]).running;
	EXPECT_EQ(waiting, gp);
	ASSERT_EQ(0, write_long(interval_file(), 1));
	EXPECT_TRUE(work_until(nr, MS));
	ASSERT_EQ(0, write_long(interval_file(), old));
}

/*
 * A task that often sleeps does not rotate each time that it is scheduled in: at most once in a turn,
 * and once when the timer expires
 */
TEST(not_at_each_switch)
{
	ROWS("Q-02");
	const int turn = 500, rounds = 200;
	int nr = 3 * counters_general();
	long old = read_long(interval_file());
	uint64_t before, n, begin;
	struct worker w;

	if (route_is_native())
		SKIP(return, "upstream has no number of rotations");
	worker_start(&w);
	worker_pin(&w, 0);
	ASSERT_EQ(0, write_long(interval_file(), turn));
	for (int i = 0; i < nr; i++)
		fd[i] = single(RAW_BRANCHES, w.pid, -1);
	/* Until its first turn has ended, by its own clock */
	while (ev_times(fd[0]).enabled < 2 * turn * MS)
		worker_run(&w, 100000);
	begin = now_ns();
	before = rotations();
	for (int i = 0; i < rounds; i++)
		worker_run(&w, 1000);
	n = rotations() - before;
	EXPECT_LE(n, 2 * ((now_ns() - begin) / (turn * MS) + 1));
	printf("# %lu rotations\n", n);
	worker_stop(&w);
	ASSERT_EQ(0, write_long(interval_file(), old));
}

TEST_HARNESS_MAIN
