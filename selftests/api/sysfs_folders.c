// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sysfs directories of PMUs.  Those of kpmu are below /sys/bus/kpmu; their files must have the
 * same contents as those of native perf.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "event.h"
#include "harness.h"

#define NATIVE	"/sys/bus/event_source/devices"
#define OURS	"/sys/bus/kpmu/devices"
#define N	100000

static const char *root(void)
{
	return route_is_native() ? NATIVE : OURS;
}

static bool text(const char *dir, const char *pmu, const char *name, char *buf,
		 size_t size)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, pmu, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(buf, size, f))
		buf[0] = 0;
	fclose(f);
	buf[strcspn(buf, "\n")] = 0;
	return true;
}

static const char *const pmus[] = {
	"cpu", "software", "tracepoint", "breakpoint", "kprobe", "uprobe",
};

TEST(types)
{
	ROWS("Y-08 Y-09 T-07");
	static const int fixed[] = { 4, 1, 2, 5 };
	char here[50], there[50];
	struct stat st;
	char path[100];
	int i;

	for (i = 0; i < ARRAY_SIZE(pmus); i++) {
		ASSERT_TRUE(text(root(), pmus[i], "type", here, sizeof(here)));
		/* Types of kprobe and uprobe are assigned at boot, from 6 on */
		EXPECT_TRUE(i < ARRAY_SIZE(fixed) ? atoi(here) == fixed[i] :
			    atoi(here) >= 6);
		/* kpmu uses the native types, so tools may read them in either directory */
		ASSERT_TRUE(text(NATIVE, pmus[i], "type", there, sizeof(there)));
		EXPECT_EQ(strcmp(here, there), 0);
		snprintf(path, sizeof(path), "%s/%s/uevent", root(), pmus[i]);
		EXPECT_EQ(stat(path, &st), 0);
		EXPECT_EQ(st.st_mode & 0777, 0644);
		snprintf(path, sizeof(path), "%s/%s/type", root(), pmus[i]);
		EXPECT_EQ(stat(path, &st), 0);
		EXPECT_EQ(st.st_mode & 0777, 0444);
	}
}

TEST(software_opens_by_its_type)
{
	ROWS("Y-09 T-07");
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "%s/software/type", root());
	fd = ev_self(read_long(path), PERF_COUNT_SW_TASK_CLOCK, -1);
	ev_enable(fd);
	work(N);
	EXPECT_GT(ev_count(fd), 0);
}

/* Check that each file of @folder has the same contents natively; returns the number of files */
/* Sapphire Rapids has a code of its own for ref-cycles, which 6.1 does not show */
static bool is_newer(const char *name, const char *ours, const char *theirs)
{
	return cpu_model() == CPU_SPR && !strcmp(name, "events/ref-cycles") &&
	       !strcmp(ours, "event=0x3c,umask=0x01") && !strcmp(theirs, "event=0x00,umask=0x03");
}

static int compare(struct __test *_metadata, const char *pmu, const char *folder)
{
	char path[200], name[400], ours[200], theirs[200];
	struct dirent *d;
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "%s/%s/%s", root(), pmu, folder);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", folder, d->d_name);
		EXPECT_TRUE(text(root(), pmu, name, ours, sizeof(ours)));
		EXPECT_TRUE(text(NATIVE, pmu, name, theirs, sizeof(theirs)));
		if (strcmp(ours, theirs))
			printf("# %s/%s: \"%s\", the kernel says \"%s\"\n", pmu, name,
			       ours, theirs);
		EXPECT_TRUE(!strcmp(ours, theirs) || is_newer(name, ours, theirs));
		n++;
	}
	closedir(dir);
	return n;
}

TEST(formats_match_native)
{
	ROWS("Y-11 Y-16 Y-18 U-45");
	EXPECT_GE(compare(_metadata, "cpu", "format"), 6);
	EXPECT_GE(compare(_metadata, "kprobe", "format"), 1);
	EXPECT_GE(compare(_metadata, "uprobe", "format"), 2);
	EXPECT_EQ(compare(_metadata, "software", "format"), 0);
}

TEST(events_match_native)
{
	ROWS("Y-12 Y-13 Y-18");
	EXPECT_GE(compare(_metadata, "cpu", "events"), 8);
}

