/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event has more than a count: when it samples, what its records hold,
 * whom it tells.  An event that writes no records has none of it.
 */
#ifndef KPMU_SAMPLING_H
#define KPMU_SAMPLING_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/types.h>

#include "event.h"

struct pid_namespace;

/**
 * struct kpmu_sampling - an event that writes records
 * @sample_type: KPMU_SAMPLE_*, the fields of its samples
 * @regs_user: mask of user registers in a sample
 * @regs_intr: mask of registers at the overflow in a sample
 * @sig_data: of the attr, for sigtrap
 * @stack_user: bytes of user stack in a sample
 * @wakeup_events: wake after so many samples; 0 with attr.watermark
 * @max_stack: frames of a call chain at most
 * @fixed: bytes of a sample's header and fields of one size
 * @trailer: bytes that end every other record; 0 without sample_id_all
 * @stream_id: its own id, that of a child too
 * @lost: its records that found no room; a child's go to its root
 * @ns: in whose eyes tasks have ids; held by a root, a child looks there
 */
struct kpmu_sampling {
	u64 sample_type;
	u64 regs_user;
	u64 regs_intr;
	u64 sig_data;
	u32 stack_user;
	u32 wakeup_events;
	u16 max_stack;
	u8 fixed;
	u8 trailer;
	u64 stream_id;
	atomic64_t lost;
	struct pid_namespace *ns;
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

/* Flags of events that write records though they do not sample */
#define KPMU_ATTR_RECORDS	(KPMU_ATTR_MMAP | KPMU_ATTR_COMM |	\
				 KPMU_ATTR_TASK | KPMU_ATTR_MMAP_DATA |	\
				 KPMU_ATTR_MMAP2 |			\
				 KPMU_ATTR_CONTEXT_SWITCH |		\
				 KPMU_ATTR_NAMESPACES |			\
				 KPMU_ATTR_KSYMBOL |			\
				 KPMU_ATTR_BPF_EVENT |			\
				 KPMU_ATTR_CGROUP |			\
				 KPMU_ATTR_TEXT_POKE |			\
				 KPMU_ATTR_INHERIT_STAT)

/* Frames of a call chain at most */
#define KPMU_MAX_STACK	127

/* How many records of an event found no room, its children's too */
static inline u64 kpmu_event_lost(const struct kpmu_event *e)
{
	const struct kpmu_sampling *s = (e->root ?: e)->sampling;

	return s ? atomic64_read(&s->lost) : 0;
}

/* sampling.c */
int kpmu_sampling_init(struct kpmu_event *e, const struct kpmu_attr *attr);
struct kpmu_sampling *kpmu_sampling_blank(void);
void kpmu_sampling_clone(struct kpmu_sampling *s,
			 const struct kpmu_sampling *from);
void kpmu_sampling_free(struct kpmu_sampling *s);
int kpmu_sampling_setup(void);
void kpmu_sampling_end(void);

#endif
