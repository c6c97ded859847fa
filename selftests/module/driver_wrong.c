// SPDX-License-Identifier: GPL-2.0-only
/* Mistakes of PMU drivers (selftests/driver/kpmu-wrong.c): what kpmu refuses, and with which errno. */
#define _GNU_SOURCE
#include <sys/klog.h>
#include <sys/stat.h>

#include "driver.h"
#include "event.h"
#include "harness.h"

#define SYSLOG_ACTION_READ_CLEAR	4

#define PMU	"/sys/bus/kpmu/devices/wrong"

enum { RIGHT, SET_SEL, SET_ALLOWED, SET_EXTRA };

/* Does the kernel log since the last call contain @text? */
static bool logged(const char *text)
{
	static char log[1 << 20];
	int n = klogctl(SYSLOG_ACTION_READ_CLEAR, log, sizeof(log) - 1);

	log[n > 0 ? n : 0] = 0;
	return strstr(log, text);
}

static int load(const char *params)
{
	return driver_load_with("wrong", params);
}

static void unload(struct __test *_metadata)
{
	struct stat st;

	EXPECT_EQ(driver_unload_at_last("wrong"), 0);
	EXPECT_NE(stat(PMU, &st), 0);
}

/* A PMU that is not registered has no folder, and its module is not loaded */
static void refuse(struct __test *_metadata, const char *params, int err, const char *why)
{
	struct stat st;
	int got;

	got = load(params);
	/* To newer kernels EEXIST of a module's start means that it is loaded: they say EBUSY */
	if (err != EEXIST || got != EBUSY)
		EXPECT_EQ(got, err);
	if (why && !logged(why)) {
		printf("# %s: nothing like \"%s\" in the log\n", params, why);
		_metadata->failed = 1;
	}
	EXPECT_NE(stat(PMU, &st), 0);
	EXPECT_EQ(driver_unload("wrong"), ENOENT);
}

static const struct {
	const char *params, *why;
} mistakes[] = {
	{ "fault=1", "no source, or a source without an owner" },
	{ "fault=2", "are required" },
	{ "fault=3", "are required" },
	{ "fault=4", "are required" },
	{ "fault=5", "are required" },
	{ "fault=6", "are required" },
	{ "fault=7", "either ahead or interrupt is required" },
	{ "fault=8 counters=1", "either ahead or interrupt is required" },
	{ "fault=9", "a PMU without interrupts cannot have NMIs" },
	{ "fault=10", "a driver may not set counters, clock or trace" },
	{ "fault=11", "a driver may not set counters, clock or trace" },
	{ "fault=12", "PMU without a name is not registered" },
	{ "fault=13", "no source, or a source without an owner" },
	{ "fault=14", "a driver may not set counters, clock or trace" },
	{ "fault=15", "too many counters" },
	{ "fault=16", "a PMU without counters cannot have interrupts" },
	{ "name=", "the name is not a valid directory name" },
	{ "name=a/b", "the name is not a valid directory name" },
};

TEST(registration)
{
	ROWS("W-60");
	struct stat st;

	logged("");
	for (int i = 0; i < ARRAY_SIZE(mistakes); i++)
		refuse(_metadata, mistakes[i].params, EINVAL, mistakes[i].why);
	/* Without a mistake it is registered */
	ASSERT_EQ(load(""), 0);
	EXPECT_EQ(stat(PMU, &st), 0);
	unload(_metadata);
}

TEST(names)
{
	ROWS("W-60");
	struct stat st;

	refuse(_metadata, "name=software", EEXIST, NULL);
	ASSERT_EQ(driver_load("few"), 0);
	refuse(_metadata, "name=few", EEXIST, NULL);
	EXPECT_EQ(stat("/sys/bus/kpmu/devices/few", &st), 0);
	EXPECT_EQ(driver_unload_at_last("few"), 0);
	/* The name is free again */
	ASSERT_EQ(load("name=few"), 0);
	EXPECT_EQ(driver_unload_at_last("wrong"), 0);
}

/* The CPU's own counters have numbers from 0 and from 16 on: 16 in a row are not free */
TEST(too_many_counters)
{
	ROWS("W-60");
	uint32_t first;

	if (!has_pmu() || is_amd())
		SKIP(return, "no fixed counters");
	ASSERT_EQ(driver_load("few"), 0);
	first = pmu_type("few");
	refuse(_metadata, "counters=16", ENOSPC, NULL);
	/* The type of the one that was refused is free */
	ASSERT_EQ(load("counters=1"), 0);
	EXPECT_EQ(pmu_type("wrong"), first + 1);
	unload(_metadata);
	EXPECT_EQ(driver_unload_at_last("few"), 0);
}

/* There are 256 types for the PMUs of drivers */
TEST(too_many_pmus)
{
	ROWS("W-60");
	refuse(_metadata, "more=256", ENOSPC, NULL);
	ASSERT_EQ(load("more=255"), 0);
	EXPECT_EQ(driver_load("few"), ENOSPC);
	unload(_metadata);
	/* All types are free */
	ASSERT_EQ(load("more=255"), 0);
	unload(_metadata);
}

/* An event of the PMU: the errno of its open, and whether kpmu says @why */
static void open_wrong(struct __test *_metadata, uint64_t config, int err, const char *why)
{
	struct perf_event_attr a = ev_attr(pmu_type("wrong"), config);
	struct kpmu_open args = { .attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1 };
	int fd = ioctl(ev_device(), KPMU_IOC_OPEN, &args), got = fd < 0 ? errno : 0;
	struct kpmu_why told;

	EXPECT_EQ(got, err);
	close(fd);
	ASSERT_EQ(ioctl(ev_device(), KPMU_IOC_WHY, &told), 0);
	EXPECT_EQ(strcmp(told.text, why), 0);
}

TEST(init_of_an_event)
{
	static const char counter[] = "the PMU's driver requires a counter that does not exist";

	ROWS("W-60");
	ASSERT_EQ(load(""), 0);
	open_wrong(_metadata, RIGHT, 0, "");
	open_wrong(_metadata, SET_SEL, EINVAL, "the PMU's driver has set hw.sel");
	open_wrong(_metadata, SET_ALLOWED, EINVAL, counter);
	open_wrong(_metadata, SET_EXTRA, EINVAL, counter);
	unload(_metadata);
	ASSERT_EQ(load("counters=2"), 0);
	open_wrong(_metadata, RIGHT, 0, "");
	open_wrong(_metadata, SET_ALLOWED, EINVAL, counter);
	open_wrong(_metadata, SET_EXTRA, EINVAL, counter);
	unload(_metadata);
}

TEST_HARNESS_MAIN
