// SPDX-License-Identifier: GPL-2.0-only
/* AMD's event of floating-point operations, and pairs of counters that count all of them. */
#include "guest.h"

#define FLOPS(umask)	(0x003ul | (u64)(umask) << 8)
#define MERGE		0xf000000fful
#define ROUNDS		100
#define BODY		5		/* offset of what is in the loop */
#define MAX_SINGLE	15		/* increment of a counter that is none of a pair */

/*
 * Cases: what is in a loop, flags, and the operations of a round, by the bits of the unit
 * mask: additions, multiplications, divisions and square roots, multiply-accumulate.
 * %rdi points to zeroes, %rsi to pages.
 */
#define CASES(C)								\
	C(addps, "addps %xmm1, %xmm0", 0, 4, 0, 0, 0)				\
	C(addpd, "addpd %xmm1, %xmm0", 0, 2, 0, 0, 0)				\
	C(addss, "addss %xmm1, %xmm0", 0, 1, 0, 0, 0)				\
	C(addsd, "addsd %xmm1, %xmm0", 0, 1, 0, 0, 0)				\
	C(subps, "subps %xmm1, %xmm0", 0, 4, 0, 0, 0)				\
	C(subsd, "subsd %xmm1, %xmm0", 0, 1, 0, 0, 0)				\
	C(addsubps, "addsubps %xmm1, %xmm0", 0, 4, 0, 0, 0)			\
	C(addsubpd, "addsubpd %xmm1, %xmm0", 0, 2, 0, 0, 0)			\
	C(haddps, "haddps %xmm1, %xmm0", 0, 4, 0, 0, 0)				\
	C(hsubpd, "hsubpd %xmm1, %xmm0", 0, 2, 0, 0, 0)				\
	C(mulps, "mulps %xmm1, %xmm0", 0, 0, 4, 0, 0)				\
	C(mulpd, "mulpd %xmm1, %xmm0", 0, 0, 2, 0, 0)				\
	C(mulss, "mulss %xmm1, %xmm0", 0, 0, 1, 0, 0)				\
	C(divps, "divps %xmm1, %xmm0", 0, 0, 0, 4, 0)				\
	C(divss, "divss %xmm1, %xmm0", 0, 0, 0, 1, 0)				\
	C(sqrtps, "sqrtps %xmm1, %xmm0", 0, 0, 0, 4, 0)				\
	C(sqrtpd, "sqrtpd %xmm1, %xmm0", 0, 0, 0, 2, 0)				\
	C(sqrtsd, "sqrtsd %xmm1, %xmm0", 0, 0, 0, 1, 0)				\
	C(vaddss, "vaddss %xmm2, %xmm1, %xmm0", 0, 1, 0, 0, 0)			\
	C(vaddps, "vaddps %ymm2, %ymm1, %ymm0", 0, 8, 0, 0, 0)			\
	C(vsubpd, "vsubpd %ymm2, %ymm1, %ymm0", 0, 4, 0, 0, 0)			\
	C(vaddsubpd, "vaddsubpd %ymm2, %ymm1, %ymm0", 0, 4, 0, 0, 0)		\
	C(vhsubps, "vhsubps %ymm2, %ymm1, %ymm0", 0, 8, 0, 0, 0)		\
	C(vmulps, "vmulps %ymm2, %ymm1, %ymm0", 0, 0, 8, 0, 0)			\
	C(vdivpd, "vdivpd %ymm2, %ymm1, %ymm0", 0, 0, 0, 4, 0)			\
	C(vsqrtps, "vsqrtps %ymm1, %ymm0", 0, 0, 0, 8, 0)			\
	C(fmaps, "vfmadd231ps %ymm2, %ymm1, %ymm0", 0, 0, 0, 0, 16)		\
	C(fmapd, "vfmadd213pd %ymm2, %ymm1, %ymm0", 0, 0, 0, 0, 8)		\
	C(fmaps_x, "vfnmsub132ps %xmm2, %xmm1, %xmm0", 0, 0, 0, 0, 8)		\
	C(fmapd_x, "vfmsubadd231pd %xmm2, %xmm1, %xmm0", 0, 0, 0, 0, 4)		\
	C(fmass, "vfnmadd231ss %xmm2, %xmm1, %xmm0", 0, 0, 0, 0, 2)		\
	C(fmasd, "vfmsub213sd %xmm2, %xmm1, %xmm0", 0, 0, 0, 0, 2)		\
	C(addps_m, "addps (%rdi), %xmm0", 0, 4, 0, 0, 0)			\
	C(sqrtsd_m, "sqrtsd (%rdi), %xmm0", 0, 0, 0, 1, 0)			\
	C(vmulpd_m, "vmulpd 40(%rdi), %ymm1, %ymm0", 0, 0, 4, 0, 0)		\
	C(fmapd_m, "vfmaddsub132pd 48(%rdi), %ymm1, %ymm0", 0, 0, 0, 0, 8)	\
	C(fmass_m, "vfmadd132ss 4092(%rdi), %xmm1, %xmm0", 0, 0, 0, 0, 2)	\
	C(mixed, "addps %xmm1, %xmm0; mulpd (%rdi), %xmm2; divss %xmm1, %xmm2;"	\
	  "nop; sqrtps %xmm3, %xmm3; movaps %xmm0, (%rdi);"			\
	  "vfmadd231pd %ymm4, %ymm5, %ymm6", 0, 4, 2, 5, 8)			\
	C(fresh, "addps (%rsi), %xmm0; addl $4096, %esi; andl $~0x8000, %esi",	\
	  1, 4, 0, 0, 0)							\
	C(unaligned, "leaq 1(%rdi), %rax; addps (%rax), %xmm0", 0, 0, 0, 0, 0)	\
	C(moves, "movaps %xmm1, %xmm0; movups (%rdi), %xmm1; vmovapd %ymm0, %ymm1;" \
	  "movsd %xmm0, (%rdi); shufps $1, %xmm1, %xmm0; unpcklpd %xmm1, %xmm0;" \
	  "andps %xmm1, %xmm0; vbroadcastss (%rdi), %ymm3", 0, 0, 0, 0, 0)	\
	C(others, "minps %xmm1, %xmm0; maxsd %xmm1, %xmm0; cmpltps %xmm1, %xmm0;" \
	  "ucomiss %xmm1, %xmm0; rcpps %xmm1, %xmm0; rsqrtss %xmm1, %xmm0;"	\
	  "roundps $0, %xmm1, %xmm0; dpps $0xff, %xmm1, %xmm0", 0, 0, 0, 0, 0)	\
	C(cvt, "cvtps2dq %xmm1, %xmm0; cvtsi2sd %ecx, %xmm0; cvtsd2ss %xmm0, %xmm1;" \
	  "cvttss2si %xmm1, %eax; cvtps2pd %xmm1, %xmm0", 0, 0, 0, 0, 0)	\
	C(integers, "paddd %xmm1, %xmm0; pmuludq %xmm1, %xmm0; phaddw %xmm1, %xmm0;" \
	  "psubb %xmm1, %xmm0; imull %eax, %eax; addl %eax, %edx", 0, 0, 0, 0, 0) \
	C(x87, "fld1; fld1; faddp; fld1; fmulp; fsqrt; fld1; fdivp; fstp %st(0)", \
	  0, 0, 0, 0, 0)

