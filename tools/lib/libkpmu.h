/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libkpmu: events, sets of events, ring buffers and timelines of /dev/kpmu in C.  See libkpmu(3).
 *
 * Functions that return an int return -1 on an error, those that return a pointer NULL; errno is then
 * set.  All may be called by several threads at the same time, but only one at a time for the same
 * set, ring or timeline.  An event fd works as a perf event fd does: read(2), ioctl(2), mmap(2), poll(2).
 */
#ifndef LIBKPMU_H
#define LIBKPMU_H

#include <linux/kpmu.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * kpmu_device() - the device /dev/kpmu
 *
 * It is opened by the first call, and stays open until the program ends or executes another one.
 *
 * Return: its fd, or -1: ENOENT if the module is not loaded, EACCES.
 */
int kpmu_device(void);

/**
 * kpmu_event_open() - open an event; the arguments and errors are those of perf_event_open(2)
 * @attr: what to count
 * @pid: the task, 0 the caller, -1 all
 * @cpu: the CPU, -1 any
 * @group_fd: fd of the group leader, -1 none
 * @flags: PERF_FLAG_*
 *
 * Return: the fd, or -1.
 */
int kpmu_event_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		    unsigned long flags);

/**
 * kpmu_reserve() - set counters of CPUs aside; needs CAP_PERFMON
 * @cpus: the CPUs
 * @nr_cpus: number of CPUs
 * @counters: the counters on each of them, a bit each, as struct kpmu_info has them
 * @name: a name for kpmu_cpu_info(), at most 15 characters of it
 *
 * Return: an fd that holds them until it is closed, which exec does, or -1.
 */
int kpmu_reserve(const int *cpus, int nr_cpus, uint32_t counters, const char *name);

/**
 * kpmu_event_open_on() - open an event on reserved counters
 * @reservation: the fd that kpmu_reserve() has returned
 * @attr: as for kpmu_event_open()
 * @pid: likewise
 * @cpu: likewise
 * @group_fd: likewise
 * @flags: likewise
 *
 * Return: the fd, or -1.
 */
int kpmu_event_open_on(int reservation, const struct perf_event_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags);

/**
 * kpmu_why() - the reason for the last failure to open an event or a set, in words
 *
 * Return: English; "" if errno says enough.  Valid until the next call by the same thread.
 */
const char *kpmu_why(void);

/**
 * struct kpmu_event - an event of a list
 * @name: as typed by the user, with modifiers
 * @attr: what it means
 * @leader: index in the list of the first event of its group; its own without a group
 */
struct kpmu_event {
	char name[64];
	struct perf_event_attr attr;
	int leader;
};

/**
 * kpmu_events_parse() - parse a list of events
 * @list: names with commas between; {a,b} is a group; modifiers :u user, :k kernel, :p pinned; rHEX is
 *	a raw event
 * @events: array of @max, filled in
 * @max: its size
 * @bad: NULL, or set to the name that is not known
 *
 * Return: the number of events, or -1: EINVAL for an unknown name or modifier, E2BIG, ENOMEM.
 */
int kpmu_events_parse(const char *list, struct kpmu_event *events, int max, char bad[64]);

/**
 * kpmu_event_name() - names that kpmu_events_parse() knows, beside raw events
 * @n: number of the name, from 0
 *
 * Return: the name, NULL if there are no more.
 */
const char *kpmu_event_name(int n);

/* The same events on each of several CPUs or tasks, with one fd */
struct kpmu_set;

/**
 * struct kpmu_count - the count of an event
 * @value: as counted
 * @enabled: time enabled, ns
 * @running: time counting, ns: less than @enabled if it was multiplexed
 */
struct kpmu_count {
	uint64_t value, enabled, running;
};

/**
 * kpmu_set_open() - open events on targets
 * @events: the events; attr.disabled and other bits as wanted
 * @nr_events: number of events, up to KPMU_SET_MAX_EVENTS
 * @targets: CPUs, or with KPMU_SET_TASKS thread ids, 0 the caller
 * @nr_targets: number of targets, up to KPMU_SET_MAX_TARGETS
 * @flags: KPMU_SET_TASKS, KPMU_SET_CGROUP, KPMU_SET_PARTIAL; times are always read, and the fd is
 *	closed by exec
 * @cgroup: with KPMU_SET_CGROUP the fd of a cgroup directory: count its tasks on the CPUs
 * @failed: NULL, or set to the index of the first event that cannot be opened, -1 if it is not one
 *
 * Return: the set, or NULL.
 */
struct kpmu_set *kpmu_set_open(const struct kpmu_event *events, int nr_events, const int *targets,
			       int nr_targets, unsigned int flags, int cgroup, int *failed);

/**
 * kpmu_set_fd() - the fd of a set
 * @set: the set
 */
int kpmu_set_fd(const struct kpmu_set *set);

/* Enable, disable, or set to 0 all events of a set.  Return: 0 or -1 */
int kpmu_set_enable(struct kpmu_set *set);
int kpmu_set_disable(struct kpmu_set *set);
int kpmu_set_reset(struct kpmu_set *set);

