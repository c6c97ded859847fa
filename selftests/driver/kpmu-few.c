// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PMU "few", an example of a PMU whose counters are too few for all events.  See
 * Documentation/writing-a-pmu-driver.rst.
 *
 * Each CPU has two counters of TSC cycles.  few/any/ counts on either, few/second/ only on the second.
 * A counter raises an interrupt when it reaches the value that is programmed into it.  The "hardware"
 * is made of the TSC and timers.  With the module parameter poll=1 it has no interrupts, with only=N
 * only CPU N has the counters.
 *
 * With aux_output an overflow is 16 bytes in the AUX area of the group leader: the address of the
 * instruction and the count.  With the module parameter words=N there are N - 2 words of zeros after these.
 *
 * With nmi=1 the interrupts are NMIs.  A timer of one CPU sends them to all CPUs at a fixed rate, so
 * they interrupt any code of the others, also with IRQs off.  They come too early or too late.
 */
#define pr_fmt(fmt) "kpmu-few: " fmt

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <asm/apic.h>
#include <asm/irq_regs.h>
#include <asm/nmi.h>
#include <asm/tsc.h>

#include "abi/attr.h"
#include "compat/compat.h"
#include "source/pmu.h"

#define NR_COUNTERS	2
#define EVENT_ANY	1
#define EVENT_SECOND	2

static bool poll;
module_param(poll, bool, 0444);
MODULE_PARM_DESC(poll, "the counters raise no interrupts");

static bool nmi;
module_param(nmi, bool, 0444);
MODULE_PARM_DESC(nmi, "the counters raise NMIs");

static int only = -1;
module_param(only, int, 0444);
MODULE_PARM_DESC(only, "the CPU that has the counters; -1: all");

static unsigned int words = 2;
module_param(words, uint, 0444);
MODULE_PARM_DESC(words, "words that an overflow puts into an AUX area, 2 to 8");

/* Shortest time to an interrupt, in ns */
#define SHORTEST	10000

/* Time between two NMIs, in ns */
#define BETWEEN_NMIS	500000

/**
 * struct counter - one counter of one CPU
 * @user: the event that counts on it, NULL if it is stopped
 * @timer: raises its interrupt
 */
struct counter {
	struct kpmu_hw *user;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct counter [NR_COUNTERS], counters);
static struct kpmu_pmu few;

static int few_init(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	if (attr->config1 || attr->config2 || attr->config3 || attr->config4 ||
	    (attr->config != EVENT_ANY && attr->config != EVENT_SECOND)) {
		*why = "few has only the events any and second";
		return -EINVAL;
	}
	if (attr->flags & (KPMU_ATTR_EXCLUDE_USER | KPMU_ATTR_EXCLUDE_KERNEL)) {
		*why = "few cannot exclude user or kernel";
		return -EINVAL;
	}
	hw->allowed = attr->config == EVENT_ANY ? 3 : 2;
	return 0;
}

/* An NMI may interrupt it and call it again, hence the cmpxchg loop */
static u64 few_read(struct kpmu_hw *hw)
{
	u64 prev, raw;

	if (!hw->runs)
		return local64_read(&hw->count);
	do {
		prev = local64_read(&hw->prev);
		raw = rdtsc_ordered();
	} while (local64_cmpxchg(&hw->prev, prev, raw) != prev);
	return local64_add_return(raw - prev, &hw->count);
}

/* Time in ns until the event's count reaches hw->next */
static ktime_t time_left(struct kpmu_hw *hw)
{
	s64 left = clamp_t(s64, hw->next - few_read(hw), 0, (u64)tsc_khz * MSEC_PER_SEC);

	return ns_to_ktime(max_t(u64, div_u64(left * USEC_PER_SEC, tsc_khz), SHORTEST));
}

static void few_start(struct kpmu_hw *hw)
{
	struct counter *c = this_cpu_ptr(&counters[kpmu_pmu_counter(hw)]);

	WARN_ON_ONCE(c->user);
	c->user = hw;
	local64_set(&hw->prev, rdtsc_ordered());
	if (hw->period && !poll && !nmi)
		hrtimer_start(&c->timer, time_left(hw), HRTIMER_MODE_REL_PINNED_HARD);
}

static void few_stop(struct kpmu_hw *hw)
{
	struct counter *c = this_cpu_ptr(&counters[kpmu_pmu_counter(hw)]);

	WARN_ON_ONCE(c->user != hw);
	few_read(hw);
	c->user = NULL;
	hrtimer_try_to_cancel(&c->timer);
}

