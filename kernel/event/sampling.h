/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of an event beyond counting: when it samples, what its records contain, and
 * its notification.  Events that write no records do not have it.
 */
#ifndef KPMU_SAMPLING_H
#define KPMU_SAMPLING_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "event.h"

struct kpmu_histogram;
struct kpmu_program;
struct kpmu_trap;
struct pid_namespace;

/**
 * struct kpmu_timer - the timer of a clock event that samples
 * @timer: the hrtimer
 * @event: the event
 * @left: remainder of the period when the timer was stopped, in ns
 * @late: number of consecutive expiries that were late by a period or more
 * @on: the timer is running
 */
struct kpmu_timer {
	struct hrtimer timer;
	struct kpmu_event *event;
	u64 left;
	u8 late;
	bool on;
};

/**
 * struct kpmu_sampling - the part of an event that writes records
 * @event: the event
 * @side: in its context's list of events with side-band records
 * @sample_type: KPMU_SAMPLE_*, the fields of its samples
 * @regs_user: mask of user registers in a sample
 * @regs_intr: mask of registers at the overflow in a sample
 * @trap: for sigtrap, else NULL
 * @program: BPF program that is run at its overflows, see program.h; usually NULL
 * @stack_user: bytes of user stack in a sample
 * @wakeup_events: wake the reader after this many samples; 0 with attr.watermark
 * @max_stack: maximum frames of a call chain, and entries of a branch stack
 * @branch_index: branch stacks contain the hardware's index
 * @aux_watermark: bytes of trace after which its reader is woken
 * @aux_sample_size: bytes of its group's AUX trace in a sample
 * @aux_action: KPMU_AUX_*, effect of an overflow on the group's AUX trace
 * @aux_paused: the AUX trace is paused
 * @aux_started: ITRACE_START was written
 * @aux_output: overflows are written to the AUX area of the group leader
 * @aux_said: what AUX_OUTPUT_HW_ID said last: the number of the counter in bits 31:0, the CPU plus 1 in
 *	bits 63:32; 0 if nothing yet
 * @fixed: bytes of a sample's header and fixed-size fields
 * @trailer: bytes of the trailer of other records; 0 without sample_id_all
 * @stream_id: unique id; inherited events have their own
 * @ns: pid namespace for ids in records; held by a root, children use their root's
 * @freq: requested overflows per second; 0 for a fixed period
 * @stopped: REFRESH has run out, and the event is about to be disabled
 * @out: of a strict root: it or an inherited copy has lost its counters, until the root is enabled
 *	or disabled
 * @throttled: the event or another one of its group has exceeded the limit per tick
 * @hits: overflows in the tick @window
 * @window: a tick, in jiffies
 * @seen: the context's time at the last overflow, in ns
 * @examined: the context's time when the rate timer last examined the event, in ns
 * @counted: the event's count at @examined
 * @histogram: of a root: table in which samples are counted, or NULL
 * @limit: overflows until it is disabled (REFRESH); 0 for no limit
 * @what: pending work of @notify, KPMU_TELL_*
 * @signals: number of signals that @notify has to send
 * @notify: does what is not possible in an NMI; root only
 * @stop: disables the event where @notify cannot; root only
 * @lost: number of lost records; those of children count for their root
 * @timer: the timer of a clock event
 * @end: frees a root after a grace period
 */
struct kpmu_sampling {
	struct kpmu_event *event;
	struct hlist_node side;
	u64 sample_type;
	u64 regs_user;
	u64 regs_intr;
	struct kpmu_trap *trap;
	struct kpmu_program *program;
	u32 stack_user;
	u32 wakeup_events;
	u32 aux_watermark;
	u32 aux_sample_size;
	u16 max_stack;
	u8 aux_action;
	bool aux_paused;
	bool aux_started;
	bool aux_output;
	u64 aux_said;
	bool branch_index;
	u8 fixed;
	u8 trailer;
	u64 stream_id;
	struct pid_namespace *ns;
	bool stopped;
	bool out;
	bool throttled;
	u32 freq;
	u32 hits;
	unsigned long window;
	u64 seen;
	u64 examined;
	u64 counted;
	struct kpmu_histogram *histogram;
	atomic_t limit;
	atomic_t what;
	atomic_t signals;
	struct irq_work notify;
	struct work_struct stop;
	atomic64_t lost;
	struct kpmu_timer timer;
	struct rcu_work end;
};

/* Pending work of kpmu_sampling.notify */
#define KPMU_TELL_HUP	BIT(0)	/* send SIGIO with POLL_HUP: REFRESH has run out */
#define KPMU_TELL_STOP	BIT(1)	/* disable the event */
#define KPMU_TELL_WAKE	BIT(2)	/* wake the waiters in poll(2) */
#define KPMU_TELL_ERR	BIT(3)	/* send SIGIO with POLL_ERR: the counters are lost */

