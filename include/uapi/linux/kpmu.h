/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * kpmu: the device interface.
 *
 * An event fd opened here supports what a perf event fd supports: read, ioctl,
 * mmap, poll, fcntl.  Only opening is different.  The attr is struct
 * perf_event_attr of <linux/perf_event.h>, of any published size.
 */
#ifndef _UAPI_LINUX_KPMU_H
#define _UAPI_LINUX_KPMU_H

#include <linux/ioctl.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#define KPMU_DEVICE	"/dev/kpmu"

/**
 * struct kpmu_open - the arguments of perf_event_open(2)
 * @attr: pointer to a struct perf_event_attr
 * @pid: task to monitor: 0 the caller, -1 all; with PERF_FLAG_PID_CGROUP an fd
 * @cpu: CPU to monitor, -1 for any
 * @group_fd: fd of the group leader, -1 for none
 * @reserved: with KPMU_OPEN_RESERVED the fd of a reservation, else 0
 * @flags: PERF_FLAG_*, and KPMU_OPEN_*
 */
struct kpmu_open {
	__u64 attr;
	__s32 pid;
	__s32 cpu;
	__s32 group_fd;
	__u32 reserved;
	__u64 flags;
};

/*
 * The group that this event leads is always on its counters: EBUSY if it could not be, because of
 * other such groups and pinned ones that may be active at the same time.  It is pinned as well,
 * and no pinned or strict event that is opened later takes its counters.  Without CAP_PERFMON one
 * of a CPU or cgroup may, or one whose opener has CAP_PERFMON.  Then the group is in error like a
 * pinned one (poll(2): POLLERR, read(2): 0), and there is a record (KPMU_RECORD_MISC_OUT).  EBUSY
 * also for an event that joins the group, if the group could not always be on its counters then.
 * EINVAL with attr.exclusive, for a member, and by other ways to open an event than KPMU_IOC_OPEN.
 */
#define KPMU_OPEN_STRICT	(1ULL << 32)

/*
 * The event may be on the counters of a reservation (KPMU_IOC_RESERVE): on its CPUs, only on these;
 * on other CPUs, and after the reservation has ended, as any other event.  EINVAL if none of them
 * can count the event, and by other ways to open one than KPMU_IOC_OPEN.
 */
#define KPMU_OPEN_RESERVED	(1ULL << 33)

/*
 * In header.misc of a PERF_RECORD_THROTTLE: the strict event has lost its counters, and does not
 * count until it is enabled again
 */
#define KPMU_RECORD_MISC_OUT	(1U << 13)

/* Returns the new fd, or -1 and errno as perf_event_open(2) */
#define KPMU_IOC_OPEN	_IOW('K', 0x40, struct kpmu_open)

/*
 * Enable or disable all events that the calling thread has opened, as
 * prctl(PR_TASK_PERF_EVENTS_ENABLE) and _DISABLE do.  For kernels where kpmu cannot
 * hook the prctl, and for programs that must not change the kernel's own events.
 */
#define KPMU_IOC_TASK_ENABLE	_IO('K', 0x41)
#define KPMU_IOC_TASK_DISABLE	_IO('K', 0x42)

/**
 * struct kpmu_open_for - open an event on behalf of another task
 * @open: as for KPMU_IOC_OPEN.  pid is an id in the other task's pid namespace, 0
 *	is the other task.  attr is in the caller's memory; group_fd and, with
 *	PERF_FLAG_PID_CGROUP, pid are the caller's fds
 * @tid: the other task, a thread id in the caller's pid namespace
 * @reserved: must be 0
 */
struct kpmu_open_for {
	struct kpmu_open open;
	__s32 tid;
	__u32 reserved;
};

/*
 * For supervisors that serve perf_event_open(2) for other tasks, by seccomp or
 * ptrace.  The new fd is the caller's, to be passed on.  Both of these must hold: the
 * caller may attach to the task with ptrace(2), else EPERM; and the task has all
 * permissions that perf requires to open the event.  So the caller gains nothing
 * that it could not make the task obtain.  ESRCH if there is no such task.
 */
#define KPMU_IOC_OPEN_FOR	_IOW('K', 0x43, struct kpmu_open_for)

/**
 * struct kpmu_why - the reason for an error, in words
 * @text: English, NUL-terminated; empty if the errno is specific enough
 */
