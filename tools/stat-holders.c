// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-stat: the holders of the counters (KPMU_IOC_INFO). */
#include <stdio.h>

#include "stat.h"

#define MAX_COUNTERS	32

static const char *const holder_name[] = {
	[KPMU_HOLDER_NONE] = "free",
	[KPMU_HOLDER_EVENT] = "event",
	[KPMU_HOLDER_KERNEL] = "the kernel's perf",
	[KPMU_HOLDER_WATCHDOG] = "the NMI watchdog",
	[KPMU_HOLDER_VM] = "a virtual machine",
	[KPMU_HOLDER_OTHER] = "another driver",
	[KPMU_HOLDER_RESERVED] = "reserved",
};

static const char *const feature_name[] = {
	"rdpmc", "redirect", "cgroups", "bpf", "branches", "precise", "freeze_on_smi",
};

static void print_features(const struct kpmu_info *info)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(feature_name); i++)
		if (info->features & 1ULL << i)
			printf(" %s", feature_name[i]);
}

static void print_counter(const struct kpmu_info *info, const struct kpmu_info_counter *c)
{
	const char *kind = info->general & 1U << c->counter ? "general" :
			   info->fixed & 1U << c->counter ? "fixed" : "driver";
	const char *holder = c->holder < ARRAY_SIZE(holder_name) ?
			     holder_name[c->holder] : "unknown";

	printf("%9u  %-8s ", c->counter, kind);
	if (c->holder == KPMU_HOLDER_RESERVED)
		printf("reserved for %.16s\n", c->comm);
	else if (c->holder != KPMU_HOLDER_EVENT)
		printf("%s\n", holder);
	else if (!c->id)
		printf("event of another user\n");
	else if (c->pid < 0)
		printf("event %llu of the CPU, type %u config %#llx\n", (unsigned long long)c->id,
		       c->type, (unsigned long long)c->config);
	else
		printf("event %llu of %.16s (%d), type %u config %#llx\n",
		       (unsigned long long)c->id, c->comm, c->pid, c->type,
		       (unsigned long long)c->config);
}

/**
 * print_holders() - print the counters of a CPU and the holder of each
 * @cpu: the CPU
 *
 * Returns false and sets errno on an error.
 */
bool print_holders(int cpu)
{
	struct kpmu_info_counter counter[MAX_COUNTERS];
	struct kpmu_info info;
	int i, nr = kpmu_cpu_info(cpu, &info, counter, MAX_COUNTERS);

	if (nr < 0)
		return false;
	printf("CPU %d: ", cpu);
	if (!info.online) {
		puts("offline");
		return true;
	}
	printf("%d general and %d fixed counters of %u bits, %d free;", __builtin_popcount(info.general),
	       __builtin_popcount(info.fixed), info.width, __builtin_popcount(info.free));
	print_features(&info);
	putchar('\n');
	for (i = 0; i < nr; i++)
		print_counter(&info, &counter[i]);
	return true;
}
