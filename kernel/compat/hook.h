/* SPDX-License-Identifier: GPL-2.0-only */
/* Hooks by name: entry hooks and replacements of kernel functions, tracepoint probes. */
#ifndef KPMU_HOOK_H
#define KPMU_HOOK_H

#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

struct seq_file;
struct tracepoint;

/**
 * struct kpmu_fhook - a hook at the entry of a kernel function, attached while the module is
 *	loaded
 * @func: name of the function
 * @fn: called at its entry, with the arguments in @fregs; must not sleep,
 *	even if the function may
 * @feature: what does not work without the hook, for the caps file
 * @users: @fn is called only while this is not 0; NULL: always
 * @hits: number of calls of @fn
 * @ok: the hook is attached
 * @ip: address of the function, learnt at its first call
 */
struct kpmu_fhook {
	const char *func;
	void (*fn)(struct ftrace_regs *fregs);
	const char *feature;
	const atomic_t *users;
	atomic_long_t hits;
	bool ok;
	unsigned long ip;
};

bool kpmu_ftrace_on(void);
int kpmu_ftrace_filter(struct ftrace_ops *ops, const char *func);
void kpmu_ftrace_leave(struct ftrace_ops *ops);
void kpmu_fhooks_add(struct kpmu_fhook *hooks, int n);
int kpmu_fhooks_attach(void);
void kpmu_fhooks_detach(void);

/**
 * struct kpmu_divert - a kernel function that is diverted to a replacement
 * @func: name of the function
 * @instead: the replacement, with the same arguments; must call
 *	kpmu_divert_done() last, and may call the function itself by
 *	kpmu_divert_call()
 * @feature: what does not work without it
 * @pins: user space decides how long a call takes: each call holds a module
 *	reference, so that unloading is refused and does not wait
 * @running: calls of @instead in progress, without @pins
 * @hits: number of calls
 * @ok: the function is diverted
 * @ip: address of the function, learnt at its first call
 */
struct kpmu_divert {
	const char *func;
	void *instead;
	const char *feature;
	bool pins;
	atomic_t running;
	atomic_long_t hits;
	bool ok;
	unsigned long ip;
};

/**
 * struct kpmu_diverts - functions that are diverted together
 * @table: the functions
 * @n: entries in @table
 * @ops: private to divert.c
 * @node: private to divert.c
 */
struct kpmu_diverts {
	struct kpmu_divert *table;
	int n;
	struct ftrace_ops ops;
	struct list_head node;
};

int kpmu_diverts_register(struct kpmu_diverts *set);
void kpmu_diverts_unregister(struct kpmu_diverts *set);
void kpmu_diverts_show(struct seq_file *m);
unsigned long kpmu_divert_call2(const struct kpmu_divert *d, unsigned long arg,
				unsigned long arg2);

/**
 * kpmu_divert_call() - kpmu_divert_call2() of a function with one argument
 * @d: the function, which has been diverted to the caller
 * @arg: its argument
 *
 * Context: as for the function.
 * Return: its return register; narrow it to the function's return type.
 */
static inline unsigned long kpmu_divert_call(const struct kpmu_divert *d, unsigned long arg)
{
	return kpmu_divert_call2(d, arg, 0);
}

/**
 * kpmu_divert_done() - end a call of a replacement
 * @d: the diverted function
 *
 * Context: in the replacement, immediately before it returns.
 */
static inline void kpmu_divert_done(struct kpmu_divert *d)
{
	if (d->pins)
		module_put(THIS_MODULE);
	else
		atomic_dec(&d->running);
}

/**
 * struct kpmu_thook - a probe that can be attached to a tracepoint
 * @name: name of the tracepoint
 * @probe: the probe: a data pointer, then the tracepoint's own arguments
 * @feature: what does not work without it
 * @tp: the tracepoint, NULL if this kernel does not have it
 * @armed: the probe is attached
 */
struct kpmu_thook {
	const char *name;
	void *probe;
	const char *feature;
	struct tracepoint *tp;
	bool armed;
};

void kpmu_thooks_find(struct kpmu_thook *hooks, int n);
int kpmu_thook_arm(struct kpmu_thook *hook);
void kpmu_thook_disarm(struct kpmu_thook *hook);

#endif
