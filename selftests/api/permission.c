// SPDX-License-Identifier: GPL-2.0-only
/*
 * Permission to open events: perf_event_paranoid, capabilities, dropped privileges.  Each test sets
 * the level it needs in both files, as the stricter of kpmu's and native perf's level applies.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attr.h"
#include "branch.h"
#include "harness.h"

static struct perf_event_attr user_only(void)
{
	return ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

static struct perf_event_attr with_kernel(void)
{
	struct perf_event_attr a = user_only();

	a.exclude_kernel = 0;
	return a;
}

static int self_errno(struct perf_event_attr a)
{
	return ev_errno(&a, 0, -1, -1, 0);
}

static int cpu_errno(struct perf_event_attr a)
{
	return ev_errno(&a, -1, 0, -1, 0);
}

/* Expected errno of opens: own task, user only and with kernel; CPU 0, user only and with kernel */
static void expect_all(struct __test *_metadata, int su, int sk, int cu, int ck)
{
	EXPECT_EQ(self_errno(user_only()), su);
	EXPECT_EQ(self_errno(with_kernel()), sk);
	EXPECT_EQ(cpu_errno(user_only()), cu);
	EXPECT_EQ(cpu_errno(with_kernel()), ck);
}

TEST(level_3)
{
	ROWS("U-38");
	/* As in Debian's kernels: all opens need CAP_SYS_ADMIN */
	set_paranoid(3);
	expect_all(_metadata, 0, 0, 0, 0);
	drop_privilege();
	expect_all(_metadata, EACCES, EACCES, EACCES, EACCES);
}

TEST(level_2)
{
	ROWS("C-01 C-02 C-04 E-05 E-07 E-08 Y-02");
	set_paranoid(2);
	expect_all(_metadata, 0, 0, 0, 0);
	drop_privilege();
	expect_all(_metadata, 0, EACCES, EACCES, EACCES);
}

TEST(level_1)
{
	ROWS("C-03 C-04 Y-02");
	set_paranoid(1);
	drop_privilege();
	expect_all(_metadata, 0, 0, EACCES, EACCES);
}

TEST(level_0)
{
	ROWS("C-04 Y-02");
	set_paranoid(0);
	drop_privilege();
	expect_all(_metadata, 0, 0, 0, 0);
}

TEST(level_minus_1)
{
	ROWS("C-06 Y-02");
	set_paranoid(-1);
	drop_privilege();
	expect_all(_metadata, 0, 0, 0, 0);
}

