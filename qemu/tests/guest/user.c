// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a case in user mode and handle its traps.  The trap handler maps pages,
 * skips faulting instructions, and records PMIs and single steps.
 */
#include "guest.h"

struct pmu pmu;

extern u8 probe_msr_start[] asm("probe_msr"), probe_fault[], case_breakpoint[];

#define PT ((volatile u64 *)(PAGE_TABLES + 0x6000))

static void flush(u64 va)
{
	asm volatile("invlpg (%0)" :: "r"(va) : "memory");
}

/* Each CPU of an SMP test uses pages of its own */
static u64 demand_base(struct cpu *cpu)
{
	return DEMAND + cpu->nr * 32 * 4096ul;
}

static void set_demand(struct cpu *cpu, u32 flags)
{
	u64 va = demand_base(cpu);

	for (int i = 0; i < 32; i++, va += 4096) {
		int n = (va - DEMAND) >> 12;
		u64 pa = DEMAND_RAM + n * 4096ul;

		if (flags & CASE_FRESH)
			memset((void *)pa, 0, 4096);
		PT[n] = pa | (flags & CASE_FRESH ? 0 : flags & CASE_COW ? 5 : 7);
		flush(va);
	}
}

static void page_fault(struct frame *f)
{
	u64 va, n;

	asm volatile("mov %%cr2, %0" : "=r"(va));
	n = (va - DEMAND) >> 12;
	if (n >= 512) {
		print("Bail out! page fault at %x, ip %x\n", va, f->rip);
		outb(0xf4, 2);
	}
	if (va == f->rip)			/* instruction fetch: write a RET there */
		*(u8 *)(DEMAND_RAM + n * 4096) = 0xc3;
	PT[n] |= 7;
	flush(va);
}

/* Length of the faulting instructions in the cases */
static int skip_len(struct frame *f)
{
	const u8 *p = (u8 *)f->rip;

	switch (*p) {
	case 0xf4:				/* hlt */
		return 1;
	case 0x0f:				/* addps (%rax), or those of two bytes */
		return p[1] == 0x58 ? 3 : 2;
	default:	/* ud2, int n, div, rdmsr, wrmsr, iretq, lretq, sysret, mov ss */
		return 2;
	}
}

static void pmi(struct cpu *cpu, struct frame *f)
{
	if (!cpu->pmis++) {
		cpu->pmi_ip = f->rip;
		cpu->pmi_cs = f->cs;
	}
	if (pmu.version >= 2)
		cpu->pmi_status |= rdmsr(MSR_GLOBAL_STATUS);
	if (cpu->on_pmi)
		cpu->on_pmi(cpu, f);
	if (cpu->rearm)
		apic_write(APIC_LVTPC, cpu->rearm);
}

static void debug_trap(struct cpu *cpu, struct frame *f)
{
	u64 dr6;

	asm volatile("mov %%dr6, %0" : "=r"(dr6));
	asm volatile("mov %0, %%dr6" :: "r"(0xffff0ff0ul));
	if (dr6 & 3) {
		cpu->bp_hits++;
		f->rflags |= 1 << 16;		/* RF: do not hit it again */
	}
	if (!(dr6 & 1 << 14))
		return;
	if (cpu->on_step)
		cpu->on_step(cpu, f);
	else
		f->rflags &= ~0x100ul;		/* TF was set by the case itself */
}

void trap(struct frame *f)
{
	struct cpu *cpu = this_cpu();

	switch (f->vector) {
	case VEC_EXIT:
		cpu->end = *f;
		leave_user();
	case VEC_TIMER:
		cpu->ticks++;
		apic_write(APIC_EOI, 0);
		return;
	case VEC_PMI:
		pmi(cpu, f);
		apic_write(APIC_EOI, 0);
		return;
	case 2:
		pmi(cpu, f);
		return;
	case 1:
		debug_trap(cpu, f);
		return;
	case 3:
	case 4:
		return;
	case 14:
		page_fault(f);
		return;
	case 0:
	case 6:
	case 13:
		if (f->cs & 3) {
			f->rip += skip_len(f);
			cpu->skipped_to = f->rip;
			return;
		}
		if (f->vector == 13 && f->rip >= (u64)probe_msr_start &&
		    f->rip < (u64)probe_fault) {
			f->rip = (u64)probe_fault;
			return;
		}
	}
	print("Bail out! vector %d error %x ip %x cs %x\n", f->vector, f->error,
	      f->rip, f->cs);
	outb(0xf4, 2);
}

