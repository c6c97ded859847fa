// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables for Intel models: event constraints, encodings of the generic events, and extra
 * registers.  Sources: the SDM's event lists and Intel's perfmon event files.
 */
#include <linux/stddef.h>

#include "intel.h"

#define FIXED(n)	(1u << (X86_FIXED + (n)))
#define ANY_GP		0xffu

/* Constraint of one event and umask; of all umasks of an event; of a range of events */
#define CODE(c, m)	{ c, c, SEL_CODE, m }
#define EVENT(e, m)	{ e, e, SEL_EVENT, m }
#define RANGE(a, b, m)	{ a, b, SEL_EVENT, m }
#define END		{ }

/*
 * An event that a fixed counter counts can also be scheduled on a general one, except
 * for the pseudo encodings (event code 0), which exist only for the fixed counter.
 */
static const struct x86_constraint gen_constraints[] = {
	CODE(0x00c0, FIXED(0) | ANY_GP),
	CODE(0x003c, FIXED(1) | ANY_GP),
	CODE(0x0300, FIXED(2)),
	END
};

static const struct x86_constraint skl_constraints[] = {
	CODE(0x00c0, FIXED(0) | ANY_GP),
	CODE(0x003c, FIXED(1) | ANY_GP),
	CODE(0x0300, FIXED(2)),
	CODE(0x01c0, 0x02),		/* INST_RETIRED.PREC_DIST */
	EVENT(0xd0, 0x0f),		/* MEM_INST_RETIRED */
	EVENT(0xd1, 0x0f),		/* MEM_LOAD_RETIRED */
	EVENT(0xd2, 0x0f),		/* MEM_LOAD_L3_HIT_RETIRED */
	EVENT(0xcd, 0x0f),		/* MEM_TRANS_RETIRED */
	EVENT(0xc6, 0x0f),		/* FRONTEND_RETIRED */
	END
};

static const struct x86_constraint icl_constraints[] = {
	CODE(0x00c0, FIXED(0) | ANY_GP),
	CODE(0x01c0, FIXED(0) | ANY_GP),
	CODE(0x0100, FIXED(0)),
	CODE(0x003c, FIXED(1) | ANY_GP),
	CODE(0x0200, FIXED(1)),
	CODE(0x0300, FIXED(2)),
	CODE(0x0400, FIXED(3)),		/* TOPDOWN.SLOTS */
	RANGE(0x03, 0x0a, 0x0f),
	RANGE(0x1f, 0x28, 0x0f),
	EVENT(0x32, 0x0f),		/* SW_PREFETCH_ACCESS */
	RANGE(0x48, 0x56, 0x0f),
	RANGE(0x60, 0x8b, 0x0f),
	CODE(0x04a3, 0xff),		/* CYCLE_ACTIVITY.STALLS_TOTAL */
	CODE(0x10a3, 0xff),		/* CYCLE_ACTIVITY.CYCLES_MEM_ANY */
	CODE(0x14a3, 0xff),		/* CYCLE_ACTIVITY.STALLS_MEM_ANY */
	EVENT(0xa3, 0x0f),
	RANGE(0xa8, 0xb0, 0x0f),
	RANGE(0xb7, 0xbd, 0x0f),
	RANGE(0xd0, 0xe6, 0x0f),
	EVENT(0xef, 0x0f),
	RANGE(0xf0, 0xf4, 0x0f),
	END
};

static const struct x86_constraint spr_constraints[] = {
	CODE(0x00c0, FIXED(0) | ANY_GP),
	CODE(0x0100, FIXED(0)),
	CODE(0x003c, FIXED(1) | ANY_GP),
	CODE(0x0200, FIXED(1)),
	CODE(0x0300, FIXED(2)),
	CODE(0x013c, FIXED(2) | ANY_GP),
	CODE(0x0400, FIXED(3)),
	EVENT(0x2e, 0xff),
	EVENT(0x3c, 0xff),
	RANGE(0x01, 0x8f, 0x0f),
	CODE(0x01a3, 0x0f), CODE(0x02a3, 0x0f), CODE(0x05a3, 0x0f),
	CODE(0x06a3, 0x0f), CODE(0x08a3, 0x0f), CODE(0x0ca3, 0x0f),
	CODE(0x04a4, 0x01), CODE(0x08a4, 0x01),
	CODE(0x01cd, 0xfe), CODE(0x02cd, 0x01),
	EVENT(0xce, 0x01),
	RANGE(0xd0, 0xdf, 0x0f),
	END
};

