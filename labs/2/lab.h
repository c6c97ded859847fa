/* SPDX-License-Identifier: GPL-2.0-only */
/* Lab 2: overflow and the interrupt of the counters.  Documentation/labs/2.rst */
#ifndef LAB_2_H
#define LAB_2_H

#include "kernel.h"

/* The local APIC's values for lab_lvtpc(): deliver an NMI; deliver nothing */
#define LVTPC_NMI	0x00400
#define LVTPC_MASKED	0x10400

/* The student's */
void sampling_start(u64 period);
void sampling_stop(void);
bool pmi(struct pt_regs *regs);

/* The grader's: pmi() calls it once for each overflow */
void take_sample(struct pt_regs *regs);

#endif
