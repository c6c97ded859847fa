/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_STAT_H
#define KPMU_STAT_H

#include <linux/kpmu.h>
#include <stdbool.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define MAX_EVENTS	64

/**
 * struct event - an event of -e
 * @name: as typed by the user
 * @attr: the attr that it means
 * @leader: index of the first event of its group; its own without a group
 */
struct event {
	char name[64];
	struct perf_event_attr attr;
	int leader;
};

/* stat-events.c */
int parse_events(const char *list, struct event *events);
void list_events(void);

/* stat-explain.c */
bool explain_events(int device, const struct event *events, int nr, int cpu);
bool has_no_room(int i);
const char *why_shared(const struct event *events, int i);
int print_explained(const struct event *events);

/* stat-holders.c */
bool print_holders(int device, int cpu);

#endif
