// SPDX-License-Identifier: GPL-2.0-only
/* Lab 7: a lockless ring.  Documentation/labs/7.rst says what each function has to do. */
#include "lab.h"

/* Copy an entry to position @pos or from there.  It may go on at the beginning of the ring. */
static void put(struct ring *r, u64 pos, const struct entry *e)
{
	const u64 *from = (const u64 *)e;

	for (u64 i = 0; i < sizeof(*e); i += 8)
		r->data[((pos + i) & (r->size - 1)) / 8] = *from++;
}

static void get(struct ring *r, u64 pos, struct entry *e)
{
	u64 *to = (u64 *)e;

	for (u64 i = 0; i < sizeof(*e); i += 8)
		*to++ = r->data[((pos + i) & (r->size - 1)) / 8];
}

/*
 * Write an entry.  At each instruction another call of this function may interrupt it, as an NMI does,
 * and that one comes to its end first.  There is one reader, on another CPU.  Return whether there was
 * room; if not, count the entry as lost.
 */
bool ring_write(struct ring *r, const struct entry *e)
{
	/*
	 * SOLUTION: reserve room that no other writer gets; put the entry there; and let the
	 * reader see it, but nothing that an interrupted writer has not yet put
	 */
	u64 pos, head;
	s64 unread;
	bool room;

	r->nest++;
	pos = __atomic_load_n(&r->written, __ATOMIC_RELAXED);
	do {
		/* Negative if others have written between the loads, and that was read; then pos is old */
		unread = pos + sizeof(*e) - __atomic_load_n(r->tail, __ATOMIC_ACQUIRE);
		room = unread <= (s64)r->size;
	} while (room && !__atomic_compare_exchange_n(&r->written, &pos, pos + sizeof(*e), false,
						      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (room)
		put(r, pos, e);
	else
		__atomic_fetch_add(&r->lost, 1, __ATOMIC_RELAXED);
	if (r->nest > 1) {
		/* The writer that was interrupted publishes this entry, too */
		r->nest--;
		return room;
	}
	do {
		/* From here on others leave their entries to us; one that came before may have published */
		__atomic_store_n(&r->nest, 1, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		head = __atomic_load_n(&r->written, __ATOMIC_RELAXED);
		__atomic_store_n(r->head, head, __ATOMIC_RELEASE);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		__atomic_store_n(&r->nest, 0, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		/* One that came before nest was 0 has left its entry to us */
	} while (head != __atomic_load_n(&r->written, __ATOMIC_RELAXED));
	return room;
	/* SKELETON: put(r, r->written, e); */
	/* SKELETON: r->written += sizeof(*e); */
	/* SKELETON: *r->head = r->written; */
	/* SKELETON: return true; */
	/* END */
}

/* Read the oldest entry and make its room free.  Return false if there is none. */
bool ring_read(struct ring *r, struct entry *e)
{
	/* SOLUTION: see the head, then read the entry, then give its room back; in this order */
	u64 tail = *r->tail;

	if (tail == __atomic_load_n(r->head, __ATOMIC_ACQUIRE))
		return false;
	get(r, tail, e);
	__atomic_store_n(r->tail, tail + sizeof(*e), __ATOMIC_RELEASE);
	return true;
	/* SKELETON: if (*r->tail == *r->head) */
	/* SKELETON: \treturn false; */
	/* SKELETON: get(r, *r->tail, e); */
	/* SKELETON: *r->tail += sizeof(*e); */
	/* SKELETON: return true; */
	/* END */
}
