// SPDX-License-Identifier: GPL-2.0-only
/*
 * Position of samples: on QEMU's PMU model every period-th event is sampled exactly, whatever
 * happens between two samples.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define ROUNDS	2500006		/* 4 * 2500006 + 3 = 10,000,027 instructions */
#define PERIOD	10000

struct sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t period;
};

static struct perf_event_attr sampling(uint32_t type, uint64_t config,
				       uint64_t period)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_PERIOD;
	return a;
}

static struct perf_event_attr insns(uint64_t period)
{
	return sampling(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, period);
}

struct seen {
	int samples, others;
	uint64_t ip, last;	/* IP and time of the last sample */
	bool one_ip, in_order;
};

static struct seen look(struct ring *r, uint64_t period)
{
	struct seen s = { .one_ip = true, .in_order = true };
	struct record *rec = malloc(sizeof(*rec));

	while (ring_next(r, rec)) {
		const struct sample *sample = (void *)rec->body;

		if (rec->head.type != PERF_RECORD_SAMPLE) {
			printf("# record %s\n", record_name(rec->head.type));
			s.others++;
			continue;
		}
		if (s.samples++ && sample->ip != s.ip)
			s.one_ip = false;
		s.ip = sample->ip;
		if (sample->time < s.last || sample->period != period ||
		    rec->head.size != 8 + sizeof(*sample))
			s.in_order = false;
		s.last = sample->time;
	}
	ring_consume(r);
	free(rec);
	return s;
}

/* A loop of 4 instructions and a period divisible by 4: all samples at one instruction */
TEST(ten_million)
{
	ROWS("O-26 A-03 S-10 S-03 R-01");
	struct perf_event_attr a = insns(PERIOD);
	struct ring r;
	struct seen s;
	int fd;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	work_counted(fd, ROUNDS, 0);
	s = look(&r, PERIOD);
	EXPECT_EQ(ev_count(fd), WORK_INSNS(ROUNDS));
	if (!exact()) {
		EXPECT_GT(s.samples, 900);
		return;
	}
	EXPECT_EQ(s.samples, WORK_INSNS(ROUNDS) / PERIOD);
	EXPECT_EQ(s.others, 0);
	EXPECT_TRUE(s.one_ip);
	EXPECT_TRUE(s.in_order);
	printf("# %d samples at %#llx\n", s.samples, (unsigned long long)s.ip);
}

/* Disabled and enabled between samples: the period continues where it stopped */
TEST(in_pieces)
{
	ROWS("O-26 I-01 I-02");
	struct perf_event_attr a = insns(10007);
	struct ring r;
	struct seen s;
	uint64_t all = 0;
	int fd, i;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	for (i = 1; i <= 1000; i++) {
		work_counted(fd, i, 0);
		all += WORK_INSNS(i);
	}
	s = look(&r, 10007);
	EXPECT_EQ(ev_count(fd), all);
	if (exact())
		EXPECT_EQ(s.samples, all / 10007);
	EXPECT_EQ(s.others, 0);
	EXPECT_TRUE(s.in_order);
}

/* A PMI samples the events whose counters overflowed, and no other one */
TEST(two_periods)
{
	ROWS("O-26 A-03");
	struct perf_event_attr a = insns(4001);
	struct perf_event_attr b = sampling(PERF_TYPE_HARDWARE,
					    PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 997);
	struct ring ra, rb;
	int fa, fb;

	no_throttle();
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, -1, 0);
	ring_map(&ra, fa, &a, 16);
	ring_map(&rb, fb, &b, 16);
	ev_enable(fb);
	work_counted(fa, 100000, 0);
	ev_disable(fb);
	EXPECT_EQ(ev_count(fa), WORK_INSNS(100000));
	if (exact()) {
		EXPECT_EQ(look(&ra, 4001).samples, ev_count(fa) / 4001);
		EXPECT_EQ(look(&rb, 997).samples, ev_count(fb) / 997);
	}
}

TEST(branches_and_loads)
{
	ROWS("O-26 T-05");
	struct perf_event_attr a = sampling(PERF_TYPE_HARDWARE,
					PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 999);
	struct perf_event_attr b = sampling(PERF_TYPE_RAW, RAW_LOADS, 777);
	struct ring ra, rb;
	struct seen s;
	int fa, fb;

	no_throttle();
	fa = ev_must(&a, 0, -1, -1, 0);
	ring_map(&ra, fa, &a, 16);
	work_counted(fa, 100000, 0);
	s = look(&ra, 999);
	if (exact()) {
		EXPECT_EQ(s.samples, WORK_BRANCHES(100000) / 999);
		EXPECT_TRUE(s.one_ip);
	}
	fb = ev_must(&b, 0, -1, -1, 0);
	ring_map(&rb, fb, &b, 16);
	work_counted(fb, 100000, 0);
	s = look(&rb, 777);
	if (exact()) {
		EXPECT_EQ(s.samples, WORK_LOADS(100000) / 777);
		EXPECT_TRUE(s.one_ip);
	}
	EXPECT_TRUE(s.in_order);
}

