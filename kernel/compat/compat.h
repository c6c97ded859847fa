/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the supported kernels (6.1, 6.12, 7.2), each behind a
 * wrapper with the prefix kpmu_.  No code outside this directory tests the kernel
 * version, and no kernel name is redefined here.
 */
#ifndef KPMU_COMPAT_H
#define KPMU_COMPAT_H

#include <linux/version.h>
#include <linux/types.h>
#include <linux/cgroup.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/syscore_ops.h>
#include <linux/sysctl.h>
#include <asm/msr.h>
#include <asm/unwind.h>

/* cpuid() moved out of <asm/processor.h>, which stopped including this header */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#include <asm/cpuid/api.h>
#endif

/*
 * On hot paths, for variables that are written before they are read: most kernels have the compiler zero all
 * variables of functions (CONFIG_INIT_STACK_ALL_ZERO), an instruction for each word.
 */
#if __has_attribute(uninitialized)
#define kpmu_uninitialized	__attribute__((uninitialized))
#else
#define kpmu_uninitialized
#endif

/**
 * kpmu_irq_save_notrace() - local_irq_save() without its tracepoint
 *
 * For code that tracepoints call.  Lockdep is still informed.
 *
 * Context: any, including NMI.
 * Return: flags for kpmu_irq_restore_notrace().
 */
static __always_inline unsigned long kpmu_irq_save_notrace(void)
{
	unsigned long flags;

	raw_local_irq_save(flags);
	if (IS_ENABLED(CONFIG_PROVE_LOCKING) && !raw_irqs_disabled_flags(flags))
		lockdep_hardirqs_off(_THIS_IP_);
	return flags;
}

/**
 * kpmu_irq_restore_notrace() - local_irq_restore() without its tracepoint
 * @flags: from kpmu_irq_save_notrace()
 *
 * Context: IRQs off, on the CPU of kpmu_irq_save_notrace().
 */
static __always_inline void kpmu_irq_restore_notrace(unsigned long flags)
{
	if (IS_ENABLED(CONFIG_PROVE_LOCKING) && !raw_irqs_disabled_flags(flags)) {
		lockdep_hardirqs_on_prepare();
		lockdep_hardirqs_on(_THIS_IP_);
	}
	raw_local_irq_restore(flags);
}

/**
 * kpmu_rdmsr() - read an MSR of this CPU
 * @msr: number of the MSR, which must exist
 *
 * A plain instruction.  The usual accessors may be redirected in a Xen PV guest, where
 * kpmu uses no counters anyway.  SDM vol. 4, "Model-Specific Registers".
 *
 * Context: IRQs off, or NMI.
 * Return: the value.
 */
static __always_inline u64 kpmu_rdmsr(u32 msr)
{
	return __rdmsr(msr);
}

/**
 * kpmu_wrmsr_halves() - write an MSR of this CPU, as two halves
 * @msr: number of the MSR, which must exist
 * @low: bits 31:0
 * @high: bits 63:32
 *
 * A plain instruction, see kpmu_rdmsr().
 *
 * Context: IRQs off, or NMI.
 */
static __always_inline void kpmu_wrmsr_halves(u32 msr, u32 low, u32 high)
{
	native_wrmsr(msr, low, high);
}

/**
 * kpmu_wrmsr() - write an MSR of this CPU
 * @msr: number of the MSR, which must exist
 * @val: the value
 *
 * A plain instruction, see kpmu_rdmsr().
 *
 * Context: IRQs off, or NMI.
 */
static __always_inline void kpmu_wrmsr(u32 msr, u64 val)
{
	kpmu_wrmsr_halves(msr, val & U32_MAX, val >> 32);
}

/**
 * kpmu_rdmsr_safe() - read an MSR of this CPU that may not exist
 * @msr: number of the MSR
 * @val: set to the value; to 0 on failure
 *
 * 6.16 renamed the 64-bit MSR accessors and dropped the old names.
 *
 * Context: any, preemption off.
 * Return: 0, or an error if the MSR does not exist.
 */
static __always_inline int kpmu_rdmsr_safe(u32 msr, u64 *val)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return rdmsrq_safe(msr, val);
#else
	return rdmsrl_safe(msr, val);
#endif
}

/**
 * kpmu_wrmsr_safe() - write an MSR of this CPU that may not exist
 * @msr: number of the MSR
 * @val: the value
 *
 * 6.16 renamed the 64-bit MSR accessors and dropped the old names.
 *
 * Context: any, preemption off.
 * Return: 0, or an error if the MSR does not exist or does not accept the value.
 */
static __always_inline int kpmu_wrmsr_safe(u32 msr, u64 val)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
	return wrmsrq_safe(msr, val);
#else
	return wrmsrl_safe(msr, val);
#endif
}

/**
 * kpmu_rdpmc() - read a counter of this CPU
 * @counter: index of the counter as RDPMC takes it; bit 30 selects the fixed counters
 *
 * SDM vol. 2, RDPMC.
 *
 * Context: any, preemption off.
 * Return: the counter's value.
 */
