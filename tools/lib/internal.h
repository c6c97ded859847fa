/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the library share; not for programs. */
#ifndef LIBKPMU_INTERNAL_H
#define LIBKPMU_INTERNAL_H

#include "libkpmu.h"

#define HIDDEN	__attribute__((visibility("hidden")))

/* Open a set with @args, whose events are @events; *@failed is set as by kpmu_set_open() */
HIDDEN int kpmu_open_args(struct kpmu_open_set *args, const struct kpmu_event *events, int *failed);

#endif