/* Fields that always take one word, in the order of a sample */
#define KPMU_SAMPLE_FIXED	(KPMU_SAMPLE_IDENTIFIER | KPMU_SAMPLE_IP |    \
				 KPMU_SAMPLE_TID | KPMU_SAMPLE_TIME |	      \
				 KPMU_SAMPLE_ADDR | KPMU_SAMPLE_ID |	      \
				 KPMU_SAMPLE_STREAM_ID | KPMU_SAMPLE_CPU |    \
				 KPMU_SAMPLE_PERIOD)

/* Those that a trailer contains too: which event, task, time and CPU */
#define KPMU_SAMPLE_WHOSE	(KPMU_SAMPLE_FIXED &			      \
				 ~(KPMU_SAMPLE_IP | KPMU_SAMPLE_ADDR |	      \
				   KPMU_SAMPLE_PERIOD))

/* Flags that request side-band records */
#define KPMU_ATTR_SIDE	(KPMU_ATTR_MMAP | KPMU_ATTR_COMM |	\
			 KPMU_ATTR_TASK | KPMU_ATTR_MMAP_DATA |	\
			 KPMU_ATTR_MMAP2 |			\
			 KPMU_ATTR_CONTEXT_SWITCH |		\
			 KPMU_ATTR_NAMESPACES |			\
			 KPMU_ATTR_KSYMBOL |			\
			 KPMU_ATTR_BPF_EVENT |			\
			 KPMU_ATTR_CGROUP |			\
			 KPMU_ATTR_DEFER_OUTPUT |		\
			 KPMU_ATTR_TEXT_POKE)

/* Flags of events that write records even if they do not sample */
#define KPMU_ATTR_RECORDS	(KPMU_ATTR_SIDE | KPMU_ATTR_INHERIT_STAT)

/* Maximum frames of a call chain, and of context marks (PERF_CONTEXT_*) in it */
extern int kpmu_sysctl_max_stack;
extern int kpmu_sysctl_max_contexts;

/**
 * kpmu_has_chains() - do the event's samples contain call chains?
 * @e: the event
 *
 * Context: any.
 * Return: true if they do.
 */
static inline bool kpmu_has_chains(const struct kpmu_event *e)
{
	return e->sampling && e->sampling->sample_type & KPMU_SAMPLE_CALLCHAIN;
}

/**
 * kpmu_event_lost() - number of lost records of an event, including its children's
 * @e: the event, or one of its children
 *
 * Context: any.
 * Return: the number; 0 for an event that writes no records.
 */
static inline u64 kpmu_event_lost(const struct kpmu_event *e)
{
	const struct kpmu_sampling *s = (e->root ?: e)->sampling;

	return s ? atomic64_read(&s->lost) : 0;
}

/**
 * kpmu_is_out() - has a pinned event no counter, or an inherited copy of a strict one?
 * @e: the event, a root
 *
 * Context: any.
 * Return: true if it is in error; reads of it return nothing.
 */
static inline bool kpmu_is_out(const struct kpmu_event *e)
{
	return READ_ONCE(e->se.state) == KPMU_ERROR ||
	       (e->sampling && READ_ONCE(e->sampling->out));
}

/* trap.c */
struct kpmu_trap *kpmu_trap_new(u32 type, u64 data);
bool kpmu_trap_blank(struct kpmu_trap **t);
struct kpmu_trap *kpmu_trap_clone(struct kpmu_trap *t,
				  const struct kpmu_trap *from);
void kpmu_trap_end(struct kpmu_trap *t);
void kpmu_trap_put(struct kpmu_trap *t);
void kpmu_trap_raise(struct kpmu_event *e, const struct kpmu_hit *hit);
void kpmu_traps_exit(void);

/**
 * kpmu_side_leave() - stop side-band records and signals of an event that is detached
 * @e: the event
 *
 * A pending SIGTRAP is not sent.
 *
 * Context: owner of the event's context, IRQs off.
 */
static inline void kpmu_side_leave(struct kpmu_event *e)
{
	if (!e->sampling)
		return;
	hlist_del_init(&e->sampling->side);
	kpmu_trap_end(e->sampling->trap);
}

/* sampling.c */
int kpmu_sampling_init(struct kpmu_event *e, const struct kpmu_attr *attr);
void kpmu_sampling_for(struct kpmu_event *e, struct task_struct *who);
struct kpmu_sampling *kpmu_sampling_blank(void);
void kpmu_sampling_clone(struct kpmu_sampling *s,
			 const struct kpmu_sampling *from);
void kpmu_sampling_free(struct kpmu_sampling *s);
int kpmu_sampling_setup(void);
void kpmu_sampling_end(void);
void kpmu_notify(struct kpmu_event *e);
void kpmu_notify_error(struct kpmu_event *e);

#endif
