// SPDX-License-Identifier: GPL-2.0-only
/* Errors of the open call, and their order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "attr.h"
#include "harness.h"
#include "task.h"

static struct perf_event_attr insns(void)
{
	return ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static int self_errno(struct perf_event_attr *a)
{
	return ev_errno(a, 0, -1, -1, 0);
}

TEST(bad_attr_pointers)
{
	ROWS("E-12");
	static const uintptr_t bad[] = {
		0, 1, 8, 4095, 0x7fffffffffffUL, 0x800000000000UL,
		0xffff800000000000UL, 0xffffffff81000000UL,
		0xfffffffffffff000UL, 0xffffffffffffffffUL,
	};

	for (int i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(self_errno((void *)bad[i]), EFAULT);
}

/* The attr may reach up to the end of mapped memory, but not beyond */
TEST(attr_at_the_end_of_memory)
{
	ROWS("E-12");
	struct perf_event_attr a = insns();
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sizes[] = { 64, 72, 112, 128 }, off;

	ASSERT_EQ(munmap(page + 4096, 4096), 0);
	for (int i = 0; i < 4; i++) {
		a.size = sizes[i];
		memcpy(page + 4096 - sizes[i], &a, sizes[i]);
		EXPECT_EQ(self_errno((void *)(page + 4096 - sizes[i])), 0);
		/* Only the first off bytes are mapped */
		for (off = 8; off < sizes[i]; off += 8) {
			memset(page, 0, 4096);
			memcpy(page + 4096 - off, &a, off);
			EXPECT_EQ(self_errno((void *)(page + 4096 - off)), EFAULT);
		}
	}
	/* EFAULT if attr.size is not mapped; E2BIG if it is, and too small */
	EXPECT_EQ(self_errno((void *)(page + 4096 - 4)), EFAULT);
	EXPECT_EQ(self_errno((void *)(page + 4096 - 6)), EFAULT);
	a.size = 63;
	memcpy(page + 4096 - 8, &a, 8);
	EXPECT_EQ(self_errno((void *)(page + 4096 - 8)), E2BIG);
}

TEST(attr_not_readable)
{
	ROWS("E-12");
	struct perf_event_attr a = insns();
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, &a, sizeof(a));
	ASSERT_EQ(mprotect(page, 4096, PROT_NONE), 0);
	EXPECT_EQ(self_errno(page), EFAULT);
	ASSERT_EQ(mprotect(page, 4096, PROT_READ), 0);
	EXPECT_EQ(self_errno(page), 0);		/* need not be writable */
}

/* The attr need not be aligned */
TEST(attr_unaligned)
{
	struct perf_event_attr a = insns();
	char buf[256];

	for (int off = 0; off < 8; off++) {
		memcpy(buf + off, &a, sizeof(a));
		EXPECT_EQ(self_errno((void *)(buf + off)), 0);
	}
}

TEST(unknown_types)
{
	ROWS("E-28");
	static const uint32_t bad[] = { 9999, 0x7fffffff, 0xffffffff };
	struct perf_event_attr a = insns();

	for (int i = 0; i < ARRAY_SIZE(bad); i++) {
		a.type = bad[i];
		EXPECT_EQ(self_errno(&a), ENOENT);
		a.config = ~0ULL;
		EXPECT_EQ(self_errno(&a), ENOENT);
	}
}

TEST(hardware_config_out_of_range)
{
	ROWS("T-19 E-21");
	static const uint64_t bad[] = { 10, 11, 100, 0xffff, 0x7fffffff };
	struct perf_event_attr a = insns();

	for (int i = 0; i < ARRAY_SIZE(bad); i++) {
		a.config = bad[i];
		EXPECT_EQ(self_errno(&a), EINVAL);
	}
}

TEST(cache_config_out_of_range)
{
	ROWS("T-38");
	static const uint64_t bad[] = {
		7, 8, 0xff, 0x00300, 0x0ff00, 0x20000, 0xff0000, 0x20307,
	};
	struct perf_event_attr a = ev_attr(PERF_TYPE_HW_CACHE, 0);

	for (int i = 0; i < ARRAY_SIZE(bad); i++) {
		a.config = bad[i];
		EXPECT_EQ(self_errno(&a), EINVAL);
	}
}

