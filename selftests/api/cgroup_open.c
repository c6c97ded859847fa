// SPDX-License-Identifier: GPL-2.0-only
/* Opening cgroup events: arguments, errors, permissions. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>

#include "attr.h"
#include "cgroup_tests.h"

#define CG	PERF_FLAG_PID_CGROUP

TEST(any_cpu)
{
	ROWS("G-03 O-21");
	struct perf_event_attr a = insns();
	struct cgroup top;

	cgroup_v2();
	cgroup_root(&top);
	EXPECT_EQ(ev_errno(&a, top.fd, -1, -1, CG), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, CG), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, -1, -1, CG), EINVAL);
	EXPECT_EQ(ev_errno(&a, top.fd, 0, -1, CG), 0);
	EXPECT_EQ(ev_errno(&a, top.fd, 4095, -1, CG), EINVAL);
}

TEST(no_group)
{
	ROWS("G-08 G-02");
	struct perf_event_attr a = insns();
	struct cgroup top;
	int file, dir;
	char path[200];

	cgroup_v2();
	cgroup_root(&top);
	EXPECT_EQ(ev_errno(&a, 1000, 0, -1, CG), EBADF);
	EXPECT_EQ(ev_errno(&a, -2, 0, -1, CG), EBADF);
	dir = open("/tmp", O_RDONLY | O_DIRECTORY);
	EXPECT_EQ(ev_errno(&a, dir, 0, -1, CG), EBADF);
	snprintf(path, sizeof(path), "%s/cgroup.procs", top.path);
	file = open(path, O_RDONLY);
	ASSERT_GE(file, 0);
	EXPECT_EQ(ev_errno(&a, file, 0, -1, CG), EBADF);
	close(top.fd);
	EXPECT_EQ(ev_errno(&a, top.fd, 0, -1, CG), EBADF);
}

/* What needs an AUX event as leader, and stacks deeper than the limit, are errors only of a cgroup that exists */
TEST(comes_before_other_errors)
{
	ROWS("G-08");
	struct perf_event_attr a = insns();
	union any_attr x;
	struct cgroup top;

	cgroup_v2();
	cgroup_root(&top);
	a.sample_type = PERF_SAMPLE_CALLCHAIN;
	a.sample_max_stack = 1000;
	EXPECT_EQ(ev_errno(&a, top.fd, 0, -1, CG), EOVERFLOW);
	EXPECT_EQ(ev_errno(&a, -2, 0, -1, CG), EBADF);
	any_init(&x);
	any_put(&x, AT_AUX_SAMPLE_SIZE, 4, 4096);
	EXPECT_EQ(ev_errno(&x.a, top.fd, 0, -1, CG), EINVAL);
	EXPECT_EQ(ev_errno(&x.a, -2, 0, -1, CG), EBADF);
}

TEST(reason)
{
	struct perf_event_attr a = insns();
	struct kpmu_why why = { };

	if (route_is_native())
		SKIP(return, "only kpmu gives reasons");
	cgroup_v2();
	EXPECT_EQ(ev_errno(&a, 1, 0, -1, CG), EBADF);
	ASSERT_EQ(ioctl(ev_device(), KPMU_IOC_WHY, &why), 0);
	EXPECT_TRUE(strstr(why.text, "cgroup"));
}

/* Without PERF_FLAG_PID_CGROUP the argument is a pid, not an fd */
TEST(flag_is_needed)
{
	ROWS("O-21");
	struct perf_event_attr a = insns();
	struct cgroup top;
	int fd;

	cgroup_v2();
	cgroup_root(&top);
	/* An fd that is unlikely to be a pid as well */
	fd = fcntl(top.fd, F_DUPFD, 900);
	ASSERT_GE(fd, 900);
	if (kill(fd, 0))
		EXPECT_EQ(ev_errno(&a, fd, 0, -1, 0), ESRCH);
	EXPECT_EQ(ev_errno(&a, fd, 0, -1, CG), 0);
}