#define C(name, code, ...)				\
asm(".pushsection .text\n"				\
    "	.balign 64\n"					\
    "flops_" #name ":\n"				\
    "	movl $100, %ecx\n"				\
    "1:	" code "\n"					\
    "	decl %ecx\n"					\
    "	jnz 1b\n"					\
    "	int $0x80\n"					\
    "	.popsection");					\
extern u8 flops_##name[];
CASES(C)
#undef C

static const struct flops {
	const char *name;
	const u8 *entry;
	u32 flags;		/* CASE_FRESH: of the 8 pages that the loop reads */
	u8 n[4];
} cases[] = {
#define C(name, code, flags, ...) { #name, flops_##name, flags, { __VA_ARGS__ } },
CASES(C)
#undef C
};

static void run(const u8 *entry, u32 flags)
{
	const struct ucase c = { "flops", (u64)entry, .flags = flags };

	run_case(this_cpu(), &c, 0);
}

static void start(u32 n, u64 sel, u64 v)
{
	wrmsr(amd_ctl(n), 0);
	wrmsr(amd_ctr(n), v);
	wrmsr(amd_ctl(n), sel | SEL_EN);
}

static u64 capped(u64 n)
{
	return n < MAX_SINGLE ? n : MAX_SINGLE;
}

/* Nothing before Zen */
static u64 rounds(void)
{
	return pmu.zen ? ROUNDS : 0;
}

static int has_fma(const char *name)
{
	u32 r[4];

	cpuid(1, r);
	if (r[2] >> 12 & r[2] >> 28 & 1)
		return 1;
	result_skip(name, "no AVX or no FMA");
	return 0;
}

/* Count a case with four unit masks */
static void count(const struct flops *f, const u64 *umask, u64 *v)
{
	for (int i = 0; i < 4; i++)
		start(i, FLOPS(umask[i]) | SEL_USR, 0);
	run(f->entry, f->flags);
	for (int i = 0; i < 4; i++)
		v[i] = ctr_read(i);
	pmu_stop();
}