struct kpmu_why {
	char text[128];
};

/*
 * Reason why the last open by this fd of the device failed.  For messages only: the
 * words may change.
 */
#define KPMU_IOC_WHY	_IOR('K', 0x44, struct kpmu_why)

/* Why an event may use only some counters */
#define KPMU_RULE_FIXED		(1U << 0)	/* a fixed counter counts it, too */
#define KPMU_RULE_TABLE		(1U << 1)	/* not all general counters can count it */
#define KPMU_RULE_EXTRA		(1U << 2)	/* needs an extra register, which has one value */
#define KPMU_RULE_BRANCHES	(1U << 3)	/* records branches, by one filter for all */
#define KPMU_RULE_PRECISE	(1U << 4)	/* precise events */
#define KPMU_RULE_DRIVER	(1U << 5)	/* counters of a driver's PMU */
#define KPMU_RULE_RESERVED	(1U << 6)	/* others are reserved on that CPU */
#define KPMU_RULE_PAIR		(1U << 7)	/* needs two counters, of which this is the first */

/**
 * struct kpmu_explain_event - an event of a set
 * @attr: pointer to a struct perf_event_attr: an event that is not open.  0: see @fd
 * @fd: an open event, if @attr is 0
 * @group: index in the set of the leader of its group, -1 if it leads one.  Of open events it
 *	must be -1: those of one group form a group in the set as well
 * @error: set to the errno with which it cannot be opened, 0 if it can; @text says why
 * @counter: set to the number of its counter in the set, -1 if it has none
 * @allowed: set to the counters that it may use, a bit each; 0 if it needs none
 * @rules: set to KPMU_RULE_*
 * @blocker: set to the index of a group's leader: without that group this event would have a
 *	counter.  -1: it has what it needs, or no single group stands in the way
 * @fits: set to 1 if it counts while all events of the set with @fits do
 * @enabled: of an open event: time enabled, ns, without inherited copies
 * @running: of an open event: time counting, ns, likewise
 * @text: set to the reason if not @fits; English, NUL-terminated
 * @now: of an open event: the reason why it does not count at present; empty if it does
 * @waits: of an open event: for how long it has had no counter although it is enabled, in ns in which
 *	its task, cgroup or CPU was active; 0 if it has one
 * @holder: of such an event: the id of an event that is on a counter that it could use; 0 if there is
 *	none at present, or if the caller has no permission to observe that one's target
 * @count: of an open event: its count, without inherited copies and not scaled
 * @low: of such an event: what it would have counted in the whole of @enabled if its rate without a
 *	counter was the least that was seen in one of its @turns
 * @high: likewise with the greatest rate.  @low and @high are @count if @running is @enabled, and 0 if
 *	@turns is 0
 * @turns: turns on the counters that have ended since the event was first explained, and took at least
 *	half of the interval of rotation
 */
struct kpmu_explain_event {
	__u64 attr;
	__s32 fd;
	__s32 group;
	__s32 error;
	__s32 counter;
	__u32 allowed;
	__u32 rules;
	__s32 blocker;
	__u32 fits;
	__u64 enabled;
	__u64 running;
	char text[72];
	char now[64];
	__u64 waits;
	__u64 holder;
	__u64 count;
	__u64 low;
	__u64 high;
	__u64 turns;
};

/* Size of the first published struct kpmu_explain_event */
#define KPMU_EXPLAIN_SIZE_VER0	192
#define KPMU_EXPLAIN_SIZE_VER1	208	/* waits, holder */
#define KPMU_EXPLAIN_SIZE_VER2	240	/* count, low, high, turns */
#define KPMU_EXPLAIN_MAX	128	/* events of a set */

/**
 * struct kpmu_explain - a set of events
 * @size: size of the elements of @events, KPMU_EXPLAIN_SIZE_VER0 or more
 * @nr: number of @events, 1 to KPMU_EXPLAIN_MAX
 * @pid: 0: events on the caller, -1: on @cpu
 * @cpu: the CPU, -1 for any
 * @events: pointer to struct kpmu_explain_event
 */
struct kpmu_explain {
	__u32 size;
	__u32 nr;
	__s32 pid;
	__s32 cpu;
	__u64 events;
};

