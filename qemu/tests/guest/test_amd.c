// SPDX-License-Identifier: GPL-2.0-only
/* AMD's events, and counters of a guest under SVM or of its host only. */
#include "guest.h"

#define BIT(n)		(1ul << (n))
#define GUEST_ONLY	BIT(40)
#define HOST_ONLY	BIT(41)
#define LOOP		(cases_start + 1)	/* 402 instructions */

/* Intel's events that other tests use: AMD's of Zen, and of the families before */
static const struct { u32 intel; u64 zen, k7; } same[] = {
	{ EV_INSN, 0xc0, 0xc0 }, { EV_BR, 0xc2, 0xc2 }, { EV_LD, 0x129, 0 },
	{ EV_ST, 0x229, 0 }, { EV_CYC, 0x76, 0x76 }, { EV_REF, 0x100000120, 0 },
	{ 0x00c5, 0xc3, 0xc3 },				/* branch misses */
	{ 0x4f2e, 0xff60, 0x77d }, { 0x412e, 0x964, 0x77e },	/* cache references, misses */
};

u64 amd_event(u32 event)
{
	for (u64 i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (same[i].intel == event)
			return pmu.zen ? same[i].zen : same[i].k7;
	return event;
}

static void start(int n, u64 sel, u64 v)
{
	wrmsr(amd_ctl(n), 0);
	wrmsr(amd_ctr(n), v);
	wrmsr(amd_ctl(n), sel | SEL_EN);
}

/* A count of an event of AMD's in a case; cold caches and predictors */
struct expected {
	const char *name, *what;
	u64 event;
	int cold;		/* else as the run before has left them */
	u64 want;
};

static void expect(const struct expected *e)
{
	u64 v;

	if (e->cold)
		wrmsr(STAT_COLD, 0);
	start(0, e->event | SEL_USR, 0);
	run_case(this_cpu(), find_case(e->name), 0);
	v = ctr_read(0);
	pmu_stop();
	check(v == e->want, "amd events: %s, %s%s: %d (%d)", e->name, e->what,
	      e->cold ? "" : ", again", v, e->want);
}

/* On all families; see test_model() for the numbers */
static const struct expected all[] = {
	{ "loop", "instructions", 0xc0, 1, 402 },
	{ "loop", "ops", 0xc1, 1, 402 },
	{ "loop", "cycles", 0x76, 1, 402 * CPI },
	{ "loop", "branches", 0xc2, 1, 101 },
	{ "loop", "branch misses", 0xc3, 1, 2 },
	{ "loop", "branch misses", 0xc3, 0, 1 },
	{ "loop", "taken", 0xc4, 1, 99 },
	/* The first one is taken, the last one is not */
	{ "loop", "taken and missed", 0xc5, 1, 1 },
	{ "loop", "taken and missed", 0xc5, 0, 0 },
	{ "calls and jumps", "returns", 0xc8, 1, 3 },
	{ "calls and jumps", "missed returns", 0xc9, 1, 0 },
	{ "nested calls", "missed returns", 0xc9, 1, 1 },
	{ "64 KiB", "DC accesses", 0x40, 1, 1024 },
	{ "across two fresh pages", "DC accesses", 0x40, 1, 6 },
	{ "loop", "an event that there is not", 0x34, 1, 0 },
	{ "loop", "the event of large increments", 0xf000000ff, 1, 0 },
};

static const struct expected zen[] = {
	{ "loop", "conditional", 0xd1, 1, 100 },
	{ "calls and jumps", "missed indirect ones", 0xca, 1, 3 },
	{ "calls and jumps", "missed indirect ones", 0xca, 0, 0 },
	{ "loop", "P0 clocks", 0x100000120, 1, REF(402) },
	{ "loop", "P0 clocks without unit mask", 0x100000020, 1, 0 },
	{ "64 KiB", "L2 requests", 0xff60, 1, 1024 },
	{ "64 KiB", "L2 requests of loads", 0x8060, 1, 1024 },
	{ "64 KiB", "L2 requests of stores", 0x4060, 1, 0 },
	{ "64 KiB", "L2 requests of loads and stores", 0xc860, 1, 1024 },
	{ "64 KiB", "L2 requests of prefetches", 0x0460, 1, 0 },
	{ "TLB conflict", "L2 requests of stores", 0x4860, 1, 5 },
	{ "64 KiB", "L2 misses", 0x0964, 1, 1024 },
	{ "64 KiB", "L2 misses", 0x0964, 0, 0 },
	{ "64 KiB", "L2 misses of instructions", 0x0164, 1, 0 },
	{ "64 KiB", "L1 DTLB misses", 0xff45, 1, 16 },
	{ "64 KiB", "L2 DTLB misses", 0xf045, 1, 16 },
	{ "64 KiB", "L2 DTLB hits", 0x0f45, 1, 0 },
	{ "TLB conflict", "L1 DTLB misses", 0xff45, 1, 15 },
	{ "64 KiB", "loads", 0x129, 1, 1024 },
	{ "TLB conflict", "stores", 0x229, 1, 15 },
	{ "TLB conflict", "loads and stores", 0x329, 1, 0 },
	{ "64 KiB", "DC misses of K7", 0x41, 1, 0 },
};

static const struct expected k7[] = {
	{ "64 KiB", "DC misses", 0x41, 1, 1024 },
	{ "64 KiB", "DTLB misses", 0x746, 1, 16 },
	{ "64 KiB", "L2 requests", 0x77d, 1, 1024 },
	{ "64 KiB", "L2 requests of instructions", 0x17d, 1, 0 },
	{ "64 KiB", "L2 misses", 0x77e, 1, 1024 },
	{ "loop", "stalls, which Zen's branches are", 0xd1, 1, 0 },
};

#define EXPECT(list)						\
	for (u64 i = 0; i < sizeof(list) / sizeof(*list); i++)	\
		expect(&list[i])

void test_amd_events(void)
{
	EXPECT(all);
	if (pmu.zen)
		EXPECT(zen);
	else
		EXPECT(k7);
}

/* Guest only and host only: without SVM such a counter stands still */
void test_amd_only(void)
{
	static const u64 only[4] = { 0, GUEST_ONLY, HOST_ONLY, GUEST_ONLY | HOST_ONLY };
	u64 efer = rdmsr(MSR_EFER);
	u64 v[2][4];

	for (int svm = 0; svm < 2; svm++) {
		wrmsr(MSR_EFER, efer | (svm ? BIT(12) : 0));
		for (int i = 0; i < 4; i++)
			start(i, EV_INSN | SEL_USR | only[i], 0);
		run_case(this_cpu(), LOOP, 0);
		for (int i = 0; i < 4; i++)
			v[svm][i] = ctr_read(i);
	}
	wrmsr(MSR_EFER, efer);
	pmu_stop();
	check(v[0][0] == 402 && !v[0][1] && !v[0][2] && !v[0][3],
	      "amd only: without SVM %d, guest %d, host %d, both %d",
	      v[0][0], v[0][1], v[0][2], v[0][3]);
	check(v[1][0] == 402 && !v[1][1] && v[1][2] == 402 && v[1][3] == 402,
	      "amd only: with SVM %d, guest %d, host %d, both %d",
	      v[1][0], v[1][1], v[1][2], v[1][3]);
}

/* ---- a guest under SVM ------------------------------------------------- */

static u8 vmcb[4096] __attribute__((aligned(4096)));
static u8 hsave[4096] __attribute__((aligned(4096)));
static u8 bitmaps[12288] __attribute__((aligned(4096)));

#define VMCB32(off)	(*(volatile u32 *)(vmcb + (off)))
#define VMCB64(off)	(*(volatile u64 *)(vmcb + (off)))
#define EXIT_NMI	0x61
#define EXIT_VMMCALL	0x81

/* mov, 100 times dec and jnz; VMMCALL does not retire */
#define GUEST_INSNS	(1 + 2 * 100)

asm(".pushsection .text\n"
    "svm_guest:\n"
    "	movl %eax, %ecx\n"
    "1:	decl %ecx\n"
    "	jnz 1b\n"
    "	vmmcall\n"
    "	.popsection");
extern u8 svm_guest[];

static void set_segment(int n, u16 sel, u16 attrib)
{
	u32 off = 0x400 + 16 * n;	/* es cs ss ds */

	VMCB32(off) = sel | (u32)attrib << 16;
	VMCB32(off + 4) = 0xffffffff;
	VMCB64(off + 8) = 0;
}

#define READ_CR(n) ({ u64 _v; asm volatile("mov %%cr" #n ", %0" : "=r"(_v)); _v; })

static void make_guest(void)
{
	struct { u16 limit; u64 base; } __attribute__((packed)) gdt, idt;

	asm volatile("sgdt %0; sidt %1" : "=m"(gdt), "=m"(idt));
	memset(vmcb, 0, sizeof(vmcb));
	VMCB32(0x0c) = 1 << 1;			/* intercept NMI ... */
	VMCB32(0x10) = 1 << 0 | 1 << 1;		/* ... VMRUN and VMMCALL */
	VMCB64(0x40) = (u64)bitmaps;
	VMCB64(0x48) = (u64)bitmaps;
	VMCB32(0x58) = 1;			/* ASID */
	set_segment(0, SEL_KDATA, 0xc93);
	set_segment(1, SEL_KCODE, 0xa9b);
	set_segment(2, SEL_KDATA, 0xc93);
	set_segment(3, SEL_KDATA, 0xc93);
	VMCB32(0x464) = gdt.limit;
	VMCB64(0x468) = gdt.base;
	VMCB32(0x484) = idt.limit;
	VMCB64(0x488) = idt.base;
	VMCB64(0x4d0) = rdmsr(MSR_EFER);
	VMCB64(0x548) = READ_CR(4);
	VMCB64(0x550) = READ_CR(3);
	VMCB64(0x558) = READ_CR(0);
	VMCB64(0x560) = 0x400;			/* DR7 */
	VMCB64(0x568) = 0xffff0ff0;		/* DR6 */
	VMCB64(0x570) = 2;			/* RFLAGS */
	VMCB64(0x578) = (u64)svm_guest;
	VMCB64(0x5f8) = 100;			/* RAX: rounds */
}

/* Run the guest until its next #VMEXIT, then take a pending NMI */
static u64 run_guest(void)
{
	u64 a = (u64)vmcb;

	asm volatile("vmrun; stgi; nop"
		     : "+a"(a) :: "rcx", "rdx", "cc", "memory");
	return VMCB64(0x70);
}

static void svm_on(void)
{
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | BIT(12));
	wrmsr(MSR_VM_HSAVE, (u64)hsave);
	make_guest();
}

