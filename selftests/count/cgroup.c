// SPDX-License-Identifier: GPL-2.0-only
/* cgroup events: which tasks they count, on which CPU, and for how long. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/ioctl.h>

#include "cgroup_tests.h"
#include "clone.h"

TEST(only_its_tasks)
{
	ROWS("G-01 G-02 O-21 G-07");
	struct cgroup top, a, b;
	struct worker in_a, in_b, outside;
	int fd_a, fd_b;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	cgroup_make(&b, &top, "kpmu-b");
	start_in(&in_a, &a, 1);
	start_in(&in_b, &b, 1);
	start_in(&outside, NULL, 1);
	fd_a = watch(&a, 1);
	fd_b = watch(&b, 1);
	SEES_ALL(fd_a, &in_a);
	SEES_ALL(fd_b, &in_b);
	SEES_NOTHING(fd_a, &in_b);
	SEES_NOTHING(fd_b, &in_a);
	SEES_NOTHING(fd_a, &outside);
	SEES_NOTHING(fd_b, &outside);
	SEES_ALL(fd_a, &in_a);
	EXPECT_TRUE(always_ran(fd_a));
	EXPECT_TRUE(always_ran(fd_b));
}

/* Tasks of several cgroups share one CPU, with many context switches */
TEST(turns_on_one_cpu)
{
	ROWS("G-01 G-07");
	struct cgroup top, g[3];
	struct worker w[4];
	uint64_t v[3][3], t[3], sum = 0, began = 0;
	int fd[3], i, round;

	cgroup_v2();
	cgroup_root(&top);
	for (i = 0; i < 3; i++) {
		char name[] = "kpmu-0";

		name[5] += i;
		cgroup_make(&g[i], &top, name);
		start_in(&w[i], &g[i], 1);
		fd[i] = watch(&g[i], 1);
	}
	start_in(&w[3], NULL, 1);
	for (round = 0; round < 3; round++) {
		if (round == 2) {
			began = now_ns();
			for (i = 0; i < 3; i++)
				t[i] = ev_times(fd[i]).enabled;
		}
		for (i = 0; i < 4; i++)
			worker_go(&w[i], round == 2 ? 3000001 : 1);
		for (i = 0; i < 4; i++)
			worker_wait(&w[i]);
		for (i = 0; i < 3; i++)
			v[i][round] = ev_count(fd[i]);
	}
	for (i = 0; i < 3; i++) {
		EXACT(v[i][2] - v[i][1] - (v[i][1] - v[i][0]),
		      worker_insns(3000001, 1));
		EXPECT_TRUE(always_ran(fd[i]));
		t[i] = ev_times(fd[i]).enabled - t[i];
		EXPECT_GT(t[i], 0);
		sum += t[i];
	}
	/* Only one cgroup runs at a time */
	EXPECT_LE(sum, (now_ns() - began) * 12 / 10);
}

TEST(only_on_its_cpu)
{
	ROWS("G-01 G-03");
	struct cgroup top, a;
	struct worker w;
	int on0, on1;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 0);
	on0 = watch(&a, 0);
	on1 = watch(&a, 1);
	SEES_ALL(on0, &w);
	SEES_NOTHING(on1, &w);
	worker_pin(&w, 1);
	SEES_NOTHING(on0, &w);
	SEES_ALL(on1, &w);
}

/* A task that migrates is always counted by the event of its current CPU */
TEST(migration)
{
	ROWS("G-01 G-06");
	struct cgroup top, a;
	struct worker w;
	uint64_t v[3] = { 0 };
	int fd[16], i, k, n = nr_cpus();

	if (n > 16)
		SKIP(return, "too many CPUs");
	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 0);
	for (i = 0; i < n; i++)
		fd[i] = watch(&a, i);
	for (k = 0; k < 3; k++) {
		worker_roam(&w, k == 2 ? 10001 : 1, 40);
		for (i = 0; i < n; i++)
			v[k] += ev_count(fd[i]);
	}
	EXACT(v[2] - v[1] - (v[1] - v[0]), 40 * worker_insns(10001, 1));
	for (i = 0; i < n; i++)
		EXPECT_TRUE(always_ran(fd[i]));
}

