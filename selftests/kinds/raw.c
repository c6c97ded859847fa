// SPDX-License-Identifier: GPL-2.0-only
/* Raw events: bits of config that are used, ignored and refused. */
#define _GNU_SOURCE
#include <sys/ioctl.h>

#include "attr.h"
#include "harness.h"

#define N 100000

static int raw_errno(uint64_t config)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, config);

	return ev_errno(&a, 0, -1, -1, 0);
}

static uint64_t count_of(uint64_t config)
{
	int fd = ev_self(PERF_TYPE_RAW, config, -1);
	uint64_t v;

	work_counted(fd, N, 0);
	v = ev_count(fd);
	close(fd);
	return v;
}

TEST(same_as_generic)
{
	ROWS("T-05");
	uint64_t v = count_of(0x00c0);

	EXPECT_GE(v, WORK_INSNS(N));
	EXPECT_LE(v, WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
	v = count_of(RAW_BRANCHES);
	EXPECT_GE(v, WORK_BRANCHES(N));
	EXPECT_LE(v, WORK_BRANCHES(N) + SLACK(N));
}

TEST(loads_and_stores)
{
	ROWS("T-05");
	uint64_t v;

	if (!cpu_model())
		SKIP(return, "no codes known for this CPU");
	v = count_of(RAW_LOADS);
	EXPECT_GE(v, WORK_LOADS(N));
	EXPECT_LE(v, WORK_LOADS(N) + SLACK(N));
	v = count_of(RAW_STORES);
	EXPECT_GE(v, WORK_STORES(N));
	EXPECT_LE(v, WORK_STORES(N) + SLACK(N));
}

/* Some programs (rr) pass the whole value of PERFEVTSELx as config */
TEST(full_register_value)
{
	ROWS("T-05 T-81");
	static const uint64_t bits[] = {
		1 << 16, 1 << 17, 1 << 20, 1 << 22, 0x510000, 0x530000,
		1 << 19, 0x5b0000,
	};
	int nr = is_amd() ? ARRAY_SIZE(bits) - 2 : ARRAY_SIZE(bits);
	uint64_t v;

	EXPECT_EQ(raw_errno(0x5101c4), 0);
	EXPECT_EQ(raw_errno(0x5301c4), 0);
	for (int i = 0; i < nr; i++) {
		/* Ignored: the kernel sets these bits, USR and OS by the exclude flags */
		v = count_of(RAW_BRANCHES | bits[i]);
		EXPECT_GE(v, WORK_BRANCHES(N));
		EXPECT_LE(v, WORK_BRANCHES(N) + SLACK(N));
	}
}

TEST(privilege_comes_from_the_attr)
{
	ROWS("A-23 A-24");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, 0x00c4 | 1 << 17);
	int fd;

	a.exclude_kernel = 1;
	a.exclude_user = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd, N, 0);
	EXPECT_EQ(ev_count(fd), 0);
	/* The OS bit in config does not add kernel mode to a user-only event */
	a.exclude_user = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd, N, 0);
	EXPECT_LE(ev_count(fd), WORK_BRANCHES(N) + SLACK(N));
}

/*
 * Edge, inv and cmask.  In the QEMU model an instruction takes two cycles and retires in one of
 * them: half of the cycles have one instruction, the other half have none.
 */
TEST(modifiers)
{
	ROWS("T-05");
	uint64_t cmask1 = 0x00c0 | 1 << 24, cmask2 = 0x00c0 | 2 << 24;
	uint64_t inv = 1 << 23, edge = 1 << 18;

	EXPECT_EQ(raw_errno(cmask1), 0);
	EXPECT_EQ(raw_errno(cmask1 | inv), 0);
	EXPECT_EQ(raw_errno(cmask1 | edge), 0);
	EXPECT_EQ(raw_errno(cmask1 | edge | inv), 0);
	EXPECT_EQ(raw_errno(0x00c0 | 0xffULL << 24), 0);
	if (!exact())
		return;
	EXPECT_EQ(count_of(cmask1), WORK_INSNS(N));
	EXPECT_EQ(count_of(cmask2), 0);
	EXPECT_EQ(count_of(cmask1 | inv), WORK_INSNS(N));
	EXPECT_EQ(count_of(cmask2 | inv), 2 * WORK_INSNS(N));
	EXPECT_EQ(count_of(cmask1 | edge), WORK_INSNS(N));
}

