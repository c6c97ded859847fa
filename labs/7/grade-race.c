// SPDX-License-Identifier: GPL-2.0-only
/* FLAGS: -O1 -fsanitize=thread */
/*
 * The grader of lab 7: the reader is on another CPU.  ThreadSanitizer tells of each access to an entry
 * that is not ordered by head or tail, also where this machine happens to do the right thing.
 */
#include <pthread.h>
#include <sched.h>

#include "common.h"

#define ENTRIES	20000

static struct ring ring;
static u64 nr_read, nr_wrong;
static bool done;

static void *reader(void *arg)
{
	struct entry e = {};
	u64 next = 0;
	bool last = false;

	for (;;) {
		while (ring_read(&ring, &e)) {
			nr_read++;
			nr_wrong += !whole(&e) || e.seq < next;
			next = e.seq + 1;
		}
		if (last)
			return NULL;
		last = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
		sched_yield();
	}
}

int main(void)
{
	pthread_t thread;
	u64 i;

	ring = ring_new(1024);
	pthread_create(&thread, NULL, reader, NULL);
	for (i = 0; i < ENTRIES; i++) {
		write_seq(&ring, i);
		if (i % 64 == 0)
			sched_yield();
	}
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	lab_check("with a reader on another CPU: entries read and lost", nr_read + ring.lost, ENTRIES);
	lab_check("wrong ones", nr_wrong, 0);
	lab_check("some were read", nr_read > 0, 1);
	free(ring.data);
	lab_end();
	return 0;
}
