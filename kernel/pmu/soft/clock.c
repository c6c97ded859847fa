// SPDX-License-Identifier: GPL-2.0-only
/*
 * cpu-clock and task-clock.  perf_event_open(2), PERF_COUNT_SW_CPU_CLOCK and
 * PERF_COUNT_SW_TASK_CLOCK.
 *
 * Both count the nanoseconds for which the event runs.  The context measures that anyway,
 * so a task switch costs nothing extra.  .read is set at init to a function of sched/,
 * which knows the contexts.
 */
#include "../../abi/attr.h"
#include "soft.h"

static int clock_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		      const char **why)
{
	return kpmu_source_refuse(attr, why);
}

struct kpmu_source kpmu_cpu_clock = {
	.name = "cpu_clock",
	.clock = true,
	.init = clock_init,
	.set_period = kpmu_source_set_period,
};

struct kpmu_source kpmu_task_clock = {
	.name = "task_clock",
	.clock = true,
	.init = clock_init,
	.set_period = kpmu_source_set_period,
};
