// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacing kernel functions.  A hook at a function's entry can neither refuse
 * the call nor see its end; a replacement can.  This uses ftrace's support for
 * live patches: the callback changes where execution continues.  Ftrace allows
 * one such user of a function at a time.
 *
 * The replacement calls the function itself behind its ftrace call site, so the
 * call is not diverted again, and does not depend on what other tracers do to
 * the return address.  Other tracers see each call once.
 */
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "compat.h"
#include "hook.h"
#include "ksym.h"

static DEFINE_MUTEX(diverts_lock);
static LIST_HEAD(sets);

/* As for hooks, the address of a function is learnt at its first call */
static struct kpmu_divert *divert_of(struct kpmu_diverts *set, unsigned long ip)
{
	struct kpmu_divert *table = set->table;
	char name[KSYM_SYMBOL_LEN];
	int i;

	for (i = 0; i < set->n; i++)
		if (READ_ONCE(table[i].ip) == ip)
			return &table[i];
	sprint_symbol_no_offset(name, ip);
	for (i = 0; i < set->n; i++) {
		if (!strcmp(table[i].func, name)) {
			WRITE_ONCE(table[i].ip, ip);
			return &table[i];
		}
	}
	return NULL;
}

static void notrace divert_entry(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kpmu_divert *d;

	d = divert_of(container_of(ops, struct kpmu_diverts, ops), ip);
	if (!d)
		return;
	if (!d->pins)
		atomic_inc(&d->running);
	else if (!try_module_get(THIS_MODULE))
		return;
	atomic_long_inc(&d->hits);
	kpmu_ftrace_set_ip(fregs, (unsigned long)d->instead);
}

/**
 * kpmu_divert_call2() - call a diverted function itself
 * @d: the function, which has been diverted to the caller
 * @arg: its first argument
 * @arg2: its second argument
 *
 * Context: as for the function.
 * Return: its return register; narrow it to the function's return type.
 */
unsigned long kpmu_divert_call2(const struct kpmu_divert *d, unsigned long arg,
				unsigned long arg2)
{
	return kpmu_thunk(READ_ONCE(d->ip) + MCOUNT_INSN_SIZE, arg, arg2, 0, 0, 0);
}

/**
 * kpmu_diverts_register() - divert functions to their replacements
 * @set: the functions, must stay valid; .ok is set for those that are diverted
 *
 * Context: may sleep.
 * Return: 0 if at least one is diverted; else an error.
 */
int kpmu_diverts_register(struct kpmu_diverts *set)
{
	struct kpmu_divert *table = set->table;
	int i, err, any = 0;

	set->ops = (struct ftrace_ops) {
		.func = divert_entry,
		.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
	};
	for (i = 0; i < set->n; i++) {
		table[i].ok = !kpmu_ftrace_filter(&set->ops, table[i].func);
		any |= table[i].ok;
	}
	err = any ? register_ftrace_function(&set->ops) : -ENOENT;
	if (err) {
		ftrace_free_filter(&set->ops);
		for (i = 0; i < set->n; i++)
			table[i].ok = false;
		return err;
	}
	mutex_lock(&diverts_lock);
	list_add_tail(&set->node, &sets);
	mutex_unlock(&diverts_lock);
	return 0;
}

/**
 * kpmu_diverts_show() - print the diverted functions to the caps file
 * @m: output
 *
 * Context: may sleep.
 */
void kpmu_diverts_show(struct seq_file *m)
{
	struct kpmu_diverts *set;
	struct kpmu_divert *d;

	mutex_lock(&diverts_lock);
	list_for_each_entry(set, &sets, node)
		for (d = set->table; d < set->table + set->n; d++)
			seq_printf(m, "%-26s %-8s %s (%ld calls)\n", d->func,
				   d->ok ? "ok" : "missing", d->feature,
				   atomic_long_read(&d->hits));
	mutex_unlock(&diverts_lock);
}

/**
 * kpmu_diverts_unregister() - stop diverting, and wait for calls in progress
 * @set: from kpmu_diverts_register(), successful or not
 *
 * Context: may sleep.
 */
void kpmu_diverts_unregister(struct kpmu_diverts *set)
{
	int i, any = 0;

	for (i = 0; i < set->n; i++)
		any |= set->table[i].ok;
	if (!any)
		return;
	mutex_lock(&diverts_lock);
	list_del(&set->node);
	mutex_unlock(&diverts_lock);
	kpmu_ftrace_leave(&set->ops);
	ftrace_free_filter(&set->ops);
	for (i = 0; i < set->n; i++)
		while (atomic_read(&set->table[i].running))
			msleep(20);
	/* A replacement may still execute between kpmu_divert_done() and its return */
	synchronize_rcu_tasks();
}