/* A change of the level applies to later opens, not to open events */
TEST(level_changes)
{
	ROWS("Y-07");
	struct perf_event_attr a = with_kernel();
	int go[2], back[2], status, fd, level;
	pid_t pid;
	char c;

	ASSERT_EQ(pipe(go), 0);
	ASSERT_EQ(pipe(back), 0);
	set_paranoid(2);
	pid = fork();
	if (!pid) {
		close(back[0]);
		drop_privilege();
		fd = -1;
		for (level = 2; level >= 1; level--) {
			c = ev_errno(&a, 0, -1, -1, 0);
			if (write(back[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
				_exit(1);
		}
		fd = ev_open(&a, 0, -1, -1, 0);
		if (fd < 0)
			_exit(2);
		c = 0;
		if (write(back[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(3);
		/* The level is 2 again, but the open event still works */
		ev_enable(fd);
		work(1000);
		ev_disable(fd);
		_exit(ev_count(fd) < 4000 ||
		      ev_errno(&a, 0, -1, -1, 0) != EACCES);
	}
	ASSERT_EQ(read(back[0], &c, 1), 1);
	EXPECT_EQ(c, EACCES);
	set_paranoid(1);
	ASSERT_EQ(write(go[1], &c, 1), 1);
	ASSERT_EQ(read(back[0], &c, 1), 1);
	EXPECT_EQ(c, 0);
	ASSERT_EQ(write(go[1], &c, 1), 1);
	ASSERT_EQ(read(back[0], &c, 1), 1);
	set_paranoid(2);
	ASSERT_EQ(write(go[1], &c, 1), 1);
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
}

TEST(file_is_for_root)
{
	ROWS("Y-07");
	set_paranoid(2);
	EXPECT_EQ(read_long(paranoid_file()), 2);
	EXPECT_EQ(write_long(paranoid_file(), 1), 0);
	EXPECT_EQ(read_long(paranoid_file()), 1);
	set_paranoid(2);
	drop_privilege();
	EXPECT_EQ(read_long(paranoid_file()), 2);
	EXPECT_EQ(write_long(paranoid_file(), -1), -1);
	EXPECT_EQ(read_long(paranoid_file()), 2);
}

TEST(perfmon_suffices)
{
	ROWS("C-07");
	set_paranoid(2);
	drop_to(CAP_PERFMON);
	expect_all(_metadata, 0, 0, 0, 0);
}

TEST(sys_admin_still_works)
{
	ROWS("C-08");
	set_paranoid(2);
	drop_to(CAP_SYS_ADMIN);
	expect_all(_metadata, 0, 0, 0, 0);
}

TEST(sys_admin_above_level_2)
{
	ROWS("C-08 U-38");
	set_paranoid(3);
	drop_to(CAP_SYS_ADMIN);
	expect_all(_metadata, 0, 0, 0, 0);
}

/* Neither CAP_SYS_PTRACE nor CAP_SYS_RAWIO implies CAP_PERFMON */
TEST(ptrace_is_not_perfmon)
{
	ROWS("C-07 E-05");
	set_paranoid(2);
	drop_to(CAP_SYS_PTRACE);
	expect_all(_metadata, 0, EACCES, EACCES, EACCES);
}

TEST(rawio_is_not_perfmon)
{
	ROWS("C-07 E-05");
	set_paranoid(2);
	drop_to(CAP_SYS_RAWIO);
	expect_all(_metadata, 0, EACCES, EACCES, EACCES);
}

/* The capability must be in the effective set; the permitted set is not enough */
TEST(permitted_is_not_effective)
{
	ROWS("C-07");
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	set_paranoid(2);
	drop_to(CAP_PERFMON);
	data[CAP_PERFMON / 32].permitted = 1u << CAP_PERFMON % 32;
	ASSERT_EQ(syscall(SYS_capset, &head, data), 0);
	expect_all(_metadata, 0, EACCES, EACCES, EACCES);
	data[CAP_PERFMON / 32].effective = 1u << CAP_PERFMON % 32;
	ASSERT_EQ(syscall(SYS_capset, &head, data), 0);
	expect_all(_metadata, 0, 0, 0, 0);
}

/* An fd opened with privilege can be used without privilege */
TEST(fd_outlives_privilege)
{
	ROWS("C-10");
	struct perf_event_attr a = with_kernel(), b = with_kernel();
	int task, cpu;
	uint64_t id, v;

	set_paranoid(2);
	task = ev_must(&a, 0, -1, -1, 0);
	cpu = ev_must(&b, -1, 0, -1, 0);
	drop_privilege();
	work_counted(task, 1000, 0);
	EXPECT_GT(ev_count(task), WORK_INSNS(1000));
	ev_enable(cpu);
	EXPECT_EQ(ioctl(cpu, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ioctl(cpu, PERF_EVENT_IOC_ID, &id), 0);
	ev_disable(cpu);
	EXPECT_EQ(read(cpu, &v, 8), 8);
	/* The fd does not permit further opens, not even of a sibling on the CPU */
	EXPECT_EQ(self_errno(with_kernel()), EACCES);
	b.exclude_kernel = 1;
	EXPECT_EQ(ev_errno(&b, -1, 0, cpu, 0), EACCES);
}

/* A sibling needs the privilege for what it counts itself, whatever its leader counts */
TEST(member_of_a_privileged_group)
{
	ROWS("E-08 C-10");
	struct perf_event_attr a = with_kernel();
	int lead;

	set_paranoid(2);
	lead = ev_must(&a, 0, -1, -1, 0);
	drop_privilege();
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), EACCES);
	a.exclude_kernel = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), 0);
}

/* Namespace records and physical addresses need privilege even for user-only events */
TEST(namespaces_and_phys_addr)
{
	ROWS("U-36");
	union any_attr x;

	set_paranoid(2);
	drop_privilege();
	any_init(&x);
	any_flag(&x, F_NAMESPACES);
	EXPECT_EQ(any_errno(&x), EACCES);
	any_init(&x);
	any_put(&x, AT_SAMPLE_TYPE, 8, 1 << 19);	/* PHYS_ADDR */
	EXPECT_EQ(any_errno(&x), EACCES);
}

TEST(text_poke)
{
	union any_attr x;

	set_paranoid(2);
	drop_privilege();
	any_init(&x);
	any_flag(&x, F_TEXT_POKE);
	EXPECT_EQ(any_errno(&x), EACCES);
}

TEST(callchain_of_the_kernel)
{
	ROWS("U-37");
	union any_attr x;

	set_paranoid(2);
	drop_privilege();
	any_init(&x);
	any_put(&x, AT_SAMPLE_TYPE, 8, PERF_SAMPLE_CALLCHAIN);
	EXPECT_EQ(any_errno(&x), EACCES);
	any_flag(&x, F_EXCLUDE_CALLCHAIN_KERNEL);
	EXPECT_EQ(any_errno(&x), 0);
}

TEST(branches_of_the_kernel)
{
	ROWS("C-12");
	int permitted = branch_depth() ? 0 : EOPNOTSUPP;
	union any_attr x;

	set_paranoid(2);
	drop_privilege();
	any_init(&x);
	any_put(&x, AT_SAMPLE_TYPE, 8, PERF_SAMPLE_BRANCH_STACK);
	any_put(&x, AT_BRANCH, 8, 8 | 2);	/* ANY | KERNEL */
	EXPECT_EQ(any_errno(&x), EACCES);
	any_put(&x, AT_BRANCH, 8, 8 | 4);	/* ANY | HV */
	EXPECT_EQ(any_errno(&x), EACCES);
	any_put(&x, AT_BRANCH, 8, 8 | 1);	/* ANY | USER */
	EXPECT_EQ(any_errno(&x), permitted);
	any_put(&x, AT_BRANCH, 8, 8);		/* ANY, level of the event: user */
	EXPECT_EQ(any_errno(&x), permitted);
}

/* Without a level for branches, those of the event apply; the hypervisor needs privilege */
TEST(branches_of_the_hypervisor)
{
	ROWS("C-12");
	union any_attr x;

	set_paranoid(2);
	drop_privilege();
	any_init(&x);
	x.a.exclude_hv = 0;
	any_put(&x, AT_SAMPLE_TYPE, 8, PERF_SAMPLE_BRANCH_STACK);
	any_put(&x, AT_BRANCH, 8, 8);
	EXPECT_EQ(any_errno(&x), EACCES);
}

TEST(records_need_no_privilege)
{
	ROWS("A-52");
	static const uint8_t flags[] = {
		F_CONTEXT_SWITCH, F_KSYMBOL, F_BPF_EVENT, F_CGROUP, F_MMAP,
		F_COMM, F_TASK,
	};
	union any_attr x;

	set_paranoid(2);
	drop_privilege();
	for (int i = 0; i < sizeof(flags); i++) {
		any_init(&x);
		any_flag(&x, flags[i]);
		EXPECT_EQ(any_errno(&x), 0);
	}
}

/*
 * Order of checks: the format of the attr, then the permission to see the kernel, then limits and
 * type.  The arguments cpu and group_fd are checked before the permission for the target.
 */
TEST(order_of_errors)
{
	ROWS("E-44");
	struct perf_event_attr a = with_kernel();

	set_paranoid(2);
	drop_privilege();
	a.read_format = 1 << 20;
	EXPECT_EQ(self_errno(a), EINVAL);
	a = with_kernel();
	a.type = 9999;
	EXPECT_EQ(self_errno(a), EACCES);
	a = with_kernel();
	a.sample_period = 1ULL << 63;
	EXPECT_EQ(self_errno(a), EACCES);
	a = user_only();
	EXPECT_EQ(ev_errno(&a, -1, 9999, -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, 0, 999, 0), EBADF);
}

TEST_HARNESS_MAIN
