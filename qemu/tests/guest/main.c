// SPDX-License-Identifier: GPL-2.0-only
/* The tests that the parameter "tests" names, separated by blanks. */
#include "guest.h"

#define TESTS(T) \
	T(cpuid) T(registers) T(rdpmc) T(unavail) T(listing) T(step) T(overflow) \
	T(cycles) T(width) T(lvtpc) T(status) T(together) T(reload) T(freeze) \
	T(skid) T(kernel) T(always) T(stats) T(model) T(model_overflow) T(cmask) \
	T(interrupts) T(halt) T(init) T(reset) T(smp) T(contention) T(long) T(icount)

#define T(name) void test_##name(void);
TESTS(T)
#undef T

static const struct { const char *name; void (*run)(void); } tests[] = {
#define T(name) { #name, test_##name },
TESTS(T)
#undef T
};

static void detect(void)
{
	u32 r[4];

	cpuid(0xa, r);
	pmu.version = r[0] & 0xff;
	pmu.gp = r[0] >> 8 & 0xff;
	pmu.width = r[0] >> 16 & 0xff;
	pmu.events = r[0] >> 24;
	pmu.unavail = r[1];
	pmu.fixed = r[3] & 0x1f;
	pmu.fixed_width = r[3] >> 5 & 0xff;
	pmu.mask = (1ul << pmu.width) - 1;
}

static int listed(const char *list, const char *name)
{
	while (*list) {
		const char *n = name;

		while (*list && *list == *n)
			list++, n++;
		if (!*n && (!*list || *list == ' '))
			return 1;
		while (*list && *list++ != ' ')
			;
	}
	return 0;
}

void test_main(void)
{
	const char *list = param_str("tests");

	detect();
	if (!pmu.version) {
		check(0, "no PMU");
		return;
	}
	if (param("x2apic", 0))
		x2apic_on();
	if (!list || !listed(list, "reset")) {
		check_reset_state("power-up");
		if (pmu.version >= 2)
			wrmsr(MSR_GLOBAL_CTRL, pmu_all());
	}
	write_cr4(read_cr4() | 0x100);		/* PCE */
	for (u64 i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (list && listed(list, tests[i].name))
			tests[i].run();
}
