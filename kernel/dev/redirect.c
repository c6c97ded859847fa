// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redirect of the system call perf_event_open(2) to kpmu: sysctl kernel.kpmu.redirect.
 *
 * Programs open several events and compare them, so a change of the sysctl must not
 * give a running program some events of kpmu and some of the kernel's own perf.  So
 * the value at the start of a process (fork) holds for its lifetime: the times of the
 * last changes are recorded, and the start time is looked up among them.  The only
 * exceptions are groups, whose members are opened where their leader is, and bpf-output events, which are
 * always the kernel's own.
 *
 * In-kernel users of perf make no system calls and are not affected.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/capability.h>
#include <linux/cgroup.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/sysctl.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include <uapi/linux/kpmu.h>

#include "../compat/compat.h"
#include "../compat/hook.h"
#include "../compat/ksym.h"
#include "dev.h"

static bool redirect;
module_param(redirect, bool, 0444);
MODULE_PARM_DESC(redirect, "serve perf_event_open(2) of new processes from the start");

/*
 * Number of changes that are recorded; after an odd total of changes the redirect is
 * on.  Processes older than the record are served by the kernel.  A change takes at
 * least SWITCH_MS, so that the record covers a minimum of time.
 */
#define SWITCHES	1024
#define SWITCH_MS	10

static DEFINE_SPINLOCK(history_lock);
static u64 switched[SWITCHES];
static unsigned int nr_switches;

static bool was_on_at(u64 when)
{
	unsigned int i, last;
	bool on;

	spin_lock(&history_lock);
	last = nr_switches > SWITCHES ? round_up(nr_switches - SWITCHES, 2) : 0;
	for (i = nr_switches; i > last; i--)
		if (when >= switched[(i - 1) % SWITCHES])
			break;
	on = i & 1;
	spin_unlock(&history_lock);
	return on;
}

static void note_switch(void)
{
	spin_lock(&history_lock);
	switched[nr_switches++ % SWITCHES] = ktime_get_boottime_ns();
	spin_unlock(&history_lock);
}

/* If set, only processes in or below this cgroup are redirected */
static struct cgroup __rcu *only;

static bool in_cgroup(void)
{
	struct cgroup *cgroup;
	bool in;

	rcu_read_lock();
	cgroup = rcu_dereference(only);
	in = !cgroup || task_under_cgroup_hierarchy(current, cgroup);
	rcu_read_unlock();
	return in;
}

/* BPF programs write to such an event, which the kernel permits only for those of its own perf */
static bool is_bpf_output(const struct kpmu_open *args)
{
	const struct perf_event_attr __user *attr = u64_to_user_ptr(args->attr);
	u64 config;
	u32 type;

	return !get_user(type, &attr->type) && type == PERF_TYPE_SOFTWARE &&
	       !get_user(config, &attr->config) && config == PERF_COUNT_SW_BPF_OUTPUT;
}

/* Whether kpmu serves this open */
static bool is_ours(const struct kpmu_open *args)
{
	struct file *file = args->group_fd == -1 ? NULL : fget(args->group_fd);
	bool ours;

	if (!file)
		return was_on_at(current->group_leader->start_boottime) && in_cgroup() &&
		       !is_bpf_output(args);
	ours = kpmu_event_of_file(file);
	fput(file);
	return ours;
}

/* Whether the type may be one of a PMU that only the kernel has */
static bool is_foreign(const struct kpmu_open *args)
{
	const struct perf_event_attr __user *attr = u64_to_user_ptr(args->attr);
	u32 type;

	return !get_user(type, &attr->type) && type >= PERF_TYPE_MAX;
}

static long open_redirected(struct kpmu_divert *d, const struct pt_regs *regs,
			    const struct kpmu_open *args)
{
	bool ours = is_ours(args);
	const char *why;
	long ret = -ENOENT;

	if (ours)
		ret = kpmu_dev_open_event(args, current, 0, &why);
	if (!ours || (ret == -ENOENT && is_foreign(args)))
		ret = kpmu_divert_call(d, (unsigned long)regs);
	kpmu_divert_done(d);
	return ret;
}

static long open_64(const struct pt_regs *regs);
static long open_32(const struct pt_regs *regs);

static struct kpmu_divert calls[] = {
	{ .func = "__x64_sys_perf_event_open", .instead = open_64,
	  .feature = "redirect", .pins = true },
	{ .func = "__ia32_sys_perf_event_open", .instead = open_32,
	  .feature = "redirect for programs of 32 bits", .pins = true },
};

