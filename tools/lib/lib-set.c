// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu: sets of events. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

struct kpmu_set {
	int fd, nr_events, nr_targets;
	struct {
		struct kpmu_set_head head;
		struct kpmu_count count[];	/* as with KPMU_SET_TIMES */
	} *result;
	size_t size;
};

static int first_failed(const int32_t *errors, int nr_events, int nr_targets)
{
	int i;

	for (i = 0; i < nr_events * nr_targets; i++)
		if (errors[i])
			return i % nr_events;
	return -1;
}

static int open_fd(struct kpmu_open_set *args, const struct kpmu_event *events)
{
	struct kpmu_set_event ev[KPMU_SET_MAX_EVENTS] = { 0 };
	int device = kpmu_device();
	unsigned int i;

	if (device < 0)
		return -1;
	for (i = 0; i < args->nr_events; i++) {
		ev[i].attr = (uintptr_t)&events[i].attr;
		ev[i].group = events[i].leader == (int)i ? -1 : events[i].leader;
	}
	args->events = (uintptr_t)ev;
	return ioctl(device, KPMU_IOC_OPEN_SET, args);
}

static bool is_sound(int nr_events, int nr_targets)
{
	return nr_events > 0 && nr_events <= KPMU_SET_MAX_EVENTS && nr_targets > 0 &&
	       nr_targets <= KPMU_SET_MAX_TARGETS && nr_events * nr_targets <= KPMU_SET_MAX;
}

int kpmu_open_args(struct kpmu_open_set *args, const struct kpmu_event *events, int *failed)
{
	int32_t *errors;
	int fd, err;

	if (failed)
		*failed = -1;
	if (!is_sound(args->nr_events, args->nr_targets)) {
		errno = EINVAL;
		return -1;
	}
	errors = calloc((size_t)args->nr_events * args->nr_targets, sizeof(*errors));
	if (!errors)
		return -1;
	args->errors = (uintptr_t)errors;
	fd = open_fd(args, events);
	err = errno;
	if (fd < 0 && failed)
		*failed = first_failed(errors, args->nr_events, args->nr_targets);
	free(errors);
	errno = err;
	return fd;
}

struct kpmu_set *kpmu_set_open(const struct kpmu_event *events, int nr_events, const int *targets,
			       int nr_targets, unsigned int flags, int cgroup, int *failed)
{
	struct kpmu_open_set args = {
		.targets = (uintptr_t)targets, .nr_events = nr_events, .nr_targets = nr_targets,
		.flags = flags | KPMU_SET_TIMES | KPMU_SET_CLOEXEC,
		.cgroup = flags & KPMU_SET_CGROUP ? cgroup : 0,
	};
	int fd = kpmu_open_args(&args, events, failed);
	struct kpmu_set *set;

	if (fd < 0)
		return NULL;
	set = calloc(1, sizeof(*set));
	if (!set)
		goto fail;
	set->fd = fd;
	set->nr_events = nr_events;
	set->nr_targets = nr_targets;
	set->size = sizeof(*set->result) +
		    (size_t)nr_events * nr_targets * sizeof(struct kpmu_count);
	set->result = calloc(1, set->size);
	if (set->result)
		return set;
	free(set);
fail:
	close(fd);
	errno = ENOMEM;
	return NULL;
}

int kpmu_set_fd(const struct kpmu_set *set)
{
	return set->fd;
}

int kpmu_set_enable(struct kpmu_set *set)
{
	return ioctl(set->fd, PERF_EVENT_IOC_ENABLE, 0);
}

int kpmu_set_disable(struct kpmu_set *set)
{
	return ioctl(set->fd, PERF_EVENT_IOC_DISABLE, 0);
}

int kpmu_set_reset(struct kpmu_set *set)
{
	return ioctl(set->fd, PERF_EVENT_IOC_RESET, 0);
}

int kpmu_set_read(struct kpmu_set *set)
{
	return read(set->fd, set->result, set->size) == (ssize_t)set->size ? 0 : -1;
}

struct kpmu_count kpmu_set_count(const struct kpmu_set *set, int target, int event)
{
	return set->result->count[target * set->nr_events + event];
}

struct kpmu_count kpmu_set_sum(const struct kpmu_set *set, int event)
{
	struct kpmu_count all = { 0, 0, 0 }, one;
	int t;

	for (t = 0; t < set->nr_targets; t++) {
		one = kpmu_set_count(set, t, event);
		if (one.value == KPMU_SET_NONE)
			continue;
		all.value += one.value;
		all.enabled += one.enabled;
		all.running += one.running;
	}
	return all;
}

void kpmu_set_close(struct kpmu_set *set)
{
	if (!set)
		return;
	close(set->fd);
	free(set->result);
	free(set);
}

uint64_t kpmu_count_scaled(struct kpmu_count count)
{
	if (!count.running || count.running >= count.enabled)
		return count.value;
	return (double)count.value * count.enabled / count.running;
}

struct kpmu_buckets {
	int fd, nr_events;
	struct {
		struct kpmu_bucket_head head;
		uint64_t word[];		/* buckets, with the times of each value */
	} *result;
	size_t size;
};

struct kpmu_buckets *kpmu_buckets_open(const struct kpmu_event *events, int nr_events,
				       const int *cpus, int nr_cpus, unsigned int flags,
				       int nr_buckets, int *failed)
{
	struct kpmu_open_set args = {
		.targets = (uintptr_t)cpus, .nr_events = nr_events, .nr_targets = nr_cpus,
		.flags = flags | KPMU_SET_TIMES | KPMU_SET_CLOEXEC, .nr_slots = nr_buckets,
	};
	struct kpmu_buckets *b;
	int fd;

	if (failed)
		*failed = -1;
	if (!(flags & (KPMU_SET_BY_CGROUP | KPMU_SET_BY_TASK))) {
		errno = EINVAL;
		return NULL;
	}
	fd = kpmu_open_args(&args, events, failed);
	if (fd < 0)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		goto fail;
	b->fd = fd;
	b->nr_events = nr_events;
	b->size = sizeof(*b->result) + ((size_t)nr_buckets + 2) *
		  (sizeof(struct kpmu_bucket) + nr_events * sizeof(struct kpmu_count));
	b->result = calloc(1, b->size);
	if (b->result)
		return b;
	free(b);
fail:
	close(fd);
	errno = ENOMEM;
	return NULL;
}

int kpmu_buckets_fd(const struct kpmu_buckets *b)
{
	return b->fd;
}

int kpmu_buckets_read(struct kpmu_buckets *b)
{
	return read(b->fd, b->result, b->size) < 0 ? -1 : (int)b->result->head.nr_buckets;
}

uint64_t kpmu_buckets_overflows(const struct kpmu_buckets *b)
{
	return b->result->head.overflows;
}

static const uint64_t *bucket(const struct kpmu_buckets *b, int i)
{
	return b->result->word + (size_t)i * (2 + 3 * b->nr_events);
}

struct kpmu_bucket kpmu_buckets_key(const struct kpmu_buckets *b, int i)
{
	struct kpmu_bucket key = { .id = bucket(b, i)[0], .start = bucket(b, i)[1] };

	return key;
}

struct kpmu_count kpmu_buckets_count(const struct kpmu_buckets *b, int i, int event)
{
	const uint64_t *at = bucket(b, i) + 2 + 3 * event;
	struct kpmu_count count = { .value = at[0], .enabled = at[1], .running = at[2] };

	return count;
}

void kpmu_buckets_close(struct kpmu_buckets *b)
{
	if (!b)
		return;
	close(b->fd);
	free(b->result);
	free(b);
}
