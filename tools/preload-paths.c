// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files in which a client looks for PMUs, types and limits.  Where kpmu has its own
 * version of a file, the client gets that one; all other paths are passed unchanged.
 * Directories are listed as the kernel has them, unless only kpmu has them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

/* Links to all PMUs, and where they lead to: half as many names for the kernel to look up */
#define KPMU_LINKS	"/sys/bus/kpmu/devices/"
#define KPMU_PMUS	"/sys/devices/kpmu/"

static const struct rule {
	const char *from, *to;
} rules[] = {
	{ "/sys/bus/event_source/devices/", KPMU_PMUS },
	{ "/sys/devices/", KPMU_PMUS },		/* target of the links there */
	{ "/proc/sys/kernel/perf_", "/proc/sys/kernel/kpmu/perf_" },
};

/* Set if a directory was looked up that later paths may be relative to */
static atomic_bool relative;

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool stat_of(const char *path, struct stat *st)
{
	return !preload_syscall(SYS_newfstatat, (long)AT_FDCWD, path, st, 0L);
}

/*
 * Reject what can never be an address: the call must fail with EFAULT instead of
 * crashing the program here.  (Unmapped pages are not detected.)
 */
static bool is_address(const char *s)
{
	return (uintptr_t)s >= 4096 && (uintptr_t)s < 1UL << 56;
}

/*
 * Use kpmu's version if it is a regular file, or if the kernel has no such path.  If neither has it,
 * the call fails with kpmu's path as well, and sooner, as the kernel's has twice as many names to look up.
 */
static bool ours(const char *path, const char *twin, bool listed)
{
	enum preload_file file = listed ? preload_look(twin, 1) : PRELOAD_UNKNOWN;
	struct stat st;

	if (file == PRELOAD_NONE)
		return preload_look(path, 4) == PRELOAD_NONE;
	if (file == PRELOAD_UNKNOWN) {
		if (!stat_of(twin, &st))
			return false;
		file = S_ISREG(st.st_mode) ? PRELOAD_REGULAR : PRELOAD_DIRECTORY;
	}
	return file == PRELOAD_REGULAR || (file == PRELOAD_DIRECTORY && !stat_of(path, &st));
}

/*
 * Is a path, of which @rest follows the directory of the PMUs, not in the directory of one of kpmu?
 * Programs read hundreds of files below /sys/devices/system.  Not all that is beside the directories of
 * kpmu's PMUs is one: there is a power, too, which is the name of a PMU of the kernel.
 */
static bool is_no_pmu(const char *rest)
{
	int len = strcspn(rest, "/");
	char link[64];

	return len && snprintf(link, sizeof(link), KPMU_LINKS "%.*s", len, rest) < (int)sizeof(link) &&
	       preload_look(link, 0) == PRELOAD_NONE;
}

/* The path to use; @buf has room for PATH_MAX bytes */
static const char *map(const char *path, char *buf)
{
	int saved = errno;
	unsigned int i;

	/* Quick check: most paths are not affected */
	if (!is_address(path) || path[0] != '/' || (path[1] != 's' && path[1] != 'p') ||
	    !preload_on())
		return path;
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		const char *from = rules[i].from;

		if (!starts(path, from))
			continue;
		/* The directory of the PMUs is the kernel's */
		if (i < 2 && (!path[strlen(from)] || is_no_pmu(path + strlen(from))))
			break;
		if (i < 2)
			atomic_store_explicit(&relative, true, memory_order_relaxed);
		if (snprintf(buf, PATH_MAX, "%s%s", rules[i].to,
			     path + strlen(from)) < PATH_MAX && ours(path, buf, i < 2))
			path = buf;
		break;
	}
	/* Also the directories above, which no rule matches */
	if (starts(path, "/sys/bus/event_source"))
		atomic_store_explicit(&relative, true, memory_order_relaxed);
	errno = saved;
	return path;
}

/* The same for a path relative to *@fd, which becomes AT_FDCWD if the path changes */
static const char *map_at(int *fd, const char *path, char *buf)
{
	char full[PATH_MAX], link[64];
	int saved = errno;
	const char *to;
	long n;

	if (!is_address(path) || path[0] == '/' || *fd == AT_FDCWD)
		return map(path, buf);
	if (!*path || !atomic_load_explicit(&relative, memory_order_relaxed))
		return path;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", *fd);
	n = preload_syscall(SYS_readlinkat, (long)AT_FDCWD, link, full,
			    sizeof(full) - 1);
	errno = saved;
	if (n <= 0 || n + strlen(path) + 2 > sizeof(full))
		return path;
	full[n] = '/';
	strcpy(full + n + 1, path);
	to = map(full, buf);
	if (to == full)
		return path;
	*fd = AT_FDCWD;
	return to;
}

/* The next definition of a function; NULL and ENOSYS if there is none */
static void *next(void **cache, const char *name)
{
	void *fn = __atomic_load_n(cache, __ATOMIC_ACQUIRE);

	if (fn)
		return fn;
	fn = dlsym(RTLD_NEXT, name);
	__atomic_store_n(cache, fn, __ATOMIC_RELEASE);
	if (!fn)
		errno = ENOSYS;
	return fn;
}

