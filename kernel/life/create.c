// SPDX-License-Identifier: GPL-2.0-only
/* Creating and copying events. */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/time.h>

#include "../compat/ksym.h"
#include "../sched/sched.h"
#include "../source/period.h"
#include "../source/pmu.h"
#include "../trace/stats.h"
#include "life.h"

static atomic64_t last_id;

/**
 * kpmu_event_set_clock() - set the clock of a new event's time stamps, if it asks for one
 * @e: the event, not attached yet
 * @attr: its attr
 * @why: set to the reason of an error
 *
 * Events that overflow in NMI context need a clock that can be read there.
 *
 * Context: task.
 * Return: 0; -EINVAL for a clock that does not exist or cannot be used.
 */
int kpmu_event_set_clock(struct kpmu_event *e, const struct kpmu_attr *attr, const char **why)
{
	if (!(attr->flags & KPMU_ATTR_USE_CLOCKID))
		return 0;
	switch (attr->clockid) {
	case CLOCK_REALTIME:
	case CLOCK_BOOTTIME:
	case CLOCK_TAI:
		if (e->se.hw.source->nmi) {
			*why = "this clock cannot be read in an NMI";
			return -EINVAL;
		}
		break;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
		break;
	default:
		*why = "no such clock for time stamps";
		return -EINVAL;
	}
	e->clockid = attr->clockid;
	return 0;
}

/* Checks that drivers need not make: unsupported features, and the CPUs of the PMU */
static int check_driver(const struct kpmu_event *e, const struct kpmu_target *target,
			const char **why)
{
	const struct kpmu_source *source = e->se.hw.source;
	int err = source->owner ? kpmu_source_refuse(target->attr, why) : 0;

	if (err)
		return err;
	/* hw.sel and hw.key are the same word: the event would count hits */
	if (source->owner && !e->se.hw.allowed && e->se.hw.key) {
		*why = "the PMU's driver has set hw.sel";
		return -EINVAL;
	}
	if (!source->cpus)
		return 0;
	if (!target->task && cpumask_test_cpu(target->cpu, source->cpus))
		return 0;
	*why = "this PMU only has CPU events, on the CPUs of its cpumask";
	return -EINVAL;
}

/* Most events need no part for records */
static __always_inline int init_sampling(struct kpmu_event *e, const struct kpmu_attr *attr)
{
	if (likely(!attr->sample_period && !e->se.hw.source->trace &&
		   !(attr->flags & (KPMU_ATTR_RECORDS | KPMU_ATTR_STRICT))))
		return 0;
	return kpmu_sampling_init(e, attr);
}

static int permit_target(const struct kpmu_event *e, const struct kpmu_target *target,
			 const char **why)
{
	const struct kpmu_source *source = e->se.hw.source;
	u32 needs = source->needs ? source->needs(&e->se.hw, target) : 0;

	if (needs & KPMU_NEED_CPU)
		return kpmu_permit(KPMU_PERMIT_CPU, target->attr, NULL, why);
	if (needs & KPMU_NEED_RAW)
		return kpmu_permit(KPMU_PERMIT_RAW, target->attr, NULL, why);
	return 0;
}

/**
 * kpmu_event_alloc() - create an event from an attr
 * @target: what to count; the attr is checked for the phases before KPMU_ATTR_SUPPORT
 * @why: set to the reason of an error
 *
 * The event holds no hardware until kpmu_event_take().
 *
 * Context: task, may sleep.
 * Return: the event, not attached; -ENOMEM; -ENOENT for a type that no source serves;
 * an error of the source or of a permission check.
 */
