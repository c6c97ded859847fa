/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the kernel calls us. */
#ifndef KPMU_HOOKS_H
#define KPMU_HOOKS_H

struct seq_file;

int kpmu_hooks_init(void);
void kpmu_hooks_exit(void);
int kpmu_hooks_get(void);
void kpmu_hooks_put(void);
void kpmu_hooks_show(struct seq_file *m);

#endif
