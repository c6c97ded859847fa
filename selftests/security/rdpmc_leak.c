// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that maps an event may execute RDPMC for every counter of its CPU.  What it
 * finds there, in the counters of its own events as in idle ones, must not tell how much
 * was counted for other tasks meanwhile.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/kpmu-read.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define MAX	32
#define FIXED	(1u << 30)
#define ROUNDS	20
#define MUCH	1000000		/* rounds of work: 4,000,000 instructions */
/* User instructions of this program between two looks at the counters: fewer */
#define LITTLE	100000

static struct perf_event_mmap_page *map(int fd)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("# mmap: %s\n", strerror(errno));
		exit(KSFT_FAIL);
	}
	return p;
}

static int insns(pid_t pid, int cpu, bool kernel)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.exclude_kernel = !kernel;
	a.exclude_user = kernel;
	a.disabled = 0;
	return ev_must(&a, pid, cpu, -1, 0);
}

/* All counters of this CPU, sign-extended */
static int look(int64_t *values)
{
	int gp = counters_general(), fixed = counters_fixed(), n = 0, i;
	int shift = 64 - counter_width();

	for (i = 0; i < gp && n < MAX; i++)
		values[n++] = (int64_t)(__kpmu_rdpmc(i) << shift) >> shift;
	for (i = 0; i < fixed && n < MAX; i++)
		values[n++] = (int64_t)(__kpmu_rdpmc(FIXED + i) << shift) >> shift;
	return n;
}

/* In how many counters there is something of what @between() has done */
static int leaks(void (*between)(void *), void *arg)
{
	int64_t last[MAX], now[MAX];
	int n = 0, i, round, found = 0;

	for (round = 0; round <= ROUNDS; round++) {
		between(arg);
		n = look(now);
		for (i = 0; round && i < n; i++) {
			if (llabs(now[i] - last[i]) <= LITTLE)
				continue;
			printf("# counter %d of %d went from %lld to %lld\n", i, n,
			       (long long)last[i], (long long)now[i]);
			found++;
		}
		memcpy(last, now, sizeof(last));
	}
	return found;
}

static void let_work(void *worker)
{
	worker_run(worker, MUCH);
}

static void worker_here(struct worker *w)
{
	pin_to(0);
	worker_start(w);
	worker_pin(w, 0);
}

/* The other task's events are alone on the counters, and idle when we look */
TEST(idle_counters)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	struct worker w;

	worker_here(&w);
	insns(w.pid, -1, false);
	a.disabled = 0;
	ev_must(&a, w.pid, -1, -1, 0);
	/* Mapped, but never on a counter */
	map(ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1));
	EXPECT_EQ(leaks(let_work, &w), 0);
	worker_stop(&w);
}

/* Its events and ours take turns on the same counters; ours are not all mapped */
TEST(shared_counters)
{
	struct worker w;
	int i;

	worker_here(&w);
	for (i = 0; i < 3; i++)
		insns(w.pid, -1, false);
	map(insns(0, -1, false));
	insns(0, -1, false);
	insns(0, -1, false);
	EXPECT_EQ(leaks(let_work, &w), 0);
	worker_stop(&w);
}

/* Not even in the page: the offset moves by what the counter did */
TEST(offset)
{
	struct perf_event_mmap_page *p;
	int64_t last = 0, now;
	struct worker w;
	int i;

	worker_here(&w);
	insns(w.pid, -1, false);
	p = map(insns(0, -1, false));
	for (i = 0; i < ROUNDS; i++) {
		let_work(&w);
		now = p->offset;
		if (i)
			EXPECT_LE(llabs(now - last), LITTLE);
		last = now;
	}
	worker_stop(&w);
}

/* The CPU's event counts us, too, but what it counted before is not to be seen */
TEST(event_of_the_cpu)
{
	struct worker w;

	worker_here(&w);
	insns(-1, 0, false);
	map(ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1));
	EXPECT_EQ(leaks(let_work, &w), 0);
	worker_stop(&w);
}

/* The thread that looks has no events, and no context with us */
static void *look_on(void *worker)
{
	pin_to(0);
	return (void *)(intptr_t)leaks(let_work, worker);
}

TEST(thread_without_events)
{
	pthread_t thread;
	struct worker w;
	void *found;

	worker_here(&w);
	insns(w.pid, -1, false);
	map(ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1));
	pthread_create(&thread, NULL, look_on, &w);
	pthread_join(thread, &found);
	EXPECT_EQ((intptr_t)found, 0);
	worker_stop(&w);
}

/* What it counted before the counters could be read at all */
TEST(before_the_mapping)
{
	int64_t first[MAX], now[MAX], low = 0;
	struct worker w;
	int fd, n, i;

	worker_here(&w);
	insns(w.pid, -1, false);
	fd = insns(0, -1, false);
	map(ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1));
	n = look(first);
	for (i = 0; i < n; i++)
		low = first[i] < low ? first[i] : low;
	for (i = 0; i < n; i++)
		EXPECT_LE(first[i] - low, LITTLE);
	munmap(map(fd), 4096);
	for (i = 0; i < ROUNDS; i++)
		worker_run(&w, MUCH);
	map(fd);
	look(now);
	for (i = 0; i < n; i++)
		EXPECT_LE(now[i] - low, LITTLE);
	worker_stop(&w);
}

/* Of a kernel thread, between which and us there is no switch of mm */
static pid_t migration_thread(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char path[300], name[32];
	pid_t found = 0;

	while (!found && (e = readdir(d))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && !strcmp(name, "migration/0\n"))
			found = atoi(e->d_name);
		fclose(f);
	}
	closedir(d);
	return found;
}

TEST(kernel_thread)
{
	int64_t before[MAX], after[MAX];
	pid_t pid = migration_thread();
	int n, i, round, event, mine;
	uint64_t count;

	if (nr_cpus() < 2 || !pid)
		SKIP(return, "no thread that moves tasks from CPU 0");
	pin_to(0);
	event = insns(pid, -1, true);
	mine = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1);
	map(mine);
	for (round = 0; round <= ROUNDS; round++) {
		n = look(before);
		pin_to(1);	/* done by the thread */
		pin_to(0);
		look(after);
		/* At first the counters of this CPU may not have been used yet */
		for (i = 0; round && i < n; i++)
			EXPECT_EQ(after[i], before[i]);
	}
	count = ev_count(event);
	printf("# the thread has executed %llu instructions\n", (long long)count);
	EXPECT_GT(count, ROUNDS);
}

/* The next owner of the counters may let others execute RDPMC */
TEST(handed_over)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	struct perf_event_mmap_page *p;
	int fd, n, i, native, gp = counters_general();
	int64_t left[MAX];
	struct worker w;

	worker_here(&w);
	fd = insns(w.pid, -1, false);
	worker_run(&w, MUCH);
	close(fd);
	/* The kernel's own perf asks for the counters and gets them */
	setenv("KPMU_ROUTE", "native", 1);
	a.disabled = 0;
	native = ev_open(&a, 0, -1, -1, 0);
	if (native < 0)
		SKIP(return, "the kernel's own perf has no such event");
	p = map(native);
	n = look(left);
	/* 0, or where an idle counter begins */
	for (i = 0; i < n; i++)
		if (p->index - 1 != (i < gp ? i : FIXED + i - gp))
			EXPECT_EQ(left[i] & ((1 << 30) - 1), 0);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
