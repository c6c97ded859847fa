// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regression test: fuzzer programs that once gave different results on kpmu and natively,
 * each of which led to a fix.  Every program is run on both routes and the results are
 * compared, so guest.sh does not run this test natively as well.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "harness.h"
#include "judge.h"

#define CORPUS	"/tests/corpus"

static int is_program(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Returns 1 and prints the difference, if there is one that is not intended */
static int differs(const char *name)
{
	static struct prog p;
	char path[512];

	snprintf(path, sizeof(path), CORPUS "/%s", name);
	if (prog_load(&p, path)) {
		printf("# %s: no program\n", name);
		return 1;
	}
	if (judge_prog(&p) != DIFFERS && !judge.broken)
		return 0;
	printf("# %s: %s\n# natively %s, on kpmu %s\n", name, judge.kpmu.key[judge.at],
	       judge.native.val[judge.at], judge.kpmu.val[judge.at]);
	return 1;
}

TEST_TIMEOUT(replay, 600)
{
	struct dirent **list;
	int nr = scandir(CORPUS, &list, is_program, alphasort), i, bad = 0;

	exec_init();
	judge_init("/tests/meant");
	for (i = 0; i < nr; i++)
		bad += differs(list[i]->d_name);
	limit_overflows(25);
	EXPECT_LT(0, nr);
	EXPECT_EQ(0, bad);
}

TEST_HARNESS_MAIN
