// SPDX-License-Identifier: GPL-2.0-only
/* Print the frequency of this machine's TSC in kHz, measured by the system's clock. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The clock and the TSC at the same moment: the shortest of several tries */
static void both(int64_t *ns, uint64_t *tsc)
{
	int64_t least = INT64_MAX, before, after;
	uint64_t mid;
	int i;

	for (i = 0; i < 20; i++) {
		before = now_ns();
		mid = __rdtsc();
		after = now_ns();
		if (after - before >= least)
			continue;
		least = after - before;
		*ns = before + least / 2;
		*tsc = mid;
	}
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 300000000 };
	int64_t ns, ns_end;
	uint64_t tsc, tsc_end;

	both(&ns, &tsc);
	nanosleep(&pause, NULL);
	both(&ns_end, &tsc_end);
	printf("%.0f\n", (tsc_end - tsc) * 1e6 / (ns_end - ns));
	return 0;
}
