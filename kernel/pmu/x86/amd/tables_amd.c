// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables for AMD families: encodings of the generic events.  Sources: the PPRs of families 17h,
 * 19h and 1Ah, and the BKDGs of families 10h to 14h.  All counters count all core events.
 */
#include <linux/stddef.h>

#include "amd.h"

#define NO		{ 0, 0 }
#define NONSENSE	{ X86_NONSENSE, 0 }
#define EV(c)		{ c, 0 }

#define CACHE_TABLE(name) static const struct x86_cache_event	\
	name[X86_CACHE_IDS][X86_CACHE_OPS][X86_CACHE_RESULTS]

/* Rows [op][result]: read, write, prefetch */
#define ONLY_READ(access, miss)	{				\
	{ access, miss }, { NONSENSE, NONSENSE }, { NONSENSE, NONSENSE } }
#define NO_WRITE(access, miss, prefetch)	{		\
	{ access, miss }, { NONSENSE, NONSENSE }, { prefetch, NO } }
#define LOADS(access, miss)	{ { access, miss }, { NO, NO }, { NO, NO } }
#define BPU		ONLY_READ(EV(0x00c2), EV(0x00c3))

static const struct x86_constraint all_counters[] = { { } };

/* ---- before Zen --------------------------------------------------------- */

static const u64 k7_hw[X86_HW_EVENTS] = {
	0x0076, 0x00c0, 0x077d, 0x077e, 0x00c2, 0x00c3, 0, 0x00d0, 0x00d1, 0
};

CACHE_TABLE(k7_cache) = {
	{ { EV(0x0040), EV(0x0141) }, { NO, NO }, { EV(0x0267), EV(0x0167) } },
	NO_WRITE(EV(0x0080), EV(0x0081), EV(0x014b)),
	{ { EV(0x037d), EV(0x037e) }, { EV(0x017f), NO }, { NO, NO } },
	LOADS(EV(0x0040), EV(0x0746)),
	ONLY_READ(EV(0x0080), EV(0x0385)),
	BPU,
	/* The northbridge's, which the cores of a node share */
	ONLY_READ(NO, NO),
};

/* ---- Zen ---------------------------------------------------------------- */

static const u64 zen1_hw[X86_HW_EVENTS] = {
	0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, 0, 0x0287, 0x0187, 0
};

static const u64 zen2_hw[X86_HW_EVENTS] = {
	0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, 0, 0x00a9, 0, 0
};

static const u64 zen4_hw[X86_HW_EVENTS] = {
	0x0076, 0x00c0, 0xff60, 0x0964, 0x00c2, 0x00c3, 0, 0x00a9, 0, 0x100000120
};

CACHE_TABLE(zen_cache) = {
	{ { EV(0x0040), EV(0xc860) }, { NO, NO }, { EV(0xff5a), NO } },
	NO_WRITE(EV(0x0080), EV(0x0081), NO),
	LOADS(NO, NO),
	LOADS(EV(0xff45), EV(0xf045)),
	ONLY_READ(EV(0x0084), EV(0xff85)),
	BPU,
	ONLY_READ(NO, NO),
};

#define MODEL(name, hw, cache) \
	static const struct x86_model name = { NULL, NULL, all_counters, hw, cache, NULL, NULL }

MODEL(k7, k7_hw, k7_cache);
MODEL(zen1, zen1_hw, zen_cache);
MODEL(zen2, zen2_hw, zen_cache);
MODEL(zen4, zen4_hw, zen_cache);

/* Family 15h is not there: its counters have constraints, and pairs of cores share some */
const struct amd_family amd_families[] = {
	{ 0x06, 0x00, 0xff, &k7 },
	{ 0x0f, 0x00, 0xff, &k7 },
	{ 0x10, 0x00, 0xff, &k7 },
	{ 0x11, 0x00, 0xff, &k7 },
	{ 0x12, 0x00, 0xff, &k7 },
	{ 0x14, 0x00, 0xff, &k7 },
	{ 0x17, 0x00, 0x2f, &zen1 },
	{ 0x17, 0x30, 0xff, &zen2 },
	{ 0x19, 0x10, 0x1f, &zen4 },
	{ 0x19, 0x60, 0x7f, &zen4 },
	{ 0x19, 0xa0, 0xaf, &zen4 },
	{ 0x19, 0x00, 0xff, &zen2 },
	{ AMD_NEWEST, 0x00, 0xff, &zen4 },
	{ }
};
