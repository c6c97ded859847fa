/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel calls us. */
#ifndef KPMU_HOOKS_H
#define KPMU_HOOKS_H

#include <linux/atomic.h>

#include "../compat/hook.h"
#include "../event/sampling.h"

struct seq_file;

/* Hooks that are in place only while events need them */
enum kpmu_lazy {
	KPMU_LAZY_SWITCH,	/* task switch: events on tasks */
	KPMU_LAZY_FORK,		/* fork: events with inherit set */
	KPMU_NR_LAZY_POINTS,	/* those are tracepoints; from here on functions */
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
void kpmu_hooks_linger(void);
bool kpmu_hooks_see_tasks(void);
void kpmu_hooks_on_busy(void (*fn)(void));
void kpmu_hooks_show(struct seq_file *m);

/* Side-band records by what calls for them */
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
extern struct kpmu_lhook kpmu_side_hooks[];
u32 kpmu_side_needs_of(u64 flags);

/* Most events have no side-band */
static inline void kpmu_side_count(u64 flags, int by)
{
	if (flags & KPMU_ATTR_SIDE)
		kpmu_side_count_each(flags, by);
}

static inline u32 kpmu_side_needs(u64 flags)
{
	return flags & KPMU_ATTR_SIDE ? kpmu_side_needs_of(flags) : 0;
}

/* Does any event ask for such records? */
static inline bool kpmu_side_any(enum kpmu_side_of what)
{
	return atomic_read(&kpmu_sides[what]);
}

/* prctl.c */
void kpmu_prctl(enum kpmu_op op);
void kpmu_prctl_drain(void);

#endif
