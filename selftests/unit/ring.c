// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kernel/ring/write.c and write.h.  Other writers interrupt the writer at every point that
 * matters.  A reader checks at each of these points that there are only complete records before the
 * head.
 */
#include "unit.h"
#include "../../kernel/ring/write.h"

#define SIZE	1024
#define LOST	2
#define DATA	9
#define LOST_SIZE 24

struct head {
	u32 type;
	u16 misc;
	u16 size;
	u64 what;		/* DATA: sequence number; LOST: number of lost records */
};

/* The ring, and the state of its reader */
static struct ring {
	struct kpmu_ring_core core;
	u64 head, tail;
	u8 *data;		/* allocated with the exact size, for the sanitizer to see overruns */
	u64 seen;		/* end of what the reader has read */
	u64 found;		/* DATA records read */
	u64 lost;		/* sum of the LOST records read */
	u64 tried;		/* calls of write_record() */
	u64 wakes;
	bool torn;
} r;

static void setup(u64 size)
{
	unit_free(r.data);
	memset(&r, 0, sizeof(r));
	r.data = unit_alloc(size);
	kpmu_core_init(&r.core, r.data, size, &r.head, &r.tail);
	unit_ring_point = NULL;
}

/* Emulated interrupts: level 0 interrupts the writer, level 1 interrupts level 0, and so on */
#define LEVELS	3

static u8 fills[LEVELS + 1][65536];	/* the payload that each writer is writing */
static int writing;			/* number of writers */

static u8 pattern(u64 seq, u64 i)
{
	return seq * 31 + i;
}

/* Write a record of @size bytes, its payload in pieces of @piece; false if it is lost */
static bool write_record(u64 size, u64 piece, u32 wakeup_events)
{
	struct head h = { .type = DATA, .size = size, .what = r.tried++ };
	struct kpmu_ring_handle handle;
	u8 *fill = fills[writing++];
	u64 i, n;

	if (!kpmu_core_begin(&r.core, &handle, size, LOST_SIZE)) {
		r.wakes += handle.wake;
		writing--;
		return false;
	}
	if (handle.lost) {
		struct head lost = { LOST, 0, LOST_SIZE, handle.lost };
		u64 id = 0;

		kpmu_ring_put(&handle, &lost, sizeof(lost));
		kpmu_ring_put(&handle, &id, sizeof(id));
	}
	for (i = 0; i < size - sizeof(h); i++)
		fill[i] = pattern(h.what, i);
	kpmu_ring_put(&handle, &h, sizeof(h));
	for (i = 0; i < size - sizeof(h); i += n) {
		n = size - sizeof(h) - i < piece ? size - sizeof(h) - i : piece;
		kpmu_ring_put(&handle, fill + i, n);
	}
	kpmu_ring_sample(&handle, wakeup_events);
	r.wakes += kpmu_core_commit(&handle);
	writing--;
	return true;
}

static void copy_out(void *to, u64 pos, u64 len)
{
	u64 i;

	for (i = 0; i < len; i++)
		((u8 *)to)[i] = r.data[(pos + i) & (r.core.size - 1)];
}

/* Check the record at @pos; returns its size, or 0 if it is not intact */
static u64 check_record(u64 pos)
{
	struct head h;
	u8 b;
	u64 i;

	copy_out(&h, pos, sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > r.core.size)
		return 0;
	if (h.type == LOST) {
		r.lost += h.what;
		return h.size == LOST_SIZE && h.what ? h.size : 0;
	}
	if (h.type != DATA || h.what >= r.tried)
		return 0;
	for (i = 0; i < h.size - sizeof(h); i++) {
		copy_out(&b, pos + sizeof(h) + i, 1);
		if (b != pattern(h.what, i))
			return 0;
	}
	r.found++;
	return h.size;
}

/* Read the records up to the head; advance the tail if @consume */
static void reader(bool consume)
{
	u64 pos = r.seen, n;

	while (pos != r.head) {
		n = check_record(pos);
		if (!n || pos + n > r.head) {
			r.torn = true;
			return;
		}
		pos += n;
	}
	r.seen = pos;
	if (consume)
		r.tail = pos;
}

