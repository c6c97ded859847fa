/* SPDX-License-Identifier: GPL-2.0-only */
/* Access to the PMU's registers; every write can be traced. */
#ifndef KPMU_X86_MSR_H
#define KPMU_X86_MSR_H

#include <asm/msr-index.h>

#include "../../compat/compat.h"
#include "../../trace/kpmu_trace.h"
#include "x86.h"

#define MSR_GP_COUNTER(n)	(x86_pmu.regs.counter + ((n) << x86_pmu.regs.shift))
#define MSR_GP_WRITE(n)		(x86_pmu.regs.write + ((n) << x86_pmu.regs.shift))
#define MSR_GP_SEL(n)		(x86_pmu.regs.sel + ((n) << x86_pmu.regs.shift))
#define MSR_FIXED_COUNTER(n)	(MSR_CORE_PERF_FIXED_CTR0 + (n))

/**
 * x86_wrmsr() - write an MSR of this CPU's PMU, with a trace event
 * @msr: number of the MSR
 * @val: the value
 *
 * Context: IRQs off, or NMI.
 */
static __always_inline void x86_wrmsr(u32 msr, u64 val)
{
	trace_kpmu_wrmsr(msr, val);
	kpmu_wrmsr(msr, val);
}

extern const u32 x86_rdpmc_indices[KPMU_NR_SLOTS];

/**
 * x86_rdpmc_index() - index of a counter for RDPMC
 * @idx: its slot
 *
 * A table takes half the instructions of computing it.
 *
 * SDM vol. 2, RDPMC: bit 30 selects the fixed counters.
 *
 * Context: any.
 * Return: the index.
 */
static __always_inline u32 x86_rdpmc_index(unsigned long idx)
{
	return x86_rdpmc_indices[idx];
}

/**
 * x86_counter_read() - read a counter of this CPU
 * @idx: its slot
 *
 * RDPMC is faster than RDMSR.
 *
 * Context: IRQs off, or NMI.
 * Return: the value, x86_pmu.width bits.
 */
static __always_inline u64 x86_counter_read(unsigned long idx)
{
	return kpmu_rdpmc(x86_rdpmc_index(idx));
}

/**
 * x86_global_bits() - convert slots to bits of GLOBAL_CTRL and GLOBAL_STATUS
 * @slots: a bit for each slot
 *
 * SDM vol. 3, IA32_PERF_GLOBAL_CTRL: general counter n has bit n, fixed counter n has
 * bit 32 + n.
 *
 * Context: any.
 * Return: the bits.
 */
static __always_inline u64 x86_global_bits(u32 slots)
{
	return (slots & X86_GP_MASK) | (u64)(slots >> X86_FIXED) << 32;
}

/**
 * x86_global_write() - enable some counters of this CPU, and disable all others
 * @slots: the counters to enable, a bit for each slot
 *
 * SDM vol. 3, IA32_PERF_GLOBAL_CTRL; requires version 2 of the architectural PMU.
 *
 * Context: IRQs off, or NMI.
 */
static __always_inline void x86_global_write(u32 slots)
{
	trace_kpmu_wrmsr(x86_pmu.regs.ctrl, x86_global_bits(slots));
	kpmu_wrmsr_halves(x86_pmu.regs.ctrl, slots & X86_GP_MASK, slots >> X86_FIXED);
}

/**
 * x86_global_slots() - convert bits of GLOBAL_STATUS to slots
 * @bits: see x86_global_bits(); only bits of counters
 *
 * Context: any.
 * Return: a bit for each slot.
 */
static __always_inline u32 x86_global_slots(u64 bits)
{
	return (bits & X86_GP_MASK) | (u32)(bits >> 32) << X86_FIXED;
}

#endif
