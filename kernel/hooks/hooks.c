// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks into the kernel: task switch, fork, exec, exit, prctl(2), CPU hotplug, system
 * suspend and others.
 *
 * The task switch and other frequent points are hooked only while an event needs it,
 * so without events kpmu costs nothing there.  Attaching patches kernel text, which is
 * slow, so hooks stay attached for a while after the last event.  Contexts are retired with
 * the same delay.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/capability.h>
#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "../compat/compat.h"
#include "../compat/hook.h"
#include "../compat/ksym.h"
#include "../compat/tsc.h"
#include "../life/life.h"
#include "../record/side_band.h"
#include "../sched/sched.h"
#include "hooks.h"

#define UNUSED_DELAY	HZ

static void on_switch(void *data, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
{
	bool tell = kpmu_side_any(KPMU_SIDE_OF_SWITCH);

	if (unlikely(atomic_read(&kpmu_software_switches)))
		kpmu_software_switch(prev, next);
	if (unlikely(tell))
		kpmu_side_switch(prev, next, false);
	kpmu_switch(next);
	if (unlikely(tell))
		kpmu_side_switch(next, prev, true);
}

static void on_fork(void *data, struct task_struct *task,
		    unsigned long clone_flags)
{
	kpmu_inherit(task, clone_flags);
	if (kpmu_side_any(KPMU_SIDE_OF_TASK))
		kpmu_side_fork(task);
	if (kpmu_side_any(KPMU_SIDE_OF_NAMESPACES))
		kpmu_side_namespaces(task);
}

static void on_exit(struct ftrace_regs *fregs)
{
	struct task_struct *task = (void *)kpmu_ftrace_arg(fregs, 0);

	kpmu_ctx_exit(task, kpmu_side_exit_ctx);
	if (kpmu_side_any(KPMU_SIDE_OF_TASK))
		kpmu_side_exit_cpu(task);
}

static void on_exec(struct ftrace_regs *fregs)
{
	kpmu_events_exec();
}

static void on_cgroup_attach(struct ftrace_regs *fregs)
{
	kpmu_cgroup_moved();
}

static void on_prctl_enable(struct ftrace_regs *fregs)
{
	kpmu_prctl(KPMU_OP_ENABLE);
}

static void on_prctl_disable(struct ftrace_regs *fregs)
{
	kpmu_prctl(KPMU_OP_DISABLE);
}

static void (*tell_busy)(void);

/**
 * kpmu_hooks_on_busy() - set the callback for attempts to unload a module in use
 * @fn: the callback, called in atomic context
 *
 * Context: module init.
 */
void __init kpmu_hooks_on_busy(void (*fn)(void))
{
	WRITE_ONCE(tell_busy, fn);
}

/* delete_module(2); its argument is the struct pt_regs of the system call */
static void on_unload(struct ftrace_regs *fregs)
{
	const struct pt_regs *regs = (void *)kpmu_ftrace_arg(fregs, 0);
	char name[sizeof("kpmu")];

	if (!READ_ONCE(tell_busy) || module_refcount(THIS_MODULE) < 1 ||
	    !ns_capable_noaudit(&init_user_ns, CAP_SYS_MODULE))
		return;
	if (!copy_from_user_nofault(name, (void __user *)regs->di, sizeof(name)) &&
	    !memcmp(name, "kpmu", sizeof(name)))
		tell_busy();
}

/* Tracepoints, hooked only while an event needs them */
static struct kpmu_thook thooks[KPMU_NR_LAZY_POINTS] = {
	[KPMU_LAZY_SWITCH] = { "sched_switch", on_switch,
			       "events on tasks, SWITCH records" },
	[KPMU_LAZY_FORK] = { "task_newtask", on_fork, "inherit, FORK records" },
};

static void on_rdpmc_mm(struct ftrace_regs *fregs)
{
	kpmu_counters_hide();
}

enum {
	HOOK_EXIT, HOOK_EXEC, HOOK_CGROUP, HOOK_ENABLE, HOOK_DISABLE, HOOK_RDPMC,
	HOOK_UNLOAD,
};

static struct kpmu_fhook fhooks[] = {
	[HOOK_EXIT] = { "perf_event_exit_task", on_exit,
			"values kept at a task's exit" },
	[HOOK_EXEC] = { "perf_event_exec", on_exec,
			"enable_on_exec, remove_on_exec" },
	[HOOK_CGROUP] = { "perf_cgroup_attach", on_cgroup_attach,
			  "cgroup events follow a running task at once" },
	[HOOK_ENABLE] = { "perf_event_task_enable", on_prctl_enable, "prctl" },
	[HOOK_DISABLE] = { "perf_event_task_disable", on_prctl_disable, "prctl" },
	[HOOK_RDPMC] = { "perf_clear_dirty_counters", on_rdpmc_mm,
			 "counters read by user space" },
	[HOOK_UNLOAD] = { "__x64_sys_delete_module", on_unload,
			  "the log names processes that keep the module" },
};

/**
 * kpmu_hooks_see_tasks() - check whether exec and exit of tasks are seen at present
 *
 * Events on tasks need both: by exec a task may become more privileged than its
 * observer.
 *
 * Context: any.
 * Return: whether they are.
 */
bool kpmu_hooks_see_tasks(void)
{
	return fhooks[HOOK_EXIT].ok && fhooks[HOOK_EXEC].ok && kpmu_ftrace_on();
}

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

/* Attached together with the hook of the task switch */
static struct kpmu_thook guards[] = {
	{ "sched_process_exec", on_late_exec, "events end at exec without ftrace" },
	{ "sched_process_exit", on_late_exit, "events end at exit without ftrace" },
};

static DEFINE_MUTEX(hooks_lock);
static atomic_t users[KPMU_NR_LAZY];

static unsigned long last_put;

static void drop_unused(struct work_struct *work);
static DECLARE_DELAYED_WORK(unused_work, drop_unused);

static void disarm_guards(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(guards); i++)
		kpmu_thook_disarm(&guards[i]);
}

