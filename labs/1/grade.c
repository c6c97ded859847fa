// SPDX-License-Identifier: GPL-2.0-only
/* The grader of lab 1.  Documentation/labs/1.rst explains each figure. */
#include "lab.h"

#define FIXED(n)	BIT_ULL(32 + (n))

static void grade_identify(void)
{
	struct pmu_info info = {};

	pmu_identify(&info);
	lab_check("version", info.version, 4);
	lab_check("general counters", info.counters, 4);
	lab_check("bits of a general counter", info.width, 40);
	lab_check("fixed counters", info.fixed, 3);
}

static void grade_events(void)
{
	counter_setup(0, 0xc0, 0x00, false, true);
	lab_window(BIT(0), 1000);
	lab_check("instructions of a loop of 1000", counter_read(0), WINDOW_TOTAL(1000));
	lab_check("the same once more", counter_read(0), WINDOW_TOTAL(1000));
	lab_window(BIT(0), 1);
	lab_check("and those of a loop of 1", counter_read(0), WINDOW_TOTAL(1000) + WINDOW_TOTAL(1));
	counter_setup(0, 0xc0, 0x00, false, true);
	counter_setup(3, 0xc4, 0x00, false, true);
	lab_window(BIT(0) | BIT(3), 1000);
	lab_check("instructions, while counter 3 counts branches", counter_read(0), WINDOW_TOTAL(1000));
	lab_check("branches on counter 3", counter_read(3), 1000);
	counter_setup(3, 0xc4, 0x20, false, true);
	lab_window(BIT(3), 1000);
	lab_check("taken branches", counter_read(3), 999);
	counter_setup(1, 0x3c, 0x00, false, true);
	lab_window(BIT(1), 1000);
	lab_check("cycles", counter_read(1), 2 * WINDOW_TOTAL(1000));
}

static void grade_fixed(void)
{
	fixed_setup(0, false, true);
	fixed_setup(1, false, true);
	lab_window(FIXED(0) | FIXED(1), 1000);
	lab_check("instructions on fixed counter 0", fixed_read(0), WINDOW_TOTAL(1000));
	lab_check("cycles on fixed counter 1", fixed_read(1), 2 * WINDOW_TOTAL(1000));
	fixed_setup(0, true, false);
	lab_window(FIXED(0) | FIXED(1), 1);
	lab_check("cycles, while fixed counter 0 counts user mode", fixed_read(1),
		  2 * WINDOW_TOTAL(1000) + 2 * WINDOW_TOTAL(1));
}

static void grade_levels(void)
{
	counter_setup(0, 0xc0, 0x00, true, false);
	counter_setup(1, 0xc0, 0x00, true, true);
	lab_window(BIT(0) | BIT(1), 1000);
	lab_check("instructions of user mode in the kernel", counter_read(0), 0);
	lab_check("of both modes", counter_read(1), WINDOW_TOTAL(1000));
	fixed_setup(0, true, false);
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, BIT(0) | FIXED(0));
	lab_spin();
	lab_wrmsr(MSR_CORE_PERF_GLOBAL_CTRL, 0);
	lab_check("instructions of a program in user mode", counter_read(0), SPIN_TOTAL);
	lab_check("the same on fixed counter 0", fixed_read(0), SPIN_TOTAL);
}

void lab_grade(void)
{
	grade_identify();
	grade_events();
	grade_fixed();
	grade_levels();
}
