// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reservations: counters of CPUs on which only events that name the reservation are placed.  The
 * placement of a group takes them into account (kpmu_usable()), also in a trial.  While a counter of
 * a CPU is reserved, the CPU's context has a generation although it may have no group, so a plan
 * that was built without the reservation, or on another CPU, is not good here.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>

#include "sched.h"

struct reserving {
	u32 counters;
	u16 id;
};

static int set_owned(struct kpmu_ctx *ctx, void *data)
{
	struct kpmu_cpu *kc = container_of(ctx, struct kpmu_cpu, ctx);
	const struct reserving *r = data;
	u32 m;

	for (m = r->counters; m; m &= m - 1)
		WRITE_ONCE(kc->reserved_by[__ffs(m)], r->id);
	WRITE_ONCE(ctx->reserved, r->id ? ctx->reserved | r->counters :
					  ctx->reserved & ~r->counters);
	kpmu_ctx_changed(ctx);
	return 0;
}

static void set_all(const struct cpumask *cpus, u32 counters, u16 id)
{
	struct reserving r = { .counters = counters, .id = id };
	int cpu;

	for_each_cpu(cpu, cpus) {
		kpmu_ctx_call(&per_cpu(kpmu_cpu, cpu).ctx, set_owned, &r);
		cond_resched();
	}
}

static int check_all(const struct cpumask *cpus, u32 counters, const char **why)
{
	int cpu, err = 0;

	for_each_cpu(cpu, cpus) {
		if (per_cpu(kpmu_cpu, cpu).ctx.reserved & counters) {
			*why = "one of the counters is reserved already";
			return -EBUSY;
		}
		err = kpmu_strict_leave(cpu, counters, why);
		if (err)
			break;
		cond_resched();
	}
	return err;
}

/**
 * kpmu_counters_set_aside() - set counters aside on CPUs
 * @cpus: the CPUs
 * @counters: the counters, which each of the CPUs has
 * @id: id of the reservation, not 0; events with it in KPMU_ATTR_RESERVED may be on the counters
 * @why: set to the reason for an error
 *
 * Groups that are on the counters are placed anew before this returns.
 *
 * Context: task, may sleep.
 * Return: 0; -EBUSY if one of the counters is reserved, or if strict groups, or pinned ones that are
 * enabled, may need it; -ENOMEM; -EINTR if a fatal signal is pending.
 */
int kpmu_counters_set_aside(const struct cpumask *cpus, u32 counters, u16 id, const char **why)
{
	int err;

	static_branch_inc(&kpmu_reserved_key);
	err = kpmu_strict_lock();
	if (!err) {
		err = check_all(cpus, counters, why);
		if (!err)
			set_all(cpus, counters, id);
		kpmu_strict_unlock();
	}
	if (err)
		static_branch_dec(&kpmu_reserved_key);
	return err;
}

/**
 * kpmu_counters_give_back() - undo kpmu_counters_set_aside()
 * @cpus: as there
 * @counters: as there
 *
 * Context: task, may sleep.
 */
void kpmu_counters_give_back(const struct cpumask *cpus, u32 counters)
{
	set_all(cpus, counters, 0);
	static_branch_dec(&kpmu_reserved_key);
}
