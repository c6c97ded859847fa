/* SPDX-License-Identifier: GPL-2.0-only */
/* Sources that are backed by events of the kernel's own perf. */
#ifndef KPMU_HOST_H
#define KPMU_HOST_H

#include "../../source/source.h"

extern const struct kpmu_source kpmu_tracepoint;
extern const struct kpmu_source kpmu_kprobe;
extern const struct kpmu_source kpmu_uprobe;
extern const struct kpmu_source kpmu_breakpoint;

#endif