/* config bits 32 to 63 select a PMU by its type: 4 (PERF_TYPE_RAW) is the core PMU */
TEST(extended_type)
{
	ROWS("U-21");
	struct perf_event_attr a = insns();
	int fd;

	a.config |= 4ULL << 32;
	fd = ev_open(&a, 0, -1, -1, 0);
	EXPECT_GE(fd, 0);
	if (fd >= 0) {
		work_counted(fd, 1000, 0);
		EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
		EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
	}
	a = ev_attr(PERF_TYPE_HW_CACHE, 5 | 4ULL << 32);
	if (cpu_model())
		EXPECT_EQ(self_errno(&a), 0);
}

TEST(raw_undefined_bits)
{
	ROWS("E-20 T-81");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	for (int bit = 32; bit < 64; bit++) {
		/* AMD: bits 11:8 of the event; guest and host, which kpmu sets itself */
		if (is_amd() && (bit < 36 || bit == 40 || bit == 41))
			continue;
		a.config = RAW_BRANCHES | 1ULL << bit;
		EXPECT_EQ(self_errno(&a), EINVAL);
	}
	/* AMD has no pin control */
	a.config = RAW_BRANCHES | 1 << 19;
	if (is_amd())
		EXPECT_EQ(self_errno(&a), EINVAL);
}

TEST(invalid_cpus)
{
	ROWS("E-15");
	static const int bad[] = { -2, -100, INT_MIN, INT_MAX, 8192, 99999 };
	struct perf_event_attr a = insns();

	for (int i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(ev_errno(&a, 0, bad[i], -1, 0), EINVAL);
		EXPECT_EQ(ev_errno(&a, -1, bad[i], -1, 0), EINVAL);
	}
	/* The guest has no possible CPUs beyond those present */
	EXPECT_EQ(ev_errno(&a, 0, nr_cpus(), -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, nr_cpus(), -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, nr_cpus() - 1, -1, 0), 0);
	EXPECT_EQ(ev_errno(&a, -1, nr_cpus() - 1, -1, 0), 0);
}

TEST(neither_task_nor_cpu)
{
	ROWS("O-11 E-23");
	struct perf_event_attr a = insns();

	EXPECT_EQ(ev_errno(&a, -1, -1, -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, -1, -1, PERF_FLAG_FD_NO_GROUP), EINVAL);
}

TEST(offline_cpu)
{
	ROWS("E-27");
	struct perf_event_attr a = insns();
	int last = nr_cpus() - 1, err;

	if (last < 1 || cpu_online(last, 0))
		SKIP(return, "no CPU can be taken offline");
	err = ev_errno(&a, -1, last, -1, 0);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), 0);
	/* An event of a task may be bound to an offline CPU */
	EXPECT_EQ(ev_errno(&a, 0, last, -1, 0), 0);
	ASSERT_EQ(cpu_online(last, 1), 0);
	EXPECT_EQ(err, ENODEV);
	EXPECT_EQ(ev_errno(&a, -1, last, -1, 0), 0);
}

TEST(missing_tasks)
{
	ROWS("E-42");
	struct perf_event_attr a = insns();
	struct worker w;
	pid_t pid;

	EXPECT_EQ(ev_errno(&a, -2, -1, -1, 0), ESRCH);
	EXPECT_EQ(ev_errno(&a, INT_MIN, -1, -1, 0), ESRCH);
	EXPECT_EQ(ev_errno(&a, INT_MAX, -1, -1, 0), ESRCH);
	EXPECT_EQ(ev_errno(&a, -2, 0, -1, 0), ESRCH);
	worker_start(&w);
	pid = w.pid;
	EXPECT_EQ(ev_errno(&a, pid, -1, -1, 0), 0);
	worker_zombie(&w);
	EXPECT_EQ(ev_errno(&a, pid, -1, -1, 0), ESRCH);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(ev_errno(&a, pid, -1, -1, 0), ESRCH);
}

/* Second thread of a process whose first thread exits: the process continues */
static void *lives_on(void *out)
{
	char c = 0;

	if (write(*(int *)out, &c, 1) == 1)
		pause();
	return NULL;
}

