// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening an event: the arguments of perf_event_open(2), checked in the order in
 * which the kernel's own perf checks them, so that the first error is the same.
 */
#include <linux/anon_inodes.h>
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/limits.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <uapi/linux/kpmu.h>

#include "../compat/ksym.h"
#include "../event/event.h"
#include "../event/family.h"
#include "../event/rate.h"
#include "../event/sampling.h"
#include "../hooks/hooks.h"
#include "../record/sample.h"
#include "../sched/sched.h"
#include "../trace/kpmu_trace.h"
#include "dev.h"

#define FLAGS_ALL	(PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | \
			 PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)


/* An open on its way; @who is the task that asks, mostly current */
struct request {
	const struct kpmu_open *args;
	struct task_struct *who;
	struct kpmu_attr attr;
	bool plain;
	struct file *group_file;
	struct kpmu_event *leader;
	struct kpmu_event *output;
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	struct kpmu_event *event;
	int fd;
	u64 id;
	const char *why;
};

static int check_rules(struct request *r, enum kpmu_attr_phase phase)
{
	const struct kpmu_attr_limits limits = {
		.max_stack = KPMU_MAX_STACK,
		.max_rate = READ_ONCE(kpmu_sysctl_max_rate),
	};

	return r->plain ? 0 : kpmu_attr_check(&r->attr, &limits, phase, &r->why);
}

static int check_attr(struct request *r)
{
	int err;

	err = kpmu_attr_copy(&r->attr, u64_to_user_ptr(r->args->attr));
	if (err)
		return err;
	r->plain = kpmu_attr_is_plain(&r->attr);
	return check_rules(r, KPMU_ATTR_SHAPE) ?:
	       kpmu_permit(KPMU_PERMIT_OPEN, &r->attr, NULL, &r->why) ?:
	       check_rules(r, KPMU_ATTR_LIMITS);
}

static int find_leader(struct request *r)
{
	if (r->args->group_fd == -1)
		return 0;
	r->group_file = fget(r->args->group_fd);
	if (!r->group_file)
		return -EBADF;
	r->leader = kpmu_event_of_file(r->group_file);
	if (!r->leader) {
		r->why = "group_fd is not an event of kpmu";
		return -EBADF;
	}
	if (!READ_ONCE(r->leader->attached)) {
		r->why = "the group leader's task is gone";
		return -ENODEV;
	}
	if (r->args->flags & PERF_FLAG_FD_OUTPUT)
		r->output = r->leader;
	if (r->args->flags & PERF_FLAG_FD_NO_GROUP)
		r->leader = NULL;
	return 0;
}

static int find_task(struct request *r)
{
	struct pid_namespace *ns;

	if (r->args->pid == -1 || r->args->flags & PERF_FLAG_PID_CGROUP)
		return 0;
	if (!r->args->pid) {
		r->task = r->who;
		return 0;
	}
	rcu_read_lock();
	ns = task_active_pid_ns(r->who);
	if (ns)
		r->task = pid_task(find_pid_ns(r->args->pid, ns), PIDTYPE_PID);
	if (r->task)
		get_task_struct(r->task);
	rcu_read_unlock();
	return r->task ? 0 : -ESRCH;
}

/* What one group counts must not be more tasks than what the other does */
static int check_inherit(struct request *r)
{
	if (!r->task || !r->leader ||
	    !((r->leader->flags ^ r->attr.flags) & KPMU_ATTR_INHERIT))
		return 0;
	r->why = "inherit must be the same in all of a group";
	return -EINVAL;
}

static int check_cpu(struct request *r)
{
	int cpu = r->args->cpu;

	if (r->task && cpu == -1)
		return 0;
	if ((unsigned int)cpu < nr_cpu_ids)
		return 0;
	r->why = r->task ? "no such CPU" : "neither a task nor a CPU";
	return -EINVAL;
}