static void check_case(const struct flops *f)
{
	static const u64 each[4] = { 1, 2, 4, 8 }, sums[4] = { 0xf, 0, 0xf0, 5 };
	u64 v[4], s[4], all = 0, bad = 0;

	count(f, each, v);
	count(f, sums, s);
	for (int i = 0; i < 4; i++) {
		bad += v[i] != capped(f->n[i]) * rounds();
		all += capped(f->n[i]);
	}
	check(!bad, "amd flops: %s: %d %d %d %d", f->name, v[0], v[1], v[2], v[3]);
	check(s[0] == all * rounds() && !s[1] && !s[2] && s[3] == (f->n[0] + f->n[2]) * rounds(),
	      "amd flops: %s: all %d, none %d, others %d, two %d", f->name, s[0], s[1], s[2], s[3]);
}

/* CMASK, INV and EDGE count nothing */
static void check_bits(void)
{
	static const u64 bits[4] = { SEL_CMASK(1), SEL_INV, SEL_EDGE, SEL_CMASK(1) | SEL_INV };
	u64 sum = 0;

	for (int i = 0; i < 4; i++)
		start(i, FLOPS(0xf) | SEL_USR | bits[i], 0);
	run(flops_addps, 0);
	for (int i = 0; i < 4; i++)
		sum += ctr_read(i);
	pmu_stop();
	check(!sum, "amd flops: CMASK, INV, EDGE: %d", sum);
}

static void check_levels(void)
{
	u64 user, kernel;

	start(0, FLOPS(0xf) | SEL_USR, 0);
	start(1, FLOPS(0xf) | SEL_OS, 0);
	asm volatile("addps %%xmm1, %%xmm0; mulsd %%xmm1, %%xmm0; divpd (%0), %%xmm1"
		     :: "r"(this_cpu()->data));
	user = ctr_read(0);
	kernel = ctr_read(1);
	check(!user && kernel == (pmu.zen ? 7 : 0), "amd flops: in the kernel %d, user %d", kernel,
	      user);
	run(flops_vaddps, 0);
	check(ctr_read(0) == 8 * rounds() && ctr_read(1) == kernel,
	      "amd flops: in user mode %d, kernel %d", ctr_read(0), ctr_read(1));
	pmu_stop();
}

