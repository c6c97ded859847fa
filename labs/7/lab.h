/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 7: a lockless ring.  Documentation/labs/7.rst */
#ifndef LAB_7_H
#define LAB_7_H

#include "host.h"

/**
 * struct entry - what is written into the ring, as a whole or not at all
 * @seq: its number
 * @data: any two values
 */
struct entry {
	u64 seq;
	u64 data[2];
};

/**
 * struct ring - the ring, and the state of its writer
 * @data: the entries; byte n of all that was ever written is byte n modulo @size
 * @size: bytes of @data, a power of two
 * @written: bytes that were given away for entries so far
 * @nest: writers that have begun and not ended: one, and those that interrupt it
 * @lost: entries for which there was no room
 * @head: the reader may read up to here: bytes written so far
 * @tail: the reader has read up to here; only it changes this
 */
struct ring {
	u64 *data;
	u64 size;
	u64 written;
	u32 nest;
	u64 lost;
	u64 *head;
	u64 *tail;
};

bool ring_write(struct ring *r, const struct entry *e);
bool ring_read(struct ring *r, struct entry *e);

#endif
