// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trial placement: which groups of a set would run together on a CPU that runs nothing else.  It
 * works on entities that are in no context, and uses the same rules as the plan (place.c).
 */
#include <linux/sched/signal.h>

#include "place.h"
#include "trial.h"

/**
 * kpmu_trial_copy() - make a group of one entity for a trial
 * @to: the copy: enabled, in no context
 * @from: what is copied: its needs, and how it is bound.  A source's data in its hw part is not used
 *	by the trial, and may be gone then
 *
 * Context: owner of the context of @from, if it is in one.
 */
void kpmu_trial_copy(struct kpmu_entity *to, const struct kpmu_entity *from)
{
	to->hw = from->hw;
	to->hw.idx = -1;
	to->hw.hint = -1;
	to->flags = from->flags;
	to->cpu = from->cpu;
	to->state = KPMU_ON;
	kpmu_entity_init(to, KPMU_GROUP_MAX);
}

/* A group that needs no counter waits for nothing but its CPU (free.c) */
static const char *place(struct kpmu_build *b, struct kpmu_entity *leader)
{
	if (!kpmu_group_is_free(leader))
		return kpmu_place(b, leader);
	return leader->cpu >= 0 && leader->cpu != b->cpu ? kpmu_place_elsewhere : NULL;
}

/* The kind of CPUs on which a group can count; 0 if on all, or if the CPU is known (kpmu_place()) */
static u8 kind_of(const struct kpmu_entity *leader, int cpu)
{
	const struct kpmu_entity *e;
	u8 kind = 0;

	if (cpu >= 0 || !static_branch_unlikely(&kpmu_kinds_key))
		return 0;
	if (kpmu_has_counter(leader))
		return leader->hw.source->kind;
	kpmu_for_each_in_group(e, leader)
		if (kpmu_has_counter(e))
			kind = e->hw.source->kind;
	return kind;
}

/* Does a group fit beside those of the first @n that run, but the one at @without? */
static bool fits(const struct kpmu_trial *t, int n, int without, struct kpmu_entity *leader,
		 int cpu)
{
	u8 kind = kind_of(leader, cpu);
	struct kpmu_build b;
	int i;

	kpmu_build_init(&b, NULL, cpu);
	for (i = 0; i < n; i++)
		if (i != without && !t[i].why && kind_of(t[i].leader, cpu) == kind)
			place(&b, t[i].leader);
	return !place(&b, leader);
}

/* The last group before the one at @of without which that one fits; -1 if none is such */
static int find_blocker(const struct kpmu_trial *t, int of, int cpu)
{
	int i;

	for (i = of - 1; i >= 0; i--)
		if (!t[i].why && !kpmu_group_is_free(t[i].leader) &&
		    fits(t, of, i, t[of].leader, cpu))
			return i;
	return -1;
}

/* Place the groups of one kind of CPUs, as there are no others where they count */
static void place_kind(struct kpmu_trial *t, int n, int cpu, u8 kind)
{
	struct kpmu_build b;
	int i;

	kpmu_build_init(&b, NULL, cpu);
	for (i = 0; i < n; i++)
		if (kind_of(t[i].leader, cpu) == kind)
			t[i].why = place(&b, t[i].leader);
	for (i = 0; i < b.m.nr; i++)
		b.hw[i]->idx = b.m.counter[i];
}

/**
 * kpmu_trial_place() - find out which groups of a set would run together
 * @t: the groups in the order of placement, as a plan has it: pinned ones first.  .leader is
 *	set, and with its members in no context.  Sets .why, .blocker and .alone, and hw.idx of
 *	each event that gets a counter
 * @n: number of groups
 * @cpu: the CPU they count on, -1 for any
 *
 * At most KPMU_NR_SLOTS groups with counters run, so each of the others takes at most the square of
 * that in placements.
 *
 * Context: task, may sleep.
 * Return: 0; -EINTR if a fatal signal is pending.
 */
int kpmu_trial_place(struct kpmu_trial *t, int n, int cpu)
{
	int i;

	for (i = 0; i < KPMU_NR_KINDS; i++)
		place_kind(t, n, cpu, i);
	for (i = 0; i < n; i++) {
		t[i].alone = !t[i].why || fits(t, 0, -1, t[i].leader, cpu);
		t[i].blocker = t[i].why && t[i].alone ? find_blocker(t, i, cpu) : -1;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
