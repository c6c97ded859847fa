// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks by name.  All functions share one ftrace_ops: attaching patches the
 * kernel's text, which costs the same for one function as for ten.
 *
 * Permissions rest on these hooks, so they are permanent: while they are in place
 * sysctl kernel.ftrace_enabled cannot be set to 0 (EBUSY).
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "hook.h"
#include "ksym.h"

/**
 * kpmu_ftrace_on() - does ftrace call its users?
 *
 * It does not once it has found a fault of its own (ftrace_kill()).  If that cannot
 * be known, the answer is no.
 *
 * Context: any.
 */
bool kpmu_ftrace_on(void)
{
	const int *enabled = kpmu_ksym_data(KSYM_ftrace_enabled);

	return enabled && READ_ONCE(*enabled);
}

/**
 * kpmu_ftrace_filter() - add a function to those whose entry is told of
 * @ops: not registered yet
 * @func: its name
 *
 * By its address: ftrace finds a name by looking up the name of each function
 * that it knows, some 50,000.  Of several functions of one name it is the first.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if there is no such function or it cannot be traced; -ENOMEM.
 */
int kpmu_ftrace_filter(struct ftrace_ops *ops, const char *func)
{
	unsigned long ip = kpmu_ksym_find(func);

	if (ip)
		return ftrace_set_filter_ip(ops, ip, 0, 0);
	return ftrace_set_filter(ops, (char *)func, strlen(func), 0);
}

/**
 * kpmu_ftrace_leave() - ftrace is to call us no more
 * @ops: registered
 *
 * A dead ftrace does not change the kernel's text any more, so its calls to the
 * module stay.  Then this does not return: the module must not be freed.
 *
 * Context: may sleep, waits for callbacks under way.
 */
void kpmu_ftrace_leave(struct ftrace_ops *ops)
{
	if (!unregister_ftrace_function(ops))
		return;
	pr_alert("ftrace is dead and still calls kpmu, which cannot be unloaded\n");
	for (;;)
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}

static struct kpmu_fhook *fhooks;
static int nr_fhooks;

/*
 * Which hook is this?  The callback gets an address only, and addresses need
 * kallsyms lookups that may be out of reach at load; names can be had from an
 * address at any time.  So each hook learns its address when first called.
 */
static struct kpmu_fhook *fhook_learn(unsigned long ip)
{
	char name[KSYM_SYMBOL_LEN];
	int i;

	sprint_symbol_no_offset(name, ip);
	for (i = 0; i < nr_fhooks; i++) {
		if (fhooks[i].ok && !strcmp(fhooks[i].func, name)) {
			WRITE_ONCE(fhooks[i].ip, ip);
			return &fhooks[i];
		}
	}
	return NULL;
}

static void notrace fhook_entry(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kpmu_fhook *h = NULL;
	int i;

	for (i = 0; i < nr_fhooks; i++) {
		if (READ_ONCE(fhooks[i].ip) == ip) {
			h = &fhooks[i];
			break;
		}
	}
	if (!h)
		h = fhook_learn(ip);
	if (!h)
		return;
	atomic_long_inc(&h->hits);
	h->fn(fregs);
}

