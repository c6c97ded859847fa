/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Precise events: the hardware writes a record of the instruction that caused an overflow into a
 * buffer in memory.  It raises the interrupt for each record, or when the buffer is nearly full.
 */
#ifndef KPMU_X86_PRECISE_H
#define KPMU_X86_PRECISE_H

#include "x86.h"

/* Bit of GLOBAL_STATUS: the buffer is filled up to the threshold */
#define X86_STATUS_BUFFER	BIT_ULL(62)

/**
 * struct x86_precise - access to precise events
 * @max: largest precise_ip
 * @extended: records consist of groups, among them registers XMM
 * @vague: records have no time, and name all counters that have overflowed, not only those whose
 *	events have caused the record
 * @alias: the selector to use instead, for events that cannot be precise themselves
 * @init: complete an event's hw part, whose selector and counters are those of the event if it
 *	were not precise
 * @get: provide the buffers, for one event.  Task, may sleep.  0 or -ENOMEM, explained in *@why
 * @put: undo @get.  Task, may sleep
 * @setup: kpmu has taken the registers of this CPU.  IRQs off
 * @clear: kpmu releases them.  IRQs off, no event on any counter
 * @update: the events in c->precise or their periods have changed.  IRQs off; the counters of
 *	precise events are stopped, and the buffer is empty
 * @pending: are there records in this CPU's buffer?  IRQs off
 * @drain: report the records in this CPU's buffer.  In the PMI with its registers; otherwise with
 *	IRQs off and c->draining set, and NULL
 * @is_on: whether the registers and the DS area agree with the shadow.  IRQs off
 */
struct x86_precise {
	unsigned int max;
	bool extended;
	bool vague;
	u64 (*alias)(u64 sel, const struct kpmu_attr *attr);
	void (*init)(struct kpmu_hw *hw, const struct kpmu_attr *attr);
	int (*get)(const char **why);
	void (*put)(void);
	void (*setup)(struct x86_cpu *c);
	void (*clear)(struct x86_cpu *c);
	void (*update)(struct x86_cpu *c);
	bool (*pending)(void);
	void (*drain)(struct x86_cpu *c, struct pt_regs *regs);
	bool (*is_on)(const struct x86_cpu *c);
};

/**
 * x86_reloads() - does the hardware start the next period of an event with each record?
 * @hw: a precise event
 *
 * Context: any.
 * Return: true if it does; false if it sets the counter to 0, for the PMI to set it.
 */
static inline bool x86_reloads(const struct kpmu_hw *hw)
{
	return hw->reload && hw->period <= x86_pmu.farthest;
}

/* precise.c */
void x86_precise_stop(struct x86_cpu *c);
void x86_precise_drain(struct x86_cpu *c);
void x86_read_precise(struct kpmu_hw *hw);

/* pmi.c */
bool x86_report(struct kpmu_hw *hw, struct kpmu_hit *hit);
void x86_report_batch(struct kpmu_hw *hw, struct kpmu_hit *hit);

#endif