TEST(all_sizes_and_pieces)
{
	u64 size, piece;

	ROWS("R-01 R-02 R-23 R-24");
	setup(SIZE);
	for (size = 16; size < SIZE; size += 8) {
		for (piece = 1; piece < 40; piece += 3) {
			ASSERT_TRUE(write_record(size, piece, 0));
			reader(true);
			ASSERT_FALSE(r.torn);
		}
	}
	EXPECT_EQ(r.found, r.tried);
	EXPECT_EQ(r.lost, 0);
	EXPECT_GT(r.head, 100 * SIZE);
}

TEST(large_ring_large_records)
{
	int i;

	ROWS("R-23");
	setup(1 << 20);
	for (i = 0; i < 100; i++) {
		ASSERT_TRUE(write_record(65528, 4096, 0));
		reader(true);
	}
	EXPECT_FALSE(r.torn);
	EXPECT_EQ(r.found, 100);
}

TEST(full)
{
	int i, fit = 0;

	ROWS("R-05 R-06 R-07");
	setup(4096);
	for (i = 0; i < 300; i++)
		fit += write_record(16, 16, 0);
	/* At least one byte stays free, so one record fewer fits than the size suggests */
	EXPECT_EQ(fit, 255);
	EXPECT_EQ(r.head, 4080);
	EXPECT_EQ(local64_read(&r.core.lost), 45);
	reader(false);
	EXPECT_FALSE(write_record(16, 16, 0));
	r.tail = 16 * 3;
	/* 64 bytes are free; the record and the LOST record before it take 40 */
	EXPECT_TRUE(write_record(16, 16, 0));
	reader(true);
	EXPECT_FALSE(r.torn);
	EXPECT_EQ(r.found, 256);
	EXPECT_EQ(r.lost, 46);
}

TEST(lost_needs_room_too)
{
	int i;

	ROWS("R-07");
	setup(4096);
	for (i = 0; i < 255; i++)
		ASSERT_TRUE(write_record(16, 16, 0));
	EXPECT_FALSE(write_record(16, 16, 0));
	reader(false);
	r.tail = 16;
	/* 32 bytes are free: enough for the record, but not with the LOST record before it */
	EXPECT_FALSE(write_record(16, 16, 0));
	EXPECT_EQ(local64_read(&r.core.lost), 2);
	r.tail = 64;
	EXPECT_TRUE(write_record(16, 16, 0));
	reader(true);
	EXPECT_EQ(r.lost, 2);
}

TEST(overwrite)
{
	int i;

	ROWS("R-08");
	setup(4096);
	r.core.overwrite = true;
	for (i = 0; i < 1000; i++)
		EXPECT_TRUE(write_record(16, 16, 0));
	EXPECT_EQ(r.head, 16000);
	EXPECT_EQ(local64_read(&r.core.lost), 0);
	r.seen = r.head - 4096;
	reader(false);
	EXPECT_EQ(r.found, 256);
	/* A record longer than the ring is lost */
	EXPECT_FALSE(write_record(8192, 100, 0));
	EXPECT_EQ(r.head, 16000);
}

TEST(backward)
{
	u64 pos, n, newest;
	int i;

	ROWS("R-09");
	setup(4096);
	r.core.backward = true;
	r.core.overwrite = true;
	EXPECT_TRUE(write_record(48, 48, 0));
	EXPECT_EQ(r.head, -48ULL);
	for (i = 0; i < 999; i++)
		write_record(48 + i % 3 * 8, 7, 0);
	/* From the head on, records are intact and ordered from newest to oldest */
	newest = r.tried - 1;
	for (pos = r.head; pos - r.head + 64 < 4096; pos += n) {
		struct head h;

		copy_out(&h, pos, sizeof(h));
		ASSERT_EQ(h.what, newest--);
		n = check_record(pos);
		ASSERT_NE(n, 0);
	}
	EXPECT_GT(r.found, 60);
}

TEST(backward_not_overwritten)
{
	int i, fit = 0;

	ROWS("R-09 R-05");
	setup(4096);
	r.core.backward = true;
	for (i = 0; i < 300; i++)
		fit += write_record(16, 16, 0);
	EXPECT_EQ(fit, 255);
	EXPECT_EQ(r.head, -4080ULL);
}