static struct ftrace_ops fhook_ops = {
	.func = fhook_entry,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

/**
 * kpmu_fhooks_register() - attach to a table of functions
 * @hooks: the table, must stay; .ok tells afterwards which are attached
 * @n: its rows
 *
 * Context: may sleep.
 * Return: 0 if anything was attached, else the last error.
 */
int kpmu_fhooks_register(struct kpmu_fhook *hooks, int n)
{
	int i, err = 0, any = 0;

	fhooks = hooks;
	nr_fhooks = n;
	for (i = 0; i < n; i++) {
		int e = kpmu_ftrace_filter(&fhook_ops, hooks[i].func);

		hooks[i].ok = !e;
		if (e)
			err = e;
		else
			any = 1;
	}
	if (any)
		err = register_ftrace_function(&fhook_ops);
	if (err && !any)
		return err;
	if (err)
		for (i = 0; i < n; i++)
			hooks[i].ok = false;
	return err;
}

void kpmu_fhooks_unregister(void)
{
	int i, any = 0;

	for (i = 0; i < nr_fhooks; i++)
		any |= fhooks[i].ok;
	if (any)
		kpmu_ftrace_leave(&fhook_ops);
	ftrace_free_filter(&fhook_ops);
	nr_fhooks = 0;
}

static void notrace lhook_entry(unsigned long ip, unsigned long parent_ip,
				struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kpmu_lhook *h = container_of(ops, struct kpmu_lhook, ops);

	atomic_long_inc(&h->hits);
	h->fn(fregs);
}

/**
 * kpmu_lhooks_find() - which functions of a table can be attached to?
 * @hooks: the table, must stay; .ok tells afterwards
 * @n: its rows
 *
 * Context: may sleep.
 */
void kpmu_lhooks_find(struct kpmu_lhook *hooks, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		hooks[i].ops.func = lhook_entry;
		hooks[i].ok = !kpmu_ftrace_filter(&hooks[i].ops, hooks[i].func);
	}
}

/**
 * kpmu_lhooks_forget() - undo kpmu_lhooks_find()
 * @hooks: the table, nothing of it armed
 * @n: its rows
 */
void kpmu_lhooks_forget(struct kpmu_lhook *hooks, int n)
{
	int i;

	for (i = 0; i < n; i++)
		ftrace_free_filter(&hooks[i].ops);
}

/**
 * kpmu_lhook_arm() - attach to a function
 * @hook: found before by kpmu_lhooks_find()
 *
 * Context: may sleep.  The caller serialises arming and disarming.
 */
int kpmu_lhook_arm(struct kpmu_lhook *hook)
{
	int err;

	if (hook->armed)
		return 0;
	if (!hook->ok)
		return -EOPNOTSUPP;
	err = register_ftrace_function(&hook->ops);
	hook->armed = !err;
	return err;
}

/**
 * kpmu_lhook_disarm() - attach no more
 * @hook: the function
 *
 * Context: may sleep, waits for those who are in the hook.
 */
void kpmu_lhook_disarm(struct kpmu_lhook *hook)
{
	if (!hook->armed)
		return;
	kpmu_ftrace_leave(&hook->ops);
	hook->armed = false;
}

struct thook_search {
	struct kpmu_thook *hooks;
	int n;
};

static void thook_match(struct tracepoint *tp, void *priv)
{
	struct thook_search *s = priv;
	int i;

	for (i = 0; i < s->n; i++)
		if (!strcmp(tp->name, s->hooks[i].name))
			s->hooks[i].tp = tp;
}

/**
 * kpmu_thooks_find() - look up the tracepoints of a table
 * @hooks: the table; .tp stays NULL for what this kernel lacks
 * @n: its rows
 */
void kpmu_thooks_find(struct kpmu_thook *hooks, int n)
{
	struct thook_search s = { hooks, n };

	for_each_kernel_tracepoint(thook_match, &s);
}

/* After other listeners: an event that counts a switch counts it for who leaves */
#define LAST	0

/**
 * kpmu_thook_arm() - attach the probe
 * @hook: found before by kpmu_thooks_find()
 *
 * Context: may sleep.  The caller serialises arming and disarming.
 */
int kpmu_thook_arm(struct kpmu_thook *hook)
{
	int err;

	if (hook->armed)
		return 0;
	if (!hook->tp)
		return -EOPNOTSUPP;
	err = tracepoint_probe_register_prio(hook->tp, hook->probe, NULL,
					     LAST);
	hook->armed = !err;
	return err;
}

/**
 * kpmu_thook_disarm() - detach the probe
 * @hook: the tracepoint
 *
 * A probe may still run on another CPU when this returns; before the module
 * goes, call tracepoint_synchronize_unregister().
 */
void kpmu_thook_disarm(struct kpmu_thook *hook)
{
	if (!hook->armed)
		return;
	tracepoint_probe_unregister(hook->tp, hook->probe, NULL);
	hook->armed = false;
}