static int arm_guards(void)
{
	int i, err = 0;

	for (i = 0; i < ARRAY_SIZE(guards) && !err; i++)
		err = kpmu_thook_arm(&guards[i]);
	if (err)
		disarm_guards();
	return err;
}

static int arm_switch(void)
{
	int err = arm_guards();

	if (err)
		return err;
	err = kpmu_thook_arm(&thooks[KPMU_LAZY_SWITCH]);
	if (err)
		disarm_guards();
	return err;
}

static int arm_hook(enum kpmu_lazy which)
{
	if (which == KPMU_LAZY_SWITCH)
		return arm_switch();
	if (which < KPMU_NR_LAZY_POINTS)
		return kpmu_thook_arm(&thooks[which]);
	return kpmu_lhook_arm(&kpmu_side_hooks[which - KPMU_NR_LAZY_POINTS]);
}

static void disarm_hook(enum kpmu_lazy which)
{
	if (which == KPMU_LAZY_SWITCH)
		disarm_guards();
	if (which < KPMU_NR_LAZY_POINTS)
		kpmu_thook_disarm(&thooks[which]);
	else
		kpmu_lhook_disarm(&kpmu_side_hooks[which - KPMU_NR_LAZY_POINTS]);
}

static bool is_armed(enum kpmu_lazy which)
{
	if (which < KPMU_NR_LAZY_POINTS)
		return thooks[which].armed;
	return kpmu_side_hooks[which - KPMU_NR_LAZY_POINTS].armed;
}

/*
 * Retire empty contexts.  Once no event has been closed for a while, also release the counters and
 * detach unused hooks.
 *
 * An active context needs the switch hook, or it would stay on its CPU and count other tasks there.
 * A hook without users gets none while hooks_lock is held, and only a user of the hook creates a
 * context.  So the contexts are checked after the users.
 */
static void drop_unused(struct work_struct *work)
{
	bool idle, left;
	int i;

	mutex_lock(&hooks_lock);
	left = kpmu_ctxs_reap(UNUSED_DELAY);
	idle = time_after_eq(jiffies, READ_ONCE(last_put) + UNUSED_DELAY);
	if (idle)
		kpmu_counters_yield();
	for (i = 0; i < KPMU_NR_LAZY; i++) {
		if (!is_armed(i) || atomic_read(&users[i]))
			continue;
		smp_mb();	/* read the users before the contexts */
		if (!left && idle && (i != KPMU_LAZY_SWITCH || !kpmu_ctxs_left()))
			disarm_hook(i);
		else
			left = true;
	}
	if (left || !idle)
		queue_delayed_work(KPMU_SYSTEM_WQ, &unused_work, UNUSED_DELAY);
	mutex_unlock(&hooks_lock);
}