/*
 * Explain which events of a set count together on a CPU that counts nothing else: pinned groups
 * have precedence, then those that come first.  Nothing is opened or reserved.  E2BIG if @size is
 * larger than the kernel's and the rest is not 0; EINVAL for a bad @size, @nr, @pid, @cpu or @group.
 */
#define KPMU_IOC_EXPLAIN	_IOW('K', 0x45, struct kpmu_explain)

/* The holder of a counter */
#define KPMU_HOLDER_NONE	0	/* the counter is free */
#define KPMU_HOLDER_EVENT	1	/* an event of kpmu */
#define KPMU_HOLDER_KERNEL	2	/* native perf */
#define KPMU_HOLDER_WATCHDOG	3	/* the NMI watchdog, by native perf */
#define KPMU_HOLDER_VM		4	/* a virtual machine with a vPMU of its own */
#define KPMU_HOLDER_OTHER	5	/* another driver */
#define KPMU_HOLDER_RESERVED	6	/* no event is on the counter, but it is reserved */

/**
 * struct kpmu_info_counter - a counter of a CPU
 * @counter: its number, as in struct kpmu_explain_event
 * @holder: KPMU_HOLDER_*
 * @id: id of the event that is on it (PERF_EVENT_IOC_ID); 0 if there is none, or if the caller
 *	has no permission to observe the event's target.  The fields below are then 0, too
 * @config: attr.config of the event
 * @type: attr.type of the event
 * @pid: the task that it counts, in the caller's pid namespace; -1 for an event of a CPU or a cgroup
 * @comm: name of that task; with KPMU_HOLDER_RESERVED the name of the reservation
 */
struct kpmu_info_counter {
	__u32 counter;
	__u32 holder;
	__u64 id;
	__u64 config;
	__u32 type;
	__s32 pid;
	char comm[16];
};

/* What works on this machine; /sys/kernel/debug/kpmu/caps has the reason of what does not */
#define KPMU_FEATURE_RDPMC	(1ULL << 0)	/* programs may execute RDPMC */
#define KPMU_FEATURE_REDIRECT	(1ULL << 1)	/* perf_event_open(2) is served */
#define KPMU_FEATURE_CGROUPS	(1ULL << 2)	/* events of a cgroup */
#define KPMU_FEATURE_BPF	(1ULL << 3)	/* BPF programs on tracepoints and probes */
#define KPMU_FEATURE_BRANCHES	(1ULL << 4)	/* samples contain the last branches */
#define KPMU_FEATURE_PRECISE	(1ULL << 5)	/* precise_ip, data sources, weights */
#define KPMU_FEATURE_SMI	(1ULL << 6)	/* counters stop in SMM */

#define KPMU_ABI		1		/* version of the calls in this file */

/**
 * struct kpmu_info - counters, features and limits of a CPU
 * @features: KPMU_FEATURE_*
 * @abi: KPMU_ABI of the module
 * @online: the CPU is online
 * @general: the CPU's general counters, a bit each, as in struct kpmu_explain_event
 * @fixed: its fixed counters
 * @drivers: counters of drivers' PMUs
 * @free: those of the three that are free now
 * @width: width of the CPU's counters in bits
 * @holder: the holder of the CPU's counters as a whole; KPMU_HOLDER_NONE if no event needs them
 * @branches: number of branches that it records, 0 for none
 * @precise: largest precise_ip
 * @paranoid: perf_event_paranoid in force
 * @max_rate: largest sampling frequency, samples a second
 * @max_stack: largest attr.sample_max_stack
 * @max_events: limit of events of a task, and of a CPU
 * @max_set: limit of events of KPMU_IOC_EXPLAIN
 * @mux_interval_ms: interval of rotation
 * @nr_counters: number of struct kpmu_info_counter that the CPU has
 * @reserved: the counters that are reserved on the CPU, see KPMU_IOC_RESERVE
 */
struct kpmu_info {
	__u64 features;
	__u32 abi;
	__u32 online;
	__u32 general;
	__u32 fixed;
	__u32 drivers;
	__u32 free;
	__u32 width;
	__u32 holder;
	__u32 branches;
	__u32 precise;
	__s32 paranoid;
	__u32 max_rate;
	__u32 max_stack;
	__u32 max_events;
	__u32 max_set;
	__u32 mux_interval_ms;
	__u32 nr_counters;
	__u32 reserved;
};

