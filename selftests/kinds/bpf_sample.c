// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a BPF program that is run at an overflow finds in the kernel's sample, behind its context: the fields
 * of the sample in the ring buffer.  Where they are depends on the kernel, so that they are looked for.
 */
#define _GNU_SOURCE
#include <linux/bpf_perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "bpf.h"
#include "branch.h"
#include "event.h"
#include "harness.h"
#include "precise.h"
#include "ring.h"

#define PE		BPF_PROG_TYPE_PERF_EVENT
#define WORDS		128
#define SAMPLE_WORDS	48	/* struct perf_sample_data is shorter */
#define EVENT_WORDS	100	/* so much of struct perf_event has its attr */
#define ROUNDS		20000
#define WEIGHT_STRUCT	(1ULL << 24)	/* PERF_SAMPLE_WEIGHT_STRUCT */

static uint64_t words[WORDS];	/* of the program's map: the number of runs, what the last one has seen */

static int new_map(void)
{
	return new_map_of(BPF_MAP_TYPE_ARRAY, sizeof(words), 1);
}

/* Copies the sample: the context of the program is three pointers, the second of which is that to it */
static int copying(int map)
{
	return BUILD(PE, map,
		     COPY(1, 10), ADD(1, -32), SET(2, 24), COPY(3, 7), CALL(BPF_FUNC_probe_read_kernel),
		     COPY(1, 6), ADD(1, 8), SET(2, SAMPLE_WORDS * 8), LOAD(3, 10, -24),
		     CALL(BPF_FUNC_probe_read_kernel), SET(8, 1));
}

/* Copies the beginning of the event, to which the third pointer is */
static int copying_event(int map)
{
	return BUILD(PE, map,
		     COPY(1, 10), ADD(1, -32), SET(2, 24), COPY(3, 7), CALL(BPF_FUNC_probe_read_kernel),
		     COPY(1, 6), ADD(1, 8), SET(2, EVENT_WORDS * 8), LOAD(3, 10, -16),
		     CALL(BPF_FUNC_probe_read_kernel), SET(8, 1));
}

/* Number of the word, -1 if there is none */
static int find_word(uint64_t val)
{
	int i;

	for (i = 1; i <= EVENT_WORDS; i++)
		if (words[i] == val)
			return i;
	return -1;
}

/* A time that is at most a second before @time */
static bool find_time(uint64_t time)
{
	int i;

	for (i = 1; i <= SAMPLE_WORDS; i++)
		if (time - words[i] < 1000000000)
			return true;
	return false;
}

static int set(int fd, int prog)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) ? errno : 0;
}

/* The last sample in the ring buffer; @words are those of the last run, and @nr is the number of samples */
static struct parts last_sample(struct ring *r, int map, uint64_t *nr)
{
	static struct record rec;	/* what the result points to */
	struct parts s = { 0 };

	for (*nr = 0; ring_find(r, &rec, PERF_RECORD_SAMPLE); ++*nr)
		s = record_sample(r, &rec);
	map_entry(map, 0, words);
	return s;
}

/* Count instructions, with a program that runs for each sample; the last sample */
static struct parts work_sampled(struct __test *_metadata, uint64_t sample_type, int map, int prog)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct parts s;
	struct ring r;
	uint64_t nr;
	int fd;

	no_throttle();
	a.sample_period = 10000;
	a.sample_type = PERF_SAMPLE_IP | sample_type;
	if (sample_type & PERF_SAMPLE_BRANCH_STACK)
		a.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	EXPECT_EQ(set(fd, prog), 0);
	work_counted(fd, ROUNDS, 0);
	s = last_sample(&r, map, &nr);
	EXPECT_GT(nr, 0);
	EXPECT_EQ(words[0], nr);
	return s;
}

