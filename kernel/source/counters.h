/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core PMU, which has the CPU's own counters, and the slots that they share with the counters
 * of drivers' PMUs.
 *
 * What a core PMU can do is one structure, struct kpmu_core.  At module init, that of the machine is
 * chosen (pmu/table.c).  The operations of task switches and interrupts are static calls, as a
 * machine has one such structure.
 *
 * A machine may have several kinds of CPUs (hybrid), with different counters and events.  Then the
 * structure serves a core PMU for each kind, with a source and an attr.type of its own.  An event
 * with a counter belongs to one of them, and is in no plan on a CPU of another kind.
 */
#ifndef KPMU_COUNTERS_H
#define KPMU_COUNTERS_H

#include <linux/jump_label_ratelimit.h>
#include <linux/static_call.h>

#include "../abi/attr.h"
#include "holder.h"
#include "source.h"

struct kpmu_grant;
struct kpmu_pmu;
struct mm_struct;
struct seq_file;

/**
 * struct kpmu_slots - the planned assignment of events to the counters of a CPU
 * @like: assignments with the same number are alike, see kpmu_commit(); 0: not known to be
 *	like another.  To be set to 0 whenever anything else here changes, and when an event
 *	in it becomes shown (struct kpmu_hw)
 * @mask: the CPU's own counters in use
 * @driven: counters of drivers' PMUs in use (drivers.h); none of them is in @mask
 * @alt: counters whose event uses the other one of extra registers 1 and 2
 * @hw: the event of each counter in @mask and @driven
 */
struct kpmu_slots {
	u64 like;
	u32 mask;
	u32 driven;
	u32 alt;
	struct kpmu_hw *hw[KPMU_NR_SLOTS];
};

/**
 * kpmu_slots_used() - counters that have an event
 * @slots: the assignment
 *
 * Context: owner of the assignment.
 * Return: a bit each.
 */
static inline u32 kpmu_slots_used(const struct kpmu_slots *slots)
{
	return slots->mask | slots->driven;
}

/**
 * struct kpmu_core - the operations of a core PMU
 * @source: the operations on its events, on a machine with one kind of CPUs
 * @find: with several: the source for an attr of type HARDWARE, HW_CACHE, RAW or of one of its PMUs,
 *	on a CPU, or on any if this is -1; NULL if there is none
 * @kind: with several: the kind of a CPU that has been online, from 1
 * @has_type: with several: is this the attr.type of one of its PMUs?
 * @start: detect the PMU and initialise: 0, -ENODEV if the machine does not have it, or another
 *	error.  All other operations may be called afterwards, in each case
 * @end: undo @start
 * @describe: see kpmu_pmu_get(); for each kind, from 0
 * @slots: see kpmu_counters_slots(), of a kind of CPUs; 0: of all kinds together
 * @fixed: those of @slots that each count one event only
 * @width: width of the counters in bits; 0 without counters
 * @holder: their holder.  Task, IRQs on
 * @on_overflow: see kpmu_on_overflow()
 * @peek: see kpmu_counters_peek()
 * @like: see kpmu_counters_like()
 * @commit: see kpmu_commit()
 * @halt: see kpmu_counters_halt()
 * @resume: see kpmu_counters_resume()
 * @restart: see kpmu_counters_restart()
 * @update: see kpmu_counters_update()
 * @halted: see kpmu_counters_halted()
 * @hide: see kpmu_counters_hide()
 * @release: see kpmu_counters_yield()
 * @online: see kpmu_counters_online()
 * @offline: see kpmu_counters_offline()
 * @check: see kpmu_counters_check()
 * @check_pmi: see kpmu_counters_check_pmi()
 * @show: see kpmu_counters_show()
 * @rdpmc_guarded: see kpmu_rdpmc_guarded()
 * @rdpmc_grant: see kpmu_rdpmc_grant()
 * @rdpmc_share: see kpmu_rdpmc_share()
 * @rdpmc_drop: see kpmu_rdpmc_drop()
 * @rdpmc_set: see kpmu_rdpmc_set()
 * @rdpmc_get: see kpmu_rdpmc_get()
 * @adapt: see kpmu_counters_adapt(); NULL: never
 * @more: see kpmu_counters_more(); NULL: none
 * @precise: largest precise_ip of its events
 * @branches: see kpmu_branches_depth()
 * @branches_size: bytes of what is kept of a task that does not run
 * @branches_leave: see kpmu_branches_leave()
 * @branches_enter: see kpmu_branches_enter()
 * @freeze_on_smi_set: see kpmu_freeze_on_smi_set()
 * @freeze_on_smi_get: see kpmu_freeze_on_smi_get()
 */
