// SPDX-License-Identifier: GPL-2.0-only
/* The grader of lab 5.  Documentation/labs/5.rst explains each figure. */
#include <linux/irqflags.h>
#include <linux/string.h>

#include "lab.h"

#define INSTRUCTIONS	0x00c0
#define BRANCHES	0x00c4
#define CYCLES		0x003c
#define ANY		0xf
#define GLOBAL_CTRL	MSR_CORE_PERF_GLOBAL_CTRL

/* Counters from i on, for the members from i on */
static bool assign_from(struct group *g, int i, u32 taken)
{
	int c;

	if (i == g->nr)
		return true;
	for (c = 0; c < COUNTERS; c++) {
		if (!(g->member[i].allowed & ~taken & BIT(c)))
			continue;
		g->member[i].counter = c;
		if (assign_from(g, i + 1, taken | BIT(c)))
			return true;
	}
	return false;
}

bool assign(struct group *g, u32 taken)
{
	return assign_from(g, 0, taken);
}

static struct group group_of(int nr, u16 a, u16 b, u16 c, u16 d)
{
	struct group g = { .nr = nr };
	u16 codes[] = { a, b, c, d };
	int i;

	for (i = 0; i < nr; i++) {
		g.member[i].code = codes[i % 4];
		g.member[i].allowed = ANY;
	}
	return g;
}

/* IRQs are off while groups count, or the counts would not be the same each time */
static void loop(u32 n)
{
	asm volatile("1:	dec	%0\n\tjnz	1b" : "+r" (n) : : "cc");
}

static void run(struct group *g, u32 n)
{
	unsigned long flags;

	local_irq_save(flags);
	group_start(g);
	loop(n);
	group_stop(g);
	local_irq_restore(flags);
}

static void grade_together(void)
{
	struct group g = group_of(4, INSTRUCTIONS, CYCLES, INSTRUCTIONS, BRANCHES), h;
	u64 writes = lab_rdmsr(MSR_STAT_OF(GLOBAL_CTRL)), first;

	run(&g, 1000);
	lab_check("writes of IA32_PERF_GLOBAL_CTRL", lab_rdmsr(MSR_STAT_OF(GLOBAL_CTRL)) - writes, 2);
	lab_check("the group has counted a loop", g.member[0].count > 2000, 1);
	lab_check("instructions of members 0 and 2 differ by",
		  g.member[0].count - g.member[2].count, 0);
	lab_check("cycles and twice the instructions differ by",
		  g.member[1].count - 2 * g.member[0].count, 0);
	h = group_of(4, INSTRUCTIONS, CYCLES, INSTRUCTIONS, BRANCHES);
	run(&h, 3000);
	lab_check("instructions of 2,000 rounds more", h.member[0].count - g.member[0].count, 4000);
	lab_check("branches of 2,000 rounds more", h.member[3].count - g.member[3].count, 2000);
	first = g.member[0].count;
	run(&g, 3000);
	lab_check("what a second run adds and a group of its own counts differ by",
		  g.member[0].count - first - h.member[0].count, 0);
}

static void grade_refused(void)
{
	struct group g = group_of(5, INSTRUCTIONS, BRANCHES, CYCLES, INSTRUCTIONS), h;
	u64 writes = lab_rdmsr(MSR_STAT_ALL);
	bool started = group_start(&g);

	writes = lab_rdmsr(MSR_STAT_ALL) - writes;
	lab_check("a group of 5 starts", started, 0);
	lab_check("registers written for it", writes, 0);
	g = group_of(2, INSTRUCTIONS, BRANCHES, 0, 0);
	g.member[0].allowed = g.member[1].allowed = BIT(2);
	lab_check("two members that need counter 2 start", group_start(&g), 0);
	h = group_of(4, INSTRUCTIONS, BRANCHES, INSTRUCTIONS, INSTRUCTIONS);
	h.member[3].allowed = BIT(0);
	run(&h, 1000);
	lab_check("the last member needs counter 0 and has", h.member[3].counter, 0);
	lab_check("then members 0 and 3 differ by", h.member[0].count - h.member[3].count, 0);
}

static void grade_beside(void)
{
	struct group a = group_of(2, INSTRUCTIONS, CYCLES, 0, 0);
	struct group b = group_of(3, INSTRUCTIONS, BRANCHES, CYCLES, 0);
	struct group c = group_of(2, INSTRUCTIONS, BRANCHES, 0, 0);
	unsigned long flags;
	bool with_b, with_c;

	local_irq_save(flags);
	group_start(&a);
	loop(1000);
	with_b = group_start(&b);
	with_c = group_start(&c);
	loop(1000);
	group_stop(&b);
	group_stop(&c);
	loop(1000);
	group_stop(&a);
	local_irq_restore(flags);
	lab_check("beside a group of 2, one of 3 starts", with_b, 0);
	lab_check("one of 2 starts", with_c, 1);
	lab_check("it has counted its loop", c.member[0].count >= 2000 && c.member[0].count < 3000, 1);
	lab_check("the first one has counted all three loops",
		  a.member[0].count >= 6000 && a.member[0].count < 8000, 1);
	lab_check("its cycles and twice its instructions differ by",
		  a.member[1].count - 2 * a.member[0].count, 0);
	lab_check("the group that did not start has counted", b.member[0].count, 0);
	lab_check("counters left on", lab_rdmsr(GLOBAL_CTRL), 0);
	b = group_of(4, INSTRUCTIONS, BRANCHES, CYCLES, INSTRUCTIONS);
	lab_check("now one of 4 starts", group_start(&b), 1);
	group_stop(&b);
}

void lab_grade(void)
{
	grade_together();
	grade_refused();
	grade_beside();
}
