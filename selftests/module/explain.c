// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_EXPLAIN: what it says of a set of events is what happens when they are opened. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "explain.h"
#include "harness.h"

TEST(counters)
{
	ROWS("W-01");
	NEED_PMU();
	int gp = counters_general(), i;
	uint32_t used = 0;

	start(gp + 2);
	for (i = 0; i <= gp; i++)
		dry(i, RAW_BRANCHES, -1);
	dry(i, 0, -1);
	attr[i] = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	ASSERT_EQ(ask(), 0);
	for (i = 0; i < gp; i++) {
		EXPECT_EQ(ev[i].error, 0);
		EXPECT_EQ(ev[i].fits, 1);
		EXPECT_EQ(ev[i].blocker, -1);
		EXPECT_EQ(ev[i].allowed, (1U << gp) - 1);
		EXPECT_EQ(ev[i].rules, 0);
		EXPECT_EQ(ev[i].text[0], 0);
		EXPECT_TRUE(ev[i].counter >= 0 && ev[i].counter < gp);
		used |= 1U << ev[i].counter;
	}
	EXPECT_EQ(used, (1U << gp) - 1);
	EXPECT_EQ(ev[gp].fits, 0);
	EXPECT_EQ(ev[gp].counter, -1);
	EXPECT_EQ(ev[gp].blocker, gp - 1);
	EXPECT_EQ(strcmp(ev[gp].text, "no usable counter is free"), 0);
	/* A software event needs no counter */
	EXPECT_EQ(ev[gp + 1].fits, 1);
	EXPECT_EQ(ev[gp + 1].allowed, 0);
	EXPECT_EQ(ev[gp + 1].counter, -1);
	/* All of them are still free */
	for (i = 0; i < gp; i++)
		EXPECT_GE(ev_self(PERF_TYPE_RAW, RAW_BRANCHES, -1), 0);
}

TEST(rules)
{
	ROWS("W-01");

	if (!has_pmu() || cpu_model() != CPU_SKYLAKE)
		SKIP(return, "not Skylake's PMU");
	start(4);
	dry(0, 0x00c0, -1);		/* instructions: general and fixed */
	dry(1, 0x0300, -1);		/* reference cycles: fixed only */
	dry(2, 0x01c0, -1);		/* counter 1 only */
	dry(3, 0x01b7, -1);		/* offcore: an extra register */
	attr[3].config1 = 1;
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[0].rules, KPMU_RULE_FIXED);
	EXPECT_EQ(ev[1].rules, KPMU_RULE_FIXED | KPMU_RULE_TABLE);
	EXPECT_EQ(ev[2].rules, KPMU_RULE_TABLE);
	EXPECT_EQ(ev[2].allowed, 2);
	EXPECT_EQ(ev[2].counter, 1);
	EXPECT_EQ(ev[3].rules, KPMU_RULE_EXTRA);
}

TEST(pinned_and_exclusive)
{
	ROWS("W-01 W-03");
	NEED_PMU();
	int gp = counters_general(), i;

	start(gp + 1);
	for (i = 0; i <= gp; i++)
		dry(i, RAW_BRANCHES, -1);
	attr[gp].pinned = 1;
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[gp].fits, 1);
	EXPECT_EQ(ev[gp - 1].fits, 0);
	EXPECT_EQ(ev[gp - 1].blocker, gp - 2);

	attr[gp].exclusive = 1;
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[gp].fits, 1);
	EXPECT_EQ(ev[0].fits, 0);
	EXPECT_EQ(ev[0].blocker, gp);
	EXPECT_EQ(strcmp(ev[0].text, "an exclusive group runs"), 0);

	/* A group that is larger than the number of counters */
	attr[gp].pinned = 0;
	attr[gp].exclusive = 0;
	for (i = 1; i <= gp; i++)
		ev[i].group = 0;
	ASSERT_EQ(ask(), 0);
	for (i = 0; i <= gp; i++) {
		EXPECT_EQ(ev[i].fits, 0);
		EXPECT_EQ(ev[i].blocker, -1);
		EXPECT_EQ(strcmp(ev[i].text, "even alone: no usable counter is free"), 0);
	}
}

