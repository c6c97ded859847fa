/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instruction-based sampling (IBS): two samplers on each CPU, each a PMU with one counter.  APM
 * volume 2, "Instruction-Based Sampling"; CPUID Fn8000_001B.
 */
#ifndef KPMU_IBS_H
#define KPMU_IBS_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/percpu.h>

#include "../../../source/pmu.h"

struct kpmu_attr;

#define MSR_IBS_FETCH_CTL	0xc0011030
#define MSR_IBS_FETCH_EXT	0xc001103c
#define MSR_IBS_OP_CTL		0xc0011033
#define MSR_IBS_BR_TARGET	0xc001103b
#define MSR_IBS_OP_DATA4	0xc001103d

/* Capabilities that matter here */
#define IBS_HAS_OP_WRITE	BIT(3)	/* the count of ops may be read and written */
#define IBS_HAS_OP_CNT		BIT(4)	/* ops are counted, not only cycles */
#define IBS_HAS_BR_TARGET	BIT(5)
#define IBS_HAS_OP_EXT		BIT(6)	/* seven more bits of the period */
#define IBS_HAS_RIP_CHECK	BIT(7)
#define IBS_HAS_FETCH_EXT	BIT(9)
#define IBS_HAS_OP_DATA4	BIT(10)
#define IBS_HAS_ZEN4		BIT(11)
#define IBS_HAS_LDLAT		BIT(12)

/* IbsOpCtl */
#define IBS_OP_L3MISS		BIT_ULL(16)
#define IBS_OP_CYCLES_OR_OPS	BIT_ULL(19)
#define IBS_OP_MAX_EXT		GENMASK_ULL(26, 20)
#define IBS_OP_RANDOM		GENMASK_ULL(38, 32)	/* bits of the count, set by the hardware */
#define IBS_OP_LATENCY_SHIFT	59
#define IBS_OP_LATENCY_ON	BIT_ULL(63)
/* IbsFetchCtl */
#define IBS_FETCH_RANDOM	BIT_ULL(57)
#define IBS_FETCH_L3MISS	BIT_ULL(59)
/* Both */
#define IBS_MAX_CNT		GENMASK_ULL(15, 0)

/* Registers of a sample, from the control register; those after them are not contiguous */
enum { IBS_CTL, IBS_RIP, IBS_DATA, IBS_DATA2, IBS_DATA3, IBS_LINEAR, IBS_PHYS, IBS_OP_REGS };

#define IBS_FETCH_PHYS		2
#define IBS_FETCH_REGS		3
#define IBS_MAX_REGS		(IBS_OP_REGS + 2)

/* hw->extra: what the handler has to know of the attr; the lowest 12 bits are the latency */
#define IBS_LATENCY		GENMASK_ULL(11, 0)
#define IBS_NO_USER		BIT_ULL(16)
#define IBS_NO_KERNEL		BIT_ULL(17)
#define IBS_FILTER		BIT_ULL(18)
#define IBS_WANT_ADDR		BIT_ULL(19)
#define IBS_WANT_PHYS		BIT_ULL(20)
#define IBS_WANT_RAW		BIT_ULL(21)
#define IBS_WANT_MEMORY		BIT_ULL(22)	/* weight or data source */
#define IBS_HIDE_PHYS		BIT_ULL(23)

/**
 * struct ibs_unit - one of the two samplers
 * @pmu: its PMU
 * @source: the operations on its events
 * @msr: its control register
 * @enable: bit of the register
 * @valid: bit that is set by a sample, and stops the sampler
 * @config: bits of attr.config that are possible
 * @period: those that are a period / 16
 * @min: shortest period
 * @max: longest period of the hardware
 * @restart: the count is only reset when @enable is set anew
 * @count: what was counted, from the register
 */
struct ibs_unit {
	struct kpmu_pmu pmu;
	struct kpmu_source source;
	u32 msr;
	u64 enable;
	u64 valid;
	u64 config;
	u64 period;
	u32 min;
	u32 max;
	bool restart;
	u32 (*count)(u64 ctl);
};

enum { IBS_FETCH_UNIT, IBS_OP_UNIT, IBS_UNITS };

/**
 * struct ibs_cpu - state of a sampler on a CPU
 * @turn: number of interrupts, to time some of them
 * @late: one interrupt without a sample may come
 */
struct ibs_cpu {
	u32 turn;
	bool late;
};

/* A sample as the raw record has it, from @caps on */
struct ibs_record {
	u32 unused;
	u32 caps;
	u64 reg[IBS_MAX_REGS];
};

extern struct ibs_unit ibs_units[IBS_UNITS];
extern u32 ibs_caps;

DECLARE_PER_CPU(struct ibs_cpu [IBS_UNITS], ibs_cpus);

/**
 * ibs_unit_of() - the sampler of an event
 * @hw: the event
 *
 * Context: any.
 * Return: the sampler.
 */
static inline struct ibs_unit *ibs_unit_of(const struct kpmu_hw *hw)
{
	return container_of(hw->source, struct ibs_unit, source);
}

/* ibs_reserve.c */
extern atomic_t ibs_users;
extern atomic_t ibs_native_used;

/**
 * ibs_in_use() - test whether there are events of kpmu that use IBS
 *
 * Context: any, including NMI.
 * Return: true if there are, so that the kernel's perf does not use it.
 */
static inline bool ibs_in_use(void)
{
	return atomic_read(&ibs_users);
}

int ibs_get(struct kpmu_hw *hw, const struct kpmu_target *target, const char **why);
void ibs_put(struct kpmu_hw *hw);
int ibs_rivals_init(void);
void ibs_rivals_exit(void);

/* ibs_count.c */
u64 ibs_read(struct kpmu_hw *hw);
void ibs_fold(struct kpmu_hw *hw, u64 ctl);
void ibs_go(struct kpmu_hw *hw, u64 ctl);
void ibs_begin(struct kpmu_hw *hw);
void ibs_end(struct kpmu_hw *hw);
void ibs_set_period(struct kpmu_hw *hw, u64 period);

#define IBS_NO_SOURCE	0x1e05080021ULL	/* PERF_SAMPLE_DATA_SRC of what accesses no memory */

/* ibs_data.c */
u64 ibs_data_source(const struct ibs_record *r);
void ibs_memory(const struct ibs_record *r, u64 wants, struct kpmu_hit *hit,
		struct kpmu_precise *precise);

/* ibs_nmi.c */
int ibs_nmi_init(void);
void ibs_nmi_exit(void);

/* ibs_event.c */
int ibs_event_init(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why);
bool ibs_check_period(const struct kpmu_hw *hw, u64 flags, u64 period);
int ibs_adapt(struct kpmu_attr *attr, const char **why);

/* ibs.c */
int ibs_start(void);
void ibs_stop(void);
struct kpmu_pmu *ibs_pmu(int n);

#endif
