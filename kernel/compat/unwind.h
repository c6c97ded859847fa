/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's deferred unwinding of user stacks, when a task returns to user mode. */
#ifndef KPMU_UNWIND_H
#define KPMU_UNWIND_H

#include <linux/types.h>

typedef void (*kpmu_unwind_fn)(const unsigned long *ips, u32 nr, u64 cookie);

int kpmu_unwind_init(kpmu_unwind_fn fn);
void kpmu_unwind_exit(void);
bool kpmu_unwind_works(void);
bool kpmu_unwind_request(u64 *cookie);

#endif
