/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branch records: what the files about them share.  The records of a CPU are in registers, the
 * last branch records (LBR).  lbr_control.c says when they record, lbr_read.c reads and filters
 * them in the overflow interrupt; the directory of a maker has the registers.
 */
#ifndef KPMU_X86_LBR_H
#define KPMU_X86_LBR_H

#include "branch.h"
#include "x86.h"

/* Properties of a hardware filter that both kinds of LBR have; the other bits are the kind's */
#define X86_LBR_NO_INFO		BIT(31)	/* the information of an entry is not needed */
#define X86_LBR_STACK		BIT(30)	/* call-stack mode */

/* An entry, as the registers have it; @from is 0 in an entry that is not used */
struct x86_branch {
	u64 from;
	u64 to;
	u64 info;
};

/**
 * struct x86_lbr - access to a kind of last branch records
 * @name: for the log
 * @filter: the hardware filter for an attr.branch_sample_type with privilege levels; sets
 *	*@filter.  0 or -EOPNOTSUPP
 * @start: record, with this filter.  IRQs off
 * @stop: do not record.  IRQs off
 * @resume: in the PMI, which has stopped recording: go on
 * @wipe: clear all entries.  IRQs off, not recording
 * @read: read the entries, the newest first, and set *@index to the hardware's index of that
 *	entry.  Returns how many; in call-stack mode, and if the registers say so, only those
 *	that are used.  IRQs off or NMI
 * @write: write entries that @read has returned, and clear the others.  IRQs off, not
 *	recording
 * @newest: the hardware's index of the newest entry; -1 if it has none.  IRQs off or NMI
 * @holds: whether the entry with an index that @read has returned is used.  Registers may be
 *	lost while the CPU sleeps.  IRQs off.  As @write, NULL without call-stack mode; as
 *	@newest, without precise events
 * @flags: the flags of struct perf_branch_entry, without its type
 * @kind: X86_BRANCH_* as the hardware knows it, 0 if it does not.  NULL: it never does
 * @is_on: whether the registers say that branches are recorded, with this filter
 */
struct x86_lbr {
	const char *name;
	int (*filter)(u64 type, u32 *filter);
	void (*start)(u32 filter);
	void (*stop)(void);
	void (*resume)(u32 filter);
	void (*wipe)(void);
	int (*read)(struct x86_branch *to, u32 filter, u64 *index);
	void (*write)(const struct x86_branch *from, int nr, u64 index);
	u64 (*newest)(void);
	bool (*holds)(u64 index);
	u64 (*flags)(u64 info);
	unsigned int (*kind)(u64 info);
	bool (*is_on)(u32 filter);
};

/**
 * struct x86_lbr_store - the call stack of a task that does not run
 * @nr: number of entries
 * @cpu: CPU on which it was saved
 * @valid: there is one
 * @index: index of the newest entry
 * @entry: the entries, the newest first
 */
struct x86_lbr_store {
	int nr;
	int cpu;
	bool valid;
	u64 index;
	struct x86_branch entry[KPMU_MAX_BRANCHES];
};

#define X86_LBR_STORE_SIZE	sizeof(struct x86_lbr_store)

/* lbr_control.c */
void x86_lbr_setup(struct x86_cpu *c);
void x86_lbr_clear(struct x86_cpu *c);
void x86_lbr_update(struct x86_cpu *c, u32 stayed);
void x86_lbr_resume(struct x86_cpu *c);

/* lbr_keep.c */
int x86_stacks_get(void);
void x86_stacks_put(void);
void x86_stacks_exit(void);
struct x86_lbr_store *x86_stack_claim(const struct task_struct *task);
struct x86_lbr_store *x86_stack_find(const struct task_struct *task);
void x86_stack_done(struct x86_lbr_store *store);

/* lbr_read.c */
const struct kpmu_branches *x86_branches_of(const struct kpmu_hw *hw,
					    const struct x86_branch *from, bool old);
int x86_lbr_init(void);
void x86_lbr_exit(void);
int x86_lbr_init_event(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why);

#endif
