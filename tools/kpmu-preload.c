// SPDX-License-Identifier: GPL-2.0-only
/*
 * libkpmu-preload.so - run programs that use perf_event_open(2) on kpmu.
 *
 *	LD_PRELOAD=/usr/lib/libkpmu-preload.so perf stat ls
 *
 * KPMU_PRELOAD=strict	 the default: all events are kpmu's; ENOSYS without the device
 *		fallback the kernel's own perf if the device cannot be opened
 *		off	 as if the library was not loaded
 * KPMU_PRELOAD_DEBUG=1	 a line on stderr for each open
 *
 * This file replaces the system call; preload-paths.c and preload-listing.c the files that a client looks
 * at.  prctl(2) is hooked by the module.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kpmu.h>

#include "preload.h"

/* The device's fd is moved up to here, clear of the program's own fds */
#define DEVICE_FD	250

static struct {
	bool debug;
	enum { STRICT, FALLBACK, OFF } mode;
} options;

/* Called by all entry points: constructors of other libraries may run first */
static void read_options(void)
{
	static atomic_bool done;
	const char *s;

	if (atomic_load_explicit(&done, memory_order_acquire))
		return;
	s = secure_getenv("KPMU_PRELOAD");
	if (s && !strcmp(s, "fallback"))
		options.mode = FALLBACK;
	else if (s && !strcmp(s, "off"))
		options.mode = OFF;
	s = secure_getenv("KPMU_PRELOAD_DEBUG");
	options.debug = s && *s && strcmp(s, "0");
	atomic_store_explicit(&done, true, memory_order_release);
}

bool preload_on(void)
{
	read_options();
	return options.mode != OFF;
}

/*
 * The wrapper of syscall(2).  All calls of that function go through it, with any
 * arguments, so for other system calls it only does one compare, and a jump with all
 * registers and the stack unchanged.
 */
__asm__(
"	.text\n"
"	.globl	syscall\n"
"	.type	syscall, @function\n"
"syscall:\n"
"	cmp	$298, %edi\n"		/* __NR_perf_event_open */
"	je	1f\n"
"	jmp	*preload_next(%rip)\n"
"1:	mov	%rsi, %rdi\n"
"	mov	%rdx, %rsi\n"
"	mov	%rcx, %rdx\n"
"	mov	%r8, %rcx\n"
"	mov	%r9, %r8\n"
"	jmp	preload_open@PLT\n"
"	.size	syscall, . - syscall\n"

"	.globl	preload_syscall\n"
"	.hidden	preload_syscall\n"
"	.type	preload_syscall, @function\n"
"preload_syscall:\n"
"	mov	%rdi, %rax\n"
"	mov	%rsi, %rdi\n"
"	mov	%rdx, %rsi\n"
"	mov	%rcx, %rdx\n"
"	mov	%r8, %r10\n"
"	mov	%r9, %r8\n"
"	mov	8(%rsp), %r9\n"
"	syscall\n"
"	cmp	$-4095, %rax\n"
"	jae	2f\n"
"	ret\n"
"2:	mov	%rax, %rdi\n"
"	jmp	preload_fail@PLT\n"
"	.size	preload_syscall, . - preload_syscall\n"

/* The next definition of syscall(2): of another preloaded or of the C library */
"	.data\n"
"	.balign	8\n"
"preload_next:\n"
"	.quad	preload_syscall\n"
"	.previous\n");

_Static_assert(__NR_perf_event_open == 298, "the number above");

/**
 * preload_fail() - set errno for a system call that failed
 * @ret: what the kernel returned, a negative errno
 *
 * Return: -1.
 */
HIDDEN long preload_fail(long ret)
{
	errno = -ret;
	return -1;
}

static void __attribute__((constructor)) find_next(void)
{
	preload_fn next = (preload_fn)dlsym(RTLD_NEXT, "syscall");

	if (next)
		__atomic_store_n(&preload_next, next, __ATOMIC_RELEASE);
}

static long call(long nr, long a, long b, long c, long d, long e)
{
	preload_fn next = __atomic_load_n(&preload_next, __ATOMIC_ACQUIRE);

	return next(nr, a, b, c, d, e);
}

static dev_t number;

/* The program may have closed the fd, and opened another file under its number */
static bool is_device(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISCHR(st.st_mode) &&
	       st.st_rdev == number;
}

static int open_device(void)
{
	int fd = call(SYS_openat, AT_FDCWD, (long)KPMU_DEVICE,
		      O_RDWR | O_CLOEXEC, 0, 0);
	struct rlimit limit;
	struct stat st;
	int want, high;

	if (fd < 0 || fstat(fd, &st))
		return fd;
	number = st.st_rdev;
	want = DEVICE_FD;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur <= DEVICE_FD)
		want = limit.rlim_cur - 1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, want);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static atomic_int kept = -1;

