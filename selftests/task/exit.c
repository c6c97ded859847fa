// SPDX-License-Identifier: GPL-2.0-only
/* Tasks that exit and CPUs that go offline while events are attached to them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define N 100000

static int on_task(pid_t pid, int disabled)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = disabled;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, -1, -1, 0);
}

TEST(last_values_are_kept)
{
	ROWS("F-24");
	struct ev_times before, after;
	struct worker w;
	int fd;

	worker_start(&w);
	fd = on_task(w.pid, 0);
	worker_run(&w, N);
	before = ev_times(fd);
	worker_zombie(&w);
	after = ev_times(fd);
	EXPECT_GT(after.value, before.value);	/* the exit path counts */
	EXPECT_LT(after.value, before.value + 1000000);
	EXPECT_TRUE(always_ran(fd));
	waitpid(w.pid, NULL, 0);
	before = ev_times(fd);
	EXPECT_EQ(memcmp(&before, &after, sizeof(after)), 0);
}

/* After the task's exit, ioctls succeed but do not restart the event */
TEST(control_after_exit)
{
	ROWS("F-24");
	struct ev_times t;
	struct worker w;
	uint64_t v;
	int fd;

	worker_start(&w);
	fd = on_task(w.pid, 0);
	worker_run(&w, N);
	worker_stop(&w);
	v = ev_count(fd);
	for (int i = 0; i < 3; i++) {
		ev_disable(fd);
		EXPECT_EQ(ev_count(fd), v);
		ev_enable(fd);
		EXPECT_EQ(ev_count(fd), v);
	}
	EXPECT_NE(ev_id(fd), 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP), 0);
	t = ev_times(fd);
	EXPECT_EQ(t.value, 0);
	EXPECT_GT(t.enabled, 0);
	EXPECT_EQ(close(fd), 0);
}

TEST(group_after_exit)
{
	ROWS("F-24 F-06");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t v[8], again[8];
	struct worker w;
	int lead, member;

	worker_start(&w);
	a.read_format = PERF_FORMAT_GROUP | FORMAT_TIMES;
	lead = ev_must(&a, w.pid, -1, -1, 0);
	a.disabled = 0;
	member = ev_must(&a, w.pid, -1, lead, 0);
	ev_enable(lead);
	worker_run(&w, N);
	worker_stop(&w);
	ASSERT_EQ(read(lead, v, sizeof(v)), 40);
	EXPECT_EQ(v[0], 2);
	EXPECT_EQ(v[1], v[2]);
	EXPECT_GE(v[3], 4 * N);
	EXPECT_EQ(v[3], v[4]);
	EXPECT_EQ(ioctl(lead, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP), 0);
	ASSERT_EQ(read(lead, again, sizeof(again)), 40);
	EXPECT_EQ(memcmp(v, again, 40), 0);
	/* The leader may be closed before its sibling */
	close(lead);
	EXPECT_GE(read(member, again, sizeof(again)), 32);
	close(member);
}

TEST(killed)
{
	ROWS("F-24");
	struct worker w;
	uint64_t v;
	int fd, i;

	for (i = 0; i < 10; i++) {
		worker_start(&w);
		fd = on_task(w.pid, 0);
		worker_go(&w, 10000000000ULL);
		while (ev_count(fd) < 100000 + 10000 * i)
			;
		kill(w.pid, SIGKILL);
		waitpid(w.pid, NULL, 0);
		v = ev_count(fd);
		EXPECT_GE(v, 100000);
		EXPECT_EQ(ev_count(fd), v);
		EXPECT_TRUE(always_ran(fd));
		close(fd);
		close(w.to);
		close(w.from);
	}
}

static void *spin_then_leave(void *arg)
{
	*(pid_t *)arg = syscall(SYS_gettid);
	work(1000000);
	return NULL;
}

/* Open an event at any moment of a short-lived thread */
TEST(threads_that_leave)
{
	ROWS("F-24 E-42");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd, i, opened = 0, counted = 0;
	uint64_t end = patience();
	volatile pid_t tid;
	pthread_t t;

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	/* Repeat until an open was early enough, also on a busy machine */
	for (i = 0; i < 50 || (!counted && now_ns() < end); i++) {
		tid = 0;
		ASSERT_EQ(pthread_create(&t, NULL, spin_then_leave,
					 (void *)&tid), 0);
		while (!tid)
			sched_yield();
		fd = ev_open(&a, tid, -1, -1, 0);
		if (fd < 0) {
			EXPECT_EQ(errno, ESRCH);
		} else {
			opened++;
			ev_count(fd);
		}
		pthread_join(t, NULL);
		if (fd >= 0) {
			counted += ev_count(fd) > 0;	/* 0: opened too late */
			EXPECT_TRUE(always_ran(fd));
			close(fd);
		}
	}
	EXPECT_GT(opened, 0);
	EXPECT_GT(counted, 0);
}