/* More events than a CPU has counters at all */
TEST(large_group)
{
	ROWS("W-01 W-03");
	NEED_PMU();
	const int nr = 33;

	start(nr + 1);
	for (int i = 0; i <= nr; i++) {
		dry(0, RAW_BRANCHES, -1);
		ev[i].attr = ev[0].attr;
		ev[i].group = i % nr ? 0 : -1;
	}
	ASSERT_EQ(ask(), 0);
	for (int i = 0; i < nr; i++) {
		EXPECT_EQ(ev[i].error, 0);
		EXPECT_EQ(ev[i].fits, 0);
		EXPECT_EQ(ev[i].blocker, -1);
		EXPECT_EQ(strcmp(ev[i].text, "even alone: no usable counter is free"), 0);
	}
	EXPECT_EQ(ev[nr].fits, 1);
}

/* A program that was built with the first version of the structure */
TEST(first_version)
{
	ROWS("W-44");
	NEED_PMU();
	static struct { char v0[2][KPMU_EXPLAIN_SIZE_VER0]; uint64_t end[4]; } old;
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	struct kpmu_explain_event e;

	start(1);
	memset(&old, 0x55, sizeof(old));
	for (int i = 0; i < 2; i++) {
		memset(old.v0[i], 0, sizeof(old.v0[i]));
		e = (struct kpmu_explain_event){ .attr = (uintptr_t)&a, .group = -1 };
		memcpy(old.v0[i], &e, sizeof(old.v0[i]));
	}
	set.size = KPMU_EXPLAIN_SIZE_VER0;
	set.nr = 2;
	set.events = (uintptr_t)old.v0;
	ASSERT_EQ(ask(), 0);
	for (int i = 0; i < 2; i++) {
		memcpy(&e, old.v0[i], sizeof(old.v0[i]));
		EXPECT_EQ(e.fits, 1);
		EXPECT_EQ(e.error, 0);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(old.end[i], 0x5555555555555555);
}

TEST(events_that_cannot_be_opened)
{
	ROWS("W-05");
	NEED_PMU();

	start(5);
	dry(0, RAW_BRANCHES, -1);
	attr[0].type = 12345;
	dry(1, RAW_BRANCHES, 0);
	dry(2, RAW_BRANCHES, -1);
	attr[2].read_format = 1ULL << 60;
	ev[3].fd = ev_device();
	ev[4].fd = -1;
	ASSERT_EQ(ask(), 0);
	EXPECT_EQ(ev[0].error, ENOENT);
	EXPECT_EQ(strcmp(ev[0].text, "no such event type"), 0);
	EXPECT_EQ(ev[1].error, EBADF);
	EXPECT_EQ(strcmp(ev[1].text, "its leader cannot be opened"), 0);
	EXPECT_EQ(ev[2].error, EINVAL);
	EXPECT_EQ(ev[3].error, EBADF);
	EXPECT_EQ(ev[4].error, EBADF);
	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(ev[i].fits, 0);
		EXPECT_EQ(ev[i].counter, -1);
	}
}

TEST(unprivileged)
{
	ROWS("W-05");
	NEED_PMU();
	start(2);
	dry(0, RAW_BRANCHES, -1);
	dry(1, RAW_BRANCHES, -1);
	attr[1].exclude_kernel = 0;
	set_paranoid(2);
	drop_privilege();
	EXPECT_EQ(ask(), 0);
	EXPECT_EQ(ev[0].error, 0);
	EXPECT_EQ(ev[1].error, EACCES);
	/* Events of a CPU need more */
	set.pid = -1;
	set.cpu = 0;
	EXPECT_EQ(ask(), 0);
	EXPECT_EQ(ev[0].error, EACCES);
}