TEST(descendants)
{
	ROWS("G-05");
	struct cgroup top, a, b, c;
	struct worker in_a, in_b, in_c;
	int fa, fb, fc;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	cgroup_make(&b, &a, "b");
	cgroup_make(&c, &b, "c");
	start_in(&in_a, &a, 1);
	start_in(&in_b, &b, 1);
	start_in(&in_c, &c, 1);
	fa = watch(&a, 1);
	fb = watch(&b, 1);
	fc = watch(&c, 1);
	SEES_ALL(fa, &in_a);
	SEES_NOTHING(fb, &in_a);
	SEES_NOTHING(fc, &in_a);
	SEES_ALL(fa, &in_b);
	SEES_ALL(fb, &in_b);
	SEES_NOTHING(fc, &in_b);
	SEES_ALL(fa, &in_c);
	SEES_ALL(fb, &in_c);
	SEES_ALL(fc, &in_c);
}

/* Cgroup a with cgroup b in it, and events of both on CPU 1, where worker @w runs in b */
static void watch_nested(struct cgroup *a, struct cgroup *b, struct worker *w, int *outer, int *inner)
{
	struct cgroup top;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(a, &top, "kpmu-a");
	cgroup_make(b, a, "b");
	start_in(w, b, 1);
	*outer = watch(a, 1);
	*inner = watch(b, 1);
}

/*
 * Close @fd while @w runs, which goes on for some three seconds without a switch.  This CPU is busy, too:
 * the kernel moves timers, with the work that they start, from idle CPUs to busy ones.  Return: the
 * number of rounds.
 */
static uint64_t close_while(int fd, struct worker *w)
{
	const uint64_t some = 5000000;
	uint64_t begin = now_ns(), took;

	worker_run(w, some);
	took = now_ns() - begin;
	worker_go(w, some * (3000000000 / took + 1));
	close(fd);
	while (!worker_done(w))
		;
	worker_wait(w);
	return some * (3000000000 / took + 2);
}

/* The event of an outer cgroup is closed while a task runs; a second later the module forgets the cgroup */
TEST(outer_one_closed)
{
	ROWS("G-05");
	uint64_t before, each, rounds;
	struct cgroup a, b;
	struct worker w;
	int outer, inner;

	pin_to(0);
	watch_nested(&a, &b, &w, &outer, &inner);
	SEES_ALL(outer, &w);
	before = ev_count(inner);
	worker_run(&w, 1);
	each = ev_count(inner) - before;
	before = ev_count(inner);
	rounds = close_while(outer, &w);
	EXACT(ev_count(inner) - before, 2 * each + worker_insns(rounds, 2));
	EXPECT_TRUE(always_ran(inner));
	outer = watch(&a, 1);
	SEES_ALL(outer, &w);
	SEES_ALL(inner, &w);
}

/* The same with the inner one: that of the outer cgroup stays */
TEST(inner_one_closed)
{
	ROWS("G-05");
	struct cgroup a, b;
	struct worker w;
	int outer, inner;

	pin_to(0);
	watch_nested(&a, &b, &w, &outer, &inner);
	SEES_ALL(inner, &w);
	close_while(inner, &w);
	EXPECT_TRUE(always_ran(outer));
	SEES_ALL(outer, &w);
	inner = watch(&b, 1);
	SEES_ALL(inner, &w);
	SEES_ALL(outer, &w);
}

/* The root cgroup contains all tasks, including the idle task */
TEST(root)
{
	ROWS("G-05 G-07");
	struct cgroup top, a;
	struct worker in_a, outside;
	struct ev_times one, two;
	int fd, fd_a;
	uint64_t v, t;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&in_a, &a, 1);
	start_in(&outside, NULL, 1);
	fd = watch(&top, 1);
	fd_a = watch(&a, 1);
	v = ev_count(fd);
	worker_run(&in_a, N);
	EXPECT_GE(ev_count(fd), v + 4 * N);
	v = ev_count(fd);
	worker_run(&outside, N);
	EXPECT_GE(ev_count(fd), v + 4 * N);
	v = ev_times(fd_a).enabled;
	t = now_ns();
	one = ev_times(fd);
	usleep(100000);
	two = ev_times(fd);
	t = now_ns() - t;
	EXPECT_GE(two.enabled - one.enabled, 100000000 * 9ULL / 10);
	EXPECT_LE(two.enabled - one.enabled, t * 12 / 10);
	EXPECT_EQ(two.enabled - one.enabled, two.running - one.running);
	/* No task of cgroup a ran meanwhile */
	EXPECT_EQ(ev_times(fd_a).enabled, v);
}

