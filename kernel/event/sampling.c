// SPDX-License-Identifier: GPL-2.0-only
/* The part of an event that exists only if it writes records. */
#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../sched/sched.h"
#include "../source/period.h"
#include "histogram.h"
#include "sampling.h"

int kpmu_sysctl_max_stack = 127;
int kpmu_sysctl_max_contexts = 8;

static struct kmem_cache *cache;

/* Set the sizes that follow from the attr: of the fixed fields, and of trailers */
static void set_layout(struct kpmu_sampling *s, u64 flags)
{
	s->fixed = sizeof(struct perf_event_header) +
		   hweight64(s->sample_type & KPMU_SAMPLE_FIXED) * sizeof(u64);
	if (flags & KPMU_ATTR_SAMPLE_ID_ALL)
		s->trailer = hweight64(s->sample_type & KPMU_SAMPLE_WHOSE) *
			     sizeof(u64);
}

static void set_aux(struct kpmu_sampling *s, const struct kpmu_attr *attr)
{
	s->aux_watermark = attr->aux_watermark;
	s->aux_sample_size = attr->aux_sample_size;
	s->aux_action = attr->aux_action & (KPMU_AUX_PAUSE | KPMU_AUX_RESUME);
	s->aux_paused = attr->aux_action & KPMU_AUX_START_PAUSED;
	s->aux_output = attr->flags & KPMU_ATTR_AUX_OUTPUT;
}

/**
 * kpmu_sampling_init() - allocate a new event's sampling part
 * @e: the event, which needs one
 * @attr: its attr, checked
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOMEM.
 */
