// SPDX-License-Identifier: GPL-2.0-only
/* An event on one task costs the other tasks nothing, whatever they do. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"

#define PAGES	100
#define FEW	10
#define ROUNDS	300
/* Kernel instructions a fault that the events of others may cost: natively 10 to 150 */
#define NOTHING	200

static struct perf_event_attr fault_tracepoint(void)
{
	return ev_attr(PERF_TYPE_TRACEPOINT,
		       read_long("/sys/kernel/tracing/events/exceptions/page_fault_user/id"));
}

/* Keeps an event on itself until the pipe is closed */
static void hold(const struct perf_event_attr *attr, const char *filter, int ready,
		 int end)
{
	struct perf_event_attr a = *attr;
	char c = 0;
	int fd;

	a.disabled = 0;
	a.exclude_kernel = 0;
	fd = ev_open(&a, 0, -1, -1, 0);
	if (fd < 0 || (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter)))
		_exit(1);
	if (write(ready, &c, 1) != 1 || read(end, &c, 1))
		_exit(1);
	_exit(0);
}

static void fault(char *p, int pages)
{
	madvise(p, pages * 4096UL, MADV_DONTNEED);
	for (int i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096UL] = 1;
}

/*
 * The least of many rounds that are so short that some have no tick, on a slow host as well,
 * nor anything else that does not happen at each fault.
 */
static uint64_t cost_of_faults(int fd)
{
	char *p = mmap(NULL, PAGES * 4096UL, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t least = ~0ULL;

	if (p == MAP_FAILED)
		exit(1);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t n = ev_count(fd);

		ev_enable(fd);
		fault(p, FEW);
		ev_disable(fd);
		n = ev_count(fd) - n;
		if (n < least)
			least = n;
	}
	munmap(p, PAGES * 4096UL);
	return least / FEW;
}

/* Kernel instructions a fault while another task has this event on itself */
static uint64_t cost_beside(int fd, const struct perf_event_attr *attr,
			    const char *filter)
{
	int ready[2], end[2], status;
	uint64_t cost = 0;
	char c;

	if (pipe(ready) || pipe(end))
		exit(1);
	if (!fork()) {
		close(end[1]);
		hold(attr, filter, ready[1], end[0]);
	}
	close(ready[1]);
	close(end[0]);
	if (read(ready[0], &c, 1) == 1)
		cost = cost_of_faults(fd);
	close(end[1]);
	close(ready[0]);
	wait(&status);
	return status ? 0 : cost;
}

static void beside(struct __test *_metadata, const struct perf_event_attr *attr, const char *filter,
		   const char *what)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr dummy = ev_attr(PERF_TYPE_SOFTWARE,
					       PERF_COUNT_SW_DUMMY);
	uint64_t alone, with;
	int fd;

	if (!exact() || slow() > 1)
		SKIP(return, "no exact count of the kernel's instructions, or its checks are in it");
	a.exclude_user = 1;
	a.exclude_kernel = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	alone = cost_beside(fd, &dummy, NULL);
	with = cost_beside(fd, attr, filter);
	printf("# kernel instructions a fault: %llu, beside %s %llu\n",
	       (unsigned long long)alone, what, (unsigned long long)with);
	EXPECT_GT(alone, 0);
	EXPECT_GT(with, 0);
	EXPECT_LE(with, alone + NOTHING);
	close(fd);
}

TEST(of_a_sampled_tracepoint)
{
	ROWS("I-19");
	struct perf_event_attr a = fault_tracepoint();

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP;
	beside(_metadata, &a, NULL, "a sampled tracepoint");
}

TEST(of_a_counted_tracepoint)
{
	struct perf_event_attr a = fault_tracepoint();

	beside(_metadata, &a, NULL, "a counted tracepoint");
}

TEST(of_a_filter)
{
	struct perf_event_attr a = fault_tracepoint();

	beside(_metadata, &a, "common_pid != 0", "a filter");
}

TEST(of_counted_minor_faults)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_PAGE_FAULTS_MIN);

	beside(_metadata, &a, NULL, "minor faults");
}

TEST(of_sampled_faults)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_PAGE_FAULTS);

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP;
	beside(_metadata, &a, NULL, "sampled faults");
}

/* What is told again when the task comes back is told completely */
TEST(nothing_is_missed)
{
	ROWS("I-19");
	struct perf_event_attr a = fault_tracepoint();
	char *p = mmap(NULL, PAGES * 4096UL, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd, other, status;
	pid_t child = fork();

	if (!child)
		for (;;)
			fault(p, PAGES);
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP;
	a.exclude_kernel = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	other = ev_must(&a, 0, -1, -1, 0);
	fault(p, PAGES);
	for (int i = 0; i < 20; i++) {
		uint64_t n;

		sched_yield();
		usleep(2000);
		n = ev_count(fd);
		ev_enable(fd);
		fault(p, PAGES);
		ev_disable(fd);
		EXPECT_EQ(ev_count(fd) - n, PAGES);
	}
	EXPECT_EQ(ev_count(other), 0);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

TEST_HARNESS_MAIN