TEST(leader_thread_gone)
{
	ROWS("E-42");
	struct perf_event_attr a = insns();
	int p[2], i, err;
	pthread_t t;
	pid_t pid;
	char c;

	ASSERT_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		pthread_create(&t, NULL, lives_on, &p[1]);
		syscall(SYS_exit, 0);
	}
	ASSERT_EQ(read(p[0], &c, 1), 1);
	/* The second thread is running; the first one may still be exiting */
	for (i = 0; i < 1000; i++) {
		err = ev_errno(&a, pid, -1, -1, 0);
		if (err)
			break;
		sched_yield();
	}
	EXPECT_EQ(err, ESRCH);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(group_fd_not_an_event)
{
	ROWS("E-09");
	struct perf_event_attr a = insns();
	int pipes[2], closed, others[8], n = 0;
	int native;

	ASSERT_EQ(pipe(pipes), 0);
	closed = ev_must(&a, 0, -1, -1, 0);
	close(closed);
	others[n++] = 0;
	others[n++] = 1;
	others[n++] = pipes[0];
	others[n++] = pipes[1];
	others[n++] = open("/", O_RDONLY | O_DIRECTORY);
	others[n++] = open("/", O_PATH);
	others[n++] = eventfd(0, 0);
	others[n++] = socket(AF_UNIX, SOCK_STREAM, 0);
	for (int i = 0; i < n; i++)
		EXPECT_EQ(ev_errno(&a, 0, -1, others[i], 0), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, closed, 0), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, 999, 0), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, -2, 0), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, INT_MAX, 0), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, INT_MIN, 0), EBADF);
	if (route_is_native())
		return;
	/* Neither an event of native perf nor /dev/kpmu is an event of kpmu */
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	native = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	ASSERT_GE(native, 0);
	a = insns();
	EXPECT_EQ(ev_errno(&a, 0, -1, native, 0), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, open(KPMU_DEVICE, O_RDWR), 0), EBADF);
}

/* Native perf does not accept an event of kpmu as group_fd */
TEST(our_fd_is_no_native_event)
{
	ROWS("E-09");
	struct perf_event_attr a = insns();
	int ours = ev_must(&a, 0, -1, -1, 0);

	if (route_is_native())
		SKIP(return, "only for kpmu");
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	EXPECT_EQ(syscall(SYS_perf_event_open, &a, 0, -1, ours, 0), -1);
	EXPECT_EQ(errno, EBADF);
}

TEST(group_mixes)
{
	ROWS("E-25 E-19 Q-09");
	struct perf_event_attr a = insns(), b;
	int lead = ev_must(&a, 0, -1, -1, 0);
	int member = ev_must(&a, 0, -1, lead, 0);
	int on_cpu0 = ev_must(&a, 0, 0, -1, 0);
	int cpu0 = ev_must(&a, -1, 0, -1, 0);
	struct worker w;

	worker_start(&w);
	/* A member cannot be a leader */
	EXPECT_EQ(ev_errno(&a, 0, -1, member, 0), EINVAL);
	/* The CPU differs from the leader's; -1 (any CPU) counts as different */
	EXPECT_EQ(ev_errno(&a, 0, 0, lead, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, on_cpu0, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, 1, on_cpu0, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, 1, cpu0, 0), EINVAL);
	/* The task differs from the leader's; -1 (all tasks) counts as different */
	EXPECT_EQ(ev_errno(&a, w.pid, -1, lead, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, w.pid, 0, on_cpu0, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, 0, on_cpu0, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, 0, cpu0, 0), EINVAL);
	/* Only a leader may be pinned or exclusive */
	b = a;
	b.pinned = 1;
	EXPECT_EQ(ev_errno(&b, 0, -1, lead, 0), EINVAL);
	b = a;
	b.exclusive = 1;
	EXPECT_EQ(ev_errno(&b, 0, -1, lead, 0), EINVAL);
	/* Task and CPU are those of the leader */
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), 0);
	EXPECT_EQ(ev_errno(&a, 0, 0, on_cpu0, 0), 0);
	EXPECT_EQ(ev_errno(&a, -1, 0, cpu0, 0), 0);
	worker_stop(&w);
}

/* The caller's pid and 0 are the same task */
TEST(group_by_pid_and_by_0)
{
	struct perf_event_attr a = insns();
	int lead = ev_must(&a, 0, -1, -1, 0);

	EXPECT_EQ(ev_errno(&a, getpid(), -1, lead, 0), 0);
}

TEST(group_clock_mismatch)
{
	ROWS("E-25");
	union any_attr x;
	int lead;

	any_init(&x);
	any_flag(&x, F_USE_CLOCKID);
	any_put(&x, AT_CLOCKID, 4, 1);
	lead = ev_must(&x.a, 0, -1, -1, 0);
	EXPECT_EQ(ev_errno(&x.a, 0, -1, lead, 0), 0);
	any_put(&x, AT_CLOCKID, 4, 4);
	EXPECT_EQ(ev_errno(&x.a, 0, -1, lead, 0), EINVAL);
	any_init(&x);
	EXPECT_EQ(ev_errno(&x.a, 0, -1, lead, 0), EINVAL);
}

