// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-exec: serves perf_event_open(2) however a program makes the system call. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "run.h"

#define EXEC	"/tests/kpmu-exec "
/* Send signals to what was started last, until it ends, and return its status */
#define SIGNALS	"while kill -CHLD $! 2>/dev/null; do :; done; wait $!"

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

/* A static program with inline SYSCALL and INT 0x80; it also prints errors of failing opens */
TEST(static_program)
{
	as_native(_metadata, "/tests/client_raw", 3);
}

/* Opens in a constructor (also after exec), in main(), in a thread, in a child, after exec */
TEST(dynamic_program)
{
	as_native(_metadata, "/tests/client_libc", 6);
}

/* Its BPF program writes to a bpf-output event, which has to be one of native perf */
TEST(bpf_program)
{
	int status;

	as_native(_metadata, "/tests/client_bpf ioctl", 1);
	as_native(_metadata, "/tests/client_bpf link", 1);
	if (exact())
		EXPECT_TRUE(has_line(run(EXEC "/tests/client_bpf link", &status),
				     "link: 10 records, in order"));
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

/* kpmu-exec ends with the program's exit status or signal */
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

/*
 * A program that frees much memory at its end can make no calls any more, but has not ended yet.  A signal must not
 * end the wait for it.
 */
TEST(signals_while_the_program_ends)
{
	int status;

	for (int i = 0; i < 3; i++) {
		run(EXEC "dd if=/dev/zero of=/dev/null bs=300M count=1 2>/dev/null & " SIGNALS, &status);
		EXPECT_EQ(WEXITSTATUS(status), 0);
	}
}

/* Processes that the program leaves running are still served */
TEST(orphans_are_served)
{
	const char *got;
	int status;

	got = run(EXEC "sh -c '(sleep 1; /tests/client_libc exec) & exit 3'", &status);
	EXPECT_EQ(WEXITSTATUS(status), 3);
	EXPECT_TRUE(has_line(got, "exec: fd 3, 4003"));
}

/* Each of several concurrent clients gets its own results */
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

/* Unprivileged programs can open the user-mode events that they could open natively */
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

/* At paranoid level 3 all opens of an unprivileged program fail with EACCES */
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