/* The event holds its own reference to the cgroup */
TEST(fd_may_close)
{
	ROWS("G-02");
	struct cgroup top, a;
	struct worker w;
	int fd;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	start_in(&w, &a, 1);
	fd = watch(&a, 1);
	close(a.fd);
	SEES_ALL(fd, &w);
}

TEST(opened_by_path_only)
{
	ROWS("G-08");
	struct perf_event_attr a = insns();
	int fd;

	cgroup_v2();
	fd = open("/sys/fs/cgroup", O_PATH | O_DIRECTORY);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(ev_errno(&a, fd, 0, -1, CG), EBADF);
}

static void levels(struct __test *_metadata, int cgroup, int cap, int want)
{
	struct perf_event_attr a = insns();

	if (cap < 0)
		drop_privilege();
	else
		drop_to(cap);
	EXPECT_EQ(ev_errno(&a, cgroup, 0, -1, CG), want);
	/* Same permissions as for a CPU event */
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), want);
}

TEST(as_nobody)
{
	ROWS("G-04 C-15");
	struct cgroup top;

	cgroup_v2();
	cgroup_root(&top);
	set_paranoid(2);
	levels(_metadata, top.fd, -1, EACCES);
}

TEST(as_nobody_at_level_1)
{
	ROWS("G-04 C-15");
	struct cgroup top;

	cgroup_v2();
	cgroup_root(&top);
	set_paranoid(1);
	levels(_metadata, top.fd, -1, EACCES);
	EXPECT_EQ(_metadata->failed, 0);
}

TEST(as_nobody_at_level_0)
{
	ROWS("G-04 C-15");
	struct cgroup top;

	cgroup_v2();
	cgroup_root(&top);
	set_paranoid(0);
	levels(_metadata, top.fd, -1, 0);
}

TEST(with_cap_perfmon)
{
	ROWS("G-04 C-15");
	struct cgroup top;

	cgroup_v2();
	cgroup_root(&top);
	set_paranoid(2);
	levels(_metadata, top.fd, CAP_PERFMON, 0);
}

/* All events of a group must be for the same cgroup */
TEST(mixed_groups)
{
	ROWS("G-03");
	struct perf_event_attr attr = insns();
	struct cgroup top, a, b;
	int leader;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	cgroup_make(&b, &top, "kpmu-b");
	leader = watch(&a, 1);
	EXPECT_EQ(ev_errno(&attr, a.fd, 1, leader, CG), 0);
	EXPECT_EQ(ev_errno(&attr, b.fd, 1, leader, CG), EINVAL);
	EXPECT_EQ(ev_errno(&attr, top.fd, 1, leader, CG), EINVAL);
	EXPECT_EQ(ev_errno(&attr, a.fd, 0, leader, CG), EINVAL);
	EXPECT_EQ(ev_errno(&attr, getpid(), -1, leader, 0), EINVAL);
	close(leader);
	leader = ev_must(&attr, -1, 1, -1, 0);
	EXPECT_EQ(ev_errno(&attr, a.fd, 1, leader, CG), EINVAL);
	close(leader);
	leader = ev_must(&attr, 0, -1, -1, 0);
	EXPECT_EQ(ev_errno(&attr, a.fd, 1, leader, CG), EINVAL);
}

/* PERF_FLAG_PID_CGROUP with other flags */
TEST(cloexec_and_no_group)
{
	ROWS("O-21");
	struct perf_event_attr attr = insns();
	struct cgroup top, a, b;
	int leader, fd;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&a, &top, "kpmu-a");
	cgroup_make(&b, &top, "kpmu-b");
	leader = watch(&a, 1);
	fd = ev_must(&attr, b.fd, 1, leader,
		     CG | PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_CLOEXEC);
	EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(fcntl(leader, F_GETFD), 0);
}

TEST_HARNESS_MAIN