#define NEXT(ret, name, params)						\
	static void *cache;						\
	ret(*fn)params = next(&cache, #name)

/* One row per function: result type, result on failure, name, parameters, arguments */
#define PATH(ret, bad, name, params, ...)				\
API ret name params;							\
API ret name params							\
{									\
	char buf[PATH_MAX];						\
	NEXT(ret, name, params);					\
									\
	if (!fn)							\
		return bad;						\
	path = map(path, buf);						\
	return fn(__VA_ARGS__);						\
}

#define PATH_AT(ret, bad, name, params, ...)				\
API ret name params;							\
API ret name params							\
{									\
	char buf[PATH_MAX];						\
	NEXT(ret, name, params);					\
									\
	if (!fn)							\
		return bad;						\
	path = map_at(&dir, path, buf);					\
	return fn(__VA_ARGS__);						\
}

/* For functions with a mode, which is only passed if a file may be created */
#define WITH_MODE							\
	va_list ap;							\
	mode_t mode = 0;						\
									\
	if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {	\
		va_start(ap, flags);					\
		mode = va_arg(ap, mode_t);				\
		va_end(ap);						\
	}

#define OPEN(name)							\
API int name(const char *path, int flags, ...);				\
API int name(const char *path, int flags, ...)				\
{									\
	char buf[PATH_MAX];						\
	NEXT(int, name, (const char *path, int flags, ...));		\
	WITH_MODE							\
									\
	return fn ? fn(map(path, buf), flags, mode) : -1;		\
}

#define OPENAT(name)							\
API int name(int dir, const char *path, int flags, ...);		\
API int name(int dir, const char *path, int flags, ...)			\
{									\
	char buf[PATH_MAX];						\
	NEXT(int, name, (int dir, const char *path, int flags, ...));	\
	WITH_MODE							\
									\
	path = map_at(&dir, path, buf);					\
	return fn ? fn(dir, path, flags, mode) : -1;			\
}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
PATH(int, -1, __open_2, (const char *path, int flags), path, flags)
PATH(int, -1, __open64_2, (const char *path, int flags), path, flags)
PATH_AT(int, -1, __openat_2, (int dir, const char *path, int flags), dir, path, flags)
PATH_AT(int, -1, __openat64_2, (int dir, const char *path, int flags), dir, path, flags)
PATH(FILE *, NULL, fopen, (const char *path, const char *mode), path, mode)
PATH(FILE *, NULL, fopen64, (const char *path, const char *mode), path, mode)
PATH(FILE *, NULL, freopen, (const char *path, const char *mode, FILE *f), path, mode, f)
PATH(FILE *, NULL, freopen64, (const char *path, const char *mode, FILE *f), path, mode, f)
PATH(DIR *, NULL, opendir, (const char *path), path)

typedef int (*filter_fn)(const struct dirent *d);
typedef int (*order_fn)(const struct dirent **a, const struct dirent **b);
typedef int (*filter64_fn)(const struct dirent64 *d);
typedef int (*order64_fn)(const struct dirent64 **a, const struct dirent64 **b);

PATH(int, -1, scandir, (const char *path, struct dirent ***list, filter_fn filter,
			order_fn order), path, list, filter, order)
PATH(int, -1, scandir64, (const char *path, struct dirent64 ***list, filter64_fn filter,
			  order64_fn order), path, list, filter, order)
PATH_AT(int, -1, scandirat, (int dir, const char *path, struct dirent ***list,
			     filter_fn filter, order_fn order),
	dir, path, list, filter, order)
PATH_AT(int, -1, scandirat64, (int dir, const char *path, struct dirent64 ***list,
			       filter64_fn filter, order64_fn order),
	dir, path, list, filter, order)

PATH(int, -1, access, (const char *path, int mode), path, mode)
PATH(int, -1, euidaccess, (const char *path, int mode), path, mode)
PATH(int, -1, eaccess, (const char *path, int mode), path, mode)
PATH_AT(int, -1, faccessat, (int dir, const char *path, int mode, int flags),
	dir, path, mode, flags)

PATH(int, -1, stat, (const char *path, struct stat *st), path, st)
PATH(int, -1, stat64, (const char *path, struct stat64 *st), path, st)
PATH(int, -1, lstat, (const char *path, struct stat *st), path, st)
PATH(int, -1, lstat64, (const char *path, struct stat64 *st), path, st)
PATH_AT(int, -1, fstatat, (int dir, const char *path, struct stat *st, int flags),
	dir, path, st, flags)
PATH_AT(int, -1, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
	dir, path, st, flags)
PATH_AT(int, -1, statx, (int dir, const char *path, int flags, unsigned int mask,
			 struct statx *st), dir, path, flags, mask, st)
/* Called by programs built for older C libraries */
PATH(int, -1, __xstat, (int ver, const char *path, struct stat *st), ver, path, st)
PATH(int, -1, __xstat64, (int ver, const char *path, struct stat64 *st), ver, path, st)
PATH(int, -1, __lxstat, (int ver, const char *path, struct stat *st), ver, path, st)
PATH(int, -1, __lxstat64, (int ver, const char *path, struct stat64 *st), ver, path, st)
PATH_AT(int, -1, __fxstatat, (int ver, int dir, const char *path, struct stat *st,
			      int flags), ver, dir, path, st, flags)
PATH_AT(int, -1, __fxstatat64, (int ver, int dir, const char *path, struct stat64 *st,
				int flags), ver, dir, path, st, flags)

PATH(ssize_t, -1, readlink, (const char *path, char *to, size_t len), path, to, len)
PATH_AT(ssize_t, -1, readlinkat, (int dir, const char *path, char *to, size_t len),
	dir, path, to, len)
PATH(ssize_t, -1, __readlink_chk, (const char *path, char *to, size_t len, size_t room),
	path, to, len, room)
PATH_AT(ssize_t, -1, __readlinkat_chk, (int dir, const char *path, char *to, size_t len,
					size_t room), dir, path, to, len, room)