/* time_enabled and time_running advance only while a task of the cgroup runs */
TEST(times)
{
	ROWS("G-07");
	struct cgroup top, a;
	struct ev_times one, two;
	struct worker w;
	uint64_t t;
	int fd;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	fd = watch(&a, 1);
	one = ev_times(fd);
	usleep(100000);
	two = ev_times(fd);
	EXPECT_EQ(one.enabled, two.enabled);
	t = now_ns();
	worker_run(&w, 1000000);
	t = now_ns() - t;
	two = ev_times(fd);
	EXPECT_GT(two.enabled, one.enabled);
	EXPECT_LE(two.enabled - one.enabled, t);
	EXPECT_EQ(two.running, two.enabled);
}

/* A new task is in the cgroup of its parent */
TEST(children)
{
	ROWS("G-01 G-06");
	struct cgroup top, a;
	struct worker w, kid, thread;
	int fd;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	fd = watch(&a, 1);
	worker_fork(&w, &kid);
	worker_add_thread(&w, &thread);
	SEES_ALL(fd, &kid);
	SEES_ALL(fd, &thread);
	SEES_ALL(fd, &w);
	/* All threads of the process move, its child process does not */
	cgroup_add(&top, w.pid);
	SEES_NOTHING(fd, &thread);
	SEES_NOTHING(fd, &w);
	SEES_ALL(fd, &kid);
	worker_stop(&thread);
	worker_stop(&kid);
	worker_stop(&w);
}

/* Child processes are counted from their first instruction on */
TEST(families)
{
	ROWS("G-01 G-06");
	struct clone_work work = { .clone = CLONE_FORK, .n = N, .kids = 30 };
	struct perf_event_attr attr = insns();
	struct cgroup top, a;
	int fd;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	attr.disabled = 1;
	fd = ev_must(&attr, a.fd, 1, -1, PERF_FLAG_PID_CGROUP);
	cgroup_add(&a, getpid());
	ASSERT_EQ(pin_to(1), 0);
	clone_counted(fd, &work);
	EXACT(ev_count(fd), CLONE_SELF(30) + CLONE_KIDS(N, 30));
	EXPECT_TRUE(always_ran(fd));
}

TEST(moved_while_it_sleeps)
{
	ROWS("G-06");
	struct cgroup top, a, b;
	struct worker w;
	int fd_a, fd_b, i;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	cgroup_make(&b, &top, "kpmu-b");
	start_in(&w, NULL, 1);
	fd_a = watch(&a, 1);
	fd_b = watch(&b, 1);
	for (i = 0; i < 5; i++) {
		SEES_NOTHING(fd_a, &w);
		cgroup_add(&a, w.pid);
		SEES_ALL(fd_a, &w);
		SEES_NOTHING(fd_b, &w);
		cgroup_add(&b, w.pid);
		SEES_ALL(fd_b, &w);
		SEES_NOTHING(fd_a, &w);
		cgroup_add(&top, w.pid);
		SEES_NOTHING(fd_b, &w);
	}
}

/* Moving a running task takes effect at once, without a context switch */
TEST(moved_while_it_runs)
{
	ROWS("G-06");
	struct cgroup top, a, b;
	struct ev_times in_a, in_b;
	struct worker w;
	int fd_a, fd_b, both, i;
	uint64_t v[3];

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	cgroup_make(&b, &top, "kpmu-b");
	start_in(&w, &a, 1);
	fd_a = watch(&a, 1);
	fd_b = watch(&b, 1);
	for (i = 0; i < 2; i++) {
		struct perf_event_attr attr = insns();

		both = ev_must(&attr, w.pid, -1, -1, 0);
		v[0] = ev_count(fd_a);
		v[1] = ev_count(fd_b);
		worker_go(&w, 60000000);	/* longer than the move takes */
		EXPECT_TRUE(moves_on(fd_a, v[0]));
		cgroup_add(&b, w.pid);
		in_a = ev_times(fd_a);
		EXPECT_TRUE(moves_on(fd_b, v[1]));
		/* The event of the first cgroup has stopped */
		EXPECT_EQ(ev_times(fd_a).value, in_a.value);
		EXPECT_EQ(ev_times(fd_a).enabled, in_a.enabled);
		in_b = ev_times(fd_b);
		EXPECT_GT(ev_times(fd_b).enabled, 0);
		cgroup_add(&a, w.pid);
		in_b = ev_times(fd_b);
		worker_wait(&w);
		EXPECT_EQ(ev_times(fd_b).value, in_b.value);
		/* Each instruction is counted by exactly one of the two events */
		v[2] = ev_count(fd_a) - v[0] + ev_count(fd_b) - v[1];
		EXACT(v[2], ev_count(both));
		close(both);
	}
	EXPECT_TRUE(always_ran(fd_a));
	EXPECT_TRUE(always_ran(fd_b));
}

