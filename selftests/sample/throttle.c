// SPDX-License-Identifier: GPL-2.0-only
/* Throttling: an event with too many or too slow overflows is stopped until the next tick. */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

#define MS	1000000ULL

static struct record rec;

static struct perf_event_attr insns(uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
	a.sample_id_all = 1;
	return a;
}

struct seen {
	int throttled;
	int let_go;
	int samples;
	int most;		/* most samples between two THROTTLE records */
	int wrong;
};

/* Are size, time and IDs of a THROTTLE or UNTHROTTLE record right? */
static bool names(const struct ring *r, uint64_t id, uint64_t *last)
{
	uint64_t before = *last;

	*last = record_u64(&rec, 0);
	return record_size(r, &rec) == 24 && *last >= before &&
	       record_u64(&rec, 8) == id && record_u64(&rec, 16) == id &&
	       record_whose(r, &rec).id == id;
}

static struct seen look(struct ring *r, uint64_t id)
{
	struct seen s = {};
	uint64_t last = 0;
	int since = 0;

	while (ring_next(r, &rec)) {
		if (rec.head.type == PERF_RECORD_SAMPLE) {
			/* The sample of the last overflow may follow the THROTTLE record */
			s.wrong += s.throttled != s.let_go && since;
			s.samples++;
			if (++since > s.most)
				s.most = since;
			continue;
		}
		if (rec.head.type == PERF_RECORD_THROTTLE) {
			s.wrong += ++s.throttled != s.let_go + 1;
			since = 0;
		} else if (rec.head.type == PERF_RECORD_UNTHROTTLE) {
			s.wrong += ++s.let_go != s.throttled;
		} else {
			s.wrong++;
			continue;
		}
		s.wrong += !names(r, id, &last);
	}
	printf("# %d samples, throttled %d times, at most %d samples between\n",
	       s.samples, s.throttled, s.most);
	return s;
}

/*
 * Ticks are at most 10 ms apart, so a rate limit of 1000 allows at most 10 overflows a tick.  Where an overflow
 * takes long, as on a vPMU, ticks may end before the limit is reached, and there are more between two records.
 */
TEST(by_rate)
{
	ROWS("D-22 V-19 D-02 Y-04");
	struct perf_event_attr a = insns(1000);
	uint64_t end = patience();
	struct ring r;
	struct seen s;
	int fd;

	throttle_at(1000, 99);
	/* On a busy host, ticks may end before the limit is reached: try again */
	for (;;) {
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 64);
		work_counted(fd, 10000000, 0);
		s = look(&r, ev_id(fd));
		if (s.throttled >= 2 || now_ns() > end)
			break;
		ring_unmap(&r);
		close(fd);
	}
	EXPECT_EQ(s.wrong, 0);
	EXPECT_GE(s.throttled, 2);
	if (exact())
		EXPECT_LE(s.most, 11);
	/* The event does not count while throttled */
	EXPECT_LT(ev_count(fd), WORK_INSNS(10000000));
	EXPECT_LE(s.samples, ev_count(fd) / 1000);
	EXPECT_GE(s.samples, ev_count(fd) / 1000 - s.throttled - 1);
	no_throttle();
}

/*
 * Rounds of five instructions that change no general register.  The flags differ between rounds
 * only before JZ and before TESTL.
 */
static void same_registers(long rounds)
{
	__asm__ volatile("1: decq %0\n\tjz 2f\n\ttestl $0, %k1\n\tnop\n\tjmp 1b\n2:"
			 : "+m" (rounds) : "r" (0L) : "cc", "memory");
}

