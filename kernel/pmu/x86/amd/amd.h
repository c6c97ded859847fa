/* SPDX-License-Identifier: GPL-2.0-only */
/* The core PMU of AMD CPUs. */
#ifndef KPMU_AMD_H
#define KPMU_AMD_H

#include "../x86.h"

/**
 * struct amd_family - the models of a family with the same events
 * @family: the family
 * @first: the first model
 * @last: the last model
 * @model: their events
 */
struct amd_family {
	u8 family;
	u8 first;
	u8 last;
	const struct x86_model *model;
};

#define AMD_ZEN		0x17	/* the first family of Zen */
#define AMD_NEWEST	0x1a	/* later families are taken for this one */

extern const struct amd_family amd_families[];
extern const struct kpmu_core amd_core;
extern const struct x86_pairs amd_pairs;

/* Bits of PERF_CTL: count in guests only, or in the host only */
#define AMD_SEL_GUEST	BIT_ULL(40)
#define AMD_SEL_HOST	BIT_ULL(41)

int amd_detect(void);
void amd_detect_lbr(u32 leaf, int depth);
void amd_virt_init(void);
void amd_virt_exit(void);

#endif
