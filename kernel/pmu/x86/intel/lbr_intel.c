// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last branch records of Intel CPUs.  SDM volume 3, "Last Branch, Interrupt, and Exception
 * Recording" for the legacy ones, as of Skylake, and the chapter "Last Branch Records" for the
 * architectural ones.
 *
 * Legacy entries are a ring, whose newest entry is that of the register TOS; of the architectural
 * ones the newest is always entry 0.  Both stop recording at a PMI, because FREEZE_LBRS_ON_PMI is
 * set, except in call-stack mode: a call or return that is not seen would shift the whole stack.
 */
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

#include "../../../abi/attr.h"
#include "../lbr.h"
#include "../msr.h"
#include "intel.h"

#define MSR_TOS			0x1c9
#define MSR_SELECT		0x1c8
#define MSR_FROM		0x680
#define MSR_TO			0x6c0
#define MSR_INFO		0xdc0

#define MSR_ARCH_CTL		0x14ce
#define MSR_ARCH_DEPTH		0x14cf
#define MSR_ARCH_FROM		0x1500
#define MSR_ARCH_TO		0x1600
#define MSR_ARCH_INFO		0x1200

/* IA32_DEBUGCTL */
#define CTL_RECORD		BIT_ULL(0)
#define CTL_FREEZE		BIT_ULL(11)
/*
 * IA32_PERF_GLOBAL_STATUS, version 4: recording is stopped by a PMI.  A variable, because sparse
 * complains of the halves of a constant.
 */
static u64 status_frozen __ro_after_init;

/* LBR_SELECT: a bit set suppresses records, except the last one */
#define SELECT_ALL		0x1ff
#define SELECT_STACK		BIT(9)
/* IA32_LBR_CTL: a bit set permits records */
#define ARCH_RECORD		BIT(0)
#define ARCH_STACK		BIT(3)
#define ARCH_ALL		0x7f0006

/* LBR_INFO */
#define INFO_MISPREDICTED	BIT_ULL(63)
#define INFO_IN_TX		BIT_ULL(62)
#define INFO_ABORT		BIT_ULL(61)
#define INFO_CYCLES_VALID	BIT_ULL(60)	/* architectural only */
#define INFO_KIND(info)		((info) >> 56 & 15)	/* likewise */
#define INFO_CYCLES		0xffff

/* Kinds that the hardware distinguishes, in numbers that both kinds of filter are made from */
enum { USER, KERNEL, COND, REL_CALL, IND_CALL, RETURN, REL_JUMP, IND_JUMP, FAR, STACK, NR_KINDS };

static const u32 select_bits[NR_KINDS] = {
	[KERNEL] = BIT(0), [USER] = BIT(1), [COND] = BIT(2), [REL_CALL] = BIT(3),
	[IND_CALL] = BIT(4), [RETURN] = BIT(5), [IND_JUMP] = BIT(6), [REL_JUMP] = BIT(7),
	[FAR] = BIT(8), [STACK] = X86_LBR_STACK,
};

static const u32 arch_bits[NR_KINDS] = {
	[KERNEL] = BIT(1), [USER] = BIT(2), [COND] = BIT(16), [REL_JUMP] = BIT(17),
	[IND_JUMP] = BIT(18), [REL_CALL] = BIT(19), [IND_CALL] = BIT(20), [RETURN] = BIT(21),
	[FAR] = BIT(22), [STACK] = X86_LBR_STACK,
};

#define ANY	(BIT(COND) | BIT(REL_CALL) | BIT(IND_CALL) | BIT(RETURN) | BIT(REL_JUMP) | \
		 BIT(IND_JUMP) | BIT(FAR))

/* What must be recorded for each bit of attr.branch_sample_type; the others need nothing */
static const u16 records[KPMU_NR_BRANCH_BITS] = {
	[0] = BIT(USER),
	[1] = BIT(KERNEL),
	[3] = ANY,
	[4] = BIT(REL_CALL) | BIT(IND_CALL) | BIT(FAR),		/* ANY_CALL */
	[5] = BIT(RETURN) | BIT(FAR),				/* ANY_RETURN */
	[6] = BIT(IND_CALL),
	[10] = BIT(COND),
	[11] = BIT(REL_CALL) | BIT(IND_CALL) | BIT(RETURN) | BIT(STACK),
	[12] = BIT(IND_JUMP),
	[13] = BIT(REL_CALL),
};

