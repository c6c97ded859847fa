// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guarantees of kpmu's scheduling beyond upstream's, as equations between event times: no counter
 * is idle while a group that could use it waits, and all effects of one change have one timestamp.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "task.h"

#define N	200000
#define TINY	"/tmp/kpmu-tiny"
#define OFFCORE	0x01b7

static struct perf_event_attr on(uint32_t type, uint64_t config)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

/*
 * A group that claims both offcore response registers, but then gets no counters, must release the
 * registers: an event that needs a third register value runs all the time.
 */
TEST(extra_register_of_a_group_that_does_not_fit)
{
	int i, n = counters_general(), pinned, wide = -1, single;
	struct perf_event_attr a;
	struct ev_times t;
	struct worker w;

	if (cpu_model() == CPU_OTHER || n < 3)
		SKIP(return, "no offcore response events");
	worker_start(&w);
	a = on(PERF_TYPE_RAW, RAW_BRANCHES);
	a.pinned = 1;
	pinned = ev_must(&a, w.pid, -1, -1, 0);
	/* The group needs all counters, but the pinned event occupies one: the group never runs */
	for (i = 0; i < n; i++) {
		a = on(PERF_TYPE_RAW, i < 2 ? OFFCORE : RAW_LOADS);
		a.config1 = i < 2 ? 0x10001 + i : 0;
		if (i)
			ev_must(&a, w.pid, -1, wide, 0);
		else
			wide = ev_must(&a, w.pid, -1, -1, 0);
	}
	a = on(PERF_TYPE_RAW, OFFCORE);
	a.config1 = 0x10004;
	single = ev_must(&a, w.pid, -1, -1, 0);
	for (i = 0; i < 5; i++)
		worker_run(&w, N);
	EXPECT_TRUE(always_ran(pinned));
	EXPECT_TRUE(always_ran(single));
	t = ev_times(wide);
	EXPECT_GT(t.enabled, 0);
	EXPECT_EQ(t.running, 0);
	EXPECT_EQ(t.value, 0);
	worker_stop(&w);
}

#define MAX_SINGLES	16
#define TOGGLES		200

/*
 * A group of two is enabled and disabled repeatedly, while more single events than counters are
 * enabled.  All counters are always in use, so the running times of all events add up to the
 * number of counters times the elapsed time.
 */
TEST(group_switched_while_others_wait)
{
	int i, n = counters_general(), singles = n + 2, fd[MAX_SINGLES], two[2];
	struct ev_times before[MAX_SINGLES], t, g[2];
	uint64_t ran = 0, passed = 0;
	struct perf_event_attr a;
	struct worker w;

	if (singles > MAX_SINGLES)
		SKIP(return, "more counters than this test has events for");
	worker_start(&w);
	for (i = 0; i < singles; i++) {
		a = on(PERF_TYPE_RAW, RAW_LOADS);
		fd[i] = ev_must(&a, w.pid, -1, -1, 0);
	}
	for (i = 0; i < 2; i++) {
		a = on(PERF_TYPE_RAW, RAW_STORES);
		a.disabled = !i;
		two[i] = ev_must(&a, w.pid, -1, i ? two[0] : -1, 0);
	}
	for (i = 0; i < singles; i++)
		before[i] = ev_times(fd[i]);
	worker_go(&w, 300 * (uint64_t)N);
	for (i = 0; i < TOGGLES && !worker_done(&w); i++) {
		ev_enable(two[0]);
		usleep(i % 8 * 500);
		ev_disable(two[0]);
		usleep(i % 4 * 200);
	}
	worker_wait(&w);
	for (i = 0; i < 2; i++)
		g[i] = ev_times(two[i]);
	EXPECT_GT(g[0].running, 0);
	EXPECT_EQ(g[1].running, g[0].running);
	EXPECT_EQ(g[1].enabled, g[0].enabled);
	EXPECT_EQ(g[1].value, g[0].value);
	for (i = 0; i < singles; i++) {
		t = ev_times(fd[i]);
		ran += t.running - before[i].running;
		if (!i)
			passed = t.enabled - before[i].enabled;
		EXPECT_EQ(t.enabled - before[i].enabled, passed);
		EXPECT_GT(t.running, before[i].running);
	}
	EXPECT_EQ(ran + 2 * g[0].running, n * passed);
	worker_stop(&w);
}

#define SWITCHES	1500

/*
 * CPU events compete with the events of a task that is often scheduled in and out.  While the task
 * runs, three more events than counters are enabled, so three wait at any time; else none waits.
 */
TEST(cpu_against_task_over_switches)
{
	int i, n = counters_general(), of_cpu = 3, of_task = n, fd[MAX_SINGLES];
	uint64_t waited = 0, passed, least = ~0ULL;
	struct perf_event_attr a;
	struct ev_times t;
	struct worker w;

	if (of_cpu + of_task > MAX_SINGLES)
		SKIP(return, "more counters than this test has events for");
	worker_start(&w);
	worker_pin(&w, 0);
	for (i = 0; i < of_cpu + of_task; i++) {
		a = on(PERF_TYPE_RAW, RAW_LOADS);
		fd[i] = ev_must(&a, i < of_cpu ? -1 : w.pid, i < of_cpu ? 0 : -1,
				-1, 0);
	}
	for (i = 0; i < often(SWITCHES); i++)
		worker_run(&w, 4000);
	worker_run(&w, 200 * (uint64_t)N);
	passed = ev_times(fd[of_cpu]).enabled;
	for (i = 0; i < of_cpu + of_task; i++) {
		t = ev_times(fd[i]);
		waited += t.enabled - t.running;
		if (i >= of_cpu) {
			EXPECT_EQ(t.enabled, passed);
			least = t.running < least ? t.running : least;
		}
	}
	EXPECT_EQ(waited, of_cpu * passed);
	/* The fair share is n / (n + 3); the CPU events do not starve any event of the task */
	EXPECT_GT(least, 0);
	if (exact_time())
		EXPECT_GT(least * 3, passed);
	worker_stop(&w);
}

