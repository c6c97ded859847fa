// SPDX-License-Identifier: GPL-2.0-only
/* The arguments of the open call and their effects. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define NEVER	(1u << 31)	/* not a flag of the open call */

static struct perf_event_attr insns(void)
{
	return ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
}

TEST(returns_a_new_fd)
{
	ROWS("O-01 O-17");
	struct perf_event_attr a = insns();
	int before = open_fds(), fd = ev_must(&a, 0, -1, -1, 0);

	EXPECT_GT(fd, 2);
	EXPECT_EQ(open_fds(), before + 1);
	EXPECT_EQ(close(fd), 0);
	EXPECT_EQ(open_fds(), before);
	/* The lowest free fd, as usual */
	EXPECT_EQ(ev_must(&a, 0, -1, -1, 0), fd);
}

/* Fail at every step of the open, from the attr to the group */
TEST(failure_leaks_no_fd)
{
	ROWS("O-01");
	struct perf_event_attr a = insns(), b;
	int lead = ev_must(&a, 0, -1, -1, 0);
	int member = ev_must(&a, 0, -1, lead, 0);
	int pipes[2], before;

	ASSERT_EQ(pipe(pipes), 0);
	before = open_fds();
	for (int i = 0; i < 50; i++) {
		EXPECT_EQ(ev_errno(NULL, 0, -1, -1, 0), EFAULT);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, NEVER), EINVAL);
		EXPECT_EQ(ev_errno(&a, 0, -1, 999, 0), EBADF);
		EXPECT_EQ(ev_errno(&a, 0, -1, pipes[0], 0), EBADF);
		EXPECT_EQ(ev_errno(&a, -2, -1, -1, 0), ESRCH);
		EXPECT_EQ(ev_errno(&a, 0, 9999, -1, 0), EINVAL);
		EXPECT_EQ(ev_errno(&a, -1, -1, -1, 0), EINVAL);
		EXPECT_EQ(ev_errno(&a, 0, -1, member, 0), EINVAL);
		EXPECT_EQ(ev_errno(&a, 0, 0, lead, 0), EINVAL);
		b = a;
		b.type = 9999;
		EXPECT_EQ(ev_errno(&b, 0, -1, -1, 0), ENOENT);
		b = a;
		b.config = 99;
		EXPECT_EQ(ev_errno(&b, 0, -1, -1, 0), EINVAL);
		b = a;
		b.pinned = 1;
		EXPECT_EQ(ev_errno(&b, 0, -1, lead, 0), EINVAL);
		b = a;
		b.precise_ip = 3;
		EXPECT_EQ(ev_errno(&b, 0, -1, -1, 0), EOPNOTSUPP);
	}
	EXPECT_EQ(open_fds(), before);
}

TEST(failure_changes_nothing)
{
	ROWS("O-01");
	struct perf_event_attr a = insns(), b = insns();
	int lead;

	a.read_format = PERF_FORMAT_GROUP;
	lead = ev_must(&a, 0, -1, -1, 0);
	b.pinned = 1;
	EXPECT_EQ(ev_errno(&b, 0, -1, lead, 0), EINVAL);
	b.pinned = 0;
	b.exclusive = 1;
	EXPECT_EQ(ev_errno(&b, 0, -1, lead, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, 0, lead, 0), EINVAL);
	EXPECT_EQ(ev_count(lead), 1);	/* nr: the group has only its leader */
}

TEST(distinct_events)
{
	ROWS("O-02 F-12");
	struct perf_event_attr a = insns();
	int a_fd = ev_must(&a, 0, -1, -1, 0), b_fd = ev_must(&a, 0, -1, -1, 0);
	uint64_t a_id = ev_id(a_fd), b_id = ev_id(b_fd);

	EXPECT_NE(a_id, b_id);
	EXPECT_NE(a_id, 0);
	work_counted(a_fd, 1000, 0);
	EXPECT_GE(ev_count(a_fd), WORK_INSNS(1000));
	EXPECT_EQ(ev_count(b_fd), 0);
	/* Ids are not reused */
	close(b_fd);
	b_fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_NE(ev_id(b_fd), b_id);
	EXPECT_NE(ev_id(b_fd), a_id);
}

