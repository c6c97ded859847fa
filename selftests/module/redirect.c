// SPDX-License-Identifier: GPL-2.0-only
/* kernel.kpmu.redirect: kpmu serves perf_event_open(2) itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "run.h"

#define SYSCTL	"/proc/sys/kernel/kpmu/redirect"
#define CGROUP	"/proc/sys/kernel/kpmu/redirect_cgroup"

static void turn(int on)
{
	if (write_long(SYSCTL, on)) {
		perror(SYSCTL);
		exit(1);
	}
}

static int sys_open(struct perf_event_attr *attr, int group_fd)
{
	return syscall(SYS_perf_event_open, attr, 0, -1, group_fd, 0);
}

/* kpmu refuses config bits that PERFEVTSEL does not define; native perf ignores them */
static bool served_by_kpmu(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, 0x10000000000 | RAW_BRANCHES);
	int fd = sys_open(&a, -1), err = errno;

	if (fd >= 0)
		close(fd);
	return fd < 0 && err == EINVAL;
}

/* A process that reports on request whether kpmu serves its opens */
struct asker {
	pid_t pid;
	int to, from;
};

static void asker_start(struct asker *a)
{
	int to[2], from[2];
	char c;

	if (pipe(to) || pipe(from))
		exit(1);
	a->pid = fork();
	if (!a->pid) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1) {
			c = served_by_kpmu();
			if (write(from[1], &c, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	a->to = to[1];
	a->from = from[0];
}

static int ask(struct asker *a)
{
	char c = 2;

	if (write(a->to, &c, 1) != 1 || read(a->from, &c, 1) != 1)
		return -1;
	return c;
}

static void asker_stop(struct asker *a)
{
	/* Processes forked later hold the pipe too, so closing it here causes no EOF */
	kill(a->pid, SIGKILL);
	waitpid(a->pid, NULL, 0);
	close(a->to);
	close(a->from);
}

static int ask_new(void)
{
	struct asker a;
	int ret;

	asker_start(&a);
	ret = ask(&a);
	asker_stop(&a);
	return ret;
}

TEST(off_by_default)
{
	EXPECT_EQ(read_long(SYSCTL), 0);
	EXPECT_EQ(ask_new(), 0);
}

/* The client must print the same as natively; @events: opens that kpmu must have served */
static void as_native(struct __test *_metadata, const char *client, int events)
{
	char *want, *got;
	long before;
	int status;

	want = strdup(run(client, &status));
	turn(1);
	before = opens();
	got = strdup(run(client, &status));
	turn(0);
	EXPECT_EQ(opens() - before, events);
	EXPECT_FALSE(strcmp(want, got));
	if (strcmp(want, got))
		printf("# native:\n%s# redirected:\n%s", want, got);
}

TEST(static_program)
{
	as_native(_metadata, "/tests/client_raw", 3);
}

TEST(dynamic_program)
{
	as_native(_metadata, "/tests/client_libc", 6);
}

/* Its BPF program writes to a bpf-output event, which has to be one of native perf */
TEST(bpf_program)
{
	as_native(_metadata, "/tests/client_bpf ioctl", 1);
	as_native(_metadata, "/tests/client_bpf link", 1);
}

TEST(values)
{
	int status;

	EXPECT_EQ(write_long(SYSCTL, 2), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write_long(SYSCTL, -1), -1);
	EXPECT_EQ(errno, EINVAL);
	turn(1);
	turn(1);
	EXPECT_EQ(read_long(SYSCTL), 1);
	EXPECT_EQ(ask_new(), 1);
	turn(0);
	EXPECT_EQ(read_long(SYSCTL), 0);
	EXPECT_EQ(ask_new(), 0);
	EXPECT_TRUE(strstr(run("cat /sys/kernel/debug/kpmu/caps", &status),
			   "__x64_sys_perf_event_open"));
}

/* Types that kpmu does not have are those of native perf's other PMUs, or of none */
TEST(types_of_other_pmus)
{
	long type = read_long("/sys/bus/event_source/devices/msr/type"), before;
	struct perf_event_attr a = ev_attr(0x7000, 0);
	int status;

	turn(1);
	before = opens();
	if (!fork()) {
		int fd = sys_open(&a, -1);

		if (fd >= 0 || errno != ENOENT)
			_exit(1);
		/* The TSC */
		a = ev_attr(type, 0);
		a.exclude_kernel = 0;
		a.exclude_hv = 0;
		a.disabled = 0;
		if (type < 0)
			_exit(0);
		fd = sys_open(&a, -1);
		_exit(fd < 0 ? 2 : ev_count(fd) ? 0 : 3);
	}
	wait(&status);
	turn(0);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(opens(), before);
	if (type < 0)
		SKIP(return, "native perf has no other PMU here");
}

TEST(root_only)
{
	if (!fork()) {
		drop_privilege();
		_exit(write_long(SYSCTL, 1) == -1 && errno == EACCES &&
		      write_long(CGROUP, 0) == -1 && errno == EACCES);
	}
	int status;

	wait(&status);
	EXPECT_EQ(WEXITSTATUS(status), 1);
	EXPECT_EQ(read_long(SYSCTL), 0);
}

/* A process is served according to the setting at its fork, for its lifetime */
TEST(a_process_keeps_its_route)
{
	struct asker a[6];
	int i, n;

	for (i = 0; i < 6; i++) {
		turn(i & 1);
		asker_start(&a[i]);
		for (n = 0; n <= i; n++)
			EXPECT_EQ(ask(&a[n]), n & 1);
	}
	turn(0);
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(ask(&a[i]), i & 1);
		asker_stop(&a[i]);
	}
}

static void *asks(void *unused)
{
	return (void *)(long)served_by_kpmu();
}

static int ask_thread(void)
{
	void *ret = (void *)-1l;
	pthread_t t;

	if (pthread_create(&t, NULL, asks, NULL) || pthread_join(t, &ret))
		return -1;
	return (long)ret;
}

/* A thread is served like its process, whatever the setting when it was created */
TEST(a_new_thread)
{
	int status;
	pid_t pid;

	turn(1);
	EXPECT_EQ(ask_thread(), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		turn(0);
		_exit(ask_thread());
	}
	waitpid(pid, &status, 0);
	turn(0);
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 1);
}

