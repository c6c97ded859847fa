/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stress mode: programs run on kpmu only, several concurrently on all CPUs, and some are
 * killed at an arbitrary point.  Results are not compared.  Errors are reports in the kernel
 * log (violated invariants, KASAN, lockdep), and programs that do not end.
 */
#ifndef KPMU_FUZZ_STRESS_H
#define KPMU_FUZZ_STRESS_H

#include "exec.h"
#include "guide.h"

#define STEP_SECONDS	10

static inline void stress_late(const struct prog *p, uint64_t seed)
{
	printf("# seed %llu: its program did not end in time\n", (long long)seed);
	prog_print(stdout, p);
	fflush(stdout);
	__atomic_add_fetch(&world.crowd->late, 1, __ATOMIC_RELAXED);
}

/* A process that runs one program after the other, until the time is over */
static inline void stress_runner(int nr, uint64_t seed, uint64_t until, struct guide *guide)
{
	struct outcome *out = outcome_new();
	static struct prog p;

	world.runner = nr;
	exec_runner();
	guide_runner(guide);
	srand(seed + nr);
	for (uint64_t i = nr; now_ns() < until; i += world.crowd->runners) {
		prog_random(&p, seed + i, 1);
		guide_choose(&p, seed + i);
		world.turn = rand();
		execute(&p, 0, out);
		guide_judge(&p);
		world.crowd->programs[nr]++;
		if (!WIFSIGNALED(out->status))
			continue;
		if (WTERMSIG(out->status) == SIGALRM)
			stress_late(&p, seed + i);
		else
			__atomic_add_fetch(&world.crowd->killed, 1, __ATOMIC_RELAXED);
	}
}

static inline long stress_programs(void)
{
	long sum = 0;

	for (int i = 0; i < RUNNERS; i++)
		sum += world.crowd->programs[i];
	return sum;
}

static inline void stress_progress(uint64_t began, uint64_t until, const struct guide *guide)
{
	long last = 0, now;

	while (now_ns() < until) {
		sleep(STEP_SECONDS);
		now = stress_programs();
		printf("# %llu s: %ld programs (%.1f/s), %ld killed, %ld late",
		       (long long)(now_ns() - began) / 1000000000, now,
		       (double)(now - last) / STEP_SECONDS, world.crowd->killed,
		       world.crowd->late);
		if (guide)
			printf(", %ld blocks reached, %ld programs kept", guide->blocks,
			       guide->keeps);
		printf("\n");
		fflush(stdout);
		last = now;
	}
}

/**
 * stress() - run programs concurrently
 * @seed: seed of the first program; incremented for each further one
 * @seconds: duration
 * @runners: number of concurrent programs
 * @kept: file of programs to run first, or NULL
 *
 * Return: number of programs that did not end in time.
 */
static inline long stress(uint64_t seed, long seconds, int runners, const char *kept)
{
	struct guide *guide = guide_new(kept);
	uint64_t began = now_ns(), until = began + seconds * 1000000000ULL;

	world.crowd = mmap(NULL, sizeof(*world.crowd), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	world.crowd->runners = runners;
	fflush(NULL);
	for (int i = 0; i < runners; i++) {
		if (fork())
			continue;
		stress_runner(i, seed, until, guide);
		_exit(0);
	}
	stress_progress(began, until, guide);
	while (waitpid(-1, NULL, 0) > 0)
		;
	guide_print(guide);
	printf("fuzz: %ld programs, 0 differences, 0 meant, 0 lines unstable\n",
	       stress_programs());
	return world.crowd->late;
}

#endif
