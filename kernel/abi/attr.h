/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event attribute in its newest published layout, whatever version the
 * running kernel has.  Names are those of perf_event_open(2) with the prefix
 * KPMU_, so that both headers can be included together.
 */
#ifndef KPMU_ABI_ATTR_H
#define KPMU_ABI_ATTR_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/types.h>
#else
#include "shim.h"
#endif

struct kpmu_attr {
	u32 type;
	u32 size;
	u64 config;
	union {
		u64 sample_period;
		u64 sample_freq;
	};
	u64 sample_type;
	u64 read_format;
	u64 flags;			/* KPMU_ATTR_* */
	union {
		u32 wakeup_events;
		u32 wakeup_watermark;
	};
	u32 bp_type;
	union {
		u64 bp_addr;
		u64 config1;
	};
	union {
		u64 bp_len;
		u64 config2;
	};
	u64 branch_sample_type;
	u64 sample_regs_user;
	u32 sample_stack_user;
	s32 clockid;
	u64 sample_regs_intr;
	u32 aux_watermark;
	u16 sample_max_stack;
	u16 reserved_2;
	u32 aux_sample_size;
	u32 aux_action;
	u64 sig_data;
	u64 config3;
	u64 config4;
};

/* Published sizes of the attr, with the fields that each one added */
#define KPMU_ATTR_SIZE_VER0	64	/* to bp_addr */
#define KPMU_ATTR_SIZE_VER1	72	/* bp_len, config2 */
#define KPMU_ATTR_SIZE_VER2	80	/* branch_sample_type */
#define KPMU_ATTR_SIZE_VER3	96	/* regs_user, stack_user, clockid */
#define KPMU_ATTR_SIZE_VER4	104	/* regs_intr */
#define KPMU_ATTR_SIZE_VER5	112	/* aux_watermark, max_stack */
#define KPMU_ATTR_SIZE_VER6	120	/* aux_sample_size */
#define KPMU_ATTR_SIZE_VER7	128	/* sig_data */
#define KPMU_ATTR_SIZE_VER8	136	/* config3 */
#define KPMU_ATTR_SIZE_VER9	144	/* config4 */

static_assert(offsetof(struct kpmu_attr, flags) == 40);
static_assert(offsetof(struct kpmu_attr, config1) == 56);
static_assert(offsetof(struct kpmu_attr, clockid) == 92);
static_assert(offsetof(struct kpmu_attr, sig_data) == 120);
static_assert(sizeof(struct kpmu_attr) == KPMU_ATTR_SIZE_VER9);

/* Bits of the flag word */
#define KPMU_ATTR_DISABLED		BIT_ULL(0)
#define KPMU_ATTR_INHERIT		BIT_ULL(1)
#define KPMU_ATTR_PINNED		BIT_ULL(2)
#define KPMU_ATTR_EXCLUSIVE		BIT_ULL(3)
#define KPMU_ATTR_EXCLUDE_USER		BIT_ULL(4)
#define KPMU_ATTR_EXCLUDE_KERNEL	BIT_ULL(5)
#define KPMU_ATTR_EXCLUDE_HV		BIT_ULL(6)
#define KPMU_ATTR_EXCLUDE_IDLE		BIT_ULL(7)
#define KPMU_ATTR_MMAP			BIT_ULL(8)
#define KPMU_ATTR_COMM			BIT_ULL(9)
#define KPMU_ATTR_FREQ			BIT_ULL(10)
#define KPMU_ATTR_INHERIT_STAT		BIT_ULL(11)
#define KPMU_ATTR_ENABLE_ON_EXEC	BIT_ULL(12)
#define KPMU_ATTR_TASK			BIT_ULL(13)
#define KPMU_ATTR_WATERMARK		BIT_ULL(14)
#define KPMU_ATTR_PRECISE_SHIFT		15
#define KPMU_ATTR_PRECISE		(3ULL << KPMU_ATTR_PRECISE_SHIFT)
#define KPMU_ATTR_MMAP_DATA		BIT_ULL(17)
#define KPMU_ATTR_SAMPLE_ID_ALL		BIT_ULL(18)
#define KPMU_ATTR_EXCLUDE_HOST		BIT_ULL(19)
#define KPMU_ATTR_EXCLUDE_GUEST		BIT_ULL(20)
#define KPMU_ATTR_EXCLUDE_CALLCHAIN_KERNEL BIT_ULL(21)
#define KPMU_ATTR_EXCLUDE_CALLCHAIN_USER BIT_ULL(22)
#define KPMU_ATTR_MMAP2			BIT_ULL(23)
#define KPMU_ATTR_COMM_EXEC		BIT_ULL(24)
#define KPMU_ATTR_USE_CLOCKID		BIT_ULL(25)
#define KPMU_ATTR_CONTEXT_SWITCH	BIT_ULL(26)
#define KPMU_ATTR_WRITE_BACKWARD	BIT_ULL(27)
#define KPMU_ATTR_NAMESPACES		BIT_ULL(28)
#define KPMU_ATTR_KSYMBOL		BIT_ULL(29)
#define KPMU_ATTR_BPF_EVENT		BIT_ULL(30)
#define KPMU_ATTR_AUX_OUTPUT		BIT_ULL(31)
#define KPMU_ATTR_CGROUP		BIT_ULL(32)
#define KPMU_ATTR_TEXT_POKE		BIT_ULL(33)
#define KPMU_ATTR_BUILD_ID		BIT_ULL(34)
#define KPMU_ATTR_INHERIT_THREAD	BIT_ULL(35)
#define KPMU_ATTR_REMOVE_ON_EXEC	BIT_ULL(36)
#define KPMU_ATTR_SIGTRAP		BIT_ULL(37)
#define KPMU_ATTR_DEFER_CALLCHAIN	BIT_ULL(38)
#define KPMU_ATTR_DEFER_OUTPUT		BIT_ULL(39)
#define KPMU_ATTR_NR_FLAGS		40

