// SPDX-License-Identifier: GPL-2.0-only
/* The library libkpmu (tools/lib). */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "libkpmu.h"
#include "switches.h"
#include "task.h"

#define N	100000
#define CALLS	2000	/* user instructions of the calls that enable and disable, at most */
#define MAX	8

static struct kpmu_event events[MAX];

#define SKIP_NATIVE() do {						\
	if (route_is_native())						\
		SKIP(return, "the library opens events on kpmu");	\
} while (0)

/* A set of the caller, disabled, with @list */
static struct kpmu_set *set_of(const char *list)
{
	int i, self = 0, n = kpmu_events_parse(list, events, MAX, NULL);

	for (i = 0; i < n; i++)
		events[i].attr.disabled = events[i].leader == i;
	return kpmu_set_open(events, n, &self, 1, KPMU_SET_TASKS, -1, NULL);
}

TEST(set_of_a_task)
{
	struct kpmu_count c[2];
	struct kpmu_set *set;
	int i, round;

	ROWS("W-15");
	SKIP_NATIVE();
	set = set_of("{instructions:u,branches:u}");
	ASSERT_TRUE(set);
	EXPECT_GE(kpmu_set_fd(set), 0);
	for (round = 0; round < 2; round++) {
		ASSERT_EQ(kpmu_set_reset(set), 0);
		ASSERT_EQ(kpmu_set_enable(set), 0);
		work(N);
		ASSERT_EQ(kpmu_set_disable(set), 0);
		ASSERT_EQ(kpmu_set_read(set), 0);
		for (i = 0; i < 2; i++)
			c[i] = kpmu_set_count(set, 0, i);
		EXPECT_GE(c[0].value, WORK_INSNS(N));
		EXPECT_LE(c[0].value, WORK_INSNS(N) + CALLS);
		EXPECT_GE(c[1].value, WORK_BRANCHES(N));
		EXPECT_LE(c[1].value, WORK_BRANCHES(N) + CALLS);
		EXPECT_GT(c[0].enabled, 0);
		EXPECT_EQ(c[0].enabled, c[0].running);
		EXPECT_EQ(kpmu_count_scaled(c[0]), c[0].value);
	}
	kpmu_set_close(set);
	kpmu_set_close(NULL);
}

TEST(set_of_cpus)
{
	int cpu, cpus[MAX], nr = nr_cpus() < MAX ? nr_cpus() : MAX;
	struct kpmu_count sum, one;
	struct kpmu_set *set;
	uint64_t all = 0;

	ROWS("W-15");
	SKIP_NATIVE();
	for (cpu = 0; cpu < nr; cpu++)
		cpus[cpu] = cpu;
	ASSERT_EQ(kpmu_events_parse("task-clock,instructions", events, MAX, NULL), 2);
	set = kpmu_set_open(events, 2, cpus, nr, 0, -1, NULL);
	ASSERT_TRUE(set);
	work(N);
	ASSERT_EQ(kpmu_set_read(set), 0);
	sum = kpmu_set_sum(set, 1);
	for (cpu = 0; cpu < nr; cpu++) {
		one = kpmu_set_count(set, cpu, 1);
		EXPECT_NE(one.value, KPMU_SET_NONE);
		all += one.value;
	}
	EXPECT_EQ(sum.value, all);
	EXPECT_GE(all, WORK_INSNS(N));
	kpmu_set_close(set);
}