/* Both must be about the same thing for their values to be comparable */
static int check_group(struct request *r, struct kpmu_ctx *ctx)
{
	struct kpmu_event *leader = r->leader;

	if (!leader)
		return 0;
	if (!kpmu_is_leader(leader)) {
		r->why = "group_fd is not a group leader";
		return -EINVAL;
	}
	if (leader->cpu != r->args->cpu || leader->ctx->task != ctx->task ||
	    leader->ctx->css != ctx->css) {
		r->why = "group_fd counts for another task, cgroup or CPU";
		return -EINVAL;
	}
	return 0;
}

static void unhook(struct kpmu_event *e, bool switches)
{
	if (switches)
		kpmu_hooks_put(KPMU_LAZY_SWITCH);
	if (e->family)
		kpmu_hooks_put(KPMU_LAZY_FORK);
}

/**
 * kpmu_event_unhook() - give back the hooks an event needed
 * @e: the event, attached once
 *
 * Context: task; kpmu_hooks_linger() must follow.
 */
void kpmu_event_unhook(struct kpmu_event *e)
{
	unhook(e, e->ctx->task || e->ctx->css);
}

#define ON_EXEC	(KPMU_ATTR_ENABLE_ON_EXEC | KPMU_ATTR_REMOVE_ON_EXEC)

static int get_hooks(struct request *r)
{
	bool inherit = r->task && r->attr.flags & KPMU_ATTR_INHERIT;
	int err;

	if (r->attr.flags & ON_EXEC && !kpmu_hooks_see_exec()) {
		r->why = "exec cannot be seen on this kernel";
		return -EOPNOTSUPP;
	}
	if (r->attr.sample_type & KPMU_SAMPLE_CALLCHAIN) {
		err = kpmu_chains_get();
		if (err)
			return err;
	}
	if (!r->task && !r->css)
		return 0;
	err = kpmu_hooks_get(KPMU_LAZY_SWITCH);
	if (err) {
		r->why = "task switches cannot be seen on this kernel";
		return err;
	}
	if (!inherit)
		return 0;
	err = kpmu_hooks_get(KPMU_LAZY_FORK);
	if (!err) {
		err = kpmu_family_new(r->event, r->leader);
		if (err)
			kpmu_hooks_put(KPMU_LAZY_FORK);
	} else {
		r->why = "forks cannot be seen on this kernel";
	}
	if (err) {
		kpmu_hooks_put(KPMU_LAZY_SWITCH);
		kpmu_hooks_linger();
	}
	return err;
}

/* The context that the event is for, held */
static struct kpmu_ctx *find_ctx(struct request *r)
{
	struct kpmu_ctx *ctx;

	if (r->task)
		return kpmu_ctx_of_task(r->task);
	if (r->css)
		return kpmu_ctx_of_cgroup(r->css, r->args->cpu);
	/* A CPU's event that joins a cgroup's group counts for the cgroup */
	ctx = r->leader && r->leader->ctx->css ?
		r->leader->ctx : &per_cpu(kpmu_cpu, r->args->cpu).ctx;
	kpmu_ctx_get(ctx);
	return ctx;
}

static int attach(struct request *r)
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
		/* On success the event takes over our reference */
		err = check_group(r, ctx) ?:
		      kpmu_event_attach(r->event, ctx, r->leader, &r->why);
		if (err)
			kpmu_ctx_put(ctx);
		if (err == -EAGAIN)
			cond_resched();
	} while (err == -EAGAIN);
	if (err) {
		unhook(r->event, r->task || r->css);
		kpmu_hooks_linger();
	}
	return err;
}

static int attach_to_task(struct request *r)
{
	struct rw_semaphore *lock = &r->task->signal->exec_update_lock;
	int err;

	/* Oneself one may always watch, and is not becoming somebody else */
	if (r->task == current && r->who == current)
		return attach(r);
	/* What another task may become by exec must not slip in between */
	err = down_read_interruptible(lock);
	if (err)
		return err;
	err = kpmu_dev_permit_task(&r->attr, r->task, r->who, &r->why) ?:
	      attach(r);
	up_read(lock);
	return err;
}

