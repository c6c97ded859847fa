/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_STAT_H
#define KPMU_STAT_H

#include <linux/kpmu.h>
#include <stdbool.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define MAX_EVENTS	64

/**
 * struct event - one of -e
 * @name: as it was typed
 * @attr: what that means
 * @leader: index of its group's first event; its own if it is alone
 */
struct event {
	char name[64];
	struct perf_event_attr attr;
	int leader;
};

/* A list as of -e; the number of events, or -1 after a message on stderr */
int parse_events(const char *list, struct event *events);
void list_events(void);

#endif
