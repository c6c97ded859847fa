// SPDX-License-Identifier: GPL-2.0-only
/*
 * Permission checks of perf_event_open(2).  The mode of /dev/kpmu can only restrict
 * access further, never grant it.  perf_event_open(2), "perf_event related
 * configuration files" and "ERRORS".
 */
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/perf_event.h>
#include <linux/sched/signal.h>
#include <linux/security.h>

#include "../compat/ksym.h"
#include "event.h"

int kpmu_sysctl_paranoid = 2;

#define PLM_KERNEL_HV	(BIT_ULL(1) | BIT_ULL(2))
#define EXCLUDE_KERNEL_HV (KPMU_ATTR_EXCLUDE_KERNEL | KPMU_ATTR_EXCLUDE_HV)

/**
 * kpmu_paranoid() - the perf_event_paranoid level in force
 *
 * Context: any.
 * Return: the stricter of kpmu's level and the kernel's.
 */
int kpmu_paranoid(void)
{
	return max(READ_ONCE(kpmu_sysctl_paranoid), kpmu_native_paranoid());
}

/* @admin: CAP_SYS_ADMIN, which includes CAP_PERFMON, was already checked */
static int permit_kernel(const struct kpmu_attr *attr, bool admin,
			 const char **why)
{
	if (!admin && kpmu_paranoid() > 1 && !perfmon_capable()) {
		*why = "counting the kernel needs CAP_PERFMON at this paranoid level";
		return -EACCES;
	}
	return kpmu_lsm_open(PERF_SECURITY_KERNEL, attr->type, attr->config);
}

static int permit_cpu(const struct kpmu_attr *attr, const char **why)
{
	if (kpmu_paranoid() > 0 && !perfmon_capable()) {
		*why = "events on a CPU need CAP_PERFMON at this paranoid level";
		return -EACCES;
	}
	return kpmu_lsm_open(PERF_SECURITY_CPU, attr->type, attr->config);
}

static int permit_raw(const struct kpmu_attr *attr, const char **why)
{
	if (kpmu_paranoid() > -1 && !perfmon_capable()) {
		*why = "raw tracepoint records need CAP_PERFMON at this paranoid level";
		return -EPERM;
	}
	return kpmu_lsm_open(PERF_SECURITY_TRACEPOINT, attr->type, attr->config);
}

/* Takes counters from all others, so the paranoid level does not matter */
static int permit_reserve(const char **why)
{
	if (!perfmon_capable()) {
		*why = "setting counters aside needs CAP_PERFMON";
		return -EACCES;
	}
	return kpmu_lsm_open(PERF_SECURITY_CPU, PERF_TYPE_HARDWARE, 0);
}

/* Without a privilege level of their own, branches are recorded at the event's levels */
static bool branches_of_kernel(const struct kpmu_attr *attr)
{
	if (attr->branch_sample_type & KPMU_BRANCH_PLM)
		return attr->branch_sample_type & PLM_KERNEL_HV;
	return (attr->flags & EXCLUDE_KERNEL_HV) != EXCLUDE_KERNEL_HV;
}

static bool sees_kernel(const struct kpmu_attr *attr)
{
	if (!(attr->flags & KPMU_ATTR_EXCLUDE_KERNEL) ||
	    attr->flags & KPMU_ATTR_TEXT_POKE)
		return true;
	if (attr->sample_type & KPMU_SAMPLE_CALLCHAIN &&
	    !(attr->flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_KERNEL))
		return true;
	return attr->sample_type & KPMU_SAMPLE_BRANCH_STACK && branches_of_kernel(attr);
}

static int permit_open(const struct kpmu_attr *attr, const char **why)
{
	bool admin = false;
	int err;

	/* Level 3, known from Debian: nothing without CAP_SYS_ADMIN */
	if (kpmu_paranoid() > 2) {
		if (!capable(CAP_SYS_ADMIN)) {
			*why = "perf_event_paranoid is above 2";
			return -EACCES;
		}
		admin = true;
	}
	err = kpmu_lsm_open(PERF_SECURITY_OPEN, attr->type, attr->config);
	if (err)
		return err;
	if (sees_kernel(attr)) {
		err = permit_kernel(attr, admin, why);
		if (err)
			return err;
	}
	if (attr->flags & KPMU_ATTR_NAMESPACES && !perfmon_capable()) {
		*why = "namespaces needs CAP_PERFMON";
		return -EACCES;
	}
	return 0;
}

static int permit_data(const struct kpmu_attr *attr, const char **why)
{
	int err = 0;

	if (attr->sample_type & KPMU_SAMPLE_PHYS_ADDR)
		err = permit_kernel(attr, false, why);
	if (!err && attr->sample_type & KPMU_SAMPLE_REGS_INTR)
		err = security_locked_down(LOCKDOWN_PERF);
	return err;
}

static bool may_kill(struct task_struct *task)
{
	bool ok;

	rcu_read_lock();
	ok = ns_capable(__task_cred(task)->user_ns, CAP_KILL);
	rcu_read_unlock();
	return ok;
}

static noinline int permit_task(const struct kpmu_attr *attr, struct task_struct *task,
		       const char **why)
{
	bool sigtrap = attr->flags & KPMU_ATTR_SIGTRAP;
	bool known, ok;

	if (perfmon_capable() && (!sigtrap || may_kill(task)))
		return 0;
	ok = sigtrap ? kpmu_ptrace_may_attach(task, &known) :
		       kpmu_ptrace_may_read(task, &known);
	if (!known)
		ok = same_thread_group(task, current);
	if (ok)
		return 0;
	*why = "no permission to observe that task";
	return -EACCES;
}

/**
 * kpmu_permit() - check whether current may do something
 * @what: see enum kpmu_permit
 * @attr: the requested event, checked for shape; not used by KPMU_PERMIT_RESERVE
 * @task: KPMU_PERMIT_TASK: the target, its signal->exec_update_lock held
 * @why: set to the reason if kpmu itself refuses
 *
 * Checks paranoid level, capabilities, ptrace rules, security modules and lockdown with
 * the current credentials.  Later changes of credentials do not affect the fd.
 *
 * Context: task, may sleep.
 * Return: 0, -EACCES, -EPERM, or the error of a security module.
 */
int kpmu_permit(enum kpmu_permit what, const struct kpmu_attr *attr,
		struct task_struct *task, const char **why)
{
	switch (what) {
	case KPMU_PERMIT_OPEN:
		return permit_open(attr, why);
	case KPMU_PERMIT_DATA:
		return permit_data(attr, why);
	case KPMU_PERMIT_CPU:
		return permit_cpu(attr, why);
	case KPMU_PERMIT_RAW:
		return permit_raw(attr, why);
	case KPMU_PERMIT_RESERVE:
		return permit_reserve(why);
	default:
		lockdep_assert_held(&task->signal->exec_update_lock);
		return permit_task(attr, task, why);
	}
}
