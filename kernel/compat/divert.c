// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel functions called through one of ours.  A hook at a function's entry
 * cannot say no and does not see its end; a function in its place does both.
 * Ftrace knows the way, for live patches: the callback changes where the call
 * goes on.  It lets one such user have a function at a time.
 */
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "compat.h"
#include "hook.h"

static struct kpmu_divert *diverts;
static int nr_diverts;

/* As with hooks, an address learns its name when it is first called */
static struct kpmu_divert *divert_of(unsigned long ip)
{
	char name[KSYM_SYMBOL_LEN];
	int i;

	for (i = 0; i < nr_diverts; i++)
		if (READ_ONCE(diverts[i].ip) == ip)
			return &diverts[i];
	sprint_symbol_no_offset(name, ip);
	for (i = 0; i < nr_diverts; i++) {
		if (!strcmp(diverts[i].func, name)) {
			WRITE_ONCE(diverts[i].ip, ip);
			return &diverts[i];
		}
	}
	return NULL;
}

static void notrace divert_entry(unsigned long ip, unsigned long parent_ip,
				 struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kpmu_divert *d;

	/* The replacement calls the function itself */
	if (within_module(parent_ip, THIS_MODULE))
		return;
	d = divert_of(ip);
	if (!d)
		return;
	atomic_inc(&d->running);
	atomic_long_inc(&d->hits);
	kpmu_ftrace_set_ip(fregs, (unsigned long)d->instead);
}

static struct ftrace_ops divert_ops = {
	.func = divert_entry,
	.flags = FTRACE_OPS_FL_IPMODIFY,
};

/**
 * kpmu_diverts_register() - put functions in the place of others
 * @table: the functions, must stay; .ok tells afterwards which are diverted
 * @n: its rows
 *
 * Context: may sleep.
 * Return: 0 if every function that this kernel has is diverted, else an error;
 * then none is.
 */
int kpmu_diverts_register(struct kpmu_divert *table, int n)
{
	int i, err, any = 0;

	diverts = table;
	nr_diverts = n;
	for (i = 0; i < n; i++) {
		table[i].ok = !ftrace_set_filter(&divert_ops, (char *)table[i].func,
						 strlen(table[i].func), 0);
		any |= table[i].ok;
	}
	err = any ? register_ftrace_function(&divert_ops) : -ENOENT;
	if (err) {
		ftrace_free_filter(&divert_ops);
		for (i = 0; i < n; i++)
			table[i].ok = false;
	}
	return err;
}

/**
 * kpmu_diverts_show() - their rows of the caps file
 * @m: where to print
 */
void kpmu_diverts_show(struct seq_file *m)
{
	int i;

	for (i = 0; i < nr_diverts; i++)
		seq_printf(m, "%-26s %-8s %s (%ld calls)\n", diverts[i].func,
			   diverts[i].ok ? "ok" : "missing", diverts[i].feature,
			   atomic_long_read(&diverts[i].hits));
}

/**
 * kpmu_diverts_unregister() - end all of them, and wait for calls under way
 *
 * Context: may sleep.
 */
void kpmu_diverts_unregister(void)
{
	int i, any = 0;

	for (i = 0; i < nr_diverts; i++)
		any |= diverts[i].ok;
	if (!any)
		return;
	unregister_ftrace_function(&divert_ops);
	ftrace_free_filter(&divert_ops);
	for (i = 0; i < nr_diverts; i++)
		while (atomic_read(&diverts[i].running))
			msleep(20);
	/* The last instructions of a replacement, after it said it was done */
	synchronize_rcu_tasks();
	nr_diverts = 0;
}
