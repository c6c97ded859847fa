// SPDX-License-Identifier: GPL-2.0-only
/* struct perf_event_attr: sizes, offsets of fields, defined bits. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "attr.h"
#include "harness.h"

static union any_attr x;

static const int sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128 };
#define NR_SIZES	(ARRAY_SIZE(sizes))

/* Set all bytes from offset @from on.  The open fails if the kernel looks at them. */
static void garbage(int from)
{
	memset(x.byte + from, 0xff, sizeof(x) - from);
}

TEST(header_layout)
{
	ROWS("A-01 A-02 A-03 A-07 A-08 A-09 A-10 A-11");
	ASSERT_EQ(offsetof(struct perf_event_attr, type), AT_TYPE);
	ASSERT_EQ(offsetof(struct perf_event_attr, size), AT_SIZE);
	ASSERT_EQ(offsetof(struct perf_event_attr, config), AT_CONFIG);
	ASSERT_EQ(offsetof(struct perf_event_attr, sample_period), AT_PERIOD);
	ASSERT_EQ(offsetof(struct perf_event_attr, sample_freq), AT_PERIOD);
	ASSERT_EQ(offsetof(struct perf_event_attr, sample_type), AT_SAMPLE_TYPE);
	ASSERT_EQ(offsetof(struct perf_event_attr, read_format), AT_READ_FORMAT);
	ASSERT_EQ(offsetof(struct perf_event_attr, wakeup_events), AT_WAKEUP);
	ASSERT_EQ(offsetof(struct perf_event_attr, wakeup_watermark), AT_WAKEUP);
	ASSERT_EQ(offsetof(struct perf_event_attr, bp_type), AT_BP_TYPE);
	ASSERT_EQ(offsetof(struct perf_event_attr, bp_addr), AT_CONFIG1);
	ASSERT_EQ(offsetof(struct perf_event_attr, kprobe_func), AT_CONFIG1);
	ASSERT_EQ(offsetof(struct perf_event_attr, config1), AT_CONFIG1);
	ASSERT_EQ(offsetof(struct perf_event_attr, bp_len), AT_CONFIG2);
	ASSERT_EQ(offsetof(struct perf_event_attr, probe_offset), AT_CONFIG2);
	ASSERT_EQ(offsetof(struct perf_event_attr, config2), AT_CONFIG2);
	ASSERT_EQ(offsetof(struct perf_event_attr, branch_sample_type), AT_BRANCH);
	ASSERT_EQ(offsetof(struct perf_event_attr, sample_regs_user), AT_REGS_USER);
	ASSERT_EQ(offsetof(struct perf_event_attr, sample_stack_user), AT_STACK_USER);
	ASSERT_EQ(offsetof(struct perf_event_attr, clockid), AT_CLOCKID);
	ASSERT_EQ(offsetof(struct perf_event_attr, sample_regs_intr), AT_REGS_INTR);
	ASSERT_EQ(offsetof(struct perf_event_attr, aux_watermark), AT_AUX_WATERMARK);
	ASSERT_EQ(offsetof(struct perf_event_attr, sample_max_stack), AT_MAX_STACK);
	ASSERT_EQ(offsetof(struct perf_event_attr, aux_sample_size), AT_AUX_SAMPLE_SIZE);
	ASSERT_EQ(offsetof(struct perf_event_attr, sig_data), AT_SIG_DATA);
	ASSERT_GE(sizeof(struct perf_event_attr), 128);
}

/* The errno of an open with @val at offset @at of the attr; 0 if it succeeds */
static int place(int at, int bytes, uint64_t val, uint64_t sample_type)
{
	any_init(&x);
	any_put(&x, AT_SAMPLE_TYPE, 8, sample_type);
	any_put(&x, at, bytes, val);
	return any_errno(&x);
}

