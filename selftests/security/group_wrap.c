// SPDX-License-Identifier: GPL-2.0-only
/*
 * The maximum size of a group.  It is limited whatever the read_format of the events, a read never
 * returns more than 16 KiB, and joining a large group costs no more than joining a small one.
 */
#define _GNU_SOURCE
#include <sys/resource.h>

#include "cost.h"
#include "event.h"
#include "harness.h"

#define GROUP_MAX	4096
#define READ_MAX	(16 * 1024)

static struct perf_event_attr dummy(uint64_t format)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_DUMMY);

	a.read_format = format;
	return a;
}

static void many_fds(void)
{
	struct rlimit r = { 2 * GROUP_MAX, 2 * GROUP_MAX };

	if (setrlimit(RLIMIT_NOFILE, &r)) {
		perror("setrlimit");
		exit(KSFT_FAIL);
	}
}

/* Open members until the group grows from @from to @n events.  Return: the last fd. */
static int fill(int leader, int from, int n, uint64_t format)
{
	struct perf_event_attr a = dummy(format);
	int fd = leader;

	for (; from < n; from++)
		fd = ev_must(&a, 0, -1, leader, 0);
	return fd;
}

static int refused(int leader, uint64_t format)
{
	struct perf_event_attr a = dummy(format);

	return ev_errno(&a, 0, -1, leader, 0);
}

/* Without PERF_FORMAT_GROUP no read limits the size.  No privilege is required. */
TEST(bounded_without_group_format)
{
	struct perf_event_attr a = dummy(0);
	uint64_t v = 1;
	int leader, last;

	many_fds();
	set_paranoid(2);
	drop_privilege();
	leader = ev_must(&a, 0, -1, -1, 0);
	last = fill(leader, 1, GROUP_MAX, 0);
	EXPECT_EQ(refused(leader, 0), E2BIG);
	EXPECT_EQ(refused(leader, PERF_FORMAT_GROUP), E2BIG);
	EXPECT_EQ(read(last, &v, sizeof(v)), sizeof(v));
	EXPECT_EQ(v, 0);
	/* Closing a member makes room for another */
	close(last);
	last = fill(leader, 1, 2, 0);
	EXPECT_EQ(refused(leader, 0), E2BIG);
	/* When the leader is closed, each member becomes a group of one, which others may join */
	close(leader);
	fill(last, 1, 3, 0);
}

/* The group grows until its read would be longer than 16 KiB, exactly */
static void read_limit(struct __test *_metadata, uint64_t format, int head,
		       int entry, bool inherit)
{
	static uint64_t buf[READ_MAX / 8 + 1];
	int max = (READ_MAX - 8 * head) / (8 * entry), leader;
	struct perf_event_attr a = dummy(format);
	ssize_t size = 8 * (head + max * entry);

	many_fds();
	a.inherit = inherit;
	leader = ev_must(&a, 0, -1, -1, 0);
	a.read_format = 0;
	for (int i = 1; i < max; i++)
		ev_must(&a, 0, -1, leader, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), E2BIG);
	EXPECT_EQ(read(leader, buf, size - 8), -1);
	EXPECT_EQ(errno, ENOSPC);
	EXPECT_EQ(read(leader, buf, sizeof(buf)), size);
	EXPECT_EQ(buf[0], max);
}

TEST(read_of_values)
{
	read_limit(_metadata, PERF_FORMAT_GROUP, 1, 1, false);
}

TEST(read_of_values_and_ids)
{
	read_limit(_metadata, PERF_FORMAT_GROUP | PERF_FORMAT_ID | FORMAT_TIMES,
		   3, 2, false);
}

TEST(read_of_a_family)
{
	read_limit(_metadata, PERF_FORMAT_GROUP, 1, 1, true);
}

/* The event whose read_format allows the smallest group sets the limit while it is a member */
TEST(strictest_member)
{
	const uint64_t id = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	struct perf_event_attr a = dummy(0);
	int leader, strict, max = READ_MAX / 16 - 1;

	many_fds();
	leader = ev_must(&a, 0, -1, -1, 0);
	fill(leader, 1, max - 1, 0);
	strict = fill(leader, max - 1, max, id);
	EXPECT_EQ(refused(leader, 0), E2BIG);
	close(strict);
	fill(leader, max - 1, max + 1, 0);
	EXPECT_EQ(refused(leader, id), E2BIG);
	fill(leader, max + 1, max + 2, PERF_FORMAT_GROUP);
	fill(leader, max + 2, READ_MAX / 8 - 1, 0);
	EXPECT_EQ(refused(leader, 0), E2BIG);
}

/* Kernel instructions to join a group: the minimum of several joins */
static uint64_t cost_of_a_join(int leader)
{
	struct perf_event_attr a = dummy(0);
	uint64_t least = ~0ULL, n;
	struct sample before;
	int i, fd;

	for (i = 0; i < 8; i++) {
		before = cost_sample();
		fd = ev_must(&a, 0, -1, leader, 0);
		n = cost_sample().insns - before.insns;
		if (n < least)
			least = n;
		close(fd);
	}
	return least;
}

TEST(joining_is_as_cheap_in_a_large_group)
{
	struct perf_event_attr a = dummy(0);
	uint64_t small, large;
	int leader;

	if (!exact() || slow() > 1)
		SKIP(return, "no exact count of the kernel's instructions, or its checks are in it");
	many_fds();
	pin_to(0);
	a.disabled = 0;
	leader = ev_must(&a, 0, -1, -1, 0);
	fill(leader, 1, 10, 0);
	small = cost_of_a_join(leader);
	fill(leader, 10, GROUP_MAX - 1, 0);
	large = cost_of_a_join(leader);
	TH_LOG("%llu kernel instructions, %llu in a group of %d",
	       (unsigned long long)small, (unsigned long long)large, GROUP_MAX);
	/* A walk over the members would take at least 8,000 instructions */
	EXPECT_LT(large, small + 2000);
}

TEST_HARNESS_MAIN
