// SPDX-License-Identifier: GPL-2.0-only
/*
 * The target of an event - a task, a CPU, or a cgroup on a CPU - and how the event
 * is attached to it.
 */
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <uapi/linux/kpmu.h>

#include "../compat/ksym.h"
#include "../event/family.h"
#include "../hooks/hooks.h"
#include "../life/life.h"
#include "../record/sample.h"
#include "../record/side_band.h"
#include "../sched/sched.h"
#include "dev.h"
#include "request.h"

/**
 * kpmu_target_search() - kpmu_target_task() for a pid other than 0
 * @r: the open; sets r->task, with a reference unless it is r->opener
 *
 * Context: task.
 * Return: 0, also if pid does not select a task; -ESRCH.
 */
int kpmu_target_search(struct kpmu_request *r)
{
	struct pid_namespace *ns;

	if (r->args->pid == -1)
		return 0;
	rcu_read_lock();
	ns = task_active_pid_ns(r->opener);
	if (ns)
		r->task = pid_task(find_pid_ns(r->args->pid, ns), PIDTYPE_PID);
	/* The requester needs no extra reference */
	if (r->task && r->task != r->opener)
		get_task_struct(r->task);
	rcu_read_unlock();
	return r->task ? 0 : -ESRCH;
}

/**
 * kpmu_target_cpu() - kpmu_target_check_cpu() for any arguments
 * @r: the open, with its task
 *
 * Context: any.
 * Return: 0; -EINVAL for an invalid CPU, or for none without a task.
 */
int kpmu_target_cpu(struct kpmu_request *r)
{
	int cpu = r->args->cpu;

	if (r->task && cpu == -1)
		return 0;
	if ((unsigned int)cpu < nr_cpu_ids)
		return 0;
	r->why = cpu == -1 ? "neither a task nor a CPU" : "no such CPU";
	return -EINVAL;
}

/* Values of a group are comparable only if all members have the same target */
static int check_request_group(struct kpmu_request *r, struct kpmu_ctx *ctx)
{
	struct kpmu_event *leader = r->leader;

	if (!leader)
		return 0;
	if (!kpmu_is_leader(&leader->se)) {
		r->why = "group_fd is not a group leader";
		return -EINVAL;
	}
	if (leader->se.cpu != r->args->cpu || leader->se.ctx->task != ctx->task ||
	    leader->se.ctx->css != ctx->css) {
		r->why = "group_fd counts for another task, cgroup or CPU";
		return -EINVAL;
	}
	return 0;
}

/* The hooks that an event needs: a bit for each of enum kpmu_lazy */
static u32 hooks_needed(const struct kpmu_event *e, bool of_task, bool of_cgroup)
{
	u32 hooks = kpmu_side_needs(e->se.flags);

	if (of_task || of_cgroup || e->se.hw.switches)
		hooks |= BIT(KPMU_LAZY_SWITCH);
	if (of_task && e->se.flags & KPMU_ATTR_INHERIT)
		hooks |= BIT(KPMU_LAZY_FORK);
	return hooks;
}

static_assert(KPMU_NR_LAZY <= 16);	/* bits of kpmu_event.hooks */

/* A CPU event that joins a group of a cgroup counts for the cgroup */
static bool is_of_cgroup(const struct kpmu_request *r)
{
	return r->css || (!r->task && r->leader && r->leader->se.ctx->css);
}

#define ON_EXEC	(KPMU_ATTR_ENABLE_ON_EXEC | KPMU_ATTR_REMOVE_ON_EXEC)

static __always_inline int get_hooks(struct kpmu_request *r)
{
	u64 flags = r->attr.flags;
	int err;

	if ((r->task || flags & ON_EXEC) && !kpmu_hooks_see_tasks()) {
		r->why = "hooks on exec and exit do not work: is kernel.ftrace_enabled off?";
		return -EOPNOTSUPP;
	}
	if (kpmu_has_chains(r->event)) {
		err = kpmu_chains_get();
		if (err)
			return err;
	}
	r->event->hooks = hooks_needed(r->event, r->task, is_of_cgroup(r));
	err = kpmu_hooks_get(r->event->hooks);
	if (err) {
		if (kpmu_has_chains(r->event))
			kpmu_chains_put();
		r->why = "a hook that the event needs does not exist on this kernel";
		return err;
	}
	kpmu_side_count(flags, 1);
	if (unlikely(flags & KPMU_ATTR_ADMITTED)) {
		kpmu_strict_begin(flags);
		kpmu_reservation_get(flags);
	}
	if (!r->task || !(flags & KPMU_ATTR_INHERIT))
		return 0;
	err = kpmu_family_new(r->event, r->leader);
	if (err) {
		kpmu_event_unhook(r->event);
		kpmu_hooks_put_later();
	}
	return err;
}

/* The context of the target, held */
static struct kpmu_ctx *find_ctx(struct kpmu_request *r)
{
	struct kpmu_ctx *ctx;

