/* SPDX-License-Identifier: GPL-2.0-only */
/* What KVM tells about the guest that an NMI has interrupted. */
#ifndef KPMU_COMPAT_GUEST_H
#define KPMU_COMPAT_GUEST_H

#include <linux/types.h>

/**
 * struct kpmu_guest - where a guest was
 * @mode: CPU mode of a sample, PERF_RECORD_MISC_GUEST_*
 * @ip: its instruction pointer
 */
struct kpmu_guest {
	u16 mode;
	unsigned long ip;
};

bool kpmu_guest_find(struct kpmu_guest *g);

#endif