struct kpmu_event *kpmu_event_alloc(const struct kpmu_target *target,
				    const char **why)
{
	const struct kpmu_attr *attr = target->attr;
	const struct kpmu_source *source = kpmu_source_get(attr, target->cpu);
	struct kpmu_event *e;
	int err;

	if (!source) {
		*why = kpmu_counters_own(attr->type) ?
		       "no PMU of this CPU has events of this type" : "no such event type";
		return ERR_PTR(-ENOENT);
	}
	e = kpmu_event_new();
	if (!e) {
		kpmu_source_put(source);
		return ERR_PTR(-ENOMEM);
	}
	e->se.hw.source = source;
	e->se.hw.hint = -1;
	e->se.hw.idx = -1;
	e->se.state = attr->flags & KPMU_ATTR_DISABLED ? KPMU_OFF : KPMU_ON;
	e->read_format = attr->read_format;
	if (unlikely(attr->read_format))
		kpmu_read_layout(e);
	else
		e->read_size = sizeof(u64);
	e->se.cpu = target->cpu;
	e->se.flags = attr->flags;
	e->on_exec = attr->flags & KPMU_ATTR_ENABLE_ON_EXEC;
	if (attr->flags & KPMU_ATTR_WATERMARK)
		e->wakeup_watermark = attr->wakeup_watermark;
	e->type = attr->type;
	e->config = attr->config;
	e->clockid = -1;
	kpmu_entity_init(&e->se, unlikely(e->read_more) ? kpmu_read_max(e) : KPMU_GROUP_MAX);

	err = kpmu_pmu_init_event(&e->se.hw, attr, why);
	if (err)
		*why = kpmu_source_why(source, *why);
	else
		err = check_driver(e, target, why) ?: init_sampling(e, attr);
	if (!err)
		err = permit_target(e, target, why);
	if (!err)
		err = kpmu_lsm_alloc(&e->label, attr->type, attr->config);
	if (err) {
		kpmu_event_free(e);
		kpmu_source_put(source);
		return ERR_PTR(err);
	}
	e->se.id = atomic64_inc_return(&last_id);
	if (e->sampling) {
		e->sampling->stream_id = e->se.id;
		kpmu_notify_init(e);
	}
	kpmu_stat_inc(opens);
	return e;
}

/**
 * kpmu_event_take() - reserve the hardware of an event, or the source of its hits
 * @e: the event, not attached yet
 * @target: what to count; permission has been granted
 * @why: set to the reason of an error
 *
 * Released by the last kpmu_event_put().
 *
 * Context: task, may sleep; if the target is another task, under its exec_update_lock
 * unless source->waits.
 * Return: 0, or an error of the source.
 */
int kpmu_event_take(struct kpmu_event *e, const struct kpmu_target *target,
		    const char **why)
{
	const struct kpmu_source *source = e->se.hw.source;
	int err = source->get ? source->get(&e->se.hw, target, why) : 0;

	if (err)
		*why = kpmu_source_why(source, *why);
	e->taken = !err;
	return err;
}

/*
 * Copy the configuration of a parent's hardware part to a child's.  Without @rare there is none of
 * the extra registers and of precise events; three of its parts are the parent's own.
 */
static void clone_hw(struct kpmu_hw *hw, const struct kpmu_hw *from)
{
	hw->source = from->source;
	hw->sel = from->sel;
	hw->extra = from->extra;
	if (!from->allowed)
		hw->match = from->match;
	hw->branch_filter = from->branch_filter;
	hw->allowed = from->allowed;
	hw->hint = from->hint;
	hw->idx = -1;
	hw->fixed = from->fixed;
	hw->kernel = from->kernel;
	hw->gated = from->gated;
	hw->rare = from->rare;
	if (unlikely(hw->rare)) {
		hw->shown = false;
		hw->drained = false;
		hw->paired = false;
		hw->extra_alt = from->extra_alt;
		hw->mem = from->mem;
		hw->groups = from->groups;
	}
	kpmu_period_start(hw, from->period, 0);
}

/**
 * kpmu_event_clone() - copy an event for a child task
 * @e: from kpmu_event_blank(); not attached afterwards
 * @from: the parent task's event, a root or a child
 *
 * The copy is enabled if @from is, counts from 0, and relies on the root's
 * kpmu_event_take().  It has two references, one for its context and one for its
 * family.
 *
 * Context: the owner of @from's context, IRQs off.
 */
void kpmu_event_clone(struct kpmu_event *e, struct kpmu_event *from)
{
	struct kpmu_event *root = from->root ?: from;
	struct kpmu_sampling *sampling = e->sampling;

	kpmu_ctx_assert_owned(from->se.ctx);
	memset(e, 0, offsetof(struct kpmu_event, se.group.class));
	clone_hw(&e->se.hw, &from->se.hw);
	e->sampling = sampling;
	if (from->sampling) {
		kpmu_sampling_clone(sampling, from->sampling);
		sampling->event = e;
		sampling->stream_id = atomic64_inc_return(&last_id);
	}
	e->se.state = from->se.state == KPMU_ON ? KPMU_ON : KPMU_OFF;
	e->read_format = root->read_format;
	e->read_size = root->read_size;
	e->read_more = root->read_more;
	e->se.cpu = root->se.cpu;
	e->se.flags = root->se.flags;
	e->on_exec = root->on_exec;
	e->clockid = root->clockid;
	e->type = root->type;
	e->config = root->config;
	e->se.id = root->se.id;
	e->root = root;
	kpmu_entity_init(&e->se, root->se.max);
	INIT_LIST_HEAD(&e->sibling);
	refcount_set(&e->ref, 2);
}
