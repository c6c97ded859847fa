// SPDX-License-Identifier: GPL-2.0-only
/* Calling functions as the owner of a context, wherever it is active. */
#include <linux/cpumask.h>
#include <linux/smp.h>

#include "../trace/stats.h"
#include "call.h"
#include "sched.h"

static __always_inline void run_here(struct kpmu_call *c, bool changes)
{
	struct kpmu_ctx *ctx = c->ctx;
	int cpu = smp_load_acquire(&ctx->cpu); /* pairs with kpmu_ctx_release() */

	if (cpu == smp_processor_id()) {
		c->ret = changes ? kpmu_call_active(ctx, c->fn, c->data) :
				   c->fn(ctx, c->data);
		c->done = true;
	} else if (cpu < 0) {
		raw_spin_lock(&ctx->ctx_lock);
		if (ctx->cpu < 0) {
			c->ret = c->fn(ctx, c->data);
			if (changes) {
				kpmu_ctx_follow(ctx, false);
				kpmu_check_ctx(ctx);
			}
			c->done = true;
		}
		raw_spin_unlock(&ctx->ctx_lock);
	}
}

/* Succeeds if the context is idle, or active on this CPU */
static void call_here(void *data)
{
	run_here(data, true);
}

/* Likewise, for a function that changes nothing */
static void visit_here(void *data)
{
	run_here(data, false);
}

/* Repeat @here, call_here() or visit_here(), until it succeeds on some CPU */
static noinline int call_elsewhere(struct kpmu_call *c, smp_call_func_t here)
{
	unsigned long flags;
	int cpu;

	while (!c->done) {
		cpu = READ_ONCE(c->ctx->cpu);
		if (cpu < 0) {
			local_irq_save(flags);
			here(c);
			local_irq_restore(flags);
		} else {
			kpmu_stat_inc(remote);
			smp_call_function_single(cpu, here, c, 1);
		}
	}
	return c->ret;
}

/**
 * kpmu_call_anywhere() - kpmu_ctx_call() if the context was not active on this CPU
 * @ctx: as there
 * @fn: as there
 * @data: as there
 *
 * Context: as there.
 * Return: as there.
 */
int kpmu_call_anywhere(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *), void *data)
{
	struct kpmu_call c = { .ctx = ctx, .fn = fn, .data = data };

	return call_elsewhere(&c, call_here);
}

/**
 * kpmu_ctx_call() - call a function as the owner of a context
 * @ctx: the context
 * @fn: the function; called with IRQs off and the context's time up to date
 * @data: for @fn
 *
 * Runs here if the context is idle or active here, else on the CPU where it is
 * active.  The counters reflect the changes of @fn when this returns.
 *
 * Context: task, IRQs on.
 * Return: what @fn returned.
 */
int kpmu_ctx_call(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data)
{
	return kpmu_ctx_call_inline(ctx, fn, data);
}

/**
 * kpmu_ctx_visit() - kpmu_ctx_call() for a function that changes nothing
 * @ctx: the context
 * @fn: the function; called with IRQs off, the context's time may not be up to date
 * @data: for @fn
 *
 * @fn may fold counts, and advance the context's time.  The plan, the counters and what
 * follows the context (kpmu_ctx_follow()) are not updated afterwards.
 *
 * Context: task, IRQs on.
 * Return: what @fn returned.
 */
int kpmu_ctx_visit(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		   void *data)
{
	struct kpmu_call c = { .ctx = ctx, .fn = fn, .data = data };

	lockdep_assert_irqs_enabled();
	local_irq_disable();
	visit_here(&c);
	local_irq_enable();
	return likely(c.done) ? c.ret : call_elsewhere(&c, visit_here);
}

/**
 * kpmu_ctx_try() - kpmu_ctx_call() without waiting for another CPU
 * @ctx: the context
 * @fn: the function
 * @data: for @fn
 *
 * Context: hard IRQ, on any CPU.
 * Return: true if @fn was called; false if the context is active on another CPU.
 */
bool kpmu_ctx_try(struct kpmu_ctx *ctx, int (*fn)(struct kpmu_ctx *, void *),
		  void *data)
{
	struct kpmu_call c = { .ctx = ctx, .fn = fn, .data = data };
	unsigned long flags;

	local_irq_save(flags);
	do {
		call_here(&c);
	} while (!c.done && READ_ONCE(ctx->cpu) < 0);
	local_irq_restore(flags);
	return c.done;
}

struct many {
	struct kpmu_call *calls;
	int n;
	bool changes;
};

/* Those whose context is active on this CPU.  @done is valid once the context is seen here */
static void call_active_here(void *data)
{
	struct many *m = data;
	struct kpmu_call *c;

	for (c = m->calls; c < m->calls + m->n; c++)
		/* Pairs with kpmu_ctx_release(): a call that was made elsewhere is seen as done */
		if (smp_load_acquire(&c->ctx->cpu) == smp_processor_id() && !c->done)
			run_here(c, m->changes);
}

/* Those that need no other CPU, and the set of the CPUs that the others need */
static void call_local(struct many *m, struct cpumask *cpus)
{
	struct kpmu_call *c;
	unsigned long flags;
	int cpu;

	cpumask_clear(cpus);
	for (c = m->calls; c < m->calls + m->n; c++) {
		if ((c - m->calls) % KPMU_BATCH == KPMU_BATCH - 1)
			cond_resched();
		c->done = false;
		local_irq_save(flags);
		run_here(c, m->changes);
		local_irq_restore(flags);
		cpu = READ_ONCE(c->ctx->cpu);
		if (!c->done && cpu >= 0)
			cpumask_set_cpu(cpu, cpus);
	}
}

/**
 * kpmu_ctxs_call() - kpmu_ctx_call() or kpmu_ctx_visit() for several contexts
 * @calls: .ctx, .fn and .data are set; sets .ret
 * @n: number of @calls
 * @changes: as by kpmu_ctx_call(); false: as by kpmu_ctx_visit()
 * @cpus: for the use of this function
 *
 * The CPUs on which contexts are active work at the same time.  Each of them, but this one, gets
 * one IPI for all its contexts; a second one may be necessary for a task that moves meanwhile.
 *
 * Context: task, may sleep.
 */
void kpmu_ctxs_call(struct kpmu_call *calls, int n, bool changes, struct cpumask *cpus)
{
	struct many m = { .calls = calls, .n = n, .changes = changes };
	struct kpmu_call *c;

	lockdep_assert_irqs_enabled();
	call_local(&m, cpus);
	if (!cpumask_empty(cpus)) {
		kpmu_stat_inc(remote);
		preempt_disable();
		/* Not on this CPU, if this task has moved to one of @cpus */
		smp_call_function_many(cpus, call_active_here, &m, true);
		preempt_enable();
	}
	for (c = calls; c < calls + n; c++)
		if (unlikely(!c->done))
			call_elsewhere(c, changes ? call_here : visit_here);
}
