// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupt of IBS, an NMI.  The kernel has set up its entry in the APIC (extended LVT).
 *
 * It may be that of the kernel's own perf or of a counter, and the samplers may be those of the
 * kernel's perf.  A sampler on which no event of kpmu counts is not touched.
 */
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <asm/tsc.h>

#include "../../../compat/nmi.h"
#include "../../../source/drivers.h"
#include "../../../source/period.h"
#include "../msr.h"
#include "ibs.h"

#define RIP_INVALID	BIT_ULL(38)
#define BRANCH_RETIRED	BIT_ULL(37)
#define D3_IS_LOAD	BIT_ULL(0)
#define D3_IS_MISS	BIT_ULL(7)
#define D3_HAS_LINEAR	BIT_ULL(17)

/* A sample while it is reported */
struct ibs_sample {
	struct kpmu_hw *hw;
	struct ibs_record record;
	int nr;			/* registers in @record */
	int target;		/* number of the branch target, 0: none */
	struct pt_regs regs;
};

static bool is_kernel_address(u64 addr)
{
	return (s64)addr < 0;
}

static void read_contiguous(struct ibs_sample *s, const struct ibs_unit *u)
{
	bool op = u == &ibs_units[IBS_OP_UNIT];
	int i;

	s->nr = op ? (ibs_caps & IBS_HAS_RIP_CHECK ? IBS_DATA + 1 : IBS_RIP + 1) : IBS_RIP + 1;
	if (s->hw->extra & (IBS_WANT_RAW | IBS_LATENCY) ||
	    (op && s->hw->extra & (IBS_WANT_ADDR | IBS_WANT_PHYS | IBS_WANT_MEMORY)))
		s->nr = op ? IBS_OP_REGS : IBS_FETCH_REGS;
	for (i = 1; i < s->nr; i++)
		s->record.reg[i] = kpmu_rdmsr(u->msr + i);
}

static void read_others(struct ibs_sample *s, const struct ibs_unit *u)
{
	s->target = 0;
	if (!(s->hw->extra & IBS_WANT_RAW))
		return;
	if (u == &ibs_units[IBS_FETCH_UNIT]) {
		if (ibs_caps & IBS_HAS_FETCH_EXT)
			s->record.reg[s->nr++] = kpmu_rdmsr(MSR_IBS_FETCH_EXT);
		return;
	}
	if (ibs_caps & IBS_HAS_BR_TARGET) {
		s->target = s->nr;
		s->record.reg[s->nr++] = kpmu_rdmsr(MSR_IBS_BR_TARGET);
	}
	if (ibs_caps & IBS_HAS_OP_DATA4)
		s->record.reg[s->nr++] = kpmu_rdmsr(MSR_IBS_OP_DATA4);
}

/* The registers at the interrupt, with the address of the sample.  Returns false if it has none */
static bool set_regs(struct ibs_sample *s, const struct ibs_unit *u, struct pt_regs *regs)
{
	u64 ip = s->record.reg[IBS_RIP];

	s->regs = *regs;
	if (u == &ibs_units[IBS_OP_UNIT] && ibs_caps & IBS_HAS_RIP_CHECK &&
	    s->record.reg[IBS_DATA] & RIP_INVALID)
		return false;
	s->regs.ip = ip;
	s->regs.cs = is_kernel_address(ip) ? __KERNEL_CS : __USER_CS;
	s->regs.flags &= ~X86_VM_MASK;
	return true;
}

/* An event that excludes the kernel does not show addresses of it either */
static bool shows_kernel(const struct ibs_sample *s)
{
	const u64 *reg = s->record.reg;

	if (s->hw->extra & (IBS_WANT_ADDR | IBS_WANT_RAW) && s->nr > IBS_LINEAR &&
	    reg[IBS_DATA3] & D3_HAS_LINEAR && is_kernel_address(reg[IBS_LINEAR]))
		return true;
	return s->target && reg[IBS_DATA] & BRANCH_RETIRED && is_kernel_address(reg[s->target]);
}

static bool is_excluded(struct ibs_sample *s, const struct ibs_unit *u)
{
	u64 extra = s->hw->extra, d3 = s->record.reg[IBS_DATA3];

	if (extra & IBS_LATENCY &&
	    (!(d3 & D3_IS_LOAD) || !(d3 & D3_IS_MISS) ||
	     (d3 >> 32 & 0xffff) <= (extra & IBS_LATENCY)))
		return true;
	if (!(extra & IBS_FILTER))
		return false;
	if (extra & (user_mode(&s->regs) ? IBS_NO_USER : IBS_NO_KERNEL))
		return true;
	return extra & IBS_NO_KERNEL && u == &ibs_units[IBS_OP_UNIT] && shows_kernel(s);
}