/* A period beyond the range of a counter, and periods of 2 and 1 */
TEST(long_and_short)
{
	ROWS("O-26 A-03");
	struct perf_event_attr a = insns(1ULL << 50), b = insns(2), c = insns(1);
	struct ring r;
	struct seen s;
	int fd;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 1);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 0);
	EXPECT_EQ(ev_count(fd), WORK_INSNS(ROUNDS));
	fd = ev_must(&b, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	work_counted(fd, 1000, 0);
	s = look(&r, 2);
	printf("# period 2: %d samples of %d instructions\n", s.samples,
	       WORK_INSNS(1000));
	if (exact())
		EXPECT_EQ(s.samples, WORK_INSNS(1000) / 2);
	fd = ev_must(&c, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	work_counted(fd, 1000, 0);
	s = look(&r, 1);
	/* A counter is programmed at least two events before its overflow */
	printf("# period 1: %d samples of %d instructions\n", s.samples,
	       WORK_INSNS(1000));
	/* With skid, several overflows are one interrupt */
	if (exact())
		EXPECT_GE(s.samples, WORK_INSNS(1000) / 2 - 1);
	EXPECT_LE(s.samples, WORK_INSNS(1000) / 2 + 1);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
}

struct job {
	int fd, cpu, hops;
	struct ring r;
	pthread_t thread;
	struct seen seen;
	uint64_t count;
};

static void *hop(void *arg)
{
	struct job *j = arg;
	struct perf_event_attr a = insns(PERIOD);
	int i;

	pin_to(j->cpu);
	j->fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&j->r, j->fd, &a, 64);
	for (i = 0; i < 40; i++) {
		if (j->hops)
			pin_to((j->cpu + i) % nr_cpus());
		work_counted(j->fd, ROUNDS / 40, 0);
	}
	j->seen = look(&j->r, PERIOD);
	j->count = ev_count(j->fd);
	return NULL;
}

static void jobs(struct __test *_metadata, int hops)
{
	uint64_t all = 40 * WORK_INSNS(ROUNDS / 40);
	struct job j[4];
	int i;

	no_throttle();
	for (i = 0; i < 4; i++) {
		j[i] = (struct job){ .cpu = i % nr_cpus(), .hops = hops };
		pthread_create(&j[i].thread, NULL, hop, &j[i]);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(j[i].thread, NULL);
		EXPECT_EQ(j[i].count, all);
		if (exact())
			EXPECT_EQ(j[i].seen.samples, all / PERIOD);
		EXPECT_EQ(j[i].seen.others, 0);
		EXPECT_TRUE(j[i].seen.in_order);
	}
}

TEST(four_tasks)
{
	ROWS("O-05 O-26");
	jobs(_metadata, 0);
}

/* Migrate to another CPU between bursts */
TEST(migrating)
{
	ROWS("O-05 O-26");
	jobs(_metadata, 1);
}

/* A group of a sampling leader and counting siblings */
TEST(with_counting_siblings)
{
	ROWS("O-26 Q-01");
	struct perf_event_attr a = insns(5000);
	int counting[3], fd, i;
	struct ring r;
	struct seen s;

	if (counters_general() < ARRAY_SIZE(counting))
		SKIP(return, "%d general counters", counters_general());
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	for (i = 0; i < 3; i++)
		counting[i] = ev_self(PERF_TYPE_RAW, RAW_LOADS + 0x100 * (i % 2),
				      fd);
	work_counted(fd, 100000, PERF_IOC_FLAG_GROUP);
	s = look(&r, 5000);
	if (exact())
		EXPECT_EQ(s.samples, WORK_INSNS(100000) / 5000);
	EXPECT_EQ(ev_count(fd), WORK_INSNS(100000));
	EXPECT_EQ(ev_count(counting[0]), WORK_LOADS(100000));
	EXPECT_EQ(ev_count(counting[1]), WORK_STORES(100000));
}

/*
 * Native perf clears the counters that it has used when a task with access to RDPMC is scheduled
 * in: any task that has mapped an event.  It must not clear counters that kpmu uses by then.
 */
TEST(after_native_perf)
{
	ROWS("O-26");
	struct perf_event_attr a = insns(PERIOD);
	struct ring r;
	struct seen s;
	int fd, i;

	no_throttle();
	for (i = 0; i < 4 * nr_cpus(); i++) {
		pin_to(i % nr_cpus());
		fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
		/* Fails while kpmu owns the counters, for example for another process */
		if (fd >= 0) {
			work_counted(fd, ROUNDS / 100, 0);
			close(fd);
		}
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 8);
		ev_enable(fd);
		sched_yield();
		ev_disable(fd);
		ring_skip(&r);
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		usleep(1000);
		work_counted(fd, ROUNDS / 10, 0);
		s = look(&r, PERIOD);
		EXPECT_EQ(ev_count(fd), WORK_INSNS(ROUNDS / 10));
		if (exact())
			EXPECT_GE(s.samples, WORK_INSNS(ROUNDS / 10) / PERIOD);
		ring_unmap(&r);
		close(fd);
	}
}

TEST_HARNESS_MAIN
