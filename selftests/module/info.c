// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_INFO: the counters of a CPU and their holders. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"

#define SLOTS	32

static struct kpmu_info info;
static struct kpmu_info_counter counter[SLOTS];
static struct kpmu_ask_info question;

static int ask(int cpu)
{
	memset(&info, 0xff, sizeof(info));
	memset(counter, 0xff, sizeof(counter));
	question = (struct kpmu_ask_info) {
		.cpu = cpu, .size = sizeof(info), .info = (uintptr_t)&info,
		.counter_size = sizeof(counter[0]), .nr = SLOTS,
		.counters = (uintptr_t)counter,
	};
	return ioctl(ev_device(), KPMU_IOC_INFO, &question) ? errno : 0;
}

/* The counter that the event with this id is on, NULL if none is */
static const struct kpmu_info_counter *find(uint64_t id)
{
	for (unsigned int i = 0; i < info.nr_counters; i++)
		if (counter[i].id == id)
			return &counter[i];
	return NULL;
}

/* Number of counters whose event is not shown */
static int hidden(void)
{
	int n = 0;

	for (unsigned int i = 0; i < info.nr_counters; i++)
		n += counter[i].holder == KPMU_HOLDER_EVENT && !counter[i].id &&
		     !counter[i].pid && !counter[i].comm[0] && !counter[i].config;
	return n;
}

/* An event that starts enabled */
static struct perf_event_attr busy(void)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	attr.disabled = 0;
	return attr;
}

static uint32_t mask_of(int n)
{
	return (1U << n) - 1;
}

TEST(machine)
{
	ROWS("W-07");

	ASSERT_EQ(ask(0), 0);
	EXPECT_EQ(info.abi, KPMU_ABI);
	EXPECT_EQ(info.online, 1);
	EXPECT_EQ(info.reserved, 0);
	EXPECT_EQ(info.max_set, KPMU_EXPLAIN_MAX);
	EXPECT_GT(info.max_events, 1000);
	EXPECT_EQ(info.max_stack, read_long(sysctl_file("perf_event_max_stack")));
	EXPECT_EQ(info.max_rate, read_long(sysctl_file("perf_event_max_sample_rate")));
	set_paranoid(1);
	ask(0);
	EXPECT_EQ(info.paranoid, 1);
	EXPECT_EQ(info.drivers, 0);
	if (!has_pmu()) {
		EXPECT_EQ(info.general | info.fixed | info.free | info.nr_counters | info.width, 0);
		return;
	}
	EXPECT_EQ(info.general, mask_of(counters_general()));
	EXPECT_EQ(info.fixed, mask_of(counters_fixed()) << 16);
	EXPECT_EQ(info.width, counter_width());
	EXPECT_EQ(info.nr_counters, counters_general() + counters_fixed());
	EXPECT_EQ(info.free, info.general | info.fixed);
	EXPECT_EQ(info.holder, KPMU_HOLDER_NONE);
	EXPECT_EQ(!!info.precise, !!(info.features & KPMU_FEATURE_PRECISE));
	EXPECT_EQ(!!info.branches, !!(info.features & KPMU_FEATURE_BRANCHES));
	for (unsigned int i = 0; i < info.nr_counters; i++) {
		EXPECT_TRUE((info.general | info.fixed) & 1U << counter[i].counter);
		EXPECT_EQ(counter[i].holder, KPMU_HOLDER_NONE);
		EXPECT_EQ(counter[i].id, 0);
	}
	/* Behind the last counter nothing was written */
	EXPECT_EQ(counter[info.nr_counters].counter, -1U);
}