struct kpmu_core {
	const struct kpmu_source *source;
	const struct kpmu_source *(*find)(const struct kpmu_attr *attr, int cpu);
	u8 (*kind)(int cpu);
	bool (*has_type)(u32 type);
	int (*start)(void);
	void (*end)(void);
	bool (*describe)(int n, struct kpmu_pmu *pmu);
	u32 (*slots)(u8 kind);
	u32 (*fixed)(void);
	int (*width)(void);
	enum kpmu_holder (*holder)(void);
	void (*on_overflow)(kpmu_overflow_fn fn);
	u32 (*peek)(struct kpmu_hw *const *hw, u32 n, u64 *counts);
	int (*like)(const struct kpmu_hw *hw);
	void (*commit)(struct kpmu_slots *want);
	void (*halt)(const struct kpmu_hw *hw);
	void (*resume)(const struct kpmu_hw *hw);
	void (*restart)(void);
	void (*update)(void);
	struct kpmu_hw *(*halted)(int from, int *at);
	void (*hide)(void);
	void (*release)(void);
	void (*online)(void);
	void (*offline)(void);
	const char *(*check)(const struct kpmu_slots *want);
	bool (*check_pmi)(void);
	void (*show)(struct seq_file *m, int cpu);
	void (*rdpmc_guarded)(bool yes);
	struct kpmu_grant *(*rdpmc_grant)(struct mm_struct *mm);
	void (*rdpmc_share)(struct kpmu_grant *grant);
	void (*rdpmc_drop)(struct kpmu_grant *grant);
	int (*rdpmc_set)(unsigned long knob);
	int (*rdpmc_get)(void);
	int (*adapt)(struct kpmu_attr *attr, const char **why);
	struct kpmu_pmu *(*more)(int n);
	int (*precise)(void);
	int (*branches)(void);
	size_t branches_size;
	void (*branches_leave)(struct task_struct *task, void *to);
	void (*branches_enter)(struct task_struct *task, void *from);
	int (*freeze_on_smi_set)(unsigned long val);
	int (*freeze_on_smi_get)(void);
};

/* That of this machine; constant after module init */
extern struct kpmu_core kpmu_core;

DECLARE_STATIC_CALL(kpmu_core_peek, *kpmu_core.peek);
DECLARE_STATIC_CALL(kpmu_core_like, *kpmu_core.like);
DECLARE_STATIC_CALL(kpmu_core_commit, *kpmu_core.commit);
DECLARE_STATIC_CALL(kpmu_core_halt, *kpmu_core.halt);
DECLARE_STATIC_CALL(kpmu_core_resume, *kpmu_core.resume);
DECLARE_STATIC_CALL(kpmu_core_restart, *kpmu_core.restart);
DECLARE_STATIC_CALL(kpmu_core_update, *kpmu_core.update);
DECLARE_STATIC_CALL(kpmu_core_halted, *kpmu_core.halted);
DECLARE_STATIC_CALL(kpmu_core_hide, *kpmu_core.hide);
DECLARE_STATIC_CALL(kpmu_core_branches_leave, *kpmu_core.branches_leave);
DECLARE_STATIC_CALL(kpmu_core_branches_enter, *kpmu_core.branches_enter);

/* The machine has several kinds of CPUs; set at module init */
DECLARE_STATIC_KEY_FALSE(kpmu_kinds_key);

#define KPMU_NR_KINDS	3	/* 0: all CPUs; and up to two kinds */

void kpmu_core_set(const struct kpmu_core *core);
int kpmu_counters_type(void);

/**
 * kpmu_counters_adapt() - let an event be one of another PMU that counts the same, as upstream does
 * @attr: the attr, may be changed
 * @why: set to a description of the error
 *
 * Context: task.
 * Return: 0; -ENOENT or -EOPNOTSUPP if the machine cannot count the event as it asks.
 */
static inline int kpmu_counters_adapt(struct kpmu_attr *attr, const char **why)
{
	return kpmu_core.adapt ? kpmu_core.adapt(attr, why) : 0;
}

/**
 * kpmu_counters_more() - PMUs that the CPU has beside its core PMU, with counters
 * @n: number of the PMU, from 0
 *
 * Context: any.
 * Return: the PMU, which is registered as that of a driver; NULL if there are not so many.
 */
static inline struct kpmu_pmu *kpmu_counters_more(int n)
{
	return kpmu_core.more ? kpmu_core.more(n) : NULL;
}

