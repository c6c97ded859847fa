/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hooks for the invariant checks (kernel/check).  They are here, because the code that is
 * checked must not depend on the checks.  Each is a nop unless the module was loaded with
 * check=1.
 */
#ifndef KPMU_CHECKER_H
#define KPMU_CHECKER_H

#include <linux/jump_label.h>

struct kpmu_cpu;
struct kpmu_ctx;
struct kpmu_entity;
struct kpmu_family;

/**
 * struct kpmu_checker - the invariant checks
 * @cpu: a CPU's plan is in force and has been committed
 * @ctx: an owned section ends; the context is idle, or about to leave its CPU
 * @gone: an event leaves its context
 * @family: a family has changed; under its lock
 * @pmi: a PMI begins to handle overflows; NMI
 *
 * Context: IRQs off, as the owner of the argument.
 */
struct kpmu_checker {
	void (*cpu)(struct kpmu_cpu *kc);
	void (*ctx)(struct kpmu_ctx *ctx);
	void (*gone)(struct kpmu_entity *e);
	void (*family)(struct kpmu_family *f);
	void (*pmi)(void);
};

DECLARE_STATIC_KEY_FALSE(kpmu_checker_key);

/*
 * Counts what few use at task switches: the checks, timelines, buckets.  One key, as each that is tested costs
 * three instructions on a kernel without jump labels.
 */
DECLARE_STATIC_KEY_FALSE(kpmu_extras_key);
extern const struct kpmu_checker *kpmu_checker;

void kpmu_checker_enable(const struct kpmu_checker *checker);

/**
 * kpmu_check_cpu() - check a CPU's plan and counters, after a commit
 * @kc: this CPU
 *
 * Context: IRQs off.
 */
static __always_inline void kpmu_check_cpu(struct kpmu_cpu *kc)
{
	if (static_branch_unlikely(&kpmu_checker_key))
		kpmu_checker->cpu(kc);
}

/**
 * kpmu_check_ctx() - check a context, when its owner gives it up
 * @ctx: the context
 *
 * Context: owner of the context, IRQs off.
 */
static __always_inline void kpmu_check_ctx(struct kpmu_ctx *ctx)
{
	if (static_branch_unlikely(&kpmu_checker_key))
		kpmu_checker->ctx(ctx);
}

/**
 * kpmu_check_gone() - check an event that leaves its context
 * @e: the event's entity
 *
 * Context: owner of the event's context, IRQs off.
 */
static __always_inline void kpmu_check_gone(struct kpmu_entity *e)
{
	if (static_branch_unlikely(&kpmu_checker_key))
		kpmu_checker->gone(e);
}

/**
 * kpmu_check_family() - check a family after a change
 * @f: the family
 *
 * Context: under its family_lock, IRQs off.
 */
static __always_inline void kpmu_check_family(struct kpmu_family *f)
{
	if (static_branch_unlikely(&kpmu_checker_key))
		kpmu_checker->family(f);
}

/**
 * kpmu_check_pmi() - check this CPU's counters in a PMI
 *
 * Context: NMI.
 */
static __always_inline void kpmu_check_pmi(void)
{
	if (static_branch_unlikely(&kpmu_checker_key))
		kpmu_checker->pmi();
}

#endif
