// SPDX-License-Identifier: GPL-2.0-only
/* The fields of the user page, and the arguments of mmap(2) that an event accepts. */
#define _GNU_SOURCE
#include <limits.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define PAGE	4096
#define N	10000

static int insns(void)
{
	return ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
}

static void *map(int fd, int pages, int prot)
{
	void *p = mmap(NULL, (size_t)pages * PAGE, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("# mmap of %d pages: %s\n", pages, strerror(errno));
		exit(KSFT_FAIL);
	}
	return p;
}

/* Return: the errno of mmap(2); 0 if it succeeds */
static int map_errno(int fd, size_t bytes, int flags, off_t offset)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, bytes);
	return 0;
}

TEST(layout)
{
	ROWS("M-04 M-16 M-22 M-23 M-24 M-25 U-27");
	struct perf_event_mmap_page *p = map(insns(), 1, PROT_READ);

#define AT(field, n) EXPECT_EQ(offsetof(struct perf_event_mmap_page, field), n)
	AT(version, 0);
	AT(compat_version, 4);
	AT(lock, 8);
	AT(index, 12);
	AT(offset, 16);
	AT(time_enabled, 24);
	AT(time_running, 32);
	AT(capabilities, 40);
	AT(pmc_width, 48);
	AT(time_shift, 50);
	AT(time_mult, 52);
	AT(time_offset, 56);
	AT(time_zero, 64);
	AT(size, 72);
	AT(time_cycles, 80);
	AT(time_mask, 88);
	AT(data_head, 1024);
	AT(data_tail, 1032);
	AT(data_offset, 1040);
	AT(data_size, 1048);
	AT(aux_head, 1056);
	AT(aux_tail, 1064);
	AT(aux_offset, 1072);
	AT(aux_size, 1080);
	EXPECT_EQ(p->version, 0);
	EXPECT_EQ(p->compat_version, 0);
	EXPECT_EQ(p->size, 96);
	EXPECT_EQ(p->data_head, 0);
	EXPECT_EQ(p->data_offset, PAGE);
	EXPECT_EQ(p->data_size, 0);
	EXPECT_EQ(p->lock & 1, 0);
}

TEST(capabilities)
{
	ROWS("M-09 M-10 M-14 M-11 M-13 M-15 M-06 P-08 N-08");
	int fd = insns();
	struct perf_event_mmap_page *p = map(fd, 1, PROT_READ);

	EXPECT_EQ((int)p->cap_bit0, 0);
	EXPECT_EQ((int)p->cap_bit0_is_deprecated, 1);
	EXPECT_EQ((int)p->cap_user_rdpmc, 1);
	EXPECT_EQ(p->capabilities >> 6, 0);
	/* Disabled: no counter to read, the offset is the whole count */
	EXPECT_EQ(p->index, 0);
	EXPECT_EQ(p->offset, 0);
	ev_enable(fd);
	EXPECT_NE(p->index, 0);
	EXPECT_EQ(p->pmc_width, counter_width());
	EXPECT_EQ((int)p->cap_user_time, (int)p->cap_user_time_zero);
	ev_disable(fd);
	EXPECT_EQ(p->index, 0);
	EXPECT_EQ(p->offset, ev_count(fd));
}

TEST(sizes)
{
	ROWS("M-01 M-02 M-26");
	static const int good[] = { 1, 2, 3, 5, 9, 129 }, bad[] = { 4, 6, 7, 8, 130 };
	struct perf_event_mmap_page *p;
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		fd = insns();
		p = map(fd, good[i], PROT_READ | PROT_WRITE);
		EXPECT_EQ(p->data_size, (good[i] - 1) * PAGE);
		EXPECT_EQ(p->data_offset, PAGE);
		EXPECT_EQ(munmap(p, good[i] * PAGE), 0);
		/* Once unmapped, the event can be mapped with another size */
		p = map(fd, 3, PROT_READ | PROT_WRITE);
		EXPECT_EQ(p->data_size, 2 * PAGE);
		close(fd);
	}
	fd = insns();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(map_errno(fd, bad[i] * PAGE, MAP_SHARED, 0), EINVAL);
	/* Not too many, but no power of two */
	EXPECT_EQ(map_errno(fd, (size_t)INT_MAX * PAGE, MAP_SHARED, 0), EINVAL);
	/* The length is rounded up to a whole page */
	EXPECT_EQ(map_errno(fd, PAGE / 2, MAP_SHARED, 0), 0);
}

TEST(refused)
{
	ROWS("M-30 X-05");
	int fd = insns();

	EXPECT_EQ(map_errno(fd, PAGE, MAP_PRIVATE, 0), EINVAL);
	EXPECT_EQ(map_errno(fd, 3 * PAGE, MAP_PRIVATE, 0), EINVAL);
	EXPECT_EQ(map_errno(fd, PAGE, MAP_SHARED, PAGE), EINVAL);
	EXPECT_EQ(map_errno(fd, 2 * PAGE, MAP_SHARED, 16 * PAGE), EINVAL);
	/* Refused with a ring, too: aux_offset and aux_size of its user page are 0 */
	map(fd, 3, PROT_READ | PROT_WRITE);
	EXPECT_EQ(map_errno(fd, 4 * PAGE, MAP_SHARED, 3 * PAGE), EINVAL);
}

