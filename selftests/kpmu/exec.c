// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-exec: programs that make their system calls as they like. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "run.h"

#define EXEC	"/tests/kpmu-exec "

static void as_native(struct __test *_metadata, const char *client, int events)
{
	char command[128], *want;
	const char *got;
	long before;
	int status;

	want = strdup(run(client, &status));
	ASSERT_EQ(status, 0);
	before = opens();
	snprintf(command, sizeof(command), EXEC "%s", client);
	got = run(command, &status);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(opens() - before, events);
	EXPECT_FALSE(strcmp(want, got));
	if (strcmp(want, got))
		printf("# native:\n%s# by kpmu-exec:\n%s", want, got);
	free(want);
}

/* A static program with SYSCALL and INT 0x80 of its own; each errno */
TEST(static_program)
{
	as_native(_metadata, "/tests/client_raw", 3);
}

/* Constructor, main, thread, child, exec */
TEST(dynamic_program)
{
	as_native(_metadata, "/tests/client_libc", 6);
}

TEST(expected_counts)
{
	const char *got;
	int status;

	got = run(EXEC "/tests/client_raw", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(has_line(got, "instructions 40003 branches 10001"));
	EXPECT_TRUE(has_line(got, "bad memory -14"));
	EXPECT_TRUE(has_line(got, "bad group -9"));
	EXPECT_TRUE(has_line(got, "bad task -3"));
	EXPECT_TRUE(has_line(got, "bad flags -22"));
	EXPECT_TRUE(has_line(got, "too large -7 1"));
	EXPECT_TRUE(has_line(got, "32 bits ok"));
}

/* It ends as the program ends */
TEST(exit_status)
{
	int status;

	run(EXEC "sh -c 'exit 7'", &status);
	EXPECT_EQ(WEXITSTATUS(status), 7);
	run(EXEC "/nowhere", &status);
	EXPECT_EQ(WEXITSTATUS(status), 127);
	run(EXEC "/etc/passwd", &status);
	EXPECT_EQ(WEXITSTATUS(status), 126);
	run(EXEC, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	run("exec " EXEC "sh -c 'kill -TERM $$'", &status);
	EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 128 + 15);
}

/* What outlives the program is served on */
TEST(left_behind)
{
	const char *got;
	int status;

	got = run(EXEC "sh -c '(sleep 1; /tests/client_libc exec) & exit 3'", &status);
	EXPECT_EQ(WEXITSTATUS(status), 3);
	EXPECT_TRUE(has_line(got, "exec: fd 3, 4003"));
}

/* Several at a time, each with its own answers */
TEST(many_at_once)
{
	const char *got;
	int status, n = 0;

	got = run(EXEC "sh -c 'for i in 1 2 3 4 5 6; do /tests/client_raw & done; wait'",
		  &status);
	EXPECT_EQ(status, 0);
	for (; (got = strstr(got, "instructions 40003 branches 10001")); got++)
		n++;
	EXPECT_EQ(n, 6);
}

/* Without privileges: what the program may not, kpmu-exec does not give it */
TEST(unprivileged)
{
	const char *got;
	int status;

	set_paranoid(2);
	ASSERT_EQ(chmod("/dev/kpmu", 0666), 0);
	drop_privilege();
	got = run(EXEC "/tests/client_raw", &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(has_line(got, "instructions 40003 branches 10001"));
}

TEST(unprivileged_at_level_3)
{
	const char *got;
	int status;

	set_paranoid(3);
	ASSERT_EQ(chmod("/dev/kpmu", 0666), 0);
	drop_privilege();
	got = run(EXEC "/tests/client_raw", &status);
	EXPECT_TRUE(has_line(got, "open -13 -13"));
}

static void __attribute__((destructor)) as_before(void)
{
	if (getuid())
		return;
	chmod("/dev/kpmu", 0600);
	set_paranoid(2);
}

TEST_HARNESS_MAIN
