// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closed events, failed opens and reservations leak nothing: each kind is repeated many times, and no
 * slab cache may grow by about one object per cycle.  (On the debug kernel, kmemleak covers all
 * tests, but the only security module there is lockdown.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

#define CYCLES	1000
#define SLABS	1024
#define LIMIT	300	/* seconds; an idle machine needs only a few */
#define POINT	"/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id"

/*
 * A slab cache in /proc/slabinfo.  @size: objects per slab; @objects can grow by that many at once,
 * as all objects of a CPU's current slab count as active
 */
struct slab {
	char name[40];
	long objects;
	long size;
};

static struct slab before[SLABS];

/* Read the active objects of all slab caches; returns the number of caches */
static int slabs(struct slab *s)
{
	FILE *f = fopen("/proc/slabinfo", "r");
	char line[300];
	int n = 0;

	if (!f)
		SKIP(return 0, "no /proc/slabinfo");
	while (n < SLABS && fgets(line, sizeof(line), f))
		if (sscanf(line, "%39s %ld %*d %*d %ld", s[n].name, &s[n].objects,
			   &s[n].size) == 3)
			n++;
	fclose(f);
	return n;
}

/*
 * Find a cache that has grown by about one object per cycle; returns its growth, or 0.
 * One additional slab is no evidence of a leak: a slab holds 512 of the smallest objects.
 */
static long grown(int n, int cycles, const char **name)
{
	static struct slab now[SLABS];
	int m = slabs(now), i, j;
	long more;

	for (i = 0; i < m; i++) {
		/* vmalloc() frees address ranges in batches, much later */
		if (!strcmp(now[i].name, "vmap_area"))
			continue;
		for (j = 0; j < n && strcmp(now[i].name, before[j].name); j++)
			;
		more = j < n ? now[i].objects - before[j].objects : 0;
		if (more < cycles / 2 || more < cycles / 4 + now[i].size)
			continue;
		*name = now[i].name;
		return more;
	}
	return 0;
}

static void count_and_sample(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct ring r;
	int fd, member;

	a.sample_period = 1000;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	fd = ev_must(&a, 0, -1, -1, 0);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_TASK_CLOCK;
	a.sample_period = 0;
	a.disabled = 0;
	member = ev_must(&a, 0, -1, fd, 0);
	ring_map(&r, fd, &a, 1);
	ioctl(member, PERF_EVENT_IOC_SET_OUTPUT, fd);
	work_counted(fd, 1000, PERF_IOC_FLAG_GROUP);
	ring_unmap(&r);
	close(member);
	close(fd);
}

static void inherited(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	a.inherit = 1;
	a.disabled = 0;
	a.comm = 1;
	a.task = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	fflush(NULL);
	if (!fork())
		_exit(0);
	wait(NULL);
	close(fd);
}

static void clocks(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_CPU_CLOCK);

	a.sample_period = 1000000;
	a.disabled = 0;
	close(ev_must(&a, -1, 0, -1, 0));
}

static void refused(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd = ev_must(&a, 0, -1, -1, 0);

	a.pinned = 1;
	ev_errno(&a, 0, -1, fd, 0);		/* a pinned sibling */
	ev_errno(&a, 0, 12345, -1, 0);
	ev_errno(&a, 4000000, -1, -1, 0);
	a.pinned = 0;
	a.clockid = 1;
	a.use_clockid = 1;
	ev_errno(&a, 0, -1, fd, 0);		/* clockid differs from the leader's */
	a = ev_attr(PERF_TYPE_BREAKPOINT, 0);
	a.bp_type = 2;
	a.bp_len = 3;
	ev_errno(&a, 0, -1, -1, 0);
	close(fd);
}

static void wrong_filter(void)
{
	static int fd = -1;
	struct perf_event_attr a;

	if (fd < 0) {
		a = ev_attr(PERF_TYPE_TRACEPOINT, read_long(POINT));
		fd = ev_must(&a, 0, -1, -1, 0);
	}
	if (!ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "no_field == 1") || errno != EINVAL)
		exit(KSFT_FAIL);
}

/* Also one that is refused, as its counter is reserved */
static void reserved(void)
{
	struct kpmu_reserve r = { .nr_cpus = 1, .counters = 1, .flags = KPMU_RESERVE_CLOEXEC };
	int32_t cpu = 0;
	int fd;

	r.cpus = (uintptr_t)&cpu;
	fd = ioctl(ev_device(), KPMU_IOC_RESERVE, &r);
	if (fd < 0 || fd_errno(ioctl(ev_device(), KPMU_IOC_RESERVE, &r)) != EBUSY)
		exit(KSFT_FAIL);
	close(fd);
}

/* RCU callbacks and work items free objects with a delay, so check until nothing has grown */
static void leaves_nothing(struct __test *_metadata, void (*cycle)(void), int n)
{
	uint64_t until = patience();
	const char *name = "";
	long slab;
	int i, known;

	if (slow() > 1)
		SKIP(return, "kmemleak looks for the same on the debug kernel");
	for (i = 0; i < n / 4; i++)
		cycle();			/* warm up the caches */
	known = slabs(before);
	for (i = 0; i < n; i++)
		cycle();
	do {
		usleep(100000);
		slab = grown(known, n, &name);
	} while (slab && now_ns() < until);
	if (slab)
		printf("# %s: %ld objects more after %d cycles\n", name, slab, n);
	EXPECT_EQ(slab, 0);
}

TEST_TIMEOUT(counting_and_sampling, LIMIT)
{
	leaves_nothing(_metadata, count_and_sample, CYCLES);
}

TEST_TIMEOUT(inheriting_events, LIMIT)
{
	leaves_nothing(_metadata, inherited, CYCLES);
}

TEST_TIMEOUT(clock_events, LIMIT)
{
	leaves_nothing(_metadata, clocks, CYCLES);
}

TEST_TIMEOUT(failed_opens, LIMIT)
{
	leaves_nothing(_metadata, refused, CYCLES);
}

TEST_TIMEOUT(wrong_filters, LIMIT)
{
	leaves_nothing(_metadata, wrong_filter, CYCLES);
}

TEST_TIMEOUT(reservations, LIMIT)
{
	NEED_PMU();
	if (route_is_native())
		SKIP(return, "upstream has none");
	leaves_nothing(_metadata, reserved, CYCLES);
}

TEST_HARNESS_MAIN