TEST(module_layout)
{
	ROWS("A-01 A-02 A-03 A-09 A-10 A-11 N-03 N-04");
	EXPECT_EQ(place(AT_TYPE, 4, 9999, 0), ENOENT);
	EXPECT_EQ(place(AT_SIZE, 4, 1, 0), E2BIG);
	EXPECT_EQ(place(AT_CONFIG, 8, 10, 0), EINVAL);
	EXPECT_EQ(place(AT_PERIOD, 8, 1ULL << 63, 0), EINVAL);
	EXPECT_EQ(place(AT_SAMPLE_TYPE, 8, 1ULL << 63, 0), EINVAL);
	EXPECT_EQ(place(AT_READ_FORMAT, 8, 1ULL << 63, 0), EINVAL);
	EXPECT_EQ(place(AT_FLAGS, 8, 1ULL << 63, 0), EINVAL);
	/* Fields that only samples use are checked only if sample_type selects them */
	EXPECT_EQ(place(AT_BRANCH, 8, 1ULL << 63, PERF_SAMPLE_BRANCH_STACK), EINVAL);
	EXPECT_EQ(place(AT_REGS_USER, 8, 1ULL << 12, PERF_SAMPLE_REGS_USER), EINVAL);
	EXPECT_EQ(place(AT_REGS_USER, 8, 1, PERF_SAMPLE_REGS_USER), 0);
	EXPECT_EQ(place(AT_STACK_USER, 4, 4, PERF_SAMPLE_STACK_USER), EINVAL);
	EXPECT_EQ(place(AT_STACK_USER, 4, 8, PERF_SAMPLE_STACK_USER), 0);
	EXPECT_EQ(place(AT_REGS_INTR, 8, 1ULL << 12, PERF_SAMPLE_REGS_INTR), EINVAL);
	EXPECT_EQ(place(AT_REGS_INTR, 8, 1, PERF_SAMPLE_REGS_INTR), 0);
	EXPECT_EQ(place(AT_MAX_STACK, 2, 128, PERF_SAMPLE_CALLCHAIN), EOVERFLOW);
	EXPECT_EQ(place(AT_MAX_STACK, 2, 127, PERF_SAMPLE_CALLCHAIN), 0);
	EXPECT_EQ(place(AT_RESERVED_2, 2, 1, 0), EINVAL);
	EXPECT_EQ(place(AT_RESERVED_2, 2, 0x8000, 0), EINVAL);
	EXPECT_EQ(place(AT_AUX_ACTION, 4, 8, 0), EINVAL);
	/* Requires an AUX event as group leader */
	EXPECT_EQ(place(AT_AUX_SAMPLE_SIZE, 4, 64, 0), EINVAL);
	/* A counting event ignores these fields */
	EXPECT_EQ(place(AT_WAKEUP, 4, ~0u, 0), 0);
	EXPECT_EQ(place(AT_BP_TYPE, 4, ~0u, 0), 0);
	EXPECT_EQ(place(AT_AUX_WATERMARK, 4, ~0u, 0), 0);
	EXPECT_EQ(place(AT_SIG_DATA, 8, ~0ULL, 0), 0);
	EXPECT_EQ(place(AT_CLOCKID, 4, ~0u, 0), 0);
}

/* An offcore event reads its response mask from config1: undefined bits are refused */
TEST(config1_is_read)
{
	ROWS("A-08");
	if (cpu_model() != CPU_SKYLAKE)
		SKIP(return, "not Skylake");
	any_init(&x);
	x.a.type = PERF_TYPE_RAW;
	x.a.config = 0x01b7;
	any_put(&x, AT_CONFIG1, 8, 0x10001);
	EXPECT_EQ(any_errno(&x), 0);
	any_put(&x, AT_CONFIG1, 8, 1ULL << 63);
	EXPECT_EQ(any_errno(&x), EINVAL);
}

TEST(published_sizes)
{
	ROWS("A-12 A-13 A-14 U-01 N-02");
	for (int i = 0; i < NR_SIZES; i++) {
		any_init(&x);
		garbage(sizes[i]);
		x.a.size = sizes[i];
		EXPECT_EQ(any_errno(&x), 0);
		if (_metadata->failed)
			ASSERT_EQ(sizes[i], 0);
	}
}

/* The count does not depend on attr.size */
TEST(short_attr_counts)
{
	ROWS("A-12 A-13 A-14");
	int i, fd;

	for (i = 0; i < NR_SIZES; i++) {
		any_init(&x);
		garbage(sizes[i]);
		x.a.size = sizes[i];
		fd = ev_must(&x.a, 0, -1, -1, 0);
		work_counted(fd, 1000, 0);
		EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
		EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
		close(fd);
	}
}

TEST(size_0_means_ver0)
{
	ROWS("U-04");
	any_init(&x);
	garbage(64);
	x.a.size = 0;
	EXPECT_EQ(any_errno(&x), 0);
	EXPECT_EQ(x.a.size, 0);
}

