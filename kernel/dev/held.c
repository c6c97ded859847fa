// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event on a counter.  It is shown only if the caller has permission to open an event on the same
 * task or CPU.
 */
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "../event/event.h"
#include "../sched/sched.h"
#include "held.h"

/**
 * kpmu_held_note() - note the event that is on a counter
 * @h: filled in
 * @hw: the event
 *
 * Context: on the CPU of the counter, IRQs off.
 */
void kpmu_held_note(struct kpmu_held *h, struct kpmu_hw *hw)
{
	const struct kpmu_event *e = kpmu_event_of_hw(hw);

	h->id = e->se.id;
	h->type = e->type;
	h->config = e->config;
	h->task = e->se.ctx->task;
	if (h->task)
		get_task_struct(h->task);
}

/**
 * kpmu_held_put() - release what kpmu_held_note() has referenced
 * @h: filled in by it, or all 0
 *
 * Context: task.
 */
void kpmu_held_put(struct kpmu_held *h)
{
	if (h->task)
		put_task_struct(h->task);
}

/* A task in exec may be about to raise its privileges; it is not waited for */
static bool may_see_task(const struct kpmu_attr *attr, struct task_struct *task)
{
	const char *why;
	bool ok;

	if (task == current)
		return true;
	if (!down_read_trylock(&task->signal->exec_update_lock))
		return false;
	ok = !kpmu_permit(KPMU_PERMIT_TASK, attr, task, &why);
	up_read(&task->signal->exec_update_lock);
	return ok;
}

/**
 * kpmu_held_visible() - may the caller know of the event?
 * @h: the event
 *
 * Context: task, may sleep.
 * Return: true if it could open an event on the same task or CPU.
 */
bool kpmu_held_visible(const struct kpmu_held *h)
{
	const struct kpmu_attr attr = { .type = h->type, .config = h->config };
	const char *why;

	return h->task ? may_see_task(&attr, h->task) :
			 !kpmu_permit(KPMU_PERMIT_CPU, &attr, NULL, &why);
}
