// SPDX-License-Identifier: GPL-2.0-only
/*
 * A task exits with more events than are ended in one batch, while another task enables events of
 * a later batch.  Events that the first batch has freed must not be accessed: KASAN and the
 * invariants would report it.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"

#define INHERITED	3
#define FIRST		130	/* more than KPMU_BATCH, so the later events are in a later batch */
#define LATER		600

static _Atomic int *go;

static struct perf_event_attr insns(int inherit, int disabled)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	a.inherit = inherit;
	a.disabled = disabled;
	return a;
}

/* A child that runs on CPU 1, with its inherited events on counters, until *go is 2 */
static pid_t spinner(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pin_to(1);
	*go = 1;
	while (*go != 2)
		;
	_exit(0);
}

static void one_round(struct __test *_metadata)
{
	struct perf_event_attr dummy = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	struct perf_event_attr a = insns(1, 0), later = insns(0, 1);
	int fd[INHERITED + FIRST + LATER], n = 0, i;
	pid_t pid;

	*go = 0;
	while (n < INHERITED)
		fd[n++] = ev_must(&a, 0, -1, -1, 0);
	pid = spinner();
	while (n < INHERITED + FIRST)
		fd[n++] = ev_must(&dummy, pid, -1, -1, 0);
	while (n < INHERITED + FIRST + LATER)
		fd[n++] = ev_must(&later, pid, -1, -1, 0);
	while (*go != 1)
		sched_yield();
	*go = 2;
	for (i = INHERITED + FIRST; i < n; i++)
		ev_enable(fd[i]);
	/* New events may reuse the memory of those that have ended */
	for (i = 0; i < 8; i++)
		close(ev_must(&a, 0, -1, -1, 0));
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	for (i = INHERITED + FIRST; i < n; i++)
		ev_disable(fd[i]);
	while (n--)
		close(fd[n]);
}

TEST(events_yet_to_end)
{
	struct rlimit r = { 1000, 1000 };
	uint64_t end = now_ns() + 3000000000ull;
	int n;

	if (nr_cpus() < 2)
		SKIP(return, "needs two CPUs");
	go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((void *)go, MAP_FAILED);
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &r), 0);
	pin_to(0);
	for (n = 0; n < 4 || now_ns() < end; n++)
		one_round(_metadata);
	TH_LOG("%d times", n);
}

TEST_HARNESS_MAIN
