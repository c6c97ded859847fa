// SPDX-License-Identifier: GPL-2.0-only
/* CPUs: descriptor tables, the local APIC, starting other CPUs and running jobs on them. */
#include "guest.h"

struct cpu cpus[MAX_CPUS];
static u8 tss[MAX_CPUS][104] __attribute__((aligned(8)));
static u64 idt[256][2];
static int x2apic;

extern u8 vectors[], ap_start[], ap_end[], ap_cpu[], syscall_entry[], sysenter_entry[];
extern u8 gate_user[], gate_kernel[];
extern u64 gdt_tss[], gdt_gates[];
void test_main(void);
void finish(void) __attribute__((noreturn));

u32 apic_read(u32 reg)
{
	return x2apic ? rdmsr(0x800 + (reg >> 4))
		      : *(volatile u32 *)(0xfee00000ul + reg);
}

void apic_write(u32 reg, u32 v)
{
	if (x2apic)
		wrmsr(0x800 + (reg >> 4), v);
	else
		*(volatile u32 *)(0xfee00000ul + reg) = v;
}

void x2apic_on(void)
{
	wrmsr(0x1b, rdmsr(0x1b) | 0xc00);
	x2apic = 1;
}

static void make_idt(void)
{
	for (u64 i = 0; i < 256; i++) {
		u64 a = (u64)vectors + 16 * i;
		/* User mode may use INT3, INTO and VEC_EXIT */
		u64 type = i == 3 || i == 4 || i == VEC_EXIT ? 0xee00 : 0x8e00;

		idt[i][0] = (a & 0xffff) | SEL_KCODE << 16 | type << 32 |
			    (a >> 16 & 0xffff) << 48;
		idt[i][1] = a >> 32;
	}
}

/* A 64-bit call gate that user mode may use (SDM vol. 3, 6.8.3.1) */
static void make_gate(u64 *gate, const u8 *to, u64 sel)
{
	u64 a = (u64)to;

	gate[0] = (a & 0xffff) | sel << 16 | 0xecull << 40 | (a >> 16 & 0xffff) << 48;
	gate[1] = a >> 32;
}

static void load_tables(struct cpu *c)
{
	struct { u16 limit; u64 base; } __attribute__((packed)) r = { 4095, (u64)idt };
	u64 t = (u64)tss[c->nr];

	gdt_tss[c->nr * 2] = 103 | (t & 0xffffff) << 16 | 0x89ul << 40 | (t >> 24 & 0xff) << 56;
	gdt_tss[c->nr * 2 + 1] = t >> 32;
	asm volatile("lidt %0" :: "m"(r));
	asm volatile("ltr %w0" :: "r"(SEL_TSS + 16 * c->nr));
}

/* Called by boot.S on each CPU, and again after an INIT */
void cpu_main(int nr)
{
	struct cpu *c = &cpus[nr];

	if (nr == 0) {
		make_idt();
		make_gate(gdt_gates, gate_user, SEL_UCODE);
		make_gate(gdt_gates + 2, gate_kernel, SEL_KCODE);
	}
	c->self = c;
	c->nr = nr;
	c->tss = tss[nr];
	wrmsr(0xc0000101, (u64)c);
	load_tables(c);
	wrmsr(0xc0000081, (u64)SEL_KCODE << 32 | (u64)(SEL_UCODE32 & ~3) << 48);
	wrmsr(0xc0000082, (u64)syscall_entry);
	wrmsr(0xc0000084, 0x600);		/* SYSCALL clears IF and DF */
	wrmsr(0x174, SEL_KCODE);
	wrmsr(0x175, (u64)c->user_stack + 4096);
	wrmsr(0x176, (u64)sysenter_entry);
	apic_write(APIC_SVR, 0x1ff);
	c->seen = 1;
	if (nr == 0) {
		test_main();
		finish();
	}
	for (;;) {
		while (!c->job)
			asm volatile("pause");
		c->job(c);
		c->job = 0;
	}
}

static void ipi(int n, u32 icr)
{
	if (x2apic) {
		wrmsr(0x830, (u64)n << 32 | icr);
		return;
	}
	apic_write(APIC_ICR2, n << 24);
	apic_write(APIC_ICR, icr);
}

/* Send INIT, then a start-up IPI; wait until the CPU runs */
void init_cpu(int n)
{
	cpus[n].seen = 0;
	*(u32 *)ap_cpu = n;
	memcpy((void *)TRAMPOLINE, ap_start, ap_end - ap_start);
	ipi(n, 0x4500);
	for (int i = 0; i < 10000; i++)
		asm volatile("pause");
	ipi(n, 0x4600 | TRAMPOLINE >> 12);
	while (!cpus[n].seen)
		asm volatile("pause");
}

void start_cpus(int n)
{
	for (int i = 1; i < n; i++)
		if (!cpus[i].seen)
			init_cpu(i);
}

void run_on(int n, void (*job)(struct cpu *cpu))
{
	cpus[n].job = job;
}

void wait_cpu(int n)
{
	while (cpus[n].job)
		asm volatile("pause");
}
