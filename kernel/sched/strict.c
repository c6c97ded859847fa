// SPDX-License-Identifier: GPL-2.0-only
/*
 * Strict groups: opened only if the group can always be on its counters, beside the strict and pinned
 * groups that may be active at the same time.  A trial is made for each such combination, on each
 * CPU: the groups of the CPU, those of a cgroup and its ancestors, and those of one task.  A task may
 * run on any CPU, as its affinity may change, and in any cgroup.
 *
 * All events of a strict group count, enabled or not; of a pinned one only what is enabled, as the
 * others hold no counter.  Pinned groups of tasks yield to those of CPUs and cgroups (plan.c).  So do
 * strict ones whose opener had no privilege.  They are no obstacle to a strict group of a CPU
 * or cgroup, only those are to which nothing has precedence: they are called firm.
 *
 * What is admitted stays so: firm groups are placed first, and a later one is admitted only if
 * it fits beside those before.  Inherited groups are some of those of the parent.
 */
#include <linux/cgroup.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "crowd.h"
#include "place.h"
#include "trial.h"

/* Strict groups of a context: bounds walks with IRQs off */
#define MAX_STRICT	1024
/* A leader, and as many events as there are counters, and one */
#define MAX_NEW		(KPMU_NR_SLOTS + 2)

static const char why_never[] = "the group would never fit on the counters";
static const char why_busy[] = "strict or pinned events may be on the counters at the same time";

static DEFINE_MUTEX(strict_lock);

/**
 * struct admission - a group that asks for admission
 * @e: the new event
 * @ctx: its context
 * @leader: the leader of its group; @e if it leads one
 * @strict: the group is strict; else it is pinned and must fit beside firm ones only
 * @ctxs: contexts of tasks and cgroups that may have groups in a crowd, held
 * @nr_ctxs: number of @ctxs
 * @nr_new: number of @copy in use; 0: too many to fit
 * @copy: copies of the events of the group
 * @crowd: the crowd
 */
struct admission {
	struct kpmu_entity *e;
	struct kpmu_ctx *ctx;
	struct kpmu_entity *leader;
	bool strict;
	struct kpmu_ctx **ctxs;
	int nr_ctxs;
	int nr_new;
	struct kpmu_entity copy[MAX_NEW];
	struct kpmu_crowd crowd;
};

/* ---- the new group -------------------------------------------------------------- */

static int copy_new_owned(struct kpmu_ctx *ctx, void *data)
{
	struct admission *a = data;
	struct kpmu_entity *to = a->copy;
	int n;

	if (a->leader == a->e) {
		kpmu_trial_copy(to, a->e);
		a->nr_new = 1;
		return a->strict && ctx->nr_strict >= MAX_STRICT ? -ENOSPC : 0;
	}
	n = kpmu_crowd_copy(to, MAX_NEW - 1, a->leader, a->strict);
	if (n > 0) {
		kpmu_trial_copy(&to[n], a->e);
		to[n].leader = to;
		list_add_tail(&to[n++].node, &to->group.members);
	}
	a->nr_new = max(n, 0);
	return 0;
}

/* ---- trials --------------------------------------------------------------------- */

/* Does the new group fit beside the crowd, wherever it counts? */
static bool fits_crowd(struct admission *a)
{
	struct kpmu_crowd *c = &a->crowd;
	struct kpmu_build b;
	const char *why;

	kpmu_build_init(&b, NULL, c->cpu);
	kpmu_crowd_place(&b, c, KPMU_ATTR_STRICT);
	kpmu_crowd_place(&b, c, 0);
	why = kpmu_place(&b, a->copy);
	return !why || why == kpmu_place_elsewhere || why == kpmu_place_other_kind;
}

/* The tasks beside a group of a CPU or cgroup */
static bool fits_beside_tasks(struct admission *a)
{
	struct kpmu_crowd *c = &a->crowd;
	int i, n = c->n;
	bool firm = c->firm, ok = fits_crowd(a);

	c->firm = true;
	for (i = 0; ok && i < a->nr_ctxs; i++) {
		if (a->ctxs[i]->home >= 0)
			continue;
		kpmu_crowd_add(c, a->ctxs[i]);
		ok = fits_crowd(a);
		c->n = n;
		cond_resched();
	}
	c->firm = firm;
	return ok;
}

static bool is_above(const struct kpmu_ctx *ctx, const struct kpmu_ctx *above)
{
	struct cgroup_subsys_state *css;

	for (css = ctx->css; css; css = css->parent)
		if (css == above->css)
			return true;
	return false;
}

