// SPDX-License-Identifier: GPL-2.0-only
/* SWITCH and SWITCH_CPU_WIDE records.  perf_event_open(2), attr.context_switch. */
#include <linux/sched.h>

#include "../compat/compat.h"
#include "../sched/sched.h"
#include "side_band.h"

struct turn {
	struct task_struct *task;
	struct task_struct *other;
	u16 misc;
};

static void switch_record(struct kpmu_event *e, void *data)
{
	bool wide = !e->se.ctx->task;
	const struct turn *t = data;
	struct kpmu_record r;
	u64 ids;

	if (!kpmu_record_begin_of(&r, e, wide ? PERF_RECORD_SWITCH_CPU_WIDE :
						PERF_RECORD_SWITCH,
				  t->misc, wide ? sizeof(ids) : 0, t->task))
		return;
	if (wide) {
		ids = kpmu_record_ids(e, t->other);
		kpmu_record_put(&r, &ids, sizeof(ids));
	}
	kpmu_record_end(&r);
}

/**
 * kpmu_side_switch() - write records for a task that is switched out or in
 * @task: the task; its context is the active one
 * @other: the next task when @task is switched out, else the previous one
 * @in: @task is switched in
 *
 * Context: under the run-queue lock, IRQs off.
 */
void kpmu_side_switch(struct task_struct *task, struct task_struct *other,
		      bool in)
{
	struct turn t = { .task = task, .other = other };

	if (!in)
		t.misc = PERF_RECORD_MISC_SWITCH_OUT;
	if (!in && kpmu_task_is_runnable(task))
		t.misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	kpmu_side_write(KPMU_ATTR_CONTEXT_SWITCH, switch_record, &t);
}