TEST(leader_of_a_dead_task)
{
	ROWS("U-15");
	struct perf_event_attr a = insns();
	struct worker w;
	int lead;

	worker_start(&w);
	lead = ev_must(&a, w.pid, -1, -1, 0);
	EXPECT_EQ(ev_errno(&a, w.pid, -1, lead, 0), 0);
	worker_zombie(&w);
	EXPECT_EQ(ev_errno(&a, w.pid, -1, lead, 0), ENODEV);
	waitpid(w.pid, NULL, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), ENODEV);
	/* group_fd is checked before pid, and even with FD_NO_GROUP */
	EXPECT_EQ(ev_errno(&a, w.pid, -1, lead, 0), ENODEV);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, PERF_FLAG_FD_NO_GROUP), ENODEV);
}

TEST(cgroup_mode)
{
	ROWS("E-10 G-03 G-08");
	struct perf_event_attr a = insns();

	EXPECT_EQ(ev_errno(&a, -1, 0, -1, PERF_FLAG_PID_CGROUP), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, PERF_FLAG_PID_CGROUP), EINVAL);
}

/* If several arguments are invalid, the error is that of upstream's first check */
TEST(order_of_checks)
{
	ROWS("E-44");
	struct perf_event_attr a = insns();

	/* Flags first, then the attr, then the other arguments */
	EXPECT_EQ(ev_errno(NULL, -2, 9999, 999, 1 << 10), EINVAL);
	EXPECT_EQ(ev_errno(NULL, -2, 9999, 999, 0), EFAULT);
	a.size = 1;
	EXPECT_EQ(ev_errno(&a, -2, 9999, 999, 0), E2BIG);
	a = insns();
	a.sample_period = 1ULL << 63;
	EXPECT_EQ(ev_errno(&a, -2, 9999, 999, 0), EINVAL);
	a = insns();
	/* group_fd, then pid, then cpu, then the type of the event */
	EXPECT_EQ(ev_errno(&a, -2, 9999, 999, 0), EBADF);
	EXPECT_EQ(ev_errno(&a, -2, 9999, -1, 0), ESRCH);
	a.type = 9999;
	EXPECT_EQ(ev_errno(&a, 0, 9999, -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
}

/* Errors of upstream's pmu->event_init() take precedence over capabilities that the PMU lacks */
/* Of precise_ip for an event that cannot have it.  IBS looks for one that counts the same. */
static int imprecise_errno(void)
{
	return access("/sys/bus/event_source/devices/ibs_op", F_OK) ? EOPNOTSUPP : ENOENT;
}

TEST(event_init_before_capabilities)
{
	ROWS("E-21 E-28 E-29");
	union any_attr x;

	any_init(&x);
	x.a.type = PERF_TYPE_SOFTWARE;
	x.a.config = 12;
	x.a.sample_regs_user = 1ULL << 32;
	EXPECT_EQ(any_errno(&x), ENOENT);
	any_init(&x);
	x.a.type = PERF_TYPE_SOFTWARE;
	x.a.config = 12;
	any_put(&x, AT_AUX_SAMPLE_SIZE, 4, 4096);
	EXPECT_EQ(any_errno(&x), ENOENT);
	x.a.config = PERF_COUNT_SW_DUMMY;
	EXPECT_EQ(any_errno(&x), EINVAL);
	any_init(&x);
	x.a.config = PERF_COUNT_HW_MAX;
	EXPECT_EQ(any_errno(&x), EINVAL);
	x.a.precise_ip = 1;
	EXPECT_EQ(any_errno(&x), imprecise_errno());
}

/* Limits are checked before the permission for physical addresses, after that for the kernel */
TEST(limits_before_data_permission)
{
	ROWS("U-36");
	struct perf_event_attr a = insns();

	set_paranoid(2);
	drop_privilege();
	a.sample_type = PERF_SAMPLE_PHYS_ADDR;
	a.sample_period = 1ULL << 63;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.exclude_kernel = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EACCES);
	a.exclude_kernel = 1;
	a.sample_period = 100;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EACCES);
}

