// SPDX-License-Identifier: GPL-2.0-only
/* A filter of a task's event must cost other tasks nothing. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"

#define ID	"/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id"
#define CALLS	2000
#define MANY	200

static struct perf_event_attr tp(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, read_long(ID));

	a.exclude_kernel = 0;
	a.disabled = 0;
	return a;
}

/* In a child: hold @n filtered events on this task until the pipe is closed */
static void hold_filtered(int n, int ready, int end)
{
	struct rlimit limit = { n + 50, n + 50 };
	struct perf_event_attr a = tp();
	char c = 0;
	int fd;

	setrlimit(RLIMIT_NOFILE, &limit);
	a.exclude_kernel = 1;
	drop_privilege();
	while (n--) {
		fd = ev_open(&a, 0, -1, -1, 0);
		if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER,
				    "common_pid == 999999999"))
			_exit(1);
	}
	if (write(ready, &c, 1) != 1 || read(end, &c, 1))
		_exit(1);
	_exit(0);
}

/* Kernel instructions of CALLS system calls while another task holds filters; 0 on failure */
static uint64_t cost(int fd, int filters)
{
	int ready[2], end[2], i, status;
	uint64_t least = ~0ULL;
	char c;

	if (pipe(ready) || pipe(end))
		exit(1);
	if (!fork()) {
		close(end[1]);
		hold_filtered(filters, ready[1], end[0]);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		return 0;
	/* The minimum: in some rounds interrupts add to the count */
	for (int round = 0; round < 5; round++) {
		uint64_t n = ev_count(fd);

		ev_enable(fd);
		for (i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		ev_disable(fd);
		n = ev_count(fd) - n;
		if (n < least)
			least = n;
	}
	close(end[1]);
	wait(&status);
	close(ready[0]);
	close(end[0]);
	return status ? 0 : least;
}

TEST(cost_others_nothing)
{
	ROWS("I-19");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t one, many;
	int fd;

	if (!has_pmu())
		SKIP(return, "no PMU");
	set_paranoid(2);
	a.exclude_user = 1;
	a.exclude_kernel = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	one = cost(fd, 1);
	many = cost(fd, MANY);
	ASSERT_GT(one, 0);
	ASSERT_GT(many, 0);
	printf("# kernel instructions a call: %llu beside 1 filter, %llu beside %d\n",
	       (unsigned long long)one / CALLS, (unsigned long long)many / CALLS, MANY);
	/* More filters must not matter; the factor allows for more ticks on a busy host */
	EXPECT_LT(many, 2 * one);
}

/* A filter applies to its own event only, whatever other events the task has */
TEST(filter_per_event)
{
	ROWS("I-19");
	static const char *const filters[] = {
		"common_pid == 0", "common_pid != 0", "common_pid > 0 && common_pid < 0",
	};
	struct perf_event_attr a = tp(), s = tp();
	int fd[3], sampling, i;

	s.sample_period = 1;
	s.sample_type = PERF_SAMPLE_IP;
	for (i = 0; i < 3; i++) {
		fd[i] = ev_must(&a, 0, -1, -1, 0);
		ASSERT_EQ(ioctl(fd[i], PERF_EVENT_IOC_SET_FILTER, filters[i]), 0);
	}
	sampling = ev_must(&s, 0, -1, -1, 0);
	ASSERT_EQ(ioctl(sampling, PERF_EVENT_IOC_SET_FILTER, filters[1]), 0);
	for (i = 0; i < 10; i++)
		syscall(SYS_getppid);
	EXPECT_EQ(ev_count(fd[0]), 0);
	EXPECT_EQ(ev_count(fd[1]), 10);
	EXPECT_EQ(ev_count(fd[2]), 0);
	EXPECT_EQ(ev_count(sampling), 10);
}

/* Events are opened, filtered and closed repeatedly while another task hits the tracepoint */
TEST(open_close_race)
{
	struct perf_event_attr a = tp();
	uint64_t end = now_ns() + 2000000000ULL;
	pid_t hitter = fork();
	int status, n = 0;

	if (!hitter)
		for (;;)
			syscall(SYS_getppid);
	while (now_ns() < end) {
		int fd = ev_must(&a, hitter, -1, -1, 0);

		ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "common_pid != 0"), 0);
		ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "common_pid"), -1);
		close(fd);
		n++;
	}
	kill(hitter, SIGKILL);
	waitpid(hitter, &status, 0);
	EXPECT_GT(n, 0);
}

TEST_HARNESS_MAIN