TEST(odd_sizes_with_zero_tail)
{
	ROWS("A-15");
	static const int odd[] = { 65, 66, 71, 73, 119, 127, 136, 144, 145, 200,
				   4088, 4095, 4096 };

	for (int i = 0; i < ARRAY_SIZE(odd); i++) {
		any_init(&x);
		x.a.size = odd[i];
		EXPECT_EQ(any_errno(&x), 0);
	}
}

/* The attr ends within a field: with size 111 it includes only the low byte of __reserved_2 */
TEST(size_within_field)
{
	ROWS("A-15");
	any_init(&x);
	x.a.type = PERF_TYPE_RAW;
	x.a.config = RAW_LOADS;
	memset(x.byte + 110, 0xff, 64);	/* from __reserved_2 on */
	x.a.size = 110;
	EXPECT_EQ(any_errno(&x), 0);
	x.a.size = 111;
	EXPECT_EQ(any_errno(&x), EINVAL);
}

static uint32_t newest(void)
{
	return route_is_native() ? 128 : ATTR_NEWEST;
}

TEST(too_small_or_too_big)
{
	ROWS("E-01 E-02 E-04");
	static const uint32_t bad[] = { 1, 8, 32, 63, 4097, 8192, 0x7fffffff,
					0xffffffff };

	for (int i = 0; i < ARRAY_SIZE(bad); i++) {
		any_init(&x);
		x.a.size = bad[i];
		EXPECT_EQ(any_errno(&x), E2BIG);
		EXPECT_GE(x.a.size, newest());
		EXPECT_LE(x.a.size, ATTR_NEWEST);
	}
}

TEST(unknown_tail_not_zero)
{
	ROWS("E-03 E-04");
	static const int at[] = { 144, 199, 1000, 4095 };

	for (int i = 0; i < ARRAY_SIZE(at); i++) {
		any_init(&x);
		x.byte[at[i]] = 1;
		x.a.size = at[i] < 200 ? 200 : 4096;
		EXPECT_EQ(any_errno(&x), E2BIG);
		EXPECT_GE(x.a.size, newest());
		EXPECT_LE(x.a.size, ATTR_NEWEST);
		/* The size that the kernel has written back is accepted */
		EXPECT_EQ(any_errno(&x), 0);
	}
}

/* E2BIG also if the kernel cannot write the expected size back */
TEST(too_big_and_read_only)
{
	ROWS("E-02");
	void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	any_init(&x);
	x.a.size = 5000;
	memcpy(page, &x, 8192);
	ASSERT_EQ(mprotect(page, 8192, PROT_READ), 0);
	EXPECT_EQ(ev_errno(page, 0, -1, -1, 0), E2BIG);
}

TEST(config3)
{
	ROWS("U-02");
	any_init(&x);
	x.a.size = 136;
	EXPECT_EQ(any_errno(&x), 0);
	any_put(&x, AT_CONFIG3, 8, 1);
	EXPECT_EQ(any_errno(&x), 0);
}

TEST(config4)
{
	ROWS("U-03");
	any_init(&x);
	x.a.size = 144;
	any_put(&x, AT_CONFIG4, 8, 1);
	EXPECT_EQ(any_errno(&x), 0);
	/* A value at offset 144 is ignored with size 144, and refused with size 152 */
	any_put(&x, AT_CONFIG4 + 8, 8, 1);
	EXPECT_EQ(any_errno(&x), 0);
	x.a.size = 152;
	EXPECT_EQ(any_errno(&x), E2BIG);
	EXPECT_EQ(x.a.size, 144);
}

TEST(reserved_flags)
{
	ROWS("A-06 A-86 E-24");
	for (int bit = F_RESERVED; bit < 64; bit++) {
		any_init(&x);
		any_flag(&x, bit);
		EXPECT_EQ(any_errno(&x), EINVAL);
	}
}

TEST(reserved_fields)
{
	ROWS("A-86 E-24");
	int bit;

	for (bit = 0; bit < 16; bit++)
		EXPECT_EQ(place(AT_RESERVED_2, 2, 1ULL << bit, 0), EINVAL);
	for (bit = 3; bit < 32; bit++)
		EXPECT_EQ(place(AT_AUX_ACTION, 4, 1ULL << bit, 0), EINVAL);
	/* Bytes beyond attr.size are not checked */
	any_init(&x);
	memset(x.byte + AT_RESERVED_2, 0xff, 2);
	x.a.size = 104;
	EXPECT_EQ(any_errno(&x), 0);
	any_init(&x);
	memset(x.byte + AT_AUX_ACTION, 0xff, 4);
	x.a.size = 112;
	EXPECT_EQ(any_errno(&x), 0);
}