TEST(reserved)
{
	struct perf_event_attr a = { .type = PERF_TYPE_RAW, .config = RAW_BRANCHES, .size = sizeof(a) };
	struct kpmu_info_counter c[32];
	struct kpmu_info info;
	int cpu = 0, by, fd;

	ROWS("W-15 W-20");
	SKIP_NATIVE();
	by = kpmu_reserve(&cpu, 1, 0x2, "a name that is too long");
	ASSERT_GE(by, 0);
	ASSERT_GT(kpmu_cpu_info(0, &info, c, 32), 1);
	EXPECT_EQ(info.reserved, 0x2);
	EXPECT_EQ(c[1].holder, KPMU_HOLDER_RESERVED);
	EXPECT_EQ(strcmp(c[1].comm, "a name that is "), 0);
	fd = kpmu_event_open_on(by, &a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_GE(fd, 0);
	kpmu_cpu_info(0, &info, c, 32);
	EXPECT_EQ(c[1].holder, KPMU_HOLDER_EVENT);
	EXPECT_EQ(kpmu_event_open_on(fd, &a, -1, 0, -1, 0), -1);
	EXPECT_EQ(errno, EBADF);
	EXPECT_EQ(kpmu_reserve(&cpu, 1, 0x2, ""), -1);
	EXPECT_EQ(errno, EBUSY);
	EXPECT_NE(kpmu_why()[0], 0);
	close(fd);
	close(by);
}

TEST(buckets)
{
	struct kpmu_count all, one;
	struct kpmu_buckets *b;
	int cpu = 0, n, i, found = 0, failed;
	uint64_t sum[3] = { 0 };

	ROWS("W-15");
	SKIP_NATIVE();
	pin_to(0);
	ASSERT_EQ(kpmu_events_parse("task-clock,instructions:u", events, MAX, NULL), 2);
	b = kpmu_buckets_open(events, 2, &cpu, 1, KPMU_SET_BY_TASK, 1000, NULL);
	ASSERT_TRUE(b);
	work(N);
	n = kpmu_buckets_read(b);
	ASSERT_GE(n, 3);
	EXPECT_EQ(kpmu_buckets_key(b, 0).id, KPMU_BUCKET_ALL);
	EXPECT_EQ(kpmu_buckets_key(b, 1).id, KPMU_BUCKET_OTHER);
	EXPECT_EQ(kpmu_buckets_overflows(b), 0);
	for (i = 1; i < n; i++) {
		one = kpmu_buckets_count(b, i, 1);
		sum[0] += one.value;
		sum[1] += one.enabled;
		sum[2] += one.running;
		if (kpmu_buckets_key(b, i).id != (uint64_t)getpid())
			continue;
		found++;
		EXPECT_GE(one.value, WORK_INSNS(N));
		EXPECT_LE(one.value, WORK_INSNS(N) + CALLS);
		EXPECT_GT(kpmu_buckets_key(b, i).start, 0);
	}
	EXPECT_EQ(found, 1);
	all = kpmu_buckets_count(b, 0, 1);
	EXPECT_EQ(all.value, sum[0]);
	EXPECT_EQ(all.enabled, sum[1]);
	EXPECT_EQ(all.running, sum[2]);
	EXPECT_EQ(ioctl(kpmu_buckets_fd(b), PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_GE(kpmu_buckets_read(b), 2);
	EXPECT_LT(kpmu_buckets_count(b, 0, 1).value, WORK_INSNS(N));
	kpmu_buckets_close(b);
	kpmu_buckets_close(NULL);
	events[1].attr.type = 9999;
	EXPECT_FALSE(kpmu_buckets_open(events, 2, &cpu, 1, KPMU_SET_BY_TASK, 10, &failed));
	EXPECT_EQ(errno, ENOENT);
	EXPECT_EQ(failed, 1);
	EXPECT_FALSE(kpmu_buckets_open(events, 1, &cpu, 1, 0, 10, &failed));
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(failed, -1);
}

TEST(refused)
{
	int self = 0, failed;

	ROWS("W-15");
	SKIP_NATIVE();
	ASSERT_EQ(kpmu_events_parse("instructions,cycles,branches", events, MAX, NULL), 3);
	events[1].attr.type = 9999;
	EXPECT_FALSE(kpmu_set_open(events, 3, &self, 1, KPMU_SET_TASKS, -1, &failed));
	EXPECT_EQ(errno, ENOENT);
	EXPECT_EQ(failed, 1);
	EXPECT_FALSE(kpmu_set_open(events, 0, &self, 1, KPMU_SET_TASKS, -1, &failed));
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(failed, -1);
	EXPECT_FALSE(kpmu_set_open(events, 1, &self, KPMU_SET_MAX_TARGETS + 1, 0, -1, NULL));
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(kpmu_event_open(&events[1].attr, 0, -1, -1, 0), -1);
	EXPECT_EQ(errno, ENOENT);
	EXPECT_EQ(strcmp(kpmu_why(), "no such event type"), 0);
}

TEST(names)
{
	char bad[64];
	int i;

	ROWS("W-15");
	SKIP_NATIVE();
	ASSERT_EQ(kpmu_events_parse("r81d0:u,{cycles,branches:kp},page-faults", events, MAX, bad), 4);
	EXPECT_EQ(events[0].attr.type, PERF_TYPE_RAW);
	EXPECT_EQ(events[0].attr.config, 0x81d0);
	EXPECT_TRUE(events[0].attr.exclude_kernel);
	EXPECT_FALSE(events[0].attr.exclude_user);
	EXPECT_TRUE(events[2].attr.exclude_user);
	EXPECT_TRUE(events[2].attr.pinned);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(events[i].leader, i == 2 ? 1 : i);
	EXPECT_EQ(events[3].attr.type, PERF_TYPE_SOFTWARE);
	EXPECT_EQ(kpmu_events_parse("cycles,nonsense:u", events, MAX, bad), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(strcmp(bad, "nonsense:u"), 0);
	EXPECT_EQ(kpmu_events_parse("cycles:x", events, MAX, NULL), -1);
	EXPECT_EQ(kpmu_events_parse("cycles,cycles", events, 1, bad), -1);
	EXPECT_EQ(errno, E2BIG);
	EXPECT_EQ(bad[0], 0);
	for (i = 0; kpmu_event_name(i); i++)
		EXPECT_EQ(kpmu_events_parse(kpmu_event_name(i), events, 1, NULL), 1);
	EXPECT_GE(i, 20);
	EXPECT_FALSE(kpmu_event_name(-1));
}

/* In a ring of one page, records wrap at its end */
TEST(ring)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	const struct perf_event_header *h;
	struct kpmu_ring *r;
	int fd, i, n = 0;
	bool wrong = false;

	ROWS("W-15");
	SKIP_NATIVE();
	no_throttle();
	a.sample_period = 10007;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
	a.exclude_callchain_kernel = 1;
	fd = kpmu_event_open(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_GE(fd, 0);
	r = kpmu_ring_map(fd, 1);
	ASSERT_TRUE(r);
	EXPECT_FALSE(kpmu_ring_next(r));
	ev_enable(fd);
	for (i = 0; i < 50; i++) {
		work(N);
		for (; (h = kpmu_ring_next(r)); n++) {
			const uint64_t *word = (const void *)(h + 1);

			/* ip, pid and tid, number of frames, frames: the second is the same ip */
			wrong |= h->type != PERF_RECORD_SAMPLE || (int)word[1] != getpid() ||
				 h->size != 8 * (4 + word[2]) || word[4] != word[0];
		}
		kpmu_ring_consume(r);
	}
	ev_disable(fd);
	while (kpmu_ring_next(r))
		n++;
	EXPECT_FALSE(wrong);
	EXPECT_EQ(n, ev_count(fd) / a.sample_period);
	EXPECT_GT(kpmu_ring_page(r)->data_head, 4 * 4096);
	kpmu_ring_unmap(r);
	kpmu_ring_unmap(NULL);
	EXPECT_FALSE(kpmu_ring_map(fd, 3));
	EXPECT_EQ(errno, EINVAL);
	close(fd);
}

TEST(histogram)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS, .size = sizeof(a),
		.sample_period = 1000, .exclude_kernel = 1, .disabled = 1,
	};
	const struct kpmu_histogram_entry *e;
	struct kpmu_histogram *h;
	uint64_t n = 0, overflows;
	unsigned int pos = 0;
	int fd;

	ROWS("W-15 W-40");
	SKIP_NATIVE();
	fd = kpmu_event_open(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	ASSERT_GE(fd, 0);
	h = kpmu_histogram_open(fd, KPMU_HISTOGRAM_IP, 8);
	ASSERT_TRUE(h);
	EXPECT_FALSE(kpmu_histogram_next(h, &pos));
	ev_enable(fd);
	work(N);
	ev_disable(fd);
	for (pos = 0; (e = kpmu_histogram_next(h, &pos)); n += e->samples)
		EXPECT_EQ(e->events, e->samples * 1000);
	EXPECT_EQ(n, kpmu_histogram_samples(h, &overflows));
	EXPECT_EQ(overflows, 0);
	EXPECT_GE(n, WORK_INSNS(N) / 1000);
	EXPECT_FALSE(kpmu_histogram_open(fd, KPMU_HISTOGRAM_IP, 8));
	EXPECT_EQ(errno, EBUSY);
	kpmu_histogram_close(h);
	kpmu_histogram_close(NULL);
	close(fd);
}

/* What was read of a CPU's timeline */
struct seen {
	int n, switches, controls;
	uint64_t lost, first_lost, count;
	bool wrong;
};

/* Read all that there is; times must not decrease, nor counts of a CPU */
static void read_timeline(struct kpmu_timeline *t, struct seen *seen)
{
	const struct kpmu_moment *m;
	uint64_t time = 0;

	usleep(20000);		/* a record is returned when it is 10 ms old */
	while ((m = kpmu_timeline_next(t))) {
		struct seen *s = &seen[m->cpu];

		s->wrong |= m->record->time < time || m->count[0] < s->count;
		time = m->record->time;
		s->count = m->count[0];
		s->switches += m->record->why == KPMU_TIMELINE_SWITCH;
		s->controls += m->record->why == KPMU_TIMELINE_CONTROL;
		if (!s->n++)
			s->first_lost = m->lost;
		s->lost += m->lost;
	}
}

static struct kpmu_timeline *timeline_of(const char *list, int nr, unsigned int records)
{
	int cpus[2] = { 0, 1 }, n = kpmu_events_parse(list, events, MAX, NULL);

	for (int i = 0; i < n; i++)
		events[i].attr.disabled = events[i].leader == i;
	return kpmu_timeline_open(events, n, cpus, nr, 0, records, 0, NULL);
}

TEST(timeline)
{
	int i, nr = nr_cpus() < 2 ? 1 : 2;
	struct seen seen[2] = { 0 };
	struct kpmu_timeline *t;

	ROWS("W-34");
	SKIP_NATIVE();
	pin_to(0);
	t = timeline_of("{instructions:u,branches:u},page-faults", nr, 4096);
	ASSERT_TRUE(t);
	EXPECT_EQ(kpmu_timeline_wait(t, 0), 0);
	EXPECT_EQ(kpmu_timeline_enable(t), 0);
	work(N);
	for (i = 0; i < 10; i++)
		sleep_switched(1000000);
	EXPECT_EQ(kpmu_timeline_disable(t), 0);
	read_timeline(t, seen);
	EXPECT_EQ(kpmu_timeline_lost(t, -1), 0);
	for (i = 0; i < nr; i++) {
		EXPECT_FALSE(seen[i].wrong);
		EXPECT_EQ(seen[i].controls, 2);
		EXPECT_EQ(seen[i].lost, 0);
	}
	/* To the idle task and back */
	EXPECT_GE(seen[0].switches, 20);
	EXPECT_GE(seen[0].count, WORK_INSNS(N));
	kpmu_timeline_close(t);
	kpmu_timeline_close(NULL);
}

/* The first record after a gap says how many there would have been in it */
TEST(timeline_with_gaps)
{
	const struct kpmu_moment *m;
	struct seen after = { 0 };
	struct kpmu_timeline *t;
	uint64_t lost;
	int i;

	ROWS("W-34");
	SKIP_NATIVE();
	pin_to(0);
	t = timeline_of("instructions", 1, 8);
	ASSERT_TRUE(t);
	for (i = 0; i < 20; i++)
		sleep_switched(1000000);
	EXPECT_EQ(kpmu_timeline_wait(t, -1), 1);
	for (i = 0; i < 8; i++) {
		m = kpmu_timeline_next(t);
		ASSERT_TRUE(m);
		EXPECT_EQ(m->lost, 0);
	}
	/* There is room for others now */
	lost = kpmu_timeline_lost(t, 0);
	EXPECT_GE(lost, 2 * 20 - 8);
	EXPECT_EQ(kpmu_timeline_lost(t, -1), lost);
	sleep_switched(1000000);
	read_timeline(t, &after);
	EXPECT_GE(after.n, 2);
	EXPECT_FALSE(after.wrong);
	/* Another task may have run between the call that told @lost and the one that made room */
	EXPECT_GE(after.first_lost, lost);
	EXPECT_LE(after.first_lost, after.lost);
	EXPECT_EQ(after.lost, kpmu_timeline_lost(t, -1));
	kpmu_timeline_close(t);
}

TEST(timeline_refused)
{
	int cpus[2] = { 0, 0 }, failed;

	ROWS("W-34");
	SKIP_NATIVE();
	ASSERT_EQ(kpmu_events_parse("instructions,cycles", events, MAX, NULL), 2);
	EXPECT_FALSE(kpmu_timeline_open(events, 2, cpus, 2, 0, 8, 0, &failed));
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(failed, -1);
	EXPECT_EQ(strcmp(kpmu_why(), "a CPU is in the set twice"), 0);
	EXPECT_FALSE(kpmu_timeline_open(events, 2, cpus, 1, 0, 7, 0, &failed));
	EXPECT_EQ(errno, EINVAL);
	events[1].attr.type = 9999;
	EXPECT_FALSE(kpmu_timeline_open(events, 2, cpus, 1, 0, 8, 0, &failed));
	EXPECT_EQ(errno, ENOENT);
	EXPECT_EQ(failed, 1);
}

TEST(what_there_is)
{
	struct kpmu_info_counter counters[32];
	struct kpmu_explain_event view[MAX];
	struct kpmu_info info;
	int n;

	ROWS("W-15");
	SKIP_NATIVE();
	n = kpmu_cpu_info(0, &info, counters, 32);
	EXPECT_EQ(n, __builtin_popcount(info.general | info.fixed));
	EXPECT_EQ(kpmu_cpu_info(0, &info, counters, 1), 1);
	EXPECT_EQ(kpmu_cpu_info(-1, &info, counters, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	n = kpmu_events_parse("{instructions,branches},page-faults", events, MAX, NULL);
	ASSERT_EQ(kpmu_events_explain(events, n, -1, view), 0);
	EXPECT_TRUE(view[0].fits && view[1].fits && view[2].fits);
	EXPECT_GE(view[0].counter, 0);
	EXPECT_EQ(view[1].group, 0);
	EXPECT_EQ(view[2].allowed, 0);
}

TEST(extrapolated)
{
	const struct kpmu_count half = { 1000, 200, 100 }, never = { 0, 200, 0 },
				all = { ~0ull - 1, 200, 200 };

	ROWS("W-15");
	SKIP_NATIVE();
	EXPECT_EQ(kpmu_count_scaled(half), 2000);
	EXPECT_EQ(kpmu_count_scaled(never), 0);
	EXPECT_EQ(kpmu_count_scaled(all), ~0ull - 1);
}

static pthread_barrier_t all_there;

static void *get_device(void *unused)
{
	pthread_barrier_wait(&all_there);
	return (void *)(long)kpmu_device();
}

/* All threads get the same fd of the device, also the first ones */
TEST(threads)
{
	pthread_t t[MAX];
	void *fd, *first = NULL;
	int i;

	ROWS("W-15");
	SKIP_NATIVE();
	pthread_barrier_init(&all_there, NULL, MAX);
	for (i = 0; i < MAX; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, get_device, NULL), 0);
	for (i = 0; i < MAX; i++) {
		pthread_join(t[i], &fd);
		EXPECT_GE((long)fd, 0);
		EXPECT_TRUE(!i || fd == first);
		first = fd;
	}
}

TEST_HARNESS_MAIN