/* Open events on processes that exit soon: counts and times must be plausible */
TEST_TIMEOUT(exit_storm, 60)
{
	ROWS("F-24 E-42");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t end = now_ns() + 2000000000ULL, late = patience();
	int fds = open_fds(), fd[8], i, got = 0, lost = 0;
	uint64_t n = 100000 * slow();
	pid_t pid[8];

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	while (now_ns() < end || (!got && now_ns() < late)) {
		for (i = 0; i < 8; i++) {
			pid[i] = fork();
			if (!pid[i]) {
				work(n * (i + 1));
				_exit(0);
			}
		}
		for (i = 0; i < 8; i++) {
			fd[i] = ev_open(&a, pid[i], -1, -1, 0);
			if (fd[i] >= 0)
				got++;
			else if (errno == ESRCH)
				lost++;
			else
				ASSERT_EQ(errno, ESRCH);
		}
		for (i = 0; i < 8; i++)
			waitpid(pid[i], NULL, 0);
		for (i = 0; i < 8; i++) {
			if (fd[i] < 0)
				continue;
			EXPECT_LT(ev_count(fd[i]), WORK_INSNS(8 * n) + 20000000);
			EXPECT_TRUE(always_ran(fd[i]));
			close(fd[i]);
		}
		if (!got)
			n *= 2;
	}
	printf("# %d attached, %d too late\n", got, lost);
	EXPECT_GT(got, 0);
	EXPECT_EQ(open_fds(), fds);
}

/* Close an event on one CPU while its target exits on another */
TEST(close_vs_exit)
{
	ROWS("O-28");
	struct worker w;
	int fd, i;

	pin_to(0);
	for (i = 0; i < 60; i++) {
		worker_start(&w);
		worker_pin(&w, nr_cpus() - 1);
		fd = on_task(w.pid, 0);
		kill(w.pid, SIGKILL);
		if (i % 2)
			ev_disable(fd);
		close(fd);
		waitpid(w.pid, NULL, 0);
		close(w.to);
		close(w.from);
	}
}

TEST(close_while_it_runs)
{
	ROWS("O-28");
	struct worker w;
	int fd[4], i, k;

	worker_start(&w);
	worker_pin(&w, nr_cpus() - 1);
	pin_to(0);
	for (k = 0; k < 50; k++) {
		worker_go(&w, 100000);
		for (i = 0; i < 4; i++)
			fd[i] = on_task(w.pid, 0);
		for (i = 0; i < 4; i++)
			close(fd[i]);
		worker_wait(&w);
	}
	/* No closed event still occupies a counter */
	fd[0] = on_task(w.pid, 0);
	worker_run(&w, N);
	EXPECT_GE(ev_count(fd[0]), 4 * N);
	EXPECT_TRUE(always_ran(fd[0]));
	worker_stop(&w);
}

/*
 * A CPU goes offline and comes back.  Meanwhile its event retains its count, and task events
 * count on other CPUs.
 */
TEST(cpu_goes_offline)
{
	ROWS("O-10");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int cpu = nr_cpus() - 1, fd, task, tid_fd;
	struct ev_times before, off;
	struct worker w;

	if (cpu < 1)
		SKIP(return, "one CPU");
	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	fd = ev_must(&a, -1, cpu, -1, 0);
	worker_start(&w);
	worker_pin(&w, cpu);
	task = ev_must(&a, w.pid, cpu, -1, 0);
	tid_fd = on_task(w.pid, 0);
	worker_run(&w, N);
	before = ev_times(fd);
	EXPECT_GE(before.value, 4 * N);
	if (cpu_online(cpu, 0))
		SKIP(return, "no CPU can be taken offline");
	off = ev_times(fd);
	EXPECT_GE(off.value, before.value);
	EXPECT_EQ(ev_times(fd).value, off.value);
	ev_disable(fd);
	ev_enable(fd);
	EXPECT_EQ(ev_times(fd).value, off.value);
	/* The task now runs on another CPU */
	before = ev_times(tid_fd);
	worker_run(&w, N);
	EXPECT_GE(ev_count(tid_fd), before.value + 4 * N);
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	worker_pin(&w, cpu);
	before = ev_times(task);
	worker_run(&w, N);
	EXPECT_GE(ev_count(task), before.value + 4 * N);
	EXPECT_TRUE(always_ran(tid_fd));
	worker_stop(&w);
	close(fd);
}

/* The pid of a kernel thread, 0 if there is none of that name */
static pid_t thread_called(const char *name)
{
	DIR *proc = opendir("/proc");
	char path[300], comm[32];
	struct dirent *d;
	pid_t pid = 0;

	while (proc && !pid && (d = readdir(proc))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = atoi(d->d_name) ? fopen(path, "re") : NULL;
		if (f && fgets(comm, sizeof(comm), f) && !strncmp(comm, name, strlen(name)) &&
		    comm[strlen(name)] == '\n')
			pid = atoi(d->d_name);
		if (f)
			fclose(f);
	}
	closedir(proc);
	return pid;
}

