// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that maps an event may execute RDPMC for every counter of its CPU.  The values, in
 * the counters of its own events and in idle ones, must not reveal how much was counted for other
 * tasks in the meantime.
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
#define MUCH	1000000		/* rounds of work(), 4 instructions each */
/* More than the user instructions of this program between two reads of the counters */
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

/* Read all counters of this CPU, sign-extended.  Return: their number. */
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

/* Return: how often a counter has moved during @between() by more than LITTLE */
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

/* Only the other task's events use counters, which are idle when this task reads them */
TEST(idle_counters)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	struct worker w;

	worker_here(&w);
	insns(w.pid, -1, false);
	a.disabled = 0;
	ev_must(&a, w.pid, -1, -1, 0);
	/* Mapped to permit RDPMC; disabled, so never on a counter */
	map(ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1));
	EXPECT_EQ(leaks(let_work, &w), 0);
	worker_stop(&w);
}

/* Events of both tasks use the same counters in turn; this task maps only one of its own */
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

/* The offset in the user page must not reveal how far the counter moved for other tasks */
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

/* An event of the CPU counts this task, too; what it counted for the other must be hidden */
TEST(event_of_the_cpu)
{
	struct worker w;

	worker_here(&w);
	insns(-1, 0, false);
	map(ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, -1));
	EXPECT_EQ(leaks(let_work, &w), 0);
	worker_stop(&w);
}

/* The thread that reads has no events and no context, but may execute RDPMC: it shares the mm */
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

/* Counts from before RDPMC was permitted, and from before the event was mapped, must be hidden */
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

/*
 * The pid of migration/0.  As a kernel thread it borrows this program's mm, so a switch between the
 * two does not call perf_clear_dirty_counters().
 */
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
		pin_to(1);	/* migration/0 moves this task */
		pin_to(0);
		look(after);
		/* Skip the first round: the counters of this CPU may be unused before it */
		for (i = 0; round && i < n; i++)
			EXPECT_EQ(after[i], before[i]);
	}
	count = ev_count(event);
	printf("# the thread has executed %llu instructions\n", (long long)count);
	EXPECT_GT(count, ROUNDS);
}

/* kpmu zeroes its counters when native perf takes them over: native perf may permit RDPMC */
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
	/* Native perf requests the counters and gets them, as no event of kpmu is left */
	setenv("KPMU_ROUTE", "native", 1);
	a.disabled = 0;
	native = ev_open(&a, 0, -1, -1, 0);
	if (native < 0)
		SKIP(return, "the kernel's own perf has no such event");
	p = map(native);
	n = look(left);
	/* 0, or the start value of an idle counter, whose low 30 bits are 0 */
	for (i = 0; i < n; i++)
		if (p->index - 1 != (i < gp ? i : FIXED + i - gp))
			EXPECT_EQ(left[i] & ((1 << 30) - 1), 0);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