static __always_inline u64 kpmu_rdpmc(u32 counter)
{
	u64 lo, hi;	/* RDPMC clears the upper halves of the registers */

	asm volatile("rdpmc" : "=a" (lo), "=d" (hi) : "c" (counter));
	return lo | hi << 32;
}

/**
 * kpmu_task_css() - a task's cgroup in the perf_event controller
 * @task: the task
 *
 * Context: any; under RCU, or with preemption off.
 * Return: the cgroup, without a reference; NULL without CONFIG_CGROUP_PERF.
 */
static __always_inline struct cgroup_subsys_state *
kpmu_task_css(struct task_struct *task)
{
#ifdef CONFIG_CGROUP_PERF
	return task_css(task, perf_event_cgrp_id);
#else
	return NULL;
#endif
}

/**
 * kpmu_has_cgroups() - are tasks in cgroups of the perf_event controller?
 *
 * Context: task.
 * Return: true if they are.
 */
static inline bool kpmu_has_cgroups(void)
{
	return IS_ENABLED(CONFIG_CGROUP_PERF);
}

/**
 * kpmu_is_user_task() - does a task run code in user mode?
 * @task: the task
 *
 * From 6.4 on PF_USER_WORKER covers io_uring and vhost workers.
 *
 * Context: any, including NMI.
 * Return: false for kernel threads, io_uring workers and vhost workers, else true.
 */
static __always_inline bool kpmu_is_user_task(const struct task_struct *task)
{
#ifdef PF_USER_WORKER
	return !(task->flags & (PF_KTHREAD | PF_USER_WORKER));
#else
	return !(task->flags & (PF_KTHREAD | PF_IO_WORKER));
#endif
}

/**
 * kpmu_unwind_below() - stack address from which unwind_start() resumes at a frame
 * @state: an unwind of the current task, at the frame
 *
 * Context: that of the unwind.
 * Return: the address.
 */
static inline unsigned long kpmu_unwind_below(const struct unwind_state *state)
{
#ifdef CONFIG_UNWINDER_ORC
	return state->sp - sizeof(long);
#else
	return (unsigned long)state->bp - sizeof(long);
#endif
}

/**
 * kpmu_task_is_runnable() - is a task that is being switched out still runnable?
 * @task: the outgoing task
 *
 * 6.12 delays the dequeue: a task that blocks may still be on the run queue.
 *
 * Context: under the run-queue lock, IRQs off.
 * Return: true if it was preempted, false if it blocks.
 */
static __always_inline bool kpmu_task_is_runnable(struct task_struct *task)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	return task_is_runnable(task);
#else
	return task->on_rq;
#endif
}

/**
 * kpmu_vma_is_heap() - does a mapping overlap the brk() heap?
 * @vma: the mapping
 *
 * Context: task, under the mmap lock.
 * Return: true if it does.
 */
static inline bool kpmu_vma_is_heap(struct vm_area_struct *vma)
{
	return vma->vm_start < vma->vm_mm->brk &&
	       vma->vm_end > vma->vm_mm->start_brk;
}

/**
 * kpmu_vma_is_stack() - is a mapping the initial thread's stack?
 * @vma: the mapping
 *
 * Context: task, under the mmap lock.
 * Return: true if it is.
 */
static inline bool kpmu_vma_is_stack(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return vma_is_initial_stack(vma);
#else
	return vma->vm_start <= vma->vm_mm->start_stack &&
	       vma->vm_end >= vma->vm_mm->start_stack;
#endif
}

/**
 * kpmu_hrtimer_setup() - initialize an hrtimer
 * @timer: the timer
 * @fn: its callback
 * @clock: its clock, CLOCK_*
 * @mode: HRTIMER_MODE_*, also for hrtimer_start()
 *
 * From 6.15 on the callback is an argument of the set-up call.
 *
 * Context: any but NMI.
 */
static inline void kpmu_hrtimer_setup(struct hrtimer *timer,
				      enum hrtimer_restart (*fn)(struct hrtimer *),
				      clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
	hrtimer_setup(timer, fn, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
#endif
}

/**
 * kpmu_ftrace_arg() - argument of the traced function
 * @fregs: registers, from ftrace
 * @n: number of the argument, 0 to 4
 *
 * Context: an ftrace callback.
 * Return: the argument; bits above its type's width are undefined.
 */
static __always_inline unsigned long
kpmu_ftrace_arg(struct ftrace_regs *fregs, int n)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return ftrace_regs_get_argument(fregs, n);
#else
	const struct pt_regs *regs = &fregs->regs;

	switch (n) {
	case 0: return regs->di;
	case 1: return regs->si;
	case 2: return regs->dx;
	case 3: return regs->cx;
	default: return regs->r8;
	}
#endif
}

/**
 * kpmu_regs_are_saved() - check whether registers were saved by an interrupt or exception
 * @regs: the registers; others only hold the stack pointer to unwind from
 *
 * Saved flags have a bit that is always set (SDM vol. 1, "EFLAGS Register").
 *
 * Context: any.
 * Return: true if they are a frame of their own.
 */