/* CPUID.1CH, architectural LBR only */
static bool arch_levels, arch_kinds, arch_stack, arch_type, arch_cycles, arch_predict;

static u32 make_filter(u64 type, const u32 *bits)
{
	u32 kinds = 0, filter = 0;
	int i;

	for (i = 0; i < KPMU_NR_BRANCH_BITS; i++)
		if (type & BIT_ULL(i))
			kinds |= records[i];
	for (i = 0; i < NR_KINDS; i++)
		if (kinds & BIT(i))
			filter |= bits[i];
	return filter;
}

static int legacy_filter(u64 type, u32 *filter)
{
	const u64 none = KPMU_BRANCH_NO_CYCLES | KPMU_BRANCH_NO_FLAGS;

	*filter = make_filter(type, select_bits) ^ SELECT_ALL;
	if ((type & none) == none)
		*filter |= X86_LBR_NO_INFO;
	return 0;
}

/* Without a filter for levels or for kinds of branches, the bits that need it are refused */
static int arch_filter(u64 type, u32 *filter)
{
	u32 permitted = 0;

	if (arch_levels)
		permitted |= BIT(0) | BIT(1);
	if (arch_kinds || !arch_levels)
		permitted |= GENMASK(6, 3) | BIT(10) | GENMASK(13, 12);
	if (arch_levels && arch_kinds && arch_stack)
		permitted |= BIT(11);
	/* With neither, everything is recorded, and the software filter has to do */
	if (!arch_levels && !arch_kinds)
		permitted |= BIT(0) | BIT(1);
	permitted |= BIT(2) | GENMASK(9, 7) | GENMASK(19, 14);
	if (type & ~(u64)permitted)
		return -EOPNOTSUPP;
	*filter = arch_levels || arch_kinds ? make_filter(type, arch_bits) : ARCH_ALL;
	return 0;
}

static void set_debugctl(u64 clear, u64 set)
{
	u64 old, val;

	old = kpmu_rdmsr(MSR_IA32_DEBUGCTLMSR);
	val = (old & ~clear) | set;
	if (val != old)
		x86_wrmsr(MSR_IA32_DEBUGCTLMSR, val);
}

/* A PMI while nothing was recorded may have left the records frozen */
static void unfreeze(void)
{
	if (x86_pmu.version >= 4)
		x86_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, status_frozen);
}

static u64 freeze_bit(u32 filter)
{
	return filter & X86_LBR_STACK ? 0 : CTL_FREEZE;
}

static void legacy_start(u32 filter)
{
	unfreeze();
	x86_wrmsr(MSR_SELECT, (filter & SELECT_ALL) | (filter & X86_LBR_STACK ? SELECT_STACK : 0));
	set_debugctl(CTL_FREEZE, CTL_RECORD | freeze_bit(filter));
}

static void legacy_stop(void)
{
	set_debugctl(CTL_RECORD | CTL_FREEZE, 0);
}

static u32 arch_ctl(u32 filter)
{
	return (filter & ARCH_ALL) | (filter & X86_LBR_STACK ? ARCH_STACK : 0) | ARCH_RECORD;
}

static void arch_start(u32 filter)
{
	unfreeze();
	set_debugctl(CTL_FREEZE, freeze_bit(filter));
	x86_wrmsr(MSR_ARCH_CTL, arch_ctl(filter));
}

static void arch_stop(void)
{
	x86_wrmsr(MSR_ARCH_CTL, 0);
}

/* Version 4 has a bit for it in GLOBAL_STATUS; before, the PMI has cleared the enable bit */
static void legacy_resume(u32 filter)
{
	if (filter & X86_LBR_STACK)
		return;
	if (x86_pmu.version >= 4)
		unfreeze();
	else
		set_debugctl(0, CTL_RECORD);
}

static void arch_resume(u32 filter)
{
	if (!(filter & X86_LBR_STACK))
		unfreeze();
}