/* An event remains usable after its cgroup is removed */
TEST(removed)
{
	ROWS("G-01 G-08");
	struct perf_event_attr attr = insns();
	struct cgroup top, a, again;
	struct worker w;
	uint64_t v;
	int fd;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	fd = watch(&a, 1);
	SEES_ALL(fd, &w);
	worker_stop(&w);
	v = ev_count(fd);
	cgroup_remove(&a);
	EXPECT_EQ(ev_count(fd), v);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	EXPECT_EQ(ev_errno(&attr, a.fd, 1, -1, PERF_FLAG_PID_CGROUP), ENOENT);
	/* A new cgroup of the same name is a different one */
	cgroup_make(&again, &top, "kpmu-a");
	start_in(&w, &again, 1);
	SEES_NOTHING(fd, &w);
	EXPECT_EQ(ev_count(fd), v);
}

TEST(control)
{
	ROWS("G-01 I-01 I-02");
	struct cgroup top, a;
	struct worker w;
	int fd, i;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	fd = watch(&a, 1);
	for (i = 0; i < 5; i++) {
		/* From the event's own CPU and from another one */
		ASSERT_EQ(pin_to(i & 1), 0);
		ev_disable(fd);
		SEES_NOTHING(fd, &w);
		EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
		EXPECT_EQ(ev_count(fd), 0);
		ev_enable(fd);
		SEES_ALL(fd, &w);
		/* While the task runs */
		worker_go(&w, 1000000);
		ev_disable(fd);
		ev_enable(fd);
		ev_disable(fd);
		EXPECT_EQ(ev_count(fd), ev_count(fd));
		worker_wait(&w);
	}
	EXPECT_TRUE(always_ran(fd));
}

TEST(group)
{
	ROWS("G-01 G-07");
	static const struct {
		uint32_t type;
		uint64_t config, a_round;
	} kinds[] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 4 },
		{ PERF_TYPE_RAW, RAW_LOADS, 1 },
		{ PERF_TYPE_RAW, RAW_STORES, 1 },
		{ PERF_TYPE_RAW, RAW_BRANCHES, 1 },
	};
	struct {
		uint64_t nr, enabled, running, value[4];
	} r[3];
	struct cgroup top, a;
	struct worker w, other;
	int fd[4], i;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	start_in(&other, NULL, 1);
	for (i = 0; i < 4; i++) {
		struct perf_event_attr attr = ev_attr(kinds[i].type, kinds[i].config);

		attr.disabled = 0;
		attr.read_format = FORMAT_TIMES | PERF_FORMAT_GROUP;
		fd[i] = ev_must(&attr, a.fd, 1, i ? fd[0] : -1,
				PERF_FLAG_PID_CGROUP);
	}
	for (i = 0; i < 3; i++) {
		worker_run(&other, N);
		worker_run(&w, i == 2 ? N : 1);
		ASSERT_EQ(read(fd[0], &r[i], sizeof(r[i])), sizeof(r[i]));
		EXPECT_EQ(r[i].nr, 4);
		EXPECT_EQ(r[i].enabled, r[i].running);
	}
	for (i = 0; i < 4; i++)
		EXACT(r[2].value[i] - r[1].value[i] -
		      (r[1].value[i] - r[0].value[i]),
		      kinds[i].a_round * (N - 1));
}

/* Far more cgroups than counters: a cgroup needs counters only while its tasks run */
TEST(many_groups)
{
	ROWS("G-01 G-07");
	enum { MANY = 60 };
	static struct cgroup g[MANY];
	static struct worker w[MANY];
	struct cgroup top;
	int fd[MANY], i;
	char name[16];

	cgroup_v2();
	cgroup_root(&top);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "kpmu-%d", i);
		cgroup_make(&g[i], &top, name);
		fd[i] = watch(&g[i], 1);
	}
	for (i = 0; i < MANY; i += 6)
		start_in(&w[i], &g[i], 1);
	for (i = 0; i < MANY; i += 6)
		SEES_ALL(fd[i], &w[i]);
	for (i = 0; i < MANY; i++) {
		EXPECT_TRUE(always_ran(fd[i]));
		if (i % 6)
			EXPECT_EQ(ev_times(fd[i]).enabled, 0);
	}
}

