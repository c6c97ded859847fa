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

#ifdef __cplusplus
static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
#else
_Static_assert(sizeof(struct kpmu_open) == 32, "kpmu ABI");
#endif

#endif
