// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu diverts perf_event_open(2) and may pass the call on to the kernel's own function.  Such a
 * call must be diverted only once, also if the function graph tracer has replaced its return
 * address on the stack.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define TRACING		"/sys/kernel/tracing/"
#define REDIRECT	"/proc/sys/kernel/kpmu/redirect"
#define CALL		"__x64_sys_perf_event_open"

static bool put_text(const char *path, const char *text, int flags)
{
	int fd = open(path, O_WRONLY | flags);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Number of diverted calls according to the caps file, -1 if it does not list the function */
static long diverted(void)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/caps", "r");
	char line[256], *at;
	long n = -1;

	while (f && fgets(line, sizeof(line), f)) {
		at = strrchr(line, '(');
		if (at && strstr(line, CALL) == line)
			n = strtol(at + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return n;
}

static void open_natively(struct __test *_metadata)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_TASK_CLOCK);
	long before = diverted();
	int i, fd;

	for (i = 0; i < 10; i++) {
		fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
		EXPECT_GE(fd, 0);
		close(fd);
	}
	EXPECT_EQ(diverted() - before, 10);
}

static void end_tracing(void)
{
	put_text(TRACING "current_tracer", "nop", 0);
	put_text(TRACING "set_ftrace_filter", "\n", O_TRUNC);
}

TEST(diverted_once)
{
	if (write_long(REDIRECT, 1))
		SKIP(return, "no redirection");
	write_long(REDIRECT, 0);
	ASSERT_GE(diverted(), 0);
	open_natively(_metadata);
	/* Trace only the system call and kpmu's functions; tracing all functions would be slow */
	if (!put_text(TRACING "set_ftrace_filter", CALL, O_TRUNC) ||
	    !put_text(TRACING "set_ftrace_filter", ":mod:kpmu", O_APPEND) ||
	    !put_text(TRACING "current_tracer", "function_graph", 0)) {
		end_tracing();
		SKIP(return, "no function graph tracer");
	}
	atexit(end_tracing);
	open_natively(_metadata);
}

TEST_HARNESS_MAIN
