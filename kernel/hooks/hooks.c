// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks into the kernel: task switch, fork, CPU hotplug, system suspend.  Those of functions
 * are in functions.c.
 *
 * The task switch is hooked only while an event needs it, and until the hook was called often
 * enough without need (compat/detach.h).  So without events kpmu costs nothing there, and programs
 * that open events again and again do not pay for attaching it each time.  The other hooks return
 * at once while no event needs them.  Contexts are retired UNUSED_DELAY after their last event.
 */
#include <linux/cpuhotplug.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "../compat/compat.h"
#include "../compat/hook.h"
#include "../compat/ksym.h"
#include "../compat/detach.h"
#include "../compat/tsc.h"
#include "../life/life.h"
#include "../pmu/soft/soft.h"
#include "../record/side_band.h"
#include "../sched/bucket.h"
#include "../sched/recent.h"
#include "../sched/sched.h"
#include "../sched/timeline.h"
#include "hooks.h"

#define UNUSED_DELAY	HZ

static bool sweep_switch(void);
static DEFINE_KPMU_DETACH(unused, sweep_switch);
struct kpmu_use kpmu_switch_use = { .by = &unused };

/* Number of events that need each hook, except that of the switch */
static atomic_t users[KPMU_NR_LAZY];

/* Events count switches, or have records of them */
static noinline void switch_told(struct task_struct *prev, struct task_struct *next)
{
	bool tell = kpmu_side_any(KPMU_SIDE_OF_SWITCH);

	if (atomic_read(&kpmu_software_switches))
		kpmu_software_switch(prev, next);
	if (tell)
		kpmu_side_switch(prev, next, false);
	kpmu_switch(next);
	if (tell)
		kpmu_side_switch(next, prev, true);
}

/*
 * Without users there may still be empty contexts, which leave their CPUs here.  The hook is not detached
 * while there are, so only its other calls are counted as unneeded.
 */
static __always_inline void switch_tasks(struct task_struct *prev, struct task_struct *next)
{
	this_cpu_inc(kpmu_nr_switches);
	if (unlikely(atomic_read(&kpmu_software_switches) | kpmu_side_any(KPMU_SIDE_OF_SWITCH)))
		switch_told(prev, next);
	else if (kpmu_switch_matters())
		kpmu_switch(next);
	else
		kpmu_use_none(&kpmu_switch_use);
}

static noinline void switch_with_extras(struct task_struct *prev, struct task_struct *next)
{
	kpmu_buckets_switch(next);
	kpmu_timelines_switch(next);
	switch_tasks(prev, next);
}

static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	if (static_branch_unlikely(&kpmu_extras_key))
		switch_with_extras(prev, next);
	else
		switch_tasks(prev, next);
}

static void on_fork(void *data, struct task_struct *task,
		    unsigned long clone_flags)
{
	if (!atomic_read(&users[KPMU_LAZY_FORK]))
		return;
	kpmu_inherit(task, clone_flags);
	if (kpmu_side_any(KPMU_SIDE_OF_TASK))
		kpmu_side_fork(task);
	if (kpmu_side_any(KPMU_SIDE_OF_NAMESPACES))
		kpmu_side_namespaces(task);
}

/* The hook of the switch is attached only while an event needs it */
static struct kpmu_thook thooks[KPMU_NR_LAZY_POINTS] = {
	[KPMU_LAZY_SWITCH] = { "sched_switch", on_switch,
			       "events on tasks, SWITCH records" },
	[KPMU_LAZY_FORK] = { "task_newtask", on_fork, "inherit, FORK records" },
};

/*
 * Ftrace may shut down (ftrace_kill()) while events on tasks exist.  Tracepoints still
 * work then: they end the events at the next exec or exit of the task, whatever program it
 * executes.
 */
static void end_unseen(struct task_struct *task)
{
	if (unlikely(!kpmu_hooks_see_tasks()))
		kpmu_ctx_exit(task, kpmu_side_exit_ctx);
}

static void on_late_exec(void *data, struct task_struct *task, pid_t old_pid,
			 struct linux_binprm *bprm)
{
	end_unseen(task);
}

/* Some kernels pass one more argument, which is ignored */
static void on_late_exit(void *data, struct task_struct *task)
{
	end_unseen(task);
}

static struct kpmu_thook guards[] = {
	{ "sched_process_exec", on_late_exec, "events end at exec without ftrace" },
	{ "sched_process_exit", on_late_exit, "events end at exit without ftrace" },
};

static DEFINE_MUTEX(hooks_lock);

static unsigned long last_put;

static void drop_unused(struct work_struct *work);
static DECLARE_DELAYED_WORK(unused_work, drop_unused);

static int arm_guards(void)
{
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(guards) && !err; i++)
		err = kpmu_thook_arm(&guards[i]);
	return err;
}

