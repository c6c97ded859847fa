// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening events on behalf of other tasks: KPMU_IOC_OPEN_FOR.  A supervisor serves
 * the system call of a task, with the same result as if the task had opened the
 * event itself.
 *
 * The supervisor gets the fd, so it must be entitled to it: a process that may attach
 * to the task with ptrace(2) could make it open the event and take the fd.  All other
 * checks are done with the task's credentials in place of the supervisor's.  The few
 * checks that look at current itself are replaced in permit.c, or the open is refused.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include <uapi/linux/kpmu.h>

#include "dev.h"

/* Get the credentials of a task if current may act for it */
static const struct cred *get_cred_to_act_for(struct task_struct *opener)
{
	struct rw_semaphore *lock = &opener->signal->exec_update_lock;
	const struct cred *cred;
	int err;

	err = down_read_interruptible(lock);
	if (err)
		return ERR_PTR(err);
	err = kpmu_dev_may_serve(opener);
	cred = err ? ERR_PTR(err) : get_task_cred(opener);
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
	struct task_struct *opener;
	long ret;

	rcu_read_lock();
	opener = pid_task(find_vpid(args->tid), PIDTYPE_PID);
	if (opener)
		get_task_struct(opener);
	rcu_read_unlock();
	if (!opener)
		return -ESRCH;
	cred = get_cred_to_act_for(opener);
	if (IS_ERR(cred)) {
		*why = "not allowed to attach to the requesting task";
		ret = PTR_ERR(cred);
		goto out;
	}
	own = override_creds(cred);
	ret = kpmu_dev_open_event(&args->open, opener, 0, why);
	revert_creds(own);
	put_cred(cred);
out:
	put_task_struct(opener);
	return ret;
}