TEST(paused)
{
	int i;

	ROWS("R-11 R-12");
	setup(4096);
	EXPECT_TRUE(write_record(16, 16, 0));
	r.core.paused = true;
	for (i = 0; i < 5; i++)
		EXPECT_FALSE(write_record(16, 16, 0));
	EXPECT_EQ(r.head, 16);
	r.core.paused = false;
	EXPECT_TRUE(write_record(16, 16, 0));
	reader(true);
	EXPECT_FALSE(r.torn);
	EXPECT_EQ(r.lost, 5);
	EXPECT_EQ(r.found, 2);
}

TEST(without_data)
{
	ROWS("M-02");
	setup(4096);
	kpmu_core_init(&r.core, NULL, 0, &r.head, &r.tail);
	EXPECT_FALSE(write_record(16, 16, 0));
	EXPECT_EQ(local64_read(&r.core.lost), 0);
}

/* Write @nr records and store in @which those that wake the reader; returns their number */
static u64 woken_at(int nr, u64 watermark, u32 events, u64 *which)
{
	u64 n = 0, before;
	int i;

	setup(4096);
	if (watermark)
		r.core.watermark = watermark;
	for (i = 1; i <= nr; i++) {
		before = r.wakes;
		write_record(16, 16, events);
		if (r.wakes != before)
			which[n++] = i;
		reader(true);
	}
	return n;
}

TEST(marks)
{
	static u64 at[300];

	ROWS("R-14 R-15 R-16");
	EXPECT_EQ(woken_at(16, 64, 0, at), 3);
	EXPECT_EQ(at[0], 5);
	EXPECT_EQ(at[1], 9);
	EXPECT_EQ(at[2], 13);
	EXPECT_EQ(woken_at(8, 0, 3, at), 2);
	EXPECT_EQ(at[0], 3);
	EXPECT_EQ(at[1], 6);
	/* With neither watermark nor wakeup_events: at half of the ring */
	EXPECT_EQ(woken_at(200, 0, 0, at), 1);
	EXPECT_EQ(at[0], 129);
	EXPECT_EQ(woken_at(5, 0, 1, at), 5);
}

static struct {
	int level;
	int left[LEVELS];	/* points to pass before the interrupt; -1: no interrupt */
	u64 size[LEVELS];
	int fired;
} irq;

static void point(void)
{
	int l = irq.level;

	reader(false);
	if (l == LEVELS || irq.left[l] < 0 || irq.left[l]--)
		return;
	irq.fired++;
	irq.level++;
	write_record(irq.size[l], 24, 0);
	irq.level--;
}

static void outer(int a, int b, int c, u64 size)
{
	irq.level = 0;
	irq.left[0] = a;
	irq.left[1] = b;
	irq.left[2] = c;
	irq.size[0] = 56;
	irq.size[1] = 32;
	irq.size[2] = 16;
	irq.fired = 0;
	unit_ring_point = point;
	write_record(size, 40, 0);
	unit_ring_point = NULL;
}

#define POINTS	24

/*
 * All combinations of points: interrupt a writer at point a, the interrupt's writer at
 * point b, and that interrupt's writer at point c.
 */
static void all_nestings(struct __test *_metadata, u64 ring, u64 size, bool read)
{
	u64 most = 0;
	int a, b, c;

	for (a = 0; a < POINTS; a += unit_step)
		for (b = -1; b < POINTS; b++)
			for (c = -1; c < POINTS; c++) {
				setup(ring);
				write_record(24, 24, 0);
				outer(a, b, c, size);
				reader(read);
				outer(b, a, c, size);
				reader(read);
				/* This record reports those lost before it */
				r.tail = r.head;
				write_record(16, 16, 0);
				reader(read);
				if (irq.fired > most)
					most = irq.fired;
				if (r.torn || r.core.nest ||
				    r.found + r.lost != r.tried ||
				    r.seen != local64_read(&r.core.written) ||
				    local64_read(&r.core.lost)) {
					TH_LOG("points %d %d %d: torn %d nest %u found %llu lost %llu of %llu",
					       a, b, c, r.torn, r.core.nest,
					       (long long)r.found,
					       (long long)r.lost,
					       (long long)r.tried);
					ASSERT_TRUE(false);
				}
			}
	EXPECT_EQ(most, LEVELS);
}