	if (r->task)
		return kpmu_ctx_of_task(r->task);
	if (r->css)
		return kpmu_ctx_of_cgroup(r->css, r->args->cpu);
	ctx = is_of_cgroup(r) ?
		r->leader->se.ctx : &per_cpu(kpmu_cpu, r->args->cpu).ctx;
	kpmu_ctx_get(ctx);
	return ctx;
}

static int keep_branches(const struct kpmu_event *e, struct kpmu_ctx *ctx)
{
	if (!ctx->task || !(e->se.hw.branches & KPMU_BRANCHES_KEPT))
		return 0;
	return kpmu_ctx_keep_branches(ctx, GFP_KERNEL);
}

/* The group may have to be admitted: nothing else is until it is attached */
static int admit_and_attach(struct kpmu_request *r, struct kpmu_ctx *ctx)
{
	struct kpmu_entity *leader = r->leader ? &r->leader->se : NULL;
	int err;

	if (likely(!((leader ?: &r->event->se)->flags & (KPMU_ATTR_STRICT | KPMU_ATTR_PINNED)) ||
		   !kpmu_strict_asks(&r->event->se, leader)))
		return kpmu_event_attach(r->event, ctx, r->leader, &r->why);
	err = kpmu_strict_lock();
	if (err)
		return err;
	err = kpmu_strict_admit(&r->event->se, ctx, leader, &r->why) ?:
	      kpmu_event_attach(r->event, ctx, r->leader, &r->why);
	kpmu_strict_unlock();
	return err;
}

static noinline int attach_request(struct kpmu_request *r)
{
	struct kpmu_ctx *ctx;
	int err;

	err = get_hooks(r);
	if (err)
		return err;
	do {
		ctx = find_ctx(r);
		if (IS_ERR(ctx)) {
			err = PTR_ERR(ctx);
			break;
		}
		/* On success the event takes over the reference */
		err = check_request_group(r, ctx) ?: keep_branches(r->event, ctx) ?:
		      admit_and_attach(r, ctx);
		if (err)
			kpmu_ctx_put(ctx);
		if (err == -EAGAIN)
			cond_resched();
	} while (err == -EAGAIN);
	if (err) {
		kpmu_event_unhook(r->event);
		kpmu_hooks_put_later();
	}
	return err;
}

/* Claim the hardware; only called after permission was granted */
static int take_hardware(struct kpmu_request *r)
{
	return kpmu_event_take(r->event, &r->target, &r->why);
}

static int permit_locked(struct kpmu_request *r, struct rw_semaphore *lock)
{
	int err = down_read_interruptible(lock);

	if (err)
		return err;
	err = kpmu_dev_permit_task(&r->attr, r->task, r->opener, &r->why);
	if (err)
		up_read(lock);
	return err;
}

static noinline int attach_to_task(struct kpmu_request *r)
{
	struct rw_semaphore *lock = &r->task->signal->exec_update_lock;
	int err;

	/* Hold off an exec, which may raise the task's privileges, from check to attach */
	err = permit_locked(r, lock);
	if (err)
		return err;
	if (r->event->se.hw.source->waits) {
		/* Do not make an exec of the task wait meanwhile; check again afterwards */
		up_read(lock);
		err = take_hardware(r) ?: permit_locked(r, lock);
		if (err)
			return err;
	} else {
		err = take_hardware(r);
	}
	if (!err)
		err = attach_request(r);
	up_read(lock);
	return err;
}

/**
 * kpmu_target_css() - look up the cgroup that is the target
 * @r: the open, with PERF_FLAG_PID_CGROUP; sets .css, which kpmu_target_put() puts
 *
 * Context: task, may sleep.
 * Return: 0; an error of kpmu_css_of_fd().
 */
int kpmu_target_css(struct kpmu_request *r)
{
	struct cgroup_subsys_state *css;

	css = kpmu_css_of_fd(r->args->pid);
	if (IS_ERR(css)) {
		r->why = "pid is not an fd of a cgroup directory";
		return PTR_ERR(css);
	}
	r->css = css;
	return 0;
}

static noinline int attach_to_cpu(struct kpmu_request *r)
{
	return kpmu_permit(KPMU_PERMIT_CPU, &r->attr, NULL, &r->why) ?:
	       take_hardware(r) ?: attach_request(r);
}

/**
 * kpmu_target_attach() - attach the event to its target
 * @r: the open, with an event
 *
 * Permission for the target is checked first, then the event claims its hardware.
 *
 * Context: task, may sleep.
 * Return: 0; an errno of perf_event_open(2).
 */
int kpmu_target_attach(struct kpmu_request *r)
{
	/* A task may always monitor itself, and is not in exec here */
	if (likely(r->task == current && r->opener == current))
		return take_hardware(r) ?: attach_request(r);
	return r->task ? attach_to_task(r) : attach_to_cpu(r);
}

/**
 * kpmu_target_drop() - kpmu_target_put() for a target with a reference
 * @r: the open, completed
 *
 * Context: task.
 */
void kpmu_target_drop(struct kpmu_request *r)
{
	if (r->task && r->task != r->opener)
		put_task_struct(r->task);
	if (r->css)
		css_put(r->css);
}