static void svm_off(void)
{
	pmu_stop();
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) & ~BIT(12));
}

static int has_svm(const char *name)
{
	u32 r[4];

	cpuid(0x80000001, r);
	if (r[2] >> 2 & 1)
		return 1;
	result_skip(name, "no SVM");
	return 0;
}

/* Count instructions in supervisor mode while the guest runs @n times 2 + 1 of them */
static u64 run_counted(u64 only, u64 n)
{
	VMCB64(0x578) = (u64)svm_guest;
	VMCB64(0x5f8) = n;
	start(0, EV_INSN | SEL_OS | only, 0);
	u64 code = run_guest();
	u64 v = ctr_read(0);

	pmu_stop();
	check(code == EXIT_VMMCALL, "amd svm: ended by VMMCALL, %x", code);
	return v;
}

/* Counters of the guest, of the host and of both */
void test_amd_svm(void)
{
	u64 guest, host, both;

	if (!has_svm("amd svm"))
		return;
	svm_on();
	guest = run_counted(GUEST_ONLY, 100);
	host = run_counted(HOST_ONLY, 100);
	both = run_counted(0, 100);
	check(guest == GUEST_INSNS, "amd svm: guest only, %d (%d)", guest, (u64)GUEST_INSNS);
	check(host > 3 && host < 100, "amd svm: host only, %d", host);
	check(both == guest + host, "amd svm: both, %d", both);
	check(run_counted(GUEST_ONLY, 1000) == guest + 2 * 900, "amd svm: a longer guest");
	check(run_counted(HOST_ONLY, 1000) == host, "amd svm: and the same host");
	check(run_counted(GUEST_ONLY | HOST_ONLY, 1000) == both + 2 * 900, "amd svm: with both bits");
	start(0, EV_INSN | SEL_USR | GUEST_ONLY, 0);
	run_guest();
	check(!ctr_read(0), "amd svm: nothing in user mode of the guest, %d", ctr_read(0));
	svm_off();
}

