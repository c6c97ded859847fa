// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of the kernel's own perf on its events ("native" events here).
 * Some kpmu events are backed by one.
 */
#include <linux/bpf.h>
#include <linux/device.h>
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
 * kpmu_native_type() - attr.type of a PMU whose type is assigned at boot
 * @pmu: the symbol of its struct pmu
 *
 * Context: any.
 * Return: the type; U32_MAX, which is not a valid one, if there is no such PMU.
 */
u32 kpmu_native_type(enum kpmu_ksym pmu)
{
	const struct pmu *p = kpmu_ksym_data(pmu);

	return p ? p->type : U32_MAX;
}

/**
 * kpmu_native_named_type() - attr.type of a PMU of native perf
 * @name: its name in sysfs
 *
 * Context: task, may sleep.
 * Return: the type; U32_MAX, which is not a valid one, if there is no such PMU.
 */
u32 kpmu_native_named_type(const char *name)
{
	struct bus_type *bus = kpmu_ksym_data(KSYM_pmu_bus);
	struct device *dev = bus ? bus_find_device_by_name(bus, NULL, name) : NULL;
	const struct pmu *p;
	u32 type = U32_MAX;

	if (!dev)
		return type;
	p = dev_get_drvdata(dev);
	if (p)
		type = p->type;
	put_device(dev);
	return type;
}

/**
 * kpmu_native_filter() - set the filter of a native event
 * @event: the event, of a tracepoint or a probe
 * @id: tracepoint id; 0 for a probe
 * @filter: in ftrace's filter syntax
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL for a bad filter, -EEXIST if the event has one, -ENOMEM;
 * -EOPNOTSUPP if the kernel's function was not found.
 */
int kpmu_native_filter(struct perf_event *event, u64 id, char *filter)
{
	if (!kpmu_ksym_has(KSYM_ftrace_profile_set_filter))
		return -EOPNOTSUPP;
	return kpmu_ksym_call(KSYM_ftrace_profile_set_filter,
			      (unsigned long)event, id, (unsigned long)filter, 0);
}

/**
 * kpmu_tracepoints_open() - check whether probes without arguments can count hits
 *
 * Context: any.
 * Return: whether any tracepoint may call such a probe.
 */
bool kpmu_tracepoints_open(void)
{
	/* CFI checks that a probe has the exact type of its tracepoint */
	return !IS_ENABLED(CONFIG_CFI) && !IS_ENABLED(CONFIG_CFI_CLANG);
}

/*
 * ftrace's description of a tracepoint.  ftrace_find_event() would be faster,
 * but it also finds ftrace's own output events, which are not embedded in a
 * struct trace_event_call.
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
 * kpmu_tracepoint_is_open() - check for TRACE_EVENT_FL_CAP_ANY
 * @id: tracepoint id
 *
 * Users may see the records of such a tracepoint without privileges, for their own
 * tasks.
 *
 * Context: task, may sleep.
 * Return: false also if it is unknown.
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

/* A hit of these adds the time that it reports to the count, not 1 */
static bool counts_more(const struct tracepoint *tp)
{
	return !strncmp(tp->name, "sched_stat_", strlen("sched_stat_"));
}

static bool is_syscall(const struct trace_event_call *call)
{
	return call->class && call->class->system &&
	       !strcmp(call->class->system, "syscalls") && call->data;
}

static bool describe_tracepoint(const struct trace_event_call *call,
				struct kpmu_tracepoint *t)
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
 * kpmu_tracepoint_find() - find an event's tracepoint, for a probe without arguments
 * @event: a native event; it keeps the tracepoint's module loaded until the
 *	caller has taken its own reference
 * @t: filled in
 *
 * Context: any.
 * Return: false if such a probe cannot count the hits: those of a kprobe, of
 * ftrace:function, or of a tracepoint whose hits count for more than one; or on
 * kernels with CFI.
 */
bool kpmu_tracepoint_find(const struct perf_event *event,
			  struct kpmu_tracepoint *t)
{
	return kpmu_tracepoints_open() && describe_tracepoint(event->tp_event, t);
}

/**
 * kpmu_native_program() - get a BPF program
 * @fd: fd of the program
 *
 * Context: task, may sleep.
 * Return: the program, with a reference; an ERR_PTR(): -EBADF, -EINVAL for another kind of fd,
 * -EOPNOTSUPP if the kernel's function was not found.
 */
struct bpf_prog *kpmu_native_program(int fd)
{
	if (!kpmu_ksym_has(KSYM_bpf_prog_get))
		return ERR_PTR(-EOPNOTSUPP);
	return (void *)kpmu_ksym_call(KSYM_bpf_prog_get, fd, 0, 0, 0);
}

/**
 * kpmu_native_set_bpf() - attach a BPF program to an event
 * @event: a native event of a tracepoint or a probe
 * @prog: the program; on success the event takes the caller's reference
 * @cookie: for bpf_get_attach_cookie()
 *
 * Context: task, may sleep.  perf_event_open(2), PERF_EVENT_IOC_SET_BPF.
 * Return: 0; -EINVAL for an unsuitable program, -EACCES, -EEXIST, -E2BIG, -ENOMEM; -EOPNOTSUPP if
 * the kernel's function was not found.
 */
int kpmu_native_set_bpf(struct perf_event *event, struct bpf_prog *prog, u64 cookie)
{
	if (!kpmu_ksym_has(KSYM_perf_event_set_bpf_prog))
		return -EOPNOTSUPP;
	return kpmu_ksym_call(KSYM_perf_event_set_bpf_prog, (unsigned long)event,
			      (unsigned long)prog, cookie, 0);
}

/**
 * kpmu_native_unset_bpf() - detach the BPF program of an event, if it has one
 * @event: a native event of a tracepoint or a probe
 *
 * Context: task, may sleep.
 */
void kpmu_native_unset_bpf(struct perf_event *event)
{
	if (kpmu_ksym_has(KSYM_perf_event_free_bpf_prog))
		kpmu_ksym_call(KSYM_perf_event_free_bpf_prog, (unsigned long)event, 0, 0, 0);
}

/**
 * kpmu_native_query_bpf() - list the BPF programs of a tracepoint
 * @event: a native event of the tracepoint
 * @query: struct perf_event_query_bpf in user memory
 *
 * Context: task, may sleep.  perf_event_open(2), PERF_EVENT_IOC_QUERY_BPF.
 * Return: 0; -EPERM, -EINVAL, -E2BIG, -ENOSPC, -EFAULT, -ENOMEM; -EOPNOTSUPP if the
 * kernel's function was not found.
 */
int kpmu_native_query_bpf(struct perf_event *event, void __user *query)
{
	if (!kpmu_ksym_has(KSYM_perf_event_query_prog_array))
		return -EOPNOTSUPP;
	return kpmu_ksym_call(KSYM_perf_event_query_prog_array,
			      (unsigned long)event, (unsigned long)query, 0, 0);
}