void run_case(struct cpu *cpu, const struct ucase *c, u64 rflags)
{
	struct frame f = {
		.rip = c->entry, .cs = SEL_UCODE, .ss = SEL_UDATA,
		.rsp = (u64)cpu->user_stack + sizeof(cpu->user_stack) - 64,
		.rflags = 0x3002 | rflags,	/* IOPL 3 */
		.rdi = (u64)cpu->data,
		.rsi = demand_base(cpu),
	};
	u64 dr7 = 0;

	/* All runs start from the same state */
	memset(cpu->data, 0, 4096);
	set_demand(cpu, c->flags);
	if (c->flags & CASE_WATCH) {
		asm volatile("mov %0, %%dr0" :: "r"(cpu->data + 8));
		dr7 = 0x90001;			/* 8 bytes, on writes */
	}
	if (c->flags & CASE_PORT) {
		asm volatile("mov %0, %%dr0" :: "r"(0x80ul));
		write_cr4(read_cr4() | 8);	/* DE */
		dr7 = 0x20001;
	}
	if (c->flags & CASE_BREAK) {
		asm volatile("mov %0, %%dr0" :: "r"(case_breakpoint));
		dr7 = 0x1;
	}
	cpu->steps = cpu->bp_hits = 0;
	cpu->skipped_to = 0;
	asm volatile("fninit; ldmxcsr %0" :: "m"((u32){ 0x1f80 }));
	asm volatile("mov %0, %%dr7" :: "r"(dr7));
	enter_user(&f);
	asm volatile("mov %0, %%dr7" :: "r"(0ul));
}

/* ---- the PMU --------------------------------------------------------- */

/* Bits of all counters, as in GLOBAL_CTRL */
u64 pmu_all(void)
{
	return ((1ul << pmu.gp) - 1) | ((1ul << pmu.fixed) - 1) << 32;
}

/* Counter n: general from 0, fixed from 32 */
u64 ctr_read(int n)
{
	return rdmsr(n < 32 ? MSR_PMC(n) : MSR_FIXED(n - 32));
}

void ctr_write(int n, u64 v)
{
	wrmsr(n < 32 ? MSR_PMC(n) : MSR_FIXED(n - 32), n < 32 ? v : v & pmu.mask);
}

/* Start a counter; the event is Intel's, and on AMD the one that is like it */
void gp_start(int n, u32 sel, u64 v)
{
	wrmsr(MSR_PERFEVTSEL(n), 0);
	ctr_write(n, v);
	wrmsr(MSR_PERFEVTSEL(n), (pmu.amd ? (sel & ~0xffffu) | amd_event(sel & 0xffff) : sel) |
	      SEL_EN);
}

/* Reset the PMU registers, but set all bits of GLOBAL_CTRL */
void pmu_stop(void)
{
	for (u32 i = 0; i < pmu.gp; i++) {
		wrmsr(MSR_PERFEVTSEL(i), 0);
		ctr_write(i, 0);
	}
	wrmsr(MSR_DEBUGCTL, 0);
	if (pmu.version < 2)
		return;
	if (!pmu.amd)
		wrmsr(MSR_FIXED_CTRL, 0);
	for (u32 i = 0; i < pmu.fixed; i++)
		ctr_write(32 + i, 0);
	wrmsr(MSR_GLOBAL_OVF, rdmsr(MSR_GLOBAL_STATUS));
	wrmsr(MSR_GLOBAL_CTRL, pmu_all());
}
