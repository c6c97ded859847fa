/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * kpmu: the device interface.
 *
 * An event fd made here answers what a perf event fd answers: read, ioctl,
 * mmap, poll, fcntl.  Only the way to open one is ours.  The attr is struct
 * perf_event_attr of <linux/perf_event.h>, of whatever size the caller knows.
 */
#ifndef _UAPI_LINUX_KPMU_H
#define _UAPI_LINUX_KPMU_H

#include <linux/ioctl.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#define KPMU_DEVICE	"/dev/kpmu"

/**
 * struct kpmu_open - the arguments of perf_event_open(2), one by one
 * @attr: pointer to a struct perf_event_attr
 * @pid: task to watch: 0 the caller, -1 all; with PERF_FLAG_PID_CGROUP an fd
 * @cpu: CPU to watch, -1 for any
 * @group_fd: fd of the group's leader, -1 for none
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
 * What prctl(PR_TASK_PERF_EVENTS_ENABLE) and _DISABLE do: switch all events that
 * the calling thread has opened.  For kernels where the prctl cannot be seen, and
 * for those who want to leave the kernel's own events alone.
 */
#define KPMU_IOC_TASK_ENABLE	_IO('K', 0x41)
#define KPMU_IOC_TASK_DISABLE	_IO('K', 0x42)

/**
 * struct kpmu_open_for - open an event on behalf of another task
 * @open: as for KPMU_IOC_OPEN.  pid is a number of the other task's pid namespace,
 *	0 itself.  attr, group_fd and, with PERF_FLAG_PID_CGROUP, pid are the
 *	caller's: its memory, its fds
 * @tid: the other task, a thread id of the caller's pid namespace
 * @reserved: must be 0
 */
struct kpmu_open_for {
	struct kpmu_open open;
	__s32 tid;
	__u32 reserved;
};

/*
 * For supervisors who serve perf_event_open(2) to others, by seccomp or ptrace.
 * The new fd is the caller's, to be handed on.  Two checks, both must hold: the caller
 * may attach to the task with ptrace(2), else EPERM; and what perf asks of who
 * opens an event is asked of the task.  So nobody gets by it what one of both could
 * not get without.  ESRCH if there is no such task.
 */
#define KPMU_IOC_OPEN_FOR	_IOW('K', 0x43, struct kpmu_open_for)

#ifdef __cplusplus
static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#else
_Static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#endif

#endif
