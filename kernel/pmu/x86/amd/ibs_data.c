// SPDX-License-Identifier: GPL-2.0-only
/* What a sample of an op says of its memory access.  APM volume 2, IbsOpData2 and IbsOpData3. */
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <asm/processor.h>

#include "ibs.h"

#define M(field, value)	PERF_MEM_S(field, value)
#define HIT(level)	(M(LVL, HIT) | M(LVL, level))

/* Levels that the headers of older kernels do not have */
#define NUM_UNCACHED	((u64)8 << PERF_MEM_LVLNUM_SHIFT)
#define NUM_CXL		((u64)9 << PERF_MEM_LVLNUM_SHIFT)
#define NUM_IO		((u64)10 << PERF_MEM_LVLNUM_SHIFT)

/* IbsOpData3 */
#define D3_LOAD		BIT_ULL(0)
#define D3_STORE	BIT_ULL(1)
#define D3_L1_TLB_MISS	BIT_ULL(2)
#define D3_L2_TLB_MISS	BIT_ULL(3)
#define D3_MISS		BIT_ULL(7)
#define D3_UNCACHED	BIT_ULL(14)
#define D3_LOCKED	BIT_ULL(15)
#define D3_NO_BUFFER	BIT_ULL(16)
#define D3_LINEAR	BIT_ULL(17)
#define D3_PHYS		BIT_ULL(18)
#define D3_L2_MISS	BIT_ULL(20)
#define D3_PREFETCH	BIT_ULL(21)
#define D3_LATENCY(d3)	((d3) >> 32 & 0xffff)

/* IbsOpData2 */
#define D2_SOURCE_LOW	GENMASK_ULL(2, 0)
#define D2_REMOTE	BIT_ULL(4)
#define D2_SHARED	BIT_ULL(5)
#define D2_SOURCE_HIGH(d2)	((d2) >> 6 & 3)

/* IbsOpData: from the tag to the retirement, in cycles */
#define D_RETIRE(d)	((d) >> 16 & 0xffff)

#define SOURCE_DRAM	3
#define ELSEWHERE(hops)	(M(REMOTE, REMOTE) | M(HOPS, hops))

/* By the source; since Zen 4 there are more */
static const u64 sources_old[32] = {
	[2] = HIT(L3) | M(LVL, REM_CCE1) | M(LVLNUM, ANY_CACHE) | M(HOPS, 0),
	[3] = HIT(LOC_RAM) | M(LVLNUM, RAM),
	[4] = HIT(REM_CCE2) | M(LVLNUM, ANY_CACHE) | ELSEWHERE(1),
	[7] = HIT(IO) | NUM_IO,
};

static const u64 sources_zen4[32] = {
	[1] = HIT(L3) | M(LVLNUM, L3),
	[2] = HIT(REM_CCE1) | M(LVLNUM, ANY_CACHE) | ELSEWHERE(0),
	[3] = HIT(LOC_RAM) | M(LVLNUM, RAM),
	[5] = HIT(REM_CCE2) | M(LVLNUM, ANY_CACHE) | ELSEWHERE(1),
	[6] = M(LVLNUM, PMEM),
	[7] = HIT(IO) | NUM_IO,
	[8] = NUM_CXL,
};

/* Sources that are memory, of this or another node, and those that may be a modified line */
#define MEMORY_OLD	BIT(3)
#define MEMORY_ZEN4	(BIT(3) | BIT(6) | BIT(8))
#define MODIFIED_OLD	BIT(2)
#define MODIFIED_ZEN4	(BIT(1) | BIT(2) | BIT(5))

static bool is_zen3(u8 last)
{
	return boot_cpu_data.x86 == 0x19 && boot_cpu_data.x86_model <= last;
}

/* Erratum 1293: a prefetch, or a miss that waits for another, says nothing of the source */
static bool vague(u64 d3)
{
	return is_zen3(0xf) && d3 & (D3_PREFETCH | D3_NO_BUFFER);
}

/* Processors without the state of the other cache */
static bool knows_state(void)
{
	return !is_zen3(0xf) && !(is_zen3(0x5f) && boot_cpu_data.x86_model >= 0x20);
}