/* Fixed counters have no modifiers: an event with cmask can use general counters only */
TEST(modifiers_are_not_for_fixed_counters)
{
	ROWS("Q-13");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, 0x00c0 | 1 << 24);
	int gp = counters_general(), lead, i;

	lead = ev_must(&a, 0, -1, -1, 0);
	a.disabled = 0;
	for (i = 1; i < gp; i++)
		ev_must(&a, 0, -1, lead, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), EINVAL);
	a.config = 0x00c0;
	if (counters_fixed())
		EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), 0);
}

TEST(low_bits_accepted)
{
	ROWS("E-20");
	/* The models define all bits below 32, except AnyThread (bit 21) on some, and pin control */
	for (int bit = 0; bit < 32; bit++) {
		if (bit == 21 || (bit == 19 && is_amd()))
			continue;
		EXPECT_EQ(raw_errno(RAW_BRANCHES | 1ULL << bit), 0);
	}
}

/* AMD has bits 11:8 of the event in 35:32, and bits for guest and host, which kpmu sets itself */
TEST(high_bits)
{
	ROWS("E-20 T-05");
	if (!is_amd())
		SKIP(return, "not AMD");
	for (int bit = 32; bit < 36; bit++)
		EXPECT_EQ(raw_errno(RAW_BRANCHES | 1ULL << bit), 0);
	EXPECT_EQ(count_of(RAW_BRANCHES | 1ULL << 40), WORK_BRANCHES(N));
	EXPECT_EQ(count_of(RAW_BRANCHES | 1ULL << 41), WORK_BRANCHES(N));
	/* The clock of a constant frequency, and the event without its high bits */
	if (cpu_model() == CPU_ZEN && exact()) {
		EXPECT_EQ(count_of(0x100000120), 3 * WORK_INSNS(N));
		EXPECT_EQ(count_of(0x0120), 0);
	}
}

/* AnyThread counts the sibling hyperthread too.  Only PMU versions 3 and 4 have it. */
TEST(any_thread)
{
	bool has = pmu_version() >= 3 && pmu_version() < 5;
	int err = raw_errno(RAW_BRANCHES | 1 << 21);
	char path[100];

	if (has)
		EXPECT_EQ(err, 0);
	else
		EXPECT_EQ(err, EINVAL);
	snprintf(path, sizeof(path), "/sys/bus/%s/devices/cpu/format/any",
		 route_is_native() ? "event_source" : "kpmu");
	EXPECT_EQ(!access(path, F_OK), has);
}