static void disarm_all(void)
{
	int i;

	for (i = 0; i < KPMU_NR_LAZY_POINTS; i++)
		kpmu_thook_disarm(&thooks[i]);
	for (i = 0; i < ARRAY_SIZE(guards); i++)
		kpmu_thook_disarm(&guards[i]);
}

/* The switch hook is attached, and is not being detached: another user needs no lock */
bool kpmu_switch_stays;

/*
 * Detach the switch hook if it has been unused for long enough.  Return: whether it stays, unused.
 *
 * A new user counts itself and then reads kpmu_switch_stays; here it is the other way round.  So either the
 * user is seen here and the hook stays, or the user sees that the hook may not stay and takes
 * hooks_lock.
 *
 * An active context needs the hook, or it would stay on its CPU and count other tasks there.  Only a
 * user of the hook creates a context.  So the contexts are checked after the users.
 */
static bool drop_switch_locked(void)
{
	bool used;

	lockdep_assert_held(&hooks_lock);
	if (!thooks[KPMU_LAZY_SWITCH].armed || atomic_read(&kpmu_switch_use.users))
		return false;
	if (!kpmu_use_expired(&kpmu_switch_use))
		return true;
	WRITE_ONCE(kpmu_switch_stays, false);
	smp_mb();	/* pairs with kpmu_switch_get() */
	used = atomic_read(&kpmu_switch_use.users);
	smp_mb();	/* read the users before the contexts */
	if (used || kpmu_ctxs_left()) {
		smp_store_release(&kpmu_switch_stays, true);	/* pairs with kpmu_switch_get() */
		return !used;
	}
	kpmu_thook_disarm(&thooks[KPMU_LAZY_SWITCH]);
	return false;
}

static bool sweep_switch(void)
{
	bool left;

	mutex_lock(&hooks_lock);
	left = drop_switch_locked();
	mutex_unlock(&hooks_lock);
	return left;
}

/*
 * Retire empty contexts.  Once no event has been closed for a while, also release the counters.
 * The switch hook may have been waiting for the contexts.
 */
static void drop_unused(struct work_struct *work)
{
	bool idle, left;

	mutex_lock(&hooks_lock);
	left = kpmu_ctxs_reap(UNUSED_DELAY);
	idle = time_after_eq(jiffies, READ_ONCE(last_put) + UNUSED_DELAY);
	if (idle) {
		kpmu_kept_free();
		kpmu_counters_yield();
	}
	if (left || !idle)
		queue_delayed_work(KPMU_SYSTEM_WQ, &unused_work, UNUSED_DELAY);
	else
		drop_switch_locked();
	mutex_unlock(&hooks_lock);
}

static noinline int attach_switch(void)
{
	int err;

	mutex_lock(&hooks_lock);
	/* The guards are attached unless there was no memory at init */
	err = arm_guards() ?: kpmu_thook_arm(&thooks[KPMU_LAZY_SWITCH]);
	if (!err)
		smp_store_release(&kpmu_switch_stays, true);	/* pairs with kpmu_switch_get() */
	mutex_unlock(&hooks_lock);
	return err;
}

/**
 * kpmu_switch_attach() - attach the hook of the task switch for kpmu_switch_get()
 *
 * Context: task, may sleep; the user is counted.
 * Return: 0; or an error, then the user is not counted any more.
 */
int kpmu_switch_attach(void)
{
	int err = attach_switch();

	if (err)
		kpmu_use_end(&kpmu_switch_use);
	return err;
}

static int get_hook(enum kpmu_lazy which)
{
	bool ok;

	if (which == KPMU_LAZY_SWITCH)
		return kpmu_switch_get();
	ok = which == KPMU_LAZY_FORK ? thooks[which].armed :
	     kpmu_side_hooks[which - KPMU_NR_LAZY_POINTS].ok;
	if (!ok)
		return -EOPNOTSUPP;
	atomic_inc(&users[which]);
	return 0;
}

/**
 * kpmu_hooks_get_each() - kpmu_hooks_get() for any hooks
 * @which: as there
 *
 * Context: as there.
 * Return: as there.
 */
int kpmu_hooks_get_each(u32 which)
{
	u32 got = 0, m;
	int err;

	for (m = which; m; m &= m - 1) {
		err = get_hook(__ffs(m));
		if (err) {
			kpmu_hooks_put(got);
			kpmu_hooks_put_later();
			return err;
		}
		got |= BIT(__ffs(m));
	}
	return 0;
}

/**
 * kpmu_hooks_put_each() - kpmu_hooks_put() for any hooks
 * @which: as there
 *
 * Context: as there.
 */
void kpmu_hooks_put_each(u32 which)
{
	for (; which; which &= which - 1)
		if (__ffs(which) == KPMU_LAZY_SWITCH)
			kpmu_use_end(&kpmu_switch_use);
		else
			atomic_dec(&users[__ffs(which)]);
}

