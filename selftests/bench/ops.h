/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations that several benchmark programs measure. */
#ifndef KPMU_BENCH_OPS_H
#define KPMU_BENCH_OPS_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"

#define GROUP_FORMAT	(PERF_FORMAT_GROUP | PERF_FORMAT_ID | FORMAT_TIMES)

/* The event that operations use; the attr that op_open() uses */
static int op_fd;
static struct perf_event_attr op_attr;

/* An attr of an event that is initially enabled and counts user and kernel mode */
static inline struct perf_event_attr counting(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = ev_attr(type, config);

	attr.exclude_kernel = 0;
	attr.disabled = 0;
	return attr;
}

static inline void op_read(void)
{
	uint64_t buf[32];

	if (syscall(SYS_read, op_fd, buf, sizeof(buf)) <= 0)
		exit(1);
}

/*
 * Wait until kpmu has released the counters and freed contexts, so that the next open is cold.  Unused
 * probes of kpmu stay attached for longer.
 */
static inline void op_cold(void)
{
	sleep(8);
}

static inline void op_toggle(void)
{
	syscall(SYS_ioctl, op_fd, PERF_EVENT_IOC_DISABLE, 0);
	syscall(SYS_ioctl, op_fd, PERF_EVENT_IOC_ENABLE, 0);
}

static inline void op_toggle_group(void)
{
	syscall(SYS_ioctl, op_fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	syscall(SYS_ioctl, op_fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

/* Clone and exit of a child that shares the memory */
/* The system calls: no handlers of the C library */
static inline void op_fork(void)
{
	pid_t pid = syscall(SYS_fork);

	if (!pid)
		syscall(SYS_exit_group, 0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static inline void op_vfork(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static inline void op_open(void)
{
	close(ev_must(&op_attr, 0, -1, -1, 0));
}

/*
 * Open a group of up to four events on general counters.  Four is a typical number for a
 * metric.  Returns the leader.
 */
static inline int open_group(pid_t pid, int nr, uint64_t format)
{
	static const uint64_t four[] = { RAW_BRANCHES, RAW_LOADS, RAW_STORES, 0x00c5 };
	int leader = -1, fd, i;

	for (i = 0; i < nr; i++) {
		struct perf_event_attr attr = counting(PERF_TYPE_RAW, four[i]);

		attr.read_format = format;
		fd = ev_must(&attr, pid, -1, leader, 0);
		if (leader < 0)
			leader = fd;
	}
	return leader;
}

static inline int open_four(pid_t pid, uint64_t format)
{
	return open_group(pid, 4, format);
}

/* Close all fds from @first on; callers open fewer than 32 */
static inline void close_from(int first)
{
	int fd;

	for (fd = first; fd < first + 32; fd++)
		close(fd);
}

static inline int open_soft(uint64_t config, int leader)
{
	struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE, config);

	return ev_must(&attr, 0, -1, leader, 0);
}

/*
 * work(n) executes slightly more than 4n instructions.  The period of open_sample() is 4n, so one
 * call causes one overflow.  Small, so that a try of many operations fits between two ticks.
 */
#define SAMPLE_ROUNDS	2500
#define RING_BYTES	(65 * 4096)

static inline void op_sample(void)
{
	work(SAMPLE_ROUNDS);
}

/* op_sample() with RBP set to @rbp, for the callchain */
static inline void sample_at(uint64_t rbp)
{
	uint64_t n = SAMPLE_ROUNDS;

	asm volatile("lea -128(%%rsp), %%rsp\n\t"	/* skip the red zone */
		     "push %%rbp\n\t"
		     "mov %1, %%rbp\n\t"
		     "call work\n\t"
		     "pop %%rbp\n\t"
		     "lea 128(%%rsp), %%rsp"
		     : "+D" (n) : "r" (rbp) : "rax", "rcx", "memory", "cc");
}

/* In a program without frame pointers RBP holds an arbitrary value */
static inline void op_no_frame(void)
{
	sample_at(0x12345678);
}

/*
 * Map the ring buffer of @fd.  The mapping is read-only, so the kernel overwrites old records and
 * the buffer never fills up.
 */
static inline void *map_ring(int fd, size_t bytes)
{
	void *ring = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		exit(1);
	return ring;
}

static inline void *open_sample(uint64_t more)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_HARDWARE,
					      PERF_COUNT_HW_INSTRUCTIONS);

	attr.disabled = 0;
	attr.sample_period = 4 * SAMPLE_ROUNDS;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_PERIOD | more;
	op_fd = ev_must(&attr, 0, -1, -1, 0);
	return map_ring(op_fd, RING_BYTES);
}

/*
 * A page for op_fault(), which faults at each call.  It must not be locked: MADV_DONTNEED fails
 * on locked memory.
 */
static char *op_page;

static inline void fault_page(void)
{
	op_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munlock(op_page, 4096);
}

static inline void op_fault(void)
{
	madvise(op_page, 4096, MADV_DONTNEED);
	*(volatile char *)op_page = 1;
}

#define TRACEPOINT "/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id"

#endif
