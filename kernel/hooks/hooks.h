/* SPDX-License-Identifier: GPL-2.0-only */
/* Hooks into the kernel. */
#ifndef KPMU_HOOKS_H
#define KPMU_HOOKS_H

#include <linux/atomic.h>

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
int kpmu_hooks_get(u32 which);
void kpmu_hooks_put(u32 which);
void kpmu_hooks_put_later(void);
void kpmu_hooks_show(struct seq_file *m);

/* functions.c */
void kpmu_functions_init(void);
void kpmu_functions_exit(void);
void kpmu_functions_show(struct seq_file *m);
bool kpmu_hooks_see_tasks(void);
void kpmu_hooks_on_busy(void (*fn)(void));

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
