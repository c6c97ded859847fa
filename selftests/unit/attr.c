// SPDX-License-Identifier: GPL-2.0-only
/* Tests of kernel/event/attr_check.c. */
#include "unit.h"
#include "../../kernel/abi/attr.h"

static const struct kpmu_attr_limits limits = { .max_stack = 127, .max_rate = 100000 };

/* Description of the last error of check() */
static const char *why;

/* The first error, with the phases in the order in which an open runs them */
static int check(const struct kpmu_attr *a)
{
	int phase, err;

	why = NULL;
	for (phase = KPMU_ATTR_SHAPE; phase <= KPMU_ATTR_LATE; phase++) {
		err = kpmu_attr_check(a, &limits, phase, &why);
		/* Every error must have a description; no test expects 1 */
		if (err)
			return why && *why ? err : 1;
	}
	return 0;
}

/* A flag is valid, or an error names it; the bits from 40 on are reserved */
TEST(every_flag_is_known)
{
	struct kpmu_attr a;
	int bit;

	ROWS("A-04 A-05 A-06");
	for (bit = 0; bit < 64; bit++) {
		a = (struct kpmu_attr){ .flags = 1ull << bit };
		check(&a);
		ASSERT_EQ(why && !strcmp(why, "reserved bits are set"), bit >= 40);
	}
}

TEST(reserved_bits)
{
	struct kpmu_attr a;
	int bit;

	ROWS("E-16 E-17 E-24");
	for (bit = 40; bit < 64; bit++) {
		a = (struct kpmu_attr){ .flags = 1ull << bit };
		ASSERT_EQ(check(&a), -EINVAL);
	}
	a = (struct kpmu_attr){ .reserved_2 = 1 };
	ASSERT_EQ(check(&a), -EINVAL);
	for (bit = 25; bit < 64; bit++) {
		a = (struct kpmu_attr){ .sample_type = 1ull << bit };
		ASSERT_EQ(check(&a), -EINVAL);
	}
	for (bit = 5; bit < 64; bit++) {
		a = (struct kpmu_attr){ .read_format = 1ull << bit };
		ASSERT_EQ(check(&a), -EINVAL);
	}
	for (bit = 3; bit < 32; bit++) {
		a = (struct kpmu_attr){ .aux_action = 1u << bit };
		ASSERT_EQ(check(&a), -EINVAL);
	}
}

