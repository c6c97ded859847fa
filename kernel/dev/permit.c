// SPDX-License-Identifier: GPL-2.0-only
/* Permission for an event on a task, also if it is opened on behalf of another task. */
#include <linux/cred.h>
#include <linux/errno.h>
#include <linux/sched/signal.h>

#include "../compat/ksym.h"
#include "../event/event.h"
#include "dev.h"

/**
 * kpmu_dev_may_serve() - check whether current, with its present credentials, may act for a task
 * @opener: the task; its signal->exec_update_lock is held
 *
 * Context: task, may sleep.
 * Return: 0 or -EPERM.
 */
int kpmu_dev_may_serve(struct task_struct *opener)
{
	bool known, ok;

	ok = kpmu_ptrace_may_attach(opener, &known);
	if (!known)
		ok = same_thread_group(opener, current);
	return ok ? 0 : -EPERM;
}

/* The same while acting for the task: checks the supervisor's own credentials */
static int may_still_serve(struct task_struct *opener)
{
	const struct cred *cred = override_creds(current_real_cred());
	int err = kpmu_dev_may_serve(opener);

	revert_creds(cred);
	return err;
}

/**
 * kpmu_dev_permit_task() - check the permission for an event on a task
 * @attr: attr of the event
 * @task: the target; its signal->exec_update_lock is held
 * @opener: the task that opens the event; current runs with its credentials
 * @why: set to the reason for an error
 *
 * Context: task, may sleep.
 * Return: 0, or an errno of perf_event_open(2).
 */
int kpmu_dev_permit_task(const struct kpmu_attr *attr, struct task_struct *task,
			 struct task_struct *opener, const char **why)
{
	if (opener == current)
		return kpmu_permit(KPMU_PERMIT_TASK, attr, task, why);
	/* A task may always monitor its own threads, but an exec may have changed it */
	if (same_thread_group(task, opener)) {
		*why = "the requesting task has left its seccomp supervisor";
		return may_still_serve(opener);
	}
	/*
	 * The kernel's check would treat current, the supervisor, as the observer: it
	 * lets a process observe itself, and attaching (for sigtrap) may depend on which
	 * process is an ancestor of which.
	 */
	if (same_thread_group(task, current) ||
	    attr->flags & KPMU_ATTR_SIGTRAP) {
		*why = "not allowed on behalf of another task";
		return -EACCES;
	}
	return kpmu_permit(KPMU_PERMIT_TASK, attr, task, why);
}
