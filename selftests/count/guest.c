// SPDX-License-Identifier: GPL-2.0-only
/*
 * exclude_host and exclude_guest, without a guest: the host counts as if there were none.  AMD's
 * counters have bits for both, and those of the host only stand still unless SVM is enabled on
 * the CPU.  The tests enable it behind the kernel's back, as KVM would.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define N	100000

#define MSR_EFER	0xc0000080
#define EFER_SVME	(1 << 12)

static uint64_t count(int no_host, int no_guest)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t v;
	int fd;

	a.exclude_host = no_host;
	a.exclude_guest = no_guest;
	fd = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd, N, 0);
	v = ev_count(fd);
	close(fd);
	return v;
}

/* Native perf takes the counters, so kpmu takes them anew for its next event */
static void yield_counters(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);

	close(fd);
}

/* Set EFER.SVME of @cpu; -1 if that is not possible */
static int set_svm(int cpu, int on)
{
	uint64_t efer = 0;
	char path[40];
	int fd, ok;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDWR);
	ok = pread(fd, &efer, 8, MSR_EFER) == 8;
	efer = on ? efer | EFER_SVME : efer & ~EFER_SVME;
	ok = ok && pwrite(fd, &efer, 8, MSR_EFER) == 8;
	close(fd);
	return ok ? 0 : -1;
}

static int svm(int on)
{
	int err = 0;

	for (int i = 0; i < nr_cpus(); i++)
		err |= set_svm(i, on);
	yield_counters();
	return err;
}

#define BETWEEN(v) do {							\
	uint64_t __v = (v), __w = WORK_INSNS(N);			\
									\
	EXPECT_GE(__v, __w);						\
	EXPECT_LE(__v, __w + SLACK(__w));				\
} while (0)

static void all_modes(struct __test *_metadata)
{
	BETWEEN(count(0, 0));
	BETWEEN(count(0, 1));
	EXPECT_EQ(count(1, 0), 0);
	EXPECT_EQ(count(1, 1), 0);
}

TEST(without_svm)
{
	ROWS("A-41");
	all_modes(_metadata);
}

TEST(with_svm)
{
	ROWS("A-41");
	if (!is_amd() || access("/dev/cpu/0/msr", W_OK))
		SKIP(return, "not AMD, or no /dev/cpu/0/msr");
	ASSERT_EQ(svm(1), 0);
	all_modes(_metadata);
	EXPECT_EQ(svm(0), 0);
	all_modes(_metadata);
}

TEST_HARNESS_MAIN
