// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening for others: KPMU_IOC_OPEN_FOR.  A supervisor serves the system call of a
 * task, and the event is to be as if the task had opened it itself.
 *
 * The supervisor gets the fd first, so it must be allowed to have it: who may attach
 * to a task by ptrace(2) could make it open the event and take the fd.  All
 * further questions are asked with the task's credentials in the place of the
 * supervisor's.  The few that look at current itself are answered here, and
 * where they cannot be, the answer is no.
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

/* May current, with its credentials of this moment, act for a task? */
static int may_serve(struct task_struct *who)
{
	bool known, ok;

	ok = kpmu_ptrace_may_attach(who, &known);
	if (!known)
		ok = same_thread_group(who, current);
	return ok ? 0 : -EPERM;
}

/* The same in the middle of acting for it: with the supervisor's own again */
static int may_still_serve(struct task_struct *who)
{
	const struct cred *cred = override_creds(current_real_cred());
	int err = may_serve(who);

	revert_creds(cred);
	return err;
}

/**
 * kpmu_dev_permit_task() - may an event be about this task?
 * @attr: the event
 * @task: what it is about; its signal->exec_update_lock is held
 * @who: who opens it, current's credentials are its own
 * @why: set to the reason for a no
 *
 * Context: task, may sleep.
 * Return: 0, or an errno of perf_event_open(2).
 */
int kpmu_dev_permit_task(const struct kpmu_attr *attr, struct task_struct *task,
			 struct task_struct *who, const char **why)
{
	if (who == current)
		return kpmu_permit(KPMU_PERMIT_TASK, attr, task, why);
	/* Its own threads a task may always watch; but it may have become another */
	if (same_thread_group(task, who)) {
		*why = "the task that asks is not the supervisor's any more";
		return may_still_serve(who);
	}
	/*
	 * The kernel's check lets a process look into itself, which here is the
	 * supervisor; and who may trace whom can depend on who is whose parent.
	 */
	if (same_thread_group(task, current) ||
	    attr->flags & KPMU_ATTR_SIGTRAP) {
		*why = "not on behalf of another task";
		return -EACCES;
	}
	return kpmu_permit(KPMU_PERMIT_TASK, attr, task, why);
}

/* The credentials of a task that current may act for */
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
 * kpmu_dev_open_for() - what KPMU_IOC_OPEN_FOR does
 * @args: the arguments
 *
 * Context: task, may sleep.
 * Return: the new fd, current's; -ESRCH, -EPERM, or an errno of
 * perf_event_open(2).
 */
long kpmu_dev_open_for(const struct kpmu_open_for *args)
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
		ret = PTR_ERR(cred);
		goto out;
	}
	own = override_creds(cred);
	ret = kpmu_dev_open_event(&args->open, who);
	revert_creds(own);
	put_cred(cred);
out:
	put_task_struct(who);
	return ret;
}
