/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs by what they reach: kcov tells which blocks of the module's code each
 * operation went through.  A program that comes to a block by an operation by which no
 * program before it came there is kept; half of what runs next are kept ones, changed a
 * little.  A kernel without kcov, or a module that was not built for it (run.sh does
 * that), reaches nothing, and then all programs are made from their seeds alone.
 *
 * What was kept is printed at the end, each line with "+ " before it, and can be given to
 * the next guest as a file.
 */
#ifndef KPMU_FUZZ_GUIDE_H
#define KPMU_FUZZ_GUIDE_H

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kcov.h>

#include "mutate.h"

#define KCOV_WORDS	(64 << 10)
#define BLOCKS		(1 << 21)	/* bytes of the module's text, and more */
#define WAYS		(1 << 22)	/* operations and blocks, hashed */
#define KEPT		512
#define LOADED		256

/* Shared by all runners */
struct guide {
	uint8_t block[BLOCKS / 8], way[WAYS / 8];
	long blocks;			/* reached */
	int lock, kept;			/* of prog: what is under lock */
	long keeps;
	struct prog prog[KEPT];
	int loaded, next;		/* programs of a file, to be run first */
	struct prog file[LOADED];
};

struct kcov {
	struct guide *guide;		/* NULL: not guided */
	int fd;
	uint64_t *area, base;
	long fresh;			/* in shared memory: what the child found is new */
};

static struct kcov *kcov;

/* Set a bit of a map that others set bits of, too; true if it is new */
static inline int mark(uint8_t *map, uint64_t bit)
{
	uint8_t m = 1 << (bit & 7);

	return !(map[bit >> 3] & m) && !(__atomic_fetch_or(&map[bit >> 3], m,
							     __ATOMIC_RELAXED) & m);
}

static inline void guide_lock(struct guide *u)
{
	while (__atomic_exchange_n(&u->lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void guide_unlock(struct guide *u)
{
	__atomic_store_n(&u->lock, 0, __ATOMIC_RELEASE);
}

/* In the child, before the first operation: from here on its own way is recorded */
static inline void guide_start(void)
{
	if (kcov && !ioctl(kcov->fd, KCOV_ENABLE, KCOV_TRACE_PC))
		__atomic_store_n(&kcov->area[0], 0, __ATOMIC_RELAXED);
}

/* In the child, behind each operation */
static inline void guide_op(enum opcode code)
{
	uint64_t n, at, i;

	if (!kcov)
		return;
	n = __atomic_load_n(&kcov->area[0], __ATOMIC_RELAXED);
	for (i = 1; i <= n && i < KCOV_WORDS; i++) {
		at = kcov->area[i] - kcov->base;
		if (mark(kcov->guide->block, at % BLOCKS))
			__atomic_add_fetch(&kcov->guide->blocks, 1, __ATOMIC_RELAXED);
		at = (at * OP_NR + code) * 0x9e3779b97f4a7c15ULL >> 42;
		kcov->fresh += mark(kcov->guide->way, at % WAYS);
	}
	__atomic_store_n(&kcov->area[0], 0, __ATOMIC_RELAXED);
}

/* In a runner: what the next program is, instead of that of a seed */
static inline void guide_choose(struct prog *p, uint64_t seed)
{
	struct guide *u = kcov ? kcov->guide : NULL;
	struct gen g = { .state = seed };
	struct prog other = *p;
	int n;

	if (!u)
		return;
	kcov->fresh = 0;
	n = u->loaded ? __atomic_fetch_add(&u->next, 1, __ATOMIC_RELAXED) : 0;
	if (n < u->loaded) {
		*p = u->file[n];
		return;
	}
	if (!u->kept || percent(&g, 50))
		return;
	guide_lock(u);
	*p = u->prog[below(&g, u->kept)];
	if (percent(&g, 50))
		other = u->prog[below(&g, u->kept)];
	guide_unlock(u);
	prog_mutate(p, &other, seed);
}

/* In a runner: keep the program if it was the first to go some way */
static inline void guide_judge(const struct prog *p)
{
	struct guide *u = kcov ? kcov->guide : NULL;

	if (!u || !kcov->fresh || !p->nr)
		return;
	guide_lock(u);
	u->prog[u->kept < KEPT ? u->kept++ : rand() % KEPT] = *p;
	u->keeps++;
	guide_unlock(u);
}

static inline void guide_print(const struct guide *u)
{
	char line[160];

	for (int i = 0; u && i < u->kept; i++) {
		for (int k = 0; k < u->prog[i].nr; k++) {
			op_print(line, &u->prog[i].op[k]);
			printf("+ %s\n", line);
		}
		printf("+\n");
	}
}

/* Programs of a file, an empty line behind each; lines that are no operations are left out */
static inline void guide_load(struct guide *u, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];
	struct prog *p;

	while (f && u->loaded < LOADED && fgets(line, sizeof(line), f)) {
		p = &u->file[u->loaded];
		if (line[0] == '\n' || line[0] == '\0')
			u->loaded += p->nr > 0;
		else if (p->nr < PROG_OPS && !op_parse(&p->op[p->nr], line))
			p->nr++;
	}
	if (f)
		fclose(f);
}

/**
 * guide_new() - what all runners share, before they are forked
 * @path: programs to begin with; NULL: none
 */
static inline struct guide *guide_new(const char *path)
{
	struct guide *u;

	if (access("/sys/kernel/debug/kcov", R_OK))
		return NULL;
	u = mmap(NULL, sizeof(*u), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (u == MAP_FAILED)
		return NULL;
	if (path)
		guide_load(u, path);
	return u;
}

/* Each runner has a record of its own, that its children fill one after the other */
static inline void guide_runner(struct guide *u)
{
	FILE *f = fopen("/sys/module/kpmu/sections/.text", "r");
	struct kcov *k;

	k = mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!u || !f || k == MAP_FAILED || fscanf(f, "0x%lx", &k->base) != 1)
		return;
	fclose(f);
	k->fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (k->fd < 0 || ioctl(k->fd, KCOV_INIT_TRACE, KCOV_WORDS))
		return;
	k->area = mmap(NULL, KCOV_WORDS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		       MAP_SHARED, k->fd, 0);
	if (k->area == MAP_FAILED)
		return;
	k->guide = u;
	kcov = k;
}

#endif
