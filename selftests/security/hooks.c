// SPDX-License-Identifier: GPL-2.0-only
/*
 * Permissions depend on the ftrace hooks for exec and exit.  Events on a task end when it executes
 * a setuid program, whatever was done to ftrace before.  If the hooks cannot be attached, events
 * on tasks are refused.
 */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "module.h"

/* One test unloads the module */
const bool ev_device_late = true;

#define FTRACE	"/proc/sys/kernel/ftrace_enabled"
#define COPY	"/kpmu_setuid"

/* Runs in the set-user-ID copy of this program, executed by the user nobody */
static int be_privileged(int from, int to)
{
	uint64_t end = now_ns() + 50000000;
	char c = geteuid() ? 'n' : 'r';

	if (write(to, &c, 1) != 1)
		return 1;
	/* Wait until the observer has read the event for the first time */
	if (read(from, &c, 1) != 1)
		return 1;
	while (now_ns() < end)
		;
	return write(to, &c, 1) != 1;
}

static void copy_self(void)
{
	static char buf[1 << 16];
	int in = open("/proc/self/exe", O_RDONLY);
	int out = open(COPY, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t n;

	while ((n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			exit(1);
	close(in);
	close(out);
	if (chown(COPY, 0, 0) || chmod(COPY, 04755)) {
		perror(COPY);
		exit(1);
	}
}

static void exec_copy(int from, int to)
{
	uint64_t end = now_ns() + 5000000;
	char a[16], b[16], c;

	if (read(from, &c, 1) != 1)
		_exit(1);
	while (now_ns() < end)
		;
	snprintf(a, sizeof(a), "%d", from);
	snprintf(b, sizeof(b), "%d", to);
	execl(COPY, COPY, "privileged", a, b, NULL);
	_exit(2);
}

static char get_byte(int fd)
{
	char c = 0;

	return read(fd, &c, 1) == 1 ? c : 0;
}

/* As the user nobody: read an event on a child twice, after the child has become root */
static void watch(uint64_t *first, uint64_t *second)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_TASK_CLOCK);
	int to[2], from[2], fd;
	pid_t pid;

	if (pipe(to) || pipe(from))
		exit(1);
	pid = fork();
	if (!pid)
		exec_copy(to[0], from[1]);
	close(from[1]);
	a.disabled = 0;
	fd = ev_must(&a, pid, -1, -1, 0);
	if (write(to[1], "g", 1) != 1)
		exit(1);
	if (get_byte(from[0]) != 'r') {
		printf("# the copy does not run as root\n");
		exit(1);
	}
	*first = ev_count(fd);
	if (write(to[1], "g", 1) != 1 || get_byte(from[0]) != 'g')
		exit(1);
	*second = ev_count(fd);
	waitpid(pid, NULL, 0);
}

/* Runs watch() as the user nobody in a child, as the test itself must remain root */
static int unwatched_after_exec(void)
{
	uint64_t first, second;
	int status;
	pid_t pid;

	set_paranoid(2);
	ev_errno(&(struct perf_event_attr){ 0 }, 0, -1, -1, 0);	/* opens the device, as root */
	fflush(NULL);
	pid = fork();
	if (!pid) {
		drop_privilege();
		watch(&first, &second);
		printf("# %llu ns when it was root, %llu later\n",
		       (unsigned long long)first, (unsigned long long)second);
		fflush(NULL);
		_exit(first == 0 || first != second);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

TEST(setuid_exec)
{
	copy_self();
	EXPECT_TRUE(unwatched_after_exec());
	unlink(COPY);
}

TEST(ftrace_stays_on)
{
	int err;

	copy_self();
	err = write_long(FTRACE, 0) ? errno : 0;
	EXPECT_EQ(err, EBUSY);
	EXPECT_EQ(read_long(FTRACE), 1);
	EXPECT_TRUE(unwatched_after_exec());
	write_long(FTRACE, 1);
	unlink(COPY);
}

static int open_errno(bool of_task, uint64_t exec_flag)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_CPU_CLOCK);

	a.enable_on_exec = exec_flag;
	return ev_errno(&a, of_task ? 0 : -1, of_task ? -1 : 0, -1, 0);
}

/* Runs in a child, whose exit closes the device: the module is unloaded afterwards */
static int refused(void)
{
	int status, bad;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		bad = open_errno(true, 0) != EOPNOTSUPP ||
		      open_errno(true, 1) != EOPNOTSUPP ||
		      open_errno(false, 0) != 0;
		_exit(bad);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Loaded while ftrace is disabled, kpmu has no hooks: opens on a task are refused */
TEST(refused_without_hooks)
{
	int err;

	ASSERT_EQ(module_unload(), 0);
	EXPECT_EQ(write_long(FTRACE, 0), 0);
	err = module_load("");
	EXPECT_EQ(err, 0);
	if (!err) {
		EXPECT_TRUE(refused());
		EXPECT_EQ(module_unload(), 0);
	}
	EXPECT_EQ(write_long(FTRACE, 1), 0);
	ASSERT_EQ(module_load(""), 0);
	EXPECT_EQ(open_errno(true, 0), 0);
	EXPECT_EQ(open_errno(true, 1), 0);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "privileged"))
		return be_privileged(atoi(argv[2]), atoi(argv[3]));
	return test_harness_run(argc, argv);
}
