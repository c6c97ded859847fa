// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PMI arrives while a counter is being programmed: the PMI of another event, which reads the
 * group, or that of the counter itself.  Neither may use a partly programmed counter.
 */
#define _GNU_SOURCE

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/kpmu-read.h>

#include "harness.h"
#include "places.h"
#include "ring.h"
#include "switches.h"

/* Longer than the periods that kpmu's livelock detection throttles (sampling/budget.c) */
#define PERIOD	4000

/* An event like those of places.h that leads a group with one that counts user mode, with a ring for @a */
static int open_group(const struct perf_event_attr *a, struct ring *r, int *member)
{
	struct perf_event_attr m = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd = ev_must(a, 0, -1, -1, 0);

	ring_map(r, fd, a, 128);
	m.disabled = 0;
	m.sample_period = 1ull << 40;
	*member = ev_must(&m, 0, -1, fd, 0);
	return fd;
}

/*
 * The leader overflows once, a given number of instructions after it is enabled, and its sample
 * reads the group.  Meanwhile the sibling's counter is programmed with a new period.
 */
TEST(period_of_a_member)
{
	ROWS("S-11");
	struct perf_event_attr a = kernel_insns(FIRST);
	uint64_t period, of_member, samples = 0;
	int fd, member, wrong = 0, step = (LAST - FIRST) / often(LAST - FIRST);
	struct ring r;

	no_throttle();
	a.sample_type = PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP;
	fd = open_group(&a, &r, &member);
	for (period = FIRST; period < LAST; period += step) {
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
		of_member = (1ull << 40) + period;
		ASSERT_EQ(ioctl(member, PERF_EVENT_IOC_PERIOD, &of_member), 0);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		samples += ring_count(&r, PERF_RECORD_SAMPLE);
		ring_consume(&r);
		wrong += ev_count(member) > 1000000000;
	}
	EXPECT_EQ(wrong, 0);
	EXPECT_GT(samples, 0);
}

/* Number of records of @r not yet looked at; @throttled: whether the group is throttled */
static int records(struct ring *r, bool *throttled)
{
	static struct record rec;
	int n = 0;

	for (; ring_next(r, &rec); n++)
		if (rec.head.type != PERF_RECORD_SAMPLE)
			*throttled = rec.head.type == PERF_RECORD_THROTTLE;
	ring_consume(r);
	return n;
}

/*
 * The leader overflows while the sibling's counter is programmed with a new period, and the group is
 * throttled: the sibling does not count until the next tick.  Linux 6.12 throttles the leader only.
 */
TEST(throttled_in_between)
{
	ROWS("V-19 D-22");
	struct perf_event_attr a = kernel_insns(FIRST);
	uint64_t period, of_member, before, counted, seen = 0;
	bool throttled;
	int fd, member, wrong = 0, step = (LAST - FIRST) / often(LAST - FIRST);
	struct ring r;
	long left;

	if (route_is_native())
		SKIP(return, "kernels differ");
	throttle_at(1, 0);
	fd = open_group(&a, &r, &member);
	for (period = FIRST; period < LAST; period += step) {
		ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		ev_enable(fd);
		of_member = (1ull << 40) + period;
		ASSERT_EQ(ioctl(member, PERF_EVENT_IOC_PERIOD, &of_member), 0);
		throttled = false;
		if (records(&r, &throttled) && throttled) {
			left = switches();
			before = ev_count(member);
			work(10);
			counted = ev_count(member) - before;
			/*
			 * Without a tick meanwhile, and without a switch: a group that gets counters
			 * again counts, and has its record at the next tick or overflow.
			 */
			if (!records(&r, &throttled) && switches() == left) {
				wrong += counted != 0;
				seen++;
			}
		}
		ev_disable(fd);
		ring_skip(&r);
	}
	no_throttle();
	EXPECT_EQ(wrong, 0);
	EXPECT_GT(seen, 0);
}

