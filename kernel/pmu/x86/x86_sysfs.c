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

#define MAX_FORMATS	11
#define MAX_CAPS	3

/* The contents of a kind's directory */
static struct listing {
	struct kpmu_file events[MAX_EVENTS + 1];
	char texts[X86_HW_EVENTS][MAX_TEXT];
	struct kpmu_file formats[MAX_FORMATS + 1];
	struct kpmu_file caps[MAX_CAPS + 1];
	char depth[4];
} listings[KPMU_NR_KINDS];

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

/* Append named events to the first @n; return the new number */
static int list_more(struct listing *l, int n, const struct kpmu_file *more)
{
	for (; more && more->name && n < MAX_EVENTS; more++)
		l->events[n++] = *more;
	return n;
}

static void list_events(struct listing *l, const struct x86_kind *kind)
{
	const struct x86_model *m = kind->model;
	int i, n = 0;

	for (i = 0; i < X86_HW_EVENTS; i++) {
		if (!kind->hw[i])
			continue;
		put_selector(l->texts[i], kind->hw[i]);
		l->events[n].name = generic_names[i];
		l->events[n++].text = l->texts[i];
	}
	n = list_more(l, n, m->events);
	if (x86_pmu.metrics || kind != &x86_kinds[X86_ALL])
		n = list_more(l, n, m->metric_events);
	if (x86_pmu.precise)
		list_more(l, n, m->memory_events);
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

static const struct kpmu_file *list_formats(struct kpmu_file *formats, const struct x86_kind *kind)
{
	int n;

	BUILD_BUG_ON(ARRAY_SIZE(all_formats) + 4 > MAX_FORMATS);
	for (n = 0; n < ARRAY_SIZE(all_formats); n++)
		formats[n] = all_formats[n];
	if (x86_pmu.raw & SEL_ANY)
		formats[n++] = any;
	if (kind->extra_ok & 6)
		formats[n++] = offcore;
	if (kind->extra_ok & 8)
		formats[n++] = frontend;
	if (kind->extra_ok & 1u << X86_LATENCY_REG && x86_pmu.precise)
		formats[n++] = latency;
	return formats;
}

static void list_caps(struct listing *l, const struct x86_kind *kind)
{
	int n = 0;

	l->caps[n++] = (struct kpmu_file){ "max_precise", x86_pmu.precise ? "3" : "0" };
	if (kind->model->name)
		l->caps[n++] = (struct kpmu_file){ "pmu_name", kind->model->name };
	scnprintf(l->depth, sizeof(l->depth), "%d", x86_pmu.lbr_depth);
	if (x86_pmu.lbr)
		l->caps[n] = (struct kpmu_file){ "branches", l->depth };
}

/**
 * x86_describe() - describe the CPU's counters for sysfs
 * @n: 0; 1 for the second kind of CPUs
 * @pmu: filled in; only the name, empty for the second kind, if the machine does not have them
 *
 * Context: task.
 * Return: false if the machine does not have them.
 */
bool x86_describe(int n, struct kpmu_pmu *pmu)
{
	int i = static_key_enabled(&kpmu_kinds_key) ? X86_CORE + n : n;
	const struct x86_kind *kind = &x86_kinds[i];
	struct listing *l = &listings[i];

	pmu->name = n ? "" : "cpu";
	if (!x86_pmu.version || !kind->name)
		return false;
	list_events(l, kind);
	list_caps(l, kind);
	*pmu = (struct kpmu_pmu){
		.name = kind->name,
		.type = kind->type,
		.counters = true,
		.cpus = i == X86_ALL ? NULL : &kind->cpus,
		.format = x86_pmu.formats ?: list_formats(l->formats, kind),
		.events = l->events,
		.caps = l->caps,
	};
	return true;
}
