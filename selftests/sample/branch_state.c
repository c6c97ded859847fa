// SPDX-License-Identifier: GPL-2.0-only
/* What kpmu says of events with branch records and of precise ones: KPMU_IOC_EXPLAIN, debugfs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "branch.h"
#include "module.h"
#include "msr.h"

/* The module is unloaded, so no child may have the device open from its start */
const bool ev_device_late = true;

static struct kpmu_explain_event ev[3];
static struct perf_event_attr attr[3];

static int explain(int nr)
{
	struct kpmu_explain set = {
		.size = sizeof(ev[0]), .nr = nr, .cpu = -1, .events = (uintptr_t)ev,
	};

	memset(ev, 0, sizeof(ev));
	for (int i = 0; i < nr; i++) {
		ev[i].attr = (uintptr_t)&attr[i];
		ev[i].group = -1;
	}
	return ioctl(ev_device(), KPMU_IOC_EXPLAIN, &set) ? errno : 0;
}

/* Branches, which only general counters count */
static struct perf_event_attr branches(uint64_t type)
{
	struct perf_event_attr a = branch_attr(1 << 30, type);

	a.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	return a;
}

TEST(rules)
{
	ROWS("W-01");
	NEED_BRANCHES();
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	attr[0] = branches(PERF_SAMPLE_BRANCH_ANY);
	attr[1] = branches(PERF_SAMPLE_BRANCH_ANY);
	attr[1].sample_type = PERF_SAMPLE_IP;
	attr[1].branch_sample_type = 0;
	ASSERT_EQ(explain(2), 0);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(ev[i].error, 0);
		EXPECT_EQ(ev[i].fits, 1);
	}
	EXPECT_EQ(ev[0].rules, ev[1].rules | KPMU_RULE_BRANCHES);
	EXPECT_EQ(ev[1].rules & KPMU_RULE_BRANCHES, 0);
}

/* The records have one filter at a time */
TEST(filters)
{
	ROWS("W-01 W-03");
	NEED_BRANCHES();
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	attr[0] = branches(PERF_SAMPLE_BRANCH_COND);
	attr[1] = branches(PERF_SAMPLE_BRANCH_ANY_CALL);
	attr[2] = branches(PERF_SAMPLE_BRANCH_COND);
	ASSERT_EQ(explain(3), 0);
	EXPECT_EQ(ev[0].fits, 1);
	EXPECT_EQ(ev[1].fits, 0);
	EXPECT_EQ(ev[1].blocker, 0);
	EXPECT_TRUE(strstr(ev[1].text, "branch"));
	EXPECT_EQ(ev[2].fits, 1);
}

TEST(precise)
{
	ROWS("W-01");
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	attr[0] = branches(PERF_SAMPLE_BRANCH_ANY);
	attr[0].sample_type = PERF_SAMPLE_IP;
	attr[0].branch_sample_type = 0;
	attr[1] = attr[0];
	attr[0].precise_ip = 2;
	if (is_amd() || ev_errno(&attr[0], 0, -1, -1, 0))
		SKIP(return, "this CPU has no precise events");
	ASSERT_EQ(explain(2), 0);
	EXPECT_EQ(ev[0].fits, 1);
	EXPECT_EQ(ev[1].fits, 1);
	EXPECT_EQ(ev[0].rules & ~KPMU_RULE_TABLE, KPMU_RULE_PRECISE);
	EXPECT_EQ(ev[1].rules & ~KPMU_RULE_TABLE, 0);
}

/* What debugfs says of the branch records of CPU 0 */
static const char *state(void)
{
	static char line[200];
	FILE *f = fopen("/sys/kernel/debug/kpmu/cpus", "r");

	while (f && fgets(line, sizeof(line), f) && strncmp(line, "branch records: ", 16))
		;
	if (f)
		fclose(f);
	return line;
}

