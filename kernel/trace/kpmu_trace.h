/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints kpmu:*.  Every decision on the scheduling of events is traced, so a
 * trace shows why an event runs where it runs, or why it does not.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kpmu

#if !defined(KPMU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KPMU_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(kpmu_open,
	TP_PROTO(u64 id, u32 type, u64 config, int pid, int cpu, int ret,
		 const char *why),
	TP_ARGS(id, type, config, pid, cpu, ret, why),
	TP_STRUCT__entry(
		__field(u64, id) __field(u64, config) __field(u32, type)
		__field(int, pid) __field(int, cpu) __field(int, ret)
		__field(const char *, why)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->type = type;
		__entry->config = config;
		__entry->pid = pid;
		__entry->cpu = cpu;
		__entry->ret = ret;
		__entry->why = why;
	),
	TP_printk("id=%llu type=%u config=%#llx pid=%d cpu=%d ret=%d %s",
		  __entry->id, __entry->type, __entry->config, __entry->pid,
		  __entry->cpu, __entry->ret, __entry->why)
);

/* A plan was built: the counters it uses, the number of groups that wait */
TRACE_EVENT(kpmu_plan,
	TP_PROTO(int pid, u64 seq, u32 mask, int groups, int waiting),
	TP_ARGS(pid, seq, mask, groups, waiting),
	TP_STRUCT__entry(
		__field(u64, seq) __field(int, pid) __field(u32, mask)
		__field(int, groups) __field(int, waiting)
	),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->seq = seq;
		__entry->mask = mask;
		__entry->groups = groups;
		__entry->waiting = waiting;
	),
	TP_printk("pid=%d seq=%llu counters=%#x groups=%d waiting=%d",
		  __entry->pid, __entry->seq, __entry->mask, __entry->groups,
		  __entry->waiting)
);

/* A plan gives an event a counter */
TRACE_EVENT(kpmu_assign,
	TP_PROTO(u64 id, int counter, u64 allowed),
	TP_ARGS(id, counter, allowed),
	TP_STRUCT__entry(
		__field(u64, id) __field(u64, allowed) __field(int, counter)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->counter = counter;
		__entry->allowed = allowed;
	),
	TP_printk("id=%llu counter=%d allowed=%#llx",
		  __entry->id, __entry->counter, __entry->allowed)
);

/* A group did not fit: it waits, or enters error state if it is pinned */
TRACE_EVENT(kpmu_reject,
	TP_PROTO(u64 id, const char *reason),
	TP_ARGS(id, reason),
	TP_STRUCT__entry(__field(u64, id) __field(const char *, reason)),
	TP_fast_assign(
		__entry->id = id;
		__entry->reason = reason;
	),
	TP_printk("id=%llu %s", __entry->id, __entry->reason)
);

/* A commit: masks of the counters stopped, started, and in use after it */
TRACE_EVENT(kpmu_commit,
	TP_PROTO(u32 stopped, u32 started, u32 running),
	TP_ARGS(stopped, started, running),
	TP_STRUCT__entry(
		__field(u32, stopped) __field(u32, started) __field(u32, running)
	),
	TP_fast_assign(
		__entry->stopped = stopped;
		__entry->started = started;
		__entry->running = running;
	),
	TP_printk("stopped=%#x started=%#x running=%#x",
		  __entry->stopped, __entry->started, __entry->running)
);

/* Counters that ran on while their events changed, or did not change */
TRACE_EVENT(kpmu_handover,
	TP_PROTO(u32 running),
	TP_ARGS(running),
	TP_STRUCT__entry(__field(u32, running)),
	TP_fast_assign(__entry->running = running;),
	TP_printk("running=%#x", __entry->running)
);

/* A write to a register of the PMU */
TRACE_EVENT(kpmu_wrmsr,
	TP_PROTO(u32 msr, u64 val),
	TP_ARGS(msr, val),
	TP_STRUCT__entry(__field(u64, val) __field(u32, msr)),
	TP_fast_assign(
		__entry->msr = msr;
		__entry->val = val;
	),
	TP_printk("msr=%#x value=%#llx", __entry->msr, __entry->val)
);

TRACE_EVENT(kpmu_read,
	TP_PROTO(u64 id, u64 count, u64 enabled, u64 running),
	TP_ARGS(id, count, enabled, running),
	TP_STRUCT__entry(
		__field(u64, id) __field(u64, count) __field(u64, enabled)
		__field(u64, running)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->count = count;
		__entry->enabled = enabled;
		__entry->running = running;
	),
	TP_printk("id=%llu count=%llu enabled=%llu running=%llu",
		  __entry->id, __entry->count, __entry->enabled,
		  __entry->running)
);

TRACE_EVENT(kpmu_rotate,
	TP_PROTO(int pid, int waiting),
	TP_ARGS(pid, waiting),
	TP_STRUCT__entry(__field(int, pid) __field(int, waiting)),
	TP_fast_assign(
		__entry->pid = pid;
		__entry->waiting = waiting;
	),
	TP_printk("pid=%d waiting=%d", __entry->pid, __entry->waiting)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE kpmu_trace
#include <trace/define_trace.h>