/* Sizes of the first published versions of both */
#define KPMU_INFO_SIZE_VER0		80
#define KPMU_INFO_COUNTER_SIZE_VER0	48

/**
 * struct kpmu_ask_info - the arguments of KPMU_IOC_INFO
 * @cpu: the CPU
 * @size: size of *@info, KPMU_INFO_SIZE_VER0 or more
 * @info: pointer to a struct kpmu_info
 * @counter_size: size of an element of @counters, KPMU_INFO_COUNTER_SIZE_VER0 or more
 * @nr: number of elements that @counters has room for, may be 0
 * @counters: pointer to struct kpmu_info_counter
 */
struct kpmu_ask_info {
	__s32 cpu;
	__u32 size;
	__u64 info;
	__u32 counter_size;
	__u32 nr;
	__u64 counters;
};

/*
 * Get the counters, features and limits of a CPU, and the holder of each counter at this moment.
 * Nothing is opened or reserved.  Fields that the module does not know are set to 0.
 * EINVAL for a bad @cpu, @size or @counter_size.
 */
#define KPMU_IOC_INFO	_IOW('K', 0x46, struct kpmu_ask_info)

/**
 * struct kpmu_set_event - an event of a set
 * @attr: pointer to a struct perf_event_attr
 * @group: index in the set of the leader of its group, -1 if it leads one
 * @reserved: with KPMU_SET_RESERVED the fd of a reservation, else 0
 */
struct kpmu_set_event {
	__u64 attr;
	__s32 group;
	__u32 reserved;
};

#define KPMU_SET_TASKS		(1U << 0)	/* the targets are tasks; else CPUs */
#define KPMU_SET_CGROUP		(1U << 1)	/* count the tasks of a cgroup, on CPUs */
#define KPMU_SET_PARTIAL	(1U << 2)	/* leave out what cannot be opened */
#define KPMU_SET_TIMES		(1U << 3)	/* read(2) gives the times of each event, too */
#define KPMU_SET_CLOEXEC	(1U << 4)	/* close the fd on exec */
#define KPMU_SET_STRICT		(1U << 5)	/* each group as with KPMU_OPEN_STRICT */
#define KPMU_SET_RESERVED	(1U << 6)	/* each event as with KPMU_OPEN_RESERVED */
#define KPMU_SET_BY_CGROUP	(1U << 8)	/* targets are CPUs: counts by cgroup, in buckets */
#define KPMU_SET_BY_TASK	(1U << 9)	/* targets are CPUs: counts by task, in buckets */
#define KPMU_SET_DELTA		(1U << 10)	/* with either: a read returns what is new */
#define KPMU_SET_TIMELINE	(1U << 11)	/* targets are CPUs: records of switches and counters */

#define KPMU_SET_MAX_EVENTS	128	/* on each target */
#define KPMU_SET_MAX_TARGETS	4096
#define KPMU_SET_MAX		16384	/* events on all targets */
#define KPMU_SET_MAX_SLOTS	4096	/* snapshots, which take 64 MiB at most */
#define KPMU_SET_MAX_BUCKETS	65536	/* likewise, with all that CPUs need for them */
#define KPMU_SET_MAX_RECORDS	65536	/* likewise, on each CPU */

/**
 * struct kpmu_open_set - the same events on each of several targets
 * @events: pointer to @nr_events of struct kpmu_set_event
 * @targets: pointer to @nr_targets of __s32: CPUs, or with KPMU_SET_TASKS thread ids, 0 the caller
 * @errors: 0, or a pointer to @nr_targets times @nr_events of __s32: set to the errno of each
 *	event, those of the first target first; 0 if it was opened, or not tried
 * @nr_events: number of events, 1 to KPMU_SET_MAX_EVENTS
 * @nr_targets: number of targets, 1 to KPMU_SET_MAX_TARGETS
 * @flags: KPMU_SET_*
 * @cgroup: with KPMU_SET_CGROUP the fd of a cgroup directory
 * @period_us: take a snapshot at this period, in us; 0: none.  At least 1,000, and 10 for each event.
 *	With KPMU_SET_TIMELINE: the period of additional records
 * @nr_slots: with @period_us: number of snapshots that are kept, up to KPMU_SET_MAX_SLOTS; with
 *	KPMU_SET_BY_CGROUP or KPMU_SET_BY_TASK: number of buckets, 1 to KPMU_SET_MAX_BUCKETS; with
 *	KPMU_SET_TIMELINE: number of records that each CPU has room for, a power of two from 8 to
 *	KPMU_SET_MAX_RECORDS
 */
