/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small test harness: TAP output, one process per test, exit code 4 for skip.  The macros
 * use the names of the kernel's kselftest_harness.h, so that a test builds with either.
 *
 * The first statement of a test names the rows of Documentation/conformance.md that it
 * proves: ROWS("F-05 F-06").  They are printed before the result of the test.
 */
#ifndef KPMU_HARNESS_H
#define KPMU_HARNESS_H

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define KSFT_PASS	0
#define KSFT_FAIL	1
#define KSFT_SKIP	4

struct __test {
	const char *name;
	void (*fn)(struct __test *t);
	int timeout;
	int failed;
	struct __test *next;
};

static struct __test *__tests, **__tests_end = &__tests;

static inline void __add_test(struct __test *t)
{
	/* verdict.awk uses this name for the result of the whole program */
	if (!strcmp(t->name, "all")) {
		fprintf(stderr, "a test may not be called all\n");
		exit(KSFT_FAIL);
	}
	*__tests_end = t;
	__tests_end = &t->next;
}

/* The default limit of 600 s only catches hangs: a slow, busy machine stays below it */
#define TEST(name) TEST_TIMEOUT(name, 600)

/* A test with its own time limit in seconds, which slow() scales */
#define TEST_TIMEOUT(tname, seconds)					\
	static void __body_##tname(struct __test *_metadata);		\
	static struct __test __test_##tname = {				\
		.name = #tname, .fn = __body_##tname, .timeout = seconds };	\
	static void __attribute__((constructor)) __register_##tname(void)	\
	{ __add_test(&__test_##tname); }				\
	static void __body_##tname(struct __test *_metadata)

#define ROWS(rows)	printf("# rows: %s\n", rows)
#define TH_LOG(fmt, ...)						\
	printf("# %s:%d: " fmt "\n", __FILE__, __LINE__, ##__VA_ARGS__)

/* SKIP(return, "why %s", x) */
#define SKIP(statement, fmt, ...) do {					\
	printf("# SKIP " fmt "\n", ##__VA_ARGS__);			\
	exit(KSFT_SKIP);						\
	statement;							\
} while (0)

#define __CHECK(a, op, b, leave) do {					\
	__typeof__(a) __a = (a);					\
	__typeof__(b) __b = (b);					\
	if (!(__a op __b)) {						\
		TH_LOG("expected %s %s %s, got %lld and %lld (errno %d)",	\
		       #a, #op, #b, (long long)__a, (long long)__b, errno); \
		_metadata->failed = 1;					\
		leave;							\
	}								\
} while (0)

#define __LEAVE	exit(KSFT_FAIL)
#define __STAY	((void)0)
#define ASSERT_EQ(a, b)	__CHECK(b, ==, a, __LEAVE)
#define ASSERT_NE(a, b)	__CHECK(b, !=, a, __LEAVE)
#define ASSERT_LT(a, b)	__CHECK(a, <, b, __LEAVE)
#define ASSERT_LE(a, b)	__CHECK(a, <=, b, __LEAVE)
#define ASSERT_GT(a, b)	__CHECK(a, >, b, __LEAVE)
#define ASSERT_GE(a, b)	__CHECK(a, >=, b, __LEAVE)
#define ASSERT_TRUE(a)	__CHECK(!!(a), ==, 1, __LEAVE)
#define ASSERT_FALSE(a)	__CHECK(!!(a), ==, 0, __LEAVE)
#define EXPECT_EQ(a, b)	__CHECK(b, ==, a, __STAY)
#define EXPECT_NE(a, b)	__CHECK(b, !=, a, __STAY)
#define EXPECT_LT(a, b)	__CHECK(a, <, b, __STAY)
#define EXPECT_LE(a, b)	__CHECK(a, <=, b, __STAY)
#define EXPECT_GT(a, b)	__CHECK(a, >, b, __STAY)
#define EXPECT_GE(a, b)	__CHECK(a, >=, b, __STAY)
#define EXPECT_TRUE(a)	__CHECK(!!(a), ==, 1, __STAY)
#define EXPECT_FALSE(a)	__CHECK(!!(a), ==, 0, __STAY)

/* Scale factor, e.g. for time limits: more than 1 on kernels with debug checks or gcov */
static inline int slow(void)
{
	const char *s = getenv("KPMU_SLOW");

	return s ? atoi(s) : 1;
}

/*
 * Repetitions of something that takes long: @n on one of the kernels that run.sh boots, and
 * a fraction of @n on the others.
 */
static inline long often(long n)
{
	const char *s = getenv("KPMU_PART");
	int part = s ? atoi(s) : 1;

	return n > part ? n / part : 1;
}

/* A large number of objects: @n, or a quarter of it on kernels with debug checks or gcov */
static inline int reduced(int n)
{
	return slow() > 1 ? n / 4 : n;
}

static inline int __run_test(struct __test *t, int n)
{
	time_t began = time(NULL);
	int status, code;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(KSFT_FAIL);
	}
	if (pid == 0) {
		/* Own process group: kill() below also ends the children of a stuck test */
		setpgid(0, 0);
		alarm(t->timeout * slow());
		t->fn(t);
		exit(t->failed ? KSFT_FAIL : KSFT_PASS);
	}
	waitpid(pid, &status, 0);
	kill(-pid, SIGKILL);
	if (time(NULL) - began > 5)
		printf("# %s: %ld seconds\n", t->name, (long)(time(NULL) - began));
	code = WIFEXITED(status) ? WEXITSTATUS(status) : KSFT_FAIL;
	if (WIFSIGNALED(status))
		printf("# %s: killed by signal %d%s\n", t->name, WTERMSIG(status),
		       WTERMSIG(status) == SIGALRM ? " (timeout)" : "");
	if (code == KSFT_SKIP)
		printf("ok %d %s # SKIP\n", n, t->name);
	else
		printf("%s %d %s\n", code ? "not ok" : "ok", n, t->name);
	return code;
}

static inline int __wanted(const struct __test *t, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], t->name))
			return 1;
	return argc < 2;
}

/*
 * Print the TAP plan and the names of the selected tests.  verdict.awk fails a named test
 * that has no result.  With arguments, their number is the plan: the name of a test that
 * does not exist makes the plan exceed the results, and the run fails.
 */
static inline void __plan(int argc, char **argv)
{
	struct __test *t;
	int total = 0;

	for (t = __tests; t; t = t->next)
		total++;
	printf("TAP version 13\n1..%d\n# tests:", argc > 1 ? argc - 1 : total);
	for (t = __tests; t; t = t->next)
		if (__wanted(t, argc, argv))
			printf(" %s", t->name);
	printf("\n");
}

/* Arguments: names of the tests to run (default: all), or -l to list all tests */
static inline int test_harness_run(int argc, char **argv)
{
	int n = 0, failed = 0, skipped = 0, code;
	struct __test *t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "-l")) {
		for (t = __tests; t; t = t->next)
			printf("%s\n", t->name);
		return KSFT_PASS;
	}
	__plan(argc, argv);
	for (t = __tests; t; t = t->next) {
		if (!__wanted(t, argc, argv))
			continue;
		code = __run_test(t, ++n);
		failed += code != KSFT_PASS && code != KSFT_SKIP;
		skipped += code == KSFT_SKIP;
	}
	printf("# %d passed, %d failed, %d skipped\n", n - failed - skipped,
	       failed, skipped);
	if (failed || !n)
		return KSFT_FAIL;
	return skipped == n ? KSFT_SKIP : KSFT_PASS;
}

#define TEST_HARNESS_MAIN						\
	int main(int argc, char **argv)					\
	{ return test_harness_run(argc, argv); }

#endif