static struct kpmu_diverts call_set = {
	.table = calls, .n = ARRAY_SIZE(calls),
};

/* Replacements of the system call, with its registers */
static long open_64(const struct pt_regs *regs)
{
	struct kpmu_open args = {
		.attr = regs->di, .pid = regs->si, .cpu = regs->dx,
		.group_fd = regs->r10, .flags = regs->r8,
	};

	return open_redirected(&calls[0], regs, &args);
}

static long open_32(const struct pt_regs *regs)
{
	struct kpmu_open args = {
		.attr = (u32)regs->bx, .pid = regs->cx, .cpu = regs->dx,
		.group_fd = regs->si, .flags = (u32)regs->di,
	};

	return open_redirected(&calls[1], regs, &args);
}

/**
 * kpmu_redirects() - check whether new processes are redirected, all or those of a cgroup
 *
 * Context: any.
 * Return: true if the redirect is on.
 */
bool kpmu_redirects(void)
{
	return READ_ONCE(redirect);
}

/* Serialises changes of the sysctls */
static DEFINE_MUTEX(redirect_lock);

/* Calls stay diverted when the redirect is switched off: older processes remain redirected */
static int switch_redirect(bool on)
{
	int err = 0;

	mutex_lock(&redirect_lock);
	if (on == redirect)
		goto out;
	if (on && !calls[0].ok) {
		err = kpmu_ksym_has(KSYM___x64_sys_perf_event_open) ?
		      kpmu_diverts_register(&call_set) : -EOPNOTSUPP;
		if (err) {
			pr_notice("perf_event_open(2) cannot be redirected (%d)\n", err);
			goto out;
		}
	}
	redirect = on;
	note_switch();
	msleep(SWITCH_MS);
out:
	mutex_unlock(&redirect_lock);
	return err;
}

static int switch_handler(KPMU_SYSCTL_CONST struct ctl_table *table, int write,
			  void *buf, size_t *len, loff_t *pos)
{
	int on = READ_ONCE(redirect), err;
	struct ctl_table copy = {
		.procname = table->procname, .data = &on, .maxlen = sizeof(on),
		.mode = table->mode, .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE,
	};

	if (write && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	err = proc_dointvec_minmax(&copy, write, buf, len, pos);
	return err || !write ? err : switch_redirect(on);
}

static char path[256];

static int set_cgroup(const char *name)
{
	struct cgroup *new = NULL, *old;

	if (*name) {
		new = cgroup_get_from_path(name);
		if (IS_ERR(new))
			return PTR_ERR(new);
	}
	old = rcu_replace_pointer(only, new, lockdep_is_held(&redirect_lock));
	synchronize_rcu();
	if (old)
		cgroup_put(old);
	return 0;
}

static int cgroup_handler(KPMU_SYSCTL_CONST struct ctl_table *table, int write,
			  void *buf, size_t *len, loff_t *pos)
{
	struct ctl_table copy = *table;
	char new[sizeof(path)];
	int err;

	if (write && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	mutex_lock(&redirect_lock);
	strscpy(new, path, sizeof(new));
	copy.data = new;
	err = proc_dostring(&copy, write, buf, len, pos);
	if (!err && write) {
		err = set_cgroup(new);
		if (!err)
			strscpy(path, new, sizeof(path));
	}
	mutex_unlock(&redirect_lock);
	return err;
}

static struct ctl_table table[] = {
	{
		.procname = "redirect",
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = switch_handler,
	},
	{
		.procname = "redirect_cgroup",
		.maxlen = sizeof(path),
		.mode = 0644,
		.proc_handler = cgroup_handler,
	},
	KPMU_SYSCTL_END
};

static struct ctl_table_header *header;

/**
 * kpmu_redirect_init() - register the sysctls; switch on if the module parameter is set
 *
 * Cannot fail: /dev/kpmu may be open already.
 *
 * Context: module init, after everything that an open needs.
 */
void __init kpmu_redirect_init(void)
{
	bool want = redirect;

	redirect = false;
	header = register_sysctl("kernel/kpmu", table);
	if (header)
		switch_redirect(want);
	else
		pr_err("no memory for the sysctls of the redirect\n");
}

/**
 * kpmu_redirect_exit() - end the redirect and remove the sysctls
 *
 * Context: module exit, before everything else; may sleep.
 */
void kpmu_redirect_exit(void)
{
	unregister_sysctl_table(header);
	kpmu_diverts_unregister(&call_set);
	mutex_lock(&redirect_lock);
	set_cgroup("");
	mutex_unlock(&redirect_lock);
}