struct kpmu_open_set {
	__u64 events;
	__u64 targets;
	__u64 errors;
	__u32 nr_events;
	__u32 nr_targets;
	__u32 flags;
	__s32 cgroup;
	__u32 period_us;
	__u32 nr_slots;
};

/*
 * Open a set of events with one fd.  Each event needs the same permissions as by KPMU_IOC_OPEN.  The
 * first one that cannot be opened gives the errno, and then none is; with KPMU_SET_PARTIAL only if
 * none can be.  Of the ioctls of events PERF_EVENT_IOC_ENABLE, _DISABLE and _RESET work, with 0 as
 * the argument, for all events.  As the number of fds does not limit these events, their memory
 * counts as locked memory: EPERM if there is too much of it.
 */
#define KPMU_IOC_OPEN_SET	_IOW('K', 0x47, struct kpmu_open_set)

/**
 * struct kpmu_set_head - what read(2) of a set returns first
 * @seq: number of the read, from 1
 * @time: when it began: CLOCK_MONOTONIC, ns
 * @nr_targets: number of targets
 * @nr_events: number of events on each
 *
 * The values follow, those of the first target first: for each event its count as a __u64, with
 * KPMU_SET_TIMES followed by its time enabled and its time counting, in ns.  ENOSPC if the buffer is
 * too small.  With buckets it returns struct kpmu_bucket_head instead.
 */
struct kpmu_set_head {
	__u64 seq;
	__u64 time;
	__u32 nr_targets;
	__u32 nr_events;
};

/**
 * struct kpmu_set_page - the first page of the mapped snapshots
 * @head: number of snapshots taken.  Snapshot number n, from 1, is in slot (n - 1) % @nr_slots
 * @tail: written by user space: poll(2) reports POLLIN while it differs from @head
 * @missed: periods in which no snapshot was taken because the previous one was not complete
 * @nr_slots: number of slots
 * @slot_size: size of a slot in bytes
 * @first: offset of slot 0 from the beginning of the mapping
 * @reserved: 0
 *
 * A slot contains what read(2) returns, with the snapshot's number as @seq.  That is 0 while the slot
 * is written; a copy is valid if @seq is the same before and after.
 */
struct kpmu_set_page {
	__u64 head;
	__u64 tail;
	__u64 missed;
	__u32 nr_slots;
	__u32 slot_size;
	__u32 first;
	__u32 reserved;
};

/* The count of an event that was not opened, or that is pinned and in error */
#define KPMU_SET_NONE	(~0ULL)

/**
 * struct kpmu_bucket_head - what read(2) of a set with buckets returns first
 * @seq: number of the read, from 1
 * @time: when it began: CLOCK_MONOTONIC, ns
 * @nr_buckets: number of struct kpmu_bucket that follow, at most the number of buckets of the set
 *	plus 2
 * @nr_events: number of events, each with a value in each bucket
 * @overflows: how often a task was switched in for which no bucket was free
 */
struct kpmu_bucket_head {
	__u64 seq;
	__u64 time;
	__u32 nr_buckets;
	__u32 nr_events;
	__u64 overflows;
};

/**
 * struct kpmu_bucket - what the events of a set counted while tasks of one kind ran
 * @id: by cgroup: the id of the cgroup in the hierarchy of perf_event, as in samples; by task: the
 *	thread id in the pid namespace of the process that opened the set, 0 for the idle tasks and
 *	for tasks that this namespace does not have
 * @start: by task: when it started, CLOCK_BOOTTIME, ns, as tids are reused; 0 for the idle tasks
 *
 * The values follow: for each event the sum over all CPUs of the set as a __u64, with KPMU_SET_TIMES
 * followed by its time enabled and its time counting, in ns.  An event counts nothing on a CPU where
 * it was not opened, or is pinned and in error.
 */
struct kpmu_bucket {
	__u64 id;
	__u64 start;
};

/* The first two buckets of a read: the sums of all others, and what no bucket was free for */
#define KPMU_BUCKET_ALL		(~0ULL)
#define KPMU_BUCKET_OTHER	(~1ULL)