/**
 * kpmu_kind_of_cpu() - the kind of a CPU
 * @cpu: the CPU; or -1
 *
 * Context: any.
 * Return: the number of the kind; 0 if there is only one, or for -1.
 */
static __always_inline u8 kpmu_kind_of_cpu(int cpu)
{
	return static_branch_unlikely(&kpmu_kinds_key) && cpu >= 0 ? kpmu_core.kind(cpu) : 0;
}

/**
 * kpmu_hw_kind() - the kind of CPUs on which an event can count
 * @hw: the event
 *
 * Context: any.
 * Return: the number of the kind, 0 for all CPUs.
 */
static __always_inline u8 kpmu_hw_kind(const struct kpmu_hw *hw)
{
	return static_branch_unlikely(&kpmu_kinds_key) ? hw->source->kind : 0;
}

/**
 * kpmu_counters_own() - is an attr.type one of core PMUs?
 * @type: the type
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool kpmu_counters_own(u32 type)
{
	if (type == KPMU_TYPE_HARDWARE || type == KPMU_TYPE_HW_CACHE || type == KPMU_TYPE_RAW)
		return true;
	return static_branch_unlikely(&kpmu_kinds_key) && kpmu_core.has_type(type);
}

/**
 * kpmu_counters_slots() - the slots of the CPU's own counters
 *
 * Context: any.
 * Return: a bit each.
 */
static inline u32 kpmu_counters_slots(void)
{
	return kpmu_core.slots(0);
}

/**
 * kpmu_commit() - program this CPU's own counters according to a plan
 * @want: the counters to use and their events; events that stay on their counter
 *	continue to count; @want->like may be changed
 *
 * Two assignments are alike if they use the same counters, and each counter either has the
 * same event in both, or one event in each with the same selector, which neither samples
 * nor is shown, and needs no extra register.  If @want is like the assignment in force,
 * the counters run on: each is handed over from one event to the next by one read.
 *
 * Other PMUs: kpmu_drivers_commit().
 *
 * Context: IRQs off; NMIs may interrupt it.
 */
static __always_inline void kpmu_commit(struct kpmu_slots *want)
{
	static_call(kpmu_core_commit)(want);
}

/**
 * kpmu_counters_peek() - the counts of many events, without folding them
 * @hw: the events; those that use counters must be of the core PMU
 * @n: how many
 * @counts: where to write the counts, in the order of @hw
 *
 * Context: IRQs off, on the CPU of the events.
 * Return: how many counts were written: up to the first event that is on no counter, or that must be
 * folded to be read.
 */
static __always_inline u32 kpmu_counters_peek(struct kpmu_hw *const *hw, u32 n, u64 *counts)
{
	return static_call(kpmu_core_peek)(hw, n, counts);
}

/**
 * kpmu_counters_like() - a counter that needs no new selector for an event
 * @hw: the event; it uses counters of the core PMU or of a driver's
 *
 * If events that never ran begin there, two tasks or cgroups with the same events have them on the same
 * counters, and a switch between them hands the counters over.
 *
 * Context: IRQs off; the result is of this CPU.
 * Return: one of its counters; -1: none, or any is as good.
 */
static inline int kpmu_counters_like(const struct kpmu_hw *hw)
{
	return static_call(kpmu_core_like)(hw);
}

/**
 * kpmu_counters_check() - check this CPU's counters against the last commit
 * @want: the slots last committed
 *
 * Context: IRQs off.
 * Return: name of the first rule that is violated, NULL if none is.
 */
static inline const char *kpmu_counters_check(const struct kpmu_slots *want)
{
	return kpmu_core.check(want);
}

/**
 * kpmu_counters_check_pmi() - do all counters of the kernel stand still while a PMI is handled?
 *
 * One with a period shorter than the way out of an NMI would overflow for ever.
 *
 * Context: NMI, on this CPU.
 * Return: they do, or cannot be stopped.
 */
static inline bool kpmu_counters_check_pmi(void)
{
	return kpmu_core.check_pmi();
}

/**
 * kpmu_on_overflow() - set the overflow callback
 * @fn: overflow callback
 *
 * Context: module init, before the first event.
 */
static inline void kpmu_on_overflow(kpmu_overflow_fn fn)
{
	kpmu_core.on_overflow(fn);
}

/**
 * kpmu_counters_halt() - mark an event's counter as stopped
 * @hw: the event; ignored if it is not on a counter
 *
 * Takes effect at the end of the PMI that calls it; outside of PMIs, with kpmu_counters_update().
 *
 * Context: IRQs off or NMI, on the event's CPU.
 */
static __always_inline void kpmu_counters_halt(const struct kpmu_hw *hw)
{
	static_call(kpmu_core_halt)(hw);
}