int kpmu_sampling_init(struct kpmu_event *e, const struct kpmu_attr *attr)
{
	struct kpmu_sampling *s;
	u64 period = 1;

	s = kmem_cache_zalloc(cache, GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->event = e;
	s->sample_type = attr->sample_type;
	s->regs_user = attr->sample_regs_user;
	s->regs_intr = attr->sample_regs_intr;
	if (attr->flags & KPMU_ATTR_SIGTRAP) {
		s->trap = kpmu_trap_new(attr->type, attr->sig_data);
		if (!s->trap) {
			kmem_cache_free(cache, s);
			return -ENOMEM;
		}
	}
	s->stack_user = attr->sample_stack_user;
	s->max_stack = attr->sample_max_stack ?: kpmu_sysctl_max_stack;
	s->branch_index = attr->branch_sample_type & KPMU_BRANCH_HW_INDEX;
	if (!(attr->flags & KPMU_ATTR_WATERMARK))
		s->wakeup_events = attr->wakeup_events;
	set_aux(s, attr);
	set_layout(s, attr->flags);
	s->ns = get_pid_ns(task_active_pid_ns(current));
	e->sampling = s;
	if (e->se.hw.source->trace) {
		/* A trace event has no samples: each hit goes to the AUX area */
		kpmu_period_change(&e->se.hw, 1);
		return 0;
	}
	if (!attr->sample_period)
		return 0;
	if (!(attr->flags & KPMU_ATTR_FREQ)) {
		period = attr->sample_period;
	} else if (!e->se.hw.source->clock) {
		s->freq = attr->sample_freq;
	} else {
		/* Clock frequency implies a fixed period */
		period = max_t(u64, 1, NSEC_PER_SEC / attr->sample_freq);
	}
	kpmu_period_start(&e->se.hw, period, 0);
	return 0;
}

/**
 * kpmu_sampling_for() - use the pid namespace of another task than current for records
 * @e: the event, not attached yet
 * @who: the task
 *
 * Context: task.
 */
void kpmu_sampling_for(struct kpmu_event *e, struct task_struct *who)
{
	struct pid_namespace *ns;

	if (!e->sampling)
		return;
	rcu_read_lock();
	ns = task_active_pid_ns(who);
	if (ns) {		/* NULL if @who is gone */
		put_pid_ns(e->sampling->ns);
		e->sampling->ns = get_pid_ns(ns);
	}
	rcu_read_unlock();
}

/**
 * kpmu_sampling_blank() - allocate memory for kpmu_sampling_clone()
 *
 * Context: any but NMI, with no raw spinlock held.
 * Return: the memory, or NULL.
 */
struct kpmu_sampling *kpmu_sampling_blank(void)
{
	struct kpmu_sampling *s = kmem_cache_alloc(cache,
						   GFP_ATOMIC | __GFP_NOWARN);

	if (!s)
		return NULL;
	/* What kpmu_sampling_free() looks at, as the copy may not be used */
	s->ns = NULL;
	s->histogram = NULL;
	if (!kpmu_trap_blank(&s->trap)) {
		kmem_cache_free(cache, s);
		return NULL;
	}
	return s;
}

/**
 * kpmu_sampling_clone() - set up the sampling part of an inherited event
 * @s: from kpmu_sampling_blank()
 * @from: the parent's
 *
 * Context: the owner of the parent's context, IRQs off.
 */
void kpmu_sampling_clone(struct kpmu_sampling *s,
			 const struct kpmu_sampling *from)
{
	struct kpmu_trap *trap = kpmu_trap_clone(s->trap, from->trap);

	memset(s, 0, sizeof(*s));
	s->trap = trap;
	s->sample_type = from->sample_type;
	s->regs_user = from->regs_user;
	s->regs_intr = from->regs_intr;
	s->stack_user = from->stack_user;
	s->max_stack = from->max_stack;
	s->branch_index = from->branch_index;
	s->wakeup_events = from->wakeup_events;
	s->aux_sample_size = from->aux_sample_size;
	s->aux_action = from->aux_action;
	s->fixed = from->fixed;
	s->trailer = from->trailer;
	s->freq = from->freq;
}

/**
 * kpmu_sampling_free() - free an event's sampling part
 * @s: the part, or NULL
 *
 * Context: any but NMI.
 */
void kpmu_sampling_free(struct kpmu_sampling *s)
{
	if (!s)
		return;
	if (s->ns)
		put_pid_ns(s->ns);
	kpmu_trap_put(s->trap);
	kpmu_histogram_put(s->histogram);
	kmem_cache_free(cache, s);
}

/**
 * kpmu_sampling_setup() - create the cache of sampling parts
 *
 * Context: module init, may sleep.
 * Return: 0 or -ENOMEM.
 */
int __init kpmu_sampling_setup(void)
{
	cache = KMEM_CACHE(kpmu_sampling, 0);
	return cache ? 0 : -ENOMEM;
}

/**
 * kpmu_sampling_end() - undo kpmu_sampling_setup()
 *
 * Context: module exit, all events freed; may sleep.
 */
void kpmu_sampling_end(void)
{
	kmem_cache_destroy(cache);
}

/**
 * kpmu_notify() - wake an event's waiters and send its SIGIO
 * @e: a root event, kept alive by RCU or by being in an NMI
 *
 * Done by irq_work.  The signal is sent only if the event's file has O_ASYNC set.
 *
 * Context: any, NMI too.
 */
void kpmu_notify(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	atomic_or(KPMU_TELL_WAKE, &s->what);
	if (e->fasync)
		atomic_inc(&s->signals);
	irq_work_queue(&s->notify);
}
NOKPROBE_SYMBOL(kpmu_notify);

/**
 * kpmu_notify_error() - wake an event's waiters and send its SIGIO: it has lost its counters
 * @e: a root event with a sampling part, kept alive by RCU or by being in its context
 *
 * Context: any.
 */
void kpmu_notify_error(struct kpmu_event *e)
{
	struct kpmu_sampling *s = e->sampling;

	atomic_or(KPMU_TELL_WAKE | KPMU_TELL_ERR, &s->what);
	irq_work_queue(&s->notify);
}