static const struct {
	const char *what;
	struct kpmu_attr attr;
	int err;
} cases[] = {
	{ "nothing at all", {}, 0 },
	{ "branch stack of nothing", { .sample_type = KPMU_SAMPLE_BRANCH_STACK }, -EINVAL },
	{ "branch stack, level only", { .sample_type = KPMU_SAMPLE_BRANCH_STACK,
	  .branch_sample_type = 7 }, -EINVAL },
	{ "user registers, none", { .sample_type = KPMU_SAMPLE_REGS_USER }, -EINVAL },
	{ "user registers, ds", { .sample_type = KPMU_SAMPLE_REGS_USER,
	  .sample_regs_user = 1 << 12 }, -EINVAL },
	{ "user registers", { .sample_type = KPMU_SAMPLE_REGS_USER,
	  .sample_regs_user = 0xff0fff }, 0 },
	{ "extended registers of a counter", { .sample_type = KPMU_SAMPLE_REGS_USER,
	  .sample_regs_user = 1ull << 32 }, 0 },
	{ "extended registers of a cache event", { .type = KPMU_TYPE_HW_CACHE,
	  .sample_regs_intr = 1ull << 63 }, 0 },
	{ "extended registers of a raw event", { .type = KPMU_TYPE_RAW,
	  .sample_regs_intr = 1ull << 32 }, 0 },
	{ "extended registers of a page fault", { .type = KPMU_TYPE_SOFTWARE,
	  .sample_regs_intr = 1ull << 32 }, -EOPNOTSUPP },
	{ "extended registers of a tracepoint", { .type = KPMU_TYPE_TRACEPOINT,
	  .sample_regs_user = 1ull << 63 }, -EOPNOTSUPP },
	{ "interrupt registers, none", { .sample_type = KPMU_SAMPLE_REGS_INTR }, -EINVAL },
	{ "stack, odd", { .sample_type = KPMU_SAMPLE_STACK_USER,
	  .sample_stack_user = 12 }, -EINVAL },
	{ "stack, too much", { .sample_type = KPMU_SAMPLE_STACK_USER,
	  .sample_stack_user = 65536 }, -EINVAL },
	{ "stack, most", { .sample_type = KPMU_SAMPLE_STACK_USER,
	  .sample_stack_user = 65528 }, 0 },
	{ "two weights", { .sample_type = KPMU_SAMPLE_WEIGHT |
	  KPMU_SAMPLE_WEIGHT_STRUCT }, -EINVAL },
	{ "frequency too high", { .flags = KPMU_ATTR_FREQ, .sample_freq = 100001 },
	  -EINVAL },
	{ "period with bit 63", { .sample_period = 1ull << 63 }, -EINVAL },
	{ "callchain too deep", { .sample_type = KPMU_SAMPLE_CALLCHAIN,
	  .sample_max_stack = 128 }, -EOVERFLOW },
	{ "callchain, deepest", { .sample_type = KPMU_SAMPLE_CALLCHAIN,
	  .sample_max_stack = 127 }, 0 },
	{ "inherit_thread alone", { .flags = KPMU_ATTR_INHERIT_THREAD }, -EINVAL },
	{ "sigtrap alone", { .flags = KPMU_ATTR_SIGTRAP }, -EINVAL },
	{ "both exec flags", { .flags = KPMU_ATTR_ENABLE_ON_EXEC |
	  KPMU_ATTR_REMOVE_ON_EXEC }, -EINVAL },
	{ "AUX output", { .type = KPMU_TYPE_SOFTWARE,
	  .flags = KPMU_ATTR_AUX_OUTPUT }, -EOPNOTSUPP },
	{ "AUX output of a counter", { .flags = KPMU_ATTR_AUX_OUTPUT }, 0 },
	{ "AUX output of a counter, in no group", { .flags = KPMU_ATTR_AUX_OUTPUT,
	  .aux_sample_size = 8 }, -EINVAL },
	{ "AUX pause without a leader", { .aux_action = 2 }, -EINVAL },
	{ "start paused", { .aux_action = 1 }, -EOPNOTSUPP },
};

TEST(cases)
{
	size_t i;

	ROWS("E-14 E-34 E-37");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (check(&cases[i].attr) != cases[i].err)
			TH_LOG("%s", cases[i].what);
		EXPECT_EQ(check(&cases[i].attr), cases[i].err);
	}
}

/*
 * Random attrs in which most fields are 0, as in real ones.  An attr that
 * kpmu_attr_is_plain() accepts must also pass the rules, as an open then skips them, and
 * every error must be one that the manual lists.
 */
TEST(random_attrs)
{
	u64 seed = 0x2545f4914f6cdd1dull;
	int i, k, err, plain = 0, good = 0;
	struct kpmu_attr a;
	u64 words[sizeof(a) / 8];

	for (i = 0; i < unit_often(2000000); i++) {
		memset(words, 0, sizeof(words));
		for (k = unit_random(&seed) % 4; k; k--) {
			u64 v = unit_random(&seed);

			v >>= unit_random(&seed) & 63;
			if (unit_random(&seed) & 1)
				v = 1ull << (v & 63);
			words[unit_random(&seed) % ARRAY_SIZE(words)] |= v;
		}
		memcpy(&a, words, sizeof(a));
		err = check(&a);
		if (err && err != -EINVAL && err != -EOPNOTSUPP && err != -EOVERFLOW)
			ASSERT_EQ(err, 0);
		good += !err;
		if (kpmu_attr_is_plain(&a)) {
			plain++;
			ASSERT_EQ(err, 0);
		}
	}
	EXPECT_GT(plain, unit_often(100000));
	EXPECT_GT(good, plain);
}

UNIT_SUITE(kpmu_attr, unit_nothing,
	   CASE(every_flag_is_known) CASE(reserved_bits) CASE(cases) CASE(random_attrs));
