/* SPDX-License-Identifier: GPL-2.0-only */
/* Generations of AMD's cores, by family and model.  selftests/unit tests all models. */
#ifndef KPMU_AMD_MODELS_H
#define KPMU_AMD_MODELS_H

#include <linux/types.h>

/**
 * amd_is_zen5() - does a processor have cores of Zen 5?
 * @family: its family; 1AH also has the models of Zen 6
 * @model: its model
 *
 * Context: any.
 * Return: true if it does.
 */
static inline bool amd_is_zen5(u8 family, u8 model)
{
	return family == 0x1a &&
	       (model < 0x30 || (model >= 0x40 && model < 0x50) || (model >= 0x60 && model < 0x80) ||
		(model >= 0xd0 && model < 0xd8));
}

#endif
