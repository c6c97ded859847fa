// SPDX-License-Identifier: GPL-2.0-only
/* The core PMU as a source of events, and its state in debugfs. */
#include <linux/init.h>
#include <linux/seq_file.h>

#include "lbr.h"
#include "msr.h"
#include "precise.h"

/**
 * x86_show() - .show of struct kpmu_core
 * @m: see kpmu_counters_show()
 * @cpu: see kpmu_counters_show()
 *
 * Context: see kpmu_counters_show().
 */
void x86_show(struct seq_file *m, int cpu)
{
	struct x86_cpu *c = per_cpu_ptr(&x86_cpu, cpu);
	int i;

	seq_printf(m, "registers held by kpmu: %s, counting %#x, fixed_ctrl %#llx\n",
		   c->ready ? "yes" : "no", c->on, c->fixed_ctrl);
	if (x86_pmu.lbr)
		seq_printf(m, "branch records: %s, filter %#x\n",
			   c->lbr_on ? "on" : "off", c->lbr_filter);
	for (i = 0; i < KPMU_NR_SLOTS; i++) {
		if (!(x86_kinds[c->kind].counters & 1u << i))
			continue;
		seq_printf(m, "%s %2d: selector %#10llx %s\n",
			   i < X86_FIXED ? "general" : "fixed  ", i % X86_FIXED,
			   c->sel[i], c->slots.mask & 1u << i ? "in use" : "idle");
	}
}

#define SOURCE(n, k) {					\
	.name = (n),					\
	.kind = (k),					\
	.nmi = true,					\
	.init = x86_event_init,				\
	.needs = x86_event_needs,			\
	.get = x86_get,					\
	.put = x86_put,					\
	.read = x86_read,				\
	.set_period = x86_set_period,			\
	.reset = x86_reset,				\
	.goes_with = x86_goes_with,			\
	.check_period = x86_check_period,		\
	.branches = x86_branches,			\
	.user_view = x86_user_view,			\
}

const struct kpmu_source x86_sources[KPMU_NR_KINDS] = {
	[X86_ALL] = SOURCE("cpu", X86_ALL),
	[X86_CORE] = SOURCE("cpu_core", X86_CORE),
	[X86_ATOM] = SOURCE("cpu_atom", X86_ATOM),
};

/**
 * x86_slots() - .slots of struct kpmu_core
 * @kind: see struct kpmu_core
 *
 * Context: see kpmu_counters_slots().
 * Return: see kpmu_counters_slots().
 */
u32 x86_slots(u8 kind)
{
	u32 slots = kind ? x86_kinds[kind].counters : x86_pmu.counters;

	return x86_pmu.version ? slots : 0;
}

/**
 * x86_fixed_slots() - .fixed of struct kpmu_core
 *
 * Context: any.
 * Return: see struct kpmu_core.
 */
u32 x86_fixed_slots(void)
{
	return x86_pmu.version ? x86_pmu.fixed : 0;
}

/**
 * x86_width() - .width of struct kpmu_core
 *
 * Context: any.
 * Return: see struct kpmu_core.
 */
int x86_width(void)
{
	return x86_pmu.version ? x86_pmu.width : 0;
}

/**
 * x86_max_precise() - .precise of struct kpmu_core
 *
 * Context: any.
 * Return: the largest precise_ip, 0 without precise events.
 */
int x86_max_precise(void)
{
	return x86_pmu.precise ? x86_pmu.precise->max : x86_pmu.forwarded;
}

/**
 * x86_leave() - .branches_leave of struct kpmu_core
 * @task: see kpmu_branches_leave()
 * @to: see kpmu_branches_leave()
 *
 * Context: see kpmu_branches_leave().
 */
void x86_leave(struct task_struct *task, void *to)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);

	/* Samples name the task that runs, so records are read before another one does */
	if (c->precise)
		x86_precise_drain(c);
	x86_lbr_leave(task, to);
}

/**
 * x86_branch_depth() - .branches of struct kpmu_core
 *
 * Context: see kpmu_branches_depth().
 * Return: see kpmu_branches_depth().
 */
int x86_branch_depth(void)
{
	return x86_pmu.lbr_depth;
}

/**
 * x86_start() - initialise what all makers' core PMUs have in common
 *
 * Context: module init, after x86_pmu was filled in.
 * Return: 0 or an error.
 */
int __init x86_start(void)
{
	int err = x86_lbr_init();

	if (err)
		return err;
	if (x86_pmu.version == 1)
		static_branch_deferred_inc(&x86_ctrl_key);
	err = x86_pmi_init();
	if (err)
		x86_lbr_exit();
	else
		x86_rivals_init();
	return err;
}

/**
 * x86_end() - undo x86_start()
 *
 * Context: task, may sleep; no event is left.
 */
void x86_end(void)
{
	x86_rdpmc_exit();
	if (!x86_pmu.version)
		return;
	x86_rivals_exit();
	x86_pmi_exit();
	x86_lbr_exit();
	/* Their work is in this module */
	static_key_deferred_flush(&kpmu_branches_key);
	static_key_deferred_flush(&x86_ctrl_key);
}