/**
 * kpmu_counters_resume() - no longer mark an event's counter as stopped
 * @hw: the event; ignored if it is not on a counter.  Takes effect with kpmu_counters_restart().
 *
 * Context: IRQs off, on the event's CPU.
 */
static __always_inline void kpmu_counters_resume(const struct kpmu_hw *hw)
{
	static_call(kpmu_core_resume)(hw);
}

/**
 * kpmu_counters_restart() - make previous kpmu_counters_resume() calls take effect
 *
 * Context: IRQs off, on the events' CPU.
 */
static __always_inline void kpmu_counters_restart(void)
{
	static_call(kpmu_core_restart)();
}

/**
 * kpmu_counters_update() - make previous kpmu_counters_halt() calls take effect
 *
 * Context: IRQs off, on the events' CPU; for callers that do not run in a PMI.
 */
static __always_inline void kpmu_counters_update(void)
{
	static_call(kpmu_core_update)();
}

/**
 * kpmu_counters_halted() - iterate over the events whose counter is stopped
 * @from: first counter to look at
 * @at: set to the counter found
 *
 * Context: IRQs off or NMI.
 * Return: the event, NULL if there is none from @from on.
 */
static __always_inline struct kpmu_hw *kpmu_counters_halted(int from, int *at)
{
	return static_call(kpmu_core_halted)(from, at);
}

/**
 * kpmu_counters_yield() - release the counters to other users if no event needs them
 *
 * Context: task, IRQs on; does not sleep.
 */
static inline void kpmu_counters_yield(void)
{
	kpmu_core.release();
}

/**
 * kpmu_counters_offline() - release this CPU's counters before it goes offline
 *
 * Context: on the CPU, IRQs off; no event is on a counter.
 */
static inline void kpmu_counters_offline(void)
{
	kpmu_core.offline();
}

/*
 * Enabled while an event with a branch stack exists, and for up to a second after the last one, as
 * each change of the key patches kernel text
 */
extern struct static_key_false_deferred kpmu_branches_key;

/**
 * kpmu_branches_depth() - number of branches that the CPU can record
 *
 * Context: any.
 * Return: the number; 0 if it records none.
 */
static inline int kpmu_branches_depth(void)
{
	return kpmu_core.branches();
}

/**
 * kpmu_branches_leave() - a task switch begins: stop recording branches
 * @task: the outgoing task
 * @to: where to keep a call stack of it, kpmu_core.branches_size bytes; NULL if it has no event
 *	that asks for that.  One of the CPU may
 *
 * Context: IRQs off, on a task switch, before the counters change.
 */
static __always_inline void kpmu_branches_leave(struct task_struct *task, void *to)
{
	static_call(kpmu_core_branches_leave)(task, to);
}

/**
 * kpmu_branches_enter() - a task switch ends: record branches if an event asks for them
 * @task: the incoming task
 * @from: the room that kpmu_branches_leave() had for this task, or NULL
 *
 * No branch of another task is left in the records.
 *
 * Context: IRQs off, on a task switch, after the counters have changed.
 */
static __always_inline void kpmu_branches_enter(struct task_struct *task, void *from)
{
	static_call(kpmu_core_branches_enter)(task, from);
}

/**
 * kpmu_freeze_on_smi_set() - set whether counters stop in system-management mode
 * @val: 1 to stop them, 0 not to; on all CPUs, and for the kernel's own perf too
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL; -ENODEV if the CPU does not support it.
 */
static inline int kpmu_freeze_on_smi_set(unsigned long val)
{
	return kpmu_core.freeze_on_smi_set(val);
}

/**
 * kpmu_freeze_on_smi_get() - do this CPU's counters stop in system-management mode?
 *
 * Context: any.
 * Return: 0 or 1; -ENODEV if the CPU does not support it.
 */
static inline int kpmu_freeze_on_smi_get(void)
{
	return kpmu_core.freeze_on_smi_get();
}

/**
 * kpmu_counters_online() - apply settings made for all CPUs to a CPU that comes online
 *
 * Context: on the CPU, IRQs off.
 */
static inline void kpmu_counters_online(void)
{
	kpmu_core.online();
}

/**
 * kpmu_counters_show() - print the state of a CPU's counters, for debugfs
 * @m: where to print
 * @cpu: the CPU
 *
 * Context: on that CPU with IRQs off; any, if an inconsistent view is acceptable.
 */
static inline void kpmu_counters_show(struct seq_file *m, int cpu)
{
	kpmu_core.show(m, cpu);
}

#endif
