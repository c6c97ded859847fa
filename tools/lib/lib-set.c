// SPDX-License-Identifier: GPL-2.0-only
/* libkpmu: sets of events. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libkpmu.h"

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

struct kpmu_set *kpmu_set_open(const struct kpmu_event *events, int nr_events, const int *targets,
			       int nr_targets, unsigned int flags, int cgroup, int *failed)
{
	struct kpmu_open_set args = {
		.targets = (uintptr_t)targets, .nr_events = nr_events, .nr_targets = nr_targets,
		.flags = flags | KPMU_SET_TIMES | KPMU_SET_CLOEXEC,
		.cgroup = flags & KPMU_SET_CGROUP ? cgroup : 0,
	};
	struct kpmu_set *set = NULL;
	int32_t *errors;
	int err;

	if (failed)
		*failed = -1;
	if (!is_sound(nr_events, nr_targets)) {
		errno = EINVAL;
		return NULL;
	}
	errors = calloc((size_t)nr_events * nr_targets, sizeof(*errors));
	set = calloc(1, sizeof(*set));
	if (!errors || !set)
		goto fail;
	set->nr_events = nr_events;
	set->nr_targets = nr_targets;
	set->size = sizeof(*set->result) +
		    (size_t)nr_events * nr_targets * sizeof(struct kpmu_count);
	set->result = calloc(1, set->size);
	if (!set->result)
		goto fail;
	args.errors = (uintptr_t)errors;
	set->fd = open_fd(&args, events);
	if (set->fd < 0 && failed)
		*failed = first_failed(errors, nr_events, nr_targets);
	if (set->fd < 0)
		goto fail;
	free(errors);
	return set;
fail:
	err = errno;
	free(errors);
	if (set)
		free(set->result);
	free(set);
	errno = err;
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
