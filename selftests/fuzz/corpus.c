// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that once gave another answer on kpmu than natively, and ended as a repair:
 * replayed, on both routes, and compared.  So it has no other column.
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

/* Prints what differs */
static int differs(const char *name)
{
	static struct prog p;
	char path[512];

	snprintf(path, sizeof(path), CORPUS "/%s", name);
	if (prog_load(&p, path)) {
		printf("# %s: no program\n", name);
		return 1;
	}
	if (judge_prog(&p) != DIFFERS)
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
	EXPECT_LT(0, nr);
	EXPECT_EQ(0, bad);
}

TEST_HARNESS_MAIN
