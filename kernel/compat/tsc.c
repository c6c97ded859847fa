// SPDX-License-Identifier: GPL-2.0-only
/* The time stamp counter as the clock of the kernel. */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <asm/timer.h>

#include "ksym.h"
#include "tsc.h"

static bool returns_true(enum kpmu_ksym sym)
{
	return kpmu_ksym_has(sym) && (kpmu_ksym_call(sym, 0, 0, 0, 0) & 0xff);
}

static bool read_conversion(struct kpmu_tsc *tsc)
{
	const u64 *offset = kpmu_ksym_data(KSYM___sched_clock_offset);
	struct cyc2ns_data data;

	if (!offset || !kpmu_ksym_has(KSYM_cyc2ns_read_begin) ||
	    !kpmu_ksym_has(KSYM_cyc2ns_read_end) ||
	    !returns_true(KSYM_using_native_sched_clock) ||
	    !returns_true(KSYM_sched_clock_stable))
		return false;
	kpmu_ksym_call(KSYM_cyc2ns_read_begin, (unsigned long)&data, 0, 0, 0);
	tsc->mult = data.cyc2ns_mul;
	tsc->shift = data.cyc2ns_shift;
	tsc->zero = data.cyc2ns_offset + *offset;
	kpmu_ksym_call(KSYM_cyc2ns_read_end, 0, 0, 0, 0);
	return true;
}

static const atomic_t no_clock = ATOMIC_INIT(0);
struct kpmu_clock_parts kpmu_clock_parts __ro_after_init = { .stable = &no_clock };

/* Is the layout of the latch the one that is assumed, and is the clock made as expected? */
static bool __init is_as_assumed(void)
{
	const struct kpmu_latch *l = this_cpu_ptr(kpmu_clock_parts.latch);
	struct kpmu_tsc tsc;
	u64 before, now, after;

	if (!read_conversion(&tsc))
		return false;
	if (tsc.mult != l->data[l->seq & 1].cyc2ns_mul || tsc.shift > 63 ||
	    tsc.shift != l->data[l->seq & 1].cyc2ns_shift)
		return false;
	before = local_clock();
	now = kpmu_clock_read();
	after = local_clock();
	return before <= now && now <= after;
}

/**
 * kpmu_tsc_init() - find out whether kpmu_local_clock() can read the clock itself
 *
 * If not, it calls local_clock(): in virtual machines with a clock of their own, for example.
 *
 * Context: module init.
 */
void __init kpmu_tsc_init(void)
{
	struct kpmu_clock_parts *p = &kpmu_clock_parts;
	const struct static_key *stable = (void *)kpmu_ksym_find("__sched_clock_stable");
	bool ok;

	p->latch = (void __percpu *)kpmu_ksym_find("cyc2ns");
	p->offset = kpmu_ksym_data(KSYM___sched_clock_offset);
	if (!p->latch || !p->offset || !stable)
		return;
	local_irq_disable();
	ok = is_as_assumed();
	local_irq_enable();
	if (ok)
		p->stable = &stable->enabled;
}

/**
 * struct reading - the conversion as it was read in a tick
 * @tick: the tick, in jiffies
 * @valid: @tick and the rest are set
 * @known: @tsc is known
 * @tsc: the conversion
 */
struct reading {
	unsigned long tick;
	bool valid;
	bool known;
	struct kpmu_tsc tsc;
};

static DEFINE_PER_CPU(struct reading, reading);

static noinline void read_now(struct reading *r, unsigned long now)
{
	r->known = read_conversion(&r->tsc);
	r->tick = now;
	r->valid = true;
}

/**
 * kpmu_tsc_get() - get the conversion from TSC to local_clock() on this CPU
 *
 * Reading it takes five calls, so it is read once per tick.  It seldom changes: when the clock is
 * found to be unstable, when the frequency of a TSC that is not constant changes, and while
 * the system sleeps (kpmu_tsc_forget()).  A user page that was written before such a change
 * is not written again until its event changes, either.
 *
 * Context: IRQs off, not NMI.
 * Return: the conversion, valid until IRQs are on; NULL if local_clock() is not derived from the TSC
 * alone, or if that is unknown.
 */
const struct kpmu_tsc *kpmu_tsc_get(void)
{
	struct reading *r = this_cpu_ptr(&reading);
	unsigned long now = READ_ONCE(jiffies);

	if (unlikely(r->tick != now || !r->valid))
		read_now(r, now);
	return r->known ? &r->tsc : NULL;
}

/**
 * kpmu_tsc_forget() - read the conversion again at the next use, on every CPU
 *
 * Context: after system sleep, IRQs off, on the only CPU that is online.
 */
void kpmu_tsc_forget(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(reading, cpu).valid = false;
}
