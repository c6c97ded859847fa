/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's conversion of the time stamp counter to local_clock(). */
#ifndef KPMU_TSC_H
#define KPMU_TSC_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/types.h>
#include <asm/timer.h>
#include <asm/tsc.h>

/**
 * struct kpmu_tsc - conversion: local_clock() is (TSC * @mult >> @shift) + @zero
 * @mult: multiplier
 * @shift: bits to shift the product right
 * @zero: offset, ns
 */
struct kpmu_tsc {
	u32 mult;
	u32 shift;
	u64 zero;
};

/**
 * struct kpmu_latch - the kernel's conversion on a CPU, which is private to it
 * @data: two copies; one is valid while the other is written
 * @seq: even: data[0] is valid, odd: data[1]
 */
struct kpmu_latch {
	struct cyc2ns_data data[2];
	u32 seq;
};

/**
 * struct kpmu_clock_parts - what local_clock() consists of
 * @latch: the conversion, one for each CPU
 * @offset: ns that are added
 * @stable: 0 once the TSC was found to be unstable, or if the other parts are not known
 */
struct kpmu_clock_parts {
	const struct kpmu_latch __percpu *latch;
	const u64 *offset;
	const atomic_t *stable;
};

extern struct kpmu_clock_parts kpmu_clock_parts;

/**
 * kpmu_cycles_to_ns() - scale a time
 * @cycles: the TSC, or a difference of two
 * @mult: multiplier, less than 2^32
 * @shift: bits to shift the product right, less than 64; gcc's code for any shift takes six more instructions
 *
 * Context: any.
 * Return: (@cycles * @mult) >> @shift.
 */
static __always_inline u64 kpmu_cycles_to_ns(u64 cycles, u64 mult, u32 shift)
{
	u64 high;

	asm("mulq %[mult]\n\tshrdq %%cl, %[high], %[cycles]"
	    : [cycles] "+&a" (cycles), [high] "=&d" (high)
	    : [mult] "r" (mult), "c" (shift)
	    : "cc");
	return cycles;
}

/**
 * kpmu_clock_read() - read the clock by its parts
 *
 * Context: any, including NMI; the parts are known.
 * Return: ns.
 */
static __always_inline u64 kpmu_clock_read(void)
{
	const struct kpmu_latch *l = raw_cpu_ptr(kpmu_clock_parts.latch);
	const struct cyc2ns_data *d;
	u32 seq;
	u64 ns;

	do {
		seq = READ_ONCE(l->seq);
		d = &l->data[seq & 1];
		ns = d->cyc2ns_offset + kpmu_cycles_to_ns(rdtsc(), d->cyc2ns_mul, d->cyc2ns_shift);
		barrier();
	} while (unlikely(READ_ONCE(l->seq) != seq));
	return ns + READ_ONCE(*kpmu_clock_parts.offset);
}

/**
 * kpmu_local_clock() - local_clock(), without a call of a function
 *
 * Natively the clock takes four calls and 45 instructions (6.12), at each task switch and for each sample.
 *
 * Context: any, including NMI.  If preemption is on, the clock may be that of the former CPU, as that of
 * local_clock() when it returns.
 * Return: ns.
 */
static __always_inline u64 kpmu_local_clock(void)
{
	if (likely(atomic_read(kpmu_clock_parts.stable)))
		return kpmu_clock_read();
	return local_clock();
}

void kpmu_tsc_init(void);
const struct kpmu_tsc *kpmu_tsc_get(void);
void kpmu_tsc_forget(void);

/**
 * kpmu_cycles_khz() - rate of get_cycles()
 *
 * Context: any.
 * Return: the rate in kHz, 0 if it is not known.
 */
static __always_inline u32 kpmu_cycles_khz(void)
{
	return tsc_khz;
}

#endif