TEST(holders)
{
	ROWS("W-07 W-08");
	NEED_PMU();
	const struct kpmu_info_counter *c;
	uint32_t used = 0;
	int fd[2], of_cpu;
	struct perf_event_attr attr = busy();

	prctl(PR_SET_NAME, "info_holder");
	pin_to(0);
	for (int i = 0; i < 2; i++)
		fd[i] = ev_must(&attr, 0, -1, -1, 0);
	of_cpu = ev_must(&attr, -1, 0, -1, 0);
	ASSERT_EQ(ask(0), 0);
	EXPECT_EQ(info.holder, KPMU_HOLDER_EVENT);
	for (int i = 0; i < 2; i++) {
		c = find(ev_id(fd[i]));
		ASSERT_TRUE(c);
		EXPECT_EQ(c->holder, KPMU_HOLDER_EVENT);
		EXPECT_EQ(c->pid, syscall(SYS_gettid));
		EXPECT_EQ(c->type, PERF_TYPE_RAW);
		/* ev_open() replaces the code on AMD */
		EXPECT_EQ(c->config, is_amd() ? 0x00c2 : RAW_BRANCHES);
		EXPECT_EQ(strcmp(c->comm, "info_holder"), 0);
		used |= 1U << c->counter;
	}
	c = find(ev_id(of_cpu));
	ASSERT_TRUE(c);
	EXPECT_EQ(c->pid, -1);
	EXPECT_EQ(c->comm[0], 0);
	used |= 1U << c->counter;
	EXPECT_EQ(__builtin_popcount(used), 3);
	EXPECT_EQ(info.free, (info.general | info.fixed) & ~used);

	/* An event that is off has no counter */
	ev_disable(fd[0]);
	ASSERT_EQ(ask(0), 0);
	EXPECT_FALSE(find(ev_id(fd[0])));
	EXPECT_EQ(__builtin_popcount(info.free), (int)info.nr_counters - 2);
	/* Nor do events of this task hold counters of another CPU */
	ASSERT_EQ(ask(1), 0);
	EXPECT_FALSE(find(ev_id(fd[1])));
	EXPECT_EQ(info.free, info.general | info.fixed);
}

/* A task that runs on CPU 1 all the time, with an event */
static pid_t start_spinner(int *fd)
{
	struct perf_event_attr attr = busy();
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			asm volatile("");
	}
	pin_task(pid, 1);
	*fd = ev_must(&attr, pid, -1, -1, 0);
	return pid;
}

/* Ask about CPU 1 until its task holds a counter */
static bool sees_use(void)
{
	uint64_t end = patience();

	do {
		if (ask(1))
			return false;
	} while (info.free == (info.general | info.fixed) && now_ns() < end);
	return info.free != (info.general | info.fixed);
}

/* Run @fn in a child, and return what it returns */
static int in_child(int (*fn)(uint64_t id), uint64_t id)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(fn(id));
	waitpid(pid, &status, 0);
	return status;
}

static int see_hidden(uint64_t id)
{
	pin_to(0);
	drop_privilege();
	return sees_use() && !find(id) && hidden() == 1 ? 0 : 1;
}

