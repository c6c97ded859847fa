// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks by name.  All function hooks share one ftrace_ops, which is attached while the module
 * is loaded: to attach or detach one, ftrace walks the records of all functions of the kernel,
 * which takes as long for one function as for ten, some million instructions.  A hook that is
 * not needed returns at once.
 *
 * Permission checks rely on these hooks, so their ops is permanent: while it is
 * registered, sysctl kernel.ftrace_enabled cannot be set to 0 (EBUSY).
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
 * kpmu_ftrace_on() - check whether ftrace calls its callbacks
 *
 * It stops for good after an internal fault (ftrace_kill()).
 *
 * Context: any.
 * Return: false also if the state is unknown.
 */
bool kpmu_ftrace_on(void)
{
	const int *enabled = kpmu_ksym_data(KSYM_ftrace_enabled);

	return enabled && READ_ONCE(*enabled);
}

/**
 * kpmu_ftrace_filter() - add a function to those that an ops traces
 * @ops: not registered yet
 * @func: name of the function
 *
 * The function is added by its address if possible: to find a name, ftrace looks
 * up the names of all its functions, about 50,000.  If several functions have
 * the name, the address is that of the first.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if the function does not exist or cannot be traced; -ENOMEM.
 */
int kpmu_ftrace_filter(struct ftrace_ops *ops, const char *func)
{
	unsigned long ip = kpmu_ksym_find(func);

	if (ip)
		return ftrace_set_filter_ip(ops, ip, 0, 0);
	return ftrace_set_filter(ops, (char *)func, strlen(func), 0);
}

/**
 * kpmu_ftrace_leave() - unregister an ops
 * @ops: registered
 *
 * After ftrace_kill() kernel text is not changed any more, so the calls into the
 * module stay.  Then this function does not return: the module must not be freed.
 *
 * Context: may sleep; waits for callbacks in progress.
 */
void kpmu_ftrace_leave(struct ftrace_ops *ops)
{
	if (!unregister_ftrace_function(ops))
		return;
	pr_alert("ftrace has shut down with kpmu's callbacks attached: the module cannot be unloaded\n");
	for (;;)
		schedule_timeout_idle(MAX_SCHEDULE_TIMEOUT);
}

#define MAX_FHOOKS	16

/* In the order of kpmu_fhooks_add(): frequently called ones first */
static struct kpmu_fhook *fhooks[MAX_FHOOKS];
static int nr_fhooks;

/*
 * Find the hook of an address, which is all that the callback gets.  The address
 * of a name may not be available at load (it needs kallsyms_lookup_name()), but the
 * name of an address always is.  So a hook records its address at its first call.
 */
static struct kpmu_fhook *fhook_learn(unsigned long ip)
{
	char name[KSYM_SYMBOL_LEN];
	int i;

	sprint_symbol_no_offset(name, ip);
	for (i = 0; i < nr_fhooks; i++) {
		if (fhooks[i]->ok && !strcmp(fhooks[i]->func, name)) {
			WRITE_ONCE(fhooks[i]->ip, ip);
			return fhooks[i];
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
		if (READ_ONCE(fhooks[i]->ip) == ip) {
			h = fhooks[i];
			break;
		}
	}
	if (unlikely(!h)) {
		h = fhook_learn(ip);
		if (!h)
			return;
	}
	if (h->users && likely(!atomic_read(h->users)))
		return;
	atomic_long_inc(&h->hits);
	h->fn(fregs);
}

static struct ftrace_ops fhook_ops = {
	.func = fhook_entry,
	.flags = FTRACE_OPS_FL_PERMANENT,
};

/**
 * kpmu_fhooks_add() - add hooks to those that kpmu_fhooks_attach() attaches
 * @hooks: the hooks, must stay valid
 * @n: number of hooks
 *
 * Hooks that are added first cost least.
 *
 * Context: task; before kpmu_fhooks_attach().
 */
void kpmu_fhooks_add(struct kpmu_fhook *hooks, int n)
{
	int i;

	for (i = 0; i < n && !WARN_ON_ONCE(nr_fhooks == MAX_FHOOKS); i++)
		fhooks[nr_fhooks++] = &hooks[i];
}

/**
 * kpmu_fhooks_attach() - attach the hooks that were added
 *
 * Sets .ok of those that are attached.
 *
 * Context: may sleep.
 * Return: 0 if any hook is attached, else an error.
 */
int kpmu_fhooks_attach(void)
{
	int i, e, err = 0, any = 0;

	for (i = 0; i < nr_fhooks; i++) {
		e = kpmu_ftrace_filter(&fhook_ops, fhooks[i]->func);
		fhooks[i]->ok = !e;
		if (e)
			err = e;
		else
			any = 1;
	}
	if (any)
		err = register_ftrace_function(&fhook_ops);
	if (err)
		for (i = 0; i < nr_fhooks; i++)
			fhooks[i]->ok = false;
	return err;
}

/**
 * kpmu_fhooks_detach() - detach and forget all hooks
 *
 * Context: may sleep; waits for callbacks in progress.
 */
void kpmu_fhooks_detach(void)
{
	int i, any = 0;

	for (i = 0; i < nr_fhooks; i++)
		any |= fhooks[i]->ok;
	if (any)
		kpmu_ftrace_leave(&fhook_ops);
	ftrace_free_filter(&fhook_ops);
	nr_fhooks = 0;
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
 * @hooks: the table; .tp stays NULL for tracepoints that this kernel lacks
 * @n: number of hooks
 *
 * Context: task.
 */
void kpmu_thooks_find(struct kpmu_thook *hooks, int n)
{
	struct thook_search s = { hooks, n };

	for_each_kernel_tracepoint(thook_match, &s);
}

/* Runs after other probes, so that these count a switch for the outgoing task */
#define LAST	0

/**
 * kpmu_thook_arm() - attach a probe to its tracepoint
 * @hook: prepared by kpmu_thooks_find()
 *
 * Context: may sleep.  The caller serialises arming and disarming.
 * Return: 0; -EOPNOTSUPP if this kernel lacks the tracepoint; -ENOMEM.
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
 * kpmu_thook_disarm() - detach a probe from its tracepoint
 * @hook: attached or not
 *
 * The probe may still run on another CPU when this returns; before the module
 * is freed, call tracepoint_synchronize_unregister().
 *
 * Context: may sleep.
 */
void kpmu_thook_disarm(struct kpmu_thook *hook)
{
	if (!hook->armed)
		return;
	tracepoint_probe_unregister(hook->tp, hook->probe, NULL);
	hook->armed = false;
}
