// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the directories of PMUs contain.  A client looks for a hundred files there, and most do not
 * exist.  Reading a directory once costs less than looking each file up in the kernel.  A directory
 * is read again after a second, as PMUs come and go with their modules.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

#define DIR_LEN		64
#define LISTINGS	6
#define FRESH_NS	1000000000ULL

static struct listing {
	char dir[DIR_LEN];
	uint64_t until;
	char names[2048];	/* for each file: 1 + its d_type, its name, a 0; then another 0 */
} listings[LISTINGS];

/* The last directory that was asked for and not read, and how often in succession */
static char asked[DIR_LEN];
static unsigned int times;

/* Held for the above.  Only tried, as this may be a signal handler, or the child of a fork() */
static atomic_flag busy = ATOMIC_FLAG_INIT;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Read a directory; one that does not exist is empty.  False if that failed, or it is too large */
static bool read_names(struct listing *l)
{
	char buf[4096] __attribute__((aligned(8)));
	const struct dirent64 *d;
	size_t used = 0, len;
	long n, at;
	int fd;

	l->names[0] = 0;
	fd = preload_syscall(SYS_openat, (long)AT_FDCWD, l->dir,
			     (long)(O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0L);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR;
	while ((n = preload_syscall(SYS_getdents64, (long)fd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < n; at += d->d_reclen) {
			d = (const struct dirent64 *)(buf + at);
			len = strlen(d->d_name) + 2;
			if (used + len >= sizeof(l->names)) {
				n = -1;
				goto out;
			}
			l->names[used] = 1 + d->d_type;
			memcpy(l->names + used + 1, d->d_name, len - 1);
			used += len;
		}
	}
	l->names[used] = 0;
out:
	preload_syscall(SYS_close, (long)fd);
	return !n;
}

static enum preload_file find_name(const struct listing *l, const char *name)
{
	const char *s;

	for (s = l->names; *s && strcmp(s + 1, name); s += strlen(s) + 1)
		;
	switch (*s) {
	case 0:
		return PRELOAD_NONE;
	case 1 + DT_REG:
		return PRELOAD_REGULAR;
	case 1 + DT_DIR:
		return PRELOAD_DIRECTORY;
	}
	return PRELOAD_UNKNOWN;
}

/* The listing of a directory; NULL if it is not read yet */
static struct listing *find_listing(const char *dir, unsigned int after)
{
	static unsigned int last;
	struct listing *l;
	uint64_t t = now();
	unsigned int i;

	for (i = 0; i < LISTINGS; i++)
		if (!strcmp(listings[i].dir, dir) && t < listings[i].until)
			return &listings[i];
	if (strcmp(asked, dir)) {
		strcpy(asked, dir);
		times = 0;
	}
	if (times++ < after)
		return NULL;
	l = &listings[last++ % LISTINGS];
	strcpy(l->dir, dir);
	l->until = t + FRESH_NS;
	if (read_names(l))
		return l;
	l->until = 0;
	return NULL;
}

/**
 * preload_look() - look a file up in what was read of its directory
 * @path: its absolute path
 * @after: read the directory after this number of files of it was asked for in succession
 *
 * Return: PRELOAD_UNKNOWN if stat(2) must tell.  errno may be changed.
 */
HIDDEN enum preload_file preload_look(const char *path, unsigned int after)
{
	const char *name = strrchr(path, '/') + 1;
	enum preload_file found = PRELOAD_UNKNOWN;
	const struct listing *l;
	size_t len = name - path;
	char dir[DIR_LEN];

	if (!*name || len >= sizeof(dir) || atomic_flag_test_and_set(&busy))
		return found;
	memcpy(dir, path, len);
	dir[len] = 0;
	l = find_listing(dir, after);
	if (l)
		found = find_name(l, name);
	atomic_flag_clear(&busy);
	return found;
}