TEST(debugfs)
{
	struct perf_event_attr a;
	const char *text;
	int fd;

	NEED_BRANCHES();
	if (route_is_native())
		SKIP(return, "native perf does not have this");
	pin_to(0);
	a = branches(PERF_SAMPLE_BRANCH_ANY);
	fd = ev_must(&a, -1, 0, -1, 0);
	EXPECT_EQ(strncmp(state(), "branch records: off", 19), 0);
	ev_enable(fd);
	text = state();
	EXPECT_EQ(strncmp(text, "branch records: on, filter 0x", 29), 0);
	EXPECT_NE(strtol(text + 27, NULL, 16), 0);
	ev_disable(fd);
	EXPECT_EQ(strncmp(state(), "branch records: off", 19), 0);
}

/* Where recording is switched on; what a CPU does not have is 0 or cannot be read */
static const struct {
	uint32_t msr;
	uint64_t bits;
} switched_by[] = {
	{ 0x14ce, 1 },		/* IA32_LBR_CTL */
	{ 0xc000010f, 1 << 6 },	/* DBG_EXTN_CFG of AMD */
	{ 0x1d9, 1 },		/* IA32_DEBUGCTL */
};

static bool recording(uint64_t *value)
{
	bool known = false;
	uint64_t v;
	int i;

	*value = 0;
	for (i = 0; i < ARRAY_SIZE(switched_by); i++) {
		if (!msr_read(0, switched_by[i].msr, &v))
			continue;
		*value |= v & switched_by[i].bits;
		known = true;
	}
	return known;
}

/* Branches are recorded while an event asks for it, and at no other time */
TEST(recorded_on_demand)
{
	struct perf_event_attr a;
	uint64_t value;
	int fd;

	ROWS("S-18");
	NEED_BRANCHES();
	pin_to(0);
	if (!recording(&value))
		SKIP(return, "the registers cannot be read");
	EXPECT_EQ(value, 0);
	a = branches(PERF_SAMPLE_BRANCH_ANY);
	fd = ev_must(&a, -1, 0, -1, 0);
	ev_enable(fd);
	EXPECT_TRUE(recording(&value));
	EXPECT_NE(value, 0);
	ev_disable(fd);
	EXPECT_TRUE(recording(&value));
	EXPECT_EQ(value, 0);
	close(fd);
}

/* The addresses that branches came from: of Intel, architectural ones of Intel, of AMD */
static const uint32_t first_from[] = { 0x680, 0x1500, 0xc0010300 };

/* Number of records that are not empty */
static int records(void)
{
	int i, n, found = 0;
	uint64_t v;

	for (i = 0; i < ARRAY_SIZE(first_from); i++)
		for (n = 0; n < MAX_DEPTH; n++)
			found += msr_read(0, first_from[i] + n * (first_from[i] >> 31 ? 2 : 1), &v) && v;
	return found;
}

/* Record branches, in a process of its own, which has the device open; how many records that leaves */
static int record_some(void)
{
	pid_t child = fork();
	struct perf_event_attr a;
	int fd, status = 0;

	if (!child) {
		a = branches(PERF_SAMPLE_BRANCH_ANY);
		fd = ev_must(&a, -1, 0, -1, 0);
		work_counted(fd, 1000, 0);
		_exit(records());
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* The next user of the registers does not see the branches of an event that is gone */
TEST(wiped_in_the_end)
{
	uint64_t value;

	NEED_BRANCHES();
	if (route_is_native())
		SKIP(return, "about kpmu's unloading");
	pin_to(0);
	if (!recording(&value))
		SKIP(return, "the registers cannot be read");
	EXPECT_GT(record_some(), 0);
	ASSERT_EQ(module_unload_at_last(), 0);
	EXPECT_EQ(records(), 0);
	EXPECT_TRUE(recording(&value));
	EXPECT_EQ(value, 0);
	ASSERT_EQ(module_load(""), 0);
}

TEST_HARNESS_MAIN