/* Zen 3 sometimes takes no address (erratum 1197) */
static bool is_broken(const struct ibs_sample *s, const struct ibs_unit *u)
{
	return u == &ibs_units[IBS_FETCH_UNIT] && boot_cpu_data.x86 == 0x19 &&
	       boot_cpu_data.x86_model < 0x10 && !s->record.reg[IBS_RIP];
}

static void time_some(struct ibs_cpu *c, struct kpmu_hit *hit)
{
	if (++c->turn % KPMU_TIMED >= 2)
		return;
	hit->began = get_cycles();
	hit->next = c->turn & 1;
}

/* Report the sample, if an overflow is due.  Returns false if the event is not to count on */
static bool report_sample(struct ibs_sample *s, struct ibs_unit *u, struct kpmu_hit *hit)
{
	struct kpmu_precise precise = { .data_src = IBS_NO_SOURCE };
	struct pt_regs *regs = hit->regs;

	if (kpmu_period_left(s->hw, local64_read(&s->hw->count)) > 0)
		return true;
	s->record.caps = ibs_caps;
	read_contiguous(s, u);
	read_others(s, u);
	hit->exact = set_regs(s, u, regs);
	hit->frames = regs;
	hit->regs = &s->regs;
	hit->precise = &precise;
	precise.ignored = is_broken(s, u) || is_excluded(s, u);
	if (u == &ibs_units[IBS_OP_UNIT] && s->nr >= IBS_OP_REGS)
		ibs_memory(&s->record, s->hw->extra, hit, &precise);
	if (s->hw->extra & IBS_WANT_RAW) {
		if (s->hw->extra & IBS_HIDE_PHYS)
			s->record.reg[u == &ibs_units[IBS_OP_UNIT] ? IBS_PHYS : IBS_FETCH_PHYS] = 0;
		hit->raw = &s->record.caps;
		hit->raw_size = sizeof(u32) + s->nr * sizeof(u64);
	}
	return kpmu_pmu_report(s->hw, hit);
}

/*
 * An interrupt without a sample: the sampler was stopped when it was on its way.  How long that takes is
 * not known, as a virtual CPU may stand still.
 */
static int late_sample(const struct ibs_unit *u)
{
	struct ibs_cpu *c = this_cpu_ptr(&ibs_cpus[u - ibs_units]);

	if (likely(!READ_ONCE(c->late)))
		return 0;
	WRITE_ONCE(c->late, false);
	return 1;
}

/* Not inline: its variables are large */
static noinline void handle_sample(struct ibs_unit *u, struct kpmu_hw *hw, u64 ctl, struct pt_regs *regs)
{
	struct ibs_sample s = { .hw = hw };
	struct kpmu_hit hit = { .regs = regs };

	time_some(this_cpu_ptr(&ibs_cpus[u - ibs_units]), &hit);
	s.record.reg[IBS_CTL] = ctl;
	ibs_fold(hw, ctl);
	if (report_sample(&s, u, &hit))
		ibs_go(hw, ibs_caps & IBS_HAS_OP_WRITE && ctl & IBS_OP_CYCLES_OR_OPS &&
			   u == &ibs_units[IBS_OP_UNIT] ? ctl & IBS_OP_RANDOM : 0);
	else
		x86_wrmsr(u->msr, 0);
}
NOKPROBE_SYMBOL(handle_sample);

static int handle_unit(struct ibs_unit *u, struct pt_regs *regs)
{
	struct kpmu_hw *hw;
	u64 ctl;

	if (!ibs_in_use())
		return late_sample(u);
	hw = kpmu_pmu_event(&u->pmu, 0);
	ctl = kpmu_rdmsr(u->msr);
	if (!(ctl & u->valid))
		return late_sample(u);
	/* Without an event: it is just being started or stopped, and the sampler stands still until that is done */
	if (hw)
		handle_sample(u, hw, ctl, regs);
	return 1;
}

static struct kpmu_nmi ibs_nmi = {
	.native = KSYM_perf_ibs_nmi_handler,
	.events = &ibs_native_used,
	.own = { .name = "kpmu_ibs" },
};

static int handle_ibs(unsigned int cmd, struct pt_regs *regs)
{
	return handle_unit(&ibs_units[IBS_FETCH_UNIT], regs) +
	       handle_unit(&ibs_units[IBS_OP_UNIT], regs) + kpmu_nmi_native(&ibs_nmi, regs);
}
NOKPROBE_SYMBOL(handle_ibs);

/**
 * ibs_nmi_init() - register the NMI handler
 *
 * Context: module init.
 * Return: 0 or an error.
 */
int __init ibs_nmi_init(void)
{
	return kpmu_nmi_init(&ibs_nmi, handle_ibs);
}

/**
 * ibs_nmi_exit() - unregister the NMI handler
 *
 * Context: task, may sleep.
 */
void ibs_nmi_exit(void)
{
	kpmu_nmi_exit(&ibs_nmi);
}
