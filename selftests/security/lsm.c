// SPDX-License-Identifier: GPL-2.0-only
/*
 * Security modules are asked about each event.  The calls are counted by kprobes.  No
 * module of these guests labels events, so there is no question about one at read(2).
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "event.h"
#include "harness.h"

#define TRACING	"/sys/kernel/tracing/"

static bool put_text(const char *path, const char *text, int flags)
{
	int fd = open(path, O_WRONLY | flags);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Calls of @func since put_probe(), by the profile of kprobes */
static long calls(const char *name)
{
	FILE *f = fopen(TRACING "kprobe_profile", "r");
	char line[256], got[64];
	long n = -1, hits;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %ld", got, &hits) == 2 && !strcmp(got, name))
			n = hits;
	if (f)
		fclose(f);
	return n;
}

static void no_probes(void)
{
	put_text(TRACING "events/kpmu_lsm/enable", "0", 0);
	put_text(TRACING "kprobe_events", "\n", O_TRUNC);
}

TEST(asked)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_TASK_CLOCK);
	int i;

	if (!put_text(TRACING "kprobe_events",
		      "p:kpmu_lsm/lsm_open security_perf_event_open\n", O_APPEND) ||
	    !put_text(TRACING "kprobe_events",
		      "p:kpmu_lsm/lsm_alloc security_perf_event_alloc\n", O_APPEND))
		SKIP(return, "no kprobes, or no security modules");
	atexit(no_probes);
	ASSERT_TRUE(put_text(TRACING "events/kpmu_lsm/enable", "1", 0));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	EXPECT_EQ(calls("lsm_open"), 10);
	EXPECT_EQ(calls("lsm_alloc"), 10);
}

TEST_HARNESS_MAIN
