// SPDX-License-Identifier: GPL-2.0-only
/* /dev/kpmu: the node, its ioctls and permissions; kpmu's sysctls, debugfs files, tracepoints. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

static int dev(void)
{
	int fd = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		exit(1);
	return fd;
}

static int ioctl_errno(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	if (ret >= 0)
		close(ret);
	return ret < 0 ? errno : 0;
}

TEST(node)
{
	struct stat st;

	ASSERT_EQ(stat(KPMU_DEVICE, &st), 0);
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(st.st_mode & 07777, 0600);
	EXPECT_EQ(st.st_uid, 0);
	EXPECT_EQ(st.st_gid, 0);
}

TEST(unknown_ioctls)
{
	int fd = dev();

	EXPECT_EQ(ioctl_errno(fd, 0, NULL), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, PERF_EVENT_IOC_ENABLE, NULL), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, _IOW('K', 0x40, char), NULL), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, _IOW('K', 0x3f, struct kpmu_open), NULL), ENOTTY);
	EXPECT_EQ(ioctl_errno(fd, _IOR('K', 0x40, struct kpmu_open), NULL), ENOTTY);
}

TEST(bad_arguments)
{
	ROWS("E-12");
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, 1);
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
	};
	int fd = dev(), fds = open_fds();

	EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, NULL), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, (void *)8), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, (void *)-1), EFAULT);
	EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, (void *)0xffffffff81000000), EFAULT);
	ASSERT_EQ(munmap(page + 4096, 4096), 0);
	memcpy(page + 4096 - sizeof(args), &args, sizeof(args));
	EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, page + 4096 - sizeof(args)), 0);
	EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, page + 4096 - sizeof(args) + 8), EFAULT);
	for (int bit = 0; bit < 32; bit++) {
		args.reserved = 1u << bit;
		EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, &args), EINVAL);
	}
	args.reserved = 0;
	for (int bit = 4; bit < 64; bit++) {
		args.flags = 1ULL << bit;
		if (args.flags != KPMU_OPEN_STRICT && args.flags != KPMU_OPEN_RESERVED)
			EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, &args), EINVAL);
	}
	EXPECT_EQ(open_fds(), fds);
}

TEST(read_write_lseek_mmap_fail)
{
	int fd = dev();
	char c = 0;

	EXPECT_EQ(read(fd, &c, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write(fd, &c, 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(lseek(fd, 0, SEEK_SET), -1);
	EXPECT_EQ(errno, ESPIPE);
	EXPECT_EQ(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), MAP_FAILED);
}

/* Events can be opened whatever the access mode of the device fd */
TEST(open_modes)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, 1);
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
	};
	int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };

	for (int i = 0; i < 3; i++) {
		int fd = open(KPMU_DEVICE, modes[i]);

		ASSERT_GE(fd, 0);
		EXPECT_EQ(ioctl_errno(fd, KPMU_IOC_OPEN, &args), 0);
		close(fd);
	}
}

/* An event stays usable after the device fd it was opened with is closed */
TEST(event_without_device)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
	};
	int fd = dev(), ev = ioctl(fd, KPMU_IOC_OPEN, &args);

	ASSERT_GE(ev, 0);
	close(fd);
	work_counted(ev, 1000, 0);
	EXPECT_GE(ev_count(ev), WORK_INSNS(1000));
}

TEST(only_root_by_default)
{
	drop_privilege();
	EXPECT_EQ(open(KPMU_DEVICE, O_RDWR), -1);
	EXPECT_EQ(errno, EACCES);
}

/* The mode of the node grants nothing that the permission checks of an open refuse */
TEST(mode_grants_nothing)
{
	ROWS("C-17");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
	};
	int fd, status;
	pid_t pid;

	set_paranoid(2);
	ASSERT_EQ(chmod(KPMU_DEVICE, 0666), 0);
	pid = fork();
	if (!pid) {
		drop_privilege();
		fd = open(KPMU_DEVICE, O_RDWR);
		if (fd < 0)
			_exit(1);
		if (ioctl_errno(fd, KPMU_IOC_OPEN, &args))
			_exit(2);
		a.exclude_kernel = 0;
		if (ioctl_errno(fd, KPMU_IOC_OPEN, &args) != EACCES)
			_exit(3);
		a.exclude_kernel = 1;
		args.pid = -1;
		args.cpu = 0;
		if (ioctl_errno(fd, KPMU_IOC_OPEN, &args) != EACCES)
			_exit(4);
		args.pid = 1;
		args.cpu = -1;
		if (ioctl_errno(fd, KPMU_IOC_OPEN, &args) != EACCES)
			_exit(5);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ASSERT_EQ(chmod(KPMU_DEVICE, 0600), 0);
	EXPECT_EQ(WEXITSTATUS(status), 0);
}

