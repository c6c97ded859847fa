// SPDX-License-Identifier: GPL-2.0-only
/* FLAGS: -O1 -fsanitize=address,undefined -fno-sanitize-recover=all */
/* The grader of lab 7: one writer and one reader in turn.  Documentation/labs/7.rst explains each figure. */
#include "common.h"

int main(void)
{
	struct ring r = ring_new(256);
	struct entry e = {};
	u64 i, wrong = 0, room;

	lab_check("an empty ring has an entry", ring_read(&r, &e), 0);
	for (i = 0; i < 1000; i++) {
		wrong += !write_seq(&r, i);
		wrong += !ring_read(&r, &e) || e.seq != i || !whole(&e);
	}
	lab_check("1,000 entries, each read at once: wrong ones", wrong, 0);
	lab_check("head", shared_head, 1000 * sizeof(e));
	lab_check("tail", shared_tail, 1000 * sizeof(e));
	for (room = 0; room < 100 && write_seq(&r, i + room); room++)
		;
	lab_check("entries of 24 bytes in 256", room, 10);
	lab_check("entries lost", r.lost, 1);
	wrong = 0;
	for (; ring_read(&r, &e) && room; room--)
		wrong += e.seq != i++ || !whole(&e);
	lab_check("entries that the reader misses", room, 0);
	lab_check("that are wrong", wrong, 0);
	lab_check("after this, there is room", write_seq(&r, i), 1);
	free(r.data);
	lab_end();
	return 0;
}
