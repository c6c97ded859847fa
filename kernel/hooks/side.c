// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions by which the kernel reports changes to native perf, which writes side-band
 * records.  The hooks at their entries return at once unless kpmu events request such records.
 */
#include <linux/bpf.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "../compat/compat.h"
#include "../compat/hook.h"
#include "../record/side_band.h"
#include "hooks.h"

static void on_mmap(struct ftrace_regs *fregs)
{
	kpmu_side_mmap((struct vm_area_struct *)kpmu_ftrace_arg(fregs, 0));
}

static void on_comm(struct ftrace_regs *fregs)
{
	kpmu_side_comm((struct task_struct *)kpmu_ftrace_arg(fregs, 0),
		       kpmu_ftrace_arg(fregs, 1) & 0xff);
}

/* Also called by fork, unless inlined there; on_fork() handles new tasks */
static void on_namespaces(struct ftrace_regs *fregs)
{
	struct task_struct *task = (void *)kpmu_ftrace_arg(fregs, 0);

	if (task == current)
		kpmu_side_namespaces(task);
}

/*
 * Symbols of BPF programs are reported by on_bpf().  They are also reported here if an
 * event of native perf requests them, and are ignored then.
 */
static void on_ksymbol(struct ftrace_regs *fregs)
{
	const char *name = (const char *)kpmu_ftrace_arg(fregs, 4);

	if (strncmp(name, "bpf_prog_", 9))
		kpmu_side_ksymbol(kpmu_ftrace_arg(fregs, 0),
				  kpmu_ftrace_arg(fregs, 1),
				  kpmu_ftrace_arg(fregs, 2),
				  kpmu_ftrace_arg(fregs, 3) & 0xff, name);
}

static void on_bpf(struct ftrace_regs *fregs)
{
	kpmu_side_bpf((struct bpf_prog *)kpmu_ftrace_arg(fregs, 0),
		      kpmu_ftrace_arg(fregs, 1), kpmu_ftrace_arg(fregs, 2));
}

static void on_text_poke(struct ftrace_regs *fregs)
{
	kpmu_side_text_poke((const void *)kpmu_ftrace_arg(fregs, 0),
			    (const void *)kpmu_ftrace_arg(fregs, 1),
			    kpmu_ftrace_arg(fregs, 2),
			    (const void *)kpmu_ftrace_arg(fregs, 3),
			    kpmu_ftrace_arg(fregs, 4));
}

static void on_cgroup_online(struct ftrace_regs *fregs)
{
	kpmu_side_cgroup((void *)kpmu_ftrace_arg(fregs, 0));
}

/*
 * In the order of enum kpmu_lazy, from KPMU_NR_LAZY_POINTS on.  Their users are those of
 * kpmu_hooks_get().
 */
struct kpmu_fhook kpmu_side_hooks[KPMU_NR_LAZY_FUNCS] = {
	{ "perf_event_mmap", on_mmap, "MMAP and MMAP2 records" },
	{ "perf_event_comm", on_comm, "COMM records" },
	{ "perf_event_namespaces", on_namespaces,
	  "NAMESPACES records of unshare and setns" },
	{ "perf_event_ksymbol", on_ksymbol, "KSYMBOL records" },
	{ "perf_event_bpf_event", on_bpf,
	  "BPF_EVENT records, KSYMBOL records of programs" },
	{ "perf_event_text_poke", on_text_poke, "TEXT_POKE records" },
	{ "perf_cgroup_css_online", on_cgroup_online, "CGROUP records" },
};

/* The attr flags that request each kind of record, and the hooks needed for it */
static const struct {
	u64 flags;
	u32 hooks;
} needs[KPMU_NR_SIDES] = {
	[KPMU_SIDE_OF_SWITCH] = { KPMU_ATTR_CONTEXT_SWITCH,
				  BIT(KPMU_LAZY_SWITCH) },
	/* As upstream, mmap2 alone only selects the record format */
	[KPMU_SIDE_OF_TASK] = { KPMU_SIDE_TASK & ~KPMU_ATTR_MMAP2,
				BIT(KPMU_LAZY_FORK) },
	[KPMU_SIDE_OF_MMAP] = { KPMU_ATTR_MMAP | KPMU_ATTR_MMAP_DATA,
				BIT(KPMU_LAZY_MMAP) },
	[KPMU_SIDE_OF_COMM] = { KPMU_ATTR_COMM, BIT(KPMU_LAZY_COMM) },
	[KPMU_SIDE_OF_NAMESPACES] = { KPMU_ATTR_NAMESPACES,
				      BIT(KPMU_LAZY_FORK) |
				      BIT(KPMU_LAZY_NAMESPACES) },
	[KPMU_SIDE_OF_KSYMBOL] = { KPMU_ATTR_KSYMBOL,
				   BIT(KPMU_LAZY_KSYMBOL) |
				   BIT(KPMU_LAZY_BPF) },
	[KPMU_SIDE_OF_BPF] = { KPMU_ATTR_BPF_EVENT, BIT(KPMU_LAZY_BPF) },
	[KPMU_SIDE_OF_TEXT_POKE] = { KPMU_ATTR_TEXT_POKE,
				     BIT(KPMU_LAZY_TEXT_POKE) },
	[KPMU_SIDE_OF_CGROUP] = { KPMU_ATTR_CGROUP, BIT(KPMU_LAZY_CGROUP) },
};

/* Number of events that request each kind */
atomic_t kpmu_sides[KPMU_NR_SIDES];

/**
 * kpmu_side_count_each() - count an event that requests side-band records
 * @flags: flags of its attr
 * @by: 1 for a new event, -1 for one that ends
 *
 * Context: task.
 */
void kpmu_side_count_each(u64 flags, int by)
{
	int i;

	for (i = 0; i < KPMU_NR_SIDES; i++)
		if (flags & needs[i].flags)
			atomic_add(by, &kpmu_sides[i]);
}

/**
 * kpmu_side_needs_of() - the hooks needed for an event's side-band records
 * @flags: flags of its attr
 *
 * Context: any.
 * Return: a bit for each of enum kpmu_lazy.
 */
u32 kpmu_side_needs_of(u64 flags)
{
	u32 hooks = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(needs); i++)
		if (flags & needs[i].flags)
			hooks |= needs[i].hooks;
	return hooks;
}