/*
 * An inherited event that is removed on exec adds its count and times to its family.  They equal
 * those of an event opened on the child itself, which the same exec removes.
 */
TEST(inherited_times_remove_on_exec)
{
	struct ev_times before[2], after[2];
	struct perf_event_attr a;
	struct worker top, kid;
	int i, fd[2];

	tiny_install(TINY, N, 0755);
	worker_start(&top);
	a = on(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	a.remove_on_exec = 1;
	a.inherit = 1;
	fd[0] = ev_must(&a, top.pid, -1, -1, 0);
	worker_fork(&top, &kid);
	a.inherit = 0;
	fd[1] = ev_must(&a, kid.pid, -1, -1, 0);
	for (i = 0; i < 2; i++)
		before[i] = ev_times(fd[i]);
	worker_run(&kid, N);
	worker_exec(&kid, TINY);
	for (i = 0; i < 2; i++) {
		after[i] = ev_times(fd[i]);
		after[i].value -= before[i].value;
		after[i].enabled -= before[i].enabled;
		after[i].running -= before[i].running;
	}
	EXPECT_GE(after[0].value, 4 * N);
	EXPECT_GT(after[0].enabled, 0);
	EXPECT_EQ(after[0].value, after[1].value);
	EXPECT_EQ(after[0].enabled, after[1].enabled);
	EXPECT_EQ(after[0].running, after[1].running);
	EXPECT_EQ(after[0].running, after[0].enabled);
	worker_reap(&top);
	worker_stop(&top);
}

#define STAY		60
#define COME_AND_GO	reduced(400)

static struct {
	int fd;
	volatile int stop;
	int reads, back;
} reader;

/* Read the family repeatedly; count the reads in which a value went backwards */
static void *read_all_the_time(void *unused)
{
	struct ev_times t, last = { 0, 0, 0 };

	while (!reader.stop) {
		t = ev_times(reader.fd);
		reader.back += t.value < last.value || t.enabled < last.enabled ||
			       t.running < last.running;
		last = t;
		reader.reads++;
	}
	return NULL;
}

/*
 * The monitored task.  Waits on @go until the events are enabled, then forks STAY children, which
 * exist until all short-lived ones are reaped, and COME_AND_GO short-lived ones.  Reports on @done.
 */
static void bear_children(int go, int done)
{
	int i, stay[2];
	pid_t pid;
	char c;

	if (read(go, &c, 1) != 1 || pipe(stay))
		_exit(1);
	for (i = 0; i < STAY; i++) {
		if (fork())
			continue;
		close(stay[1]);
		work(1000);
		_exit(read(stay[0], &c, 1));
	}
	for (i = 0; i < COME_AND_GO; i++) {
		pid = fork();
		if (!pid) {
			work(1000);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	close(stay[1]);
	while (waitpid(-1, NULL, 0) > 0)
		;
	if (write(done, "", 1) != 1)
		_exit(1);
	pause();
}

/* Children are forked and exit while a large family is read; each must be counted exactly once */
TEST(fork_and_exit_during_read)
{
	struct perf_event_attr a = on(PERF_TYPE_HARDWARE,
				      PERF_COUNT_HW_INSTRUCTIONS);
	int go[2], done[2], twin;
	struct ev_times t, u;
	pthread_t thread;
	pid_t pid;
	char c;

	ASSERT_EQ(pipe(go), 0);
	ASSERT_EQ(pipe(done), 0);
	pid = fork();
	if (!pid) {
		bear_children(go[0], done[1]);
		_exit(0);
	}
	a.inherit = 1;
	a.disabled = 1;
	/* The sibling is not read before the end, so concurrent reads cannot disturb its sum */
	reader.fd = ev_must(&a, pid, -1, -1, 0);
	a.disabled = 0;
	twin = ev_must(&a, pid, -1, reader.fd, 0);
	ev_enable(reader.fd);
	ASSERT_EQ(pthread_create(&thread, NULL, read_all_the_time, NULL), 0);
	ASSERT_EQ(write(go[1], "", 1), 1);
	ASSERT_EQ(read(done[0], &c, 1), 1);
	reader.stop = 1;
	pthread_join(thread, NULL);
	ev_disable(reader.fd);
	t = ev_times(reader.fd);
	u = ev_times(twin);
	TH_LOG("%d reads", reader.reads);
	EXPECT_GT(reader.reads, 10);
	EXPECT_EQ(reader.back, 0);
	EXPECT_GT(t.value, WORK_INSNS(1000) * (STAY + COME_AND_GO));
	EXPECT_EQ(t.value, u.value);
	EXPECT_EQ(t.enabled, u.enabled);
	EXPECT_EQ(t.running, u.running);
	EXPECT_EQ(t.running, t.enabled);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST_HARNESS_MAIN