/* Unchanged registers since the previous overflow do not mean a livelock */
TEST(in_a_loop)
{
	ROWS("V-19 S-04");
	struct perf_event_attr a;
	struct ring r;
	int fd, i, n;

	no_throttle();
	/* Start at another place of the loop each time, to overflow at each of its instructions */
	for (i = 1; i <= 5; i++) {
		a = insns(1000);
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 64);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work(i);		/* four instructions more each time */
		same_registers(20000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		for (n = 0; ring_next(&r, &rec); n++)
			EXPECT_EQ(rec.head.type, PERF_RECORD_SAMPLE);
		EXPECT_EQ(n, ev_count(fd) / 1000);
		EXPECT_GE(n, 99);
		ring_unmap(&r);
		close(fd);
	}
}

/* Overflows allowed per tick, at @rate per second */
static int per_tick(int rate)
{
	struct timespec tick;
	int hz;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	hz = 1000000000 / tick.tv_nsec;
	return (rate + hz - 1) / hz;
}

/*
 * Return: the number of times that an UNTHROTTLE record follows another.  Lowers *@fewest to the
 * fewest samples between two of them.
 */
static int fewest_between(int fd, const struct perf_event_attr *a, int *fewest)
{
	int n = -1, found = 0;
	struct ring r;

	ring_map(&r, fd, a, 64);
	work_counted(fd, 10000000, 0);
	while (ring_next(&r, &rec)) {
		if (rec.head.type == PERF_RECORD_SAMPLE) {
			n += n >= 0;
		} else if (rec.head.type == PERF_RECORD_UNTHROTTLE) {
			if (n >= 0 && n < *fewest)
				*fewest = n;
			found += n >= 0;
			n = 0;
		}
	}
	ring_unmap(&r);
	return found;
}

/*
 * The last overflow that is allowed in a tick throttles the event; its sample follows the THROTTLE
 * record.  If the tick ends before, the next tick allows the same number again.  So there may be
 * more samples between two throttles than a tick allows, never fewer.
 */
TEST(samples_per_tick)
{
	ROWS("V-19 Y-04");
	struct perf_event_attr a = insns(1000);
	int fd, fewest = 1 << 30, found = 0;
	uint64_t end = patience();

	throttle_at(2000, 99);
	while (found < 2 && now_ns() < end) {
		fd = ev_must(&a, 0, -1, -1, 0);
		found += fewest_between(fd, &a, &fewest);
		close(fd);
	}
	EXPECT_GE(found, 2);
	/* Upstream lowers the rate where interrupts take long, as on a vPMU */
	if (exact())
		EXPECT_EQ(fewest, per_tick(2000));
	else
		EXPECT_LE(fewest, per_tick(2000));
	no_throttle();
}

/* perf_cpu_time_max_percent throttles too, even without a limit of the sample rate */
TEST(by_time)
{
	ROWS("U-23 D-22 V-19");
	struct perf_event_attr a = insns(100);
	struct ring r;
	int fd;

	throttle_at(route_is_native() ? 100000 : 1000000000, 1);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	work_counted(fd, 1000000, 0);
	EXPECT_GE(look(&r, ev_id(fd)).throttled, 1);
	close(fd);
	no_throttle();
	EXPECT_EQ(read_long(sysctl_file("perf_cpu_time_max_percent")), 0);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	work_counted(fd, 50000, 0);
	EXPECT_EQ(look(&r, ev_id(fd)).throttled, 0);
	if (exact())
		EXPECT_EQ(ev_count(fd), WORK_INSNS(50000));
	EXPECT_EQ(write_long(sysctl_file("perf_cpu_time_max_percent"), 101), -1);
	EXPECT_EQ(write_long(sysctl_file("perf_cpu_time_max_percent"), -1), -1);
}

