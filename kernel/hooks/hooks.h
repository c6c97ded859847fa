/* SPDX-License-Identifier: GPL-2.0-only */
/* Hooks into the kernel. */
#ifndef KPMU_HOOKS_H
#define KPMU_HOOKS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>

#include "../compat/detach.h"
#include "../compat/hook.h"
#include "../life/life.h"

struct seq_file;

/* Hooks that do something only while events need them */
enum kpmu_lazy {
	KPMU_LAZY_SWITCH,	/* task switch: task and cgroup events; counts, records */
	KPMU_LAZY_FORK,		/* fork: inherit; FORK and NAMESPACES records */
	KPMU_NR_LAZY_POINTS,	/* above: tracepoints; below: functions */
	KPMU_LAZY_MMAP = KPMU_NR_LAZY_POINTS,
	KPMU_LAZY_COMM,
	KPMU_LAZY_NAMESPACES,
	KPMU_LAZY_KSYMBOL,
	KPMU_LAZY_BPF,
	KPMU_LAZY_TEXT_POKE,
	KPMU_LAZY_CGROUP,
	KPMU_NR_LAZY
};

#define KPMU_NR_LAZY_FUNCS	(KPMU_NR_LAZY - KPMU_NR_LAZY_POINTS)

int kpmu_hooks_init(void);
void kpmu_hooks_exit(void);
int kpmu_hooks_get_each(u32 which);
void kpmu_hooks_put_each(u32 which);
int kpmu_switch_attach(void);
void kpmu_hooks_put_later(void);
void kpmu_hooks_show(struct seq_file *m);

/* functions.c */
void kpmu_functions_init(void);
void kpmu_functions_exit(void);
void kpmu_functions_show(struct seq_file *m);
void kpmu_hooks_on_busy(void (*fn)(void));

/* 0 while exec or exit of tasks is not seen; the kernel's ftrace_enabled if the hooks are in place */
extern const int *kpmu_tasks_seen;

/**
 * kpmu_hooks_see_tasks() - check whether exec and exit of tasks are seen at present
 *
 * Events on tasks need both: by exec a task may become more privileged than its
 * observer.
 *
 * Context: any.
 * Return: whether they are.
 */
static inline bool kpmu_hooks_see_tasks(void)
{
	return READ_ONCE(*kpmu_tasks_seen);
}

/* For the functions below: the use of the hook of the task switch; and see hooks.c */
extern struct kpmu_use kpmu_switch_use;
extern bool kpmu_switch_stays;

/**
 * kpmu_switch_get() - use the hook of the task switch
 *
 * Context: task, may sleep.
 * Return: 0, or an error of attaching it.
 */
static __always_inline int kpmu_switch_get(void)
{
	atomic_inc(&kpmu_switch_use.users);
	smp_mb__after_atomic();	/* pairs with drop_switch_locked() */
	if (likely(smp_load_acquire(&kpmu_switch_stays)))	/* pairs with attach_switch() */
		return 0;
	return kpmu_switch_attach();
}

/**
 * kpmu_hooks_get() - start the hooks that an event needs
 * @which: the hooks, a bit for each of enum kpmu_lazy
 *
 * Inline for that of the task switch, the only one that most events need.
 *
 * Context: task, may sleep.
 * Return: 0; -EOPNOTSUPP if this kernel lacks one of them; an error of attaching it.
 */
static __always_inline int kpmu_hooks_get(u32 which)
{
	if (likely(which == BIT(KPMU_LAZY_SWITCH)))
		return kpmu_switch_get();
	return kpmu_hooks_get_each(which);
}

/**
 * kpmu_hooks_put() - drop an event's use of its hooks
 * @which: as passed to kpmu_hooks_get()
 *
 * Context: task; kpmu_hooks_put_later() must follow.
 */
static __always_inline void kpmu_hooks_put(u32 which)
{
	if (likely(which == BIT(KPMU_LAZY_SWITCH)))
		kpmu_use_end(&kpmu_switch_use);
	else
		kpmu_hooks_put_each(which);
}

/* Kinds of side-band records, by the attr flags that request them */
enum kpmu_side_of {
	KPMU_SIDE_OF_SWITCH,
	KPMU_SIDE_OF_TASK,
	KPMU_SIDE_OF_MMAP,
	KPMU_SIDE_OF_COMM,
	KPMU_SIDE_OF_NAMESPACES,
	KPMU_SIDE_OF_KSYMBOL,
	KPMU_SIDE_OF_BPF,
	KPMU_SIDE_OF_TEXT_POKE,
	KPMU_SIDE_OF_CGROUP,
	KPMU_NR_SIDES
};

/* side.c */
extern atomic_t kpmu_sides[];
void kpmu_side_count_each(u64 flags, int by);
extern struct kpmu_fhook kpmu_side_hooks[];
u32 kpmu_side_needs_of(u64 flags);

/**
 * kpmu_side_count() - count an event in the kinds of side-band records it requests
 * @flags: flags of its attr
 * @by: 1 for a new event, -1 for one that ends
 *
 * Inline check, as most events have no side-band records.
 *
 * Context: task.
 */
static inline void kpmu_side_count(u64 flags, int by)
{
	if (flags & KPMU_ATTR_SIDE)
		kpmu_side_count_each(flags, by);
}

/**
 * kpmu_side_needs() - the hooks needed for an event's side-band records
 * @flags: flags of its attr
 *
 * Context: any.
 * Return: a bit for each of enum kpmu_lazy.
 */
static inline u32 kpmu_side_needs(u64 flags)
{
	return flags & KPMU_ATTR_SIDE ? kpmu_side_needs_of(flags) : 0;
}

/**
 * kpmu_side_any() - does any event request a kind of side-band records?
 * @what: the kind
 *
 * Context: any.
 * Return: not 0 if one does, also while it is disabled.
 */
static inline int kpmu_side_any(enum kpmu_side_of what)
{
	return atomic_read(&kpmu_sides[what]);
}

/* prctl.c */
void kpmu_prctl_init(void);
void kpmu_prctl_exit(void);

#endif
