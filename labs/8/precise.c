// SPDX-License-Identifier: GPL-2.0-only
/* Lab 8: precise events.  Documentation/labs/8.rst says what each function has to do. */
#include "lab.h"

static struct ds_area *area;

/*
 * Let the CPU write a record of each @every-th instruction of user mode, counted by general counter 0,
 * and raise an interrupt when @wake records are in the buffer, which has room for RECORDS.
 */
void precise_start(struct ds_area *ds, struct record *buffer, u32 every, u32 wake)
{
	area = ds;
	/*
	 * SOLUTION: the DS area, its address in IA32_DS_AREA, the counter and its selector (USR and EN),
	 * IA32_PEBS_ENABLE, the local APIC, and IA32_PERF_GLOBAL_CTRL.  Note which event the record is of.
	 */
	/* One event after the overflow */
	u64 reset = -(u64)(every - 1) & GENMASK_ULL(WIDTH - 1, 0);

	lab_wrmsr(0x38f, 0);
	ds->base = (u64)buffer;
	ds->index = ds->base;
	ds->maximum = (u64)(buffer + RECORDS);
	ds->threshold = (u64)(buffer + wake);
	ds->reset[0] = reset;
	lab_wrmsr(0x600, (u64)ds);
	lab_wrmsr(0x4c1, reset);
	lab_wrmsr(0x186, 0xc0 | BIT(16) | BIT(22));
	lab_wrmsr(0x3f1, BIT(0));
	lab_lvtpc(LVTPC_NMI);
	lab_wrmsr(0x38f, BIT(0));
	/* END */
}

/* Stop it.  Records that are in the buffer stay there. */
void precise_stop(void)
{
	/* SOLUTION: disable the counter and PEBS, and mask the interrupt */
	lab_wrmsr(0x38f, 0);
	lab_wrmsr(0x3f1, 0);
	lab_wrmsr(0x186, 0);
	lab_lvtpc(LVTPC_MASKED);
	/* END */
}

/* Give all records in the buffer to take_record() and empty it.  Return their number. */
u32 precise_drain(void)
{
	/* SOLUTION: from base to index; then the CPU is to begin at base again */
	struct record *r, *end = (struct record *)area->index;
	u32 nr = 0;

	for (r = (struct record *)area->base; r < end; r++, nr++)
		take_record(r);
	area->index = area->base;
	return nr;
	/* SKELETON: return 0; */
	/* END */
}

/* An NMI has come.  Return false if it is not for the buffer, without any effect. */
bool precise_pmi(struct pt_regs *regs)
{
	/* SOLUTION: bit 62 of the status; clear it, drain, and let the next interrupt through */
	u64 status;

	status = lab_rdmsr(0x38e);
	if (!(status & BIT_ULL(62)))
		return false;
	lab_wrmsr(0x390, BIT_ULL(62));
	precise_drain();
	lab_lvtpc(LVTPC_NMI);
	return true;
	/* SKELETON: return false; */
	/* END */
}