/* REFRESH adds overflows to those allowed; it does not resume an event that is throttled */
TEST(refresh_while_throttled)
{
	ROWS("V-10 V-19");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t before, counted, end = patience();
	int fd, wrong = 0, seen = 0;
	bool throttled;
	struct ring r;

	throttle_at(1000, 99);
	a.sample_period = 1000;
	a.sample_type = PERF_SAMPLE_IP;
	while (seen < 20 && now_ns() < end) {
		throttled = false;
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 16);
		ev_enable(fd);
		while (!throttled && now_ns() < end) {
			work(1000);
			records(&r, &throttled);
		}
		before = ev_count(fd);
		ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 100), 0);
		work(10);
		counted = ev_count(fd) - before;
		/* Without a tick meanwhile */
		if (throttled && !records(&r, &throttled)) {
			wrong += counted != 0;
			seen++;
		}
		ring_unmap(&r);
		close(fd);
	}
	no_throttle();
	EXPECT_EQ(wrong, 0);
	EXPECT_GT(seen, 0);
}

/*
 * The event overflows, which sets its counter to another value, while its page is written: some of many
 * overflows, as what is left of the period when the event is enabled differs each time.
 */
TEST(page)
{
	ROWS("M-06");
	struct perf_event_attr a = kernel_insns((PERIOD + 1) * slow() * slow());
	int fd, i, n = often(3000), seen = 0, wrong = 0;
	struct kpmu_value before, after;
	uint64_t count;
	struct ring r;

	if (route_is_native())
		SKIP(return, "upstream was seen to leave a wrong offset in the page");
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 1);
	for (i = 0; i < n; i++) {
		ev_enable(fd);
		seen += r.page->index != 0;
		if (kpmu_read_self(r.page, &before))
			break;
		count = ev_count(fd);
		kpmu_read_self(r.page, &after);
		ev_disable(fd);
		if (before.value > count || count > after.value)
			if (!wrong++)
				printf("# page %lld, read %lld, page %lld\n", (long long)before.value,
				       (long long)count, (long long)after.value);
	}
	EXPECT_EQ(wrong, 0);
	EXPECT_GT(seen, 0);
}

static void calls(int n)
{
	while (n--)
		syscall(SYS_getppid);
}

#define CALLS	120

/*
 * Number of samples within CALLS * slow() system calls, after a reset if @reset.  -1 if the event
 * was throttled: if the host has preempted an NMI, the kernel prints a message before the NMI ends,
 * which takes longer than a period.
 */
static int samples_after(int fd, struct ring *r, bool reset)
{
	static struct record rec;
	int n = 0, throttled;

	ev_enable(fd);
	calls(CALLS * slow());
	if (reset)
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	throttled = ring_count(r, PERF_RECORD_THROTTLE);
	ring_skip(r);
	calls(CALLS * slow());
	ev_disable(fd);
	while (ring_next(r, &rec)) {
		n += rec.head.type == PERF_RECORD_SAMPLE;
		throttled += rec.head.type == PERF_RECORD_THROTTLE;
	}
	ring_consume(r);
	return throttled ? -1 : n;
}

/* The event overflows while it is reset */
TEST(reset)
{
	ROWS("I-08");
	struct perf_event_attr a = kernel_insns(PERIOD * slow() * slow());
	int fd, i, k, n = often(3000), least = 1 << 30, usual = 1 << 30, throttled = 0;
	uint64_t period;
	struct ring r;

	if (route_is_native())
		SKIP(return, "upstream was seen to lose samples here");
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 128);
	for (i = 0; i < n; i++) {
		period = PERIOD * slow() * slow() + i % 97;
		ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0);
		k = samples_after(fd, &r, true);
		throttled += k < 0;
		if (k >= 0)
			least = k < least ? k : least;
	}
	/* The least of some: an interrupt in the middle adds its own instructions */
	for (i = 0; i < 20; i++) {
		k = samples_after(fd, &r, false);
		if (k >= 0)
			usual = k < usual ? k : usual;
	}
	printf("# %d rounds of %d with a throttled event\n", throttled, n);
	EXPECT_LE(throttled, n / 10);
	EXPECT_GT(usual, 2);
	/* A reset that delays the next overflow by the old count would leave no samples */
	EXPECT_GE(least, usual / 2);
}

TEST_HARNESS_MAIN
