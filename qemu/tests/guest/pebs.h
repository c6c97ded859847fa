/* SPDX-License-Identifier: GPL-2.0-only */
/* Precise events: the DS area, records in one form for all formats, steps. */
#ifndef PEBS_H
#define PEBS_H

#include "lbr.h"

#define MSR_MISC_ENABLE		0x1a0
#define MSR_PEBS_ENABLE		0x3f1
#define MSR_PEBS_DATA_CFG	0x3f2
#define MSR_PEBS_LD_LAT		0x3f6
#define MSR_DS_AREA		0x600

#define SEL_ADAPTIVE		(1ul << 34)
#define STATUS_BUF		(1ul << 62)

#define CFG_MEM			1u
#define CFG_GPR			2u
#define CFG_XMM			4u
#define CFG_LBR(n)		(8u | ((n) - 1) << 24)

#define EV_PREC_DIST		0x01c0
#define EV_LATENCY		0x01cd

/* Counters are numbered as in GLOBAL_CTRL; the values to restart with are not */
#define NO_RESET		(~0ul)	/* far from an overflow */

struct ds {
	u64 bts[4];
	u64 base, index, max, threshold;
	u64 reset_gp[8], reset_fixed[4];
};

/* The order of registers in format 4, and of QEMU */
enum { AX, CX, DX, BX, SP, BP, SI, DI, R8, R9, R10, R11, R12, R13, R14, R15 };

struct sample {
	u64 ip, next, flags, status, tsc, gpr[16];
	u64 addr, source, latency, zero;
	u64 cfg, size;
	u64 xmm[32], lbr[32 * 3];
};

struct step {
	u64 skipped_to;		/* where the instruction is, if a fault was before it */
	u64 rip, flags, gpr[16], count;
};

#define PEBS_BUFFER	(128 * 1024)

extern struct ds pebs_ds[MAX_CPUS];
extern u8 pebs_buffer[MAX_CPUS][PEBS_BUFFER];

/* test_pebs.c */
int pebs_fmt(void);
u32 pebs_size(void);
void pebs_setup(struct cpu *cpu, u32 cfg);
void pebs_start(int ctr, u64 sel, u64 first, u64 reset);
void pebs_stop(void);
u32 pebs_get(struct cpu *cpu, u32 n, struct sample *s);
u64 pebs_records(struct cpu *cpu);

/* test_pebs_msr.c */
u64 pebs_reset_state(void);
void pebs_fill(struct cpu *cpu);

#endif
