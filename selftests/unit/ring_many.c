// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records for which room is reserved together, compared with records written one by one: the same
 * bytes, lost records and wakeups.  See ring.c for the writer itself.
 */
#include "unit.h"
#include "../../kernel/ring/write.h"

#define LOST_SIZE	24
#define SIZE		4096

struct ring {
	struct kpmu_ring_core core;
	u64 head, tail;
	u8 *data;		/* allocated with the exact size, for the sanitizer to see overruns */
	u64 lost;		/* of the event */
	u64 wakes;		/* sum of the numbers of the records that woke the reader */
	u64 nr;			/* records so far */
	u64 many;		/* of them, those that were reserved together */
};

static struct ring one, many;
static struct ring *interrupted;	/* the ring that an interrupt writes to */
static int left;			/* points until then, -1: none */

static void setup(struct ring *r, u64 size, u64 watermark)
{
	unit_free(r->data);
	memset(r, 0, sizeof(*r));
	r->data = unit_alloc(size);
	kpmu_core_init(&r->core, r->data, size, &r->head, &r->tail);
	if (watermark)
		r->core.watermark = watermark;
}

static void fill(struct ring *r, struct kpmu_ring_handle *h, u64 size)
{
	u64 words[32];
	u64 i;

	for (i = 0; i < size / 8; i++)
		words[i] = r->nr * 1000 + i;
	kpmu_ring_put(h, words, size);
	r->nr++;
}

static void write_one(struct ring *r, u64 size)
{
	struct kpmu_ring_handle h;

	if (!kpmu_core_begin(&r->core, &h, size, LOST_SIZE)) {
		r->nr++;
		r->lost++;
		r->wakes += h.wake * r->nr;
		return;
	}
	if (h.lost) {
		u64 lost[3] = { 2, 0, h.lost };

		kpmu_ring_put(&h, lost, sizeof(lost));
	}
	fill(r, &h, size);
	r->wakes += kpmu_core_commit(&h) * r->nr;
}

/* As kpmu_sample_write_batch() and its caller: the rest one by one */
static void write_many(struct ring *r, u64 size, u32 nr)
{
	struct kpmu_ring_handle h;
	u32 n, i;

	while (nr) {
		n = kpmu_core_begin_many(&r->core, &h, size, nr);
		if (!n) {
			r->wakes += h.wake * r->nr;
			break;
		}
		for (i = 0; i < n; i++)
			fill(r, &h, size);
		r->wakes += kpmu_core_commit(&h) * r->nr;
		r->many += n;
		nr -= n;
	}
	while (nr--)
		write_one(r, size);
}

static bool is_same(void)
{
	return one.head == many.head && one.lost == many.lost && one.wakes == many.wakes &&
	       local64_read(&one.core.lost) == local64_read(&many.core.lost) &&
	       local64_read(&one.core.marked) == local64_read(&many.core.marked) &&
	       !memcmp(one.data, many.data, one.core.size) && !many.core.nest;
}

/* Batches of random sizes, a reader that advances by random amounts, rings that wrap and run full */
TEST(as_one_by_one)
{
	u64 seed = 1, reserved = 0;
	int round, i;

	ROWS("R-05 R-06 R-07 R-08 R-14 R-24");
	for (round = 0; round < unit_often(2000); round++) {
		u64 size = 16 + unit_random(&seed) % 12 * 8;
		u64 ring = 256 << unit_random(&seed) % 5;
		u64 mark = unit_random(&seed) % 3 ? unit_random(&seed) % ring : 0;

		setup(&one, ring, mark);
		setup(&many, ring, mark);
		one.core.overwrite = many.core.overwrite = round % 4 == 0;
		one.core.backward = many.core.backward = round % 32 == 1;
		for (i = 0; i < 30; i++) {
			u32 nr = 1 + unit_random(&seed) % 64, k;

			one.core.paused = many.core.paused = unit_random(&seed) % 16 == 0;
			for (k = 0; k < nr; k++)
				write_one(&one, size);
			write_many(&many, size, nr);
			if (!is_same()) {
				TH_LOG("round %d step %d: head %llu %llu wakes %llu %llu", round, i,
				       (long long)one.head, (long long)many.head,
				       (long long)one.wakes, (long long)many.wakes);
				ASSERT_TRUE(false);
			}
			if (unit_random(&seed) % 2)
				one.tail = many.tail = one.head -
						       unit_random(&seed) % (ring / 2) / 8 * 8;
		}
		reserved += many.many;
	}
	EXPECT_GT(reserved, unit_often(10000));
}

/* The record that passes the watermark is the last of its batch, so the reader is woken at once */
TEST(ends_at_the_mark)
{
	struct kpmu_ring_handle h;

	ROWS("R-14");
	setup(&many, SIZE, 100);
	EXPECT_EQ(kpmu_core_begin_many(&many.core, &h, 40, 64), 3);
	fill(&many, &h, 120);
	EXPECT_TRUE(kpmu_core_commit(&h));
	/* The mark is now 100, and 120 bytes are written */
	EXPECT_EQ(kpmu_core_begin_many(&many.core, &h, 40, 64), 3);
	fill(&many, &h, 120);
	EXPECT_TRUE(kpmu_core_commit(&h));
}

static void point(void)
{
	if (left < 0 || left--)
		return;
	unit_ring_point = NULL;
	write_one(interrupted, 48);
}

/* An interrupt at every point: all bytes are written, and the head is published */
TEST(interrupted_everywhere)
{
	int at;

	ROWS("R-25 R-03");
	for (at = 0; at < 24; at++) {
		setup(&many, 1024, 200);
		interrupted = &many;
		left = at;
		unit_ring_point = point;
		write_many(&many, 40, 20);
		unit_ring_point = NULL;
		ASSERT_EQ(many.core.nest, 0);
		ASSERT_EQ(many.head, 20 * 40 + (left < 0) * 48);
		ASSERT_EQ(many.lost, 0);
		ASSERT_FALSE(many.core.wake_due);
		ASSERT_GT(many.wakes, 0);
	}
}

/* An interrupt takes the room: what is lost then is counted, and a wakeup that it defers is not */
TEST(interrupted_and_full)
{
	int at;

	ROWS("R-25 R-06");
	for (at = 0; at < 24; at++) {
		setup(&many, 256, 30);
		interrupted = &many;
		left = at;
		unit_ring_point = point;
		write_many(&many, 40, 6);
		unit_ring_point = NULL;
		ASSERT_EQ(many.core.nest, 0);
		ASSERT_FALSE(many.core.wake_due);
		ASSERT_EQ(many.nr, 6 + (left < 0));
		ASSERT_EQ(many.head, local64_read(&many.core.written));
		ASSERT_EQ(many.lost, local64_read(&many.core.lost));
	}
}

/* Whatever the reader stores as its tail, the ring's memory is not exceeded */
TEST(lying_reader)
{
	u64 seed = 99;
	int i;

	ROWS("M-28");
	setup(&many, 512, 0);
	for (i = 0; i < unit_often(20000); i++) {
		many.tail = unit_random(&seed);
		write_many(&many, 16 + i % 12 * 8, 1 + i % 64);
		ASSERT_EQ(many.core.nest, 0);
	}
}

static void reset(void)
{
	one.data = NULL;
	many.data = NULL;
	unit_ring_point = NULL;
}

UNIT_SUITE(kpmu_ring_many, reset,
	   CASE(as_one_by_one) CASE(ends_at_the_mark) CASE(interrupted_everywhere)
	   CASE(interrupted_and_full) CASE(lying_reader));