TEST(code_0_names_fixed_counters)
{
	ROWS("Q-13");
	uint64_t v;

	if (counters_fixed() < 3)
		SKIP(return, "less than 3 fixed counters");
	v = count_of(0x0300);
	EXPECT_GT(v, 0);
	if (exact())
		EXPECT_EQ(v, 3 * WORK_INSNS(N));
	if (cpu_model() == CPU_ICELAKE || cpu_model() == CPU_SPR) {
		v = count_of(0x0100);
		EXPECT_GE(v, WORK_INSNS(N));
		EXPECT_LE(v, WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
	}
}

TEST(pseudo_event_0x0200)
{
	ROWS("Q-13");
	if (cpu_model() != CPU_ICELAKE && cpu_model() != CPU_SPR)
		SKIP(return, "not on this CPU");
	EXPECT_GT(count_of(0x0200), 0);
	EXPECT_EQ(count_of(0x0200), count_of(0x003c));
}

/* Event code 0 is for fixed counters only, and these have no modifiers */
TEST(code_0_with_a_modifier)
{
	ROWS("T-20");
	if (counters_fixed() < 3)
		SKIP(return, "less than 3 fixed counters");
	EXPECT_EQ(raw_errno(0x0300 | 1 << 24), EINVAL);
	EXPECT_EQ(raw_errno(0x0300 | 1 << 18), EINVAL);
}

/* A few events use config1, e.g. offcore events; the others ignore it */
TEST(config1)
{
	ROWS("A-70");
	union any_attr x;

	any_init(&x);
	x.a.type = PERF_TYPE_RAW;
	x.a.config = RAW_BRANCHES;
	any_put(&x, AT_CONFIG1, 8, ~0ULL);
	EXPECT_EQ(any_errno(&x), 0);
	if (cpu_model() != CPU_SKYLAKE)
		return;
	/* OFFCORE_RESPONSE_0 and _1 */
	x.a.config = 0x01b7;
	any_put(&x, AT_CONFIG1, 8, 0x10001);
	EXPECT_EQ(any_errno(&x), 0);
	any_put(&x, AT_CONFIG1, 8, 1ULL << 40);
	EXPECT_EQ(any_errno(&x), EINVAL);
	x.a.config = 0x01bb;
	EXPECT_EQ(any_errno(&x), EINVAL);
	any_put(&x, AT_CONFIG1, 8, 0x10001);
	EXPECT_EQ(any_errno(&x), 0);
	/* MSR_PEBS_FRONTEND, which the CPU model does not have */
	x.a.config = 0x01c6;
	any_put(&x, AT_CONFIG1, 8, 0x11);
	if (exact())
		EXPECT_EQ(any_errno(&x), ENXIO);
	any_put(&x, AT_CONFIG1, 8, 1ULL << 40);
	EXPECT_EQ(any_errno(&x), EINVAL);
}

static int offcore(uint64_t code, uint64_t rsp, int group)
{
	union any_attr x;

	any_init(&x);
	x.a.type = PERF_TYPE_RAW;
	x.a.config = code;
	x.a.disabled = group < 0;
	any_put(&x, AT_CONFIG1, 8, rsp);
	return ev_open(&x.a, 0, -1, group, 0);
}

/* There are two OFFCORE_RSP registers: both event codes can use either, for two values at a time */
TEST(two_offcore_registers)
{
	ROWS("A-70 Q-13 E-22");
	int lead;

	if (cpu_model() != CPU_SKYLAKE)
		SKIP(return, "not Skylake");
	lead = offcore(0x01b7, 0x10001, -1);
	ASSERT_GE(lead, 0);
	EXPECT_GE(offcore(0x01b7, 0x10001, lead), 0);	/* same value, same register */
	EXPECT_GE(offcore(0x01b7, 0x10002, lead), 0);	/* uses the other register */
	EXPECT_EQ(offcore(0x01b7, 0x18000, lead), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(offcore(0x01bb, 0x18000, lead), -1);
	EXPECT_GE(offcore(0x01bb, 0x10001, lead), 0);
}

/* Two events in separate groups, with different OFFCORE_RSP values, count independently */
TEST(two_offcore_values)
{
	ROWS("A-70 Q-13");
	enum { LINE = 64, LINES = 10000, OURS = 64 };
	static char buf[LINE * LINES];
	uint64_t loads, stores;
	int l, s;

	if (cpu_model() != CPU_SKYLAKE)
		SKIP(return, "not Skylake");
	memset(buf, 1, sizeof(buf));
	l = offcore(0x01b7, 0x10001, -1);
	s = offcore(0x01b7, 0x10002, -1);
	ASSERT_GE(l, 0);
	ASSERT_GE(s, 0);
	ev_enable(s);
	load_counted(l, LINES, buf, LINE);
	ev_disable(s);
	loads = ev_count(l);
	stores = ev_count(s);
	printf("# loads: %llu beside %llu\n", (long long)loads, (long long)stores);
	EXPECT_GE(loads, LINES);
	EXPECT_LE(loads, LINES + OURS);
	EXPECT_LE(stores, OURS);
	ev_enable(l);
	store_counted(s, LINES, buf, LINE);
	ev_disable(l);
	loads = ev_count(l) - loads;
	stores = ev_count(s) - stores;
	printf("# stores: %llu beside %llu\n", (long long)stores, (long long)loads);
	EXPECT_GE(stores, LINES);
	EXPECT_LE(stores, LINES + OURS);
	EXPECT_LE(loads, OURS);
}

TEST_HARNESS_MAIN
