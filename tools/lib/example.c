// SPDX-License-Identifier: GPL-2.0-only
/* The example of libkpmu(3): instructions and branches of a loop, by a set of events. */
#include <stdio.h>
#include <libkpmu.h>

static int fail(const char *what)
{
	perror(what);
	if (kpmu_why()[0])
		fprintf(stderr, "%s\n", kpmu_why());
	return 1;
}

int main(void)
{
	struct kpmu_event events[2];
	int self = 0, n = kpmu_events_parse("{instructions:u,branches:u}", events, 2, NULL);
	struct kpmu_set *set = kpmu_set_open(events, n, &self, 1, KPMU_SET_TASKS, -1, NULL);

	if (!set)
		return fail("kpmu_set_open");
	for (volatile int i = 0; i < 1000000; i++)
		;
	if (kpmu_set_read(set))
		return fail("kpmu_set_read");
	for (int i = 0; i < n; i++)
		printf("%12llu %s\n",
		       (unsigned long long)kpmu_count_scaled(kpmu_set_count(set, 0, i)),
		       events[i].name);
	kpmu_set_close(set);
	return 0;
}