/* Gracemont, the efficiency cores of Alder Lake: any general counter counts any event */
static const struct x86_constraint grt_constraints[] = {
	CODE(0x00c0, FIXED(0) | ANY_GP),
	CODE(0x003c, FIXED(1) | ANY_GP),
	CODE(0x0300, FIXED(2)),
	CODE(0x013c, FIXED(2) | ANY_GP),
	END
};

/*
 * The generic cache events, [cache][op][result]: caches L1D L1I LL DTLB ITLB
 * BPU NODE, ops read write prefetch, results access miss.
 */
#define NO		{ 0, 0 }
#define NONSENSE	{ X86_NONSENSE, 0 }
#define EV(c)		{ c, 0 }
#define OCR(x)		{ 0x01b7, x }	/* OFFCORE_RESPONSE */
#define OCR_SPR(x)	{ 0x012a, x }	/* the same since Golden Cove */

/* Bits of OFFCORE_RESPONSE on Skylake: request, supplier, snoop */
#define SKL_READ	BIT_ULL(0)
#define SKL_RFO		BIT_ULL(1)
#define SKL_ANY		BIT_ULL(16)
#define SKL_NO_SUPPLIER	BIT_ULL(17)
#define SKL_LOCAL	BIT_ULL(26)
#define SKL_REMOTE	GENMASK_ULL(29, 27)
#define SKL_SNOOP	GENMASK_ULL(37, 30)
#define SKL_SNOOP_DRAM	GENMASK_ULL(36, 30)
#define SKL_L3_MISS	(SKL_LOCAL | SKL_REMOTE | SKL_NO_SUPPLIER)

/* Rows that models share */
#define ONLY_READ(access, miss)	{				\
	{ access, miss }, { NONSENSE, NONSENSE }, { NONSENSE, NONSENSE } }
#define SKL_L1D		{ { EV(0x81d0), EV(0x0151) }, { EV(0x82d0), NO }, { NO, NO } }
#define SKL_L1I		{ { NO, EV(0x0283) }, { NONSENSE, NONSENSE }, { NO, NO } }
#define SKL_DTLB	{ { EV(0x81d0), EV(0x0e08) },		\
			  { EV(0x82d0), EV(0x0e49) }, { NO, NO } }
#define SKL_BPU		ONLY_READ(EV(0x00c4), EV(0x00c5))
#define SKL_LL		{					\
	{ OCR(SKL_READ | SKL_ANY | SKL_SNOOP),			\
	  OCR(SKL_READ | SKL_L3_MISS | SKL_SNOOP) },		\
	{ OCR(SKL_RFO | SKL_ANY | SKL_SNOOP),			\
	  OCR(SKL_RFO | SKL_L3_MISS | SKL_SNOOP) },		\
	{ NO, NO } }
#define SKL_NODE	{					\
	{ OCR(SKL_READ | SKL_LOCAL | SKL_SNOOP_DRAM),		\
	  OCR(SKL_READ | SKL_REMOTE | SKL_SNOOP_DRAM) },	\
	{ OCR(SKL_RFO | SKL_LOCAL | SKL_SNOOP_DRAM),		\
	  OCR(SKL_RFO | SKL_REMOTE | SKL_SNOOP_DRAM) },		\
	{ NO, NO } }

#define CACHE_TABLE(name) static const struct x86_cache_event	\
	name[X86_CACHE_IDS][X86_CACHE_OPS][X86_CACHE_RESULTS]

CACHE_TABLE(skl_cache) = {
	SKL_L1D, SKL_L1I, SKL_LL, SKL_DTLB,
	ONLY_READ(EV(0x2085), EV(0x0e85)),
	SKL_BPU, SKL_NODE,
};

/* Ice Lake's ITLB has no access event */
CACHE_TABLE(icl_cache) = {
	SKL_L1D, SKL_L1I, SKL_LL, SKL_DTLB,
	ONLY_READ(NONSENSE, EV(0x0e85)),
	SKL_BPU, SKL_NODE,
};

