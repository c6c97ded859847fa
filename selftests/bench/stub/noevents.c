// SPDX-License-Identifier: GPL-2.0-only
/*
 * libnoevents.so - run perf or rr without events: what a command costs that has nothing to do
 * with them.
 *
 * With NO_EVENTS set, perf_event_open(2) returns an eventfd, which never becomes readable; requests
 * to it succeed, its counts are 0, its ring is empty.  Events that a program opens for itself are
 * real: rr tests with them whether the counters work.  Without NO_EVENTS all calls pass, so that two
 * runs to compare both load the library.  Programs that the command executes do not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#define FDS	4096

static bool stubs[FDS];
static int real = -1;		/* the eventfd of which all others are duplicates */

static bool is_stub(int fd)
{
	return fd >= 0 && fd < FDS && __atomic_load_n(&stubs[fd], __ATOMIC_RELAXED);
}

static void __attribute__((constructor)) not_in_children(void)
{
	unsetenv("LD_PRELOAD");
	if (getenv("NO_EVENTS"))
		real = eventfd(0, EFD_CLOEXEC);
}

static long call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (ret > -4096 && ret < 0) {
		errno = -ret;
		return -1;
	}
	return ret;
}

static int open_stub(void)
{
	int fd = fcntl(real, F_DUPFD_CLOEXEC, 0);

	if (fd >= FDS) {
		close(fd);
		return -1;
	}
	if (fd >= 0)
		__atomic_store_n(&stubs[fd], true, __ATOMIC_RELAXED);
	return fd;
}

long syscall(long nr, ...)
{
	long a[6];
	va_list ap;
	int i;

	va_start(ap, nr);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_perf_event_open && real >= 0 && (int)a[1] != 0 && (int)a[1] != getpid())
		return open_stub();
	return call(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int ioctl(int fd, unsigned long request, ...)
{
	static uint64_t ids;
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!is_stub(fd))
		return call(SYS_ioctl, fd, request, (long)arg, 0, 0, 0);
	if (request == PERF_EVENT_IOC_ID)
		*(uint64_t *)arg = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED);
	return 0;
}

ssize_t read(int fd, void *buf, size_t size)
{
	if (!is_stub(fd))
		return call(SYS_read, fd, (long)buf, size, 0, 0, 0);
	memset(buf, 0, size);
	return size;
}

void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (is_stub(fd)) {
		flags = MAP_PRIVATE | MAP_ANONYMOUS;
		fd = -1;
	}
	return (void *)call(SYS_mmap, (long)addr, size, prot, flags, fd, offset);
}

void *mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

int close(int fd)
{
	if (is_stub(fd))
		__atomic_store_n(&stubs[fd], false, __ATOMIC_RELAXED);
	return call(SYS_close, fd, 0, 0, 0, 0, 0);
}
