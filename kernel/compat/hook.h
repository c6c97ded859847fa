/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel can be asked to call us: functions and tracepoints by name. */
#ifndef KPMU_HOOK_H
#define KPMU_HOOK_H

#include <linux/ftrace.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>

struct seq_file;
struct tracepoint;

/**
 * struct kpmu_fhook - a kernel function whose entry we are told of
 * @func: its name
 * @fn: called at its entry with the arguments in @fregs; must not sleep,
 *	whatever the function itself may do
 * @feature: what does not work without it, for the caps file
 * @hits: how often it fired
 * @ok: it is in place
 * @ip: where the function is, learnt at its first call
 */
struct kpmu_fhook {
	const char *func;
	void (*fn)(struct ftrace_regs *fregs);
	const char *feature;
	atomic_long_t hits;
	bool ok;
	unsigned long ip;
};

/**
 * struct kpmu_lhook - a kernel function whose entry we can listen to for a time
 * @func: its name
 * @fn: as in struct kpmu_fhook
 * @feature: what does not work without it
 * @hits: how often it fired
 * @ok: it can be attached to
 * @armed: it is attached
 * @ops: ftrace's part
 */
struct kpmu_lhook {
	const char *func;
	void (*fn)(struct ftrace_regs *fregs);
	const char *feature;
	atomic_long_t hits;
	bool ok;
	bool armed;
	struct ftrace_ops ops;
};

void kpmu_lhooks_find(struct kpmu_lhook *hooks, int n);
void kpmu_lhooks_forget(struct kpmu_lhook *hooks, int n);
int kpmu_lhook_arm(struct kpmu_lhook *hook);
void kpmu_lhook_disarm(struct kpmu_lhook *hook);

bool kpmu_ftrace_on(void);
int kpmu_ftrace_filter(struct ftrace_ops *ops, const char *func);
void kpmu_ftrace_leave(struct ftrace_ops *ops);
int kpmu_fhooks_register(struct kpmu_fhook *hooks, int n);
void kpmu_fhooks_unregister(void);

/**
 * struct kpmu_divert - a kernel function that is called through one of ours
 * @func: its name
 * @instead: what is called in its place, with the same arguments; must call
 *	kpmu_divert_done() last, and may call the function itself by
 *	kpmu_divert_call()
 * @feature: what does not work without it
 * @pins: a call may take as long as a user likes: it holds the module, so that unloading
 *	is refused and does not wait
 * @running: calls of @instead under way, if it does not pin
 * @hits: how often it was called
 * @ok: it is in place
 * @ip: where the function is, learnt at its first call
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
 * @n: its rows
 * @ops: ours
 * @node: ours
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
unsigned long kpmu_divert_call(const struct kpmu_divert *d, unsigned long arg);

/**
 * kpmu_divert_done() - the replacement is about to return
 * @d: the function it stands for
 */
static inline void kpmu_divert_done(struct kpmu_divert *d)
{
	if (d->pins)
		module_put(THIS_MODULE);
	else
		atomic_dec(&d->running);
}

/**
 * struct kpmu_thook - a tracepoint we can listen to
 * @name: its name
 * @probe: the probe, with the tracepoint's own prototype after a data pointer
 * @feature: what does not work without it
 * @tp: the tracepoint, NULL when this kernel has none of that name
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
