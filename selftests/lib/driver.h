/* SPDX-License-Identifier: GPL-2.0-only */
/* Load and unload the driver of a PMU (selftests/driver), and use its events. */
#ifndef KPMU_TEST_DRIVER_H
#define KPMU_TEST_DRIVER_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "event.h"
#include "harness.h"
#include "ring.h"

/* Load kpmu-@name.ko with parameters; 0 or the errno */
static inline int driver_load_with(const char *name, const char *params)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/tests/kpmu-%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	err = syscall(SYS_finit_module, fd, params, 0) ? errno : 0;
	close(fd);
	return err;
}

static inline int driver_load(const char *name)
{
	return driver_load_with(name, "");
}

static inline int driver_unload(const char *name)
{
	char module[64];

	snprintf(module, sizeof(module), "kpmu_%s", name);
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? errno : 0;
}

/* Closed events are freed with a delay and hold a module reference until then: retry */
static inline int driver_unload_at_last(const char *name)
{
	uint64_t end = patience();
	int err;

	while ((err = driver_unload(name)) == EAGAIN && now_ns() < end)
		usleep(10000);
	return err;
}

/* An attr of an event of PMU @name, whose driver is loaded if it is not; disabled */
static inline struct perf_event_attr driver_attr(const char *name, uint64_t config)
{
	int err = driver_load(name);
	struct perf_event_attr a;

	if (err && err != EEXIST) {
		printf("# cannot load kpmu-%s.ko: %s\n", name, strerror(err));
		exit(1);
	}
	a = ev_attr(pmu_type(name), config);
	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	return a;
}

/* Is the count of @fd that of the TSC cycles from its start to its end? */
static inline bool counts_cycles(int fd, uint64_t rounds)
{
	const struct sched_param first = { .sched_priority = 99 };
	uint64_t before, from, to, after, v[3];
	int tries;

	/* Preemption by another task stops the event, but not the TSC; stopper tasks still preempt */
	sched_setscheduler(0, SCHED_FIFO, &first);
	for (tries = 0; tries < 10; tries++) {
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		before = __rdtsc();
		ev_enable(fd);
		from = __rdtsc();
		work(rounds);
		to = __rdtsc();
		ev_disable(fd);
		after = __rdtsc();
		if (read(fd, v, sizeof(v)) <= 0 || v[0] > after - before)
			return false;
		if (v[0] >= to - from)
			return true;
	}
	printf("# %lu of %lu cycles\n", v[0], to - from);
	return false;
}

/*
 * TSC cycles that @rounds of work take, or 0.  The task is not preempted by others any more: an
 * event of it would not count meanwhile, but the TSC advances.
 */
static inline uint64_t cycles_of_work(uint64_t rounds)
{
	const struct sched_param first = { .sched_priority = 99 };
	uint64_t from;

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		return 0;
	from = __rdtsc();
	work(rounds);
	return __rdtsc() - from;
}

/* Samples that an event takes in a second with a frequency of 200, on slow kernels in several */
static inline int samples_by_frequency(struct perf_event_attr a)
{
	uint64_t end = now_ns() + 1000000000ULL * slow();
	struct ring r;
	int fd, n;

	throttle_at(1000000, 0);
	a.freq = 1;
	a.sample_freq = 200;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	while (now_ns() < end)
		work(20000);
	ev_disable(fd);
	n = ring_count(&r, PERF_RECORD_SAMPLE);
	printf("# %d samples in %d s\n", n, slow());
	return n / slow();
}

/*
 * Number of samples in @r; @sum: of their periods.  -1 if the period of one is not a multiple of
 * @period, or if it has no instruction address.
 */
static inline int sum_samples(struct ring *r, uint64_t period, uint64_t *sum)
{
	static struct record rec;
	bool wrong = false;
	int n = 0;

	*sum = 0;
	while (ring_next(r, &rec)) {
		struct parts p;

		if (rec.head.type != PERF_RECORD_SAMPLE)
			continue;
		p = record_sample(r, &rec);
		wrong |= !p.period || p.period % period || !p.ip;
		*sum += p.period;
		n++;
	}
	return wrong ? -1 : n;
}

#endif
