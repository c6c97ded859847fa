// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks at the entry of functions.  They are attached while the module is loaded: permissions
 * depend on those of exec and exit, and attaching any of them later would cost millions of
 * instructions.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/capability.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../compat/bpf_map.h"
#include "../compat/compat.h"
#include "../compat/hook.h"
#include "../compat/ksym.h"
#include "../life/life.h"
#include "../record/side_band.h"
#include "../sched/bucket.h"
#include "../sched/sched.h"
#include "../source/user_read.h"
#include "hooks.h"

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
	kpmu_buckets_moved();
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

static void on_rdpmc_mm(struct ftrace_regs *fregs)
{
	kpmu_counters_hide();
}

static void on_read_local(struct ftrace_regs *fregs)
{
	kpmu_bpf_map_read((void *)kpmu_ftrace_arg(fregs, 0));
}

enum {
	HOOK_EXIT, HOOK_EXEC, HOOK_CGROUP, HOOK_RDPMC, HOOK_UNLOAD, HOOK_READ_LOCAL,
};

static struct kpmu_fhook fhooks[] = {
	[HOOK_EXIT] = { "perf_event_exit_task", on_exit,
			"values kept at a task's exit" },
	[HOOK_EXEC] = { "perf_event_exec", on_exec,
			"enable_on_exec, remove_on_exec" },
	[HOOK_CGROUP] = { "perf_cgroup_attach", on_cgroup_attach,
			  "cgroup events and buckets follow a running task at once" },
	[HOOK_RDPMC] = { "perf_clear_dirty_counters", on_rdpmc_mm,
			 "counters read by user space" },
	[HOOK_UNLOAD] = { "__x64_sys_delete_module", on_unload,
			  "the log names processes that keep the module" },
	[HOOK_READ_LOCAL] = { "perf_event_read_local", on_read_local,
			      "events of tasks in BPF maps are read", &kpmu_bpf_map_tasks },
};

static const int unseen;
const int *kpmu_tasks_seen = &unseen;

static bool are_tasks_hooked(void)
{
	return fhooks[HOOK_EXIT].ok && fhooks[HOOK_EXEC].ok && kpmu_ksym_has(KSYM_ftrace_enabled);
}

static void show_function(struct seq_file *m, const struct kpmu_fhook *h)
{
	if (h->ok)
		seq_printf(m, "%-26s %-8s %s (%ld calls)\n", h->func, "ok", h->feature,
			   atomic_long_read(&h->hits));
	else
		seq_printf(m, "%-26s %-8s %s: no such function here, or none to trace\n",
			   h->func, "missing", h->feature);
}

/**
 * kpmu_functions_show() - print the state of the hooks of functions to the caps file
 * @m: output
 *
 * Context: may sleep.
 */
void kpmu_functions_show(struct seq_file *m)
{
	int i;

	for (i = 0; i < KPMU_NR_LAZY_FUNCS; i++)
		show_function(m, &kpmu_side_hooks[i]);
	for (i = 0; i < ARRAY_SIZE(fhooks); i++)
		show_function(m, &fhooks[i]);
}

/**
 * kpmu_functions_init() - attach the hooks of functions
 *
 * Missing hooks are no error; the caps file shows them.
 *
 * Context: module init, may sleep.
 */
void __init kpmu_functions_init(void)
{
	int err;

	/* perf_event_mmap() is called most often, and is the first of these */
	kpmu_fhooks_add(kpmu_side_hooks, KPMU_NR_LAZY_FUNCS);
	kpmu_fhooks_add(fhooks, ARRAY_SIZE(fhooks));
	err = kpmu_fhooks_attach();
	if (err)
		pr_notice("some hooks are missing (%d): see kpmu/caps in debugfs\n", err);
	if (are_tasks_hooked())
		kpmu_tasks_seen = kpmu_ksym_data(KSYM_ftrace_enabled);
	kpmu_rdpmc_guarded(fhooks[HOOK_RDPMC].ok);
}

/**
 * kpmu_functions_exit() - detach the hooks of functions
 *
 * Context: module exit, may sleep; waits for callbacks in progress.
 */
void kpmu_functions_exit(void)
{
	kpmu_fhooks_detach();
}