/* Flags that a counting event accepts, one at a time */
TEST(flags_accepted)
{
	ROWS("A-04 A-05 A-06");
	static const uint8_t flags[] = {
		F_DISABLED, F_PINNED, F_EXCLUSIVE, F_EXCLUDE_USER,
		F_EXCLUDE_KERNEL, F_EXCLUDE_HV, F_EXCLUDE_IDLE, F_MMAP, F_COMM,
		F_FREQ, F_INHERIT_STAT, F_TASK, F_WATERMARK, F_MMAP_DATA,
		F_SAMPLE_ID_ALL, F_EXCLUDE_GUEST, F_EXCLUDE_CALLCHAIN_KERNEL,
		F_EXCLUDE_CALLCHAIN_USER, F_MMAP2, F_COMM_EXEC,
		F_CONTEXT_SWITCH, F_WRITE_BACKWARD, F_NAMESPACES, F_KSYMBOL,
		F_BPF_EVENT, F_CGROUP, F_TEXT_POKE, F_BUILD_ID,
	};

	for (int i = 0; i < sizeof(flags); i++) {
		any_init(&x);
		any_put(&x, AT_FLAGS, 8, 0);
		any_flag(&x, flags[i]);
		EXPECT_EQ(any_errno(&x), 0);
		if (_metadata->failed)
			ASSERT_EQ(flags[i], -1);
	}
}

TEST(conflicting_flags)
{
	ROWS("J-07 Z-05");
	any_init(&x);
	any_flag(&x, F_REMOVE_ON_EXEC);
	any_flag(&x, F_ENABLE_ON_EXEC);
	EXPECT_EQ(any_errno(&x), EINVAL);
	any_init(&x);
	any_flag(&x, F_SIGTRAP);
	EXPECT_EQ(any_errno(&x), EINVAL);
	any_init(&x);
	any_flag(&x, F_INHERIT_THREAD);
	EXPECT_EQ(any_errno(&x), EINVAL);
}

TEST(exclude_host_counts_nothing)
{
	int fd;

	/* No guest runs, so the event counts nothing */
	any_init(&x);
	any_flag(&x, F_EXCLUDE_HOST);
	ASSERT_EQ(any_errno(&x), 0);
	fd = ev_must(&x.a, 0, -1, -1, 0);
	work_counted(fd, 1000, 0);
	EXPECT_EQ(ev_count(fd), 0);
}

TEST(exclude_guest_no_effect)
{
	ROWS("A-41");
	int fd;

	any_init(&x);
	any_flag(&x, F_EXCLUDE_GUEST);
	fd = ev_must(&x.a, 0, -1, -1, 0);
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
}

