// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_HISTOGRAM: samples that are counted in a table instead of written to a ring. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cgroup.h"
#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define N	100001
#define PERIOD	1009

static struct kpmu_open_histogram args;

static int histogram(int event, uint32_t by, uint32_t order)
{
	args = (struct kpmu_open_histogram) {
		.event = event, .by = by, .order = order, .flags = KPMU_HISTOGRAM_CLOEXEC,
	};
	return ioctl(ev_device(), KPMU_IOC_HISTOGRAM, &args);
}

static int refused(int event, uint32_t by, uint32_t order)
{
	return fd_errno(histogram(event, by, order));
}

static size_t bytes(uint32_t order)
{
	return (4096 + (32ul << order) + 4095) & ~4095ul;
}

static const struct kpmu_histogram_page *map(int fd, uint32_t order)
{
	void *p = mmap(NULL, bytes(order), PROT_READ, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The mapped table of an event; NULL on an error.  Its fd stays open. */
static const struct kpmu_histogram_page *table_of(int event, uint32_t by, uint32_t order)
{
	int fd = histogram(event, by, order);

	return fd < 0 ? NULL : map(fd, order);
}

static const struct kpmu_histogram_entry *entry(const struct kpmu_histogram_page *p, uint32_t i)
{
	return (void *)((char *)p + p->first + (size_t)i * p->entry_size);
}

/* Samples with a key; with KPMU_HISTOGRAM_FREE those with any, in @events the sum of their periods */
static uint64_t count(const struct kpmu_histogram_page *p, uint64_t key, uint64_t *events)
{
	uint64_t n = 0;

	*events = 0;
	for (uint32_t i = 0; i < 1U << p->order; i++) {
		const struct kpmu_histogram_entry *e = entry(p, i);

		if (e->key == KPMU_HISTOGRAM_FREE || (key != KPMU_HISTOGRAM_FREE && e->key != key))
			continue;
		n += e->samples;
		*events += e->events;
	}
	return n;
}

static struct perf_event_attr sampling(uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	no_throttle();
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	return a;
}

/* Two events with the same selector overflow at the same instructions */
TEST(addresses)
{
	ROWS("W-40");
	NEED_PMU();
	struct perf_event_attr a = sampling(PERIOD);
	int table, fd = ev_must(&a, 0, -1, -1, 0), other = ev_must(&a, 0, -1, fd, 0);
	const struct kpmu_histogram_page *p;
	uint64_t n = 0, events, all;
	static struct record rec;
	struct ring r;

	table = histogram(fd, KPMU_HISTOGRAM_IP, 8);
	ASSERT_GE(table, 0);
	EXPECT_EQ(fcntl(table, F_GETFD), FD_CLOEXEC);
	p = map(table, 8);
	ASSERT_TRUE(p);
	EXPECT_EQ(p->order, 8);
	EXPECT_EQ(p->by, KPMU_HISTOGRAM_IP);
	EXPECT_EQ(count(p, KPMU_HISTOGRAM_FREE, &events), 0);
	ring_map(&r, other, &a, 64);
	ev_enable(other);
	ev_enable(fd);
	work(N);
	ev_disable(fd);
	all = count(p, KPMU_HISTOGRAM_FREE, &events);
	EXPECT_EQ(all, ev_count(fd) / PERIOD);
	EXPECT_EQ(events, all * PERIOD);
	EXPECT_EQ(p->samples, all);
	EXPECT_EQ(p->overflows, 0);
	/* Each address of the ring as often in the table */
	struct { uint64_t ip, n; } seen[256];
	int nr = 0, i;

	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		uint64_t ip = record_u64(&rec, 0);

		for (i = 0; i < nr && seen[i].ip != ip; i++)
			;
		if (i == nr) {
			ASSERT_LT(nr, 256);
			seen[nr].ip = ip;
			seen[nr++].n = 0;
		}
		seen[i].n++;
		n++;
	}
	EXPECT_EQ(n, all);
	for (i = 0; i < nr; i++)
		EXPECT_EQ(count(p, seen[i].ip, &events), seen[i].n);
	EXPECT_LE(nr, 4);
}

/* Copies in other tasks, on several CPUs at the same time, count in the table of their root */
TEST(tasks)
{
	ROWS("W-41");
	NEED_PMU();
	struct perf_event_attr a = sampling(PERIOD);
	const struct kpmu_histogram_page *p;
	struct worker w, kid[3];
	uint64_t events, sum = 0;
	int fd;

	worker_start(&w);
	a.inherit = 1;
	a.disabled = 0;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	p = table_of(fd, KPMU_HISTOGRAM_TASK, 6);
	ASSERT_TRUE(p);
	for (int i = 0; i < 3; i++) {
		worker_fork(&w, &kid[i]);
		worker_pin(&kid[i], i % nr_cpus());
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			worker_go(&kid[i], N * (i + 1));
		for (int i = 0; i < 3; i++)
			worker_wait(&kid[i]);
	}
	for (int i = 0; i < 3; i++) {
		uint64_t n = count(p, kid[i].pid, &events);

		EXPECT_GE(n, 3 * WORK_BRANCHES(N * (i + 1)) / PERIOD - 1);
		EXPECT_LE(n, (3 * WORK_BRANCHES(N * (i + 1)) + 3000000) / PERIOD);
		EXPECT_EQ(events, n * PERIOD);
		sum += n;
		worker_stop(&kid[i]);
	}
	worker_stop(&w);
	EXPECT_EQ(count(p, KPMU_HISTOGRAM_FREE, &events), p->samples);
	EXPECT_GE(p->samples, sum);
	/* What has been counted stays when the event is closed */
	close(fd);
	EXPECT_EQ(count(p, kid[1].pid, &events) > 0, true);
}

TEST(cgroups)
{
	ROWS("W-41");
	NEED_PMU();
	struct perf_event_attr a = sampling(PERIOD);
	const struct kpmu_histogram_page *p;
	struct cgroup root, c[2];
	struct worker w[2];
	uint64_t events, id[2];
	struct stat st;
	int fd;

	cgroup_v2();
	cgroup_root(&root);
	for (int i = 0; i < 2; i++) {
		worker_start(&w[i]);
		cgroup_make(&c[i], &root, i ? "histogram1" : "histogram0");
		cgroup_add(&c[i], w[i].pid);
		worker_pin(&w[i], 0);
		fstat(c[i].fd, &st);
		id[i] = st.st_ino;
	}
	a.disabled = 0;
	a.exclude_kernel = 1;
	fd = ev_must(&a, -1, 0, -1, 0);
	p = table_of(fd, KPMU_HISTOGRAM_CGROUP, 4);
	ASSERT_TRUE(p);
	worker_run(&w[0], N);
	worker_run(&w[1], 3 * N);
	for (int i = 0; i < 2; i++) {
		uint64_t n = count(p, id[i], &events), want = WORK_BRANCHES((i ? 3 : 1) * N);

		EXPECT_GE(n, want / PERIOD - 1);
		EXPECT_LE(n, want / PERIOD + 2);
		worker_stop(&w[i]);
	}
}

/* More keys than entries: none is lost unseen */
TEST(full)
{
	ROWS("W-42");
	NEED_PMU();
	struct perf_event_attr a = sampling(7);
	const struct kpmu_histogram_page *p;
	uint64_t events, n;
	char text[64];
	int fd;

	fd = ev_must(&a, 0, -1, -1, 0);
	p = table_of(fd, KPMU_HISTOGRAM_IP, 4);
	ASSERT_TRUE(p);
	ev_enable(fd);
	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "%d %#x %s %g", i, i * i, "text", i / 3.0);
		strtod(text, NULL);
	}
	ev_disable(fd);
	n = count(p, KPMU_HISTOGRAM_FREE, &events);
	EXPECT_GT(p->overflows, 0);
	EXPECT_EQ(n + p->overflows, p->samples);
	EXPECT_EQ(p->samples, ev_count(fd) / 7);
	EXPECT_EQ(events, n * 7);
	for (int i = 0; i < 16; i++)
		EXPECT_NE(entry(p, i)->key, KPMU_HISTOGRAM_FREE);
}

