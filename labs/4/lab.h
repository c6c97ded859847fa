/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 4: assignment under constraints.  Documentation/labs/4.rst */
#ifndef LAB_4_H
#define LAB_4_H

#include "host.h"

#define MAX_COUNTERS	32

/**
 * assign() - find a counter for each event
 * @allowed: per event, the counters that it may use, a bit each
 * @nr: number of events
 * @counter: set to the counter of each event, if there is a solution
 *
 * Return: whether there is one.
 */
bool assign(const u32 *allowed, int nr, int *counter);

#endif
