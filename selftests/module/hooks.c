// SPDX-License-Identifier: GPL-2.0-only
/* Hooks for side-band records: attached while an event requests such records, and called. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "cgroup.h"
#include "event.h"
#include "harness.h"

/* Number of calls of a hook, from the caps file; -1 if this kernel does not support the hook */
static long calls(const char *func)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/caps", "r");
	char line[256], name[64], state[32];
	const char *at;
	long n = -1;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %31s", name, state) != 2 ||
		    strcmp(name, func) || strcmp(state, "ok"))
			continue;
		at = strrchr(line, '(');
		if (at)
			n = strtol(at + 1, NULL, 10);
	}
	if (f)
		fclose(f);
	return n;
}

static void do_mmap(void)
{
	munmap(mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	       4096);
}

static void do_comm(void)
{
	prctl(PR_SET_NAME, "hooked");
}

static void do_namespaces(void)
{
	unshare(CLONE_NEWUTS);
}

static void do_cgroup(void)
{
	struct cgroup root, c;

	cgroup_v2();
	cgroup_root(&root);
	cgroup_make(&c, &root, "module_hooks");
	cgroup_remove(&c);
}

static struct perf_event_attr attr_for(const char *func)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.mmap = !strcmp(func, "perf_event_mmap");
	a.comm = !strcmp(func, "perf_event_comm");
	a.namespaces = !strcmp(func, "perf_event_namespaces");
	a.cgroup = !strcmp(func, "perf_cgroup_css_online");
	return a;
}

TEST(fire)
{
	static const struct {
		const char *func;
		void (*trigger)(void);
	} hooks[] = {
		{ "perf_event_mmap", do_mmap },
		{ "perf_event_comm", do_comm },
		{ "perf_event_namespaces", do_namespaces },
		{ "perf_cgroup_css_online", do_cgroup },
	};
	long before, after;
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(hooks); i++) {
		struct perf_event_attr a = attr_for(hooks[i].func);

		fd = ev_must(&a, 0, -1, -1, 0);
		before = calls(hooks[i].func);
		EXPECT_GE(before, 0);
		hooks[i].trigger();
		after = calls(hooks[i].func);
		TH_LOG("%s: %ld calls, then %ld", hooks[i].func, before, after);
		EXPECT_GT(after, before);
		close(fd);
	}
}

/* The hook is detached, with a delay, after the last event that requests its records is closed */
TEST(detached_when_unused)
{
	struct perf_event_attr a = attr_for("perf_event_comm");
	int fd = ev_must(&a, 0, -1, -1, 0), i;
	long n, m = 0;

	close(fd);
	for (i = 0; i < 100; i++) {
		usleep(100000);
		n = calls("perf_event_comm");
		do_comm();
		m = calls("perf_event_comm");
		if (n == m)
			break;
	}
	EXPECT_GE(n, 0);
	EXPECT_EQ(n, m);
}

TEST_HARNESS_MAIN
