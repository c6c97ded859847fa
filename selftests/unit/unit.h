/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Of a unit test: its harness and the definitions that it needs.  The same file is built as a program
 * for user space, with harness.h and shim.h, and into the module kpmu-kunit as a suite of KUnit, with
 * kunit.h.
 *
 * UNIT_SUITE(name, reset, CASE(test) CASE(test) ...) ends the file.  KUnit runs the tests that it
 * lists, and the build fails if one is missing.  There nothing else separates the tests of a suite, so
 * reset() sets the static variables before each of them.  In user space each test registers itself, and
 * runs in a process of its own.
 */
#ifndef KPMU_UNIT_H
#define KPMU_UNIT_H

#ifdef __KERNEL__
#include "kunit.h"
#else
#include "harness.h"
#include "shim.h"

/* Repetitions: @n, and fewer on a kernel, which runs emulated and with KASAN */
#define unit_often(n)		(n)
#define unit_step		1
/* Memory whose end the sanitizer knows */
#define unit_alloc(size)	calloc(1, size)
#define unit_free(p)		free(p)
#define UNIT_SUITE(name, reset, cases)					\
	static void __attribute__((constructor)) unit_reset(void)	\
	{ reset(); }							\
	TEST_HARNESS_MAIN
#endif

/* reset() of a suite without static variables */
static inline void unit_nothing(void)
{
}

/* xorshift64: the same numbers on every machine */
static inline u64 unit_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
