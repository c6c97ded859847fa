// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel functions called through one of ours.  A hook at a function's entry
 * cannot say no and does not see its end; a function in its place does both.
 * Ftrace knows the way, for live patches: the callback changes where the call
 * goes on.  It lets one such user have a function at a time.
 *
 * The replacement gets to the function itself behind ftrace's place in it, so the call
 * is not diverted again, whatever other tracers have made of the return address.
 * They see one call for one.
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

/* As with hooks, an address learns its name when it is first called */
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
 * kpmu_divert_call() - call the function itself
 * @d: the function, which has been diverted to the caller
 * @arg: its argument
 *
 * Context: that of the function.
 * Return: its return register; narrow it to the function's own type.
 */
unsigned long kpmu_divert_call(const struct kpmu_divert *d, unsigned long arg)
{
	return kpmu_thunk(READ_ONCE(d->ip) + MCOUNT_INSN_SIZE, arg, 0, 0, 0, 0);
}

/**
 * kpmu_diverts_register() - put functions in the place of others
 * @set: the functions, must stay; .ok tells afterwards which are diverted
 *
 * Context: may sleep.
 * Return: 0 if every function that this kernel has is diverted, else an error;
 * then none is.
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
 * kpmu_diverts_show() - their rows of the caps file
 * @m: where to print
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
 * kpmu_diverts_unregister() - end a set, and wait for calls under way
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
	/* The last instructions of a replacement, after it said it was done */
	synchronize_rcu_tasks();
}
