// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints in the debug registers, without an event in a context of the kernel's perf.
 * SDM vol. 3, "Debug Registers".
 *
 * The kernel's perf allocates the debug registers, for debuggers too: a breakpoint has a slot reserved for
 * its task or CPU.  The functions that do this, and those that write the registers, take a struct
 * perf_event, of which they and the exception handler use the attr, the hw part, the CPU and the overflow
 * handler.  So a watch contains such a structure, which is in no context: kpmu schedules it.
 *
 * At a task switch kpmu is called before the kernel's perf.  The breakpoints of the previous task may still
 * be in the registers then, and there may be no free one for a breakpoint that has a slot.  An interrupt
 * on the same CPU writes it as soon as the switch is over.
 */
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/perf_event.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <asm/debugreg.h>
#include <asm/hw_breakpoint.h>

#include "ksym.h"
#include "watch.h"

/**
 * struct kpmu_watch - a breakpoint
 * @event: describes it to the kernel's functions
 * @watch_lock: protects what follows
 * @cpu: the CPU on which it is armed, -1 if none
 * @written: it is in a register of @cpu
 * @moving: it must be in no register now
 * @late: writes it after a task switch
 */
struct kpmu_watch {
	struct perf_event event;
	raw_spinlock_t watch_lock;
	int cpu;
	bool written;
	bool moving;
	struct irq_work late;
};

/**
 * kpmu_watch_possible() - check whether the kernel's functions for breakpoints were found
 *
 * Context: any.
 * Return: whether the other functions of this file may be called.
 */
bool kpmu_watch_possible(void)
{
	return kpmu_ksym_has(KSYM_register_perf_hw_breakpoint) && kpmu_ksym_has(KSYM_release_bp_slot) &&
	       kpmu_ksym_has(KSYM_arch_install_hw_breakpoint) &&
	       kpmu_ksym_has(KSYM_arch_uninstall_hw_breakpoint) &&
	       kpmu_ksym_has(KSYM_modify_user_hw_breakpoint_check);
}

static bool register_is_free(void)
{
	unsigned long dr7 = this_cpu_read(cpu_dr7);
	int i;

	for (i = 0; i < HBP_NUM; i++)
		if (!(dr7 >> (i * DR_ENABLE_SIZE) & (DR_LOCAL_ENABLE | DR_GLOBAL_ENABLE)))
			return true;
	return false;
}

/* Write it, if this is the CPU where it is armed */
static void write_here(struct kpmu_watch *w)
{
	lockdep_assert_held(&w->watch_lock);
	if (w->moving || w->written || w->cpu != smp_processor_id())
		return;
	if (register_is_free())
		w->written = !(int)kpmu_ksym_call(KSYM_arch_install_hw_breakpoint, (unsigned long)&w->event, 0, 0, 0);
	else
		irq_work_queue(&w->late);
}

static void clear_here(struct kpmu_watch *w)
{
	lockdep_assert_held(&w->watch_lock);
	if (!w->written || w->cpu != smp_processor_id())
		return;
	kpmu_ksym_call(KSYM_arch_uninstall_hw_breakpoint, (unsigned long)&w->event, 0, 0, 0);
	w->written = false;
}

static void put_in(void *watch)
{
	struct kpmu_watch *w = watch;

	raw_spin_lock(&w->watch_lock);
	write_here(w);
	raw_spin_unlock(&w->watch_lock);
}

static void take_out(void *watch)
{
	struct kpmu_watch *w = watch;

	raw_spin_lock(&w->watch_lock);
	clear_here(w);
	raw_spin_unlock(&w->watch_lock);
}

static void after_switch(struct irq_work *work)
{
	put_in(container_of(work, struct kpmu_watch, late));
}

/**
 * kpmu_watch_arm() - a breakpoint reports hits on this CPU from now on
 * @w: the breakpoint, armed nowhere
 *
 * Context: IRQs off, not NMI; the owner of the context of its event.
 */
void kpmu_watch_arm(struct kpmu_watch *w)
{
	raw_spin_lock(&w->watch_lock);
	w->cpu = smp_processor_id();
	write_here(w);
	raw_spin_unlock(&w->watch_lock);
}

/**
 * kpmu_watch_disarm() - undo kpmu_watch_arm()
 * @w: the breakpoint, armed on this CPU
 *
 * Context: as kpmu_watch_arm().
 */
