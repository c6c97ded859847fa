// SPDX-License-Identifier: GPL-2.0-only
/*
 * A dynamic program that opens events by the C library's syscall(2): in a constructor, main(), a
 * thread, a child, and after exec.  It also accesses the files that clients of perf read.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

#define SYSFS	"/sys/bus/event_source/devices"

static long sys_open(struct perf_event_attr *attr, int group_fd)
{
	return syscall(SYS_perf_event_open, attr, 0, -1, group_fd,
		       PERF_FLAG_FD_CLOEXEC);
}

static void count(const char *where)
{
	struct perf_event_attr a = client_attr(PERF_TYPE_HARDWARE,
					       PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t v = 0;
	int fd = sys_open(&a, -1);

	if (fd < 0) {
		printf("%s: %s\n", where, strerror(errno));
		return;
	}
	work_counted(fd, 1000, 0);
	if (read(fd, &v, sizeof(v)) != sizeof(v))
		perror("read");
	close(fd);
	printf("%s: fd %d, %lu\n", where, fd, (unsigned long)v);
}

static void __attribute__((constructor)) early(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	count("constructor");
}

static void *in_thread(void *arg)
{
	count("thread");
	return arg;
}

static void tell(const char *what, long ret)
{
	printf("%s: %ld %s\n", what, ret, ret < 0 ? strerror(errno) : "");
}

/* errno of failing calls, and results of calls that do not concern perf */
static void errors(void)
{
	struct perf_event_attr a = client_attr(PERF_TYPE_HARDWARE, 77);
	/* Invalid addresses.  volatile hides them from the compiler, which assumes valid ones. */
	char *volatile bad[] = { NULL, (char *)1, (char *)-1 };
	struct stat st;
	unsigned int i;

	tell("bad config", sys_open(&a, -1));
	a.config = 0;
	tell("bad group", sys_open(&a, 0));
	tell("close", syscall(SYS_close, -1));
	tell("getpid", syscall(SYS_getpid) == getpid());
	tell("mmap", syscall(SYS_mmap, 0L, 4096L, 3L, 0x22L, -1L, 0L) != -1);
	tell("open", open("/nowhere", O_RDONLY));
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		tell("open, bad", open(bad[i], O_RDONLY));
		tell("openat, bad", openat(1, bad[i], O_RDONLY));
		tell("access, bad", access(bad[i], R_OK));
		tell("stat, bad", stat(bad[i], &st));
	}
}

static void print_file(const char *path)
{
	char line[64] = "";
	FILE *f = fopen(path, "r");

	if (!f || !fgets(line, sizeof(line), f))
		snprintf(line, sizeof(line), "%s\n", strerror(errno));
	printf("%s: %s", path, line);
	if (f)
		fclose(f);
}

static void files(void)
{
	char buf[64] = "";
	struct stat st;
	int dir, fd;
	DIR *d;

	print_file(SYSFS "/cpu/type");
	print_file("/proc/sys/kernel/perf_event_paranoid");
	fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY);
	printf("open: %zd %s", read(fd, buf, sizeof(buf) - 1), buf);
	close(fd);
	dir = open(SYSFS, O_RDONLY | O_DIRECTORY);
	fd = openat(dir, "cpu/type", O_RDONLY);
	printf("openat: %zd %s", read(fd, buf, sizeof(buf) - 1), buf);
	close(fd);
	printf("stat: %d\n", fstatat(dir, "cpu/type", &st, 0));
	close(dir);
	d = opendir(SYSFS "/cpu");
	printf("opendir: %d\n", !!d);
	if (d)
		closedir(d);
	printf("access: %d\n", access(SYSFS "/cpu/type", R_OK));
}

/* The library remembers for a while which files there are */
static void files_again(void)
{
	static const char *const paths[] = {
		SYSFS "/cpu/rdpmc", "/sys/devices/cpu/rdpmc", SYSFS "/cpu/format/umask", SYSFS "/cpu/none",
		SYSFS "/none/type", SYSFS "/msr/type", SYSFS "/cpu/none/type", "/sys/devices/system/cpu/possible",
		SYSFS "/software/type", SYSFS "/cpu/rdpmc/none", SYSFS "/cpu/./type", SYSFS "/cpu/format/../type",
	};
	struct stat st;
	unsigned int i, round;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
			print_file(paths[i]);
		printf("folders: %d %d %d %d\n", stat(SYSFS "/cpu/format", &st), stat(SYSFS "/cpu", &st),
		       stat(SYSFS "/", &st), stat(SYSFS "/power", &st));
		if (round == 2)
			usleep(1100000);
	}
}

/* Wait until a file of sysfs, which is not there yet, can be read */
static void wait_for(const char *file)
{
	char path[128];
	int misses = 0;

	snprintf(path, sizeof(path), SYSFS "/%s", file);
	while (access(path, R_OK) && misses < 1000) {
		misses++;
		usleep(20000);
	}
	printf("waited: %d\n", misses > 0);
	print_file(path);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int i;

	if (argc > 1 && !strcmp(argv[1], "files")) {
		files();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "repeat")) {
		files_again();
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "wait")) {
		wait_for(argv[2]);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "close")) {
		/* Like programs that close all fds that they may have inherited */
		for (i = 3; i < 1024; i++)
			close(i);
		open("/dev/null", O_RDONLY);
		count("closed");
		return 0;
	}
	if (argc > 1) {
		count("exec");
		return 0;
	}
	count("main");
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	if (!fork()) {
		count("child");
		exit(0);
	}
	wait(NULL);
	errors();
	execl("/proc/self/exe", argv[0], "again", NULL);
	return 1;
}
