// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open tracepoint events by id, as root, and compare the errno with native perf's.  The low ids
 * belong to ftrace's own record types, which have no tracepoint: kpmu must not treat them as such.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define IDS		4096
#define LOW		18	/* ids below are ftrace's own on every kernel */
#define FUNCTION	1	/* ftrace:function, the only low id that perf accepts */

static int native_errno(struct perf_event_attr *a)
{
	int fd = syscall(SYS_perf_event_open, a, 0, -1, -1, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/*
 * The errno for ftrace:function according to Documentation/abi.rst.  Native perf is not asked: its
 * open would trace all functions, which takes seconds.
 */
static int of_function(const struct perf_event_attr *a)
{
	if (!a->sample_period)
		return EOPNOTSUPP;
	return a->exclude_callchain_user && !(a->sample_type & PERF_SAMPLE_STACK_USER) ?
		EOPNOTSUPP : EINVAL;
}

/* Return: 1 if the errno of kpmu is not the expected one, else 0 */
static int differs(struct perf_event_attr *a)
{
	int ours = ev_errno(a, 0, -1, -1, 0);
	int theirs = a->config == FUNCTION ? of_function(a) : native_errno(a);

	if (ours == theirs)
		return 0;
	printf("# id %#llx, sample_type %#llx, period %llu: %d, natively %d\n",
	       (unsigned long long)a->config, (unsigned long long)a->sample_type,
	       (unsigned long long)a->sample_period, ours, theirs);
	return 1;
}

static struct perf_event_attr tp(uint64_t id)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, id);

	a.exclude_kernel = 0;
	return a;
}

static int all_ways(uint64_t id)
{
	static const uint64_t types[] = {
		0, PERF_SAMPLE_IP, PERF_SAMPLE_RAW, PERF_SAMPLE_STACK_USER,
	};
	struct perf_event_attr a;
	int i, n = 0;

	for (i = 0; i < 4 * ARRAY_SIZE(types); i++) {
		a = tp(id);
		a.sample_type = types[i / 4];
		a.sample_stack_user = a.sample_type & PERF_SAMPLE_STACK_USER ? 8 : 0;
		a.exclude_callchain_user = i & 1;
		a.sample_period = i & 2 ? 1 : 0;
		n += differs(&a);
	}
	return n;
}

/* The ids of ftrace's own record types, which are not tracepoints */
TEST(low)
{
	int id, n = 0;

	for (id = 0; id < LOW; id++)
		n += all_ways(id);
	EXPECT_EQ(n, 0);
}

/* Closing the last event of a tracepoint waits for RCU, so only some of the ids are opened */
TEST(up_to_4096)
{
	struct perf_event_attr a;
	int id, n = 0;

	for (id = LOW; id <= IDS; id += id < LOW + 8 ? 1 : 61) {
		a = tp(id);
		a.sample_type = id % 2 ? PERF_SAMPLE_RAW : 0;
		n += differs(&a);
	}
	EXPECT_EQ(n, 0);
}

/* All 64 bits of config are the id: the low bits alone must not match a tracepoint */
TEST(all_64_bits)
{
	uint64_t x = 88172645463325252ULL;
	struct perf_event_attr a;
	int i, n = 0;

	for (i = 0; i < 100; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		a = tp(x);
		n += differs(&a);
		a = tp((x & ~0xffffffffULL) | i);
		n += differs(&a);
		a = tp(0x80000000ULL | i);
		n += differs(&a);
	}
	a = tp(~0ULL);
	n += differs(&a);
	EXPECT_EQ(n, 0);
}

TEST(unprivileged)
{
	ROWS("E-40");
	struct perf_event_attr a;
	int id, n = 0;

	set_paranoid(2);
	drop_privilege();
	for (id = 0; id < LOW; id++) {
		a = tp(id);
		a.exclude_kernel = 1;
		if (id == FUNCTION) {
			EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EPERM);
			continue;
		}
		n += differs(&a);
	}
	EXPECT_EQ(n, 0);
}

TEST_HARNESS_MAIN