/* What overflows took in earlier ticks is not part of their share of this one */
TEST(time_of_earlier_ticks)
{
	ROWS("U-23 V-19");
	struct perf_event_attr often = insns(1000), seldom = insns(400000);
	uint64_t end = patience();
	struct ring r;
	struct seen s;
	int fd;

	/* They take more than a tick, wherever the task runs */
	ASSERT_EQ(pin_to(0), 0);
	no_throttle();
	fd = ev_must(&often, 0, -1, -1, 0);
	work_counted(fd, 1000000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000000));
	close(fd);
	throttle_at(route_is_native() ? 100000 : 1000000000, 99);
	/* On a busy host, few may take a tick, too: try again */
	do {
		fd = ev_must(&seldom, 0, -1, -1, 0);
		ring_map(&r, fd, &seldom, 64);
		work_counted(fd, 2000000, 0);
		s = look(&r, ev_id(fd));
		EXPECT_EQ(s.samples, ev_count(fd) / 400000);
		ring_unmap(&r);
		close(fd);
	} while (s.throttled && now_ns() < end);
	EXPECT_EQ(s.throttled, 0);
	EXPECT_GE(s.samples, WORK_INSNS(2000000) / 400000);
	no_throttle();
}

/* A period shorter than the exit path of an NMI: the next PMI precedes any progress */
TEST(period_livelock)
{
	ROWS("U-23 V-19");
	struct perf_event_attr a = insns(1);
	uint64_t end;
	struct ring r;
	int fd, n = 0;

	if (route_is_native())
		SKIP(return, "upstream has no means against it");
	throttle_at(100000, 25);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ev_enable(fd);
	for (end = now_ns() + 200 * MS; now_ns() < end; n++)
		getppid();
	ev_disable(fd);
	EXPECT_GE(n, 10);
	EXPECT_GE(look(&r, ev_id(fd)).throttled, 1);
	no_throttle();
}

/*
 * The same with a sample frequency that cannot be reached, as the handling of an overflow takes
 * longer than the interval.  The frequency must be reduced, or each CPU would do nothing else.
 */
TEST(frequency_livelock)
{
	ROWS("U-23 V-19");
	struct perf_event_attr a = insns(20000);
	int fd[64], cpu, i, n = nr_cpus() < 64 ? nr_cpus() : 64;
	uint64_t end;

	if (route_is_native())
		SKIP(return, "upstream has no means against it");
	no_throttle();
	a.freq = 1;
	a.exclude_kernel = 0;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	for (cpu = 0; cpu < n; cpu++) {
		static struct ring r[64];

		fd[cpu] = ev_must(&a, -1, cpu, -1, 0);
		ring_map(&r[cpu], fd[cpu], &a, 64);
	}
	for (cpu = 0; cpu < n; cpu++)
		ev_enable(fd[cpu]);
	for (cpu = 0; cpu < n; cpu++) {
		pin_to(cpu);
		i = 0;
		for (end = now_ns() + 100 * MS; now_ns() < end; i++)
			getppid();
		EXPECT_GE(i, 10);
	}
	for (cpu = 0; cpu < n; cpu++)
		close(fd[cpu]);
}

/* If the leader writes no records, the sibling that caused the throttle writes THROTTLE */
TEST(leader_without_ring)
{
	ROWS("D-22 V-19");
	struct perf_event_attr a = insns(0), b = insns(1000);
	struct seen s;
	struct ring r;
	int fd, other;

	throttle_at(1000, 99);
	a.sample_type = 0;
	a.sample_id_all = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	b.disabled = 0;
	other = ev_must(&b, 0, -1, fd, 0);
	ring_map(&r, other, &b, 64);
	work_counted(fd, 10000000, 0);
	s = look(&r, ev_id(other));
	EXPECT_GE(s.throttled, 2);
	EXPECT_EQ(s.wrong, 0);
	no_throttle();
}

