// SPDX-License-Identifier: GPL-2.0-only
/* Contents of the sysfs directory of the CPU's counters: format, events, caps. */
#include <linux/kernel.h>

#include "x86.h"

static const char *const generic_names[X86_HW_EVENTS] = {
	"cpu-cycles", "instructions", "cache-references", "cache-misses",
	"branch-instructions", "branch-misses", "bus-cycles",
	"stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
};

#define MAX_EVENTS	20
#define MAX_TEXT	48

static struct kpmu_file events[MAX_EVENTS + 1];
static char texts[X86_HW_EVENTS][MAX_TEXT];

/* Print a selector with the field names of format/ */
static void put_selector(char *to, u64 sel)
{
	int n = scnprintf(to, MAX_TEXT, "event=0x%02llx",
			  (sel & SEL_EVENT) | (sel & SEL_EVENT_HIGH) >> 24);

	if (sel & SEL_UMASK)
		n += scnprintf(to + n, MAX_TEXT - n, ",umask=0x%02llx",
			       (sel & SEL_UMASK) >> 8);
	if (sel & SEL_EDGE)
		n += scnprintf(to + n, MAX_TEXT - n, ",edge");
	if (sel & SEL_INV)
		n += scnprintf(to + n, MAX_TEXT - n, ",inv");
	if (sel & SEL_CMASK)
		scnprintf(to + n, MAX_TEXT - n, ",cmask=0x%llx",
			  (sel & SEL_CMASK) >> 24);
}

static void list_events(void)
{
	const struct kpmu_file *more = x86_pmu.model->events;
	int i, n = 0;

	for (i = 0; i < X86_HW_EVENTS; i++) {
		if (!x86_pmu.hw[i])
			continue;
		put_selector(texts[i], x86_pmu.hw[i]);
		events[n].name = generic_names[i];
		events[n++].text = texts[i];
	}
	for (; more && more->name && n < MAX_EVENTS; more++)
		events[n++] = *more;
	more = x86_pmu.precise ? x86_pmu.model->memory_events : NULL;
	for (; more && more->name && n < MAX_EVENTS; more++)
		events[n++] = *more;
}

static const struct kpmu_file all_formats[] = {
	{ "event", "config:0-7" },
	{ "umask", "config:8-15" },
	{ "edge", "config:18" },
	{ "pc", "config:19" },
	{ "inv", "config:23" },
	{ "cmask", "config:24-31" },
};

static const struct kpmu_file any = { "any", "config:21" };
static const struct kpmu_file offcore = { "offcore_rsp", "config1:0-63" };
static const struct kpmu_file frontend = { "frontend", "config1:0-23" };

static const struct kpmu_file latency = { "ldlat", "config1:0-15" };

static struct kpmu_file formats[ARRAY_SIZE(all_formats) + 5];

static const struct kpmu_file *list_formats(void)
{
	int n;

	for (n = 0; n < ARRAY_SIZE(all_formats); n++)
		formats[n] = all_formats[n];
	if (x86_pmu.raw & SEL_ANY)
		formats[n++] = any;
	if (x86_pmu.extra_ok & 6)
		formats[n++] = offcore;
	if (x86_pmu.extra_ok & 8)
		formats[n++] = frontend;
	if (x86_pmu.extra_ok & 1u << X86_LATENCY_REG && x86_pmu.precise)
		formats[n++] = latency;
	return formats;
}

static char depth[4];

static struct kpmu_file caps[4] = { { "max_precise", "0" } };

static void list_caps(void)
{
	int n = 1;

	caps[0].text = x86_pmu.precise ? "3" : "0";
	if (x86_pmu.model->name)
		caps[n++] = (struct kpmu_file){ "pmu_name", x86_pmu.model->name };
	scnprintf(depth, sizeof(depth), "%d", x86_pmu.lbr_depth);
	if (x86_pmu.lbr)
		caps[n] = (struct kpmu_file){ "branches", depth };
}

/**
 * x86_describe() - describe the CPU's counters for sysfs
 * @pmu: filled in; only the name if the machine has no counters
 *
 * Context: task.
 * Return: false if the machine has no counters.
 */
bool x86_describe(struct kpmu_pmu *pmu)
{
	pmu->name = "cpu";
	if (!x86_pmu.version)
		return false;
	list_events();
	list_caps();
	*pmu = (struct kpmu_pmu){
		.name = "cpu",
		.type = kpmu_counters_type(),
		.counters = true,
		.format = x86_pmu.formats ?: list_formats(),
		.events = events,
		.caps = caps,
	};
	return true;
}
