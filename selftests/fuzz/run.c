// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_run SEED COUNT: run the programs of COUNT seeds on both routes and compare results
 * fuzz_run -s SEED SECONDS [N [FILE]]: stress mode: run programs on kpmu only, N at a time
 *	(default 4), without comparison; the programs in FILE run first
 * fuzz_run -f FILE: run the program in FILE; print the results of both routes, and the
 *	program as C if they differ
 * fuzz_run -p SEED [alone]: print the program of a seed; with "alone", that of stress mode
 */
#define _GNU_SOURCE
#include "gen.h"
#include "judge.h"
#include "stress.h"
#include "toc.h"

/* exec_init() opens the device; printing a program needs none */
const bool ev_device_late = true;

#define MEANT_FILE	"/tests/meant"
#define KNOWN		256

static uint64_t hash_text(uint64_t h, const char *c)
{
	for (; *c; c++)
		if (*c < '0' || *c > '9')
			h = (h ^ *c) * 0x100000001b3ULL;
	return h;
}

/* Was the same difference, apart from digits, seen before?  Remembers it if not. */
static int known(const struct prog *p)
{
	static uint64_t seen[KNOWN];
	static int nr;
	uint64_t h = judge.at < p->nr ? p->op[judge.at].code : OP_NR;

	h = hash_text(h, judge.native.val[judge.at]);
	h = hash_text(h * 31, judge.kpmu.val[judge.at]);
	for (int i = 0; i < nr; i++)
		if (seen[i] == h)
			return 1;
	if (nr < KNOWN)
		seen[nr++] = h;
	return 0;
}

static void print_difference(const struct prog *p)
{
	printf("%s\n  native: %s\n  kpmu:   %s\n", judge.kpmu.key[judge.at],
	       judge.native.val[judge.at], judge.kpmu.val[judge.at]);
	prog_print(stdout, p);
	printf("\n");
	fflush(stdout);
}

/* Nothing more can be compared in this guest.  Returns 1 if that is a fault of kpmu */
static int no_native_perf(uint64_t seed, const struct prog *p)
{
	printf("# seed %llu: the kernel's own perf no longer counts after it ran %s\n", (long long)seed,
	       judge.broken == BROKEN_NATIVELY ? "natively, which ends this guest" : "on kpmu");
	if (judge.broken == BROKEN_BY_KPMU)
		prog_print(stdout, p);
	return judge.broken == BROKEN_BY_KPMU;
}

static int compare(uint64_t seed, long count)
{
	static char found[3 * SHOW_MAX];
	static struct prog p, whole;
	long i, differs = 0, meant = 0;
	int v;

	judge.tells = 1;
	for (i = 0; i < count && !judge.broken; i++) {
		printf("@seed %llu\n", (long long)(seed + i));
		if (i && i % 5 == 0) {
			printf("# %ld programs, %ld differences\n", i, differs);
			fflush(stdout);
		}
		prog_random(&p, seed + i, 0);
		v = judge_prog(&p);
		if (judge.broken)
			continue;
		meant += v == MEANT;
		if (v != DIFFERS)
			continue;
		differs++;
		if (known(&p))
			continue;
		printf("# seed %llu: ", (long long)(seed + i));
		whole = p;
		snprintf(found, sizeof(found), "%s\n  native: %s\n  kpmu:   %s\n",
			 judge.kpmu.key[judge.at], judge.native.val[judge.at],
			 judge.kpmu.val[judge.at]);
		if (minimise(&p) != DIFFERS) {
			printf("not repeated in its short form; first it was\n%s", found);
			prog_print(stdout, &whole);
			continue;
		}
		known(&p);	/* remember the minimised form as well */
		print_difference(&p);
		to_c(stdout, &p);
	}
	count = i;
	if (judge.broken)
		differs += no_native_perf(seed + i - 1, &p);
	if (judge.late)
		printf("# %ld had no end natively\n", judge.late);
	for (i = 0; i < judge.rules; i++)
		if (judge.rule[i].used)
			printf("# meant %ld: %s\n", judge.rule[i].used, judge.rule[i].why);
	printf("fuzz: %ld programs, %ld differences, %ld meant, %ld lines unstable\n",
	       count, differs, meant, judge.unstable);
	return differs > 0;
}

static int replay(const char *path)
{
	struct prog p;
	int i, v;

	if (prog_load(&p, path)) {
		fprintf(stderr, "%s: no program\n", path);
		return 2;
	}
	v = judge_prog(&p);
	for (i = 0; i <= p.nr; i++)
		printf("%-40s  %s  |  %s\n", judge.kpmu.key[i], judge.native.val[i],
		       judge.kpmu.val[i]);
	if (v == MEANT)
		printf("meant: %s\n", judge.met->why);
	if (v == DIFFERS)
		to_c(stdout, &p);
	return v == DIFFERS;
}

static int some(const char *n)
{
	int v = atoi(n);

	return v < 1 ? 1 : v > RUNNERS ? RUNNERS : v;
}

int main(int argc, char **argv)
{
	struct prog p;

	if (argc >= 3 && !strcmp(argv[1], "-p")) {
		prog_random(&p, strtoull(argv[2], NULL, 0), argc > 3);
		prog_print(stdout, &p);
		return 0;
	}
	exec_init();
	if (argc >= 4 && !strcmp(argv[1], "-s"))
		return stress(strtoull(argv[2], NULL, 0), atol(argv[3]),
			      argc > 4 ? some(argv[4]) : 4, argc > 5 ? argv[5] : NULL) ?
		       3 : 0;
	judge_init(MEANT_FILE);
	limit_rates();
	if (argc == 3 && !strcmp(argv[1], "-f"))
		return replay(argv[2]);
	if (argc == 3)
		return compare(strtoull(argv[1], NULL, 0), atol(argv[2]));
	fprintf(stderr, "fuzz_run SEED COUNT | -s SEED SECONDS [N [FILE]] | -f FILE | -p SEED\n");
	return 2;
}
