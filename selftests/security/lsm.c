// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each open calls the LSM hooks security_perf_event_open() and _alloc().  Kprobes count the calls.
 * No security module in the test guests labels events, so the hook for read(2) is not called.
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

/* Return: hits of the kprobe @name according to kprobe_profile, -1 if there is no such probe */
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