TEST(a_hundred_events)
{
	ROWS("O-04");
	struct perf_event_attr a = insns();
	int fd[100];

	for (int i = 0; i < 100; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	for (int i = 0; i < 100; i++)
		work_counted(fd[i], 1000 + i, 0);
	for (int i = 0; i < 100; i++) {
		EXPECT_GE(ev_count(fd[i]), WORK_INSNS(1000 + i));
		EXPECT_LE(ev_count(fd[i]), WORK_INSNS(1000 + i) +
					   SLACK(WORK_INSNS(1000 + i)));
	}
}

TEST(up_to_the_fd_limit)
{
	ROWS("E-26 O-04");
	struct perf_event_attr a = insns();
	struct rlimit limit = { 64, 64 };
	int fd[64], n = 0, err;

	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (n < 64 && (fd[n] = ev_open(&a, 0, -1, -1, 0)) >= 0)
		n++;
	err = errno;
	EXPECT_EQ(err, EMFILE);
	EXPECT_GT(n, 32);
	EXPECT_LT(n, 64);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EMFILE);
	close(fd[0]);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	work_counted(fd[1], 1000, 0);
	EXPECT_GE(ev_count(fd[1]), WORK_INSNS(1000));
}

/* The attr is checked before an fd is allocated: EINVAL, not EMFILE */
TEST(attr_checked_before_fd)
{
	ROWS("E-26");
	struct perf_event_attr a = insns();
	struct rlimit limit = { 0, 64 };

	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EMFILE);
	a.read_format = 1 << 20;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

TEST(flags_unknown)
{
	ROWS("E-18 O-17");
	struct perf_event_attr a = insns();
	int bits = route_is_native() ? 32 : 64;

	for (int bit = 4; bit < bits; bit++)
		if (1ULL << bit != KPMU_OPEN_STRICT && 1ULL << bit != KPMU_OPEN_RESERVED)
			EXPECT_EQ(ev_errno(&a, 0, -1, -1, 1UL << bit), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC), 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, PERF_FLAG_FD_NO_GROUP), 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, PERF_FLAG_FD_NO_GROUP |
					  PERF_FLAG_FD_CLOEXEC), 0);
}

TEST(no_group)
{
	ROWS("O-18");
	struct perf_event_attr a = insns();
	uint64_t v[8];
	int lead, alone, member;

	a.read_format = PERF_FORMAT_GROUP;
	lead = ev_must(&a, 0, -1, -1, 0);
	alone = ev_must(&a, 0, -1, lead, PERF_FLAG_FD_NO_GROUP);
	EXPECT_EQ(read(lead, v, sizeof(v)), 16);
	EXPECT_EQ(v[0], 1);
	EXPECT_EQ(read(alone, v, sizeof(v)), 16);
	EXPECT_EQ(v[0], 1);
	/* It is a leader: not a member of the other group, and may have members */
	work_counted(alone, 1000, 0);
	EXPECT_EQ(read(alone, v, sizeof(v)), 16);
	EXPECT_GE(v[1], WORK_INSNS(1000));
	EXPECT_EQ(read(lead, v, sizeof(v)), 16);
	EXPECT_EQ(v[1], 0);
	member = ev_must(&a, 0, -1, alone, 0);
	EXPECT_EQ(read(member, v, sizeof(v)), 24);
	EXPECT_EQ(v[0], 2);
}

