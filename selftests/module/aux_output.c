// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events that put their data into the AUX area of their group leader (aux_output): those of a driver's
 * PMU, selftests/driver/kpmu-few.c, in a group of the source fault_trace.  Both put 16 bytes there by default.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "driver.h"

#define ANY		1
#define SECOND		2
#define PERIOD		1000000
#define PAGE		4096
#define AUX_SIZE	(16 * PAGE)
#define FAULTS		5
#define WORK		4000000
#define OUTPUT_ID	21	/* PERF_RECORD_AUX_OUTPUT_HW_ID */
#define AT_AUX_ACTION	116
#define AUX_PAUSE	2

static struct record rec;

static struct perf_event_attr trace_attr(void)
{
	struct perf_event_attr a = ev_attr(pmu_type("fault_trace"), 0);

	a.sample_type = PERF_SAMPLE_TID;
	a.sample_id_all = 1;
	return a;
}

static struct perf_event_attr output_attr(uint64_t config)
{
	struct perf_event_attr a = driver_attr("few", config);

	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ID;
	a.sample_id_all = 1;
	a.aux_output = 1;
	a.disabled = 0;
	return a;
}

struct group {
	int leader, output;
	struct ring ring, own;		/* of the leader, and of the other event */
	const uint64_t *aux;
};

static void open_group(struct group *g, const struct perf_event_attr *output)
{
	struct perf_event_attr a = trace_attr();

	g->leader = ev_must(&a, 0, -1, -1, 0);
	ring_map(&g->ring, g->leader, &a, 8);
	g->ring.page->aux_offset = 9 * PAGE;
	g->ring.page->aux_size = AUX_SIZE;
	g->aux = mmap(NULL, AUX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, g->leader, 9 * PAGE);
	if (g->aux == MAP_FAILED) {
		perror("AUX area");
		exit(KSFT_FAIL);
	}
	g->output = ev_must(output, 0, -1, g->leader, 0);
	ring_map(&g->own, g->output, output, 8);
}

static void close_group(struct group *g)
{
	ring_unmap(&g->own);
	close(g->output);
	munmap((void *)g->aux, AUX_SIZE);
	ring_unmap(&g->ring);
	close(g->leader);
}

/* Page faults among work that takes several periods */
static void work_and_fault(char *pages)
{
	int i;

	for (i = 0; i < FAULTS; i++) {
		work(WORK);
		((volatile char *)pages)[i * PAGE] = 1;
	}
}

static char *new_pages(void)
{
	char *p = mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	madvise(p, FAULTS * PAGE, MADV_NOHUGEPAGE);
	return p;
}

#define SKIP_NATIVE() do {						\
	if (route_is_native())						\
		SKIP(return, "a driver's PMU is one of kpmu");		\
} while (0)

/* The data of both is in the AUX area, in the order of time; the event has no samples */
TEST(data)
{
	struct perf_event_attr a = output_attr(SECOND);
	uint64_t last = 0, words;
	int i, next = 0, faults = 0, outputs = 0, wrong = 0;
	struct group g;
	char *pages;

	ROWS("X-12");
	SKIP_NATIVE();
	throttle_at(1000000, 0);
	open_group(&g, &a);
	/* Of what is traced, only the pages fault the second time */
	work_and_fault(new_pages());
	pages = new_pages();
	ev_enable(g.leader);
	work_and_fault(pages);
	ev_disable(g.leader);
	words = g.ring.page->aux_head / 8;
	ASSERT_LE(words, AUX_SIZE / 8);
	for (i = 0; i + 1 < words; i += 2) {
		uint64_t first = g.aux[i], second = g.aux[i + 1];

		if (first - (uintptr_t)pages < FAULTS * PAGE) {
			faults++;
			wrong += first != (uintptr_t)pages + next++ * PAGE;
		} else if (second >= PERIOD && second <= ev_count(g.output)) {
			outputs++;
			wrong += second < last + PERIOD;
			last = second / PERIOD * PERIOD;
		}
	}
	EXPECT_EQ(faults, FAULTS);
	EXPECT_GE(outputs, 3);
	EXPECT_LE(outputs, ev_count(g.output) / PERIOD);
	EXPECT_EQ(wrong, 0);
	EXPECT_GE(ring_count(&g.ring, PERF_RECORD_AUX), 1);
	EXPECT_EQ(ring_count(&g.own, PERF_RECORD_SAMPLE), 0);
	close_group(&g);
}

/* Before its data, an event says which counter it is of */
TEST(counter)
{
	static const struct { uint64_t config, least; } of[] = { { ANY, 0 }, { SECOND, 1 } };
	struct perf_event_attr a;
	struct whose w;
	struct group g;
	int i, n;

	ROWS("U-09");
	SKIP_NATIVE();
	for (i = 0; i < 2; i++) {
		a = output_attr(of[i].config);
		open_group(&g, &a);
		EXPECT_FALSE(ring_next(&g.own, &rec));
		ev_enable(g.leader);
		work_and_fault(new_pages());
		ev_disable(g.leader);
		/* One for each CPU that the task was on */
		for (n = 0; ring_next(&g.own, &rec); n++) {
			if (rec.head.type != OUTPUT_ID)
				continue;
			w = record_whose(&g.own, &rec);
			EXPECT_EQ(rec.head.misc, 0);
			EXPECT_EQ(record_size(&g.own, &rec), 8);
			EXPECT_GE(record_u64(&rec, 0), of[i].least);
			EXPECT_LE(record_u64(&rec, 0), 1);
			EXPECT_EQ(w.tid, getpid());
			EXPECT_EQ(w.id, ev_id(g.output));
		}
		EXPECT_GE(n, 1);
		close_group(&g);
	}
}

