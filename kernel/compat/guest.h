/* SPDX-License-Identifier: GPL-2.0-only */
/* What KVM tells about the guest that an NMI has interrupted. */
#ifndef KPMU_COMPAT_GUEST_H
#define KPMU_COMPAT_GUEST_H

#include <linux/types.h>

u16 kpmu_guest_mode(unsigned long *ip);

#endif