/* Output of the last two; headers of older kernels lack it */
#define KPMU_RECORD_CALLCHAIN_DEFERRED	22		/* a type of records */
#define KPMU_CONTEXT_USER_DEFERRED	((u64)-640)	/* in a call chain, before a cookie */

/* Bits that an attr of a user cannot have */
#define KPMU_ATTR_RESERVED_SHIFT	48
#define KPMU_ATTR_RESERVED		(0x1fffULL << KPMU_ATTR_RESERVED_SHIFT)	/* id; 0: none */
#define KPMU_ATTR_STRICT		BIT_ULL(62)	/* KPMU_OPEN_STRICT; also pinned */
#define KPMU_ATTR_FIRM			BIT_ULL(63)	/* strict, and nothing has precedence */

/* Those of events that are admitted before they are attached, or name what is */
#define KPMU_ATTR_ADMITTED	(KPMU_ATTR_RESERVED | KPMU_ATTR_STRICT | KPMU_ATTR_FIRM)

/* read_format */
#define KPMU_FORMAT_TIME_ENABLED	BIT_ULL(0)
#define KPMU_FORMAT_TIME_RUNNING	BIT_ULL(1)
#define KPMU_FORMAT_ID			BIT_ULL(2)
#define KPMU_FORMAT_GROUP		BIT_ULL(3)
#define KPMU_FORMAT_LOST		BIT_ULL(4)
#define KPMU_FORMAT_ALL			GENMASK_ULL(4, 0)

/* sample_type */
#define KPMU_SAMPLE_IP			BIT_ULL(0)
#define KPMU_SAMPLE_TID			BIT_ULL(1)
#define KPMU_SAMPLE_TIME		BIT_ULL(2)
#define KPMU_SAMPLE_ADDR		BIT_ULL(3)
#define KPMU_SAMPLE_READ		BIT_ULL(4)
#define KPMU_SAMPLE_CALLCHAIN		BIT_ULL(5)
#define KPMU_SAMPLE_ID			BIT_ULL(6)
#define KPMU_SAMPLE_CPU			BIT_ULL(7)
#define KPMU_SAMPLE_PERIOD		BIT_ULL(8)
#define KPMU_SAMPLE_STREAM_ID		BIT_ULL(9)
#define KPMU_SAMPLE_RAW			BIT_ULL(10)
#define KPMU_SAMPLE_BRANCH_STACK	BIT_ULL(11)
#define KPMU_SAMPLE_REGS_USER		BIT_ULL(12)
#define KPMU_SAMPLE_STACK_USER		BIT_ULL(13)
#define KPMU_SAMPLE_WEIGHT		BIT_ULL(14)
#define KPMU_SAMPLE_DATA_SRC		BIT_ULL(15)
#define KPMU_SAMPLE_IDENTIFIER		BIT_ULL(16)
#define KPMU_SAMPLE_TRANSACTION		BIT_ULL(17)
#define KPMU_SAMPLE_REGS_INTR		BIT_ULL(18)
#define KPMU_SAMPLE_PHYS_ADDR		BIT_ULL(19)
#define KPMU_SAMPLE_AUX			BIT_ULL(20)
#define KPMU_SAMPLE_CGROUP		BIT_ULL(21)
#define KPMU_SAMPLE_DATA_PAGE_SIZE	BIT_ULL(22)
#define KPMU_SAMPLE_CODE_PAGE_SIZE	BIT_ULL(23)
#define KPMU_SAMPLE_WEIGHT_STRUCT	BIT_ULL(24)
#define KPMU_SAMPLE_ALL			GENMASK_ULL(24, 0)

