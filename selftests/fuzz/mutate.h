/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mutates programs that have reached new code, to reach more code near it.
 */
#ifndef KPMU_FUZZ_MUTATE_H
#define KPMU_FUZZ_MUTATE_H

#include "gen.h"

#define CHANGES		4	/* most mutations of a program at a time */
#define CHUNK		6	/* most operations to drop or copy at a time */
#define ROUNDS		5000	/* limit for a mutated number of rounds */

static inline int64_t other_number(struct gen *g, int64_t v)
{
	switch (below(g, 4)) {
	case 0:
		return v + 1;
	case 1:
		return v - 1;
	case 2:
		return v ^ 1LL << below(g, 40);
	}
	return PICK(g, 0, 1, -1, 2, 3, 8);
}

static inline void mutate_arg(struct gen *g, struct op *op)
{
	const char *args = op_kind[op->code].args;
	int nr = strlen(args), i = nr ? below(g, nr) : 0;

	if (!nr)
		return;
	/* More rounds take time but reach no other code */
	if (args[i] == 'r')
		op->arg[i] = below(g, (op->arg[i] < ROUNDS ? op->arg[i] : ROUNDS) + 4);
	else if (arg_values(args[i]))
		op->arg[i] = below(g, arg_values(args[i]));
	else
		op->arg[i] = other_number(g, op->arg[i]);
}

static inline void mutate_drop(struct gen *g, struct prog *p)
{
	int at = below(g, p->nr), n = 1 + below(g, CHUNK);

	if (n > p->nr - at)
		n = p->nr - at;
	if (n == p->nr)
		return;
	memmove(p->op + at, p->op + at + n, (p->nr - at - n) * sizeof(p->op[0]));
	p->nr -= n;
}

/* Insert some operations of @from anywhere into @p, which is cut off at PROG_OPS */
static inline void mutate_insert(struct gen *g, struct prog *p, const struct prog *from)
{
	int at = below(g, p->nr + 1), first = below(g, from->nr), n = 1 + below(g, CHUNK);
	struct prog old = *p;

	if (n > from->nr - first)
		n = from->nr - first;
	if (n > PROG_OPS - at)
		n = PROG_OPS - at;
	memmove(p->op + at, from->op + first, n * sizeof(p->op[0]));
	p->nr = old.nr + n > PROG_OPS ? PROG_OPS : old.nr + n;
	memcpy(p->op + at + n, old.op + at, (p->nr - at - n) * sizeof(p->op[0]));
}

/* Replace the tail of @p by a tail of @from */
static inline void mutate_splice(struct gen *g, struct prog *p, const struct prog *from)
{
	int head = 1 + below(g, p->nr), first = below(g, from->nr), n = from->nr - first;

	if (n > PROG_OPS - head)
		n = PROG_OPS - head;
	memmove(p->op + head, from->op + first, n * sizeof(p->op[0]));
	p->nr = head + n;
}

/**
 * prog_mutate() - change a program a little
 * @p: the program, with at least one operation before and after
 * @other: another program, from which operations may be copied
 * @seed: determines the changes
 */
static inline void prog_mutate(struct prog *p, const struct prog *other, uint64_t seed)
{
	struct gen g = { .state = seed * 0x9fb21c651e98df25ULL, .p = p };
	int changes = 1 + below(&g, CHANGES);

	while (changes--) {
		switch (below(&g, 8)) {
		case 0 ... 3:
			mutate_arg(&g, &p->op[below(&g, p->nr)]);
			break;
		case 4:
			mutate_drop(&g, p);
			break;
		case 5:
			mutate_insert(&g, p, p);
			break;
		case 6:
			mutate_insert(&g, p, other);
			break;
		case 7:
			mutate_splice(&g, p, other);
			break;
		}
	}
}

#endif