TEST(time)
{
	ROWS("I-35");
	int map = new_map(), ids = 0, i;
	struct parts s;

	NEED_PMU();
	/* Then the id of the event is a number that is unlikely elsewhere */
	for (i = 0; i < 700; i++)
		close(ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, -1));
	s = work_sampled(_metadata, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID,
			 map, copying(map));
	/* Taken when the program runs, or for the sample */
	EXPECT_TRUE(find_time(s.time));
	EXPECT_NE(find_word((uint64_t)s.tid << 32 | s.pid), -1);
	/* The event has no children, so that the two are alike */
	EXPECT_EQ(s.id, s.stream_id);
	for (i = 1; i <= SAMPLE_WORDS; i++)
		ids += words[i] == s.id;
	EXPECT_GE(ids, 2);
}

#define RAW_UNUSUAL	0x010000c0	/* instructions, with a mask that changes nothing */

/* The event that the program finds has the attr's type and config */
TEST(attr)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_UNUSUAL);
	int map = new_map(), fd, at;
	struct ring r;
	uint64_t nr;

	ROWS("I-35");
	NEED_PMU();
	no_throttle();
	a.sample_period = 10000;
	a.sample_type = PERF_SAMPLE_IP;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	EXPECT_EQ(set(fd, copying_event(map)), 0);
	work_counted(fd, ROUNDS, 0);
	last_sample(&r, map, &nr);
	EXPECT_GT(nr, 0);
	at = find_word(RAW_UNUSUAL);
	ASSERT_GT(at, 1);
	EXPECT_EQ((uint32_t)words[at - 1], PERF_TYPE_RAW);
}

/* Where the data of a load came from, and how long it took */
static void loads(struct __test *_metadata, uint64_t weight)
{
	struct perf_event_attr a = precise_attr(RAW_LATENCY, 2, PERF_SAMPLE_DATA_SRC | weight);
	struct perf_event_attr aux = ev_attr(PERF_TYPE_RAW, RAW_LATENCY_AUX);
	static uint64_t data[N];
	int fd, at, leader = -1, map = new_map();
	struct parts s;
	struct ring r;
	uint64_t nr;

	a.config1 = 3;
	a.sample_period = 101;
	/* With an interrupt for each record: only there the program runs */
	a.wakeup_events = 1;
	/* Sapphire Rapids needs an auxiliary event in the group */
	aux.disabled = 0;
	if (cpu_model() == CPU_SPR)
		leader = ev_must(&aux, 0, -1, -1, 0);
	fd = ev_must(&a, 0, -1, leader, 0);
	ring_map(&r, fd, &a, 64);
	ASSERT_EQ(set(fd, copying(map)), 0);
	load_counted(fd, N, data, 8);
	s = last_sample(&r, map, &nr);
	EXPECT_GT(nr, 0);
	EXPECT_EQ(words[0], nr);
	at = find_word(s.data_src);
	ASSERT_NE(at, -1);
	EXPECT_GT(s.weight, 0);
	/* Close to it */
	EXPECT_TRUE((at > 1 && words[at - 1] == s.weight) || (at > 2 && words[at - 2] == s.weight));
}

TEST(weight)
{
	ROWS("I-35 S-28");
	NEED_PRECISE();
	loads(_metadata, PERF_SAMPLE_WEIGHT);
}

TEST(weight_struct)
{
	ROWS("I-35 S-26");
	NEED_PRECISE();
	loads(_metadata, WEIGHT_STRUCT);
}

/* A helper gives the program the branch stack of the sample */
TEST(branches)
{
	ROWS("I-36");
	int map = new_map();
	struct parts s;

	if (!branch_depth())
		SKIP(return, "this CPU records no branches");
	s = work_sampled(_metadata, PERF_SAMPLE_BRANCH_STACK, map, BUILD(PE, map,
			 COPY(1, 7), COPY(2, 6), ADD(2, 16), SET(3, MAX_DEPTH * 24), SET(4, 0),
			 CALL(BPF_FUNC_read_branch_records), STORE(6, 0, 8), SET(8, 1)));
	EXPECT_EQ(s.nr_branches, branch_depth());
	EXPECT_EQ(words[1], s.nr_branches * 24);
	EXPECT_EQ(memcmp(words + 2, s.branches, s.nr_branches * 24), 0);
}

TEST_HARNESS_MAIN
