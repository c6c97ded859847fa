// SPDX-License-Identifier: GPL-2.0-only
/* Records that find no room in the ring, and how their loss is reported. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "event.h"
#include "harness.h"
#include "pair.h"

static struct record rec;

#define COMM_SIZE	(8 + 16 + 48)

static int comm_event(struct ring *r, bool read_only)
{
	struct perf_event_attr a = pair_attr();
	int fd;

	a.comm = 1;
	a.read_format = PERF_FORMAT_LOST;
	fd = ev_must(&a, 0, -1, -1, 0);
	if (read_only)
		ring_map_read_only(r, fd, &a, 1);
	else
		ring_map(r, fd, &a, 1);
	ev_enable(fd);
	return fd;
}

static void rename_(int n)
{
	while (n--)
		prctl(PR_SET_NAME, "x");
}

static uint64_t lost(int fd)
{
	uint64_t v[2] = { 0, -1 };

	if (read(fd, v, sizeof(v)) != sizeof(v))
		return -1;
	return v[1];
}

TEST(no_room)
{
	ROWS("D-14 D-15 R-05 R-06 R-07 R-02 F-09");
	/* At least one byte of the ring stays free */
	const int fit = 4095 / COMM_SIZE, more = 7;
	struct ring r;
	int fd = comm_event(&r, false), i;

	rename_(fit + more);
	for (i = 0; i < fit; i++)
		ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_FALSE(ring_next(&r, &rec));
	EXPECT_EQ(lost(fd), more);
	ring_consume(&r);
	rename_(1);
	/* The LOST record is written just before the next record */
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.type, 2);
	EXPECT_EQ(rec.head.misc, 0);
	EXPECT_EQ(record_size(&r, &rec), 16);
	EXPECT_EQ(record_u64(&rec, 0), ev_id(fd));
	EXPECT_EQ(record_u64(&rec, 8), more);
	EXPECT_EQ(record_whose(&r, &rec).id, ev_id(fd));
	EXPECT_EQ(record_whose(&r, &rec).tid, getpid());
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_COMM);
	EXPECT_FALSE(ring_next(&r, &rec));
	rename_(1);
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_COMM);
	EXPECT_EQ(lost(fd), more);
}

TEST(paused)
{
	ROWS("R-11 R-12 I-24 D-14 F-09");
	struct ring r;
	int fd = comm_event(&r, false);

	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1), 0);
	rename_(5);
	EXPECT_FALSE(ring_next(&r, &rec));
	EXPECT_EQ(lost(fd), 5);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0), 0);
	rename_(1);
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_LOST);
	EXPECT_EQ(record_u64(&rec, 8), 5);
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_COMM);
}

/* A ring mapped read-only is overwritten, so no record is lost */
TEST(overwritten)
{
	ROWS("R-08 R-01");
	struct ring r;
	int fd = comm_event(&r, true);

	rename_(1000);
	EXPECT_EQ(r.page->data_head, 1000 * COMM_SIZE);
	EXPECT_EQ(lost(fd), 0);
}

/* Two events write to one ring, each with its own id */
TEST(shared)
{
	ROWS("I-15 D-05 S-02 V-18");
	struct perf_event_attr a = pair_attr();
	struct ring r;
	int fd = comm_event(&r, false), other;

	a.comm = 1;
	a.sample_type = PERF_SAMPLE_IDENTIFIER;
	other = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd), 0);
	ev_enable(other);
	rename_(1);
	/* The event opened last gets its record first */
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.size, 8 + 16 + 8);
	EXPECT_EQ(record_u64(&rec, 16), ev_id(other));
	ASSERT_TRUE(ring_next(&r, &rec));
	EXPECT_EQ(rec.head.size, COMM_SIZE);
	EXPECT_EQ(record_u64(&rec, 56), ev_id(fd));
}

TEST_HARNESS_MAIN