TEST(exclude_hv_no_effect)
{
	ROWS("A-25");
	int fd[2];

	for (int hv = 0; hv < 2; hv++) {
		any_init(&x);
		x.a.exclude_hv = hv;
		fd[hv] = ev_must(&x.a, 0, -1, -1, 0);
		work_counted(fd[hv], 1000, 0);
		EXPECT_GE(ev_count(fd[hv]), WORK_INSNS(1000));
		EXPECT_LE(ev_count(fd[hv]), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
	}
}

TEST(freq_without_frequency_counts)
{
	ROWS("A-31");
	int fd;

	any_init(&x);
	any_flag(&x, F_FREQ);
	fd = ev_must(&x.a, 0, -1, -1, 0);
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
}

TEST(sample_type_bits)
{
	ROWS("E-17 S-44 S-45");
	int bit, err;

	for (bit = 0; bit < 64; bit++) {
		err = place(AT_SAMPLE_TYPE, 8, 1ULL << bit, 1ULL << bit);
		switch (bit) {
		case 11: case 12: case 18:
			/* BRANCH_STACK, REGS_USER and REGS_INTR require another field, here 0 */
			EXPECT_NE(err, 0);
			break;
		default:
			EXPECT_EQ(err, bit < 25 ? 0 : EINVAL);
		}
		if (_metadata->failed)
			ASSERT_EQ(bit, -1);
	}
}

TEST(read_format_bits)
{
	ROWS("E-16 F-01");
	for (int bit = 0; bit < 64; bit++)
		EXPECT_EQ(place(AT_READ_FORMAT, 8, 1ULL << bit, 0),
			  bit < 5 ? 0 : EINVAL);
	EXPECT_EQ(place(AT_READ_FORMAT, 8, 31, 0), 0);
	EXPECT_EQ(place(AT_READ_FORMAT, 8, 63, 0), EINVAL);
}

TEST(period_and_frequency)
{
	ROWS("E-14 Y-03");
	long rate = read_long(sysctl_file("perf_event_max_sample_rate"));

	EXPECT_EQ(place(AT_PERIOD, 8, 1ULL << 63, 0), EINVAL);
	EXPECT_EQ(place(AT_PERIOD, 8, ~0ULL, 0), EINVAL);
	any_init(&x);
	any_flag(&x, F_FREQ);
	any_put(&x, AT_PERIOD, 8, rate + 1);
	EXPECT_EQ(any_errno(&x), EINVAL);
	any_put(&x, AT_PERIOD, 8, 1ULL << 63);
	EXPECT_EQ(any_errno(&x), EINVAL);
}

static int branch(uint64_t mask)
{
	return place(AT_BRANCH, 8, mask, PERF_SAMPLE_BRANCH_STACK);
}

TEST(branch_bits)
{
	ROWS("A-74 E-34 U-17");
	int bit;

	EXPECT_EQ(branch(0), EINVAL);
	EXPECT_EQ(branch(7), EINVAL);
	EXPECT_EQ(branch(1), EINVAL);
	for (bit = 20; bit < 64; bit++)
		EXPECT_EQ(branch(8 | 1ULL << bit), EINVAL);
	/* Valid, but LBR is not supported */
	for (bit = 3; bit < 18; bit++)
		EXPECT_EQ(branch(1 | 1ULL << bit), EOPNOTSUPP);
	/* Ignored without BRANCH_STACK */
	EXPECT_EQ(place(AT_BRANCH, 8, ~0ULL, 0), 0);
}

TEST(register_masks)
{
	ROWS("A-78 U-25");
	EXPECT_EQ(place(AT_REGS_USER, 8, 0xff0fff, PERF_SAMPLE_REGS_USER), 0);
	EXPECT_EQ(place(AT_REGS_USER, 8, 0, PERF_SAMPLE_REGS_USER), EINVAL);
	EXPECT_EQ(place(AT_REGS_USER, 8, 1ULL << 12, 0), 0);
	EXPECT_EQ(place(AT_REGS_INTR, 8, 0xff0fff, PERF_SAMPLE_REGS_INTR), 0);
	EXPECT_EQ(place(AT_REGS_INTR, 8, 0, PERF_SAMPLE_REGS_INTR), EINVAL);
	EXPECT_EQ(place(AT_REGS_INTR, 8, 1ULL << 12, 0), 0);
	/* DS, ES, FS, GS (bits 12 to 15) are not available, bits 24 to 31 not defined */
	for (int bit = 12; bit < 32; bit = bit == 15 ? 24 : bit + 1) {
		EXPECT_EQ(place(AT_REGS_USER, 8, 1ULL << bit,
				PERF_SAMPLE_REGS_USER), EINVAL);
		EXPECT_EQ(place(AT_REGS_INTR, 8, 1ULL << bit,
				PERF_SAMPLE_REGS_INTR), EINVAL);
	}
}

/* XMM registers: EOPNOTSUPP from upstream's generic code, EINVAL from its x86 code */
TEST(extended_registers)
{
	ROWS("U-24");
	int err = place(AT_REGS_USER, 8, 1ULL << 32, PERF_SAMPLE_REGS_USER);

	EXPECT_TRUE(err == EOPNOTSUPP || err == EINVAL);
	err = place(AT_REGS_INTR, 8, 1ULL << 32, PERF_SAMPLE_REGS_INTR);
	EXPECT_TRUE(err == EOPNOTSUPP || err == EINVAL);
}

/* XMM registers are refused even if sample_type selects no registers */
TEST(extended_registers_unused)
{
	ROWS("U-24");
	int err = place(AT_REGS_USER, 8, 1ULL << 32, 0);

	EXPECT_TRUE(err == EOPNOTSUPP || err == EINVAL);
	err = place(AT_REGS_INTR, 8, 1ULL << 63, 0);
	EXPECT_TRUE(err == EOPNOTSUPP || err == EINVAL);
}

TEST(user_stack_size)
{
	ROWS("A-80");
	static const uint32_t bad[] = { 1, 4, 7, 9, 65535, 65536, 65544,
					0xfffffff8 };
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(place(AT_STACK_USER, 4, bad[i], PERF_SAMPLE_STACK_USER),
			  EINVAL);
	EXPECT_EQ(place(AT_STACK_USER, 4, 0, PERF_SAMPLE_STACK_USER), 0);
	EXPECT_EQ(place(AT_STACK_USER, 4, 65528, PERF_SAMPLE_STACK_USER), 0);
	EXPECT_EQ(place(AT_STACK_USER, 4, 65535, 0), 0);
}

TEST(stack_depth)
{
	ROWS("A-83 E-37");
	EXPECT_EQ(place(AT_MAX_STACK, 2, 128, PERF_SAMPLE_CALLCHAIN), EOVERFLOW);
	EXPECT_EQ(place(AT_MAX_STACK, 2, 65535, PERF_SAMPLE_CALLCHAIN), EOVERFLOW);
	EXPECT_EQ(place(AT_MAX_STACK, 2, 127, PERF_SAMPLE_CALLCHAIN), 0);
	EXPECT_EQ(place(AT_MAX_STACK, 2, 0, PERF_SAMPLE_CALLCHAIN), 0);
	EXPECT_EQ(place(AT_MAX_STACK, 2, 65535, 0), 0);
}

TEST(two_weights)
{
	ROWS("S-27");
	EXPECT_EQ(place(AT_SIG_DATA, 8, 0, PERF_SAMPLE_WEIGHT | 1 << 24), EINVAL);
	EXPECT_EQ(place(AT_SIG_DATA, 8, 0, PERF_SAMPLE_WEIGHT), 0);
	EXPECT_EQ(place(AT_SIG_DATA, 8, 0, 1 << 24), 0);
}

static int clock_errno(int clock, int use)
{
	any_init(&x);
	if (use)
		any_flag(&x, F_USE_CLOCKID);
	any_put(&x, AT_CLOCKID, 4, (uint32_t)clock);
	return any_errno(&x);
}

TEST(clocks)
{
	ROWS("A-49");
	static const int unknown[] = { 2, 3, 5, 6, 8, 9, 12, 99, -1, -2 };

	for (int i = 0; i < ARRAY_SIZE(unknown); i++) {
		EXPECT_EQ(clock_errno(unknown[i], 1), EINVAL);
		EXPECT_EQ(clock_errno(unknown[i], 0), 0);
	}
	EXPECT_EQ(clock_errno(1, 1), 0);	/* MONOTONIC */
	EXPECT_EQ(clock_errno(4, 1), 0);	/* MONOTONIC_RAW */
}

/* The PMI is an NMI, and these clocks are not NMI-safe */
TEST(clocks_not_nmi_safe)
{
	ROWS("A-50");
	EXPECT_EQ(clock_errno(0, 1), EINVAL);	/* REALTIME */
	EXPECT_EQ(clock_errno(7, 1), EINVAL);	/* BOOTTIME */
	EXPECT_EQ(clock_errno(11, 1), EINVAL);	/* TAI */
}

TEST(precise)
{
	ROWS("E-33 A-35");
	int level;

	for (level = 0; level < 4; level++) {
		any_init(&x);
		x.a.precise_ip = level;
		EXPECT_EQ(any_errno(&x), level ? EOPNOTSUPP : 0);
	}
}

TEST(aux_sample_without_aux_leader)
{
	ROWS("X-13");
	EXPECT_EQ(place(AT_AUX_SAMPLE_SIZE, 4, 64, 1 << 20), EINVAL);
	EXPECT_EQ(place(AT_AUX_SAMPLE_SIZE, 4, 0, 1 << 20), 0);
}

/* Linux 6.13 turned a reserved word of the attr into aux_action */
TEST(aux_action)
{
	ROWS("U-07 U-08");
	EXPECT_EQ(place(AT_AUX_ACTION, 4, 1, 0), EOPNOTSUPP);	/* start_paused */
	EXPECT_EQ(place(AT_AUX_ACTION, 4, 2, 0), EINVAL);	/* pause */
	EXPECT_EQ(place(AT_AUX_ACTION, 4, 4, 0), EINVAL);	/* resume */
	EXPECT_EQ(place(AT_AUX_ACTION, 4, 6, 0), EINVAL);
	EXPECT_EQ(place(AT_AUX_ACTION, 4, 7, 0), EINVAL);	/* checked before start_paused */
	any_init(&x);
	any_flag(&x, F_AUX_OUTPUT);
	any_put(&x, AT_AUX_ACTION, 4, 2);
	/* aux_output of a hardware event requires precise_ip; that is checked before aux_action */
	EXPECT_EQ(any_errno(&x), EINVAL);
}

TEST_HARNESS_MAIN
