// SPDX-License-Identifier: GPL-2.0-only
/*
 * NMIs that come too late.  AMD's PMUs without global registers show an overflow by the counter
 * alone.  If the event is disabled after its counter has wrapped but before the NMI, or if another
 * counter's NMI has handled it, the NMI finds nothing.  kpmu must claim it: the kernel would report
 * it as unknown ("Uhhuh"), for which the boot fails.  x-pmu-skid makes NMIs late.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define NAME "pmis_late"

static long late_ones(void)
{
	static char text[8192];
	int fd = open("/sys/kernel/debug/kpmu/stats", O_RDONLY);
	char *at;

	text[read(fd, text, sizeof(text) - 1)] = 0;
	close(fd);
	at = strstr(text, NAME);
	return at ? strtol(at + strlen(NAME), NULL, 10) : -1;
}

static bool has_late_ones(void)
{
	return is_amd() && pmu_version() <= 1 && model_property("x-pmu-skid", 0);
}

TEST(after_a_disable)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t end = patience();
	long before;
	int fd, i;

	if (!has_late_ones())
		SKIP(return, "not AMD without global registers, or no skid");
	no_throttle();
	a.exclude_kernel = 0;
	a.sample_period = 4001;
	fd = ev_must(&a, 0, -1, -1, 0);
	before = route_is_native() ? 0 : late_ones();
	ASSERT_GE(before, 0);
	for (i = 0; i < 20000 && now_ns() < end; i++) {
		ev_enable(fd);
		work(1 + i % 7);
		ev_disable(fd);
		if (!route_is_native() && i % 100 == 99 && late_ones() > before + 3)
			break;
	}
	printf("# %d rounds\n", i);
	if (!route_is_native())
		EXPECT_GT(late_ones(), before);
}

/* A counter wraps on the way of another one's NMI to the handler, which then finds both */
TEST(of_two_counters)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t end = patience();
	long before;
	int fd[2], i;

	if (!has_late_ones())
		SKIP(return, "not AMD without global registers, or no skid");
	no_throttle();
	a.exclude_kernel = 0;
	before = route_is_native() ? 0 : late_ones();
	ASSERT_GE(before, 0);
	for (i = 0; i < 2; i++) {
		a.sample_period = i ? 4051 : 4001;	/* each round, they are 50 instructions nearer */
		fd[i] = ev_must(&a, 0, -1, -1, 0);
		ev_enable(fd[i]);
	}
	for (i = 0; i < 1000 && now_ns() < end; i++) {
		work(10000);
		if (!route_is_native() && late_ones() > before + 3)
			break;
	}
	printf("# %d rounds\n", i);
	ev_disable(fd[0]);
	ev_disable(fd[1]);
	if (!route_is_native())
		EXPECT_GT(late_ones(), before + 3);	/* a few have other reasons */
}

TEST_HARNESS_MAIN
