// SPDX-License-Identifier: GPL-2.0-only
/* What records of precise events say of memory accesses, as PERF_SAMPLE_DATA_SRC and weights. */
#include <linux/kprobes.h>
#include <linux/perf_event.h>

#include "pebs.h"

#define M(field, value)	PERF_MEM_S(field, value)
#define HIT(level, num)	(M(OP, LOAD) | M(LVL, HIT) | (level) | M(LVLNUM, num))

/* Data sources of loads, by the lowest four bits that a record has; 8 and 9 are of client models */
static const u64 sources[] = {
	M(OP, LOAD) | M(LVL, MISS) | M(LVLNUM, L3) | M(SNOOP, NA),
	HIT(M(LVL, L1), L1) | M(SNOOP, NONE),
	HIT(M(LVL, LFB), LFB) | M(SNOOP, NONE),
	HIT(M(LVL, L2), L2) | M(SNOOP, NONE),
	HIT(M(LVL, L3), L3) | M(SNOOP, NONE),
	HIT(M(LVL, L3), L3) | M(SNOOP, MISS),
	HIT(M(LVL, L3), L3) | M(SNOOP, HIT),
	HIT(M(LVL, L3), L3) | M(SNOOP, HITM),
	HIT(0, L4) | M(SNOOP, HIT),
	HIT(0, L4) | M(REMOTE, REMOTE) | M(SNOOP, HIT),
	HIT(M(LVL, LOC_RAM), RAM) | M(SNOOP, HIT),
	HIT(0, RAM) | M(REMOTE, REMOTE) | M(SNOOP, NONE),
	HIT(0, ANY_CACHE) | M(REMOTE, REMOTE) | M(SNOOPX, FWD),
	HIT(0, ANY_CACHE) | M(REMOTE, REMOTE) | M(SNOOP, HITM),
	HIT(M(LVL, IO), NA) | M(SNOOP, NONE),
	HIT(M(LVL, UNC), NA) | M(SNOOP, NONE),
};

#define OP_MASK		(M(OP, LOAD) | M(OP, STORE) | M(OP, PFETCH) | M(OP, EXEC) | M(OP, NA))
#define LEVEL_MASK	(0x3fffULL << PERF_MEM_LVL_SHIFT)
#define LEVEL_NUM_MASK	(0xfULL << PERF_MEM_LVLNUM_SHIFT)

static u64 source_of(u64 raw)
{
	u64 src = sources[raw & 15];

	if (x86_pmu.model->pmem && (raw & 14) == 8)
		src = (src & ~LEVEL_NUM_MASK) | M(LVLNUM, PMEM);
	return src;
}

static u64 latency_source(u64 raw, bool store)
{
	u64 src = source_of(raw);

	src |= raw & BIT(4) ? M(TLB, MISS) | M(TLB, L2) : M(TLB, HIT) | M(TLB, L1) | M(TLB, L2);
	if (raw & BIT(5))
		src |= M(LOCK, LOCKED);
	if (store)
		return (src & ~OP_MASK) | M(OP, STORE) | M(BLK, NA);
	if (!x86_pmu.model->block_info || !(raw & (BIT(6) | BIT(7))))
		return src | M(BLK, NA);
	return src | (raw & BIT(6) ? M(BLK, DATA) : 0) | (raw & BIT(7) ? M(BLK, ADDR) : 0);
}

/**
 * intel_data_source() - translate the data source in a record
 * @mem: what records of the event say of memory accesses
 * @raw: the record's word
 *
 * SDM volume 3, "Data Source Encodings".
 *
 * Context: any.
 * Return: PERF_SAMPLE_DATA_SRC.
 */
u64 intel_data_source(enum x86_mem mem, u64 raw)
{
	switch (mem) {
	case X86_MEM_LOAD_LATENCY:
		return latency_source(raw, false);
	case X86_MEM_STORE_LATENCY:
		return latency_source(raw, true);
	case X86_MEM_LOAD:
		return (PERF_MEM_NA & ~OP_MASK) | M(OP, LOAD);
	case X86_MEM_STORE:
		return (PERF_MEM_NA & ~(OP_MASK | LEVEL_MASK)) | M(OP, STORE) | M(LVL, L1) |
		       (raw & 1 ? M(LVL, HIT) : M(LVL, MISS));
	case X86_MEM_NONE:
		break;
	}
	return PERF_MEM_NA;
}
NOKPROBE_SYMBOL(intel_data_source);

/* Fields of a latency, if it has two */
#define OF_INSTRUCTION(latency)	((latency) & 0xffff)
#define OF_CACHE(latency)	((latency) >> 32 & 0xffff)

/**
 * intel_weights() - translate the latency in a record
 * @to: the weights are set
 * @mem: what records of the event say of memory accesses
 * @latency: the record's word, in cycles
 * @tsx: cycles in a transaction in 31:0; a weight without a latency
 *
 * SDM volume 3, "Load Latency Performance Monitoring Facility", "TSX Tuning".
 *
 * Context: any.
 */
void intel_weights(struct kpmu_precise *to, enum x86_mem mem, u64 latency, u64 tsx)
{
	u64 instruction = 0;

	if (!x86_pmu.precise->extended) {
		to->weight = mem == X86_MEM_LOAD_LATENCY ? latency : (u32)tsx;
		to->weight_struct = to->weight;
		return;
	}
	if (x86_pmu.model->split_latency) {
		instruction = OF_INSTRUCTION(latency);
		latency = OF_CACHE(latency);
	}
	to->weight = latency ?: (u32)tsx;
	to->weight_struct = ((u32)latency ?: (u32)tsx) | instruction << 32;
}
NOKPROBE_SYMBOL(intel_weights);
