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
 * @reserved: must be 0
 * @flags: PERF_FLAG_*
 */
struct kpmu_open {
	__u64 attr;
	__s32 pid;
	__s32 cpu;
	__s32 group_fd;
	__u32 reserved;
	__u64 flags;
};

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
};

/* Size of the first published struct kpmu_explain_event */
#define KPMU_EXPLAIN_SIZE_VER0	192
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

#ifdef __cplusplus
static_assert(sizeof(struct kpmu_explain_event) == KPMU_EXPLAIN_SIZE_VER0, "kpmu ABI");
static_assert(sizeof(struct kpmu_explain) == 24, "kpmu ABI");
static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#else
_Static_assert(sizeof(struct kpmu_explain_event) == KPMU_EXPLAIN_SIZE_VER0, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_explain) == 24, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#endif

#endif