static void legacy_wipe(void)
{
	int i;

	for (i = 0; i < x86_pmu.lbr_depth; i++) {
		x86_wrmsr(MSR_FROM + i, 0);
		x86_wrmsr(MSR_TO + i, 0);
		x86_wrmsr(MSR_INFO + i, 0);
	}
}

static void arch_wipe(void)
{
	x86_wrmsr(MSR_ARCH_DEPTH, x86_pmu.lbr_depth);
}

static int legacy_read(struct x86_branch *to, u32 filter, u64 *index)
{
	u64 tos = kpmu_rdmsr(MSR_TOS);
	int i, n;

	*index = tos;
	for (n = 0; n < x86_pmu.lbr_depth; n++) {
		i = (tos - n) & (x86_pmu.lbr_depth - 1);
		to[n].from = kpmu_rdmsr(MSR_FROM + i);
		if (filter & X86_LBR_STACK && !to[n].from)
			break;
		to[n].to = kpmu_rdmsr(MSR_TO + i);
		to[n].info = filter & X86_LBR_NO_INFO ? 0 : kpmu_rdmsr(MSR_INFO + i);
	}
	return n;
}
NOKPROBE_SYMBOL(legacy_read);

static int arch_read(struct x86_branch *to, u32 filter, u64 *index)
{
	int n;

	*index = 0;
	for (n = 0; n < x86_pmu.lbr_depth; n++) {
		to[n].from = kpmu_rdmsr(MSR_ARCH_FROM + n);
		if (!to[n].from)
			break;
		to[n].to = kpmu_rdmsr(MSR_ARCH_TO + n);
		to[n].info = kpmu_rdmsr(MSR_ARCH_INFO + n);
	}
	return n;
}
NOKPROBE_SYMBOL(arch_read);

static void legacy_write(const struct x86_branch *from, int nr, u64 index)
{
	static const struct x86_branch none;
	int i, n;

	for (n = 0; n < x86_pmu.lbr_depth; n++) {
		const struct x86_branch *b = n < nr ? from + n : &none;

		i = (index - n) & (x86_pmu.lbr_depth - 1);
		x86_wrmsr(MSR_FROM + i, b->from);
		x86_wrmsr(MSR_TO + i, b->to);
		x86_wrmsr(MSR_INFO + i, b->info);
	}
	x86_wrmsr(MSR_TOS, index);
}

static void arch_write(const struct x86_branch *from, int nr, u64 index)
{
	int n;

	if (nr < x86_pmu.lbr_depth)
		arch_wipe();
	for (n = 0; n < nr; n++) {
		x86_wrmsr(MSR_ARCH_FROM + n, from[n].from);
		x86_wrmsr(MSR_ARCH_TO + n, from[n].to);
		x86_wrmsr(MSR_ARCH_INFO + n, from[n].info);
	}
}

static u64 legacy_newest(void)
{
	return kpmu_rdmsr(MSR_TOS);
}

static u64 arch_newest(void)
{
	return -1ULL;
}

static bool legacy_holds(u64 index)
{
	return kpmu_rdmsr(MSR_FROM + (index & (x86_pmu.lbr_depth - 1)));
}

static bool arch_holds(u64 index)
{
	return kpmu_rdmsr(MSR_ARCH_FROM);
}

static u64 make_flags(u64 info, bool predict, bool cycles)
{
	bool mispredicted = predict && info & INFO_MISPREDICTED;

	return (mispredicted ? KPMU_BRANCH_MISPREDICTED : KPMU_BRANCH_PREDICTED) |
	       (info & INFO_IN_TX ? KPMU_BRANCH_WAS_IN_TX : 0) |
	       (info & INFO_ABORT ? KPMU_BRANCH_ABORTED : 0) |
	       (cycles ? (info & INFO_CYCLES) << KPMU_BRANCH_CYCLES_SHIFT : 0);
}

static u64 legacy_flags(u64 info)
{
	return make_flags(info, true, true);
}

static u64 arch_flags(u64 info)
{
	return make_flags(info, arch_predict, arch_cycles && info & INFO_CYCLES_VALID);
}