static int get_hook(enum kpmu_lazy which)
{
	int err = 0;

	if (atomic_inc_not_zero(&users[which]))
		return 0;
	mutex_lock(&hooks_lock);
	err = arm_hook(which);
	if (!err)
		atomic_inc(&users[which]);
	mutex_unlock(&hooks_lock);
	return err;
}

/**
 * kpmu_hooks_get() - attach the hooks that an event needs
 * @which: the hooks, a bit for each of enum kpmu_lazy
 *
 * Context: task, may sleep.
 * Return: 0; -EOPNOTSUPP if this kernel lacks one of them; an error of attaching it.
 */
int kpmu_hooks_get(u32 which)
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
 * kpmu_hooks_put() - drop an event's use of its hooks
 * @which: as passed to kpmu_hooks_get()
 *
 * Context: task; kpmu_hooks_put_later() must follow.
 */
void kpmu_hooks_put(u32 which)
{
	for (; which; which &= which - 1)
		atomic_dec(&users[__ffs(which)]);
}

/**
 * kpmu_hooks_put_later() - schedule the detaching of unused hooks, after an event ended
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
		   t->feature, t->tp ? "" : ": no such tracepoint here");
}

static void show_function(struct seq_file *m, const char *name, bool ok,
			  const char *feature, atomic_long_t *hits)
{
	if (ok)
		seq_printf(m, "%-26s %-8s %s (%ld calls)\n", name, "ok", feature,
			   atomic_long_read(hits));
	else
		seq_printf(m, "%-26s %-8s %s: no such function here, or none to trace\n",
			   name, "missing", feature);
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
	for (i = 0; i < KPMU_NR_LAZY_FUNCS; i++)
		show_function(m, kpmu_side_hooks[i].func, kpmu_side_hooks[i].ok,
			      kpmu_side_hooks[i].feature, &kpmu_side_hooks[i].hits);
	for (i = 0; i < ARRAY_SIZE(fhooks); i++)
		show_function(m, fhooks[i].func, fhooks[i].ok, fhooks[i].feature,
			      &fhooks[i].hits);
	kpmu_diverts_show(m);
	for (i = 0; i < KSYM_NR; i++)
		seq_printf(m, "%-26s %s\n", kpmu_ksym_name(i),
			   kpmu_ksym_has(i) ? "ok" :
			   kpmu_ksym_optional(i) ? "absent   exists in other kernel versions only" :
			   "missing  not in this kernel's table of symbols");
}

/**
 * kpmu_hooks_init() - attach the permanent hooks, and look up the others
 *
 * Context: module init, may sleep.
 * Return: 0, or an error of CPU hotplug; missing hooks are no error.
 */
int __init kpmu_hooks_init(void)
{
	int err;

	kpmu_thooks_find(thooks, KPMU_NR_LAZY_POINTS);
	kpmu_thooks_find(guards, ARRAY_SIZE(guards));
	if (thooks[KPMU_LAZY_SWITCH].tp)
		kpmu_software_told_by(thooks[KPMU_LAZY_SWITCH].tp->iterator);
	kpmu_lhooks_find(kpmu_side_hooks, KPMU_NR_LAZY_FUNCS);
	err = kpmu_fhooks_register(fhooks, ARRAY_SIZE(fhooks));
	if (err)
		pr_notice("some hooks are missing (%d): see kpmu/caps in debugfs\n", err);
	kpmu_rdpmc_guarded(fhooks[HOOK_RDPMC].ok);
	hp_state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "kpmu:online",
				     start_cpu, stop_cpu);
	if (hp_state >= 0) {
		kpmu_syscore_register(&sleeper);
		return 0;
	}
	kpmu_fhooks_unregister();
	kpmu_lhooks_forget(kpmu_side_hooks, KPMU_NR_LAZY_FUNCS);
	return hp_state;
}

/**
 * kpmu_hooks_exit() - detach all hooks, and retire all contexts
 *
 * Context: module exit, no event is left; may sleep.
 */
void kpmu_hooks_exit(void)
{
	int i;

	kpmu_syscore_unregister(&sleeper);
	cancel_delayed_work_sync(&unused_work);
	for (i = 0; i < KPMU_NR_LAZY; i++)
		disarm_hook(i);
	kpmu_fhooks_unregister();
	kpmu_lhooks_forget(kpmu_side_hooks, KPMU_NR_LAZY_FUNCS);
	kpmu_prctl_drain();
	/* A probe that still runs may create a context; reap after the last one */
	tracepoint_synchronize_unregister();
	kpmu_ctxs_reap(0);
	cpuhp_remove_state(hp_state);
}