static u32 source_number(u64 d2)
{
	u32 low = d2 & D2_SOURCE_LOW;

	return ibs_caps & IBS_HAS_ZEN4 ? D2_SOURCE_HIGH(d2) << 3 | low : low;
}

static u64 missed(u64 d2, u64 d3)
{
	bool zen4 = ibs_caps & IBS_HAS_ZEN4;
	u32 n = source_number(d2);
	u64 val = zen4 ? sources_zen4[n] : sources_old[n];

	if (!(d3 & D3_LOAD) || !val)
		return d3 & D3_NO_BUFFER ? HIT(LFB) | M(LVLNUM, LFB) : M(LVL, NA) | M(LVLNUM, NA);
	if (d2 & D2_REMOTE && (zen4 ? MEMORY_ZEN4 : MEMORY_OLD) & 1u << n) {
		if (n == SOURCE_DRAM)
			val = HIT(REM_RAM1) | M(LVLNUM, RAM);
		val |= ELSEWHERE(1);
	}
	return val;
}

static u64 level(u64 d2, u64 d3)
{
	if (d3 & D3_UNCACHED && source_number(d2) != 7)
		return HIT(UNC) | NUM_UNCACHED;
	if (!(d3 & D3_MISS))
		return HIT(L1) | M(LVLNUM, L1);
	if (!(d3 & D3_L2_MISS) && !vague(d3))
		return HIT(L2) | M(LVLNUM, L2);
	return missed(d2, d3);
}

static u64 snoop(u64 d2, u64 d3, u64 lvl)
{
	u32 may = ibs_caps & IBS_HAS_ZEN4 ? MODIFIED_ZEN4 : MODIFIED_OLD;

	if (!knows_state() || !(d3 & D3_LOAD) || lvl & (M(LVL, L1) | M(LVL, L2)) || d2 & D2_SHARED)
		return M(SNOOP, NA);
	return may & 1u << source_number(d2) ? M(SNOOP, HITM) : M(SNOOP, NA);
}

static u64 tlb(u64 d3)
{
	if (!(d3 & D3_LINEAR))
		return M(TLB, NA);
	if (!(d3 & D3_L1_TLB_MISS))
		return M(TLB, L1) | M(TLB, HIT);
	return M(TLB, L2) | (d3 & D3_L2_TLB_MISS ? M(TLB, MISS) : M(TLB, HIT));
}

/**
 * ibs_data_source() - what the sample of a load or store says of where the data came from
 * @r: the sample
 *
 * Context: any, including NMI.
 * Return: a PERF_SAMPLE_DATA_SRC.
 */
u64 ibs_data_source(const struct ibs_record *r)
{
	u64 d3 = r->reg[IBS_DATA3], d2 = vague(d3) ? 0 : r->reg[IBS_DATA2];
	u64 lvl = level(d2, d3);

	return (d3 & D3_LOAD ? M(OP, LOAD) : M(OP, STORE)) | lvl | snoop(d2, d3, lvl) | tlb(d3) |
	       (d3 & D3_LOCKED ? M(LOCK, LOCKED) : M(LOCK, NA));
}
NOKPROBE_SYMBOL(ibs_data_source);

/**
 * ibs_memory() - fill in what a sample of an op says of memory
 * @r: the sample
 * @wants: hw->extra of the event
 * @hit: its address is set
 * @precise: details are set
 *
 * Context: any, including NMI.
 */
void ibs_memory(const struct ibs_record *r, u64 wants, struct kpmu_hit *hit,
		struct kpmu_precise *precise)
{
	u64 d3 = r->reg[IBS_DATA3];

	if (!(d3 & (D3_LOAD | D3_STORE)))
		return;
	precise->data_src = ibs_data_source(r);
	if (d3 & D3_LOAD && d3 & D3_MISS) {
		precise->weight = D3_LATENCY(d3);
		precise->weight_struct = D3_LATENCY(d3) | D_RETIRE(r->reg[IBS_DATA]) << 32;
	}
	if (wants & IBS_WANT_ADDR && d3 & D3_LINEAR)
		hit->addr = r->reg[IBS_LINEAR];
	if (wants & IBS_WANT_PHYS && d3 & D3_PHYS)
		precise->phys = r->reg[IBS_PHYS];
}
NOKPROBE_SYMBOL(ibs_memory);
