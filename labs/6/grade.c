// SPDX-License-Identifier: GPL-2.0-only
/* FLAGS: -O1 -fsanitize=address,undefined -fno-sanitize-recover=all */
/* The grader of lab 6.  Documentation/labs/6.rst explains each figure. */
#include "lab.h"

#define MS	1000000u
/* Events of each group in a millisecond */
#define RATE	1000

static int idle, over;

/* Does a group wait although it would fit?  Do those that run need too much? */
static void look(const struct group *g, int nr, int counters)
{
	int i;

	for (i = 0; i < nr; i++)
		counters -= g[i].on ? g[i].need : 0;
	over += counters < 0;
	for (i = 0; i < nr; i++)
		idle += !g[i].on && g[i].need <= counters;
}

static void turn(struct group *g, int nr, int counters, u64 time)
{
	choose(g, nr, counters);
	look(g, nr, counters);
	turn_over(g, nr, time);
}

/* nr groups join at once.  They are on the heap, with the exact size, for ASan to see more. */
static struct group *groups(int nr, const int *need)
{
	struct group *g = calloc(nr, sizeof(*g));
	int i;

	for (i = 0; i < nr; i++) {
		g[i].need = need[i];
		group_join(&g[i], g, i);
	}
	return g;
}

static u64 turns(const struct group *g)
{
	return g->running / (4 * MS);
}

static void run(struct group *g, int nr, int nr_turns)
{
	while (nr_turns--)
		turn(g, nr, 4, 4 * MS);
}

static void grade_equal(void)
{
	static const int one[] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	struct group *g = groups(5, one);
	u64 least = ~0ull, most = 0;
	int i;

	run(g, 5, 100);
	for (i = 0; i < 5; i++) {
		least = turns(&g[i]) < least ? turns(&g[i]) : least;
		most = turns(&g[i]) > most ? turns(&g[i]) : most;
	}
	lab_check("5 groups of 1 on 4 counters, 100 turns: the least", least, 80);
	lab_check("the most", most, 80);
	lab_check("time enabled in ms", g[4].enabled / MS, 400);
	lab_check("estimate of steady work",
		  estimate(g[4].running / MS * RATE, g[4].enabled, g[4].running), 400 * RATE);
	free(g);
	g = groups(3, one);
	run(g, 3, 100);
	lab_check("3 groups of 1: turns of the last", turns(&g[2]), 100);
	free(g);
}

static void grade_sizes(void)
{
	static const int need[] = { 4, 3, 2, 1 }, never[] = { 1, 5, 1 };
	struct group *g = groups(4, need);

	run(g, 4, 300);
	lab_check("groups of 4, 3, 2, 1, 300 turns: the group of 4", turns(&g[0]), 100);
	lab_check("of 3", turns(&g[1]), 100);
	lab_check("of 2", turns(&g[2]), 100);
	lab_check("of 1", turns(&g[3]), 200);
	free(g);
	g = groups(3, never);
	run(g, 3, 100);
	lab_check("a group of 5 on 4 counters", turns(&g[1]), 0);
	lab_check("the groups beside it", turns(&g[0]) + turns(&g[2]), 200);
	free(g);
}

static void grade_join(void)
{
	static const int need[] = { 3, 3, 3 };
	struct group *g = groups(3, need);
	u64 before;

	run(g, 2, 1000);
	group_join(&g[2], g, 2);
	before = turns(&g[0]);
	run(g, 3, 300);
	lab_check("of 300 turns, the share of a group that joins later", turns(&g[2]), 100);
	lab_check("of one that was there", turns(&g[0]) - before, 100);
	lab_check("time enabled of the new one in turns", g[2].enabled / (4 * MS), 300);
	lab_check("its estimate", estimate(g[2].running / MS * RATE, g[2].enabled, g[2].running),
		  1200 * RATE);
	free(g);
}

/* Turns of 1 to 16 ms, from a fixed sequence */
static void grade_unequal(void)
{
	static const int need[] = { 2, 2, 2, 2, 2 };
	struct group *g = groups(5, need);
	u64 least = ~0ull, most = 0, seed = 1, sum = 0;
	int i;

	for (i = 0; i < 10000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		turn(g, 5, 4, ((seed >> 60) + 1) * MS);
	}
	for (i = 0; i < 5; i++) {
		least = g[i].running < least ? g[i].running : least;
		most = g[i].running > most ? g[i].running : most;
		sum += g[i].running;
	}
	lab_check("unequal turns: the groups' time is twice that of the turns", sum,
		  2 * g[0].enabled);
	lab_check("groups differ by at most a turn of 16 ms", most - least <= 16 * MS, 1);
	free(g);
}

static void grade_estimate(void)
{
	lab_check("estimate of 1,000 in a quarter of the time", estimate(1000, 400, 100), 4000);
	lab_check("of one that never ran", estimate(0, 400, 0), 0);
	lab_check("rounded down", estimate(10, 7, 3), 23);
	lab_check("of 2 to the 40th in an hour of 3 hours", estimate(1ull << 40, 10800000000000ull,
		  3600000000000ull), 3ull << 40);
}

int main(void)
{
	grade_equal();
	grade_sizes();
	grade_join();
	grade_unequal();
	grade_estimate();
	lab_check("groups that waited although they fit", idle, 0);
	lab_check("turns with more than 4 counters", over, 0);
	lab_end();
	return 0;
}
