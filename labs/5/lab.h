/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 5: groups.  Documentation/labs/5.rst */
#ifndef LAB_5_H
#define LAB_5_H

#include "kernel.h"

#define COUNTERS	4
#define MEMBERS		8

/**
 * struct member - an event of a group
 * @code: event select in bits 0 to 7, unit mask in bits 8 to 15
 * @allowed: counters that it may use, a bit each
 * @counter: the counter that it has
 * @count: what it has counted in all
 */
struct member {
	u16 code;
	u32 allowed;
	int counter;
	u64 count;
};

/**
 * struct group - events that count together or not at all
 * @nr: number of members
 * @member: the events
 * @on: they are on counters
 */
struct group {
	int nr;
	struct member member[MEMBERS];
	bool on;
};

/* The student's */
bool group_start(struct group *g);
void group_stop(struct group *g);

/* The grader's: find a counter for each member.  @taken: counters that are not free.  See lab 4. */
bool assign(struct group *g, u32 taken);

#endif