TEST(bad_arguments)
{
	ROWS("W-05");
	NEED_PMU();
	static char large[2][4096];
	struct kpmu_explain good;
	void *only_read;

	start(1);
	dry(0, RAW_BRANCHES, -1);
	good = set;
	ASSERT_EQ(ask(), 0);
#define BAD(field, value, err)	do { set = good; set.field = value; EXPECT_EQ(ask(), err); } while (0)
	BAD(size, KPMU_EXPLAIN_SIZE_VER0 - 1, EINVAL);
	BAD(size, sizeof(large[0]) + 1, EINVAL);
	BAD(nr, 0, EINVAL);
	BAD(nr, KPMU_EXPLAIN_MAX + 1, EINVAL);
	BAD(pid, 1, EINVAL);
	BAD(pid, -1, EINVAL);		/* no CPU */
	BAD(cpu, 100000, EINVAL);
	BAD(cpu, -2, EINVAL);
	BAD(events, 8, EFAULT);
	EXPECT_EQ(ioctl(ev_device(), KPMU_IOC_EXPLAIN, 8) ? errno : 0, EFAULT);
	/* What it says cannot be written there */
	only_read = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(only_read, MAP_FAILED);
	memcpy(only_read, ev, sizeof(ev[0]));
	BAD(events, (uintptr_t)only_read, 0);
	ASSERT_EQ(mprotect(only_read, 4096, PROT_READ), 0);
	BAD(events, (uintptr_t)only_read, EFAULT);
	set = good;
	ev[0].group = 0;
	EXPECT_EQ(ask(), EINVAL);
	ev[0].group = 5;
	EXPECT_EQ(ask(), EINVAL);
	ev[0].group = -2;
	EXPECT_EQ(ask(), EINVAL);
	ev[0].group = -1;
	/* A later version's structure: the rest must be 0 */
	memcpy(large[0], ev, sizeof(ev[0]));
	set.size = sizeof(large[0]);
	set.events = (uintptr_t)large;
	EXPECT_EQ(ask(), 0);
	large[0][sizeof(ev[0])] = 1;
	EXPECT_EQ(ask(), E2BIG);
}

/* ---- random sets ---------------------------------------------------------------- */

static uint64_t state = 1;

static unsigned int below(unsigned int n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

/* Events with different requirements; not all exist on each CPU */
static const struct perf_event_attr pool[] = {
	{ .type = PERF_TYPE_RAW, .config = RAW_BRANCHES },
	{ .type = PERF_TYPE_RAW, .config = RAW_LOADS },
	{ .type = PERF_TYPE_RAW, .config = 0x01c0 },
	{ .type = PERF_TYPE_RAW, .config = 0x0148 },
	{ .type = PERF_TYPE_RAW, .config = 0x01b7, .config1 = 1 },
	{ .type = PERF_TYPE_RAW, .config = 0x01b7, .config1 = 2 },
	{ .type = PERF_TYPE_RAW, .config = 0x01bb, .config1 = 1 },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
	{ .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_REF_CPU_CYCLES },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY },
};

enum { FLEXIBLE, PINNED, MIXED };

/* Groups of one to three events */
static int random_set(int kind)
{
	int nr = 2 + below(MAX - 2), lead = -1, left = 0;

	start(nr);
	for (int i = 0; i < nr; i++) {
		const struct perf_event_attr *p = &pool[below(ARRAY_SIZE(pool))];

		attr[i] = ev_attr(p->type, p->config);
		attr[i].config1 = p->config1;
		attr[i].read_format = FORMAT_TIMES;
		attr[i].disabled = 0;
		if (!left) {
			lead = i;
			left = 1 + below(3);
			attr[i].pinned = kind == PINNED || (kind == MIXED && below(2));
			attr[i].exclusive = !below(12);
		}
		left--;
		ev[i].attr = (uintptr_t)&attr[i];
		ev[i].group = lead == i ? -1 : lead;
	}
	return nr;
}

