// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault injection by /proc/self/fail-nth, if supported by the kernel: in each run, a different
 * allocation or user access of an operation fails.  The operation then fails with ENOMEM or EFAULT,
 * or succeeds without the memory.  No fd is leaked, and the same operation works afterwards.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "event.h"
#include "harness.h"

#define MOST	200	/* above the number of fault points of any operation */
#define ABSENT	3	/* exit status: this PMU has no such events */

static const char *const knobs[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

static void knob(const char *dir, const char *name, const char *val)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", dir, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return;
	if (write(fd, val, strlen(val)) < 0)
		perror(path);
	close(fd);
}

/* Let every kind of allocation fail, and do not log each failure */
static void set_up(void)
{
	if (access("/proc/self/fail-nth", W_OK))
		SKIP(return, "this kernel injects no faults");
	for (int i = 0; i < ARRAY_SIZE(knobs); i++) {
		knob(knobs[i], "verbose", "0");
		knob(knobs[i], "ignore-gfp-wait", "N");
		knob(knobs[i], "ignore-gfp-highmem", "N");
		knob(knobs[i], "min-order", "0");
	}
}

static int nth_fd;

static bool set_nth(int n)
{
	char buf[16];
	int len = snprintf(buf, sizeof(buf), "%d", n);

	return pwrite(nth_fd, buf, len, 0) == len;
}

static void arm(int n)
{
	if (!set_nth(n)) {
		perror("fail-nth");
		exit(1);
	}
}

/* Did the fault hit the operation?  If not, it may hit one of the accesses to fail-nth here. */
static bool disarm(void)
{
	char buf[16] = "";

	if (pread(nth_fd, buf, sizeof(buf) - 1, 0) < 0)
		return false;
	if (!set_nth(0))
		arm(0);
	return atoi(buf) == 0;
}

struct op {
	const char *name;
	int (*prepare)(void);		/* returns the argument of @run */
	int (*run)(int arg);		/* returns an fd or 0; -1 and errno */
	int pause_ms;			/* before each run, for the delayed detaching of hooks */
};

static struct perf_event_attr insns(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	return a;
}

static int nothing(void)
{
	return -1;
}

