/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 8: precise events.  Documentation/labs/8.rst */
#ifndef LAB_8_H
#define LAB_8_H

#include "kernel.h"

/**
 * struct ds_area - the debug store area, in its layout of 64 bits
 * @bts: not used here
 * @base: address of the first record
 * @index: address of the next record; the CPU advances it
 * @maximum: the end of the buffer
 * @threshold: an interrupt comes when @index gets here
 * @reset: per general counter, the value from which it goes on after a record
 */
struct ds_area {
	u64 bts[4];
	u64 base;
	u64 index;
	u64 maximum;
	u64 threshold;
	u64 reset[8];
};

/* A record of format 3: registers after the instruction, and the address of the instruction */
struct record {
	u64 flags, ip, ax, bx, cx, dx, si, di, bp, sp, r8, r9, r10, r11, r12, r13, r14, r15;
	u64 counters, address, source, latency, event_ip, tsx, tsc;
};

/* For lab_lvtpc(): deliver an NMI; deliver nothing */
#define LVTPC_NMI	0x00400
#define LVTPC_MASKED	0x10400
/* Bits of a counter, from lab 1 */
#define WIDTH		40
/* Records in the buffer */
#define RECORDS		16

/* The student's */
void precise_start(struct ds_area *ds, struct record *buffer, u32 every, u32 wake);
void precise_stop(void);
bool precise_pmi(struct pt_regs *regs);
u32 precise_drain(void);

/* The grader's: precise_drain() calls it for each record, the oldest first */
void take_record(const struct record *r);

#endif