static int see_in_namespace(uint64_t id)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWPID))
		return 2;
	pid = fork();
	if (!pid) {
		pin_to(0);
		_exit(sees_use() && !find(id) && hidden() == 1 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

TEST(others)
{
	ROWS("W-08");
	NEED_PMU();
	pid_t pid;
	int fd;

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	set_paranoid(2);
	pid = start_spinner(&fd);
	ASSERT_TRUE(sees_use());
	ASSERT_TRUE(find(ev_id(fd)));
	EXPECT_EQ(find(ev_id(fd))->pid, pid);
	EXPECT_EQ(in_child(see_hidden, ev_id(fd)), 0);
	EXPECT_EQ(in_child(see_in_namespace, ev_id(fd)), 0);
	kill(pid, SIGKILL);
}

static int see_own(uint64_t unused)
{
	struct perf_event_attr attr = busy();
	int fd;

	(void)unused;
	pin_to(1);
	drop_privilege();
	attr.exclude_kernel = 1;
	fd = ev_must(&attr, 0, -1, -1, 0);
	return ask(1) || !find(ev_id(fd)) || hidden() != 1;
}

/* Events of a CPU are shown to callers that have permission to open some */
TEST(cpu_events)
{
	ROWS("W-08");
	NEED_PMU();
	struct perf_event_attr attr = busy();

	if (nr_cpus() < 2)
		SKIP(return, "one CPU");
	set_paranoid(1);
	ev_must(&attr, -1, 1, -1, 0);
	EXPECT_EQ(in_child(see_own, 0), 0);
	set_paranoid(0);
	EXPECT_NE(in_child(see_own, 0), 0);
	set_paranoid(2);
}

TEST(native_holder)
{
	ROWS("W-07");
	NEED_PMU();
	struct perf_event_attr attr = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		SKIP(return, "native perf has no counters");
	ASSERT_EQ(ask(0), 0);
	EXPECT_EQ(info.holder, KPMU_HOLDER_KERNEL);
	EXPECT_EQ(info.free, 0);
	for (unsigned int i = 0; i < info.nr_counters; i++)
		EXPECT_EQ(counter[i].holder, KPMU_HOLDER_KERNEL);
	close(fd);
	/* Native perf frees them some time later */
	for (uint64_t end = patience(); !ask(0) && info.holder;)
		if (now_ns() > end)
			break;
	EXPECT_EQ(info.holder, KPMU_HOLDER_NONE);
	EXPECT_EQ(info.free, info.general | info.fixed);
	/* And asking has not taken them from it */
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	EXPECT_GE(fd, 0);
	close(fd);
}

TEST(offline_cpu)
{
	ROWS("W-07");
	int last = nr_cpus() - 1;

	if (!last || cpu_online(last, 0))
		SKIP(return, "no CPU can be taken offline");
	EXPECT_EQ(ask(last), 0);
	EXPECT_EQ(info.online, 0);
	EXPECT_EQ(info.free & (info.general | info.fixed), 0);
	cpu_online(last, 1);
	EXPECT_EQ(ask(last), 0);
	EXPECT_EQ(info.online, 1);
	EXPECT_EQ(info.free, info.general | info.fixed);
}

static int ask_again(void)
{
	return ioctl(ev_device(), KPMU_IOC_INFO, &question) ? errno : 0;
}

TEST(arguments)
{
	ROWS("W-09");
	static char large[4096];

	EXPECT_EQ(ask(-1), EINVAL);
	EXPECT_EQ(ask(1 << 20), EINVAL);
	ASSERT_EQ(ask(0), 0);
	question.size = sizeof(info) - 1;
	EXPECT_EQ(ask_again(), EINVAL);
	question.size = sizeof(large) + 1;
	EXPECT_EQ(ask_again(), EINVAL);
	ask(0);
	question.counter_size = sizeof(counter[0]) - 1;
	EXPECT_EQ(ask_again(), EINVAL);
	/* Not looked at without counters */
	question.nr = 0;
	EXPECT_EQ(ask_again(), 0);
	question.info = 16;
	EXPECT_EQ(ask_again(), EFAULT);
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_INFO, 16) ? errno : 0, EFAULT);

	/* A caller whose structure is larger finds 0 in the rest */
	ask(0);
	memset(large, 0xff, sizeof(large));
	question.info = (uintptr_t)large;
	question.size = sizeof(large) - 1;
	EXPECT_EQ(ask_again(), 0);
	EXPECT_EQ(memcmp(large, &info, offsetof(struct kpmu_info, reserved)), 0);
	for (size_t i = sizeof(info); i < sizeof(large) - 1; i++)
		EXPECT_EQ(large[i], 0);
	EXPECT_EQ(large[sizeof(large) - 1], (char)0xff);
	question.size = sizeof(large);
	EXPECT_EQ(ask_again(), 0);
	EXPECT_EQ(large[sizeof(large) - 1], 0);
	if (!has_pmu())
		return;
	/* No more elements than there is room for, and their distance is the caller's */
	ask(0);
	memset(counter, 0xff, sizeof(counter));
	question.nr = 2;
	question.counter_size = 2 * sizeof(counter[0]);
	EXPECT_EQ(ask_again(), 0);
	EXPECT_EQ(counter[0].counter, 0);
	EXPECT_EQ(counter[1].counter, 0);
	EXPECT_EQ(counter[2].counter, 1);
	EXPECT_EQ(counter[4].counter, -1U);
	question.counters = 16;
	EXPECT_EQ(ask_again(), EFAULT);
}

TEST_HARNESS_MAIN
