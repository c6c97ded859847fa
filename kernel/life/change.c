// SPDX-License-Identifier: GPL-2.0-only
/* Changes of an open event: its filter, BPF program or breakpoint. */
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/wait_bit.h>

#include "../compat/ksym.h"
#include "../event/family.h"
#include "../event/program.h"
#include "../sched/sched.h"
#include "life.h"

/*
 * Serializes changes of one event.  Not a lock for all events: a change may wait for
 * user memory of its caller.
 */
static void lock_changes(struct kpmu_event *e)
{
	wait_on_bit_lock(&e->changing, 0, TASK_UNINTERRUPTIBLE);
}

static void unlock_changes(struct kpmu_event *e)
{
	clear_and_wake_up_bit(0, &e->changing);
}

struct change {
	struct kpmu_event *event;
	const struct kpmu_hit_key *key;
	const struct kpmu_match *match;
};

/*
 * A hit may occur in between, in an NMI: the filter is set before its key.  The new tap
 * delivers records, and all such taps are gated.  Call kpmu_ctx_follow() afterwards.
 */
static void change_event(struct kpmu_event *e, const struct change *c)
{
	if (e->se.hw.listens)
		kpmu_hits_leave(&e->se.hw);
	WRITE_ONCE(e->se.hw.match, c->match);
	barrier();
	WRITE_ONCE(e->se.hw.key, c->key);
	if (!e->se.hw.gated && !hlist_unhashed(&e->hit_node)) {
		e->se.ctx->nr_gated++;
		e->se.ctx->follow = KPMU_FOLLOW_ALWAYS;
	}
	e->se.hw.gated = true;
}

static int change_event_owned(struct kpmu_ctx *ctx, void *data)
{
	struct change *c = data;

	change_event(c->event, c);
	return 0;
}

static int change_child(struct kpmu_event *child, void *data)
{
	change_event(child, data);
	return 0;
}

static void change_root(struct kpmu_event *root, void *data)
{
	kpmu_ctx_call(root->se.ctx, change_event_owned, data);
}

static int set_filter(struct kpmu_event *e, char *filter)
{
	const struct kpmu_hit_key *old = e->se.hw.key;
	struct change c = { .event = e, .key = old };
	int err;

	err = e->se.hw.source->filter(&e->se.hw, filter, &c.key, &c.match);
	if (err || !c.match)
		return err;
	if (e->family)
		kpmu_family_walk(e, change_root, change_child, &c);
	else
		change_root(e, &c);
	e->se.hw.source->unfilter(old);
	return 0;
}

/**
 * kpmu_event_filter() - set a filter: PERF_EVENT_IOC_SET_FILTER
 * @e: the event
 * @filter: the filter, in ftrace's grammar
 *
 * Context: task, may sleep.  perf_event_open(2), "perf_event ioctl calls".
 * Return: 0; -EINVAL if the event cannot have one, or if it is invalid; -EEXIST if
 * there is one; -ENOMEM; -ENODEV if the tracepoint's perf events are gone; -EOPNOTSUPP
 * if the kernel's filters cannot be accessed.
 */
int kpmu_event_filter(struct kpmu_event *e, char *filter)
{
	int err;

	if (!e->se.hw.source->filter)
		return -EINVAL;
	lock_changes(e);
	err = set_filter(e, filter);
	unlock_changes(e);
	return err;
}

/**
 * kpmu_event_attach_program() - attach a BPF program
 * @e: the event
 * @prog: the program; on success the event takes the caller's reference
 * @cookie: for bpf_get_attach_cookie()
 *
 * Context: task, may sleep.
 * Return: 0; see kpmu_program_set(), and kpmu_native_set_bpf() for tracepoints and probes; another error
 * of the source.
 */
int kpmu_event_attach_program(struct kpmu_event *e, struct bpf_prog *prog, u64 cookie)
{
	const struct kpmu_source *source = e->se.hw.source;
	int err;

	lock_changes(e);
	if (source->set_bpf)
		err = source->set_bpf(&e->se.hw, prog, cookie);
	else
		err = kpmu_program_set(e, prog, cookie);
	unlock_changes(e);
	return err;
}

/**
 * kpmu_event_detach_program() - undo kpmu_event_attach_program()
 * @e: the event
 *
 * Context: task, may sleep.
 */
void kpmu_event_detach_program(struct kpmu_event *e)
{
	const struct kpmu_source *source = e->se.hw.source;

	lock_changes(e);
	if (source->set_bpf)
		source->unset_bpf(&e->se.hw);
	else
		kpmu_program_unset(e);
	unlock_changes(e);
}

/**
 * kpmu_event_set_bpf() - attach a BPF program: PERF_EVENT_IOC_SET_BPF
 * @e: the event
 * @fd: fd of the program
 *
 * Context: task, may sleep.
 * Return: see kpmu_native_program() and kpmu_event_attach_program().
 */
int kpmu_event_set_bpf(struct kpmu_event *e, int fd)
{
	struct bpf_prog *prog = kpmu_native_program(fd);
	int err;

	if (IS_ERR(prog))
		return PTR_ERR(prog);
	err = kpmu_event_attach_program(e, prog, 0);
	if (err)
		bpf_prog_put(prog);
	return err;
}

/**
 * kpmu_event_query_bpf() - list the BPF programs: PERF_EVENT_IOC_QUERY_BPF
 * @e: the event
 * @query: the caller's struct perf_event_query_bpf
 *
 * Context: task, may sleep.
 * Return: see kpmu_native_query_bpf(); -EPERM without CAP_PERFMON; -EINVAL if the event
 * is not a tracepoint.
 */
int kpmu_event_query_bpf(struct kpmu_event *e, void __user *query)
{
	int err;

	if (!perfmon_capable())
		return -EPERM;
	if (!e->se.hw.source->query_bpf)
		return -EINVAL;
	lock_changes(e);
	err = e->se.hw.source->query_bpf(&e->se.hw, query);
	unlock_changes(e);
	return err;
}

/**
 * kpmu_event_modify() - move a breakpoint: PERF_EVENT_IOC_MODIFY_ATTRIBUTES
 * @e: the event
 * @attr: the new attr, checked for KPMU_ATTR_SHAPE
 *
 * On success the event is also enabled or disabled according to @attr, as by the
 * kernel's perf.
 *
 * Context: task, may sleep.
 * Return: 0; -EOPNOTSUPP if the event is not a breakpoint; -EINVAL for a change of anything but the
 * breakpoint; an error of the kernel for an invalid one.
 */
int kpmu_event_modify(struct kpmu_event *e, const struct kpmu_attr *attr)
{
	bool off = attr->flags & KPMU_ATTR_DISABLED;
	int err;

	if (attr->type != e->type)
		return -EINVAL;
	if (!e->se.hw.source->modify)
		return -EOPNOTSUPP;
	lock_changes(e);
	err = e->se.hw.source->modify(&e->se.hw, attr);
	if (!err)
		kpmu_event_control(e, off ? KPMU_OP_DISABLE : KPMU_OP_ENABLE,
				   false);
	unlock_changes(e);
	return err;
}