/* A group that does not fit even alone cannot be opened: such sets are not used */
static bool can_be_opened(int nr)
{
	for (int i = 0; i < nr; i++)
		if (ev[i].error || !strncmp(ev[i].text, "even alone", 10))
			return false;
	return true;
}

static int lead_of(int i)
{
	return ev[i].group < 0 ? i : ev[i].group;
}

static int open_set(int nr, int *fd)
{
	int opened = 0;

	for (int i = 0; i < nr; i++) {
		fd[i] = ev_open(&attr[i], 0, -1, lead_of(i) == i ? -1 : fd[lead_of(i)], 0);
		opened += fd[i] >= 0;
	}
	return opened;
}

static void close_set(int nr, int *fd)
{
	for (int i = 0; i < nr; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* Pinned groups get counters in their order, or are in error: then a read returns 0 */
static int wrong_pinned(int nr, int *fd)
{
	uint64_t v[3];
	int bad = 0;

	for (int i = 0; i < nr; i++)
		if (attr[i].pinned)
			bad += (read(fd[i], v, sizeof(v)) != 0) != ev[i].fits;
	return bad;
}

/* Flexible groups all count all the time, or at least one waits */
static int wrong_flexible(int nr, int *fd)
{
	bool fit = true, ran = true;

	work(1000);
	for (int i = 0; i < nr; i++) {
		struct ev_times t = ev_times(fd[i]);

		fit &= ev[i].fits;
		ran &= t.running == t.enabled;
	}
	return fit != ran;
}

/*
 * Without the blocker of @of, and the others that do not fit, @of must fit; with the blocker it
 * must not.
 */
static int wrong_blocker(int nr, int of)
{
	struct kpmu_explain_event all[MAX];
	int index[MAX], bad = 0;

	memcpy(all, ev, sizeof(all));
	for (int with = 0; with < 2; with++) {
		set.nr = 0;
		for (int i = 0; i < nr; i++) {
			int lead = all[i].group < 0 ? i : all[i].group;

			if ((lead == all[of].blocker && !with) ||
			    (!all[i].fits && lead != (all[of].group < 0 ? of : all[of].group)))
				continue;
			index[i] = set.nr;
			ev[set.nr] = all[i];
			ev[set.nr++].group = lead == i ? -1 : index[lead];
		}
		if (ask())
			return 1;
		bad += ev[index[of]].fits == with;
	}
	memcpy(ev, all, sizeof(all));
	return bad;
}

static void random_sets(struct __test *_metadata, int kind, int sets)
{
	int fd[MAX], used = 0, bad = 0, misfits = 0, blockers = 0, wrong = 0;

	for (int n = 0; n < sets; n++) {
		int nr = random_set(kind);

		ASSERT_EQ(ask(), 0);
		if (!can_be_opened(nr))
			continue;
		used++;
		if (open_set(nr, fd) != nr)
			bad++;
		else
			bad += kind == FLEXIBLE ? wrong_flexible(nr, fd) : wrong_pinned(nr, fd);
		close_set(nr, fd);
		for (int i = 0; i < nr; i++) {
			misfits += !ev[i].fits;
			if (ev[i].blocker < 0)
				continue;
			blockers++;
			wrong += wrong_blocker(nr, i);
		}
	}
	printf("# %d of %d sets opened, %d events that do not fit, %d with a blocker\n", used, sets,
	       misfits, blockers);
	EXPECT_GT(used, sets / 8);
	EXPECT_GT(misfits, used / 8);
	EXPECT_GT(blockers, misfits / 8);
	EXPECT_EQ(bad, 0);
	EXPECT_EQ(wrong, 0);
}

/* Fewer on kernels other than 6.12, and on slow ones */
TEST(ten_thousand_sets)
{
	ROWS("W-02 W-03");
	NEED_PMU();
	random_sets(_metadata, PINNED, reduced(often(4000)));
	random_sets(_metadata, MIXED, reduced(often(3000)));
	random_sets(_metadata, FLEXIBLE, reduced(often(3000)));
}

TEST_HARNESS_MAIN
