/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading a set of events with buckets, for module_buckets and others; opened as in sets.h. */
#ifndef KPMU_TEST_BUCKETS_H
#define KPMU_TEST_BUCKETS_H

#include "sets.h"

/* A set on CPUs 0 to @cpus - 1 that counts by cgroup or task, see plan() */
static inline void plan_buckets(int events, int cpus, uint32_t flags, int buckets)
{
	plan(events, cpus, flags);
	args.nr_slots = buckets;
}

static struct {
	struct kpmu_bucket_head head;
	uint64_t word[1 << 20];
} read_out;

/* The last CPU: with one CPU, this process runs there, too */
static inline int far_cpu(void)
{
	return nr_cpus() - 1;
}

/* Words of a bucket in the result */
static inline int bucket_words(void)
{
	return 2 + args.nr_events * (args.flags & KPMU_SET_TIMES ? 3 : 1);
}

/* Read all buckets; their number without the first two, -1 for an error or a wrong length */
static inline int get_buckets(int fd)
{
	ssize_t n = read(fd, &read_out, sizeof(read_out));
	ssize_t want = sizeof(read_out.head) +
		       (ssize_t)read_out.head.nr_buckets * bucket_words() * 8;

	if (n < 0 || n != want || read_out.head.nr_events != args.nr_events ||
	    read_out.word[0] != KPMU_BUCKET_ALL || read_out.word[bucket_words()] != KPMU_BUCKET_OTHER)
		return -1;
	return read_out.head.nr_buckets - 2;
}

/* Value @v of the bucket of @id, 0 if there is none */
static inline uint64_t bucket_value(uint64_t id, int v)
{
	for (unsigned int i = 0; i < read_out.head.nr_buckets; i++)
		if (read_out.word[i * bucket_words()] == id)
			return read_out.word[i * bucket_words() + 2 + v];
	return 0;
}

/* Number of values of which the sum over all buckets is not that of KPMU_BUCKET_ALL */
static inline int wrong_sums(void)
{
	int wrong = 0;

	for (int v = 2; v < bucket_words(); v++) {
		uint64_t sum = 0;

		for (unsigned int i = 1; i < read_out.head.nr_buckets; i++)
			sum += read_out.word[i * bucket_words() + v];
		wrong += sum != read_out.word[v];
	}
	return wrong;
}

#endif