/**
 * kpmu_set_read() - read all counts of a set
 * @set: the set
 *
 * Return: 0 or -1.
 */
int kpmu_set_read(struct kpmu_set *set);

/**
 * kpmu_set_count() - a count of the last kpmu_set_read()
 * @set: the set
 * @target: index of the target
 * @event: index of the event
 *
 * Return: the count; value is KPMU_SET_NONE if the event is not open, or pinned without a counter.
 */
struct kpmu_count kpmu_set_count(const struct kpmu_set *set, int target, int event);

/**
 * kpmu_set_sum() - the count of an event on all targets, of the last kpmu_set_read()
 * @set: the set
 * @event: index of the event
 *
 * Return: the sums of values and times.
 */
struct kpmu_count kpmu_set_sum(const struct kpmu_set *set, int event);

/**
 * kpmu_set_close() - close a set
 * @set: the set, or NULL
 */
void kpmu_set_close(struct kpmu_set *set);

/**
 * kpmu_count_scaled() - the value extrapolated to the time enabled
 * @count: the count
 *
 * Return: the value; as counted if the event was never on a counter.
 */
uint64_t kpmu_count_scaled(struct kpmu_count count);

/* What the events of CPUs count by cgroup or by task, with one fd */
struct kpmu_buckets;

/**
 * kpmu_buckets_open() - open events on CPUs that count by cgroup or by task
 * @events: the events
 * @nr_events: number of events, up to KPMU_SET_MAX_EVENTS
 * @cpus: the CPUs, each of them once
 * @nr_cpus: number of CPUs
 * @flags: KPMU_SET_BY_CGROUP or KPMU_SET_BY_TASK; KPMU_SET_PARTIAL, KPMU_SET_DELTA
 * @nr_buckets: number of buckets, up to KPMU_SET_MAX_BUCKETS
 * @failed: NULL, or set to the index of the first event that cannot be opened, -1 if it is not one
 *
 * Return: the buckets, or NULL.
 */
struct kpmu_buckets *kpmu_buckets_open(const struct kpmu_event *events, int nr_events,
				       const int *cpus, int nr_cpus, unsigned int flags,
				       int nr_buckets, int *failed);

/**
 * kpmu_buckets_fd() - the fd of buckets, for ioctl(2)
 * @b: the buckets
 */
int kpmu_buckets_fd(const struct kpmu_buckets *b);

/**
 * kpmu_buckets_read() - read all buckets
 * @b: the buckets
 *
 * Return: their number, or -1.  Number 0 is KPMU_BUCKET_ALL, 1 is KPMU_BUCKET_OTHER.
 */
int kpmu_buckets_read(struct kpmu_buckets *b);

/**
 * kpmu_buckets_overflows() - how often no bucket was free, of the last kpmu_buckets_read()
 * @b: the buckets
 */
uint64_t kpmu_buckets_overflows(const struct kpmu_buckets *b);

/**
 * kpmu_buckets_key() - the cgroup or task of a bucket, of the last kpmu_buckets_read()
 * @b: the buckets
 * @i: number of the bucket
 */
struct kpmu_bucket kpmu_buckets_key(const struct kpmu_buckets *b, int i);

/**
 * kpmu_buckets_count() - a count of the last kpmu_buckets_read()
 * @b: the buckets
 * @i: number of the bucket
 * @event: index of the event
 *
 * Return: the sum of all CPUs, with the sums of its times.
 */
struct kpmu_count kpmu_buckets_count(const struct kpmu_buckets *b, int i, int event);

/**
 * kpmu_buckets_close() - close buckets
 * @b: the buckets, or NULL
 */
void kpmu_buckets_close(struct kpmu_buckets *b);

/**
 * kpmu_cpu_info() - counters, features and limits of a CPU
 * @cpu: the CPU
 * @info: filled in
 * @counters: array of @nr, filled in: the CPU's counters and their holders
 * @nr: its size, may be 0
 *
 * Return: the number of counters filled in, or -1.
 */
int kpmu_cpu_info(int cpu, struct kpmu_info *info, struct kpmu_info_counter *counters, int nr);

/**
 * kpmu_events_explain() - which of the events count together, on which counters, and why not
 * @events: the events
 * @nr: number of events, up to KPMU_EXPLAIN_MAX
 * @cpu: the CPU, -1 for events of tasks
 * @view: array of @nr, filled in
 *
 * Return: 0 or -1.
 */
int kpmu_events_explain(const struct kpmu_event *events, int nr, int cpu,
			struct kpmu_explain_event *view);

/* The ring buffer of an event */
struct kpmu_ring;

/**
 * kpmu_ring_map() - map the ring buffer of an event
 * @fd: the event
 * @pages: size of the data in pages, a power of two
 *
 * Return: the ring, or NULL.
 */
struct kpmu_ring *kpmu_ring_map(int fd, unsigned int pages);

/**
 * kpmu_ring_next() - the next record
 * @ring: the ring
 *
 * Return: the record, valid until the next call or kpmu_ring_consume(); NULL if there is none at present.
 */
const struct perf_event_header *kpmu_ring_next(struct kpmu_ring *ring);

