// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last branch records of AMD CPUs from Zen 4 on, LbrExtV2.  APM volume 2, "Last Branch Record
 * Stack"; volume 3, CPUID Fn8000_0022.
 *
 * The newest entry is always entry 0.  There is no call-stack mode.  An entry says whether it is
 * valid and whether the branch was speculative; with neither bit, it is not used.  A PMI stops
 * recording, if the CPU can do so.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "../../../abi/attr.h"
#include "../lbr.h"
#include "../msr.h"
#include "amd.h"

/* In turn, for each entry */
#define MSR_FROM(n)		(MSR_AMD_SAMP_BR_FROM + 2 * (n))
#define MSR_TO(n)		(MSR_AMD_SAMP_BR_FROM + 2 * (n) + 1)

/* DebugCtl */
#define CTL_FREEZE		BIT_ULL(11)

/* FROM: an address of 58 bits, and whether the branch was mispredicted */
#define FROM_MISPREDICTED	BIT_ULL(63)
/* TO: an address, and what the entry is */
#define TO_BROKEN		BIT_ULL(61)
#define TO_SPECULATIVE		BIT_ULL(62)
#define TO_VALID		BIT_ULL(63)

/* CPUID Fn8000_0022: EAX */
#define HAS_LBR			BIT(1)
#define HAS_FREEZE		BIT(2)

/* LBR_SELECT: a bit set suppresses records */
#define SELECT_ALL		0x1ff
#define SELECT_KERNEL		BIT(0)
#define SELECT_USER		BIT(1)
#define SELECT_COND		BIT(2)
#define SELECT_REL_CALL		BIT(3)
#define SELECT_IND_CALL		BIT(4)
#define SELECT_RETURN		BIT(5)
#define SELECT_IND_JUMP		BIT(6)
#define SELECT_FAR		BIT(8)

/* What must be recorded for a bit of attr.branch_sample_type; the others need nothing */
static const struct {
	u64 type;
	u32 records;
} needs[] = {
	{ KPMU_BRANCH_USER, SELECT_USER },
	{ KPMU_BRANCH_KERNEL, SELECT_KERNEL },
	{ KPMU_BRANCH_ANY, SELECT_ALL & ~(SELECT_USER | SELECT_KERNEL) },
	{ KPMU_BRANCH_ANY_CALL, SELECT_REL_CALL | SELECT_IND_CALL | SELECT_FAR },
	{ KPMU_BRANCH_ANY_RETURN, SELECT_RETURN | SELECT_FAR },
	{ KPMU_BRANCH_IND_CALL, SELECT_IND_CALL },
	{ KPMU_BRANCH_COND, SELECT_COND },
	{ KPMU_BRANCH_IND_JUMP, SELECT_IND_JUMP },
	{ KPMU_BRANCH_CALL, SELECT_REL_CALL },
};

/* There are no transactions and no cycles, and flags cannot be left out */
#define REFUSED	(KPMU_BRANCH_ABORT_TX | KPMU_BRANCH_IN_TX | KPMU_BRANCH_NO_TX |		\
		 KPMU_BRANCH_CALL_STACK | KPMU_BRANCH_NO_FLAGS | KPMU_BRANCH_NO_CYCLES)

static u64 freeze __ro_after_init, frozen __ro_after_init;

static int amd_filter(u64 type, u32 *filter)
{
	int i;

	if (type & REFUSED)
		return -EOPNOTSUPP;
	*filter = SELECT_ALL;
	for (i = 0; i < ARRAY_SIZE(needs); i++)
		if (type & needs[i].type)
			*filter &= ~needs[i].records;
	return 0;
}

/* Set or clear bits of a register that has others */
static void change(u32 msr, u64 bits, bool set)
{
	u64 old = kpmu_rdmsr(msr), val = set ? old | bits : old & ~bits;

	if (val != old)
		x86_wrmsr(msr, val);
}

/* A PMI has frozen the records, perhaps while nothing was recorded */
static void amd_resume(u32 filter)
{
	if (frozen)
		x86_wrmsr(x86_pmu.regs.clear, frozen);
}