/* With FD_NO_GROUP, group_fd must still be an event, but may be for a different CPU or task */
TEST(no_group_checks_group_fd)
{
	ROWS("O-18 E-09");
	struct perf_event_attr a = insns();
	int lead = ev_must(&a, 0, 0, -1, 0), other, pinned;

	EXPECT_EQ(ev_errno(&a, 0, -1, 999, PERF_FLAG_FD_NO_GROUP), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, 1, PERF_FLAG_FD_NO_GROUP), EBADF);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, PERF_FLAG_FD_NO_GROUP), 0);
	other = ev_must(&a, getppid(), -1, -1, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, other, PERF_FLAG_FD_NO_GROUP), 0);
	/* The new event is a leader, so it may be pinned */
	a.pinned = 1;
	pinned = ev_must(&a, 0, -1, lead, PERF_FLAG_FD_NO_GROUP);
	EXPECT_GE(pinned, 0);
}

TEST(cloexec)
{
	ROWS("O-22");
	struct perf_event_attr a = insns();
	int without = ev_must(&a, 0, -1, -1, 0);
	int with = ev_must(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	EXPECT_EQ(fcntl(without, F_GETFD), 0);
	EXPECT_EQ(fcntl(with, F_GETFD), FD_CLOEXEC);
	EXPECT_EQ(fcntl(with, F_SETFD, 0), 0);
	EXPECT_EQ(fcntl(with, F_GETFD), 0);
}

/* For events_after_exec(), which executes this program: exit with the number of event fds */
static void __attribute__((constructor)) count_own_events(void)
{
	char path[32], text[64];
	int fd, n = 0;

	if (!getenv("KPMU_TEST_COUNT_EVENTS"))
		return;
	for (fd = 0; fd < 240; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memset(text, 0, sizeof(text));
		if (readlink(path, text, sizeof(text) - 1) > 0 &&
		    strstr(text, "_event]"))
			n++;
	}
	_exit(n);
}

/* The number of event fds that are still open after exec */
static int events_after_exec(void)
{
	static char *const args[] = { "self", NULL };
	static char *const env[] = { "KPMU_TEST_COUNT_EVENTS=1",
				     "KPMU_ROUTE=native", NULL };
	int status;
	pid_t pid = vfork();

	if (!pid) {
		execve("/proc/self/exe", args, env);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(cloexec_at_exec)
{
	ROWS("O-22 J-04");
	struct perf_event_attr a = insns();
	int without = ev_must(&a, 0, -1, -1, 0);
	int with = ev_must(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	EXPECT_EQ(events_after_exec(), 1);
	fcntl(with, F_SETFD, 0);
	EXPECT_EQ(events_after_exec(), 2);
	fcntl(without, F_SETFD, FD_CLOEXEC);
	EXPECT_EQ(events_after_exec(), 1);
	/* Both are still open in this process */
	EXPECT_EQ(ev_count(without), 0);
	EXPECT_EQ(ev_count(with), 0);
}

static volatile int stop;

static void *open_and_close(void *unused)
{
	struct perf_event_attr a = insns();
	int fd;

	while (!stop) {
		fd = ev_open(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

/* An fd opened with CLOEXEC is never open after an exec that runs concurrently with the open */
TEST(cloexec_race)
{
	ROWS("O-23");
	uint64_t end = now_ns() + 10000000000ULL;
	pthread_t t[2];
	int i, leaks = 0;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, open_and_close, NULL), 0);
	for (i = 0; i < 30 && (i < 5 || now_ns() < end); i++)
		leaks += events_after_exec();
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(leaks, 0);
}

TEST(enabled_from_the_start)
{
	ROWS("A-16");
	struct perf_event_attr a = insns();
	struct ev_times t;
	int on, off;

	a.read_format = FORMAT_TIMES;
	off = ev_must(&a, 0, -1, -1, 0);
	a.disabled = 0;
	on = ev_must(&a, 0, -1, -1, 0);
	work(100000);
	t = ev_times(on);
	EXPECT_GE(t.value, 400000);
	EXPECT_GT(t.enabled, 0);
	EXPECT_EQ(t.enabled, t.running);
	t = ev_times(off);
	EXPECT_EQ(t.value, 0);
	EXPECT_EQ(t.enabled, 0);
	EXPECT_EQ(t.running, 0);
}

TEST(disable_preserves_count)
{
	ROWS("O-25 I-01 I-02");
	int fd = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	struct ev_times one, two;

	work_counted(fd, 1000, 0);
	one = ev_times(fd);
	EXPECT_GE(one.value, WORK_INSNS(1000));
	work(100000);
	two = ev_times(fd);
	EXPECT_EQ(two.value, one.value);
	EXPECT_EQ(two.enabled, one.enabled);
	EXPECT_EQ(two.running, one.running);
	/* Disabling a disabled event, or enabling an enabled one, has no effect */
	ev_disable(fd);
	ev_enable(fd);
	work_counted(fd, 1000, 0);
	two = ev_times(fd);
	EXPECT_GE(two.value, one.value + WORK_INSNS(1000));
	EXPECT_LE(two.value, one.value + WORK_INSNS(1000) + 1000 + SLACK(WORK_INSNS(1000)));
	EXPECT_GT(two.enabled, one.enabled);
}

TEST(single_is_its_own_group)
{
	ROWS("O-13");
	struct perf_event_attr a = insns();
	uint64_t v[8];
	int fd;

	a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	fd = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(read(fd, v, sizeof(v)), 24);
	EXPECT_EQ(v[0], 1);
	EXPECT_EQ(v[2], ev_id(fd));
}

/* Pinned events that need general counters fill all of these; one more does not fit */
TEST(close_frees_the_counter)
{
	ROWS("O-28");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int gp = counters_general(), fd[16], late, i;
	uint64_t v;

	a.pinned = 1;
	a.disabled = 0;
	for (i = 0; i < gp; i++)
		fd[i] = ev_must(&a, 0, -1, -1, 0);
	late = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(read(late, &v, 8), 0);
	close(fd[1]);
	ev_enable(late);
	work(1000);
	EXPECT_EQ(read(late, &v, 8), 8);
	EXPECT_GE(v, 1000);
}

TEST(paranoid_file_exists)
{
	ROWS("O-31 Y-01 Y-18");
	struct stat st;

	EXPECT_EQ(stat("/proc/sys/kernel/perf_event_paranoid", &st), 0);
	EXPECT_EQ(stat(paranoid_file(), &st), 0);
	EXPECT_EQ(st.st_mode & 07777, 0644);
}

TEST(paranoid_default)
{
	ROWS("N-15");
	if (route_is_native())
		SKIP(return, "Debian has a default of its own");
	/* Tests that change the level run after this one, or restore it */
	EXPECT_EQ(read_long(paranoid_file()), 2);
}

TEST(pid_of_another_namespace)
{
	ROWS("O-12");
	struct perf_event_attr a = insns();
	pid_t outside = getpid(), pid;
	int status, fd;

	if (unshare(CLONE_NEWPID))
		SKIP(return, "no pid namespaces");
	pid = fork();
	if (!pid) {
		/* The child is pid 1 in its namespace, where the parent's pid does not exist */
		if (getpid() != 1)
			_exit(1);
		if (ev_errno(&a, outside, -1, -1, 0) != ESRCH)
			_exit(2);
		fd = ev_open(&a, 1, -1, -1, 0);
		if (fd < 0)
			_exit(3);
		work_counted(fd, 1000, 0);
		if (ev_count(fd) < WORK_INSNS(1000))
			_exit(4);
		if (ev_errno(&a, 0, -1, -1, 0))
			_exit(5);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(open_by_own_pid)
{
	ROWS("O-05 O-09");
	struct perf_event_attr a = insns();
	int fd = ev_must(&a, syscall(SYS_gettid), -1, -1, 0);

	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
}

TEST(kernel_thread)
{
	struct perf_event_attr a = insns();
	int fd;

	a.disabled = 0;
	fd = ev_must(&a, 2, -1, -1, 0);		/* kthreadd */
	EXPECT_EQ(ev_count(fd), 0);		/* never runs in user mode */
}

TEST_HARNESS_MAIN
