// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening events on behalf of other tasks: KPMU_IOC_OPEN_FOR.  A supervisor serves
 * the system call of a task, with the same result as if the task had opened the
 * event itself.
 *
 * The supervisor gets the fd, so it must be entitled to it: a process that may attach
 * to the task with ptrace(2) could make it open the event and take the fd.  All other
 * checks are done with the task's credentials in place of the supervisor's.  The few
 * checks that look at current itself are replaced here, or the open is refused.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <uapi/linux/kpmu.h>

#include "../compat/ksym.h"
#include "../event/event.h"
#include "dev.h"

/* Check whether current, with its present credentials, may act for a task */
static int may_serve(struct task_struct *who)
{
	bool known, ok;

	ok = kpmu_ptrace_may_attach(who, &known);
	if (!known)
		ok = same_thread_group(who, current);
	return ok ? 0 : -EPERM;
}

/* The same while acting for the task: checks the supervisor's own credentials */
static int may_still_serve(struct task_struct *who)
{
	const struct cred *cred = override_creds(current_real_cred());
	int err = may_serve(who);

	revert_creds(cred);
	return err;
}

/**
 * kpmu_dev_permit_task() - check the permission for an event on a task
 * @attr: attr of the event
 * @task: the target; its signal->exec_update_lock is held
 * @who: the task that opens the event; current runs with its credentials
 * @why: set to the reason for an error
 *
 * Context: task, may sleep.
 * Return: 0, or an errno of perf_event_open(2).
 */
int kpmu_dev_permit_task(const struct kpmu_attr *attr, struct task_struct *task,
			 struct task_struct *who, const char **why)
{
	if (who == current)
		return kpmu_permit(KPMU_PERMIT_TASK, attr, task, why);
	/* A task may always monitor its own threads, but an exec may have changed it */
	if (same_thread_group(task, who)) {
		*why = "the task that asks is not the supervisor's any more";
		return may_still_serve(who);
	}
	/*
	 * The kernel's check would treat current, the supervisor, as the observer: it
	 * lets a process observe itself, and attaching (for sigtrap) may depend on which
	 * process is an ancestor of which.
	 */
	if (same_thread_group(task, current) ||
	    attr->flags & KPMU_ATTR_SIGTRAP) {
		*why = "not on behalf of another task";
		return -EACCES;
	}
	return kpmu_permit(KPMU_PERMIT_TASK, attr, task, why);
}

/* Get the credentials of a task if current may act for it */
static const struct cred *admit(struct task_struct *who)
{
	struct rw_semaphore *lock = &who->signal->exec_update_lock;
	const struct cred *cred;
	int err;

	err = down_read_interruptible(lock);
	if (err)
		return ERR_PTR(err);
	err = may_serve(who);
	cred = err ? ERR_PTR(err) : get_task_cred(who);
	up_read(lock);
	return cred;
}

/**
 * kpmu_dev_open_for() - open an event for another task: KPMU_IOC_OPEN_FOR
 * @args: the arguments
 * @why: set to the reason for an error, a string literal
 *
 * Context: task, may sleep.
 * Return: the new fd, of current; -ESRCH, -EPERM, or an errno of
 * perf_event_open(2).
 */
long kpmu_dev_open_for(const struct kpmu_open_for *args, const char **why)
{
	const struct cred *cred, *own;
	struct task_struct *who;
	long ret;

	rcu_read_lock();
	who = pid_task(find_vpid(args->tid), PIDTYPE_PID);
	if (who)
		get_task_struct(who);
	rcu_read_unlock();
	if (!who)
		return -ESRCH;
	cred = admit(who);
	if (IS_ERR(cred)) {
		*why = "not allowed to attach to the task that asks";
		ret = PTR_ERR(cred);
		goto out;
	}
	own = override_creds(cred);
	ret = kpmu_dev_open_event(&args->open, who, why);
	revert_creds(own);
	put_cred(cred);
out:
	put_task_struct(who);
	return ret;
}
