// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parts of kpmu.ko that use no kernel services, once more in this module: kpmu.ko exports none of
 * their functions, and only here a test can interrupt the writer of a ring.
 */
#include "../unit/kunit.h"

#include "../../kernel/assign/assign.c"
#include "../../kernel/event/attr_check.c"
#include "../../kernel/pmu/x86/branch_decode.c"
#include "../../kernel/ring/write.c"

void (*unit_ring_point)(void);

/* A check has failed; if it is @fatal, the test ends here */
void unit_failed(struct kunit *test, const char *file, int line, const char *what, s64 a, s64 b,
		 bool fatal)
{
	if (fatal)
		KUNIT_FAIL_AND_ABORT(test, "%s:%d: expected %s, got %lld and %lld", file, line, what,
				     a, b);
	KUNIT_FAIL(test, "%s:%d: expected %s, got %lld and %lld", file, line, what, a, b);
}

MODULE_DESCRIPTION("KUnit suites of kpmu");
MODULE_LICENSE("GPL");
