// SPDX-License-Identifier: GPL-2.0-only
/* The core PMU of this machine. */
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/jiffies.h>

#include "../abi/attr.h"
#include "counters.h"

struct kpmu_core kpmu_core __ro_after_init;

DEFINE_STATIC_KEY_DEFERRED_FALSE(kpmu_branches_key, HZ);
DEFINE_STATIC_KEY_FALSE(kpmu_kinds_key);

DEFINE_STATIC_CALL_RET0(kpmu_core_peek, *kpmu_core.peek);
DEFINE_STATIC_CALL_RET0(kpmu_core_like, *kpmu_core.like);
/* Not called before kpmu_core_set() */
DEFINE_STATIC_CALL_NULL(kpmu_core_commit, *kpmu_core.commit);
DEFINE_STATIC_CALL_NULL(kpmu_core_halt, *kpmu_core.halt);
DEFINE_STATIC_CALL_NULL(kpmu_core_resume, *kpmu_core.resume);
DEFINE_STATIC_CALL_NULL(kpmu_core_restart, *kpmu_core.restart);
DEFINE_STATIC_CALL_NULL(kpmu_core_update, *kpmu_core.update);
DEFINE_STATIC_CALL_NULL(kpmu_core_halted, *kpmu_core.halted);
DEFINE_STATIC_CALL_NULL(kpmu_core_hide, *kpmu_core.hide);
DEFINE_STATIC_CALL_NULL(kpmu_core_branches_leave, *kpmu_core.branches_leave);
DEFINE_STATIC_CALL_NULL(kpmu_core_branches_enter, *kpmu_core.branches_enter);

/**
 * kpmu_core_set() - choose the operations of the core PMU
 * @core: the operations; copied
 *
 * Context: module init, before the first event.
 */
void __init kpmu_core_set(const struct kpmu_core *core)
{
	kpmu_core = *core;
	static_call_update(kpmu_core_peek, core->peek);
	static_call_update(kpmu_core_like, core->like);
	static_call_update(kpmu_core_commit, core->commit);
	static_call_update(kpmu_core_halt, core->halt);
	static_call_update(kpmu_core_resume, core->resume);
	static_call_update(kpmu_core_restart, core->restart);
	static_call_update(kpmu_core_update, core->update);
	static_call_update(kpmu_core_halted, core->halted);
	static_call_update(kpmu_core_hide, core->hide);
	static_call_update(kpmu_core_branches_leave, core->branches_leave);
	static_call_update(kpmu_core_branches_enter, core->branches_enter);
}

/**
 * kpmu_counters_type() - attr.type of the CPU's counters
 *
 * Context: any.
 * Return: the type; -ENODEV if the machine has no usable counters.
 */
int kpmu_counters_type(void)
{
	return kpmu_counters_slots() ? KPMU_TYPE_RAW : -ENODEV;
}
