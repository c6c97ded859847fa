// SPDX-License-Identifier: GPL-2.0-only
/* The grader of lab 8.  Documentation/labs/8.rst explains each figure. */
#include <linux/string.h>

#include "lab.h"
#include "spin-check.h"

static struct ds_area ds;
static struct record buffer[RECORDS + 1];
static u64 every, records, right, first_ip, first_event_ip;

void take_record(const struct record *r)
{
	/* The instruction itself, and the registers after it: no skid */
	u64 done = ++records * every;

	if (records == 1) {
		first_ip = r->ip;
		first_event_ip = r->event_ip;
	}
	right += r->event_ip == spin_ip(done - 1) && r->ip == spin_ip(done) && r->cx == spin_cx(done);
}

/* Return the number of interrupts */
static u64 run(u32 distance, u32 wake)
{
	u64 pmis = lab_rdmsr(MSR_STAT_PMIS);

	every = distance;
	records = 0;
	right = 0;
	memset(&ds, 0, sizeof(ds));
	precise_start(&ds, buffer, distance, wake);
	lab_spin();
	precise_stop();
	return lab_rdmsr(MSR_STAT_PMIS) - pmis;
}

static void grade_few(void)
{
	u64 pmis = run(150000, RECORDS);

	lab_check("interrupts, with room for all records", pmis, 0);
	lab_check("records in the buffer", precise_drain(), SPIN_TOTAL / 150000);
	lab_check("records taken", records, SPIN_TOTAL / 150000);
	lab_check("of these with the right registers", right, SPIN_TOTAL / 150000);
	lab_check_hex("EventingIP of the first", first_event_ip, spin_ip(150000 - 1));
	lab_check_hex("RIP of the first", first_ip, spin_ip(150000));
	lab_check("records in the buffer after that", precise_drain(), 0);
}

static void grade_many(void)
{
	u64 all = SPIN_TOTAL / 1001, pmis = run(1001, 10);

	lab_check("interrupts, one for 10 records", pmis, all / 10);
	lab_check("records left in the buffer", precise_drain(), all % 10);
	lab_check("records taken", records, all);
	lab_check("of these with the right registers", right, all);
	pmis = run(1001, 1);
	lab_check("interrupts, one for each record", pmis, all);
	lab_check("records with the right registers", right, all);
}

void lab_grade(void)
{
	struct pt_regs none = {};
	u64 lost = lab_rdmsr(MSR_STAT_LOST);

	lab_on_nmi(precise_pmi);
	grade_few();
	grade_many();
	records = 0;
	lab_spin();
	lab_check("records after precise_stop()", precise_drain() + records, 0);
	lab_check("IA32_PEBS_ENABLE after it", lab_rdmsr(MSR_IA32_PEBS_ENABLE), 0);
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_OVF_CTRL, BIT_ULL(62));
	lab_check("NMIs of others that precise_pmi() claims", precise_pmi(&none), 0);
	lab_check("interrupts lost while masked", lab_rdmsr(MSR_STAT_LOST) - lost, 0);
	lab_on_nmi(NULL);
}