static int open_precise(int arg)
{
	struct perf_event_attr a = insns();

	a.precise_ip = 1;
	a.sample_period = 100000;
	return ev_open(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* There may be no precise events.  If there are, their buffers are free again. */
static int precise_event(void)
{
	int fd = open_precise(-1);

	if (fd < 0) {
		printf("# no precise events: %s\n", strerror(errno));
		exit(errno == EOPNOTSUPP ? ABSENT : 1);
	}
	close(fd);
	return -1;
}

static int event(void)
{
	return ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
}

/* More events than a CPU keeps the memory of (kernel/event/ref.c): the next one's is allocated */
static int many_events(void)
{
	int i;

	pin_to(0);
	for (i = 0; i < 16; i++)
		ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, -1);
	return -1;
}

static int open_self(int group)
{
	struct perf_event_attr a = insns();

	return ev_open(&a, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static int open_cpu(int arg)
{
	struct perf_event_attr a = insns();

	return ev_open(&a, -1, nr_cpus() - 1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_parent(int arg)
{
	struct perf_event_attr a = insns();

	return ev_open(&a, getppid(), -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int switch_on(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

static int ask_id(int fd)
{
	uint64_t id;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id);
}

static int read_it(int fd)
{
	uint64_t v[8];

	return read(fd, v, sizeof(v)) < 0 ? -1 : 0;
}

static int map_pages(int fd, int pages)
{
	size_t len = (1 + pages) * 4096;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	volatile char *c = p;
	int i;

	if (p == MAP_FAILED)
		return -1;
	for (i = 0; i <= pages; i++)
		(void)c[i * 4096];
	munmap(p, len);
	return 0;
}

/* One page; pages that may be contiguous */
static int map_one(int fd)
{
	return map_pages(fd, 1);
}

static int map_many(int fd)
{
	return map_pages(fd, 16);
}

static int open_strict(int arg)
{
	struct perf_event_attr a = insns();

	return ev_open(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC | KPMU_OPEN_STRICT);
}

static int reserve(int arg)
{
	int32_t cpus[] = { 0, nr_cpus() - 1 };
	struct kpmu_reserve args = {
		.cpus = (uintptr_t)cpus, .nr_cpus = nr_cpus() > 1 ? 2 : 1, .counters = 1,
		.flags = KPMU_RESERVE_CLOEXEC, .name = "faults",
	};

	return ioctl(ev_device(), KPMU_IOC_RESERVE, &args);
}

/* An event has one histogram in its life */
static int open_histogram(int arg)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	struct kpmu_open_histogram args = { .order = 8, .flags = KPMU_HISTOGRAM_CLOEXEC };
	int fd, err;

	a.sample_period = 1000000;
	args.event = ev_open(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (args.event < 0)
		return -1;
	fd = ioctl(ev_device(), KPMU_IOC_HISTOGRAM, &args);
	err = errno;
	close(args.event);
	errno = err;
	return fd;
}

/* @slots: snapshots, or with buckets their number */
static int open_set_with(uint32_t flags, uint32_t period, uint32_t slots)
{
	struct perf_event_attr a = insns();
	struct kpmu_set_event ev[2] = {
		{ .attr = (uintptr_t)&a, .group = -1 }, { .attr = (uintptr_t)&a, .group = 0 },
	};
	int32_t cpus[] = { 0, nr_cpus() - 1 };
	struct kpmu_open_set args = {
		.events = (uintptr_t)ev, .targets = (uintptr_t)cpus, .nr_events = 2,
		.nr_targets = nr_cpus() > 1 ? 2 : 1, .flags = flags | KPMU_SET_CLOEXEC,
		.period_us = period, .nr_slots = slots,
	};

	return ioctl(ev_device(), KPMU_IOC_OPEN_SET, &args);
}

static int open_snapshots(int arg)
{
	return open_set_with(0, 100000, 4);
}

static int open_buckets(int arg)
{
	return open_set_with(KPMU_SET_BY_TASK, 0, 64);
}

static int open_timeline(int arg)
{
	return open_set_with(KPMU_SET_TIMELINE, 1000, 64);
}

/* In a child process.  Exit status: 0 if the fault did not hit, 2 if it did, 1 on an error */
static void one(const struct op *op, int n)
{
	int arg = op->prepare(), fds, got, err;
	bool hit;

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	fds = open_fds();
	arm(n);
	got = op->run(arg);
	err = errno;
	hit = disarm();
	if (got < 0 && (!hit || (err != ENOMEM && err != EFAULT))) {
		printf("# %s, place %d: %s\n", op->name, n, strerror(err));
		exit(1);
	}
	if (got > 0)
		close(got);
	if (open_fds() != fds) {
		printf("# %s, place %d: %d fds, were %d\n", op->name, n,
		       open_fds(), fds);
		exit(1);
	}
	/* The same operation without a fault */
	got = op->run(arg);
	if (got < 0) {
		printf("# %s after a fault at %d: %s\n", op->name, n, strerror(errno));
		exit(1);
	}
	exit(hit ? 2 : 0);
}

static int count_works(void)
{
	int fd = event();
	uint64_t v;

	work_counted(fd, 1000, 0);
	v = ev_count(fd);
	close(fd);
	return v >= WORK_INSNS(1000) && v <= WORK_INSNS(1000) + SLACK(4000);
}

/* More switches than those after which the unused hook is detached (kernel/compat/detach.h) */
static void let_hooks_go(void)
{
	int i;

	for (i = 0; i < 1200; i++)
		usleep(1);
}

static void at_every_place(struct __test *_metadata, const struct op *op)
{
	int n, status = -1;
	pid_t pid;

	set_up();
	for (n = 1; n < MOST; n++) {
		if (op->pause_ms)
			let_hooks_go();
		usleep(op->pause_ms * 1000);
		pid = fork();
		if (!pid)
			one(op, n);
		waitpid(pid, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
			break;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == ABSENT)
		SKIP(return, "this PMU has no such events");
	printf("# %s: %d places\n", op->name, n - 1);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(count_works());
}

#define FAULT_TEST(tname, prepare, run, pause)				\
TEST_TIMEOUT(tname, 150)						\
{									\
	static const struct op op = { #tname, prepare, run, pause };	\
									\
	at_every_place(_metadata, &op);					\
}

FAULT_TEST(open_on_self, nothing, open_self, 0)
/* By then hooks are detached, counters released and contexts freed: the open sets all up again */
FAULT_TEST(first_open, nothing, open_self, 2500)
/* It also allocates the buffers of all CPUs */
FAULT_TEST(first_precise_open, precise_event, open_precise, 2500)
FAULT_TEST(open_after_many, many_events, open_self, 0)
FAULT_TEST(open_member, event, open_self, 0)
FAULT_TEST(open_on_cpu, nothing, open_cpu, 0)
FAULT_TEST(open_on_another, nothing, open_parent, 0)
FAULT_TEST(enable, event, switch_on, 0)
FAULT_TEST(id, event, ask_id, 0)
FAULT_TEST(read, event, read_it, 0)
FAULT_TEST(strict, nothing, open_strict, 0)
FAULT_TEST(reservation, nothing, reserve, 0)
FAULT_TEST(histogram, nothing, open_histogram, 0)
FAULT_TEST(set_with_snapshots, nothing, open_snapshots, 0)
FAULT_TEST(set_with_buckets, nothing, open_buckets, 0)
FAULT_TEST(set_with_timeline, nothing, open_timeline, 0)
FAULT_TEST(map_one_page, event, map_one, 0)
FAULT_TEST(map_16_pages, event, map_many, 0)

TEST_HARNESS_MAIN
