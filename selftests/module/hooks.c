// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hooks for side-band records are called while an event requests such records.  Probes of
 * tracepoints are attached by the first event that needs them, and detached some time after the
 * last.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

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

/* The hook does nothing after the last event that requests its records is closed */
TEST(idle_when_unused)
{
	struct perf_event_attr a = attr_for("perf_event_comm");
	int fd = ev_must(&a, 0, -1, -1, 0);
	long n;

	do_comm();
	close(fd);
	n = calls("perf_event_comm");
	do_comm();
	EXPECT_GT(n, 0);
	EXPECT_EQ(calls("perf_event_comm"), n);
}

/* The rest of the line of the caps file that begins with @name, after the state */
static const char *caps_line(const char *name)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/caps", "r");
	static char line[256];
	const char *found = "";

	while (f && !*found && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ' ' &&
		    strlen(line) > 36)
			found = line + 36;
	if (f)
		fclose(f);
	return found;
}

static bool switch_attached(void)
{
	return strstr(caps_line("sched_switch"), "(attached)");
}

static bool faults_attached(void)
{
	return !strncmp(caps_line("page fault probes"), "attached", 8);
}

/* Numbers of attached and of unused probes of tracepoints */
static int points(int *unused)
{
	int all;

	if (sscanf(caps_line("tracepoint probes"), "%d attached, %d of", &all, unused) == 2)
		return all;
	*unused = -1;
	return -1;
}

/* Probes that were attached before the test's own, of tracepoints that it does not use */
static int others;

static bool point_attached(void)
{
	int unused;

	return points(&unused) > others;
}

static void do_switch(void)
{
	usleep(1);
}

static void do_fork(void)
{
	fflush(NULL);
	if (!fork())
		_exit(0);
	wait(NULL);
}

static void do_fault(void)
{
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*p = 1;
	munmap((void *)p, 4096);
}

static void do_call(void)
{
	syscall(SYS_getppid);
}

static struct perf_event_attr attr_of_point(const char *name)
{
	char path[128];
	struct perf_event_attr a;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	a = ev_attr(PERF_TYPE_TRACEPOINT, read_long(path));
	a.disabled = 0;
	return a;
}

/* More than the calls after which an unused probe is detached (kernel/compat/detach.h) */
#define MANY	3600

/*
 * The probe stays attached after the event is closed, and costs nothing any more once it was
 * called often enough.
 */
static void must_stay_attached(struct __test *_metadata, struct perf_event_attr *a,
			bool (*attached)(void), void (*trigger)(void))
{
	uint64_t until;
	int i, unused;

	a->disabled = 0;
	close(ev_must(a, 0, -1, -1, 0));
	EXPECT_TRUE(attached());
	until = patience();
	do {
		for (i = 0; i < MANY; i++)
			trigger();
		usleep(100000);
	} while (attached() && now_ns() < until);
	EXPECT_FALSE(attached());
	/* It is attached again; meanwhile, those of others may have been detached, too */
	others = points(&unused);
	close(ev_must(a, 0, -1, -1, 0));
	EXPECT_TRUE(attached());
}

TEST_TIMEOUT(the_switch_stays_attached, 150)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);

	must_stay_attached(_metadata, &a, switch_attached, do_switch);
}

/* An empty context is kept for a second, and may be active: the hook stays as long, however often it was called */
TEST_TIMEOUT(an_empty_context_keeps_the_switch, 150)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	uint64_t closed, until = patience();
	bool attached;
	int i;

	do {
		close(ev_must(&a, 0, -1, -1, 0));
		closed = now_ns();
		for (i = 0; i < MANY / 2; i++)	/* away and back */
			do_switch();
		usleep(10000);
		attached = switch_attached();
		/* On a slow machine it may have retired meanwhile */
	} while (now_ns() - closed > 800000000 && now_ns() < until);
	if (now_ns() - closed > 800000000)
		SKIP(return, "no second was long enough");
	EXPECT_TRUE(attached);
}

TEST_TIMEOUT(page_faults_stay_attached, 150)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	must_stay_attached(_metadata, &a, faults_attached, do_fault);
}

/*
 * The last call without need has queued the work that detaches the probes.  It cannot run before
 * they are used again, because the task has the CPU for itself.
 */
TEST_TIMEOUT(used_before_it_is_detached, 150)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	struct sched_param first = { .sched_priority = 1 };
	uint64_t before;
	int i, j, fd;

	a.disabled = 0;
	pin_to(0);
	ASSERT_EQ(sched_setscheduler(0, SCHED_FIFO, &first), 0);
	for (i = 0; i < 3; i++) {
		close(ev_must(&a, 0, -1, -1, 0));
		for (j = 0; j < MANY; j++)
			do_fault();
		fd = ev_must(&a, 0, -1, -1, 0);
		usleep(100000);
		before = ev_count(fd);
		do_fault();
		EXPECT_EQ(ev_count(fd), before + 1);
		close(fd);
	}
}

TEST_TIMEOUT(a_tracepoint_stays_attached, 150)
{
	struct perf_event_attr a = attr_of_point("sched/sched_process_wait");
	int unused;

	if (slow() > 1)
		SKIP(return, "thousands of forks take minutes on this kernel");
	others = points(&unused);
	must_stay_attached(_metadata, &a, point_attached, do_fork);
}

TEST_TIMEOUT(a_system_call_stays_attached, 150)
{
	struct perf_event_attr a = attr_of_point("syscalls/sys_enter_getpgid");
	int unused;

	others = points(&unused);
	must_stay_attached(_metadata, &a, point_attached, do_call);
}

/* Hits while the probe has no users are not counted; those after the next open are */
TEST(counts_while_used)
{
	struct perf_event_attr one = attr_of_point("syscalls/sys_enter_getppid");
	struct perf_event_attr two = attr_of_point("syscalls/sys_enter_getpgid");
	int i, j, fd, other;

	for (i = 0; i < 3; i++) {
		fd = ev_must(&one, 0, -1, -1, 0);
		other = ev_must(&two, 0, -1, -1, 0);
		for (j = 0; j < 5; j++)
			do_call();
		EXPECT_EQ(ev_count(fd), 5);
		close(fd);
		/* The other keeps the probe for all system calls in use */
		for (j = 0; j < 10; j++)
			do_call();
		syscall(SYS_getpgid, 0);
		EXPECT_EQ(ev_count(other), 1);
		close(other);
		do_call();
	}
}

/* Not more than this many probes of tracepoints are unused and attached */
#define MOST	64

TEST(few_stay_attached)
{
	struct perf_event_attr a;
	char path[300], *at;
	int all, unused, n = 0;
	FILE *list;

	list = popen("cd /sys/kernel/tracing/events && echo syscalls/sys_enter_*/id", "r");
	ASSERT_NE(list, NULL);
	while (n < 2 * MOST && fscanf(list, "%299s", path) == 1) {
		at = strrchr(path, '/');
		*at = 0;
		a = attr_of_point(path);
		close(ev_must(&a, 0, -1, -1, 0));
		n++;
	}
	pclose(list);
	EXPECT_EQ(n, 2 * MOST);
	all = points(&unused);
	EXPECT_EQ(all, unused);
	EXPECT_GT(unused, 0);
	EXPECT_LE(unused, MOST);
}

TEST_HARNESS_MAIN