TEST(second_mapping)
{
	ROWS("R-18 M-03");
	int fd = insns(), other = insns();
	struct perf_event_mmap_page *a, *b, *c;

	a = map(fd, 3, PROT_READ | PROT_WRITE);
	b = map(fd, 3, PROT_READ | PROT_WRITE);
	c = map(other, 3, PROT_READ | PROT_WRITE);
	a->data_tail = 4711;
	EXPECT_EQ(b->data_tail, 4711);
	EXPECT_EQ(c->data_tail, 0);
	EXPECT_EQ(map_errno(fd, 2 * PAGE, MAP_SHARED, 0), EINVAL);
	EXPECT_EQ(map_errno(fd, PAGE, MAP_SHARED, 0), EINVAL);
	/* The ring exists until its last mapping is removed */
	munmap(a, 3 * PAGE);
	EXPECT_EQ(b->data_tail, 4711);
	EXPECT_EQ(map_errno(fd, 2 * PAGE, MAP_SHARED, 0), EINVAL);
	munmap(b, 3 * PAGE);
	b = map(fd, 2, PROT_READ | PROT_WRITE);
	EXPECT_EQ(b->data_tail, 0);
}

TEST(outlives_the_fd)
{
	ROWS("M-07 M-08");
	int fd = insns(), again;
	struct perf_event_mmap_page *p = map(fd, 1, PROT_READ);
	uint64_t enabled;

	work_counted(fd, N, 0);
	EXPECT_EQ(p->offset, WORK_INSNS(N));
	enabled = p->time_enabled;
	EXPECT_GT(enabled, 0);
	again = dup(fd);
	close(fd);
	work_counted(again, N, 0);
	close(again);
	/* The mapping holds a reference to the event, so the page still shows its count */
	EXPECT_EQ(p->offset, 2 * WORK_INSNS(N));
	EXPECT_GT(p->time_enabled, enabled);
	EXPECT_EQ(munmap(p, PAGE), 0);
}

/* Start a worker and open an enabled event on it */
static int watch(struct worker *w)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.read_format = FORMAT_TIMES;
	a.disabled = 0;
	worker_start(w);
	return ev_must(&a, w->pid, -1, -1, 0);
}

/* Is the event not on a counter, and does the page show the values of read(2)? */
static bool agrees(const struct perf_event_mmap_page *p, const struct ev_times *t)
{
	return p->index == 0 && p->offset == t->value &&
	       p->time_enabled == t->enabled && p->time_running == t->running;
}

TEST(of_another_task)
{
	ROWS("M-07 M-08 M-27");
	struct worker w;
	int fd = watch(&w);
	struct perf_event_mmap_page *p = map(fd, 1, PROT_READ);
	struct ev_times t;

	worker_run(&w, N);
	ev_disable(fd);
	t = ev_times(fd);
	EXPECT_GE(t.value, 4 * N);
	EXPECT_TRUE(agrees(p, &t));
	worker_stop(&w);
}

TEST(after_exit)
{
	ROWS("F-24");
	struct worker w;
	int fd = watch(&w);
	struct perf_event_mmap_page *p = map(fd, 3, PROT_READ);
	struct ev_times t;

	worker_run(&w, N);
	worker_stop(&w);
	t = ev_times(fd);
	EXPECT_TRUE(agrees(p, &t));
	/* An event of an exited task can be mapped again */
	munmap(p, 3 * PAGE);
	p = map(fd, 1, PROT_READ);
	EXPECT_EQ(p->offset, t.value);
}

TEST(reset)
{
	ROWS("I-08");
	int fd = insns();
	struct perf_event_mmap_page *p = map(fd, 1, PROT_READ);

	work_counted(fd, N, 0);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	EXPECT_EQ(p->offset, 0);
	work_counted(fd, N, 0);
	EXPECT_EQ(p->offset, WORK_INSNS(N));
}

static bool is_exact(struct __test *_metadata, int fd, struct perf_event_mmap_page *p)
{
	struct ev_times t = ev_times(fd);

	EXPECT_EQ(p->lock % 2, 0);
	EXPECT_EQ(p->offset, t.value);
	/* Natively the times are those of the last start */
	if (!route_is_native()) {
		EXPECT_EQ(p->time_enabled, t.enabled);
		EXPECT_EQ(p->time_running, t.running);
	}
	return p->offset == t.value;
}

/* Pages of events that are off, while other events of the task change and are mapped */
TEST(of_events_that_are_off)
{
	ROWS("M-07 I-08");
	struct perf_event_mmap_page *p[8], *late;
	int fd[8], i, k, other = insns();

	for (i = 0; i < 8; i++) {
		fd[i] = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
		p[i] = map(fd[i], 1, PROT_READ);
		EXPECT_TRUE(is_exact(_metadata, fd[i], p[i]));
		EXPECT_NE(p[i]->capabilities, 0);
	}
	for (k = 0; k < 8; k++) {
		work_counted(fd[k], N, 0);
		late = map(other, 1, PROT_READ);
		for (i = 0; i < 8; i++)
			EXPECT_TRUE(is_exact(_metadata, fd[i], p[i]));
		EXPECT_EQ(p[k]->offset, WORK_INSNS(N));
		usleep(1000);
		ioctl(fd[k], PERF_EVENT_IOC_RESET, 0);
		EXPECT_TRUE(is_exact(_metadata, fd[k], p[k]));
		EXPECT_EQ(p[k]->offset, 0);
		munmap(late, PAGE);
		EXPECT_TRUE(is_exact(_metadata, fd[k], p[k]));
	}
	/* A page that is mapped anew shows the event at once, even one that is off */
	munmap(p[0], PAGE);
	work_counted(fd[0], N, 0);
	p[0] = map(fd[0], 1, PROT_READ);
	EXPECT_TRUE(is_exact(_metadata, fd[0], p[0]));
	EXPECT_EQ(p[0]->offset, WORK_INSNS(N));
}

TEST_HARNESS_MAIN
