// SPDX-License-Identifier: GPL-2.0-only
/* AMD's instruction-based sampling: which events are possible, and the kernel's own perf. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "ibs.h"

static int open_errno(struct perf_event_attr a)
{
	return ev_errno(&a, 0, -1, -1, 0);
}

/* The period: at least 144 ops or 16 fetches, of which the lowest bits are ignored */
TEST(periods)
{
	struct perf_event_attr a;

	ROWS("U-48");
	NEED_IBS();
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", CNT_CTL, 0x8f)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", CNT_CTL, 0x90)), 0);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", CNT_CTL, 0x9f)), 0);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", 0x10, 0x100)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", 0, 0)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", 8, 0)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", 9, 0)), 0);
	EXPECT_EQ(open_errno(ibs_attr("ibs_fetch", 0, 0xf)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_fetch", 0, 0x10)), 0);
	EXPECT_EQ(open_errno(ibs_attr("ibs_fetch", 1, 0)), 0);
	a = ibs_attr("ibs_op", 9, 0);
	a.freq = 1;
	EXPECT_EQ(open_errno(a), EINVAL);
}

/* PERIOD does not ignore the lowest bits */
TEST(change_period)
{
	struct perf_event_attr a;
	uint64_t period;
	int fd;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	fd = ev_must(&a, 0, -1, -1, 0);
	period = 2 * OPS;
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0);
	period = 2 * OPS + 1;
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), -1);
	EXPECT_EQ(errno, EINVAL);
	period = 0x80;
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), -1);
	EXPECT_EQ(errno, EINVAL);
	close(fd);
}

/* The period of an event that counts */
TEST(change_period_meanwhile)
{
	uint64_t period = OPS;
	struct perf_event_attr a;
	struct ring r;
	int fd, few, many;

	ROWS("U-48");
	NEED_IBS();
	no_throttle();
	a = ibs_attr("ibs_op", CNT_CTL, 8 * OPS);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	work(100 * OPS);
	few = ring_count(&r, PERF_RECORD_SAMPLE);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0);
	work(100 * OPS);
	many = ring_count(&r, PERF_RECORD_SAMPLE);
	ev_disable(fd);
	EXPECT_GE(few, 10);
	EXPECT_GE(many, 4 * few);
	ring_unmap(&r);
	close(fd);
}

/* A throttled event has no sample until the next tick, whichever program it samples */
TEST(throttled)
{
	static struct record rec;
	uint64_t end = patience();
	struct perf_event_attr a;
	int fd, n = 0, wrong = 0;
	bool still = false;
	struct ring r;

	ROWS("U-48 V-19 D-22");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	throttle_at(1000, 99);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	while (n < 3 && now_ns() < end) {
		work(10 * OPS);
		while (ring_next(&r, &rec)) {
			if (rec.head.type == PERF_RECORD_THROTTLE) {
				wrong += still;
				still = true;
				n++;
				/* That of the overflow which reached the limit may follow */
				if (ring_next(&r, &rec) && rec.head.type == PERF_RECORD_UNTHROTTLE)
					still = false;
			} else if (rec.head.type == PERF_RECORD_UNTHROTTLE) {
				wrong += !still;
				still = false;
			} else {
				wrong += still;
			}
		}
		ring_consume(&r);
	}
	ev_disable(fd);
	no_throttle();
	EXPECT_GE(n, 3);
	EXPECT_EQ(wrong, 0);
	ring_unmap(&r);
	close(fd);
}

TEST(bits)
{
	ROWS("U-48");
	NEED_IBS();
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", 1ULL << 17, OPS)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", 1ULL << 32, OPS)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_op", 1ULL << 16, OPS)),
		  ibs_has("ibs_op", "format/l3missonly") ? 0 : EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_fetch", 1ULL << 57, OPS)), 0);
	EXPECT_EQ(open_errno(ibs_attr("ibs_fetch", 1ULL << 48, OPS)), EINVAL);
	EXPECT_EQ(open_errno(ibs_attr("ibs_fetch", 1ULL << 59, OPS)),
		  ibs_has("ibs_fetch", "format/l3missonly") ? 0 : EINVAL);
}

TEST(flags)
{
	struct perf_event_attr a;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.exclude_idle = 1;
	EXPECT_EQ(open_errno(a), EINVAL);
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.exclude_host = 1;
	EXPECT_EQ(open_errno(a), EINVAL);
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.exclude_guest = 1;
	EXPECT_EQ(open_errno(a), EINVAL);
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.exclude_kernel = 1;
	EXPECT_EQ(open_errno(a), EINVAL);
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	a.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	EXPECT_EQ(open_errno(a), EOPNOTSUPP);
}

/* One sampler, one event at a time */
TEST(group)
{
	struct perf_event_attr a;
	int fd;

	ROWS("U-48");
	NEED_IBS();
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, fd, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	close(fd);
}

/* An unmodified client looks for the types among the kernel's own PMUs */
TEST(types)
{
	ROWS("U-48");
	NEED_IBS();
	EXPECT_EQ(ibs_type("ibs_op"), read_long("/sys/bus/event_source/devices/ibs_op/type"));
	EXPECT_EQ(ibs_type("ibs_fetch"), read_long("/sys/bus/event_source/devices/ibs_fetch/type"));
}

static int native(uint32_t type)
{
	struct perf_event_attr a = ibs_attr("ibs_op", CNT_CTL, 100000);

	a.type = type;
	a.disabled = 0;
	return syscall(SYS_perf_event_open, &a, -1, 0, -1, 0);
}

/* The kernel's own perf and kpmu do not use it at the same time */
TEST(shared)
{
	struct perf_event_attr a;
	uint32_t type;
	int fd, other;

	ROWS("U-48");
	NEED_IBS();
	if (route_is_native())
		SKIP(return, "it is about kpmu and native perf");
	type = read_long("/sys/bus/event_source/devices/ibs_op/type");
	a = ibs_attr("ibs_op", CNT_CTL, OPS);
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(native(type), -1);
	EXPECT_EQ(errno, EBUSY);
	close(fd);
	other = native(type);
	ASSERT_TRUE(other >= 0);
	EXPECT_EQ(open_errno(a), EBUSY);
	close(other);
	EXPECT_EQ(open_errno(a), 0);
}

TEST_HARNESS_MAIN