static void few_set_period(struct kpmu_hw *hw, u64 period)
{
	bool runs = hw->runs;

	if (runs)
		few_stop(hw);
	kpmu_pmu_set_period(hw, period);
	if (runs)
		few_start(hw);
}

/* The interrupt */
static enum hrtimer_restart counter_overflows(struct hrtimer *timer)
{
	struct counter *c = container_of(timer, struct counter, timer);
	struct kpmu_hw *hw = kpmu_pmu_overflow(&few, c - *this_cpu_ptr(&counters),
					       get_irq_regs());

	if (!hw || !hw->runs || !hw->period)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, time_left(hw));
	return HRTIMER_RESTART;
}

/* An NMI was sent to the CPU and has not arrived */
static DEFINE_PER_CPU(bool, sent);
static struct hrtimer sender;

static int counters_raise_nmi(unsigned int cmd, struct pt_regs *regs)
{
	int i;

	if (!this_cpu_xchg(sent, false))
		return NMI_DONE;
	for (i = 0; i < NR_COUNTERS; i++)
		if (READ_ONCE(this_cpu_ptr(&counters[i])->user))
			kpmu_pmu_overflow(&few, i, regs);
	return NMI_HANDLED;
}
NOKPROBE_SYMBOL(counters_raise_nmi);

static enum hrtimer_restart send_nmis(struct hrtimer *timer)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (!cmpxchg(per_cpu_ptr(&sent, cpu), false, true))
			apic->send_IPI(cpu, NMI_VECTOR);
	hrtimer_forward_now(timer, ns_to_ktime(BETWEEN_NMIS));
	return HRTIMER_RESTART;
}

static int __init start_nmis(void)
{
	int err = register_nmi_handler(NMI_LOCAL, counters_raise_nmi, 0, "kpmu-few");

	if (err)
		return err;
	kpmu_hrtimer_setup(&sender, send_nmis, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&sender, ns_to_ktime(BETWEEN_NMIS), HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static void stop_nmis(void)
{
	int cpu;

	hrtimer_cancel(&sender);
	for_each_online_cpu(cpu)
		while (READ_ONCE(per_cpu(sent, cpu)))
			cpu_relax();
	unregister_nmi_handler(NMI_LOCAL, "kpmu-few");
}

static u64 few_ahead(struct kpmu_hw *hw)
{
	return ktime_to_ns(time_left(hw));
}

static u32 few_output(struct kpmu_hw *hw, const struct kpmu_hit *hit, void *to)
{
	u32 size = clamp(words, 2U, 8U) * sizeof(u64);
	u64 *word = to;

	memset(to, 0, size);
	word[0] = hit->regs ? instruction_pointer(hit->regs) : 0;
	word[1] = local64_read(&hw->count);
	return size;
}

static struct kpmu_source few_source __ro_after_init = {
	.name = "few",
	.owner = THIS_MODULE,
	.init = few_init,
	.start = few_start,
	.stop = few_stop,
	.read = few_read,
	.set_period = few_set_period,
	.output = few_output,
};

static const struct kpmu_file format[] = {
	{ "event", "config:0-7" },
	{ }
};

static const struct kpmu_file events[] = {
	{ "any", "event=0x01" },
	{ "second", "event=0x02" },
	{ }
};

static struct kpmu_pmu few = {
	.name = "few",
	.format = format,
	.events = events,
	.source = &few_source,
	.nr_counters = NR_COUNTERS,
};

static int __init few_init_module(void)
{
	int cpu, i, err;

	if (!tsc_khz)
		return -ENODEV;
	if (only >= 0 && (only >= nr_cpu_ids || !cpu_possible(only)))
		return -EINVAL;
	few_source.cpus = only < 0 ? NULL : cpumask_of(only);
	if (poll && nmi)
		return -EINVAL;
	few_source.nmi = nmi;
	few_source.interrupt = !poll;
	few_source.ahead = poll ? few_ahead : NULL;
	for_each_possible_cpu(cpu)
		for (i = 0; i < NR_COUNTERS; i++)
			kpmu_hrtimer_setup(&per_cpu(counters[i], cpu).timer, counter_overflows,
					   CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	err = kpmu_register_pmu(&few);
	if (err || !nmi)
		return err;
	err = start_nmis();
	if (err)
		kpmu_unregister_pmu(&few);
	return err;
}

static void __exit few_exit_module(void)
{
	if (nmi)
		stop_nmis();
	kpmu_unregister_pmu(&few);
}

module_init(few_init_module);
module_exit(few_exit_module);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A PMU with two counters of TSC cycles: an example for drivers of kpmu");
