// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting samples in a table instead of writing them to a ring.  Overflows of several CPUs, and an NMI
 * inside another overflow, may use the table at the same time: a slot belongs to the key that is put
 * into it first, and never changes it.
 */
#include <linux/cgroup.h>
#include <linux/hash.h>

#include "../compat/compat.h"
#include "../event/histogram.h"
#include "sample.h"

/* Slots that a key may be in, from that of its hash on: bounds the search */
#define PROBES	16

/**
 * kpmu_sample_cgroup() - the id of the cgroup of the task that an event counts now
 * @e: the event
 *
 * Context: any, including NMI; on the CPU where the event is active.
 * Return: the id in the hierarchy of perf_event; 0 if there is none.
 */
u64 kpmu_sample_cgroup(const struct kpmu_event *e)
{
	struct cgroup_subsys_state *css;
	u64 id = 0;

	rcu_read_lock();
	css = kpmu_task_css(kpmu_task_of(e));
	if (css)
		id = cgroup_id(css->cgroup);
	rcu_read_unlock();
	return id;
}

static struct kpmu_histogram_slot *find_slot(const struct kpmu_histogram *h, u64 key)
{
	u32 i, at = hash_64(key, h->order), mask = (1u << h->order) - 1;

	for (i = 0; i < PROBES; i++) {
		struct kpmu_histogram_slot *s = &h->slots[(at + i) & mask];
		u64 has = atomic64_read(&s->key);

		if (has == KPMU_HISTOGRAM_FREE) {
			has = atomic64_cmpxchg(&s->key, KPMU_HISTOGRAM_FREE, key);
			if (has == KPMU_HISTOGRAM_FREE)
				return s;
		}
		if (has == key)
			return s;
	}
	return NULL;
}

static u64 sample_key(const struct kpmu_histogram *h, const struct kpmu_event *e,
		      const struct kpmu_hit *hit)
{
	switch (h->by) {
	case KPMU_HISTOGRAM_CGROUP:
		return kpmu_sample_cgroup(e);
	case KPMU_HISTOGRAM_TASK:
		return kpmu_record_tid(e, kpmu_task_of(e));
	default:
		return kpmu_hit_ip(hit);
	}
}

/**
 * kpmu_sample_count() - count a sample that was not written to a ring
 * @e: the event; it has a sampling part
 * @hit: details of the hit, as for kpmu_sample_write()
 *
 * Context: as kpmu_sample_write().
 * Return: whether the event has a table.
 */
bool kpmu_sample_count(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	struct kpmu_histogram *h = kpmu_histogram_of(kpmu_root_of(e));
	struct kpmu_histogram_slot *s;

	if (!h)
		return false;
	atomic64_inc(&h->head->samples);
	s = find_slot(h, sample_key(h, e, hit));
	if (!s) {
		atomic64_inc(&h->head->overflows);
		return true;
	}
	atomic64_inc(&s->samples);
	atomic64_add(hit->period, &s->events);
	return true;
}
