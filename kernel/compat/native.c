// SPDX-License-Identifier: GPL-2.0-only
/*
 * What only the kernel's own perf can do for events of its own, which stand behind
 * some of ours.
 */
#include <linux/bpf.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>
#include <trace/syscall.h>

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
 * kpmu_tracepoints_open() - can a probe that takes no arguments count hits here?
 *
 * Context: any.
 */
bool kpmu_tracepoints_open(void)
{
	/* With CFI a call checks that the function has the very type */
	return !IS_ENABLED(CONFIG_CFI) && !IS_ENABLED(CONFIG_CFI_CLANG);
}

/*
 * What ftrace has of a tracepoint.  ftrace_find_event() would be faster, but it also
 * knows the output events of ftrace itself, which are not part of such a structure.
 */
static const struct trace_event_call *find_call(u64 id, struct mutex *held)
{
	const struct list_head *calls = kpmu_ksym_data(KSYM_ftrace_events);
	const struct trace_event_call *call;

	lockdep_assert_held(held);
	list_for_each_entry(call, calls, list)
		if (call->event.type == id && call->class && call->class->reg)
			return call;
	return NULL;
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
	struct mutex *lock = kpmu_ksym_data(KSYM_event_mutex);
	const struct trace_event_call *call;
	bool open;

	if (!lock || !kpmu_ksym_has(KSYM_ftrace_events))
		return false;
	mutex_lock(lock);
	call = find_call(id, lock);
	open = call && call->flags & TRACE_EVENT_FL_CAP_ANY;
	mutex_unlock(lock);
	return open;
}

/* These tell of a time at each hit, which is what is to be counted */
static bool counts_more(const struct tracepoint *tp)
{
	return !strncmp(tp->name, "sched_stat_", strlen("sched_stat_"));
}

static bool is_syscall(const struct trace_event_call *call)
{
	return call->class && call->class->system &&
	       !strcmp(call->class->system, "syscalls") && call->data;
}

static bool describe(const struct trace_event_call *call, struct kpmu_tracepoint *t)
{
	const struct syscall_metadata *meta;

	*t = (struct kpmu_tracepoint){ };
	if (call->flags & TRACE_EVENT_FL_DYNAMIC)
		return false;
	if (call->flags & TRACE_EVENT_FL_TRACEPOINT) {
		t->tp = call->tp;
		t->module = call->module;
		return !counts_more(call->tp);
	}
	if (!is_syscall(call))
		return false;
	meta = call->data;
	t->syscall = meta->syscall_nr;
	t->exit = call == meta->exit_event;
	return t->syscall >= 0 && (t->exit || call == meta->enter_event);
}

/**
 * kpmu_tracepoint_find() - the tracepoint of an event, for a probe that takes no arguments
 * @event: an event of the kernel's perf, which keeps the tracepoint's module until the
 *	caller has taken a reference of its own
 * @t: filled in
 *
 * Context: any.
 * Return: false if it is none that such a probe could count: a kprobe, ftrace:function,
 * one whose hits count for more than one; or if that cannot be found out.
 */
bool kpmu_tracepoint_find(const struct perf_event *event,
			  struct kpmu_tracepoint *t)
{
	return kpmu_tracepoints_open() && describe(event->tp_event, t);
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