/* Why there is a record in a timeline */
#define KPMU_TIMELINE_START	0	/* the first one of the CPU, or it has come online */
#define KPMU_TIMELINE_SWITCH	1	/* another task runs from now on */
#define KPMU_TIMELINE_PLAN	2	/* an event of the set has, or has lost, a counter */
#define KPMU_TIMELINE_PERIOD	3	/* period_us have passed */
#define KPMU_TIMELINE_CONTROL	4	/* the set was enabled, disabled or reset */

#define KPMU_TIMELINE_RUNS	254	/* the event counts, and needs no counter */
#define KPMU_TIMELINE_WAITS	255	/* it does not count, or does not exist */

/**
 * struct kpmu_timeline_record - the state of a CPU and of the set's events there
 * @time: CLOCK_MONOTONIC, ns
 * @tid: the thread that runs from now on, in the pid namespace of the process that opened the set; 0
 *	for the idle task and for tasks that this namespace does not have
 * @pid: its process, likewise
 * @why: KPMU_TIMELINE_*
 * @reserved: 0
 * @comm: its name, NUL-terminated; empty if the namespace does not have it
 *
 * For each event its count follows, as a __u64, and after all counts for each event a __u8: its counter
 * from now on, by the numbers of struct kpmu_info_counter, or KPMU_TIMELINE_RUNS or _WAITS.
 */
struct kpmu_timeline_record {
	__u64 time;
	__s32 tid;
	__s32 pid;
	__u32 why;
	__u32 reserved;
	char comm[16];
};

/**
 * struct kpmu_timeline_ring - the records of a CPU
 * @head: number of records written
 * @tail: written by user space: number of records that it does not need any more.  While @head is
 *	@tail + nr_slots there is no room, and records are lost
 * @lost: number of records that were lost
 * @cpu: the CPU
 * @reserved: 0
 */
struct kpmu_timeline_ring {
	__u64 head;
	__u64 tail;
	__u64 lost;
	__s32 cpu;
	__u32 reserved[9];
};

/**
 * struct kpmu_timeline_page - the beginning of a mapped timeline
 * @nr_rings: number of struct kpmu_timeline_ring that follow, one for each target
 * @nr_slots: number of records that each has room for
 * @slot_size: size of a record with all that belongs to it, in bytes
 * @nr_events: number of events on each CPU
 * @size: size of all in bytes: map the first page to learn it
 * @first: offset of the first record of the first ring.  Record number n of ring i, both from 0, is
 *	at @first + (i * @nr_slots + n % @nr_slots) * @slot_size
 * @reserved: 0
 *
 * poll(2) reports POLLIN while a ring is half full or more.
 */
struct kpmu_timeline_page {
	__u32 nr_rings;
	__u32 nr_slots;
	__u32 slot_size;
	__u32 nr_events;
	__u64 size;
	__u64 first;
	__u64 reserved[4];
};

#define KPMU_RESERVE_CLOEXEC	(1U << 0)	/* close the fd on exec */

/**
 * struct kpmu_reserve - counters that are set aside
 * @cpus: pointer to @nr_cpus of __s32: the CPUs
 * @nr_cpus: number of CPUs, from 1
 * @counters: the counters on each of them, general and fixed, a bit each, as in struct kpmu_info
 * @flags: KPMU_RESERVE_*
 * @reserved: must be 0
 * @name: a name for KPMU_IOC_INFO, NUL-terminated
 */
struct kpmu_reserve {
	__u64 cpus;
	__u32 nr_cpus;
	__u32 counters;
	__u32 flags;
	__u32 reserved;
	char name[16];
};

/*
 * Set counters aside on CPUs, until the returned fd is closed.  Only events that are opened with
 * KPMU_OPEN_RESERVED and this fd are on them.  Needs CAP_PERFMON, else EACCES.  EBUSY if one of them
 * is reserved already, or if strict groups, or pinned ones that are enabled, could not be on their
 * counters any more.  Other events share the counters that are left.  EINVAL for a bad CPU or counter,
 * and for a CPU that is in the list twice.
 */
#define KPMU_IOC_RESERVE	_IOW('K', 0x48, struct kpmu_reserve)

