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

#ifdef __cplusplus
static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#else
_Static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
_Static_assert(sizeof(struct kpmu_open_for) == 40, "kpmu ABI");
#endif

#endif