/* branch_sample_type */
#define KPMU_BRANCH_USER		BIT_ULL(0)
#define KPMU_BRANCH_KERNEL		BIT_ULL(1)
#define KPMU_BRANCH_HV			BIT_ULL(2)
#define KPMU_BRANCH_ANY			BIT_ULL(3)
#define KPMU_BRANCH_ANY_CALL		BIT_ULL(4)
#define KPMU_BRANCH_ANY_RETURN		BIT_ULL(5)
#define KPMU_BRANCH_IND_CALL		BIT_ULL(6)
#define KPMU_BRANCH_ABORT_TX		BIT_ULL(7)
#define KPMU_BRANCH_IN_TX		BIT_ULL(8)
#define KPMU_BRANCH_NO_TX		BIT_ULL(9)
#define KPMU_BRANCH_COND		BIT_ULL(10)
#define KPMU_BRANCH_CALL_STACK		BIT_ULL(11)
#define KPMU_BRANCH_IND_JUMP		BIT_ULL(12)
#define KPMU_BRANCH_CALL		BIT_ULL(13)
#define KPMU_BRANCH_NO_FLAGS		BIT_ULL(14)
#define KPMU_BRANCH_NO_CYCLES		BIT_ULL(15)
#define KPMU_BRANCH_TYPE_SAVE		BIT_ULL(16)
#define KPMU_BRANCH_HW_INDEX		BIT_ULL(17)
#define KPMU_BRANCH_PRIV_SAVE		BIT_ULL(18)
#define KPMU_BRANCH_COUNTERS		BIT_ULL(19)
#define KPMU_BRANCH_PLM			GENMASK_ULL(2, 0)
#define KPMU_BRANCH_ALL			GENMASK_ULL(19, 0)
#define KPMU_NR_BRANCH_BITS		20

/* aux_action */
#define KPMU_AUX_START_PAUSED		BIT(0)
#define KPMU_AUX_PAUSE			BIT(1)
#define KPMU_AUX_RESUME			BIT(2)
#define KPMU_AUX_ACTION_ALL		GENMASK(2, 0)

/* Event types */
#define KPMU_TYPE_HARDWARE	0
#define KPMU_TYPE_SOFTWARE	1
#define KPMU_TYPE_TRACEPOINT	2
#define KPMU_TYPE_HW_CACHE	3
#define KPMU_TYPE_RAW		4
#define KPMU_TYPE_BREAKPOINT	5

/* A kpmu type, out of reach of the kernel's types, which are numbered from 0 */
#define KPMU_TYPE_FAULT_TRACE	0x6b700000
/* Types of the PMUs of drivers */
#define KPMU_TYPE_DRIVERS	0x6b700100
#define KPMU_MAX_DRIVERS	256

/**
 * kpmu_attr_precise() - precise_ip of an attr
 * @attr: the attr
 *
 * Context: any.
 * Return: 0 to 3.
 */
static inline unsigned int kpmu_attr_precise(const struct kpmu_attr *attr)
{
	return (attr->flags & KPMU_ATTR_PRECISE) >> KPMU_ATTR_PRECISE_SHIFT;
}

/**
 * struct kpmu_attr_limits - external limits for an attr
 * @max_stack: perf_event_max_stack, frames
 * @max_rate: perf_event_max_sample_rate, Hz
 * @defers: user stacks can be unwound later
 * @aux: the event fills an AUX area
 * @aux_leader: its group leader fills an AUX area
 * @aux_output: its source has data for the AUX area of its group leader
 */
struct kpmu_attr_limits {
	u32 max_stack;
	u32 max_rate;
	bool defers;
	bool aux;
	bool aux_leader;
	bool aux_output;
};

enum kpmu_attr_phase {
	KPMU_ATTR_SHAPE,	/* invalid bits and fields */
	KPMU_ATTR_LIMITS,	/* limits of sysctls */
	KPMU_ATTR_FAMILY,	/* combinations excluded by inherit */
	KPMU_ATTR_SUPPORT,	/* features that this machine or version lacks */
	KPMU_ATTR_LATE,		/* what comes after an error of the cgroup */
};

/* event/attr_check.c, which is also built in user space */
bool kpmu_attr_is_plain(const struct kpmu_attr *attr);
int kpmu_attr_check(const struct kpmu_attr *attr,
		    const struct kpmu_attr_limits *limits,
		    enum kpmu_attr_phase phase, const char **why);

#ifdef __KERNEL__
int kpmu_attr_copy(struct kpmu_attr *attr, void __user *uattr);
#endif

#endif