/* A software event that no clock samples */
TEST(kinds)
{
	ROWS("W-40");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	const struct kpmu_histogram_page *p;
	uint64_t events;
	int i, fd;

	a.sample_period = 1;
	a.exclude_kernel = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	p = table_of(fd, KPMU_HISTOGRAM_TASK, 4);
	ASSERT_TRUE(p);
	ev_enable(fd);
	for (i = 0; i < 20; i++)
		usleep(10000);
	ev_disable(fd);
	EXPECT_GE(p->samples, 10);	/* a sleep may be over before the task has left its CPU */
	EXPECT_EQ(p->samples, ev_count(fd));
	EXPECT_EQ(count(p, syscall(SYS_gettid), &events), p->samples);
}

TEST(arguments)
{
	ROWS("W-43");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	int counts = ev_must(&a, 0, -1, -1, 0), fd, other, table;
	struct ring r;

	a.sample_period = 100000;
	a.sample_type = PERF_SAMPLE_IP;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(refused(counts, 0, 8), EINVAL);
	EXPECT_EQ(refused(-1, 0, 8), EBADF);
	EXPECT_EQ(refused(ev_device(), 0, 8), EBADF);
	EXPECT_EQ(refused(fd, 3, 8), EINVAL);
	EXPECT_EQ(refused(fd, 0, 3), EINVAL);
	EXPECT_EQ(refused(fd, 0, 21), EINVAL);
	args.order = 8;
	args.flags = 2;
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_HISTOGRAM, &args), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_HISTOGRAM, 8), -1);
	EXPECT_EQ(errno, EFAULT);
	/* Either a ring or a table */
	ring_map(&r, fd, &a, 8);
	EXPECT_EQ(refused(fd, 0, 8), EBUSY);
	ring_unmap(&r);
	table = histogram(fd, 0, 8);
	ASSERT_GE(table, 0);
	EXPECT_EQ(mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	EXPECT_EQ(errno, EBUSY);
	other = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, other, &a, 8);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, other), -1);
	EXPECT_EQ(errno, EBUSY);
	ring_unmap(&r);
	EXPECT_EQ(refused(fd, 0, 8), EBUSY);
	/* The mapping: shared, whole, not written to */
	EXPECT_EQ(mmap(NULL, bytes(8), PROT_READ | PROT_WRITE, MAP_SHARED, table, 0), MAP_FAILED);
	EXPECT_EQ(errno, EACCES);
	EXPECT_EQ(mmap(NULL, bytes(8), PROT_READ, MAP_PRIVATE, table, 0), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(mmap(NULL, 4096, PROT_READ, MAP_SHARED, table, 0), MAP_FAILED);
	EXPECT_EQ(errno, EINVAL);
	void *p = mmap(NULL, bytes(8), PROT_READ, MAP_SHARED, table, 0);

	ASSERT_NE(p, MAP_FAILED);
	EXPECT_EQ(mprotect(p, 4096, PROT_READ | PROT_WRITE), -1);
	EXPECT_EQ(errno, EACCES);
	/* Without the table the event may have a ring, but no table any more */
	close(table);
	EXPECT_EQ(mmap(NULL, 9 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	munmap(p, bytes(8));
	EXPECT_EQ(refused(fd, 0, 8), EBUSY);
	ring_map(&r, fd, &a, 8);
	ring_unmap(&r);
}

TEST(memory)
{
	ROWS("W-43");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	struct rlimit none = { 0, 0 };
	int fd[64], n;

	a.sample_period = 100000;
	a.exclude_kernel = 1;
	set_paranoid(2);
	setrlimit(RLIMIT_MEMLOCK, &none);
	drop_privilege();
	for (n = 0; n < 64; n++) {
		fd[n] = ev_must(&a, 0, -1, -1, 0);
		if (histogram(fd[n], 0, 12) < 0)
			break;
	}
	EXPECT_EQ(errno, EPERM);
	EXPECT_GT(n, 0);
	EXPECT_LT(n, 64);
	EXPECT_EQ(refused(fd[n], 0, 20), EPERM);
}

/* Tables come and go while their events overflow, also in child tasks */
TEST(storm)
{
	ROWS("W-41 W-43");
	NEED_PMU();
	struct perf_event_attr a = sampling(PERIOD);
	uint64_t end = now_ns() + 2000000000ull * slow();
	struct worker w, kid;

	a.disabled = 0;
	a.inherit = 1;
	worker_start(&w);
	worker_fork(&w, &kid);
	for (int i = 0; now_ns() < end; i++) {
		int fd = ev_must(&a, w.pid, -1, -1, 0), table;
		const struct kpmu_histogram_page *p;

		worker_go(&w, 20000);
		table = histogram(fd, i % 3, 4 + i % 6);
		ASSERT_GE(table, 0);
		p = map(table, 4 + i % 6);
		if (i & 1)
			close(table);
		if (i & 2)
			close(fd);
		if (i & 1 && p)
			munmap((void *)p, bytes(4 + i % 6));
		if (!(i & 2))
			close(fd);
		if (!(i & 1)) {
			close(table);
			if (p)
				munmap((void *)p, bytes(4 + i % 6));
		}
		worker_wait(&w);
	}
	worker_stop(&kid);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