/* Both perf_event_paranoid files apply, native perf's and kpmu's: the stricter level wins */
TEST(stricter_of_two_levels)
{
	ROWS("Y-18 C-02");
	static const char native[] = "/proc/sys/kernel/perf_event_paranoid";
	static const int level[] = { -1, 0, 1, 2, 3 };
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, 1), b, c;
	int i, k, status, strict;
	pid_t pid;

	b = a;
	b.exclude_kernel = 0;
	c = a;
	for (i = 0; i < 5; i++) {
		for (k = 0; k < 5; k++) {
			strict = level[i] > level[k] ? level[i] : level[k];
			ASSERT_EQ(write_long(native, level[i]), 0);
			ASSERT_EQ(write_long(paranoid_file(), level[k]), 0);
			pid = fork();
			if (!pid) {
				drop_privilege();
				_exit((ev_errno(&a, 0, -1, -1, 0) ? 0 : 1) |
				      (ev_errno(&b, 0, -1, -1, 0) ? 0 : 2) |
				      (ev_errno(&c, -1, 0, -1, 0) ? 0 : 4));
			}
			waitpid(pid, &status, 0);
			EXPECT_EQ(WEXITSTATUS(status),
				  (strict <= 2 ? 1 : 0) | (strict <= 1 ? 2 : 0) |
				  (strict <= 0 ? 4 : 0));
		}
	}
	set_paranoid(2);
}

TEST(mux_interval)
{
	ROWS("U-29");
	const char *file = "/proc/sys/kernel/kpmu/perf_event_mux_interval_ms";

	EXPECT_EQ(read_long(file), 4);
	EXPECT_EQ(write_long(file, 0), -1);
	EXPECT_EQ(write_long(file, 1), 0);
	EXPECT_EQ(read_long(file), 1);
	EXPECT_EQ(write_long(file, 4), 0);
}

/*
 * struct kpmu_open has the same layout for 32-bit callers.  INT 0x80 enters the kernel as a 32-bit
 * program does; 54 is ioctl(2) there.
 */
TEST(open_from_32_bits)
{
	ROWS("U-39");
	int fd = dev(), ret;
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct kpmu_open *args = (void *)low;

	memcpy(low + 64, &a, sizeof(a));
	*args = (struct kpmu_open) {
		.attr = (uintptr_t)low + 64, .cpu = -1, .group_fd = -1,
	};
	asm volatile("int $0x80" : "=a" (ret)
		     : "a" (54), "b" (fd), "c" (KPMU_IOC_OPEN), "d" (args)
		     : "memory", "r8", "r9", "r10", "r11");
	if (ret == -ENOSYS)
		SKIP(return, "no 32-bit system calls");
	ASSERT_GE(ret, 0);
	work_counted(ret, 1000, 0);
	EXPECT_GE(ev_count(ret), WORK_INSNS(1000));
}

static int file_has(const char *path, const char *text)
{
	FILE *f = fopen(path, "r");
	char line[1024];
	bool has = false;

	if (!f)
		return -1;
	while (!has && fgets(line, sizeof(line), f))
		has = strstr(line, text);
	fclose(f);
	return has;
}

TEST(debugfs)
{
	int fd = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);

	ev_enable(fd);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/cpus", "cpu 0:"), 1);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/cpus", "in use"), 1);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/stats", "opens"), 1);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/caps", "sched_switch"), 1);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/caps", "missing"), 0);
	ev_disable(fd);
	close(fd);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/cpus", "in use"), 0);
}

/* The file cpus shows the counters of groups, and why others wait; of very many, how many do */
TEST(debugfs_of_groups)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int leader, i;

	pin_to(0);
	a.disabled = 0;
	leader = ev_must(&a, -1, 0, -1, 0);
	ev_must(&a, -1, 0, leader, 0);
	usleep(10000);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/cpus", ", id "), 1);
	for (i = 0; i < 120; i++)
		ev_must(&a, -1, 0, -1, 0);
	usleep(10000);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/cpus", "does not run: "), 1);
	EXPECT_EQ(file_has("/sys/kernel/debug/kpmu/cpus", " more"), 1);
}

/* Opens, reads and scheduling decisions emit trace events */
TEST(tracepoints)
{
	static const char *const names[] = {
		"kpmu_open", "kpmu_plan", "kpmu_assign", "kpmu_commit",
		"kpmu_read", "kpmu_reject", "kpmu_wrmsr", "kpmu_rotate",
		"kpmu_handover",
	};
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	const char *enable = "/sys/kernel/tracing/events/kpmu/enable";
	char name[64];
	int fd[20], n;

	if (write_long(enable, 1))
		SKIP(return, "no tracing");
	a.disabled = 0;
	for (n = 0; n < 2 * counters_general(); n++)
		fd[n] = ev_must(&a, 0, -1, -1, 0);
	for (int i = 0; i < 20; i++)
		work(1000000);
	ev_count(fd[0]);
	write_long(enable, 0);
	ASSERT_EQ(ev_errno(NULL, 0, -1, -1, 0), EFAULT);
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "%s:", names[i]);
		if (file_has("/sys/kernel/tracing/trace", name) != 1)
			printf("# no %s\n", name);
		EXPECT_EQ(file_has("/sys/kernel/tracing/trace", name), 1);
	}
	close(open("/sys/kernel/tracing/trace", O_WRONLY | O_TRUNC));
}

TEST_HARNESS_MAIN
