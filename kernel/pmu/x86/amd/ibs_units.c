// SPDX-License-Identifier: GPL-2.0-only
/* The two samplers of IBS.  APM volume 2, IbsFetchCtl and IbsOpCtl. */
#include "ibs.h"

u32 ibs_caps;

static u32 fetch_count(u64 ctl)
{
	return (ctl >> 16 & IBS_MAX_CNT) << 4;
}

#define OP_VALID	BIT_ULL(18)

/* After a sample, the count is the period, and the register has random bits */
static u32 op_count(u64 ctl)
{
	if (ctl & OP_VALID)
		return (ctl & IBS_MAX_CNT) << 4 |
		       (ibs_caps & IBS_HAS_OP_EXT ? ctl & IBS_OP_MAX_EXT : 0);
	return ibs_caps & IBS_HAS_OP_WRITE ? ctl >> 32 & GENMASK(26, 0) : 0;
}

struct ibs_unit ibs_units[IBS_UNITS] = {
	[IBS_FETCH_UNIT] = {
		.pmu = { .name = "ibs_fetch", .nr_counters = 1 },
		.msr = MSR_IBS_FETCH_CTL,
		.enable = BIT_ULL(48),
		.valid = BIT_ULL(49),
		.config = IBS_MAX_CNT | IBS_FETCH_RANDOM,
		.period = IBS_MAX_CNT,
		.min = 0x10,
		.max = IBS_MAX_CNT << 4,
		.count = fetch_count,
	},
	[IBS_OP_UNIT] = {
		.pmu = { .name = "ibs_op", .nr_counters = 1 },
		.msr = MSR_IBS_OP_CTL,
		.enable = BIT_ULL(17),
		.valid = OP_VALID,
		.config = IBS_MAX_CNT,
		.period = IBS_MAX_CNT,
		.min = 0x90,
		.max = IBS_MAX_CNT << 4,
		.count = op_count,
	},
};