static int attach_to_cpu(struct request *r)
{
	if (r->args->flags & PERF_FLAG_PID_CGROUP) {
		struct cgroup_subsys_state *css = kpmu_css_of_fd(r->args->pid);

		if (IS_ERR(css)) {
			r->why = "pid is not an fd of a cgroup's folder";
			return PTR_ERR(css);
		}
		r->css = css;
	}
	return kpmu_permit(KPMU_PERMIT_CPU, &r->attr, NULL, &r->why) ?: attach(r);
}

static int make_event(struct request *r)
{
	int err;

	err = check_cpu(r);
	if (err)
		return err;
	err = check_rules(r, KPMU_ATTR_SUPPORT);
	if (err)
		return err;
	r->event = kpmu_event_alloc(&r->attr, r->args->cpu, &r->why);
	if (IS_ERR(r->event)) {
		err = PTR_ERR(r->event);
		r->event = NULL;
		return err;
	}
	if (r->who != current)
		kpmu_sampling_for(r->event, r->who);
	err = r->task ? attach_to_task(r) : attach_to_cpu(r);
	if (err) {
		kpmu_event_put(r->event);
		r->event = NULL;
	}
	return err;
}

static int redirect(struct request *r)
{
	int err;

	if (!r->output)
		return 0;
	err = kpmu_output_redirect(r->event, r->output);
	if (err) {
		r->why = "its records cannot go to the ring of group_fd";
		kpmu_event_close(r->event);
		r->event = NULL;
	}
	return err;
}

static int make_file(struct request *r)
{
	struct file *file;

	file = anon_inode_getfile("[perf_event]", &kpmu_event_fops, r->event,
				  O_RDWR);
	if (IS_ERR(file)) {
		kpmu_event_close(r->event);
		r->event = NULL;
		return PTR_ERR(file);
	}
	r->id = r->event->id;
	kpmu_owner_set(r->event, r->who);
	/* From here on the event is its fd's, which another thread may close */
	fd_install(r->fd, file);
	return 0;
}

static int with_fd(struct request *r)
{
	int flags = O_RDWR;
	int err;

	if (r->args->flags & PERF_FLAG_FD_CLOEXEC)
		flags |= O_CLOEXEC;
	r->fd = get_unused_fd_flags(flags);
	if (r->fd < 0)
		return r->fd;
	err = find_leader(r) ?: find_task(r) ?: check_inherit(r) ?:
	      make_event(r) ?: redirect(r) ?: make_file(r);
	if (err)
		put_unused_fd(r->fd);
	return err ?: r->fd;
}

static long open_event(struct request *r)
{
	const struct kpmu_open *args = r->args;
	int err;

	if (args->flags & ~(u64)FLAGS_ALL) {
		r->why = "unknown flags";
		return -EINVAL;
	}
	err = check_attr(r);
	if (err)
		return err;
	if (args->flags & PERF_FLAG_PID_CGROUP &&
	    (args->pid == -1 || args->cpu == -1)) {
		r->why = "a cgroup is watched by fd, on one CPU";
		return -EINVAL;
	}
	return with_fd(r);
}

/**
 * kpmu_dev_open_event() - what KPMU_IOC_OPEN does
 * @args: the arguments
 * @who: the task that opens the event, held; current has its credentials now
 *
 * Context: task, may sleep.
 * Return: the new fd, or an errno of perf_event_open(2).
 */
long kpmu_dev_open_event(const struct kpmu_open *args, struct task_struct *who)
{
	struct request r = { .args = args, .who = who, .why = "" };
	long ret;

	ret = open_event(&r);
	trace_kpmu_open(r.id, r.attr.type, r.attr.config, args->pid, args->cpu,
			ret, r.why);
	if (r.task && r.task != who)
		put_task_struct(r.task);
	if (r.css)
		css_put(r.css);
	if (r.group_file)
		fput(r.group_file);
	return ret;
}