/* Ice Lake servers have other offcore response values */
CACHE_TABLE(icx_cache) = {
	SKL_L1D, SKL_L1I,
	{
		{ OCR(0x0000010001), OCR(0x3fbfc00001) },
		{ OCR(0x3f3ffc0002), OCR(0x3f3fc00002) },
		{ NO, NO }
	},
	SKL_DTLB,
	ONLY_READ(NONSENSE, EV(0x0e85)),
	SKL_BPU,
	{
		{ OCR(0x0104000001), OCR(0x0730000001) },
		{ OCR(0x0104000002), OCR(0x0730000002) },
		{ NO, NO }
	},
};

CACHE_TABLE(spr_cache) = {
	{ { EV(0x81d0), EV(0xe124) }, { EV(0x82d0), NO }, { NO, NO } },
	{ { NO, EV(0xe424) }, { NONSENSE, NONSENSE }, { NO, NO } },
	{
		{ OCR_SPR(0x0000010001), OCR_SPR(0x3fbfc00001) },
		{ OCR_SPR(0x3f3ffc0002), OCR_SPR(0x3f3fc00002) },
		{ NO, NO }
	},
	{ { EV(0x81d0), EV(0x0e12) }, { EV(0x82d0), EV(0x0e13) }, { NO, NO } },
	ONLY_READ(NONSENSE, EV(0x0e11)),
	ONLY_READ(EV(0x04c4), EV(0x04c5)),
	{
		{ OCR_SPR(0x0104000001), OCR_SPR(0x0730000001) },
		{ NO, NO }, { NO, NO }
	},
};

/* Gracemont has no event for misses of its first-level data cache */
CACHE_TABLE(grt_cache) = {
	{ { EV(0x81d0), NO }, { EV(0x82d0), NO }, { NO, NO } },
	{ { EV(0x0380), EV(0x0280) }, { NONSENSE, NONSENSE }, { NO, NO } },
	{
		{ OCR(0x0000010001), OCR(0x3f84400001) },
		{ OCR(0x0000010002), OCR(0x3f84400002) },
		{ NO, NO }
	},
	{ { EV(0x81d0), EV(0x0e08) }, { EV(0x82d0), EV(0x0e49) }, { NO, NO } },
	ONLY_READ(NONSENSE, EV(0x0481)),
	ONLY_READ(EV(0x00c4), EV(0x00c5)),
	{ { NO, NO }, { NO, NO }, { NO, NO } },
};

/*
 * Precise events that differ from what the other tables say, or whose records say something of
 * memory.  Modifiers are compared, too, so an event with one has no entry unless it is listed.
 */
#define PE_ALL		(SEL_CODE | SEL_MODIFIERS)
#define PE_EVENT		(SEL_EVENT | SEL_MODIFIERS)
#define P_CODE(c, m, mem)	{ c, c, PE_ALL, m, mem }
#define P_RANGE(a, b, m, mem)	{ a, b, PE_EVENT, m, mem }
#define RETIRED_NONE	(SEL_INV | 16U << 24)	/* cycles, see pebs.c */

static const struct x86_precise_event skl_precise[] = {
	P_CODE(0x01c0, 0x02, X86_MEM_NONE),
	P_CODE(0x01c0 | RETIRED_NONE, 0x02, X86_MEM_NONE),
	P_CODE(0x00c0 | RETIRED_NONE, 0x0f, X86_MEM_NONE),
	P_CODE(0x01cd, 0x0f, X86_MEM_LOAD_LATENCY),
	P_CODE(0x11d0, 0x0f, X86_MEM_LOAD), P_CODE(0x12d0, 0x0f, X86_MEM_STORE),
	P_CODE(0x21d0, 0x0f, X86_MEM_LOAD), P_CODE(0x22d0, 0x0f, X86_MEM_STORE),
	P_CODE(0x41d0, 0x0f, X86_MEM_LOAD), P_CODE(0x42d0, 0x0f, X86_MEM_STORE),
	P_CODE(0x81d0, 0x0f, X86_MEM_LOAD), P_CODE(0x82d0, 0x0f, X86_MEM_STORE),
	P_RANGE(0xd1, 0xd3, 0x0f, X86_MEM_LOAD),
	{ 0, ~0U, ~0U, 0x0f, X86_MEM_NONE },
	{ }
};

