// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large increments: the floating-point operations of an instruction can be more than the 4 bits by which
 * a counter can be increased at once.  PPR of family 17h, "Large Increment per Cycle Events": such an event
 * is counted by an even counter and the next one, whose event is MergeEvent, as one counter of 64 bits.
 *
 * The upper counter has bits 63:48, in its bits 15:0.  While they are all set, the pair overflows when the
 * lower counter does, which is all that the rest of the module knows: it sets and reads the lower counter
 * only.  After an overflow they are set again.
 */
#include <linux/bitops.h>
#include <linux/kprobes.h>

#include "../counter.h"
#include "amd.h"

#define SEL_EVENT_CODE	(SEL_EVENT_HIGH | SEL_EVENT)
#define LARGE_EVENT	0x003	/* retired SSE and AVX operations */
#define MERGE_EVENT	(SEL_EVENT_CODE | SEL_EN)
#define EVEN_COUNTERS	0x5555u
#define UPPER_START	0xffff

static u32 lower(u64 sel)
{
	if ((sel & SEL_EVENT_CODE) != LARGE_EVENT)
		return 0;
	return x86_pmu.counters & (x86_pmu.counters >> 1) & EVEN_COUNTERS;
}

static void join(struct x86_cpu *c, int idx)
{
	int upper = idx + 1;

	c->sel[upper] = MERGE_EVENT;
	c->known |= 1u << upper;
	c->pairs |= 1u << idx;
	x86_counter_write(upper, UPPER_START);
	x86_wrmsr(MSR_GP_SEL(upper), c->sel[upper]);
}

static void part(struct x86_cpu *c, int idx)
{
	c->sel[idx + 1] = 0;
	c->pairs &= ~(1u << idx);
	x86_wrmsr(MSR_GP_SEL(idx + 1), 0);
}

static void refill(struct x86_cpu *c)
{
	u32 m;

	for (m = c->pairs; m; m &= m - 1) {
		int upper = __ffs(m) + 1;

		if (x86_counter_read(upper) != UPPER_START)
			x86_counter_write(upper, UPPER_START);
	}
}
NOKPROBE_SYMBOL(refill);

const struct x86_pairs amd_pairs = {
	.lower = lower,
	.join = join,
	.part = part,
	.refill = refill,
};