void test_amd_flops(void)
{
	if (!has_fma("amd flops"))
		return;
	for (u64 i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(&cases[i]);
	check_bits();
	check_levels();
}

/* ---- overflows, and pairs of counters -------------------------------------- */

static u64 pmi_rcx;

static void note_rcx(struct cpu *cpu, struct frame *f)
{
	if (cpu->pmis == 1)
		pmi_rcx = f->rcx;
}

/* Run a case with -p in counter @n, and the event INT; returns the number of PMIs */
static u64 overflow(int n, const u8 *entry, u64 p)
{
	struct cpu *cpu = this_cpu();

	cpu->pmis = cpu->pmi_status = 0;
	cpu->rearm = 0;
	cpu->on_pmi = note_rcx;
	apic_write(APIC_LVTPC, LVT_NMI);
	start(n, FLOPS(0xf) | SEL_USR | SEL_INT, -p);
	run(entry, 0);
	cpu->on_pmi = 0;
	return cpu->pmis;
}

/* The PMI of counter @n is after the operation that overflows; @each operations a round */
static int exact(int n, const u8 *entry, u64 len, u64 each, u64 p)
{
	struct cpu *cpu = this_cpu();
	u64 round = (p + each - 1) / each;
	u64 pmis = overflow(n, entry, p);
	int ok = pmis == 1 && cpu->pmi_ip == (u64)entry + BODY + len &&
		 pmi_rcx == ROUNDS + 1 - round && ctr_read(n) == each * ROUNDS - p &&
		 (pmu.version < 2 || cpu->pmi_status == 1u << n);

	if (pmu.version >= 2)
		wrmsr(MSR_AMD_CLEAR, ~0ul);
	if (!ok)
		print("# counter %d, period %d: %d PMIs, +%d, round %d, counter %x, status %x\n",
		      (u64)n, p, pmis, cpu->pmi_ip - (u64)entry, ROUNDS + 1 - pmi_rcx,
		      ctr_read(n), cpu->pmi_status);
	return ok;
}

static void check_single(void)
{
	u64 bad = 0;

	for (u64 p = 1; p < 50 && !bad; p++) {
		bad += !exact(0, flops_addps, 3, 4, p);
		bad += !exact(1, flops_divss, 4, 1, p);
		bad += !exact(2, flops_fmaps, 5, MAX_SINGLE, p);
		bad += !exact(3, flops_addps_m, 3, 4, p);
	}
	pmu_stop();
	check(!bad, "amd pairs: single counters overflow exactly");
}

static void check_pair(int n)
{
	struct cpu *cpu = this_cpu();
	u64 bad = 0, pmis;

	start(n + 1, MERGE, 0xffff);
	start(n, FLOPS(8) | SEL_USR, 0);
	run(flops_fmaps, 0);
	check(ctr_read(n) == 16 * ROUNDS && ctr_read(n + 1) == 0xffff,
	      "amd pairs: %d: all 16, %d, %x", (u64)n, ctr_read(n), ctr_read(n + 1));

	for (u64 p = 1; p < 100 && !bad; p++) {
		start(n + 1, MERGE, p & 1 ? 0xffff : 0xabcd1234fffful);
		bad += !exact(n, flops_fmaps, 5, 16, p) || ctr_read(n + 1) & 0xffff;
	}
	check(!bad, "amd pairs: %d: overflows exactly if the upper part does", (u64)n);

	start(n + 1, MERGE | SEL_USR | SEL_OS | SEL_INT | 0x4200, 5);
	pmis = overflow(n, flops_fmaps, 50 * 16);
	check(!pmis && !cpu->pmi_status && ctr_read(n) == 50 * 16 && ctr_read(n + 1) == 6,
	      "amd pairs: %d: a carry is no overflow, %d PMIs, %d, %x", (u64)n, pmis, ctr_read(n),
	      ctr_read(n + 1));

	start(n + 1, MERGE, 0xfffe);
	pmis = overflow(n, flops_fmaps, 1);
	check(!pmis && ctr_read(n + 1) == 0xffff, "amd pairs: %d: nor the last one, %x", (u64)n,
	      ctr_read(n + 1));
	check(pmu.version < 2 || !rdmsr(MSR_AMD_STATUS), "amd pairs: %d: no status", (u64)n);
	pmis = overflow(n, flops_fmaps, 1);
	check(pmis == 1 && !(ctr_read(n + 1) & 0xffff) && ctr_read(n) == 16 * ROUNDS - 1,
	      "amd pairs: %d: but the next, %d PMIs, %x", (u64)n, pmis, ctr_read(n + 1));
	pmu_stop();
}

/* What makes no pair of counters 0 and 1 */
static void check_single_anyway(const char *what, int n, u64 sel, u64 other)
{
	wrmsr(amd_ctl(!n), sel);
	wrmsr(amd_ctr(!n), 0x1234);
	start(n, FLOPS(8) | SEL_USR, other);
	run(flops_fmaps, 0);
	check(ctr_read(n) == ((other + MAX_SINGLE * ROUNDS) & pmu.mask) &&
	      ctr_read(!n) == 0x1234,
	      "amd pairs: no pair: %s: %x, %x", what, ctr_read(n), ctr_read(!n));
	pmu_stop();
}

static void check_no_pairs(void)
{
	check_single_anyway("not enabled", 0, MERGE, -50);
	check_single_anyway("another event", 0, 0xf000000fe | SEL_EN, -50);
	check_single_anyway("the event without its upper bits", 0, 0xff | SEL_EN, -50);
	check_single_anyway("the event on the even counter", 1, MERGE | SEL_EN, -50);
	start(2, MERGE, 0x1234);
	check_single_anyway("the even counter of another pair", 1, 0, -50);
	if (pmu.version < 2)
		return;
	wrmsr(MSR_AMD_CTL, 1);
	check_single_anyway("not enabled in PerfCntrGlobalCtl", 0, MERGE | SEL_EN, -50);
}

/* Pairs and single counters at the same time; a pair that is taken apart */
static void check_together(void)
{
	start(1, MERGE, 0xffff);
	start(0, FLOPS(0xf) | SEL_USR, 0);
	start(2, FLOPS(0xf) | SEL_USR, 0);
	start(3, EV_INSN | SEL_USR, 0);
	run(flops_fmaps, 0);
	check(ctr_read(0) == 16 * ROUNDS && ctr_read(2) == 15 * ROUNDS &&
	      ctr_read(3) == 3 * ROUNDS + 2, "amd pairs: together with others, %d %d %d",
	      ctr_read(0), ctr_read(2), ctr_read(3));
	wrmsr(amd_ctl(1), EV_INSN | SEL_USR | SEL_EN);
	wrmsr(amd_ctr(1), 0);
	wrmsr(amd_ctr(0), 0);
	run(flops_fmaps, 0);
	check(ctr_read(0) == 15 * ROUNDS && ctr_read(1) == 3 * ROUNDS + 2,
	      "amd pairs: taken apart, %d %d", ctr_read(0), ctr_read(1));
	pmu_stop();
}

void test_amd_pairs(void)
{
	if (!has_fma("amd pairs"))
		return;
	check_single();
	for (u32 n = 0; n < pmu.gp; n += 2)
		check_pair(n);
	check_no_pairs();
	check_together();
}
