/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_STAT_H
#define KPMU_STAT_H

#include <stdbool.h>

#include "lib/libkpmu.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define MAX_EVENTS	64

/* stat-explain.c */
bool explain_events(const struct kpmu_event *events, int nr, int cpu);
bool has_no_room(int i);
const char *why_shared(const struct kpmu_event *events, int i);
int print_explained(const struct kpmu_event *events);

/* stat-holders.c */
bool print_holders(int cpu);

#endif