/* An event with too many overflows stops its whole group */
/* Read the group of @fd, throttled twice meanwhile, into @v: its size, two counts */
static void throttled_group(struct __test *_metadata, bool kernel, uint64_t *v)
{
	struct perf_event_attr a = insns(1000), b = insns(0);
	uint64_t end = patience();
	int fd, other, times, throttled = 0;
	struct ring r;

	throttle_at(1000, 99);
	a.read_format = PERF_FORMAT_GROUP;
	a.exclude_kernel = b.exclude_kernel = !kernel;
	if (kernel)
		a.sample_period = 20000;
	fd = ev_must(&a, 0, -1, -1, 0);
	b.disabled = 0;
	other = ev_must(&b, 0, -1, fd, 0);
	ring_map(&r, fd, &a, 64);
	for (times = 0; throttled < 2 && now_ns() < end; times++) {
		work_counted(fd, 10000000, 0);
		throttled += look(&r, ev_id(fd)).throttled;
	}
	ASSERT_EQ(read(fd, v, 24), 24);
	EXPECT_GE(throttled, 2);
	if (!kernel)
		EXPECT_LT(v[1], times * WORK_INSNS(10000000));
	EXPECT_EQ(ev_count(other), v[2]);
	no_throttle();
}

TEST(a_group)
{
	ROWS("V-19 D-22");
	uint64_t v[3];

	throttled_group(_metadata, false, v);
	/* Both events miss the same instructions */
	EXPECT_EQ(v[2], v[1]);
}

/* Its counters stop and start together: counted in the kernel, too, both miss the same */
TEST(a_group_in_the_kernel)
{
	ROWS("V-19 D-22");
	uint64_t v[3];

	if (route_is_native() || !exact() || !counters_fixed())
		SKIP(return, "for kpmu on an exact PMU that starts all counters at once");
	throttled_group(_metadata, true, v);
	EXPECT_EQ(v[2], v[1]);
}

static char *page;

static void rounds(int n)
{
	while (n--) {
		work(25);
		syscall(SYS_getppid);
		madvise(page, 4096, MADV_DONTNEED);
		*(volatile char *)page = 1;
	}
}

static uint64_t rounds_counted(int fd, int n)
{
	uint64_t before = ev_count(fd);

	ev_enable(fd);
	rounds(n);
	ev_disable(fd);
	return ev_count(fd) - before;
}

static int tracepoint(const char *name, int group)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, 0);
	char path[128];
	long id;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	id = read_long(path);
	if (id < 0)
		exit(KSFT_FAIL);
	a.config = id;
	a.disabled = 0;
	a.exclude_kernel = 0;
	return ev_must(&a, 0, -1, group, 0);
}

#define TRIAL	1000
#define ROUNDS	16000

/* Throttling a group also stops its software events and tracepoints */
TEST(group_with_software_events)
{
	ROWS("V-19 D-22");
	struct perf_event_attr a = insns(1000), faults;
	int64_t each, ran, member[2];
	int fd, i, slack;
	struct seen s;
	struct ring r;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(page, MAP_FAILED);
	no_throttle();
	rounds(1);
	each = rounds_counted(ev_self(a.type, a.config, -1), TRIAL) / TRIAL;
	ASSERT_GT(each, 100);
	throttle_at(1000, 99);
	fd = ev_must(&a, 0, -1, -1, 0);
	faults = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	faults.disabled = 0;
	member[0] = ev_must(&faults, 0, -1, fd, 0);
	member[1] = tracepoint("syscalls/sys_enter_getppid", fd);
	ring_map(&r, fd, &a, 64);
	ran = rounds_counted(fd, ROUNDS) / each;
	s = look(&r, ev_id(fd));
	/* A throttle and its end may each fall in the middle of a round */
	slack = 2 * s.throttled + 4;
	no_throttle();
	if (ran >= ROUNDS - slack)
		SKIP(return, "a tick has too few rounds to throttle much");
	for (i = 0; i < 2; i++) {
		printf("# %d of %d rounds by instructions, %d by hits\n", (int)ran,
		       ROUNDS, (int)ev_count(member[i]));
		EXPECT_GE((int64_t)ev_count(member[i]), ran - slack);
		EXPECT_LE((int64_t)ev_count(member[i]), ran + slack);
	}
}

TEST_HARNESS_MAIN