/**
 * kpmu_hooks_put_later() - schedule the end of unused contexts, after an event ended
 *
 * Context: task.
 */
void kpmu_hooks_put_later(void)
{
	WRITE_ONCE(last_put, jiffies);
	if (!delayed_work_pending(&unused_work))
		queue_delayed_work(KPMU_SYSTEM_WQ, &unused_work, UNUSED_DELAY);
}

static int start_cpu(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	kpmu_cpu_online();
	/* The CPU's hotplug thread may have events, and continues without a task switch */
	kpmu_switch(current);
	local_irq_restore(flags);
	kpmu_sources_cpu_up(cpu);
	return 0;
}

static int stop_cpu(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	kpmu_cpu_offline();
	local_irq_restore(flags);
	return 0;
}

static int hp_state;

/*
 * On system suspend the last CPU is not taken offline, but its registers are lost as
 * well.
 */
static int system_sleeps(KPMU_SYSCORE_ARG)
{
	kpmu_cpu_offline();
	return 0;
}

static void system_wakes(KPMU_SYSCORE_ARG)
{
	kpmu_tsc_forget();
	kpmu_cpu_online();
	/* The task that suspended the system continues without a task switch */
	kpmu_switch(current);
}

KPMU_SYSCORE(sleeper, system_sleeps, system_wakes);

static void show_point(struct seq_file *m, const struct kpmu_thook *t)
{
	seq_printf(m, "%-26s %-8s %s%s\n", t->name, t->tp ? "ok" : "missing",
		   t->feature, !t->tp ? ": no such tracepoint here" :
		   READ_ONCE(t->armed) ? " (attached)" : "");
}

/**
 * kpmu_hooks_show() - print the state of all hooks and symbols to the caps file
 * @m: output
 *
 * Context: may sleep.
 */
void kpmu_hooks_show(struct seq_file *m)
{
	int i;

	for (i = 0; i < KPMU_NR_LAZY_POINTS; i++)
		show_point(m, &thooks[i]);
	for (i = 0; i < ARRAY_SIZE(guards); i++)
		show_point(m, &guards[i]);
	seq_printf(m, "%-26s %-8s %s\n", "ftrace", kpmu_ftrace_on() ? "ok" : "off",
		   "events on tasks");
	kpmu_functions_show(m);
	kpmu_diverts_show(m);
	for (i = 0; i < KSYM_NR; i++)
		seq_printf(m, "%-26s %s\n", kpmu_ksym_name(i),
			   kpmu_ksym_has(i) ? "ok" :
			   kpmu_ksym_optional(i) ? "absent   exists in other kernel versions only" :
			   "missing  not in this kernel's table of symbols");
}

/**
 * kpmu_hooks_init() - attach the hooks of functions, and look up the others
 *
 * Context: module init, may sleep.
 * Return: 0, or an error of CPU hotplug; missing hooks are no error.
 */
int __init kpmu_hooks_init(void)
{
	int i;

	kpmu_thooks_find(thooks, KPMU_NR_LAZY_POINTS);
	kpmu_thooks_find(guards, ARRAY_SIZE(guards));
	if (thooks[KPMU_LAZY_SWITCH].tp)
		kpmu_software_told_by(thooks[KPMU_LAZY_SWITCH].tp->iterator);
	for (i = 0; i < KPMU_NR_LAZY_FUNCS; i++)
		kpmu_side_hooks[i].users = &users[KPMU_NR_LAZY_POINTS + i];
	kpmu_functions_init();
	kpmu_prctl_init();
	kpmu_thook_arm(&thooks[KPMU_LAZY_FORK]);
	arm_guards();
	hp_state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "kpmu:online",
				     start_cpu, stop_cpu);
	if (hp_state >= 0) {
		kpmu_syscore_register(&sleeper);
		return 0;
	}
	disarm_all();
	tracepoint_synchronize_unregister();
	kpmu_prctl_exit();
	kpmu_functions_exit();
	return hp_state;
}

/**
 * kpmu_hooks_exit() - detach all hooks, and retire all contexts
 *
 * Context: module exit, no event is left; may sleep.
 */
void kpmu_hooks_exit(void)
{
	kpmu_syscore_unregister(&sleeper);
	cancel_delayed_work_sync(&unused_work);
	mutex_lock(&hooks_lock);
	disarm_all();
	mutex_unlock(&hooks_lock);
	kpmu_prctl_exit();
	kpmu_functions_exit();
	/* A probe that still runs may create a context; reap after the last one */
	tracepoint_synchronize_unregister();
	kpmu_detach_exit(&unused);
	kpmu_ctxs_reap(0);
	cpuhp_remove_state(hp_state);
}
