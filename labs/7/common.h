/* SPDX-License-Identifier: GPL-2.0-only */
/* What the graders of lab 7 have in common: a ring in memory of the exact size, and its entries */
#ifndef LAB_7_COMMON_H
#define LAB_7_COMMON_H

#include "lab.h"

static u64 shared_head, shared_tail;

static inline struct entry entry_of(u64 seq)
{
	return (struct entry){ seq, { seq * 0x9e3779b97f4a7c15ull, ~seq } };
}

static inline bool whole(const struct entry *e)
{
	struct entry want = entry_of(e->seq);

	return !memcmp(e, &want, sizeof(want));
}

static inline struct ring ring_new(u64 size)
{
	struct ring r = { .size = size, .head = &shared_head, .tail = &shared_tail };

	r.data = malloc(size);
	memset(r.data, 0xee, size);
	shared_head = 0;
	shared_tail = 0;
	return r;
}

static inline bool write_seq(struct ring *r, u64 seq)
{
	struct entry e = entry_of(seq);

	return ring_write(r, &e);
}

#endif
