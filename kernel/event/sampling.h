/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event has more than a count: when it samples, what its records hold,
 * whom it tells.  An event that writes no records has none of it.
 */
#ifndef KPMU_SAMPLING_H
#define KPMU_SAMPLING_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "event.h"

struct kpmu_trap;
struct pid_namespace;

/**
 * struct kpmu_timer - what lets a clock event overflow
 * @timer: the timer
 * @event: whose it is
 * @left: of the period in which it was stopped, ns
 * @late: how many times in a row it has come more than a period late
 * @on: it runs
 */
struct kpmu_timer {
	struct hrtimer timer;
	struct kpmu_event *event;
	u64 left;
	u8 late;
	bool on;
};

/**
 * struct kpmu_sampling - an event that writes records
 * @event: the event
 * @side: in its context's list of events with side-band
 * @sample_type: KPMU_SAMPLE_*, the fields of its samples
 * @regs_user: mask of user registers in a sample
 * @regs_intr: mask of registers at the overflow in a sample
 * @trap: for sigtrap, else NULL
 * @stack_user: bytes of user stack in a sample
 * @wakeup_events: wake after so many samples; 0 with attr.watermark
 * @max_stack: frames of a call chain at most
 * @aux_watermark: bytes of trace that its reader is told of at once
 * @aux_sample_size: bytes of its group's trace in a sample
 * @aux_action: KPMU_AUX_*, what an overflow does to its group's trace
 * @aux_paused: it traces nothing for now
 * @aux_started: it was said whose trace it is
 * @fixed: bytes of a sample's header and fields of one size
 * @trailer: bytes that end every other record; 0 without sample_id_all
 * @stream_id: its own id, that of a child too
 * @ns: in whose eyes tasks have ids; held by a root, a child looks there
 * @freq: overflows a second that are asked for; 0 for a fixed period
 * @stopped: REFRESH has run out, and it is about to be switched off
 * @throttled: it has overflowed too often in this tick, or one of its group has
 * @hits: overflows in this tick
 * @window: which tick, in jiffies
 * @seen: the context's time of the last overflow, ns
 * @looked: the context's time when the tick looked last
 * @counted: the count then
 * @limit: overflows until it is switched off; 0 for no limit
 * @what: what @notify has to do
 * @signals: how many signals it has to send
 * @notify: does what an NMI may not; a root's
 * @stop: switches the event off where @notify cannot; a root's
 * @lost: its records that found no room; a child's go to its root
 * @timer: of a clock event
 * @end: frees a root when nobody looks at it any more
 */
struct kpmu_sampling {
	struct kpmu_event *event;
	struct hlist_node side;
	u64 sample_type;
	u64 regs_user;
	u64 regs_intr;
	struct kpmu_trap *trap;
	u32 stack_user;
	u32 wakeup_events;
	u32 aux_watermark;
	u32 aux_sample_size;
	u16 max_stack;
	u8 aux_action;
	bool aux_paused;
	bool aux_started;
	u8 fixed;
	u8 trailer;
	u64 stream_id;
	struct pid_namespace *ns;
	bool stopped;
	bool throttled;
	u32 freq;
	u32 hits;
	unsigned long window;
	u64 seen;
	u64 looked;
	u64 counted;
	atomic_t limit;
	atomic_t what;
	atomic_t signals;
	struct irq_work notify;
	struct work_struct stop;
	atomic64_t lost;
	struct kpmu_timer timer;
	struct rcu_work end;
};

/* Fields that are one word whatever happens, in the order of a sample */
#define KPMU_SAMPLE_FIXED	(KPMU_SAMPLE_IDENTIFIER | KPMU_SAMPLE_IP |    \
				 KPMU_SAMPLE_TID | KPMU_SAMPLE_TIME |	      \
				 KPMU_SAMPLE_ADDR | KPMU_SAMPLE_ID |	      \
				 KPMU_SAMPLE_STREAM_ID | KPMU_SAMPLE_CPU |    \
				 KPMU_SAMPLE_PERIOD)

/* Those of them that say whose a record is */
#define KPMU_SAMPLE_WHOSE	(KPMU_SAMPLE_FIXED &			      \
				 ~(KPMU_SAMPLE_IP | KPMU_SAMPLE_ADDR |	      \
				   KPMU_SAMPLE_PERIOD))

/* Flags that ask for records of what tasks and the kernel do */
#define KPMU_ATTR_SIDE	(KPMU_ATTR_MMAP | KPMU_ATTR_COMM |	\
			 KPMU_ATTR_TASK | KPMU_ATTR_MMAP_DATA |	\
			 KPMU_ATTR_MMAP2 |			\
			 KPMU_ATTR_CONTEXT_SWITCH |		\
			 KPMU_ATTR_NAMESPACES |			\
			 KPMU_ATTR_KSYMBOL |			\
			 KPMU_ATTR_BPF_EVENT |			\
			 KPMU_ATTR_CGROUP |			\
			 KPMU_ATTR_TEXT_POKE)

/* Flags of events that write records though they do not sample */
#define KPMU_ATTR_RECORDS	(KPMU_ATTR_SIDE | KPMU_ATTR_INHERIT_STAT)

/* Frames of a call chain at most, marks between its parts at most */
extern int kpmu_sysctl_max_stack;
extern int kpmu_sysctl_max_contexts;

static inline bool kpmu_has_chains(const struct kpmu_event *e)
{
	return e->sampling && e->sampling->sample_type & KPMU_SAMPLE_CALLCHAIN;
}

/* How many records of an event found no room, its children's too */
static inline u64 kpmu_event_lost(const struct kpmu_event *e)
{
	const struct kpmu_sampling *s = (e->root ?: e)->sampling;

	return s ? atomic64_read(&s->lost) : 0;
}

/**
 * struct kpmu_recorder - who writes records for events
 * @sample: write a sample, if there is a ring with room
 * @throttle: it does not count for a while, or does so again
 * @trace: an event that traces was hit
 * @follow: it counts from now on, or does not; owner of its context, IRQs off
 *
 * Context: as the overflow, NMI too.
 */
struct kpmu_recorder {
	bool (*sample)(struct kpmu_event *e, const struct kpmu_hit *hit);
	void (*throttle)(struct kpmu_event *e, bool on);
	void (*trace)(struct kpmu_event *e, struct kpmu_hit *hit);
	void (*follow)(struct kpmu_event *e, bool running);
};

/* overflow.c */
void kpmu_recorder_set(const struct kpmu_recorder *r);
const struct kpmu_recorder *kpmu_recorder(void);
void kpmu_notify(struct kpmu_event *e);
void kpmu_overflow_setup(struct kpmu_event *e);
bool kpmu_overflow(struct kpmu_hw *hw, struct kpmu_hit *hit);
int kpmu_event_refresh(struct kpmu_event *e, int n);

/* trap.c */
struct kpmu_trap *kpmu_trap_new(u32 type, u64 data);
bool kpmu_trap_blank(struct kpmu_trap **t);
struct kpmu_trap *kpmu_trap_clone(struct kpmu_trap *t,
				  const struct kpmu_trap *from);
void kpmu_trap_end(struct kpmu_trap *t);
void kpmu_trap_put(struct kpmu_trap *t);
void kpmu_trap(struct kpmu_event *e, const struct kpmu_hit *hit);
void kpmu_traps_exit(void);

/* It has nothing to do any more with what happens in its context */
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
void kpmu_sampling_retire(struct kpmu_event *e);
int kpmu_sampling_setup(void);
void kpmu_sampling_drain(void);
void kpmu_sampling_end(void);

#endif
