// SPDX-License-Identifier: GPL-2.0-only
/* Tests of kernel/pmu/x86/amd/models.h: all models of a family */
#include "unit.h"
#include "../../kernel/pmu/x86/amd/models.h"

TEST(zen5)
{
	/* By the upper digit of the model; h: the first half */
	static const char upper[] = "555.5.55.....h..";
	unsigned int model;

	for (model = 0; model < 256; model++) {
		char c = upper[model >> 4];

		EXPECT_EQ(amd_is_zen5(0x1a, model), c == '5' || (c == 'h' && !(model & 8)));
		EXPECT_EQ(amd_is_zen5(0x19, model), 0);
		EXPECT_EQ(amd_is_zen5(0x1b, model), 0);
	}
}

UNIT_SUITE(kpmu_models, unit_nothing, CASE(zen5));
