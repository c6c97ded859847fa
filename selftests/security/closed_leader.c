// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread opens a group leader, another opens a member and calls the prctl that enables or
 * disables all events it has opened.  Meanwhile the first thread closes the member and then the
 * leader.  The prctl holds a reference to the member, but nothing holds the leader any more.
 * KASAN reports any access to the leader.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"

/* Events and inherited children, so many that the prctl takes longer than RCU to free an event */
#define ROOTS	8
#define KIDS	60

static _Atomic int turn, member, leader;
static pid_t kids[KIDS];
static pid_t opener;
static volatile uint64_t took;

static struct perf_event_attr dummy(bool inherit)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_DUMMY);

	a.inherit = inherit;
	return a;
}

/* A thread that does not get a CPU for a while may find that its turn has passed */
static void wait_turn(int n)
{
	while (turn < n)
		sched_yield();
}

#define OVER	-1

/* Turns: 1 open the leader, 2 leader is open, 3 prctl begins, 4 prctl has ended, 5 all closed */
static void *closer(void *unused)
{
	struct perf_event_attr a = dummy(false);
	uint64_t until;

	for (int round = 0; ; round++) {
		while (turn != 1) {
			if (turn == OVER)
				return unused;
			sched_yield();
		}
		leader = ev_must(&a, opener, -1, -1, 0);
		turn = 2;
		wait_turn(3);
		until = now_ns() + took * (round % 8) / 32;
		while (now_ns() < until)
			;
		close(member);
		close(leader);
		/* New events reuse the memory of the closed ones unless KASAN quarantines it */
		for (int i = 0; i < 4; i++)
			close(ev_must(&a, 0, -1, -1, 0));
		wait_turn(4);
		turn = 5;
	}
}

static void bear_kids(void)
{
	for (int i = 0; i < KIDS; i++) {
		kids[i] = fork();
		if (kids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

static void end_kids(void)
{
	for (int i = 0; i < KIDS; i++)
		if (kids[i] > 0)
			kill(kids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

TEST(goes_before_its_member)
{
	struct perf_event_attr a = dummy(true), m = dummy(false);
	uint64_t end, began;
	pthread_t t;
	int i, n;

	opener = syscall(SYS_gettid);
	for (i = 0; i < ROOTS; i++)
		ev_must(&a, 0, -1, -1, 0);
	bear_kids();
	ASSERT_EQ(pthread_create(&t, NULL, closer, NULL), 0);
	end = now_ns() + 3000000000ull;
	for (n = 0; n < 8 || now_ns() < end; n++) {
		turn = 1;
		wait_turn(2);
		member = ev_must(&m, 0, -1, leader, 0);
		turn = 3;
		began = now_ns();
		ASSERT_EQ(prctl(n & 1 ? PR_TASK_PERF_EVENTS_ENABLE :
					PR_TASK_PERF_EVENTS_DISABLE), 0);
		took = now_ns() - began;
		turn = 4;
		wait_turn(5);
	}
	turn = OVER;
	pthread_join(t, NULL);
	end_kids();
	TH_LOG("%d times, the last took %llu us", n, (unsigned long long)took / 1000);
}

TEST_HARNESS_MAIN
