// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trial placement: which groups of a set would run together on a CPU that runs nothing else.  It
 * works on entities that are in no context, and uses the same rules as the plan (place.c).
 */
#include <linux/sched/signal.h>

#include "place.h"

/* A group that needs no counter waits for nothing but its CPU (free.c) */
static const char *place(struct kpmu_build *b, struct kpmu_entity *leader)
{
	if (!kpmu_group_is_free(leader))
		return kpmu_place(b, leader);
	return leader->cpu >= 0 && leader->cpu != b->cpu ? kpmu_place_elsewhere : NULL;
}

/* Place the groups in the order of plans: pinned ones first */
static void place_all(struct kpmu_build *b, struct kpmu_trial *t, int n, int cpu)
{
	int i, pinned;

	kpmu_build_init(b, NULL, cpu);
	for (pinned = 1; pinned >= 0; pinned--)
		for (i = 0; i < n; i++)
			if (kpmu_is_pinned(t[i].leader) == pinned)
				t[i].why = place(b, t[i].leader);
}

/* Does a group fit together with all that were placed, but the one at @skip? */
static bool fits_without(struct kpmu_trial *t, int n, int cpu, int skip, struct kpmu_entity *leader)
{
	struct kpmu_build b;
	int i, pinned;

	kpmu_build_init(&b, NULL, cpu);
	for (pinned = 1; pinned >= 0; pinned--)
		for (i = 0; i < n; i++)
			if (i != skip && !t[i].why && kpmu_is_pinned(t[i].leader) == pinned)
				place(&b, t[i].leader);
	return !place(&b, leader);
}

static bool fits_alone(struct kpmu_entity *leader, int cpu)
{
	struct kpmu_build b;

	kpmu_build_init(&b, NULL, cpu);
	return !place(&b, leader);
}

/* The last placed group without which the one at @of fits; -1 if there is no such single group */
static int find_blocker(struct kpmu_trial *t, int n, int cpu, int of)
{
	int i;

	for (i = n - 1; i >= 0; i--)
		if (i != of && !t[i].why && !kpmu_group_is_free(t[i].leader) &&
		    fits_without(t, n, cpu, i, t[of].leader))
			return i;
	return -1;
}

/**
 * kpmu_trial_place() - find out which groups of a set would run together
 * @t: the groups; .leader is set, and with its members in no context.  Sets .why, .blocker
 *	and .alone, and hw.idx of each event: the counter, or -1
 * @n: number of groups
 * @cpu: the CPU they count on, -1 for any
 *
 * The time is quadratic in @n, but at most KPMU_NR_SLOTS groups are placed.
 *
 * Context: task, may sleep.
 * Return: 0; -EINTR if a fatal signal is pending.
 */
int kpmu_trial_place(struct kpmu_trial *t, int n, int cpu)
{
	struct kpmu_build b;
	int i;

	place_all(&b, t, n, cpu);
	for (i = 0; i < b.m.nr; i++)
		b.hw[i]->idx = b.m.counter[i];
	for (i = 0; i < n; i++) {
		t[i].blocker = -1;
		t[i].alone = !t[i].why || fits_alone(t[i].leader, cpu);
		if (!t[i].why || !t[i].alone)
			continue;
		t[i].blocker = find_blocker(t, n, cpu, i);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