/* The hardware tells near branches apart; for others the instruction must be looked at */
static unsigned int arch_kind(u64 info)
{
	static const unsigned int kinds[] = {
		X86_BRANCH_COND, X86_BRANCH_IND_JUMP, X86_BRANCH_JUMP,
		X86_BRANCH_IND_CALL, X86_BRANCH_CALL, X86_BRANCH_RET,
	};
	u32 kind = arch_type ? INFO_KIND(info) : 0;

	return kind < ARRAY_SIZE(kinds) ? kinds[kind] : 0;
}

static bool legacy_is_on(u32 filter)
{
	u64 want = filter & SELECT_ALL;

	if (filter & X86_LBR_STACK)
		want |= SELECT_STACK;
	return kpmu_rdmsr(MSR_IA32_DEBUGCTLMSR) & CTL_RECORD && kpmu_rdmsr(MSR_SELECT) == want;
}

static bool arch_is_on(u32 filter)
{
	return kpmu_rdmsr(MSR_ARCH_CTL) == arch_ctl(filter);
}

static const struct x86_lbr legacy_lbr = {
	.name = "legacy branch records",
	.filter = legacy_filter,
	.start = legacy_start,
	.stop = legacy_stop,
	.resume = legacy_resume,
	.wipe = legacy_wipe,
	.read = legacy_read,
	.write = legacy_write,
	.newest = legacy_newest,
	.holds = legacy_holds,
	.flags = legacy_flags,
	.is_on = legacy_is_on,
};

static const struct x86_lbr arch_lbr = {
	.name = "architectural branch records",
	.filter = arch_filter,
	.start = arch_start,
	.stop = arch_stop,
	.resume = arch_resume,
	.wipe = arch_wipe,
	.read = arch_read,
	.write = arch_write,
	.newest = arch_newest,
	.holds = arch_holds,
	.flags = arch_flags,
	.kind = arch_kind,
	.is_on = arch_is_on,
};

/* IA32_PERF_CAPABILITIES bits 5:0: the format of legacy entries */
#define FORMAT(caps)		((caps) & 0x3f)
#define FORMAT_INFO		5

static void __init detect_legacy(u64 caps)
{
	int i, depth = x86_pmu.model->lbr_depth;

	if (!depth || FORMAT(caps) != FORMAT_INFO || !intel_msr_holds(MSR_TOS, 3))
		return;
	for (i = 0; i < depth; i++)
		if (!intel_msr_holds(MSR_FROM + i, 0xffff) || !intel_msr_holds(MSR_TO + i, 0xffff))
			return;
	x86_pmu.lbr_depth = depth;
	x86_pmu.lbr = &legacy_lbr;
}

/* CPUID.1CH: bit n of EAX[7:0] stands for 8 * (n + 1) entries */
static void __init detect_arch(void)
{
	u32 eax, ebx, ecx, edx;
	int depth;

	cpuid(0x1c, &eax, &ebx, &ecx, &edx);
	depth = min(fls(eax & 0xff) * 8, KPMU_MAX_BRANCHES);
	if (!depth || kpmu_wrmsr_safe(MSR_ARCH_DEPTH, depth))
		return;
	arch_levels = ebx & BIT(0);
	arch_kinds = ebx & BIT(1);
	arch_stack = ebx & BIT(2);
	arch_predict = ecx & BIT(0);
	arch_cycles = ecx & BIT(1);
	arch_type = ecx & BIT(2);
	x86_pmu.lbr_depth = depth;
	x86_pmu.lbr = &arch_lbr;
}

/**
 * intel_detect_lbr() - detect the last branch records
 * @caps: IA32_PERF_CAPABILITIES, 0 if it does not exist
 *
 * SDM vol. 3, "Last Branch Records"; vol. 2, CPUID leaf 1CH.
 *
 * Context: module init.
 */
void __init intel_detect_lbr(u64 caps)
{
	status_frozen = BIT_ULL(58);
	/* Before, a PMI does not freeze the records.  Architectural ones rely on a bit of version 4. */
	if (boot_cpu_has(X86_FEATURE_ARCH_LBR) && x86_pmu.version >= 4)
		detect_arch();
	else if (x86_pmu.version >= 2)
		detect_legacy(caps);
}