/**
 * kpmu_ring_consume() - let the kernel overwrite the records that kpmu_ring_next() has returned
 * @ring: the ring
 */
void kpmu_ring_consume(struct kpmu_ring *ring);

/**
 * kpmu_ring_page() - the user page, for kpmu_read_self() of <linux/kpmu-read.h>
 * @ring: the ring
 */
const struct perf_event_mmap_page *kpmu_ring_page(const struct kpmu_ring *ring);

/**
 * kpmu_ring_unmap() - unmap a ring buffer; the event stays open
 * @ring: the ring, or NULL
 */
void kpmu_ring_unmap(struct kpmu_ring *ring);

/* The samples of an event, counted in a table */
struct kpmu_histogram;

/**
 * kpmu_histogram_open() - count the samples of an event in a table, instead of writing them to a ring
 * @fd: the event
 * @by: KPMU_HISTOGRAM_*
 * @order: the table has 2^@order entries
 *
 * Return: the table, or NULL.
 */
struct kpmu_histogram *kpmu_histogram_open(int fd, unsigned int by, unsigned int order);

/**
 * kpmu_histogram_next() - the next entry in use
 * @h: the table
 * @pos: set to 0 for the first one; advanced
 *
 * Return: the entry, whose numbers may increase meanwhile; NULL if there are no more.
 */
const struct kpmu_histogram_entry *kpmu_histogram_next(const struct kpmu_histogram *h,
						       unsigned int *pos);

/**
 * kpmu_histogram_samples() - the number of samples
 * @h: the table
 * @overflows: NULL, or set to the number of those for which no entry was free
 */
uint64_t kpmu_histogram_samples(const struct kpmu_histogram *h, uint64_t *overflows);

/**
 * kpmu_histogram_close() - count no more samples, and unmap the table
 * @h: the table, or NULL
 */
void kpmu_histogram_close(struct kpmu_histogram *h);

/* What runs on CPUs and which counter has which event, over time */
struct kpmu_timeline;

/**
 * struct kpmu_moment - a record of a timeline
 * @cpu: number of the CPU in the list with which the timeline was opened
 * @record: the time, the task, and the reason for the record
 * @count: the count of each event; KPMU_SET_NONE if it does not exist on this CPU
 * @where: the counter of each event, or KPMU_TIMELINE_RUNS, KPMU_TIMELINE_WAITS
 * @lost: number of records of this CPU that were lost before this one and after the one before it
 */
struct kpmu_moment {
	int cpu;
	const struct kpmu_timeline_record *record;
	const uint64_t *count;
	const uint8_t *where;
	uint64_t lost;
};

/**
 * kpmu_timeline_open() - open events on CPUs, and record what happens there
 * @events: the events; attr.disabled and other bits as wanted
 * @nr_events: number of events, up to KPMU_SET_MAX_EVENTS
 * @cpus: the CPUs, each of them once
 * @nr_cpus: number of CPUs
 * @flags: 0, or KPMU_SET_PARTIAL
 * @nr_records: number of records that each CPU has room for, a power of two
 * @period_us: period of additional records, 0 for none
 * @failed: NULL, or set to the index of the first event that cannot be opened, -1 if it is not one
 *
 * Return: the timeline, or NULL.
 */
struct kpmu_timeline *kpmu_timeline_open(const struct kpmu_event *events, int nr_events,
					 const int *cpus, int nr_cpus, unsigned int flags,
					 unsigned int nr_records, unsigned int period_us,
					 int *failed);

/**
 * kpmu_timeline_fd() - the fd of a timeline, for poll(2) and ioctl(2)
 * @t: the timeline
 */
int kpmu_timeline_fd(const struct kpmu_timeline *t);

/* Enable or disable all events of a timeline.  Return: 0 or -1 */
int kpmu_timeline_enable(struct kpmu_timeline *t);
int kpmu_timeline_disable(struct kpmu_timeline *t);

/**
 * kpmu_timeline_wait() - wait until the records of a CPU take half of their room
 * @t: the timeline
 * @timeout_ms: for so long at most, -1 for ever
 *
 * Return: 1; 0 if the time has passed; -1, with EINTR after a signal.
 */
int kpmu_timeline_wait(struct kpmu_timeline *t, int timeout_ms);

/**
 * kpmu_timeline_next() - the next record of all CPUs, in order of time
 * @t: the timeline
 *
 * As another CPU may be writing a record that is earlier, one is returned when it is 10 ms old, or when
 * all CPUs have one.  So records are out of order only if a CPU takes longer to write one.
 *
 * Return: the record, valid until the next call, which frees its room; NULL if there is none at present.
 */
const struct kpmu_moment *kpmu_timeline_next(struct kpmu_timeline *t);

/**
 * kpmu_timeline_lost() - the number of records that found no room
 * @t: the timeline
 * @cpu: number of the CPU in the list, -1 for all
 */
uint64_t kpmu_timeline_lost(const struct kpmu_timeline *t, int cpu);

/**
 * kpmu_timeline_close() - end a timeline
 * @t: the timeline, or NULL
 */
void kpmu_timeline_close(struct kpmu_timeline *t);

#ifdef __cplusplus
}
#endif

#endif
