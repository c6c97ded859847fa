// SPDX-License-Identifier: GPL-2.0-only
/* Events that wait for a counter are disabled, enabled and closed: the others run on. */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define MAX	40
#define ROUNDS	20

static int fd[MAX];

static int one(pid_t pid, int cpu)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return ev_must(&a, pid, cpu, -1, 0);
}

/* The first @nr events have counters all the time.  Natively they start at the next rotation */
static void all_run(struct __test *_metadata, int nr)
{
	struct ev_times before, after;
	int i;

	usleep(route_is_native() ? 50000 : 1000);
	for (i = 0; i < nr; i++) {
		before = ev_times(fd[i]);
		work(2000);
		after = ev_times(fd[i]);
		EXPECT_GE(after.value - before.value, 2000);
		EXPECT_EQ(after.running - before.running, after.enabled - before.enabled);
	}
}

/*
 * Some of the disabled events wait and some do not, as the rotation continues.  Once as many
 * are left as there are counters, all of these run.
 */
static void disable_and_enable(struct __test *_metadata, pid_t pid, int cpu)
{
	int gp = counters_general(), nr = 4 * gp < MAX ? 4 * gp : MAX, i, k;

	for (i = 0; i < nr; i++)
		fd[i] = one(pid, cpu);
	for (k = 0; k < ROUNDS; k++) {
		for (i = nr - 1; i >= gp; i--) {
			ev_disable(fd[i]);
			work(500 * (k % 5) + 1);
		}
		all_run(_metadata, gp);
		for (i = gp; i < nr; i++) {
			struct ev_times a = ev_times(fd[i]), b;

			work(100);
			b = ev_times(fd[i]);
			EXPECT_EQ(a.enabled, b.enabled);
			EXPECT_EQ(a.value, b.value);
		}
		for (i = gp; i < nr; i++)
			ev_enable(fd[i]);
		work(20000);
	}
	for (i = nr - 1; i >= gp; i--)
		close(fd[i]);
	all_run(_metadata, gp);
	for (i = 0; i < gp; i++)
		close(fd[i]);
}

TEST(of_a_task)
{
	ROWS("Q-01 I-01");
	disable_and_enable(_metadata, 0, -1);
}

TEST(of_a_cpu)
{
	ROWS("Q-01 I-01");
	ASSERT_EQ(pin_to(1), 0);
	disable_and_enable(_metadata, -1, 1);
}

/* Events bound to another CPU do not wait on this one */
TEST(bound_to_another_cpu)
{
	ROWS("Q-01");
	int gp = counters_general(), i, bound[4];

	ASSERT_EQ(pin_to(0), 0);
	for (i = 0; i < 4; i++)
		bound[i] = one(0, 1);
	for (i = 0; i < 2 * gp; i++)
		fd[i] = one(0, -1);
	work(20000);
	for (i = 0; i < 4; i++)
		ev_disable(bound[i]);
	for (i = 2 * gp - 1; i >= gp; i--)
		ev_disable(fd[i]);
	all_run(_metadata, gp);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(ev_times(bound[i]).running, 0);
}

TEST_HARNESS_MAIN