/* The last 1024 changes are recorded; processes older than these are served natively */
TEST_TIMEOUT(many_switches, 180)
{
	struct asker a[2];
	int i;

	for (i = 0; i < 2; i++) {
		turn(i);
		asker_start(&a[i]);
	}
	for (i = 0; i < 1000; i++)
		turn(i & 1);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(ask(&a[i]), i);
	for (i = 0; i < 51; i++) {
		turn(i & 1);
		EXPECT_EQ(ask(&a[0]), 0);
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(ask(&a[i]), 0);
		asker_stop(&a[i]);
	}
	EXPECT_EQ(ask_new(), 0);
	turn(1);
	EXPECT_EQ(ask_new(), 1);
	turn(0);
}

/* A leader opened on kpmu gets its siblings there, also after the redirect is switched off */
TEST(groups_stay_together)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	long before = opens();
	int status, lead;

	turn(1);
	if (!fork()) {
		lead = sys_open(&a, -1);
		turn(0);
		a.disabled = 0;
		/* A child forked after the redirect is switched off is served natively */
		if (!fork())
			_exit(served_by_kpmu() || lead < 0 ||
			      syscall(SYS_perf_event_open, &a, getppid(), -1, lead, 0) < 0);
		wait(&status);
		_exit(status != 0);
	}
	wait(&status);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(opens() - before, 2);
	turn(0);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return ret;
}

TEST(one_cgroup)
{
	char pid[16];
	struct asker in, out;

	mkdir("/sys/fs/cgroup/redirect", 0755);
	mkdir("/sys/fs/cgroup/redirect/below", 0755);
	EXPECT_EQ(write_text(CGROUP, "/nowhere"), -1);
	EXPECT_EQ(errno, ENOENT);
	ASSERT_EQ(write_text(CGROUP, "/redirect"), 0);
	turn(1);
	asker_start(&in);
	asker_start(&out);
	snprintf(pid, sizeof(pid), "%d", in.pid);
	ASSERT_EQ(write_text("/sys/fs/cgroup/redirect/below/cgroup.procs", pid), 0);
	EXPECT_EQ(ask(&in), 1);
	EXPECT_EQ(ask(&out), 0);
	ASSERT_EQ(write_text(CGROUP, "\n"), 0);
	EXPECT_EQ(ask(&out), 1);
	turn(0);
	asker_stop(&in);
	asker_stop(&out);
	/* Remove the cgroup while the redirect is restricted to it */
	ASSERT_EQ(write_text(CGROUP, "/redirect"), 0);
	EXPECT_EQ(rmdir("/sys/fs/cgroup/redirect/below"), 0);
	EXPECT_EQ(rmdir("/sys/fs/cgroup/redirect"), 0);
	ASSERT_EQ(write_text(CGROUP, "\n"), 0);
}

#define RUNS	reduced(40)

/* While the setting changes constantly, all opens of a process are served by the same side */
TEST_TIMEOUT(switched_under_load, 180)
{
	int i, n, status, first, ours = 0, native = 0;
	pid_t turner = fork();

	if (!turner)
		for (i = 0; ; i++)
			turn(i & 1);
	for (n = 0; n < RUNS; n++) {
		if (!fork()) {
			first = served_by_kpmu();
			for (i = 0; i < 200; i++)
				if (served_by_kpmu() != first)
					_exit(2);
			_exit(first);
		}
		wait(&status);
		EXPECT_NE(WEXITSTATUS(status), 2);
		ours += WEXITSTATUS(status) == 1;
		native += WEXITSTATUS(status) == 0;
	}
	kill(turner, SIGKILL);
	waitpid(turner, NULL, 0);
	turn(0);
	printf("# %d by kpmu, %d native\n", ours, native);
	EXPECT_GT(ours, 0);
	EXPECT_GT(native, 0);
	EXPECT_EQ(ours + native, RUNS);
}

static void __attribute__((destructor)) as_before(void)
{
	if (!getuid())
		write_long(SYSCTL, 0);
}

TEST_HARNESS_MAIN