/* With the cgroup of @leaf, and those above it; NULL: with none */
static bool fits_in_cgroup(struct admission *a, const struct kpmu_ctx *leaf)
{
	struct kpmu_crowd *c = &a->crowd;
	int i, n = c->n;
	bool ok;

	for (i = 0; leaf && i < a->nr_ctxs; i++)
		if (a->ctxs[i]->home == c->cpu && is_above(leaf, a->ctxs[i]))
			kpmu_crowd_add(c, a->ctxs[i]);
	if (a->ctx->home >= 0) {
		ok = fits_beside_tasks(a);
	} else {
		kpmu_crowd_add(c, a->ctx);
		ok = fits_crowd(a);
	}
	c->n = n;
	return ok;
}

static bool fits_cpu(struct admission *a, int cpu)
{
	struct kpmu_crowd *c = &a->crowd;
	bool ok = true;
	int i;

	c->cpu = cpu;
	c->n = 0;
	kpmu_crowd_add(c, &per_cpu(kpmu_cpu, cpu).ctx);
	/* A cgroup's group is only active together with its own cgroup */
	if (!a->ctx->css)
		ok = fits_in_cgroup(a, NULL);
	for (i = 0; ok && i < a->nr_ctxs; i++) {
		const struct kpmu_ctx *leaf = a->ctxs[i];

		if (leaf->home == cpu && (!a->ctx->css || is_above(leaf, a->ctx)))
			ok = fits_in_cgroup(a, leaf);
		cond_resched();
	}
	return ok && !c->full;
}

/* ---- contexts ------------------------------------------------------------------- */

static bool is_concerned(const struct kpmu_ctx *ctx, const void *data)
{
	const struct admission *a = data;

	if (ctx->home < 0)
		return a->ctx->home >= 0 && READ_ONCE(ctx->nr_firm);
	if (a->ctx->home >= 0 && ctx->home != a->ctx->home)
		return false;
	return ctx == a->ctx || READ_ONCE(ctx->nr_strict) ||
	       (a->strict && READ_ONCE(ctx->nr_pinned));
}

static int gather(struct admission *a)
{
	int n = 0;

	do {
		kvfree(a->ctxs);
		a->nr_ctxs = n + n / 8 + 16;
		a->ctxs = kvcalloc(a->nr_ctxs, sizeof(*a->ctxs), GFP_KERNEL);
		if (!a->ctxs)
			return -ENOMEM;
		n = kpmu_ctxs_gather(is_concerned, a, a->ctxs, a->nr_ctxs);
	} while (n > a->nr_ctxs);
	a->nr_ctxs = n;
	return 0;
}

static int try_everywhere(struct admission *a, const char **why)
{
	int cpu = a->ctx->home >= 0 ? a->ctx->home : a->leader->cpu;

	*why = why_busy;
	if (cpu >= 0)
		return fits_cpu(a, cpu) ? 0 : -EBUSY;
	for_each_possible_cpu(cpu) {
		if (!fits_cpu(a, cpu))
			return -EBUSY;
		if (fatal_signal_pending(current))
			return -EINTR;
	}
	*why = "";
	return 0;
}

/* Without others; on any CPU */
static bool fits_alone(const struct admission *a)
{
	struct kpmu_entity *events[MAX_NEW];
	int i;

	for (i = 0; i < a->nr_new; i++)
		events[i] = (struct kpmu_entity *)&a->copy[i];
	return a->nr_new && kpmu_plan_fits(events, a->nr_new);
}

/* The groups that it must fit beside are gathered first */
static int fits_with_all(struct admission *a, const char **why)
{
	int i, err = gather(a);

	if (err)
		return err;
	err = try_everywhere(a, why);
	for (i = 0; i < a->nr_ctxs; i++)
		kpmu_ctx_put(a->ctxs[i]);
	return err;
}

static int admit(struct admission *a, const char **why)
{
	int err;

	err = kpmu_ctx_visit(a->ctx, copy_new_owned, a);
	if (err) {
		*why = "too many strict groups";
		return err;
	}
	if (!fits_alone(a)) {
		*why = why_never;
		return -EINVAL;
	}
	return fits_with_all(a, why);
}

/* ---- for open ------------------------------------------------------------------- */

/**
 * kpmu_strict_begin() - a firm event is about to exist
 * @flags: its flags; nothing is done for another event
 *
 * Context: task, may sleep.
 */
void kpmu_strict_begin(u64 flags)
{
	if (flags & KPMU_ATTR_FIRM)
		static_branch_deferred_inc(&kpmu_firm_key);
}

/**
 * kpmu_strict_end() - undo kpmu_strict_begin()
 * @flags: as there
 *
 * Context: task, may sleep.
 */
