/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hooks for the invariant checks (kernel/check).  They are here, because the code that is
 * checked must not depend on the checks.  Each is a nop unless the module was loaded with check=1.
 */
#ifndef KPMU_LOOK_H
#define KPMU_LOOK_H

#include <linux/jump_label.h>

struct kpmu_cpu;
struct kpmu_ctx;
struct kpmu_entity;
struct kpmu_family;

/**
 * struct kpmu_looker - the invariant checks
 * @cpu: a CPU's plan is in force and has been committed
 * @ctx: an owned section ends; the context is idle, or about to leave its CPU
 * @gone: an event leaves its context
 * @family: a family has changed; under its lock
 *
 * Context: IRQs off, as the owner of the argument.
 */
struct kpmu_looker {
	void (*cpu)(struct kpmu_cpu *kc);
	void (*ctx)(struct kpmu_ctx *ctx);
	void (*gone)(struct kpmu_entity *e);
	void (*family)(struct kpmu_family *f);
};

DECLARE_STATIC_KEY_FALSE(kpmu_look_key);
extern const struct kpmu_looker *kpmu_looker;

void kpmu_look_by(const struct kpmu_looker *looker);

static __always_inline void kpmu_look_cpu(struct kpmu_cpu *kc)
{
	if (static_branch_unlikely(&kpmu_look_key))
		kpmu_looker->cpu(kc);
}

static __always_inline void kpmu_look_ctx(struct kpmu_ctx *ctx)
{
	if (static_branch_unlikely(&kpmu_look_key))
		kpmu_looker->ctx(ctx);
}

static __always_inline void kpmu_look_gone(struct kpmu_entity *e)
{
	if (static_branch_unlikely(&kpmu_look_key))
		kpmu_looker->gone(e);
}

static __always_inline void kpmu_look_family(struct kpmu_family *f)
{
	if (static_branch_unlikely(&kpmu_look_key))
		kpmu_looker->family(f);
}

#endif