#define ICL_MEMORY							\
	P_CODE(0x11d0, 0x0f, X86_MEM_LOAD), P_CODE(0x12d0, 0x0f, X86_MEM_STORE), \
	P_CODE(0x21d0, 0x0f, X86_MEM_LOAD),				\
	P_CODE(0x41d0, 0x0f, X86_MEM_LOAD), P_CODE(0x42d0, 0x0f, X86_MEM_STORE), \
	P_CODE(0x81d0, 0x0f, X86_MEM_LOAD), P_CODE(0x82d0, 0x0f, X86_MEM_STORE), \
	P_RANGE(0xd1, 0xd4, 0x0f, X86_MEM_LOAD),			\
	P_RANGE(0xd0, 0xd0, 0x0f, X86_MEM_NONE)

static const struct x86_precise_event icl_precise[] = {
	P_CODE(0x01c0, FIXED(0), X86_MEM_NONE),
	P_CODE(0x0100, FIXED(0), X86_MEM_NONE),
	P_CODE(0x0400, FIXED(3), X86_MEM_NONE),
	P_CODE(0x01cd, 0xff, X86_MEM_LOAD_LATENCY),
	ICL_MEMORY,
	{ }
};

static const struct x86_precise_event spr_precise[] = {
	P_CODE(0x0100, FIXED(0), X86_MEM_NONE),
	P_CODE(0x0400, FIXED(3), X86_MEM_NONE),
	P_RANGE(0xc0, 0xc0, 0xfe, X86_MEM_NONE),
	P_CODE(0x01cd, 0xfe, X86_MEM_LOAD_LATENCY),
	P_CODE(0x02cd, 0x01, X86_MEM_STORE_LATENCY),
	ICL_MEMORY,
	{ }
};

/* Extra registers: 1 and 2 are the offcore responses, 3 is the front-end filter */
#define MSR_RSP_0	0x1a6
#define MSR_RSP_1	0x1a7
#define MSR_FRONTEND	0x3f7
#define MSR_LATENCY	0x3f6
#define LATENCY		{ 0x01cd, X86_LATENCY_REG, MSR_LATENCY, 0xffff }

static const struct x86_extra_reg skl_extra[] = {
	{ 0x01b7, 1, MSR_RSP_0, 0x3fffff8fffULL },
	{ 0x01bb, 2, MSR_RSP_1, 0x3fffff8fffULL },
	{ 0x01c6, 3, MSR_FRONTEND, 0x7fff17 },
	LATENCY,
	{ }
};

static const struct x86_extra_reg icl_extra[] = {
	{ 0x01b7, 1, MSR_RSP_0, 0x3fffffbfffULL },
	{ 0x01bb, 2, MSR_RSP_1, 0x3fffffbfffULL },
	{ 0x01c6, 3, MSR_FRONTEND, 0x7fff17 },
	LATENCY,
	{ }
};

static const struct x86_extra_reg spr_extra[] = {
	{ 0x012a, 1, MSR_RSP_0, 0x3fffffffffULL },
	{ 0x012b, 2, MSR_RSP_1, 0x3fffffffffULL },
	{ 0x01c6, 3, MSR_FRONTEND, 0x7fff1f },
	{ 0x40ad, 3, MSR_FRONTEND, 0x7 },
	{ 0x04c2, 3, MSR_FRONTEND, 0x8 },
	LATENCY,
	{ }
};

static const struct x86_extra_reg grt_extra[] = {
	{ 0x01b7, 1, MSR_RSP_0, 0x3fffffffffULL },
	{ 0x02b7, 2, MSR_RSP_1, 0x3fffffffffULL },
	{ }
};

/* Golden Cove and Gracemont count reference cycles on general counters too */
static const u64 spr_hw[X86_HW_EVENTS] = { [9] = 0x013c };

/* Top-down analysis: events that perf stat opens by name */
static const struct kpmu_file skl_events[] = {
	{ "topdown-total-slots", "event=0x3c,umask=0x0" },
	{ "topdown-total-slots.scale", "4" },
	{ "topdown-slots-issued", "event=0xe,umask=0x1" },
	{ "topdown-slots-retired", "event=0xc2,umask=0x2" },
	{ "topdown-fetch-bubbles", "event=0x9c,umask=0x1" },
	{ "topdown-recovery-bubbles", "event=0xd,umask=0x1,cmask=1" },
	{ "topdown-recovery-bubbles.scale", "4" },
	{ }
};