/* The PMU must have data, the leader an AUX area; two uses of it exclude each other */
TEST(refused)
{
	struct perf_event_attr a, trace = trace_attr();
	int leader, dummy;
	uint32_t action = AUX_PAUSE;

	ROWS("X-12 A-57");
	SKIP_NATIVE();
	a = trace;
	leader = ev_must(&a, 0, -1, -1, 0);
	dummy = ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, -1);
	a = output_attr(ANY);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, dummy, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), 0);
	a.aux_sample_size = 64;
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), EINVAL);
	a.aux_sample_size = 0;
	memcpy((char *)&a + AT_AUX_ACTION, &action, sizeof(action));
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), EOPNOTSUPP);
	a = driver_attr("toy", 1);
	a.aux_output = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), EOPNOTSUPP);
	a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	a.aux_output = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, leader, 0), EOPNOTSUPP);
}

/* Without its leader, the event counts, and its data goes nowhere */
TEST(without_the_leader)
{
	struct perf_event_attr a = output_attr(ANY);
	struct group g;
	uint64_t count;

	ROWS("X-12");
	SKIP_NATIVE();
	open_group(&g, &a);
	ev_enable(g.leader);
	work(WORK);
	munmap((void *)g.aux, AUX_SIZE);
	ring_unmap(&g.ring);
	close(g.leader);
	count = ev_count(g.output);
	work(WORK);
	EXPECT_GE(ev_count(g.output), count + PERIOD);
	EXPECT_EQ(ring_count(&g.own, PERF_RECORD_SAMPLE), 0);
}

/* aux_pause of a third event of the group stops the data of this one, too */
TEST(paused)
{
	struct perf_event_attr a = output_attr(ANY), p;
	uint32_t action = AUX_PAUSE;
	struct group g;
	uint64_t head;
	int pause;

	ROWS("X-12");
	SKIP_NATIVE();
	open_group(&g, &a);
	p = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	p.sample_period = 1;
	p.exclude_kernel = 0;
	p.disabled = 0;
	memcpy((char *)&p + AT_AUX_ACTION, &action, sizeof(action));
	pause = ev_must(&p, 0, -1, g.leader, 0);
	ev_enable(g.leader);
	work(WORK);
	while (!ev_count(pause))
		usleep(1000);
	head = g.ring.page->aux_head;
	work(4 * WORK);
	EXPECT_GE(ev_count(g.output), PERIOD);
	EXPECT_EQ(g.ring.page->aux_head, head);
	close(pause);
	close_group(&g);
}

#define WORDS		3
#define ENTRIES		(PAGE / 8 / WORDS + 1)	/* that an area of a page must have to hold an end */

/*
 * Data that does not fit before the end of the area goes on at its start: an area of a page that is overwritten
 * by entries of three words
 */
TEST(across_the_end)
{
	struct perf_event_attr trace = trace_attr(), a = output_attr(ANY);
	uint64_t head, at, count, last = 0, end = patience();
	const uint64_t *aux;
	int leader, output, wrong = 0;
	struct ring r, own;

	ROWS("X-12");
	SKIP_NATIVE();
	ASSERT_EQ(driver_unload_at_last("few"), 0);
	ASSERT_EQ(driver_load_with("few", "words=3"), 0);
	throttle_at(1000000, 0);
	leader = ev_must(&trace, 0, -1, -1, 0);
	ring_map(&r, leader, &trace, 8);
	r.page->aux_offset = 9 * PAGE;
	r.page->aux_size = PAGE;
	aux = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, leader, 9 * PAGE);
	ASSERT_NE((void *)aux, MAP_FAILED);
	a.sample_period = PERIOD / 10;
	output = ev_must(&a, 0, -1, leader, 0);
	ring_map(&own, output, &a, 8);
	/* What is accessed below does not fault any more, or there would be entries of two words */
	work(now_ns() < end);
	ev_disable(leader);
	EXPECT_EQ(aux[0] + ev_count(leader) + ev_count(output), 0);
	ev_enable(leader);
	/* On a busy host there are fewer overflows than periods */
	while (r.page->aux_head < 3 * ENTRIES * WORDS * 8 && now_ns() < end)
		work(WORK);
	ev_disable(leader);
	head = r.page->aux_head / 8;
	printf("# %lu words, %lu page faults\n", head, ev_count(leader));
	EXPECT_EQ(r.page->aux_head % 8, 0);
	ASSERT_GE(head, ENTRIES * WORDS);
	EXPECT_EQ(ev_count(leader), 0);
	EXPECT_EQ(head % WORDS, 0);
	/* All entries that were not overwritten, the oldest first */
	for (at = head - PAGE / 8 / WORDS * WORDS; at < head; at += WORDS) {
		count = aux[(at + 1) % (PAGE / 8)];
		wrong += count <= last || aux[(at + 2) % (PAGE / 8)];
		last = count;
	}
	EXPECT_EQ(wrong, 0);
	EXPECT_LE(last, ev_count(output));
	munmap((void *)aux, PAGE);
	ring_unmap(&own);
	ring_unmap(&r);
	close(output);
	close(leader);
}

TEST(unloaded)
{
	ROWS("X-12");
	SKIP_NATIVE();
	EXPECT_EQ(driver_unload_at_last("few"), 0);
	EXPECT_EQ(driver_unload_at_last("toy"), 0);
}

TEST_HARNESS_MAIN
