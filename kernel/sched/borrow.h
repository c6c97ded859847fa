/* SPDX-License-Identifier: GPL-2.0-only */
/* Short ownership of a context, without waiting for another CPU. */
#ifndef KPMU_BORROW_H
#define KPMU_BORROW_H

#include "sched.h"

/**
 * kpmu_ctx_borrow() - own a context for a moment, if no other CPU owns it
 * @ctx: the context
 *
 * The lock of an idle context is only tried, so this may be called under locks that nest
 * inside it.  kpmu_ctx_return() ends the ownership.
 *
 * Context: IRQs off.
 * Return: true if the context is active on this CPU, or if it is idle and is locked now.
 */
static __always_inline bool kpmu_ctx_borrow(struct kpmu_ctx *ctx)
{
	int cpu = smp_load_acquire(&ctx->cpu); /* pairs with kpmu_ctx_release() */

	if (cpu == smp_processor_id()) {
		__acquire(&ctx->ctx_lock);	/* for sparse: both cases end in the same way */
		return true;
	}
	if (cpu >= 0 || !raw_spin_trylock(&ctx->ctx_lock))
		return false;
	if (likely(READ_ONCE(ctx->cpu) < 0))
		return true;
	raw_spin_unlock(&ctx->ctx_lock);
	return false;
}

/**
 * kpmu_ctx_return() - end the ownership of kpmu_ctx_borrow()
 * @ctx: the context
 *
 * Context: as kpmu_ctx_borrow().
 */
static __always_inline void kpmu_ctx_return(struct kpmu_ctx *ctx)
{
	/* An idle context stays idle under its lock, and an active one with IRQs off */
	if (ctx->cpu < 0)
		raw_spin_unlock(&ctx->ctx_lock);
	else
		__release(&ctx->ctx_lock);
}

#endif
