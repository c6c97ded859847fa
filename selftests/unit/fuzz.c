// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the fuzzer's generator and mutations, in user space.  The arguments of every
 * program must be within the bounds on which its execution relies, and parsing its text must
 * give the same program.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "../fuzz/mutate.h"

#define SEEDS	3000
#define TIMES	20	/* mutations of each program */

static const char *fault_of(const struct prog *p)
{
	if (p->nr < 1 || p->nr > PROG_OPS)
		return "its length";
	for (int i = 0; i < p->nr; i++) {
		const char *args = op_kind[p->op[i].code].args;

		for (int k = 0; args[k]; k++)
			if (!arg_good(args[k], p->op[i].arg[k]))
				return op_kind[p->op[i].code].name;
	}
	return NULL;
}

/* Ignores arguments that this kind of operation does not have */
static bool same_op(const struct op *a, const struct op *b)
{
	int nr = strlen(op_kind[a->code].args);

	return a->code == b->code && !memcmp(a->arg, b->arg, nr * sizeof(a->arg[0]));
}

static bool text_is_the_same(const struct prog *p)
{
	char line[160];
	struct op op;

	for (int i = 0; i < p->nr; i++) {
		op_print(line, &p->op[i]);
		if (op_parse(&op, line) || !same_op(&op, &p->op[i]))
			return false;
	}
	return true;
}

static int bad_programs(struct __test *_metadata, int alone)
{
	static struct prog p, other;
	const char *fault;
	int bad = 0;

	for (int seed = 1; seed <= SEEDS; seed++) {
		prog_random(&other, seed + SEEDS, alone);
		prog_random(&p, seed, alone);
		for (int i = 0; i <= TIMES; i++) {
			fault = fault_of(&p);
			if (!fault && !text_is_the_same(&p))
				fault = "its text";
			if (fault) {
				TH_LOG("seed %d, change %d: %s", seed, i, fault);
				bad++;
				break;
			}
			prog_mutate(&p, &other, seed * 1000 + i);
		}
	}
	return bad;
}

TEST(all_are_in_bounds)
{
	EXPECT_EQ(bad_programs(_metadata, 0), 0);
	EXPECT_EQ(bad_programs(_metadata, 1), 0);
}

TEST(nonsense_is_no_program)
{
	static const char *const lines[] = {
		"read 8 384", "read -1 8", "work 65536", "spawn 2", "fork 1 4", "flag none",
		"ioctl 0 NONE 0", "set nothing 1", "open 0 0 -1 -1", "jump 1",
	};
	char line[64];
	struct op op;

	for (int i = 0; i < ARRAY_SIZE(lines); i++) {
		strcpy(line, lines[i]);
		TH_LOG("%s", lines[i]);
		EXPECT_EQ(op_parse(&op, line), -1);
	}
}

TEST_HARNESS_MAIN
