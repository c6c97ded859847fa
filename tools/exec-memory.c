// SPDX-License-Identifier: GPL-2.0-only
/* Access to the memory of the task whose call is being answered. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kpmu.h>

#include "exec.h"

/* process_vm_readv(2) is missing in some kernels, /proc/PID/mem is always there */
int open_memory(pid_t tid, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	return open(path, flags | O_CLOEXEC);
}

/**
 * copy_in() - read a task's memory
 * @tid: the task
 * @from: address in the task
 * @to: buffer
 * @len: bytes to read
 *
 * Return: the bytes read, which may be less than @len; 0 or -1 if there are none.
 */
long copy_in(pid_t tid, uint64_t from, void *to, size_t len)
{
	int fd = open_memory(tid, O_RDONLY);
	long n;

	if (fd < 0)
		return -1;
	n = pread(fd, to, len, from);
	close(fd);
	return n;
}

/*
 * End of a buffer for an attr, followed by an inaccessible page: an attr that is only
 * partly readable in the task's memory is so in the copy as well.
 */
static char *attr_room(void)
{
	static char *end;
	long page = sysconf(_SC_PAGESIZE);

	if (end)
		return end;
	end = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (end == MAP_FAILED || mprotect(end + 2 * page, page, PROT_NONE)) {
		perror("kpmu-exec: mmap");
		_exit(125);
	}
	end += 2 * page;
	return end;
}

static unsigned int type_of(const char *pmu)
{
	unsigned int type = 0;
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "re");
	if (f && fscanf(f, "%u", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	return type;
}

/*
 * Copy the name of a probe's function or file, to which the attr points.  A file name
 * is looked up relative to the task's root or working directory.
 */
static void copy_name(pid_t tid, struct perf_event_attr *attr)
{
	static char name[2 * PATH_MAX];
	unsigned int uprobe = type_of("uprobe");
	int at = 0;
	long n;

	if (!attr->config1 || (attr->type != uprobe && attr->type != type_of("kprobe")))
		return;
	if (attr->type == uprobe)
		at = snprintf(name, sizeof(name), "/proc/%d/root", tid);
	n = copy_in(tid, attr->config1, name + at, PATH_MAX);
	if (at && n > 0 && name[at] != '/') {
		at = snprintf(name, sizeof(name), "/proc/%d/cwd/", tid);
		n = copy_in(tid, attr->config1, name + at, PATH_MAX);
	}
	/* If the name is not readable, pass an address that is not readable either */
	attr->config1 = n > 0 && memchr(name + at, 0, n) ? (uintptr_t)name : 8;
}

/**
 * copy_attr() - copy an attr of a task
 * @tid: the task
 * @from: address of the attr in the task
 *
 * Return: the copy, valid until the next call; it may not be readable in full.
 */
void *copy_attr(pid_t tid, uint64_t from)
{
	char *end = attr_room(), *at;
	uint32_t head[2];
	long n, want;

	/* The second word is the size; 0 means the first published size */
	n = copy_in(tid, from, head, sizeof(head));
	if (n != sizeof(head))
		return n > 0 ? end - n : end;
	want = head[1] ? head[1] : PERF_ATTR_SIZE_VER0;
	/* The kernel refuses other sizes without reading more of the attr */
	if (want < (long)sizeof(head) || want > sysconf(_SC_PAGESIZE))
		want = sizeof(head);
	at = end - want;
	n = copy_in(tid, from, at, want);
	if (n == want && want >= PERF_ATTR_SIZE_VER0)
		copy_name(tid, (void *)at);
	if (n == want)
		return at;
	if (n <= 0)
		return end;
	return memmove(end - n, at, n);
}
