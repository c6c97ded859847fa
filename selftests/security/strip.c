// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last mapping of a ring buffer is removed, under mmap_lock, while other events that write to
 * it are closed.  Their native perf events must not be released under mmap_lock: unregistering a
 * uprobe takes that lock and would deadlock.  For breakpoints, lockdep reports the lock inversion.
 */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define NR	4

#define STEPS	32
#define OVER	-1

/*
 * Both threads start a round together.  The closer busy-waits for @started to change, as a wakeup
 * would take longer than the race window.  Then one of the threads waits for a fraction of the
 * duration of the other's last call.  Over the rounds the fraction goes from 0 to almost 1.
 */
static int fds[NR];
static _Atomic int started, done;
static uint64_t wait_to_close, close_took, unmap_took;
static volatile char target[64];

static void wait_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (ns && now_ns() < end)
		;
}

static void *closer(void *unused)
{
	int i, n, last = 0;
	uint64_t begin;

	pin_to(1);
	for (;; last = n) {
		while ((n = started) == last)
			;
		if (n == OVER)
			return unused;
		wait_ns(wait_to_close);
		begin = now_ns();
		for (i = NR - 1; i >= 0; i--)
			close(fds[i]);
		close_took = now_ns() - begin;
		done = n;
	}
}

/* Unmap the ring while the closer closes the events; @n selects which side waits, and how long */
static void meet(void *map, int n)
{
	uint64_t step = n / 2 % STEPS, begin;

	wait_to_close = n % 2 ? unmap_took * step / STEPS : 0;
	started = n;
	wait_ns(n % 2 ? 0 : close_took * step / STEPS);
	begin = now_ns();
	munmap(map, 4096);
	unmap_took = now_ns() - begin;
	while (done != n)
		;
}

__attribute__((noinline)) static void probed(void)
{
	asm volatile("nop");
}

static struct perf_event_attr a_breakpoint(int i)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_BREAKPOINT, 0);

	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (unsigned long)&target[i];
	a.bp_len = 1;
	a.sample_period = 1;
	return a;
}

static struct perf_event_attr a_uprobe(int i)
{
	static char path[] = "/proc/self/exe", real[256];
	struct perf_event_attr a = ev_attr(pmu_type("uprobe"), 0);

	if (!real[0] && readlink(path, real, sizeof(real) - 1) < 0)
		exit(1);
	a.uprobe_path = (uintptr_t)real;
	a.probe_offset = file_offset(probed);
	a.sample_period = 1;
	return a;
}

/*
 * Native perf copies to user memory with the mutex of its context held.  This read(2) faults on
 * its buffer, so lockdep learns the order of that mutex and mmap_lock.
 */
static void teach(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_TASK_CLOCK);
	int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	uint64_t *fresh = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fd < 0 || read(fd, fresh, 8) != 8)
		printf("# lockdep learns nothing\n");
	munmap(fresh, 4096);
	close(fd);
}

static void race(struct __test *_metadata, struct perf_event_attr (*attr)(int))
{
	struct perf_event_attr dummy = ev_attr(PERF_TYPE_SOFTWARE,
					       PERF_COUNT_SW_DUMMY);
	uint64_t end = now_ns() + 3000000000ull;
	pthread_t t;
	void *map;
	int i, n, fd;

	if (nr_cpus() < 2)
		SKIP(return, "needs two CPUs");
	teach();
	pin_to(0);
	started = done = 0;
	ASSERT_EQ(pthread_create(&t, NULL, closer, NULL), 0);
	for (n = 1; now_ns() < end; n++) {
		fd = ev_must(&dummy, 0, -1, -1, 0);
		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		ASSERT_NE(map, MAP_FAILED);
		for (i = 0; i < NR; i++) {
			struct perf_event_attr a = attr(i);

			fds[i] = ev_must(&a, 0, -1, -1, 0);
			ASSERT_EQ(ioctl(fds[i], PERF_EVENT_IOC_SET_OUTPUT, fd), 0);
		}
		meet(map, n);
		close(fd);
	}
	started = OVER;
	pthread_join(t, NULL);
	TH_LOG("%d times", n);
}

TEST(breakpoints)
{
	race(_metadata, a_breakpoint);
}

TEST(uprobes)
{
	probed();
	race(_metadata, a_uprobe);
}

TEST_HARNESS_MAIN
