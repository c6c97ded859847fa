// SPDX-License-Identifier: GPL-2.0-only
/*
 * What only the kernel's own perf can do for events of its own, which stand behind
 * some of ours.
 */
#include <linux/bpf.h>
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/rwsem.h>
#include <linux/trace_events.h>

#include "compat.h"
#include "ksym.h"

/**
 * kpmu_native_type() - attr.type of a PMU that got its number at boot
 * @pmu: the symbol of its struct pmu
 *
 * Return: the number; U32_MAX, which is no type, if there is no such PMU.
 */
u32 kpmu_native_type(enum kpmu_ksym pmu)
{
	const struct pmu *p = kpmu_ksym_data(pmu);

	return p ? p->type : U32_MAX;
}

/**
 * kpmu_native_filter() - give an event of the kernel's perf a filter
 * @event: the event, of a tracepoint or a probe
 * @id: of the tracepoint
 * @filter: in ftrace's grammar
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL for a bad filter, -EEXIST if it has one, -ENOMEM; -EOPNOTSUPP
 * if the kernel's function cannot be reached.
 */
int kpmu_native_filter(struct perf_event *event, u64 id, char *filter)
{
	if (!kpmu_ksym_has(KSYM_ftrace_profile_set_filter))
		return -EOPNOTSUPP;
	return kpmu_ksym_call(KSYM_ftrace_profile_set_filter,
			      (unsigned long)event, id, (unsigned long)filter, 0);
}

/**
 * kpmu_tracepoint_is_open() - may everybody see its records of his own tasks?
 * @id: the tracepoint's
 *
 * Context: task, may sleep.
 * Return: false also if that cannot be found out.
 */
bool kpmu_tracepoint_is_open(u64 id)
{
	struct rw_semaphore *sem = kpmu_ksym_data(KSYM_trace_event_sem);
	struct trace_event *event;
	bool open;

	if (!sem || !kpmu_ksym_has(KSYM_ftrace_find_event))
		return false;
	down_read(sem);
	event = (void *)kpmu_ksym_call(KSYM_ftrace_find_event, id, 0, 0, 0);
	open = event && container_of(event, struct trace_event_call,
				     event)->flags & TRACE_EVENT_FL_CAP_ANY;
	up_read(sem);
	return open;
}

/**
 * kpmu_native_set_bpf() - run a BPF program at each hit of an event
 * @event: an event of the kernel's perf, of a tracepoint or a probe; NULL for
 *	an event of ours that has none
 * @fd: the program's
 *
 * Context: task, may sleep.  perf_event_open(2), PERF_EVENT_IOC_SET_BPF.
 * Return: 0; -EBADF, -EINVAL for an fd or a program that will not do, -EEXIST;
 * -EOPNOTSUPP for a program that only the kernel's own events can run.
 */
int kpmu_native_set_bpf(struct perf_event *event, int fd)
{
	struct bpf_prog *prog;
	int err;

	if (!kpmu_ksym_has(KSYM_bpf_prog_get) ||
	    !kpmu_ksym_has(KSYM_perf_event_set_bpf_prog))
		return -EOPNOTSUPP;
	prog = (void *)kpmu_ksym_call(KSYM_bpf_prog_get, fd, 0, 0, 0);
	if (IS_ERR(prog))
		return PTR_ERR(prog);
	if (event)
		err = kpmu_ksym_call(KSYM_perf_event_set_bpf_prog,
				     (unsigned long)event, (unsigned long)prog,
				     0, 0);
	else
		err = prog->type == BPF_PROG_TYPE_PERF_EVENT ?
			-EOPNOTSUPP : -EINVAL;
	if (err)
		bpf_prog_put(prog);
	return err;
}

/**
 * kpmu_native_query_bpf() - which programs a tracepoint runs
 * @event: an event of the kernel's perf, of the tracepoint
 * @query: the caller's struct perf_event_query_bpf
 *
 * Context: task, may sleep.  perf_event_open(2), PERF_EVENT_IOC_QUERY_BPF.
 * Return: 0; -EPERM, -EINVAL, -E2BIG, -ENOSPC, -EFAULT, -ENOMEM; -EOPNOTSUPP if the
 * kernel's function cannot be reached.
 */
int kpmu_native_query_bpf(struct perf_event *event, void __user *query)
{
	if (!kpmu_ksym_has(KSYM_perf_event_query_prog_array))
		return -EOPNOTSUPP;
	return kpmu_ksym_call(KSYM_perf_event_query_prog_array,
			      (unsigned long)event, (unsigned long)query, 0, 0);
}