static void amd_start_lbr(u32 filter)
{
	amd_resume(filter);
	x86_wrmsr(MSR_AMD64_LBR_SELECT, filter);
	change(MSR_IA32_DEBUGCTLMSR, freeze, true);
	change(MSR_AMD_DBG_EXTN_CFG, DBG_EXTN_CFG_LBRV2EN, true);
}

static void amd_stop_lbr(void)
{
	change(MSR_AMD_DBG_EXTN_CFG, DBG_EXTN_CFG_LBRV2EN, false);
	change(MSR_IA32_DEBUGCTLMSR, freeze, false);
}

static void amd_wipe(void)
{
	int i;

	for (i = 0; i < x86_pmu.lbr_depth; i++) {
		x86_wrmsr(MSR_FROM(i), 0);
		x86_wrmsr(MSR_TO(i), 0);
	}
}

/* An address, of which the highest bits of the register are something else */
static u64 address(u64 val)
{
	int shift = 64 - boot_cpu_data.x86_virt_bits;

	return (s64)(val << shift) >> shift;
}

/* The bits of an entry that are not its addresses: those of TO, and that of FROM in bit 0 */
static u64 entry_info(u64 from, u64 to)
{
	return (to & (TO_VALID | TO_SPECULATIVE)) | (from & FROM_MISPREDICTED ? 1 : 0);
}

static int amd_read(struct x86_branch *to, u32 filter, u64 *index)
{
	int i, n = 0;

	*index = 0;
	for (i = 0; i < x86_pmu.lbr_depth; i++) {
		u64 f = kpmu_rdmsr(MSR_FROM(i)), t = kpmu_rdmsr(MSR_TO(i));

		if (!(t & (TO_VALID | TO_SPECULATIVE)) || t & TO_BROKEN)
			continue;
		to[n++] = (struct x86_branch){ address(f), address(t), entry_info(f, t) };
	}
	return n;
}
NOKPROBE_SYMBOL(amd_read);

static u64 amd_flags(u64 info)
{
	u64 spec = PERF_BR_NON_SPEC_CORRECT_PATH;

	if (!(info & TO_VALID))
		spec = PERF_BR_SPEC_WRONG_PATH;
	else if (info & TO_SPECULATIVE)
		spec = PERF_BR_SPEC_CORRECT_PATH;
	return (info & 1 ? KPMU_BRANCH_MISPREDICTED : KPMU_BRANCH_PREDICTED) |
	       spec << KPMU_BRANCH_SPEC_SHIFT;
}

static bool amd_is_on(u32 filter)
{
	return kpmu_rdmsr(MSR_AMD_DBG_EXTN_CFG) & DBG_EXTN_CFG_LBRV2EN &&
	       kpmu_rdmsr(MSR_AMD64_LBR_SELECT) == filter;
}

static const struct x86_lbr amd_lbr = {
	.name = "LbrExtV2 branch records",
	.filter = amd_filter,
	.start = amd_start_lbr,
	.stop = amd_stop_lbr,
	.resume = amd_resume,
	.wipe = amd_wipe,
	.read = amd_read,
	.flags = amd_flags,
	.is_on = amd_is_on,
};

/**
 * amd_detect_lbr() - detect the last branch records
 * @leaf: CPUID Fn8000_0022: EAX, 0 if there is no such leaf
 * @depth: EBX[9:4], the number of entries
 *
 * APM vol. 3, CPUID Fn8000_0022.
 *
 * Context: module init.
 */
void __init amd_detect_lbr(u32 leaf, int depth)
{
	if (x86_pmu.version < 2 || !(leaf & HAS_LBR) || !depth)
		return;
	if (leaf & HAS_FREEZE) {
		freeze = CTL_FREEZE;
		frozen = BIT_ULL(58);
	}
	x86_pmu.lbr_depth = min(depth, KPMU_MAX_BRANCHES);
	x86_pmu.lbr = &amd_lbr;
}