static inline bool kpmu_regs_are_saved(const struct pt_regs *regs)
{
	return regs->flags & X86_EFLAGS_FIXED;
}

/**
 * kpmu_raw_of_sample() - raw record (tracepoint fields) of a sample of native perf
 * @data: the sample
 * @raw: set to the record; unchanged without one
 * @size: set to its size in bytes; unchanged without one
 *
 * Context: overflow handler of a perf_event; any, including NMI.
 */
static inline void kpmu_raw_of_sample(const struct perf_sample_data *data,
				      const void **raw, u32 *size)
{
	/* Without the flag data->raw is not initialized */
	if (!(data->sample_flags & PERF_SAMPLE_RAW) || !data->raw)
		return;
	*raw = data->raw->frag.data;
	*size = data->raw->frag.size;
}

/**
 * kpmu_addr_of_sample() - data address of a sample of native perf
 * @data: the sample; data->addr is not initialized if there is none
 *
 * Context: overflow handler of a perf_event; any, including NMI.
 * Return: the address, 0 if there is none.
 */
static inline u64 kpmu_addr_of_sample(const struct perf_sample_data *data)
{
	return data->sample_flags & PERF_SAMPLE_ADDR ? data->addr : 0;
}

/**
 * kpmu_vm_flags_set() - set flags of a mapping
 * @vma: the mapping
 * @flags: VM_*, in addition to those it has
 *
 * From 6.3 on a mapping's flags must not be written directly.
 *
 * Context: task, under the mmap lock for writing: .mmap of a file.
 */
static inline void kpmu_vm_flags_set(struct vm_area_struct *vma,
				     unsigned long flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, flags);
#else
	vma->vm_flags |= flags;
#endif
}

/**
 * kpmu_zap_vma() - unmap all pages that remap_pfn_range() has put into a mapping
 * @vma: the mapping
 *
 * Context: task, under the mmap lock; may sleep.
 */
static inline void kpmu_zap_vma(struct vm_area_struct *vma)
{
	unsigned long size = vma->vm_end - vma->vm_start;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
	zap_special_vma_range(vma, vma->vm_start, size);
#else
	zap_vma_ptes(vma, vma->vm_start, size);
#endif
}

/**
 * kpmu_ftrace_set_ip() - set where execution continues after an ftrace callback
 * @fregs: registers, from ftrace
 * @ip: the address
 *
 * Context: an ftrace callback with FTRACE_OPS_FL_IPMODIFY.
 */
static __always_inline void
kpmu_ftrace_set_ip(struct ftrace_regs *fregs, unsigned long ip)
{
#ifdef ftrace_regs_set_instruction_pointer
	ftrace_regs_set_instruction_pointer(fregs, ip);
#else
	ftrace_instruction_pointer_set(fregs, ip);
#endif
}

/* Before 6.5 a sysctl table ends with an empty entry; later it must not */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define KPMU_SYSCTL_END
#else
#define KPMU_SYSCTL_END	{ }
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define KPMU_SYSCTL_CONST const
#else
#define KPMU_SYSCTL_CONST
#endif

/* 6.19 gave the system-suspend callbacks an argument and a separate list node */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define KPMU_SYSCORE_ARG void *unused
#define KPMU_SYSCORE(name, down, up)					\
	static const struct syscore_ops name##_ops = {			\
		.suspend = down, .resume = up };			\
	static struct syscore name = { .ops = &name##_ops }
#define kpmu_syscore_register(s)	register_syscore(s)
#define kpmu_syscore_unregister(s)	unregister_syscore(s)
#else
#define KPMU_SYSCORE_ARG void
#define KPMU_SYSCORE(name, down, up)					\
	static struct syscore_ops name = { .suspend = down, .resume = up }
#define kpmu_syscore_register(s)	register_syscore_ops(s)
#define kpmu_syscore_unregister(s)	unregister_syscore_ops(s)
#endif

/**
 * kpmu_class_create() - create a device class of this module
 * @name: its name in sysfs
 *
 * 6.4 removed the owner argument of class_create().
 *
 * Context: task, may sleep.
 * Return: the class, or an ERR_PTR().
 */
static inline struct class *kpmu_class_create(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create(name);
#else
	return class_create(THIS_MODULE, name);
#endif
}

/* 6.2 made the device argument of the devnode callback const */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define KPMU_DEVNODE_CONST const
#else
#define KPMU_DEVNODE_CONST
#endif

/* 6.16 removed the attr argument of security_perf_event_open() */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define KPMU_LSM_OPEN_TAKES_ATTR 0
#else
#define KPMU_LSM_OPEN_TAKES_ATTR 1
#endif

/* 6.18 renamed the usual workqueues; the old names log a warning */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define KPMU_SYSTEM_WQ	system_percpu_wq
#define KPMU_UNBOUND_WQ	system_dfl_wq
#else
#define KPMU_SYSTEM_WQ	system_wq
#define KPMU_UNBOUND_WQ	system_unbound_wq
#endif

#endif
