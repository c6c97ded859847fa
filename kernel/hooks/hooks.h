/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel calls us. */
#ifndef KPMU_HOOKS_H
#define KPMU_HOOKS_H

#include "../event/event.h"

struct seq_file;

/* Hooks that are in place only while events need them */
enum kpmu_lazy {
	KPMU_LAZY_SWITCH,	/* task switch: events on tasks */
	KPMU_LAZY_FORK,		/* fork: events with inherit set */
	KPMU_NR_LAZY
};

int kpmu_hooks_init(void);
void kpmu_hooks_exit(void);
int kpmu_hooks_get(enum kpmu_lazy which);
void kpmu_hooks_put(enum kpmu_lazy which);
void kpmu_hooks_linger(void);
bool kpmu_hooks_see_exec(void);
void kpmu_hooks_show(struct seq_file *m);

/* prctl.c */
void kpmu_prctl(enum kpmu_op op);
void kpmu_prctl_drain(void);

#endif
