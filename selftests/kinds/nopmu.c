// SPDX-License-Identifier: GPL-2.0-only
/* A machine whose CPU has no PMU, as many virtual ones: all other kinds of events work. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "driver.h"
#include "event.h"
#include "harness.h"
#include "ring.h"

#define NEED_NO_PMU()	do { if (has_pmu()) SKIP(return, "this CPU has a PMU"); } while (0)

#define FAULTS	20

/* By kpmu the errno has a reason */
static void refuse(struct __test *_metadata, uint32_t type, uint64_t config, int cpu)
{
	struct perf_event_attr a = ev_attr(type, config);
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .pid = cpu < 0 ? 0 : -1, .cpu = cpu, .group_fd = -1,
	};
	struct kpmu_why why;

	EXPECT_EQ(ev_errno(&a, args.pid, cpu, -1, 0), ENOENT);
	if (route_is_native())
		return;
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_OPEN, &args), -1);
	ASSERT_EQ(ioctl(ev_device(), KPMU_IOC_WHY, &why), 0);
	EXPECT_EQ(strcmp(why.text, "no hardware PMU"), 0);
}

TEST(hardware_events)
{
	ROWS("E-28");
	struct stat st;

	NEED_NO_PMU();
	for (int cpu = -1; cpu < 1; cpu++) {
		refuse(_metadata, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, cpu);
		refuse(_metadata, PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_L1D, cpu);
		refuse(_metadata, PERF_TYPE_RAW, RAW_BRANCHES, cpu);
	}
	EXPECT_NE(stat(route_is_native() ? "/sys/bus/event_source/devices/cpu" :
		       "/sys/bus/kpmu/devices/cpu", &st), 0);
}

/* The list of what works has the PMU as missing */
TEST(listed)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/caps", "r");
	char line[200], name[64], state[64];
	int missing = 0, ok = 0;

	NEED_NO_PMU();
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	ASSERT_TRUE(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %63s", name, state) != 2)
			continue;
		missing += !strcmp(name, "cpu") && !strcmp(state, "missing") &&
			   strstr(line, "no supported PMU");
		ok += !strcmp(name, "software") && !strcmp(state, "ok");
	}
	fclose(f);
	EXPECT_EQ(missing, 1);
	EXPECT_EQ(ok, 1);
}

/* A group of software events, one of which samples */
TEST(software_events)
{
	ROWS("F-10 S-02");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct perf_event_attr b = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	uint64_t v[3];
	struct ring r;
	char *page;
	int fd, i;

	NEED_NO_PMU();
	page = mmap(NULL, FAULTS * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(page, MAP_FAILED);
	madvise(page, FAULTS * 4096, MADV_NOHUGEPAGE);
	a.read_format = PERF_FORMAT_GROUP;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_ADDR;
	b.disabled = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_must(&b, 0, -1, fd, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	for (i = 0; i < FAULTS; i++)
		((volatile char *)page)[i * 4096] = 1;
	ev_disable(fd);
	ASSERT_EQ(read(fd, v, sizeof(v)), sizeof(v));
	EXPECT_EQ(v[0], 2);
	EXPECT_EQ(v[1], FAULTS);
	EXPECT_GT(v[2], 0);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), FAULTS);
}

/* A driver's PMU with counters is the only one that has any */
TEST(driver)
{
	struct perf_event_attr a;
	int fd;

	ROWS("W-60");
	NEED_NO_PMU();
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	a = driver_attr("few", 1);
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_TRUE(counts_cycles(fd, 2000000));
	close(fd);
	EXPECT_EQ(driver_unload_at_last("few"), 0);
}

TEST_HARNESS_MAIN