#define KPMU_HISTOGRAM_IP	0	/* by the address of the instruction */
#define KPMU_HISTOGRAM_CGROUP	1	/* by the cgroup of the task, as struct kpmu_bucket has it */
#define KPMU_HISTOGRAM_TASK	2	/* by the thread id, in the pid namespace of the event's opener */

#define KPMU_HISTOGRAM_CLOEXEC	(1U << 0)	/* close the fd on exec */

#define KPMU_HISTOGRAM_MIN_ORDER	4
#define KPMU_HISTOGRAM_MAX_ORDER	20

/**
 * struct kpmu_open_histogram - a table in which the samples of an event are counted
 * @event: fd of an event that samples, without a ring buffer
 * @by: KPMU_HISTOGRAM_*
 * @order: the table has 2^@order entries: KPMU_HISTOGRAM_MIN_ORDER to KPMU_HISTOGRAM_MAX_ORDER
 * @flags: KPMU_HISTOGRAM_CLOEXEC
 */
struct kpmu_open_histogram {
	__s32 event;
	__u32 by;
	__u32 order;
	__u32 flags;
};

/**
 * struct kpmu_histogram_page - the first page of a mapped histogram
 * @samples: number of samples
 * @overflows: those of them for which no entry was free
 * @by: as in struct kpmu_open_histogram
 * @order: likewise
 * @first: offset of the first struct kpmu_histogram_entry from the beginning of the mapping
 * @entry_size: their size
 */
struct kpmu_histogram_page {
	__u64 samples;
	__u64 overflows;
	__u32 by;
	__u32 order;
	__u32 first;
	__u32 entry_size;
};

/**
 * struct kpmu_histogram_entry - the samples with one key
 * @key: the key; KPMU_HISTOGRAM_FREE if the entry is free
 * @samples: number of samples
 * @events: sum of their periods
 * @reserved: 0
 */
struct kpmu_histogram_entry {
	__u64 key;
	__u64 samples;
	__u64 events;
	__u64 reserved;
};

#define KPMU_HISTOGRAM_FREE	(~0ULL)

/*
 * Count the samples of an event, and of its inherited copies, in a table that the returned fd maps: one
 * shared mapping of @first bytes and all entries, rounded up to whole pages, that is only read.  No
 * record of a sample is written.  Closing the fd and all mappings ends this; an event has at most one
 * histogram in its life.  EBUSY if it has a ring buffer or has had a histogram; mmap(2) of the
 * event fails with EBUSY while it has one.  EBADF if @event is not an event, EINVAL if it does not sample,
 * EPERM if the caller has too much locked memory, as which the table counts.
 */
#define KPMU_IOC_HISTOGRAM	_IOW('K', 0x49, struct kpmu_open_histogram)

#ifdef __cplusplus
static_assert(sizeof(struct kpmu_reserve) == 40, "kpmu ABI");
static_assert(sizeof(struct kpmu_open_histogram) == 16, "kpmu ABI");
static_assert(sizeof(struct kpmu_histogram_page) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_histogram_entry) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_set_event) == 16, "kpmu ABI");
static_assert(sizeof(struct kpmu_open_set) == 48, "kpmu ABI");
static_assert(sizeof(struct kpmu_set_head) == 24, "kpmu ABI");
static_assert(sizeof(struct kpmu_bucket_head) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_bucket) == 16, "kpmu ABI");
static_assert(sizeof(struct kpmu_info) == KPMU_INFO_SIZE_VER0, "kpmu ABI");
static_assert(sizeof(struct kpmu_info_counter) == KPMU_INFO_COUNTER_SIZE_VER0, "kpmu ABI");
static_assert(sizeof(struct kpmu_ask_info) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_explain_event) == KPMU_EXPLAIN_SIZE_VER2, "kpmu ABI");
static_assert(sizeof(struct kpmu_explain) == 24, "kpmu ABI");
static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#else
_Static_assert(sizeof(struct kpmu_reserve) == 40, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open_histogram) == 16, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_histogram_page) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_histogram_entry) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_set_event) == 16, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open_set) == 48, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_set_head) == 24, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_bucket_head) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_bucket) == 16, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_info) == KPMU_INFO_SIZE_VER0, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_info_counter) == KPMU_INFO_COUNTER_SIZE_VER0, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_ask_info) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_explain_event) == KPMU_EXPLAIN_SIZE_VER2, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_explain) == 24, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#endif

#endif
