/* SPDX-License-Identifier: GPL-2.0-only */
/* The statistics of the module. */
#ifndef KPMU_TEST_STATS_H
#define KPMU_TEST_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A statistic of the module; exits with failure if there is none of this name */
static inline uint64_t stat_of(const char *name)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/stats", "r");
	unsigned long long val, got = 0;
	char line[128], key[64];
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %llu", key, &val) == 2 && !strcmp(key, name)) {
			got = val;
			found = true;
		}
	}
	if (f)
		fclose(f);
	if (!found)
		exit(1);
	return got;
}

#endif
