// SPDX-License-Identifier: GPL-2.0-only
/* Timelines of a CPU, see timeline.h. */
#include <linux/irq_work.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "sched.h"
#include "timeline.h"

DEFINE_STATIC_KEY_FALSE(kpmu_timelines_key);

/**
 * struct timeline_cpu - the timelines of a CPU
 * @list: struct kpmu_timeline, one for each set
 * @task: the task in the last record of a switch
 * @nr_events: sum of their events
 */
struct timeline_cpu {
	struct hlist_head list;
	struct task_struct *task;
	u32 nr_events;
};

static DEFINE_PER_CPU(struct timeline_cpu, timeline_cpu);

static __always_inline u8 where_is(const struct kpmu_entity *e)
{
	if (!e || !e->clock.is_running)
		return KPMU_TIMELINE_WAITS;
	return e->hw.idx < 0 ? KPMU_TIMELINE_RUNS : e->hw.idx;
}

static void put_task(struct kpmu_timeline_record *r, const struct kpmu_timeline *t,
		     struct task_struct *task)
{
	r->tid = __task_pid_nr_ns(task, PIDTYPE_PID, t->ns);
	r->pid = __task_pid_nr_ns(task, PIDTYPE_TGID, t->ns);
	if (!r->tid && !is_idle_task(task)) {
		memset(r->comm, 0, sizeof(r->comm));
		return;
	}
	memcpy(r->comm, task->comm, sizeof(r->comm));
	r->comm[sizeof(r->comm) - 1] = 0;
}

static void put_events(struct kpmu_timeline *t, u64 *values)
{
	u8 *where = (u8 *)(values + t->nr_events);
	struct kpmu_entity *e;
	u32 i;

	for (i = 0; i < t->nr_events; i++) {
		e = t->events[i];
		values[i] = e ? e->hw.source->read(&e->hw) : KPMU_SET_NONE;
		t->where[i] = where_is(e);
	}
	memcpy(where, t->where, t->nr_events);
}

/* Room for a record, or NULL.  User space can set its tail to any number */
static struct kpmu_timeline_record *next_record(struct kpmu_timeline *t)
{
	/* Pairs with the release of the reader, which is done with the records before the tail */
	u64 waiting = t->written - smp_load_acquire(&t->ring->tail);

	if (waiting >= t->nr_slots) {
		WRITE_ONCE(t->ring->lost, ++t->lost);
		return NULL;
	}
	if (waiting + 1 == t->nr_slots / 2)
		irq_work_queue(t->kick);
	return t->slots + (t->written & (t->nr_slots - 1)) * t->slot_size;
}

static void write_record(struct kpmu_timeline *t, struct task_struct *task, u32 why)
{
	struct kpmu_timeline_record *r = next_record(t);
	u32 i;

	if (!r) {
		for (i = 0; i < t->nr_events; i++)
			t->where[i] = where_is(t->events[i]);
		return;
	}
	r->time = ktime_get_mono_fast_ns();
	r->why = why;
	r->reserved = 0;
	put_task(r, t, task);
	put_events(t, (u64 *)(r + 1));
	smp_store_release(&t->ring->head, ++t->written);	/* after the record */
}

/**
 * kpmu_timelines_enter() - record that a task runs from now on
 * @next: the task
 * @why: KPMU_TIMELINE_SWITCH, or _START if the CPU has come online
 *
 * Context: IRQs off.
 */
void kpmu_timelines_enter(struct task_struct *next, u32 why)
{
	struct timeline_cpu *c = this_cpu_ptr(&timeline_cpu);
	struct kpmu_timeline *t;

	c->task = next;
	/* While the CPU is offline, its events do not count, and others own its timelines */
	if (this_cpu_ptr(&kpmu_cpu)->offline)
		return;
	hlist_for_each_entry(t, &c->list, node)
		write_record(t, next, why);
}

static bool has_moved(const struct kpmu_timeline *t)
{
	u32 i;

	for (i = 0; i < t->nr_events; i++)
		if (where_is(t->events[i]) != t->where[i])
			return true;
	return false;
}

/**
 * kpmu_timelines_compare() - write a record if an event has, or has lost, a counter
 *
 * Context: IRQs off.
 */
void kpmu_timelines_compare(void)
{
	struct timeline_cpu *c = this_cpu_ptr(&timeline_cpu);
	struct kpmu_timeline *t;

	hlist_for_each_entry(t, &c->list, node)
		if (has_moved(t))
			write_record(t, c->task, KPMU_TIMELINE_PLAN);
}

/**
 * kpmu_timeline_note() - write a record now
 * @ctx: the CPU's context
 * @t: its timeline
 * @why: KPMU_TIMELINE_*
 *
 * Context: owner of @ctx, IRQs off.  Does nothing for a CPU that is offline.
 */
void kpmu_timeline_note(struct kpmu_ctx *ctx, struct kpmu_timeline *t, u32 why)
{
	if (ctx->cpu >= 0)
		write_record(t, per_cpu(timeline_cpu, ctx->home).task, why);
}

/**
 * kpmu_timeline_add() - begin a timeline on a CPU
 * @ctx: the CPU's context
 * @t: the timeline; all but .node and .where is set
 *
 * Context: owner of @ctx, IRQs off.
 * Return: 0; -EINVAL if the set has a timeline on this CPU already; -ENOSPC if the CPU has too many
 * events with timelines.
 */
int kpmu_timeline_add(struct kpmu_ctx *ctx, struct kpmu_timeline *t)
{
	struct timeline_cpu *c = per_cpu_ptr(&timeline_cpu, ctx->home);
	const struct kpmu_timeline *other;

	hlist_for_each_entry(other, &c->list, node)
		if (other->kick == t->kick)
			return -EINVAL;
	if (c->nr_events + t->nr_events > KPMU_TIMELINE_EVENTS)
		return -ENOSPC;
	c->nr_events += t->nr_events;
	hlist_add_head(&t->node, &c->list);
	/* If the CPU is offline, the first record is written when it comes online */
	if (ctx->cpu >= 0)
		c->task = current;
	kpmu_timeline_note(ctx, t, KPMU_TIMELINE_START);
	return 0;
}

/**
 * kpmu_timeline_del() - end a timeline
 * @ctx: the CPU's context
 * @t: the timeline
 *
 * Context: owner of @ctx, IRQs off.
 */
void kpmu_timeline_del(struct kpmu_ctx *ctx, struct kpmu_timeline *t)
{
	hlist_del_init(&t->node);
	per_cpu(timeline_cpu, ctx->home).nr_events -= t->nr_events;
}
