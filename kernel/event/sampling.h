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

/**
 * struct kpmu_sampling - an event that writes records
 * @sample_type: KPMU_SAMPLE_*, the fields of its samples
 * @regs_user: mask of user registers in a sample
 * @regs_intr: mask of registers at the overflow in a sample
 * @sig_data: of the attr, for sigtrap
 * @stack_user: bytes of user stack in a sample
 * @wakeup_events: wake after so many samples; 0 with attr.watermark
 * @max_stack: frames of a call chain at most
 * @lost: its samples that found no room; a child's go to its root
 */
struct kpmu_sampling {
	u64 sample_type;
	u64 regs_user;
	u64 regs_intr;
	u64 sig_data;
	u32 stack_user;
	u32 wakeup_events;
	u16 max_stack;
	atomic64_t lost;
};

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

/* sampling.c */
int kpmu_sampling_init(struct kpmu_event *e, const struct kpmu_attr *attr);
struct kpmu_sampling *kpmu_sampling_blank(void);
void kpmu_sampling_clone(struct kpmu_sampling *s,
			 const struct kpmu_sampling *from);
void kpmu_sampling_free(struct kpmu_sampling *s);
int kpmu_sampling_setup(void);
void kpmu_sampling_end(void);

#endif
