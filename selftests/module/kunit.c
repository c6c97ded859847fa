// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pure parts of the module as suites of KUnit (selftests/kunit): each test loads KUnit and the module
 * with the suites, which runs one of them, and finds its results in the kernel log.  On a kernel without
 * KUnit it is skipped.  Only the kernel debug has it.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"

#define FOLDER	"/tests/kunit/"
#define KUNIT	FOLDER "kunit.ko"
#define SUITES	FOLDER "kpmu-kunit.ko"

struct results {
	int planned;		/* cases of the suite */
	int passed;
	int failed;
	bool suite;		/* it has passed as a whole */
};

/* Load a module with parameters; 0 or the errno */
static int load(const char *path, const char *params)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	err = syscall(SYS_finit_module, fd, params, 0) ? errno : 0;
	close(fd);
	return err;
}

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/* A line of the log: the results of cases are indented, those of suites are not */
static void judge(const char *line, const char *suite, struct results *r)
{
	char name[64];
	int n;

	if (sscanf(line, "    1..%d", &n) == 1 && line[0] == ' ')
		r->planned += n;
	else if (!strncmp(line, "    ok ", 7))
		r->passed++;
	else if (!strncmp(line, "    not ok ", 11))
		r->failed++;
	else if (sscanf(line, "ok %*d %63s", name) == 1 && !strcmp(name, suite))
		r->suite = true;
}

/* Show and judge what the log has from the position of @log on */
static struct results read_log(int log, const char *suite)
{
	struct results r = {};
	char record[8192], *line;
	ssize_t n;

	while ((n = read(log, record, sizeof(record) - 1)) > 0) {
		record[n] = 0;
		/* After the line come those with key and value */
		line = strchr(record, ';');
		if (!line++)
			continue;
		line[strcspn(line, "\n")] = 0;
		printf("#   %s\n", line);
		judge(line, suite, &r);
	}
	return r;
}

/* @rows: of conformance.md; not printed if the suite does not run, as most kernels have no KUnit */
static void run_suite(struct __test *_metadata, const char *suite, const char *rows)
{
	char params[128];
	struct results r;
	int log;

	if (access(KUNIT, R_OK))
		SKIP(return, "this kernel has no KUnit");
	ROWS(rows);
	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_GE(log, 0);
	ASSERT_GE(lseek(log, 0, SEEK_END), 0);
	snprintf(params, sizeof(params), "enable=1 autorun=1 filter_glob=%s", suite);
	ASSERT_EQ(load(KUNIT, params), 0);
	EXPECT_EQ(load(SUITES, ""), 0);
	r = read_log(log, suite);
	EXPECT_EQ(unload("kpmu_kunit"), 0);
	EXPECT_EQ(unload("kunit"), 0);
	EXPECT_GT(r.planned, 0);
	EXPECT_EQ(r.passed, r.planned);
	EXPECT_EQ(r.failed, 0);
	EXPECT_TRUE(r.suite);
}

TEST(assign)
{
	run_suite(_metadata, "kpmu_assign", "Q-13");
}

TEST(attr)
{
	run_suite(_metadata, "kpmu_attr", "A-04 A-05 A-06 E-14 E-16 E-17 E-24 E-34 E-37");
}

TEST(branch)
{
	run_suite(_metadata, "kpmu_branch", "S-19");
}

TEST(period)
{
	run_suite(_metadata, "kpmu_period", "A-30");
}

TEST(ring)
{
	run_suite(_metadata, "kpmu_ring", "R-03 R-05 R-06 R-07 R-14 R-25 M-28");
}

TEST(ring_many)
{
	run_suite(_metadata, "kpmu_ring_many", "R-05 R-06 R-14 R-25 M-28");
}

TEST_HARNESS_MAIN