/* More events of one cgroup than counters: they rotate */
TEST(multiplexed)
{
	ROWS("G-07");
	enum { M = 10 };
	struct cgroup top, a;
	struct ev_times t;
	struct worker w;
	uint64_t running = 0, most = 0;
	int fd[M], i;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	for (i = 0; i < M; i++) {
		struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_LOADS);

		attr.disabled = 0;
		attr.read_format = FORMAT_TIMES;
		fd[i] = ev_must(&attr, a.fd, 1, -1, PERF_FLAG_PID_CGROUP);
	}
	worker_run(&w, 60000000);
	for (i = 0; i < M; i++) {
		t = ev_times(fd[i]);
		EXPECT_GT(t.running, 0);
		EXPECT_LT(t.running, t.enabled);
		EXPECT_EQ(t.enabled, ev_times(fd[0]).enabled);
		EXPECT_GT(t.value, 0);
		EXPECT_LT(t.value, 60000000);
		running += t.running;
		most = t.enabled;
	}
	EXPECT_LE(running, most * counters_general());
	EXPECT_GE(running, most * counters_general() * 9 / 10);
}

/* A cgroup event concurrently with a task event and a CPU event: all of them are exact */
TEST(with_task_and_cpu_events)
{
	ROWS("G-01 O-04");
	struct perf_event_attr attr = insns();
	struct cgroup top, a;
	struct worker w, other;
	int fd, task, cpu;
	uint64_t v;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	start_in(&other, NULL, 1);
	fd = watch(&a, 1);
	task = ev_must(&attr, w.pid, -1, -1, 0);
	cpu = ev_must(&attr, -1, 1, -1, 0);
	SEES_ALL(fd, &w);
	SEES_ALL(task, &w);
	SEES_NOTHING(fd, &other);
	v = ev_count(cpu);
	worker_run(&other, N);
	EXPECT_GE(ev_count(cpu), v + 4 * N);
	v = ev_count(cpu);
	worker_run(&w, N);
	EXPECT_GE(ev_count(cpu), v + 4 * N);
	close(cpu);
	close(task);
	SEES_ALL(fd, &w);
}

/*
 * Check that an event counts while @w works.  If @w is done before the count changes, there is no
 * result: return true and leave @known unchanged.
 */
static bool counts_along(int fd, struct worker *w, int *known)
{
	uint64_t v = ev_count(fd);

	while (ev_count(fd) == v)
		if (worker_done(w))
			return true;
	++*known;
	return always_ran(fd);
}

/* Exactly the enabled events count, whichever ones were enabled when the task last ran */
TEST(toggled_events)
{
	ROWS("G-01 I-01 I-02");
	struct cgroup top, a;
	struct worker w;
	uint64_t was[4], is;
	int fd[4], on[4] = { 1, 1, 1, 1 }, i, j, wrong = 0;
	struct perf_event_attr attr = insns();

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	for (i = 0; i < 4; i++)
		fd[i] = i % 2 ? watch(&a, 1) : ev_must(&attr, -1, 1, -1, 0);
	for (i = 0; i < often(1500); i++) {
		/* Toggle one of the two CPU events and one of the two cgroup events */
		int one[2] = { i & 2, (i >> 2 & 2) + 1 };

		for (j = 0; j < 2; j++) {
			on[one[j]] ^= 1;
			ioctl(fd[one[j]], on[one[j]] ? PERF_EVENT_IOC_ENABLE :
						       PERF_EVENT_IOC_DISABLE, 0);
		}
		for (j = 0; j < 4; j++)
			was[j] = ev_count(fd[j]);
		worker_run(&w, 100);
		for (j = 0; j < 4; j++) {
			is = ev_count(fd[j]) - was[j];
			wrong += on[j] ? is < 400 : is != 0;
		}
	}
	EXPECT_EQ(wrong, 0);
}

/* An event is opened and closed while a task of its cgroup runs */
TEST(opened_while_it_runs)
{
	ROWS("G-01");
	struct cgroup top, a;
	struct worker w;
	int fd, i, known = 0;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	for (i = 0; i < 10; i++) {
		worker_go(&w, 10000000);
		fd = watch(&a, 1);
		EXPECT_TRUE(counts_along(fd, &w, &known));
		close(fd);
		worker_wait(&w);
	}
	EXPECT_GT(known, 0);
}

TEST_HARNESS_MAIN