TEST(nested_everywhere)
{
	ROWS("R-25 R-03");
	all_nestings(_metadata, SIZE, 136, true);
}

TEST(nested_everywhere_and_full)
{
	ROWS("R-25 R-06");
	all_nestings(_metadata, 256, 136, false);
}

/* A watermark causes a wakeup, no matter which of the nested writers passes it */
TEST(nested_marks)
{
	int a, b;

	ROWS("R-14 R-25");
	for (a = 0; a < POINTS; a++)
		for (b = -1; b < POINTS; b++) {
			setup(SIZE);
			r.core.watermark = 100;
			outer(a, b, -1, 136);
			ASSERT_GE(r.wakes, 1);
			ASSERT_FALSE(r.core.wake_due);
		}
}

/* A writer that finds no room wakes for the writer that interrupted it and took the room */
TEST(nested_marks_and_full)
{
	int a;

	ROWS("R-14 R-25 R-06");
	for (a = 0; a < POINTS; a++) {
		setup(256);
		r.core.watermark = 100;
		write_record(80, 80, 0);
		ASSERT_EQ(r.wakes, 0);
		/* 152 bytes fit, but not after the 56 of the interrupting writer */
		outer(a, -1, -1, 152);
		ASSERT_FALSE(r.core.wake_due);
		ASSERT_GE(r.wakes, 1);
	}
}

/* Random records and interrupts, with a correct reader and with one that corrupts the tail */
static u64 seed;
static int depth;

static void random_point(void)
{
	if (depth < LEVELS && unit_random(&seed) % 16 == 0) {
		depth++;
		write_record(16 + unit_random(&seed) % 30 * 8,
			     1 + unit_random(&seed) % 64,
			     unit_random(&seed) % 4);
		depth--;
	}
	if (unit_random(&seed) % 64 == 0)
		reader(unit_random(&seed) % 2);
}

TEST(fuzz_honest)
{
	int round, i;

	ROWS("R-25 R-03 R-24");
	for (round = 1; round < unit_often(300); round++) {
		seed = round;
		setup(256 << unit_random(&seed) % 4);
		unit_ring_point = random_point;
		for (i = 0; i < 100; i++)
			write_record(16 + unit_random(&seed) % 60 * 8, 32, 2);
		unit_ring_point = NULL;
		reader(true);
		write_record(16, 16, 0);
		reader(true);
		ASSERT_FALSE(r.torn);
		ASSERT_EQ(r.core.nest, 0);
		ASSERT_EQ(r.found + r.lost, r.tried);
	}
}

static void lying_point(void)
{
	u64 what = unit_random(&seed);

	random_point();
	if (what % 8 == 0)
		r.tail = what >> 3;
	if (what % 64 == 1)
		r.tail = r.head + (what >> 60);
	if (what % 256 == 2)
		r.core.paused = !r.core.paused;
	/* In a writable mapping, user space can overwrite the head, too */
	if (what % 64 == 3)
		r.head = what;
	r.seen = r.head;
}

/* The writer must not write outside of the ring, which the sanitizer checks */
TEST(fuzz_lying_reader)
{
	int round, i;

	ROWS("M-28");
	for (round = 1; round < unit_often(300); round++) {
		seed = round * 77777;
		setup(128 << unit_random(&seed) % 5);
		r.core.overwrite = round % 3 == 0;
		r.core.backward = round % 2;
		unit_ring_point = lying_point;
		for (i = 0; i < 200; i++)
			write_record(16 + unit_random(&seed) % 300 * 8, 100, 2);
		unit_ring_point = NULL;
		ASSERT_EQ(r.core.nest, 0);
	}
}

static void reset(void)
{
	r.data = NULL;
	writing = 0;
	depth = 0;
	unit_ring_point = NULL;
}

UNIT_SUITE(kpmu_ring, reset,
	   CASE(all_sizes_and_pieces) CASE(large_ring_large_records) CASE(full)
	   CASE(lost_needs_room_too) CASE(overwrite) CASE(backward)
	   CASE(backward_not_overwritten) CASE(paused) CASE(without_data) CASE(marks)
	   CASE(nested_everywhere) CASE(nested_everywhere_and_full) CASE(nested_marks)
	   CASE(nested_marks_and_full) CASE(fuzz_honest) CASE(fuzz_lying_reader));