void kpmu_watch_disarm(struct kpmu_watch *w)
{
	raw_spin_lock(&w->watch_lock);
	clear_here(w);
	w->cpu = -1;
	raw_spin_unlock(&w->watch_lock);
}

static void describe(struct perf_event *e, const struct perf_event_attr *attr, int cpu)
{
	e->attr = *attr;
	e->cpu = cpu;
	/* Each hit is an overflow */
	e->state = PERF_EVENT_STATE_ACTIVE;
	e->hw.sample_period = 1;
	e->hw.last_period = 1;
}

/**
 * kpmu_watch_new() - reserve a debug register for a breakpoint
 * @attr: its attr: the breakpoint, the modes to exclude, a period of 1, and PERF_SAMPLE_PERIOD
 * @task: the task to be observed, NULL for all tasks of a CPU
 * @cpu: the CPU, -1 for any
 * @hit: called for each hit, in exception context
 * @arg: for @hit, as overflow_handler_context of its event
 *
 * Context: task, may sleep.
 * Return: the breakpoint; an ERR_PTR(): -ENOSPC if all registers are reserved, -EINVAL for an invalid
 * breakpoint, -EPERM for an address of the kernel without CAP_SYS_ADMIN, -ENOMEM.
 */
struct kpmu_watch *kpmu_watch_new(const struct perf_event_attr *attr, struct task_struct *task, int cpu,
				  perf_overflow_handler_t hit, void *arg)
{
	struct kpmu_watch *w = kzalloc(sizeof(*w), GFP_KERNEL);
	int err;

	if (!w)
		return ERR_PTR(-ENOMEM);
	raw_spin_lock_init(&w->watch_lock);
	w->cpu = -1;
	w->late = IRQ_WORK_INIT_HARD(after_switch);
	describe(&w->event, attr, cpu);
	w->event.hw.target = task;
	w->event.overflow_handler = hit;
	w->event.overflow_handler_context = arg;
	err = kpmu_ksym_call(KSYM_register_perf_hw_breakpoint, (unsigned long)&w->event, 0, 0, 0);
	if (err) {
		kfree(w);
		return ERR_PTR(err);
	}
	if (task)
		get_task_struct(task);
	return w;
}

/**
 * kpmu_watch_free() - release a breakpoint and its debug register
 * @w: the breakpoint, disarmed
 *
 * No grace period is needed.  Its hits are handled with IRQs off on the CPU where it is armed, and there
 * it is disarmed, by code that cannot interrupt them.
 *
 * Context: task, may sleep.
 */
void kpmu_watch_free(struct kpmu_watch *w)
{
	irq_work_sync(&w->late);
	kpmu_ksym_call(KSYM_release_bp_slot, (unsigned long)&w->event, 0, 0, 0);
	if (w->event.hw.target)
		put_task_struct(w->event.hw.target);
	kfree(w);
}

/* Returns the CPU on which it is armed */
static int set_moving(struct kpmu_watch *w, bool moving)
{
	unsigned long flags;
	int cpu;

	raw_spin_lock_irqsave(&w->watch_lock, flags);
	w->moving = moving;
	cpu = w->cpu;
	raw_spin_unlock_irqrestore(&w->watch_lock, flags);
	return cpu;
}

/**
 * kpmu_watch_move() - change a breakpoint
 * @w: the breakpoint, armed or not
 * @addr: its new address
 * @type: its new type, HW_BREAKPOINT_*
 * @len: its new length, HW_BREAKPOINT_LEN_*
 *
 * While it is changed, it is in no register: a CPU that arms it leaves that to this function.
 *
 * Context: task, may sleep; one caller at a time.
 * Return: 0; an error as of kpmu_watch_new(), the breakpoint is unchanged then.
 */
int kpmu_watch_move(struct kpmu_watch *w, u64 addr, u32 type, u64 len)
{
	struct perf_event_attr to = w->event.attr;
	int cpu, err;

	to.bp_addr = addr;
	to.bp_type = type;
	to.bp_len = len;
	cpu = set_moving(w, true);
	if (cpu >= 0)
		smp_call_function_single(cpu, take_out, w, true);
	err = kpmu_ksym_call(KSYM_modify_user_hw_breakpoint_check, (unsigned long)&w->event, (unsigned long)&to,
			     false, 0);
	cpu = set_moving(w, false);
	if (cpu >= 0)
		smp_call_function_single(cpu, put_in, w, true);
	return err;
}
