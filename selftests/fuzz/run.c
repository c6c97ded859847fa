// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_run SEED COUNT: programs of these seeds on both routes, compared
 * fuzz_run -f FILE: a program of a file, both columns, and as C if they differ
 * fuzz_run -p SEED: print the program of a seed
 */
#define _GNU_SOURCE
#include "gen.h"
#include "judge.h"
#include "toc.h"

#define MEANT_FILE	"/tests/meant"
#define KNOWN		256

/* Two differences are alike if they are after their digits are taken away */
static int known(const struct prog *p)
{
	static char seen[KNOWN][2 * SHOW_MAX];
	static int nr;
	char sig[2 * SHOW_MAX], *s = sig;
	const char *c;
	int i;

	s += sprintf(s, "%s ", judge.at < p->nr ? op_kind[p->op[judge.at].code].name : "end");
	for (c = judge.native.val[judge.at]; *c && s < sig + SHOW_MAX; c++)
		if (*c < '0' || *c > '9')
			*s++ = *c;
	for (c = judge.kpmu.val[judge.at]; *c && s < sig + 2 * SHOW_MAX - 1; c++)
		if (*c < '0' || *c > '9')
			*s++ = *c;
	*s = 0;
	for (i = 0; i < nr; i++)
		if (!strcmp(seen[i], sig))
			return 1;
	if (nr < KNOWN)
		strcpy(seen[nr++], sig);
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

static int compare(uint64_t seed, long count)
{
	long i, differs = 0, meant = 0;
	static struct prog p;
	int v;

	for (i = 0; i < count; i++) {
		if (i && i % 100 == 0)
			printf("# %ld programs, %ld differences\n", i, differs);
		prog_random(&p, seed + i);
		v = judge_prog(&p);
		meant += v == MEANT;
		if (v != DIFFERS)
			continue;
		differs++;
		if (known(&p))
			continue;
		printf("# seed %llu: ", (long long)(seed + i));
		minimise(&p);
		if (judge.at > p.nr) {
			printf("not repeated in its short form\n");
			continue;
		}
		known(&p);	/* by its short form as well */
		print_difference(&p);
		to_c(stdout, &p);
	}
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

int main(int argc, char **argv)
{
	struct prog p;

	if (argc == 3 && !strcmp(argv[1], "-p")) {
		prog_random(&p, strtoull(argv[2], NULL, 0));
		prog_print(stdout, &p);
		return 0;
	}
	exec_init();
	judge_init(MEANT_FILE);
	if (argc == 3 && !strcmp(argv[1], "-f"))
		return replay(argv[2]);
	if (argc == 3)
		return compare(strtoull(argv[1], NULL, 0), atol(argv[2]));
	fprintf(stderr, "fuzz_run SEED COUNT | -f FILE | -p SEED\n");
	return 2;
}