/* An overflow in the guest is a #VMEXIT for an NMI; the host takes it after STGI */
void test_amd_svm_pmi(void)
{
	struct cpu *cpu = this_cpu();
	u64 bad = 0;

	if (!has_svm("amd svm pmi"))
		return;
	svm_on();
	cpu->rearm = 0;
	apic_write(APIC_LVTPC, LVT_NMI);
	for (u64 p = 1; p < GUEST_INSNS; p++) {
		u64 rip = (u64)svm_guest + (p % 2 ? 2 : 4);

		VMCB64(0x578) = (u64)svm_guest;
		VMCB64(0x5f8) = 100;
		cpu->pmis = 0;
		start(0, EV_INSN | SEL_OS | SEL_INT | GUEST_ONLY, -p);
		u64 code = run_guest();
		int ok = code == EXIT_NMI && VMCB64(0x578) == rip && ctr_read(0) == 0 &&
			 cpu->pmis == 1;

		if (!ok && !bad)
			print("# period %d: exit %x at +%x, counter %x, %d PMIs\n", p, code,
			      VMCB64(0x578) - (u64)svm_guest, ctr_read(0), cpu->pmis);
		bad += !ok;
		pmu_stop();
	}
	check(!bad, "amd svm pmi: after every period (%d bad)", bad);
	svm_off();
}
