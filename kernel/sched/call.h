/* SPDX-License-Identifier: GPL-2.0-only */
/* kpmu_ctx_call() without a call, for an open and a close: the function is then inlined, too. */
#ifndef KPMU_CALL_H
#define KPMU_CALL_H

#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/smp.h>

#include "apply.h"

int kpmu_call_anywhere(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *), void *data);

/**
 * kpmu_call_active() - call a function for a context active on this CPU, then update the counters
 * @ctx: the context
 * @fn: the function
 * @data: for @fn
 *
 * Context: IRQs off, on the CPU where @ctx is active.
 * Return: what @fn returned.
 */
static __always_inline int kpmu_call_active(struct kpmu_ctx *ctx,
					    int (*fn)(struct kpmu_ctx *, void *), void *data)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	u64 clock = kpmu_local_clock();
	int ret;

	kpmu_ctx_tick(ctx, clock);
	ret = fn(ctx, data);
	if (unlikely(ctx->retired))
		kpmu_switch_out(ctx, clock);
	else
		kpmu_resched_inline(kc, kc->task, clock, false);
	return ret;
}

/**
 * kpmu_ctx_call_inline() - kpmu_ctx_call() without a call
 * @ctx: the context
 * @fn: the function
 * @data: for @fn
 *
 * Context: as kpmu_ctx_call().
 * Return: what @fn returned.
 */
static __always_inline int kpmu_ctx_call_inline(struct kpmu_ctx *ctx,
						int (*fn)(struct kpmu_ctx *, void *), void *data)
{
	int ret;

	lockdep_assert_irqs_enabled();
	local_irq_disable();
	if (likely(READ_ONCE(ctx->cpu) == smp_processor_id())) {
		ret = kpmu_call_active(ctx, fn, data);
		local_irq_enable();
		return ret;
	}
	local_irq_enable();
	return kpmu_call_anywhere(ctx, fn, data);
}

#endif
