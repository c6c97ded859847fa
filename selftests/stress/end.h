/* SPDX-License-Identifier: GPL-2.0-only */
/* At the end no event and no slab cache may be left, and the module must unload. */
#ifndef KPMU_STRESS_END_H
#define KPMU_STRESS_END_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "harness.h"
#include "module.h"

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

/* Do not count links: these are aliases of merged caches, which the kernel does not remove */
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
	int i;

	/* Events of the last processes may be closed shortly after these have exited */
	for (i = 0; i < 100 && stat_of("opens") != stat_of("closes"); i++)
		usleep(100000);
	printf("# %ld events opened, %ld closed\n", stat_of("opens"),
	       stat_of("closes"));
	EXPECT_GT(stat_of("opens"), 0);
	EXPECT_EQ(stat_of("opens"), stat_of("closes"));
	EXPECT_EQ(module_unload_at_last(), 0);
	EXPECT_EQ(slabs(), 0);
	EXPECT_EQ(module_load(""), 0);
}

#endif
