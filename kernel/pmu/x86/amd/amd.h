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

#define AMD_NEWEST	0x1a	/* later families are taken for this one */

extern const struct amd_family amd_families[];
extern const struct kpmu_core amd_core;

int amd_detect(void);

#endif
