// SPDX-License-Identifier: GPL-2.0-only
/*
 * False sharing: two threads on two CPUs write to different fields of one structure, which are in the
 * same cache line.  What they write to otherwise is their own, and they do so less often.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#define LINE	64
#define ROUNDS	100000

struct {
	volatile long left, right;
} hot __attribute__((aligned(LINE)));

struct {
	volatile long count;
} __attribute__((aligned(LINE))) cold[2];

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *run(void *field)
{
	volatile long *mine = field;
	int i, right = mine == &hot.right;

	pin_to(right);
	for (i = 0; i < ROUNDS; i++) {
		*mine += i;
		*mine ^= i;
		*mine -= i;
		if (!(i & 3))
			cold[right].count++;
	}
	return NULL;
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, run, (void *)&hot.right))
		return 1;
	run((void *)&hot.left);
	pthread_join(other, NULL);
	return 0;
}