/* On Intel a sample of every branch requires a branch trace store, which is not supported */
TEST(branch_trace)
{
	ROWS("E-34");
	static const struct { uint32_t type; uint64_t config; } same[] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ PERF_TYPE_RAW, RAW_BRANCHES },
		{ PERF_TYPE_RAW, RAW_BRANCHES | 1 << 24 },	/* cmask */
	};
	struct perf_event_attr a;
	int fd, i;

	for (i = 0; i < ARRAY_SIZE(same); i++) {
		a = ev_attr(same[i].type, same[i].config);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
		a.sample_period = 1;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), is_amd() ? 0 : EOPNOTSUPP);
		a.exclude_kernel = 0;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), is_amd() ? 0 : EOPNOTSUPP);
		a.exclude_kernel = 1;
		a.sample_period = 2;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
		a.freq = 1;
		a.sample_freq = 1;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	}
	/* Other events may have a period of 1; an unknown event is EINVAL with any period */
	a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	a.sample_period = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_MAX);
	a.sample_period = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	/* IOC_PERIOD refuses a period of 1, too */
	if (is_amd())
		return;
	a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	a.sample_period = 2;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &(uint64_t){ 1 }), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &(uint64_t){ 3 }), 0);
	close(fd);
	/* BTS does not trace guests: with exclude_host newer kernels use a counter instead */
	a.sample_period = 1;
	a.exclude_host = 1;
	if (!route_is_native())
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

TEST(aux_output)
{
	ROWS("A-57");
	static const struct { uint32_t type; uint64_t config; } counted[] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		{ PERF_TYPE_RAW, RAW_BRANCHES },
	};
	/* aux_output requires a precise event; PMU version 1 supports neither, nor does AMD */
	int imprecise = pmu_version() > 1 && !is_amd() ? EINVAL : EOPNOTSUPP;
	struct perf_event_attr a;
	int i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		a = ev_attr(counted[i].type, counted[i].config);
		a.aux_output = 1;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), imprecise);
		a.sample_period = 1000;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), imprecise);
		a.precise_ip = 1;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), imprecise_errno());
	}
	/* Errors of the event itself take precedence over that of aux_output */
	a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_MAX);
	a.aux_output = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	a.aux_output = 1;
	a.sample_period = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	a.aux_output = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	/* and over that of its clock */
	a.use_clockid = 1;
	a.clockid = 10;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	a.aux_output = 0;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

/* Give up what may exceed fs.file-max, which is 0 now, once all is loaded */
static void without_files(void)
{
	char c;
	int go[2];

	if (pipe(go) || write(go[1], "", 1) != 1 || write_long("/proc/sys/fs/file-max", 0))
		_exit(9);
	set_paranoid(2);
	drop_privilege();
	if (read(go[0], &c, 1) != 1)
		_exit(8);
}

/* The status of a child that runs @fn; -1 if fs.file-max cannot be restored, or a file stays open */
static int with_file_max(int (*fn)(void))
{
	const char *file = "/proc/sys/fs/file-max";
	int fds = open_fds(), status = -1;
	long max = read_long(file);
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	waitpid(pid, &status, 0);
	if (max <= 0 || write_long(file, max) || open_fds() != fds)
		return -1;
	return status;
}

static int no_file(void)
{
	struct perf_event_attr a = insns();

	without_files();
	return ev_errno(&a, 0, -1, -1, 0) == ENFILE ? 0 : 1;
}

TEST(file_max)
{
	EXPECT_EQ(with_file_max(no_file), 0);
}

#define MOST	64

/* A group of all counters but one, and an event on that one: a member more does not fit */
static int no_file_for_a_member(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int fd[MOST], n = 1, i;

	a.read_format = FORMAT_TIMES;
	a.disabled = 0;
	fd[0] = ev_must(&a, 0, -1, -1, 0);
	while (n < MOST) {
		fd[n] = ev_open(&a, 0, -1, fd[0], 0);
		if (fd[n] < 0)
			break;
		n++;
	}
	if (n < 2 || n == MOST)
		return 4;
	close(fd[n - 1]);
	fd[n - 1] = ev_must(&a, 0, -1, -1, 0);
	without_files();
	for (i = 0; i < 20; i++)
		if (ev_errno(&a, 0, -1, fd[0], 0) != ENFILE)
			return 1;
	if (!always_ran(fd[n - 1]))
		return 2;
	for (i = 0; i < n - 1; i++)
		if (!always_ran(fd[i]))
			return 3;
	return 0;
}

TEST(file_max_of_a_member)
{
	EXPECT_EQ(with_file_max(no_file_for_a_member), 0);
}

TEST_HARNESS_MAIN
