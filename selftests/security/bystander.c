// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event on one task must not cost other tasks more than the same event costs natively.  Costs
 * are compared under -icount only: without it, ticks, the allocator and the LRU vary by more than
 * the difference to be detected.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"

#define PAGES	100
#define FEW	20
#define ROUNDS	60
#define PASSES	3
/* Tolerated difference, in kernel instructions per page fault */
#define NOTHING	100

static struct perf_event_attr fault_tracepoint(void)
{
	return ev_attr(PERF_TYPE_TRACEPOINT,
		       read_long("/sys/kernel/tracing/events/exceptions/page_fault_user/id"));
}

/* The event on the other task; opened in native perf if @native is set, else in kpmu */
struct beside {
	struct perf_event_attr attr;
	const char *filter;
	bool native;
	bool shaken;	/* native perf reschedules the CPU's events after the open */
};

/*
 * Make native perf reschedule CPU 0: pinned events take precedence, so opening one schedules the
 * flexible events out and in again.  These include the native events that report hits to kpmu.
 */
static int shake(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT,
		read_long("/sys/kernel/tracing/events/sched/sched_process_fork/id"));
	int fd;

	a.disabled = 0;
	a.exclude_kernel = 0;
	a.pinned = 1;
	fd = syscall(SYS_perf_event_open, &a, -1, 0, -1, 0);
	if (fd < 0) {
		perror("a pinned tracepoint");
		exit(1);
	}
	return fd;
}

/* In a child: hold an event on this task until the pipe is closed */
static void hold(const struct beside *what, int ready, int end)
{
	struct perf_event_attr a = what->attr;
	char c = 0;
	int fd;

	a.disabled = 0;
	a.exclude_kernel = 0;
	fd = what->native ? syscall(SYS_perf_event_open, &a, 0, -1, -1, 0) :
			    ev_open(&a, 0, -1, -1, 0);
	if (fd < 0 || (what->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, what->filter)))
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

/* Kernel instructions per fault: the minimum of many rounds, short enough that some have no tick */
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

/* Kernel instructions per fault while another task holds this event on itself; 0 on failure */
static uint64_t cost_beside(int fd, const struct beside *what)
{
	int ready[2], end[2], status, shaker = -1;
	uint64_t cost = 0;
	char c;

	if (pipe(ready) || pipe(end))
		exit(1);
	if (!fork()) {
		close(end[1]);
		hold(what, ready[1], end[0]);
	}
	close(ready[1]);
	close(end[0]);
	if (read(ready[0], &c, 1) == 1) {
		if (what->shaken)
			shaker = shake();
		cost = cost_of_faults(fd);
		close(shaker);
	}
	close(end[1]);
	close(ready[0]);
	wait(&status);
	return status ? 0 : cost;
}

/* The minimum of several passes: other kernel activity may last for a whole pass */
static uint64_t least_cost(int fd, const struct beside *what)
{
	uint64_t least = ~0ULL, cost;

	for (int i = 0; i < PASSES; i++) {
		cost = cost_beside(fd, what);
		least = cost < least ? cost : least;
	}
	return least;
}

static void compare(struct __test *_metadata, struct beside b, const char *what)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct beside nothing = {
		.attr = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY),
	};
	uint64_t alone, ours, natively;
	int fd;

	if (!exact_time() || slow() > 1)
		SKIP(return, "for -icount, where costs are exact, and a module that is not profiled");
	a.exclude_user = 1;
	a.exclude_kernel = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	alone = least_cost(fd, &nothing);
	ours = least_cost(fd, &b);
	b.native = true;
	natively = least_cost(fd, &b);
	printf("# kernel instructions a fault: %llu, beside %s of kpmu %llu, natively %llu\n",
	       (unsigned long long)alone, what, (unsigned long long)ours,
	       (unsigned long long)natively);
	EXPECT_GT(alone, 0);
	EXPECT_GT(ours, 0);
	EXPECT_GT(natively, 0);
	EXPECT_LE(ours, natively + NOTHING);
	close(fd);
}

static void beside(struct __test *_metadata, const struct perf_event_attr *attr,
		   const char *filter, const char *what)
{
	compare(_metadata, (struct beside){ .attr = *attr, .filter = filter }, what);
}

TEST(of_a_sampled_tracepoint)
{
	ROWS("I-19");
	struct perf_event_attr a = fault_tracepoint();

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP;
	beside(_metadata, &a, NULL, "a sampled tracepoint");
}

TEST(of_a_rescheduled_tracepoint)
{
	struct beside b = { .attr = fault_tracepoint(), .shaken = true };

	b.attr.sample_period = 1;
	b.attr.sample_type = PERF_SAMPLE_IP;
	compare(_metadata, b, "a sampled tracepoint that was put back");
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

/* Hits are reported to kpmu only while an event that counts them runs; none must be missed */
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