void kpmu_strict_end(u64 flags)
{
	if (flags & KPMU_ATTR_FIRM)
		static_branch_slow_dec_deferred(&kpmu_firm_key);
}

/**
 * kpmu_strict_asks() - does an event that is to be attached need kpmu_strict_admit()?
 * @e: the event
 * @leader: the leader of its group; NULL if it leads one
 *
 * Context: task.
 * Return: true if it is or joins a strict group; or a pinned one, while there are firm groups.
 */
bool kpmu_strict_asks(const struct kpmu_entity *e, const struct kpmu_entity *leader)
{
	u64 flags = (leader ?: e)->flags;

	if (flags & KPMU_ATTR_STRICT)
		return leader ? kpmu_has_counter(e) : true;
	return static_branch_unlikely(&kpmu_firm_key.key) && flags & KPMU_ATTR_PINNED &&
	       kpmu_has_counter(e);
}

/**
 * kpmu_strict_lock() - let only one task admit groups, until they are attached
 *
 * Context: task, may sleep.
 * Return: 0; -EINTR if a fatal signal is pending.
 */
int kpmu_strict_lock(void)
{
	return mutex_lock_killable(&strict_lock);
}

/**
 * kpmu_strict_unlock() - undo kpmu_strict_lock()
 *
 * Context: task.
 */
void kpmu_strict_unlock(void)
{
	mutex_unlock(&strict_lock);
}

/**
 * kpmu_strict_admit() - may a group always be on its counters?
 * @e: the new event, not attached yet
 * @ctx: the context that it is to join
 * @leader: the leader of its group, in @ctx; NULL if it leads one
 * @why: set to the reason for an error
 *
 * Of a pinned group that is not strict: does it fit beside the firm groups?
 *
 * Context: task, may sleep; under kpmu_strict_lock(), until the event is attached.
 * Return: 0; -EBUSY; -EINVAL if the group would not fit alone; -ENOSPC, -ENOMEM; -EINTR if a fatal
 * signal is pending.
 */
int kpmu_strict_admit(struct kpmu_entity *e, struct kpmu_ctx *ctx, struct kpmu_entity *leader,
		      const char **why)
{
	struct admission *a;
	int err;

	if (leader && leader->ctx != ctx)
		return 0;	/* it has left: the event cannot be attached */
	a = kvzalloc(sizeof(*a), GFP_KERNEL);
	if (!a)
		return -ENOMEM;
	a->e = e;
	a->ctx = ctx;
	a->leader = leader ?: e;
	a->strict = a->leader->flags & KPMU_ATTR_STRICT;
	a->crowd.firm = !a->strict;
	a->crowd.skip = leader;
	err = admit(a, why);
	kvfree(a->ctxs);
	kvfree(a);
	return err;
}

/* A group of events that could be on one counter each */
static void want_counters(struct admission *a, u32 counters)
{
	static const struct kpmu_source of_any_cpu;
	struct kpmu_entity *e = a->copy;

	for (; counters; counters &= counters - 1, e++) {
		e->hw.source = &of_any_cpu;
		e->hw.allowed = counters & -counters;
		e->hw.hint = -1;
		e->flags = KPMU_ATTR_PINNED | KPMU_ATTR_STRICT | KPMU_ATTR_FIRM;
		e->cpu = -1;
		e->state = KPMU_ON;
		kpmu_entity_init(e, KPMU_GROUP_MAX);
		if (e == a->copy)
			continue;
		e->leader = a->copy;
		list_add_tail(&e->node, &a->copy->group.members);
	}
	a->nr_new = e - a->copy;
}

/**
 * kpmu_strict_leave() - are counters of a CPU left by strict groups, and by pinned ones?
 * @cpu: the CPU
 * @counters: the counters, at least one
 * @why: set to the reason for an error
 *
 * The counters are no longer left if a strict group of that CPU that has them all would not be
 * admitted.
 *
 * Context: task, may sleep; under kpmu_strict_lock().
 * Return: 0; -EBUSY, -ENOMEM.
 */
int kpmu_strict_leave(int cpu, u32 counters, const char **why)
{
	struct admission *a = kvzalloc(sizeof(*a), GFP_KERNEL);
	int err;

	if (!a)
		return -ENOMEM;
	a->ctx = &per_cpu(kpmu_cpu, cpu).ctx;
	a->strict = true;
	want_counters(a, counters);
	a->e = a->copy;
	a->leader = a->copy;
	err = fits_with_all(a, why);
	kvfree(a->ctxs);
	kvfree(a);
	return err;
}
