// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/kpmu/caps: what works here, what does not, and why.  Each line
 * has a name, a state, and the reason or the purpose.
 *
 *	ok	in place
 *	off	not available here, or switched off
 *	missing	this kernel should have it, but does not
 *	absent	not expected in every supported kernel
 */
#include <linux/seq_file.h>

#include <uapi/linux/kpmu.h>

#include "../compat/bpf_run.h"
#include "../compat/ksym.h"
#include "../compat/unwind.h"
#include "../hooks/hooks.h"
#include "../source/user_read.h"
#include "dev.h"

/* Each returns the reason why a feature is off; NULL if it is on */
static const char *no_rdpmc(void)
{
	if (kpmu_counters_type() < 0)
		return "no hardware counters";
	if (!kpmu_ksym_has(KSYM_cr4_update_pce))
		return "the kernel's switch for it was not found";
	return kpmu_rdpmc_get() ? NULL : "switched off by the file rdpmc of the PMU";
}

static const char *no_redirect(void)
{
	return kpmu_redirects() ? NULL : "switched off by kernel.kpmu.redirect";
}

static const char *no_cgroups(void)
{
	return kpmu_ksym_has(KSYM_css_tryget_online_from_dir) ?
		NULL : "cgroups cannot be looked up in this kernel";
}

static const char *no_bpf(void)
{
	return kpmu_ksym_has(KSYM_perf_event_set_bpf_prog) ?
		NULL : "this kernel's function for it is out of reach";
}

static const char *no_count_points(void)
{
	return kpmu_tracepoints_open() ? NULL :
		"CFI requires probes of the tracepoint's exact type; reported by the kernel's perf";
}

static const char *no_faults(void)
{
	return kpmu_faults_seen() ? NULL :
		"this kernel has no tracepoints of them; reported by its own perf";
}

static const char *no_overflow_bpf(void)
{
	return kpmu_bpf_can_run() ? NULL : "the kernel's count of running programs was not found";
}

static const char *no_deferred_chains(void)
{
	return kpmu_unwind_works() ? NULL : "this kernel does not unwind user stacks later";
}

static const char *no_branches(void)
{
	return kpmu_branches_depth() ? NULL : "this CPU has no branch records that kpmu can use";
}

static const char *no_precise(void)
{
	return kpmu_core.precise() ? NULL : "this CPU has no precise events that kpmu can use";
}

static const char *no_smi(void)
{
	int on = kpmu_freeze_on_smi_get();

	if (on < 0)
		return "not supported by this CPU (IA32_PERF_CAPABILITIES bit 12)";
	return on ? NULL : "switched off by the file freeze_on_smi of the PMU";
}

static const struct {
	const char *name;
	const char *(*why_off)(void);
	const char *what;
	u64 feature;
} features[] = {
	{ "rdpmc", no_rdpmc, "programs may execute RDPMC", KPMU_FEATURE_RDPMC },
	{ "redirect", no_redirect, "perf_event_open(2) is served", KPMU_FEATURE_REDIRECT },
	{ "cgroups", no_cgroups, "events of a cgroup", KPMU_FEATURE_CGROUPS },
	{ "count tracepoints", no_count_points, "hits are counted by a kpmu probe" },
	{ "page faults", no_faults, "counted by tracepoints" },
	{ "bpf", no_bpf, "BPF programs on tracepoints and probes", KPMU_FEATURE_BPF },
	{ "bpf on overflow", no_overflow_bpf, "BPF programs decide about samples" },
	{ "deferred call chains", no_deferred_chains, "user stacks follow their samples" },
	{ "branch stack", no_branches, "samples contain the last branches",
	  KPMU_FEATURE_BRANCHES },
	{ "precise_ip", no_precise, "samples at the very instruction", KPMU_FEATURE_PRECISE },
	{ "data source, weight", no_precise, "samples tell of the memory access" },
	{ "freeze_on_smi", no_smi, "counters stop in SMM", KPMU_FEATURE_SMI },
};

/**
 * kpmu_features() - what works on this machine
 *
 * Context: task.
 * Return: KPMU_FEATURE_*.
 */
u64 kpmu_features(void)
{
	u64 on = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(features); i++)
		if (!features[i].why_off())
			on |= features[i].feature;
	return on;
}

static void show_features(struct seq_file *m)
{
	const char *off;
	int i;

	for (i = 0; i < ARRAY_SIZE(features); i++) {
		off = features[i].why_off();
		seq_printf(m, "%-26s %-8s %s\n", features[i].name,
			   off ? "off" : "ok", off ?: features[i].what);
	}
}

/**
 * kpmu_caps_show() - print the caps file
 * @m: output
 * @unused: not used
 *
 * Context: task, may sleep.
 * Return: 0.
 */
int kpmu_caps_show(struct seq_file *m, void *unused)
{
	kpmu_sources_show(m);
	show_features(m);
	kpmu_hooks_show(m);
	return 0;
}