/* No event that the kernel names is missing; those of memory accesses need precise events */
TEST(no_event_is_missing)
{
	ROWS("Y-12");
	struct dirent *d;
	char there[200];
	DIR *dir;

	dir = opendir(NATIVE "/cpu/events");
	ASSERT_NE(dir, NULL);
	while ((d = readdir(dir))) {
		char name[300];

		if (d->d_name[0] == '.' || !strncmp(d->d_name, "mem-", 4))
			continue;
		snprintf(name, sizeof(name), "events/%s", d->d_name);
		EXPECT_TRUE(text(root(), "cpu", name, there, sizeof(there)));
	}
	closedir(dir);
}

TEST(caps_match_native)
{
	ROWS("U-28");
	EXPECT_GE(compare(_metadata, "cpu", "caps"), 2);
}

/*
 * None of these PMUs supports address filters: they have no file nr_addr_filters, and events refuse
 * an address filter as they refuse any other filter.
 */
TEST(no_address_filters)
{
	ROWS("U-28");
	char path[300];
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(pmus); i++) {
		snprintf(path, sizeof(path), "%s/%s/nr_addr_filters", root(), pmus[i]);
		EXPECT_EQ(access(path, F_OK), -1);
		snprintf(path, sizeof(path), "%s/%s/nr_addr_filters", NATIVE, pmus[i]);
		EXPECT_EQ(access(path, F_OK), -1);
	}
	fd = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0x1000/0x10"), -1);
	EXPECT_EQ(errno, EINVAL);
	fd = ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, -1);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0x1000/0x10"), -1);
	EXPECT_EQ(errno, EINVAL);
}

TEST(mux_interval)
{
	ROWS("U-29");
	char path[100];
	long old;
	int fd;

	snprintf(path, sizeof(path), "%s/cpu/perf_event_mux_interval_ms", root());
	old = read_long(path);
	EXPECT_GE(old, 1);
	EXPECT_EQ(write_long(path, 7), 0);
	EXPECT_EQ(read_long(path), 7);
	EXPECT_EQ(write_long(path, 0), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write_long(path, -1), -1);
	fd = open(path, O_WRONLY);
	EXPECT_EQ(write(fd, "x", 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(read_long(path), 7);
	EXPECT_EQ(write_long(path, old), 0);
}

#define EVENTS	12

/* Number of events that have run */
static int have_run(const int *fd)
{
	int i, n = 0;

	for (i = 0; i < EVENTS; i++)
		n += ev_times(fd[i]).running > 0;
	return n;
}

/* A new interval applies to a turn that has begun, too; sched_multiplex_share has the same of the sysctl */
TEST(mux_interval_at_once)
{
	ROWS("U-29");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	uint64_t end;
	char path[100];
	int i, fd[EVENTS];
	long old;

	NEED_PMU();
	if (route_is_native())
		SKIP(return, "native perf lets the turn end first");
	a.read_format = FORMAT_TIMES;
	snprintf(path, sizeof(path), "%s/cpu/perf_event_mux_interval_ms", root());
	old = read_long(path);
	EXPECT_EQ(write_long(path, 100000), 0);
	pin_to(0);
	for (i = 0; i < EVENTS; i++)
		fd[i] = ev_must(&a, -1, 0, -1, 0);
	for (i = 0; i < EVENTS; i++)
		ev_enable(fd[i]);
	usleep(100000);
	EXPECT_LT(have_run(fd), EVENTS);
	EXPECT_EQ(write_long(path, 1), 0);
	for (end = patience(); have_run(fd) < EVENTS && now_ns() < end;)
		usleep(1000);
	EXPECT_EQ(have_run(fd), EVENTS);
	EXPECT_EQ(write_long(path, old), 0);
	for (i = 0; i < EVENTS; i++)
		close(fd[i]);
}

TEST(uevents)
{
	ROWS("Y-14");
	char path[100];
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(pmus); i++) {
		snprintf(path, sizeof(path), "%s/%s/uevent", root(), pmus[i]);
		fd = open(path, O_RDWR);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(write(fd, "add", 3), 3);
		EXPECT_EQ(write(fd, "rubbish", 7), -1);
		EXPECT_EQ(errno, EINVAL);
		close(fd);
	}
}

TEST_HARNESS_MAIN
