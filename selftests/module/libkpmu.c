// SPDX-License-Identifier: GPL-2.0-only
/* The library libkpmu (tools/lib). */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "libkpmu.h"
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
