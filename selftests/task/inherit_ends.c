// SPDX-License-Identifier: GPL-2.0-only
/* Group reads of an inherited group while children run and exit. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"

#define MAX_KIDS	200

struct group_of_two {
	uint64_t nr, value[2];
};

/* A child that has counted something, and waits */
static pid_t start_kid(int i)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	pin_to(1);
	work(5000 + i);
	for (;;)
		pause();
}

/* Ends the children one after the other, with some work of its own in between */
static pid_t start_killer(const pid_t *kids, int nr)
{
	pid_t pid = fork();
	int i;

	if (pid)
		return pid;
	pin_to(1);
	usleep(100000);
	for (i = 0; i < nr; i++) {
		kill(kids[i], SIGKILL);
		sched_yield();
		work(2000);
	}
	exit(0);
}

/*
 * The two events of the group count the same, so a sum in which a child is missing or counted
 * twice for one of them is not equal to the other sum.  A family of so many children is not
 * read at one moment: some of them end during a read.
 */
TEST(group_read_while_children_exit)
{
	ROWS("U-13 H-06 H-07");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd[2], i, round, reads = 0, unequal = 0, less = 0, nr = MAX_KIDS / slow();
	uint64_t last = 0;

	if (nr_cpus() < 2)
		SKIP(return, "needs two CPUs");
	pin_to(0);
	a.inherit = 1;
	a.read_format = PERF_FORMAT_GROUP;
	fd[0] = ev_must(&a, 0, -1, -1, 0);
	fd[1] = ev_must(&a, 0, -1, fd[0], 0);
	ASSERT_EQ(ioctl(fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP), 0);
	for (round = 0; round < often(8); round++) {
		pid_t kids[MAX_KIDS], killer;

		for (i = 0; i < nr; i++)
			kids[i] = start_kid(i);
		killer = start_killer(kids, nr);
		while (waitpid(killer, NULL, WNOHANG) == 0) {
			struct group_of_two r = { 0 };

			/* Natively the groups differ for a moment while a child exits */
			if (read(fd[0], &r, sizeof(r)) < 0 && errno == ECHILD &&
			    route_is_native())
				continue;
			ASSERT_EQ(r.nr, 2);
			if (r.value[0] != r.value[1] && !unequal++)
				printf("# read %d of round %d: %lu and %lu, before %lu\n",
				       reads, round, r.value[0], r.value[1], last);
			less += r.value[0] < last;
			last = r.value[0];
			reads++;
			/* Each read interrupts the killer's CPU, which may be slow */
			if (slow() > 1)
				usleep(1000);
		}
		for (i = 0; i < nr; i++)
			waitpid(kids[i], NULL, 0);
	}
	printf("# %d reads\n", reads);
	EXPECT_EQ(unequal, 0);
	EXPECT_EQ(less, 0);
}

TEST_HARNESS_MAIN
