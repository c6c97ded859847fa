/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coverage guides the fuzzer: kcov records which basic blocks of the module each operation
 * executes.  A program is kept if one of its operations is the first of its kind to reach
 * some block.  Half of the later programs are mutations of kept ones.  If the kernel has no
 * kcov, or the module is not built for it (run.sh builds it), no blocks are recorded and
 * every program is generated from its seed.
 *
 * The kept programs are printed at the end, with "+ " before each line.  run.sh passes them
 * to the next guest as a file.
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
#define BLOCKS		(1 << 21)	/* exceeds the size of the module's text in bytes */
#define WAYS		(1 << 22)	/* hash values of (kind of operation, block) */
#define KEPT		512
#define LOADED		256

/* Shared by all runners */
struct guide {
	uint8_t block[BLOCKS / 8], way[WAYS / 8];	/* bitmaps of what was reached */
	long blocks;			/* bits set in block[] */
	int lock, kept;			/* lock of prog[]; number of its entries */
	long keeps;			/* programs kept so far, also if replaced since */
	struct prog prog[KEPT];
	int loaded, next;		/* entries of file[], and the next one to run */
	struct prog file[LOADED];
};

struct kcov {
	struct guide *guide;
	int fd;
	uint64_t *area, base;
	long fresh;			/* bits of way[] first set by the current program */
};

/* The runner's, in memory shared with its children; NULL if there is no kcov */
static struct kcov *kcov;

/* Set a bit in a bitmap that other processes change concurrently; true if it was clear */
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

/* Called in the child before the first operation: start to record this task */
static inline void guide_start(void)
{
	if (kcov && !ioctl(kcov->fd, KCOV_ENABLE, KCOV_TRACE_PC))
		__atomic_store_n(&kcov->area[0], 0, __ATOMIC_RELAXED);
}

/* Called in the child after each operation: evaluate and clear the recorded blocks */
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

/*
 * Called in a runner: replace the seed's program by one from the file, as long as there are
 * any, else in half of the cases by a mutation of a kept one.
 */
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

/* Called in a runner: keep the program if it has reached something new */
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

/* Load programs, each ended by an empty line; lines that are not operations are skipped */
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
 * guide_new() - allocate the state shared by all runners
 * @path: file of programs to run first, or NULL
 *
 * Must be called before the runners are forked.
 *
 * Return: the state; NULL if the kernel has no kcov.
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

/* Called in a runner: set up its kcov buffer, which its children use one after the other */
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