/* A new fd of the device, kept unless another thread was faster */
static int new_device(void)
{
	int old = atomic_load(&kept), new;

	if (is_device(old))
		return old;
	new = open_device();
	if (new < 0)
		return new;
	if (!atomic_compare_exchange_strong(&kept, &old, new) && is_device(old)) {
		close(new);
		return old;
	}
	return new;
}

/*
 * Open by the device's fd, which is opened at the first use and kept.  Looking each time whether it
 * still is the device's would cost a quarter of an open, so that is only done if the call fails: all
 * other files refuse this ioctl.  Sets *@dev to a negative number if there is no device.
 */
static long open_on(int *dev, struct kpmu_open *o)
{
	long ret = -1;
	int err;

	*dev = atomic_load(&kept);
	if (*dev >= 0) {
		ret = ioctl(*dev, KPMU_IOC_OPEN, o);
		if (ret >= 0)
			return ret;
		err = errno;
		if (is_device(*dev)) {
			errno = err;
			return ret;
		}
	}
	*dev = new_device();
	return *dev < 0 ? -1 : ioctl(*dev, KPMU_IOC_OPEN, o);
}

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n, m;

	n = snprintf(line, sizeof(line), "kpmu-preload[%d]: ", getpid());
	va_start(ap, fmt);
	m = vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	n = n + m < (int)sizeof(line) ? n + m : (int)sizeof(line) - 1;
	/* One write, so that lines of several threads do not mix; failure is ignored */
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

/*
 * BPF programs write to such an event, which the kernel permits only for those of its own perf.  The attr can
 * be read if the open succeeded.
 */
static bool is_bpf_output(const struct perf_event_attr *attr, int group_fd)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT &&
	       group_fd == -1;
}

static void report(const struct perf_event_attr *attr, const struct kpmu_open *o,
		   long ret, int err, bool native)
{
	if (!options.debug)
		return;
	/* If the kernel could not read the attr, it must not be read here */
	if (ret < 0 && err == EFAULT)
		say("perf_event_open(bad attr) = EFAULT\n");
	else
		say("perf_event_open(type %u config %#llx, pid %d, cpu %d, group %d, flags %#llx) = %ld %s%s\n",
		    attr->type, (unsigned long long)attr->config, o->pid, o->cpu,
		    o->group_fd, (unsigned long long)o->flags, ret,
		    native ? "native " : "", ret < 0 ? strerror(err) : "");
}

/* Without the device: explain the ENOSYS, once */
static long no_device(int err)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&told))
		say("cannot open %s: %s; KPMU_PRELOAD=fallback would use the kernel's own perf\n",
		    KPMU_DEVICE, strerror(err));
	errno = ENOSYS;
	return -1;
}

/**
 * preload_open() - perf_event_open(2), served by kpmu or the kernel's own perf
 * @attr: as of perf_event_open(2)
 * @pid: likewise
 * @cpu: likewise
 * @group_fd: likewise
 * @flags: likewise
 *
 * Return: the new fd, or -1 and errno.
 */
HIDDEN long preload_open(struct perf_event_attr *attr, pid_t pid, int cpu,
			 int group_fd, unsigned long flags)
{
	struct kpmu_open o = {
		.attr = (uintptr_t)attr, .pid = pid, .cpu = cpu,
		/* The upper half has flags of kpmu's own, which the system call does not know */
		.group_fd = group_fd, .flags = flags >> 32 ? 1U << 31 : flags,
	};
	int saved = errno, dev = -1, err;
	bool native = !preload_on();
	long ret = -1;

	if (!native) {
		ret = open_on(&dev, &o);
		/* Without the device; but if no fd is left for it, none is for the event either */
		if (dev < 0 && errno != EMFILE && errno != ENFILE) {
			if (options.mode == STRICT)
				return no_device(errno);
			native = true;
		}
	}
	if (ret >= 0 && is_bpf_output(attr, group_fd)) {
		close(ret);
		native = true;
	}
	if (native) {
		errno = saved;
		ret = call(SYS_perf_event_open, (long)attr, pid, cpu, group_fd, flags);
	} else if (ret >= 0) {
		errno = saved;
	}
	err = errno;
	report(attr, &o, ret, err, native);
	errno = err;
	return ret;
}

/* Some C libraries define it, and some programs look it up by name */
API int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu,
			int group_fd, unsigned long flags)
{
	return preload_open(attr, pid, cpu, group_fd, flags);
}
