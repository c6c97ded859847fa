/* SPDX-License-Identifier: GPL-2.0-only */
/* The macros of harness.h for KUnit, and what the module's files find in shim.h; see unit.h. */
#ifndef KPMU_UNIT_KUNIT_H
#define KPMU_UNIT_KUNIT_H

#include <kunit/test.h>
#include <kunit/test-bug.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <asm/local64.h>

/* If a test sets it, called wherever a writer of the ring can be interrupted */
extern void (*unit_ring_point)(void);
#define RING_POINT() do {						\
	barrier();							\
	if (unit_ring_point)						\
		unit_ring_point();					\
} while (0)

#define unit_often(n)		((n) / 50)
#define unit_step		5	/* between the points of a nested loop over all of them */
/* Freed at the end of the test, too */
#define unit_alloc(size)	kunit_kzalloc(kunit_get_current_test(), size, GFP_KERNEL)
#define unit_free(p)		kunit_kfree(kunit_get_current_test(), p)

#define __test kunit
#define TEST(name)	static void test_##name(struct kunit *_metadata)
#define ROWS(rows)	((void)0)
#define TH_LOG(fmt, ...) kunit_err(_metadata, fmt "\n", ##__VA_ARGS__)

/* Not KUnit's macros: each use of these needs room on the stack, and tests have many */
void unit_failed(struct kunit *test, const char *file, int line, const char *what, s64 a, s64 b,
		 bool fatal);
#define __CHECK(a, op, b, fatal) do {					\
	typeof(a) __a = (a);						\
	typeof(b) __b = (b);						\
	if (!(__a op __b))						\
		unit_failed(_metadata, __FILE__, __LINE__, #a " " #op " " #b,	\
			    (s64)__a, (s64)__b, fatal);			\
} while (0)
#define ASSERT_EQ(a, b)	__CHECK(b, ==, a, true)
#define ASSERT_NE(a, b)	__CHECK(b, !=, a, true)
#define ASSERT_GT(a, b)	__CHECK(a, >, b, true)
#define ASSERT_GE(a, b)	__CHECK(a, >=, b, true)
#define ASSERT_TRUE(a)	__CHECK(!!(a), ==, 1, true)
#define ASSERT_FALSE(a)	__CHECK(!!(a), ==, 0, true)
#define EXPECT_EQ(a, b)	__CHECK(b, ==, a, false)
#define EXPECT_GT(a, b)	__CHECK(a, >, b, false)
#define EXPECT_TRUE(a)	__CHECK(!!(a), ==, 1, false)
#define EXPECT_FALSE(a)	__CHECK(!!(a), ==, 0, false)

#define CASE(test)	{ .run_case = test_##test, .name = #test, .module_name = KBUILD_MODNAME },
#define UNIT_SUITE(suite, reset, cases)					\
	static int suite##_init(struct kunit *test)			\
	{								\
		reset();						\
		return 0;						\
	}								\
	static struct kunit_case suite##_cases[] = { cases {} };	\
	static struct kunit_suite suite##_suite = {			\
		.name = #suite, .init = suite##_init, .test_cases = suite##_cases,		\
	};								\
	kunit_test_suite(suite##_suite)

#endif
