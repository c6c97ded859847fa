// SPDX-License-Identifier: GPL-2.0-only
/*
 * When branches are recorded: while a counter has an event with a branch stack.  Events that are
 * on counters at the same time have the same filter (sched/place.c).
 *
 * An entry does not say to which address space it belongs.  So the entries of a task are cleared
 * before another one runs, in each switch in which an event with a branch stack is on a counter.
 * Only in call-stack mode are they saved, to be restored when the task runs again: a call may
 * return long after.
 */
#include <linux/bitops.h>
#include <linux/smp.h>

#include "lbr.h"

/**
 * struct held - what the registers of this CPU hold
 * @store: they hold what was saved there, unchanged; NULL otherwise
 * @used: they have recorded since the registers were taken
 */
struct held {
	const struct x86_lbr_store *store;
	bool used;
};

static DEFINE_PER_CPU(struct held, held);

static void start(struct x86_cpu *c)
{
	struct held *h = this_cpu_ptr(&held);

	h->store = NULL;
	h->used = true;
	c->lbr_foreign = false;
	/* A PMI from here on resumes recording */
	WRITE_ONCE(c->lbr_on, true);
	x86_pmu.lbr->start(c->lbr_filter);
}

static void stop(struct x86_cpu *c)
{
	if (!c->lbr_on)
		return;
	WRITE_ONCE(c->lbr_on, false);
	x86_pmu.lbr->stop();
}

static void wipe(void)
{
	this_cpu_write(held.store, NULL);
	x86_pmu.lbr->wipe();
}

/**
 * x86_lbr_setup() - kpmu has taken the registers of this CPU
 * @c: this CPU's shadow
 *
 * Context: IRQs off.
 */
void x86_lbr_setup(struct x86_cpu *c)
{
	c->recorders = 0;
	c->lbr_on = false;
	c->lbr_foreign = true;
	this_cpu_write(held.store, NULL);
	this_cpu_write(held.used, false);
}

/**
 * x86_lbr_clear() - kpmu releases the registers of this CPU
 * @c: this CPU's shadow
 *
 * The next user must not see the branches of kpmu's users.
 *
 * Context: IRQs off, no event on any counter.
 */
void x86_lbr_clear(struct x86_cpu *c)
{
	if (!this_cpu_read(held.used))
		return;
	stop(c);
	wipe();
	this_cpu_write(held.used, false);
}

/**
 * x86_lbr_update() - the events on counters that record branches have changed
 * @c: this CPU's shadow, with the new events
 * @stayed: those of c->recorders that have not changed
 *
 * As upstream, an event that ran before finds the entries that the same task left.  One that is
 * new finds none.
 *
 * Context: IRQs off.
 */
void x86_lbr_update(struct x86_cpu *c, u32 stayed)
{
	bool fresh = false;
	u32 m;

	for (m = c->recorders & ~stayed; m; m &= m - 1) {
		struct kpmu_hw *hw = c->slots.hw[__ffs(m)];

		fresh |= !hw->recorded;
		hw->recorded = true;
	}
	if (stayed)
		return;
	stop(c);
	if (!c->recorders)
		return;
	c->lbr_filter = c->slots.hw[__ffs(c->recorders)]->branch_filter;
	/* In a task switch, x86_lbr_enter() does the rest */
	if (c->lbr_switch)
		return;
	if (fresh || c->lbr_foreign)
		wipe();
	start(c);
}

/* Keep the call stack that is in the registers */
static void save(const struct x86_cpu *c, struct x86_lbr_store *s)
{
	s->nr = x86_pmu.lbr->read(s->entry, c->lbr_filter, &s->index);
	s->cpu = smp_processor_id();
	s->valid = true;
	this_cpu_write(held.store, s);
}

/**
 * x86_lbr_leave() - .branches_leave of struct kpmu_core
 * @task: see kpmu_branches_leave()
 * @to: see kpmu_branches_leave()
 *
 * Context: see kpmu_branches_leave().
 */
void x86_lbr_leave(struct task_struct *task, void *to)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	struct x86_lbr_store *s = to;

	c->lbr_switch = true;
	if (s)
		s->valid = false;
	if (!c->recorders)
		return;
	stop(c);
	if (!(c->lbr_filter & X86_LBR_STACK))
		return;
	if (s) {
		save(c, s);
		return;
	}
	s = x86_stack_claim(task);
	if (s) {
		save(c, s);
		x86_stack_done(s);
	}
}

/* Put the call stack of a task into the registers, unless they still hold it */
static bool restore(const struct x86_cpu *c, struct x86_lbr_store *s)
{
	if (!s->valid)
		return false;
	s->valid = false;
	if (!c->recorders || !(c->lbr_filter & X86_LBR_STACK))
		return false;
	if (this_cpu_read(held.store) != s || s->cpu != smp_processor_id() ||
	    (s->nr && !x86_pmu.lbr->holds(s->index)))
		x86_pmu.lbr->write(s->entry, s->nr, s->index);
	return true;
}

/* Likewise, of a task whose context has no call stack.  It is too old if others are to follow */
static bool restore_kept(const struct x86_cpu *c, struct task_struct *task)
{
	struct x86_lbr_store *s = x86_stack_find(task);
	bool restored;

	if (!s)
		return false;
	restored = restore(c, s);
	x86_stack_done(s);
	return restored;
}

/**
 * x86_lbr_enter() - .branches_enter of struct kpmu_core
 * @task: see kpmu_branches_enter()
 * @from: see kpmu_branches_enter()
 *
 * Context: see kpmu_branches_enter().
 */
void x86_lbr_enter(struct task_struct *task, void *from)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	bool restored = from ? restore(c, from) : restore_kept(c, task);

	c->lbr_switch = false;
	if (!c->recorders) {
		c->lbr_foreign = true;
		return;
	}
	if (!restored)
		wipe();
	start(c);
}

/**
 * x86_lbr_resume() - record again, at the end of the PMI
 * @c: this CPU's shadow
 *
 * Context: the PMI.
 */
void x86_lbr_resume(struct x86_cpu *c)
{
	if (READ_ONCE(c->lbr_on))
		x86_pmu.lbr->resume(c->lbr_filter);
}
