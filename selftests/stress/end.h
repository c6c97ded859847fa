/* SPDX-License-Identifier: GPL-2.0-only */
/* When all is over, nothing may be left: no event, no slab, nothing that holds the module. */
#ifndef KPMU_STRESS_END_H
#define KPMU_STRESS_END_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "harness.h"

static inline long stat_of(const char *name)
{
	char line[256];
	long val = -1;
	FILE *f = fopen("/sys/kernel/debug/kpmu/stats", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			val = atol(line + strlen(name));
	if (f)
		fclose(f);
	return val;
}

/* Links are aliases of merged caches, which the kernel leaves behind */
static inline int slabs(void)
{
	DIR *d = opendir("/sys/kernel/slab");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_type != DT_LNK && !strncmp(e->d_name, "kpmu", 4);
	if (d)
		closedir(d);
	return n;
}

static inline void nothing_left(struct __test *_metadata)
{
	int fd = open("/kpmu.ko", O_RDONLY | O_CLOEXEC), i, err = EAGAIN;

	/* What the last processes had goes a little after them */
	for (i = 0; i < 100 && stat_of("opens") != stat_of("closes"); i++)
		usleep(100000);
	printf("# %ld events opened, %ld closed\n", stat_of("opens"),
	       stat_of("closes"));
	EXPECT_GT(stat_of("opens"), 0);
	EXPECT_EQ(stat_of("opens"), stat_of("closes"));
	for (i = 0; i < 50 && err == EAGAIN; i++) {
		err = syscall(SYS_delete_module, "kpmu", O_NONBLOCK) ? errno : 0;
		usleep(100000);
	}
	EXPECT_EQ(err, 0);
	EXPECT_EQ(slabs(), 0);
	EXPECT_EQ(syscall(SYS_finit_module, fd, "", 0), 0);
}

#endif