/* Those of PERF_METRICS; the metrics themselves are not supported */
static const struct kpmu_file icl_metrics[] = {
	{ "slots", "event=0x00,umask=0x4" },
	{ }
};

static const struct kpmu_file grt_events[] = {
	{ "topdown-retiring", "event=0xc2" },
	{ "topdown-bad-spec", "event=0x73" },
	{ "topdown-fe-bound", "event=0x71" },
	{ "topdown-be-bound", "event=0x74" },
	{ }
};

static const struct kpmu_file skl_memory[] = {
	{ "mem-loads", "event=0xcd,umask=0x1,ldlat=3" },
	{ "mem-stores", "event=0xd0,umask=0x82" },
	{ }
};

static const struct kpmu_file spr_memory[] = {
	{ "mem-loads", "event=0xcd,umask=0x1,ldlat=3" },
	{ "mem-stores", "event=0xcd,umask=0x2" },
	{ "mem-loads-aux", "event=0x03,umask=0x82" },
	{ }
};

static const u8 skl_models[] = {
	0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6, 0
};
static const u8 skx_models[] = { 0x55, 0 };
static const u8 icl_models[] = { 0x7d, 0x7e, 0x8c, 0x8d, 0xa7, 0 };
static const u8 icx_models[] = { 0x6a, 0x6c, 0 };
static const u8 spr_models[] = { 0x8f, 0xcf, 0 };
/* Alder Lake and Raptor Lake: Golden Cove or Raptor Cove, and Gracemont */
static const u8 adl_models[] = { 0x97, 0x9a, 0xb7, 0xba, 0xbf, 0 };

static const struct x86_model skylake = {
	"skylake", skl_models, skl_constraints, NULL, skl_cache, skl_extra,
	skl_events, 32, .memory_events = skl_memory,
	.precise = skl_precise,
};
static const struct x86_model skylake_x = {
	"skylake", skx_models, skl_constraints, NULL, skl_cache, skl_extra,
	skl_events, 32, .memory_events = skl_memory,
	.precise = skl_precise, .pmem = true,
};
static const struct x86_model icelake = {
	"icelake", icl_models, icl_constraints, NULL, icl_cache, icl_extra,
	NULL, 32, .memory_events = skl_memory, .metric_events = icl_metrics,
	.precise = icl_precise, .pdist_fixed = true,
};
static const struct x86_model icelake_x = {
	"icelake", icx_models, icl_constraints, NULL, icx_cache, icl_extra,
	NULL, 32, .memory_events = skl_memory, .metric_events = icl_metrics,
	.precise = icl_precise, .pdist_fixed = true, .pmem = true,
};
static const struct x86_model sapphire_rapids = {
	"sapphire_rapids", spr_models, spr_constraints, spr_hw, spr_cache,
	spr_extra, .metric_events = icl_metrics, .block_info = true, .split_latency = true,
	.memory_events = spr_memory, .precise = spr_precise, .pmem = true,
	.pdist_fixed = true, .pdist_first = true, .aux_loads = true,
};

static const struct x86_model gracemont = {
	"alderlake_hybrid", NULL, grt_constraints, spr_hw, grt_cache, grt_extra, grt_events,
	.gp = 6, .fixed = 3,
};
static const struct x86_model alder_lake = {
	"alderlake_hybrid", adl_models, spr_constraints, spr_hw, spr_cache,
	spr_extra, .metric_events = icl_metrics, .block_info = true, .split_latency = true,
	.memory_events = spr_memory, .precise = spr_precise,
	.pdist_fixed = true, .pdist_first = true, .aux_loads = true,
	.atom = &gracemont, .gp = 8, .fixed = 4,
};

const struct x86_model *const intel_models[] = {
	&skylake, &skylake_x, &icelake, &icelake_x, &sapphire_rapids, &alder_lake, NULL
};

/* Any other model: only the architectural events are known */
const struct x86_model intel_generic = {
	"generic", NULL, gen_constraints, NULL, NULL, NULL, NULL
};
