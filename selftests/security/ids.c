// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracepoints by every id that there could be, by root: the low ones belong to ftrace's own
 * records, which have no tracepoint, and nothing may be taken for one.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define IDS		4096
#define LOW		18	/* up to here they are ftrace's own on every kernel */
#define FUNCTION	1	/* ftrace:function, the only low one that perf has */

static int native_errno(struct perf_event_attr *a)
{
	int fd = syscall(SYS_perf_event_open, a, 0, -1, -1, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* What Documentation/abi.rst says; natively it takes seconds to trace all functions */
static int of_function(const struct perf_event_attr *a)
{
	if (!a->sample_period)
		return EOPNOTSUPP;
	return a->exclude_callchain_user && !(a->sample_type & PERF_SAMPLE_STACK_USER) ?
		EOPNOTSUPP : EINVAL;
}

/* 1 if the columns differ */
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

/* Those of ftrace's own records, which are no tracepoints */
TEST(low)
{
	int id, n = 0;

	for (id = 0; id < LOW; id++)
		n += all_ways(id);
	EXPECT_EQ(n, 0);
}

/* To close the last event of a tracepoint takes RCU's time, so not each of them */
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

/* What is looked up is the whole number */
TEST(wide)
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