/* An event of the thread that takes its own CPU offline: it runs while kpmu leaves the CPU */
TEST(hotplug_thread)
{
	ROWS("O-07");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int cpu = nr_cpus() - 1, fd;
	struct perf_event_attr clock = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	struct ev_times off, on;
	char name[32];
	uint64_t before;
	pid_t pid;
	int timer;

	snprintf(name, sizeof(name), "cpuhp/%d", cpu);
	pid = thread_called(name);
	if (cpu < 1 || !pid)
		SKIP(return, "no CPU can be taken offline");
	a.exclude_kernel = 0;
	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	fd = ev_must(&a, pid, -1, -1, 0);
	/* Its timer is stopped on the CPU that goes away */
	clock.exclude_kernel = 0;
	clock.disabled = 0;
	clock.sample_period = 100000;
	timer = ev_must(&clock, pid, -1, -1, 0);
	EXPECT_EQ(ev_count(fd), 0);
	if (cpu_online(cpu, 0))
		SKIP(return, "no CPU can be taken offline");
	off = ev_times(fd);
	EXPECT_GT(off.value, 0);
	EXPECT_LE(off.running, off.enabled);
	usleep(20000);
	on = ev_times(fd);
	EXPECT_EQ(on.value, off.value);
	EXPECT_EQ(on.running, off.running);
	before = ev_count(timer);
	usleep(20000);
	EXPECT_EQ(ev_count(timer), before);
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	on = ev_times(fd);
	EXPECT_GT(on.value, off.value);
	EXPECT_GT(on.running, off.running);
	EXPECT_LE(on.running, on.enabled);
	/* And once more: it was not lost on the way */
	ASSERT_EQ(cpu_online(cpu, 0), 0);
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	EXPECT_GT(ev_count(fd), on.value);
}

/* The CPU's own event counts again once the CPU is back online; native perf removes it */
TEST(cpu_comes_back)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int cpu = nr_cpus() - 1, fd;
	struct ev_times off, on;
	struct worker w;

	if (cpu < 1)
		SKIP(return, "one CPU");
	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	fd = ev_must(&a, -1, cpu, -1, 0);
	if (cpu_online(cpu, 0))
		SKIP(return, "no CPU can be taken offline");
	off = ev_times(fd);
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	worker_start(&w);
	worker_pin(&w, cpu);
	worker_run(&w, N);
	on = ev_times(fd);
	EXPECT_GE(on.value, off.value + 4 * N);
	EXPECT_GT(on.enabled, off.enabled);
	worker_stop(&w);
}

/* The target last ran on a CPU that is now offline, so no IPI can be sent to that CPU */
TEST(asleep_on_an_offline_cpu)
{
	ROWS("O-10");
	int cpu = nr_cpus() - 1, fd, i;
	struct worker w;
	uint64_t before;
	cpu_set_t all;

	if (cpu < 1)
		SKIP(return, "one CPU");
	worker_start(&w);
	worker_pin(&w, cpu);
	CPU_ZERO(&all);
	for (i = 0; i <= cpu; i++)
		CPU_SET(i, &all);
	ASSERT_EQ(sched_setaffinity(w.pid, sizeof(all), &all), 0);
	if (cpu_online(cpu, 0))
		SKIP(return, "no CPU can be taken offline");
	fd = on_task(w.pid, 0);
	ASSERT_GE(fd, 0);
	before = ev_times(fd).value;
	worker_run(&w, N);
	EXPECT_GE(ev_times(fd).value, before + 4 * N);
	EXPECT_TRUE(always_ran(fd));
	ASSERT_EQ(cpu_online(cpu, 1), 0);
	worker_stop(&w);
	close(fd);
}

/* CPU hotplug while CPU events and task events are read, disabled and enabled */
TEST_TIMEOUT(hotplug_storm, 90)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int cpu = nr_cpus() - 1, fd[12], i, k;
	struct worker w[2];

	if (cpu < 1)
		SKIP(return, "one CPU");
	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	for (i = 0; i < 2; i++)
		worker_start(&w[i]);
	for (i = 0; i < 6; i++)
		fd[i] = ev_must(&a, -1, cpu, -1, 0);
	for (i = 6; i < 12; i++)
		fd[i] = ev_must(&a, w[i % 2].pid, i < 9 ? -1 : cpu, -1, 0);
	for (k = 0; k < 6; k++) {
		if (cpu_online(cpu, k % 2))
			SKIP(return, "no CPU can be taken offline");
		for (i = 0; i < 2; i++)
			worker_go(&w[i], 3000000);
		for (i = 0; i < 12; i++) {
			ev_times(fd[i]);
			ev_disable(fd[i]);
			ev_enable(fd[i]);
		}
		for (i = 0; i < 2; i++)
			worker_wait(&w[i]);
	}
	cpu_online(cpu, 1);
	for (i = 0; i < 12; i++) {
		struct ev_times t = ev_times(fd[i]);

		EXPECT_LE(t.running, t.enabled);
		close(fd[i]);
	}
	for (i = 0; i < 2; i++)
		worker_stop(&w[i]);
}

TEST_HARNESS_MAIN
