// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples of a leader read its group while another CPU closes siblings and opens new ones.  Each
 * sample must show the group as it is at one moment.
 *
 * Kernels without upstream commit c9bc1753b3cc report hits with interrupts enabled.  There the IPI
 * of a close can interrupt the walk over the group.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

#define MEMBERS	200
#define PAGES	64
#define SECONDS	5

static struct record rec;
static pid_t tid;
static int lead, member[MEMBERS];
static volatile int stop;
static long changes, refused;

static struct perf_event_attr dummy(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);

	a.disabled = 0;
	return a;
}

static void *change(void *unused)
{
	struct perf_event_attr a = dummy();
	unsigned int i, seed = 1;

	pin_to(1);
	while (!stop) {
		i = rand_r(&seed) % MEMBERS;
		close(member[i]);
		member[i] = ev_open(&a, tid, -1, lead, 0);
		refused += member[i] < 0;
		changes++;
	}
	return NULL;
}

static void fault(char *p)
{
	for (int i = 0; i < PAGES; i++)
		((volatile char *)p)[i * 4096UL] = 1;
	madvise(p, PAGES * 4096UL, MADV_DONTNEED);
}

/* Count wrong samples: a group is complete, or lacks only the sibling that is being replaced */
static long wrong_samples(struct ring *r, long *samples)
{
	long wrong = 0;

	while (ring_find(r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(r, &rec);

		(*samples)++;
		wrong += p.read_words != 1 + (int)p.read[0] ||
			 (p.read[0] != MEMBERS && p.read[0] != MEMBERS + 1);
	}
	ring_consume(r);
	return wrong;
}

TEST(concurrent_open_close)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	struct perf_event_attr d = dummy();
	long samples = 0, wrong = 0;
	uint64_t end, late;
	struct ring r;
	pthread_t t;
	char *p;
	int i;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	pin_to(0);
	no_throttle();
	tid = syscall(SYS_gettid);
	a.disabled = 0;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP;
	lead = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, lead, &a, 256);
	for (i = 0; i < MEMBERS; i++)
		member[i] = ev_must(&d, 0, -1, lead, 0);
	ring_skip(&r);
	p = mmap(NULL, PAGES * 4096UL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	ASSERT_NE(p, MAP_FAILED);
	ASSERT_EQ(pthread_create(&t, NULL, change, NULL), 0);
	end = now_ns() + SECONDS * 1000000000ULL;
	late = patience();
	while (now_ns() < end || ((samples < 1000 || changes < 100) && now_ns() < late)) {
		fault(p);
		wrong += wrong_samples(&r, &samples);
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("# %ld samples, %ld changes\n", samples, changes);
	EXPECT_GE(samples, 1000);
	EXPECT_GE(changes, 100);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(refused, 0);
}

TEST_HARNESS_MAIN
