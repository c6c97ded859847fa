// SPDX-License-Identifier: GPL-2.0-only
/* AMD's instruction-based sampling (APM volume 2), and the extended LVT of the APIC. */
#include "guest.h"

#define BIT(n)		(1ul << (n))

#define MSR_FETCH_CTL	0xc0011030
#define MSR_FETCH_LIN	0xc0011031
#define MSR_FETCH_PHYS	0xc0011032
#define MSR_OP_CTL	0xc0011033
#define MSR_OP_RIP	0xc0011034
#define MSR_OP_DATA	0xc0011035
#define MSR_OP_DATA2	0xc0011036
#define MSR_OP_DATA3	0xc0011037
#define MSR_DC_LIN	0xc0011038
#define MSR_DC_PHYS	0xc0011039
#define MSR_IBS_CTL	0xc001103a
#define MSR_BR_TARGET	0xc001103b
#define MSR_FETCH_EXT	0xc001103c

#define FETCH_EN	BIT(48)
#define FETCH_VAL	BIT(49)
#define FETCH_COMP	BIT(50)
#define FETCH_PHYS	BIT(52)
#define OP_L3MISS	BIT(16)
#define OP_EN		BIT(17)
#define OP_VAL		BIT(18)
#define OP_CNT_CTL	BIT(19)
#define OP_CUR(n)	((u64)(n) << 32)
#define LDLAT_EN	BIT(63)

#define APIC_VERSION	0x30
#define APIC_FEATURE	0x400
#define APIC_EILVT(n)	(0x500 + 16 * (n))

#define ZEN4		BIT(11)
#define LDLAT		BIT(12)

static u32 caps(void)
{
	u32 r[4];

	cpuid(0x80000000, r);
	if (r[0] < 0x8000001b)
		return 0;
	cpuid(0x8000001b, r);
	return r[0];
}

static int has_ibs(void)
{
	u32 r[4];

	cpuid(0x80000001, r);
	return r[2] >> 10 & 1;
}

/* Without it, its registers raise #GP, and the APIC has no extended ones */
void test_ibs_none(void)
{
	u64 v = 0, bad = 0;

	for (u32 m = MSR_FETCH_CTL; m <= MSR_FETCH_EXT; m++)
		bad += !probe_msr(m, &v, 0) + !probe_msr(m, &v, 1);
	check(!has_ibs() && !caps() && !bad, "ibs: there is none (%d registers)", bad);
	check(!(apic_read(APIC_VERSION) >> 31), "ibs: nor an extended LVT");
}

static void eilvt(void)
{
	u32 bad = 0;

	check(apic_read(APIC_VERSION) >> 31 == 1 && apic_read(APIC_FEATURE) == 4 << 16 &&
	      !apic_read(0x410), "ibs: the APIC has 4 extended LVTs");
	for (int i = 0; i < 4; i++)
		bad += apic_read(APIC_EILVT(i)) != LVT_MASKED;
	check(!bad, "ibs: they are masked");
	for (int i = 0; i < 4; i++) {
		apic_write(APIC_EILVT(i), LVT_NMI | (0x40 + i));
		bad += apic_read(APIC_EILVT(i)) != (u32)(LVT_NMI | (0x40 + i));
		apic_write(APIC_EILVT(i), ~0u);
		bad += apic_read(APIC_EILVT(i)) != 0x107ff;
		apic_write(APIC_EILVT(i), LVT_MASKED);
	}
	check(!bad, "ibs: their bits");
}

void test_ibs_registers(void)
{
	u64 op = 0x7ffffff07feffff, fetch = 0x37ffffffffffffff, want = 0x2ff;
	struct reg r = { "IBS", 0, 1, 1, ~0ul, ~0ul };

	want |= param("zen4", 0) ? ZEN4 : 0;
	want |= param("ldlat", 0) ? LDLAT : 0;
	op |= param("zen4", 0) ? OP_L3MISS : 0;
	op |= param("ldlat", 0) ? LDLAT_EN | 0xful << 59 : 0;
	fetch |= param("zen4", 0) ? BIT(59) : 0;
	check(has_ibs() && caps() == want, "ibs: capabilities %x (%x)", (u64)caps(), want);
	for (u32 m = MSR_FETCH_CTL; m <= MSR_FETCH_EXT; m++) {
		if (m == MSR_IBS_CTL)
			continue;
		r.msr = m;
		r.reads_as = m == MSR_FETCH_CTL ? fetch : m == MSR_OP_CTL ? op : ~0ul;
		check_reg(&r);
		wrmsr(m, 0);
	}
	wrmsr(MSR_IBS_CTL, ~0ul);
	check(rdmsr(MSR_IBS_CTL) == 0x100, "ibs: a BIOS has selected LVT 0");
	eilvt();
}

/* ---- samples ----------------------------------------------------------------- */

#define MAX_LIST	24

static u64 list[MAX_LIST];	/* addresses of the first instructions of a case */
static u64 listed;

static void on_step(struct cpu *cpu, struct frame *f)
{
	if (listed < MAX_LIST)
		list[listed++] = f->rip;
}

static void list_case(struct cpu *cpu, const struct ucase *c)
{
	list[0] = c->entry;
	listed = 1;
	cpu->on_step = on_step;
	run_case(cpu, c, 0x100);
	cpu->on_step = 0;
}

/* A case with one sample of the @n-th op from here, in @mode */
static void sample(struct cpu *cpu, const struct ucase *c, u64 n, u64 mode)
{
	u64 max = 0x10000;

	cpu->pmis = 0;
	wrmsr(STAT_COLD, 0);
	wrmsr(MSR_OP_CTL, max >> 4 | mode | OP_EN | OP_CUR(max - n));
	run_case(cpu, c, 0);
}

/*
 * The @n whose sample is the first op of the case: back from the first one that comes too late.  No
 * interrupt, which the code that starts the case would not survive
 */
static u64 first_op(struct cpu *cpu, const struct ucase *c, u64 mode)
{
	u64 low = 1, high = 60000, ip, scale = mode ? 1 : CPI;

	apic_write(APIC_EILVT(0), LVT_MASKED);
	while (low < high) {
		u64 n = (low + high) / 2;

		sample(cpu, c, n, mode);
		if (rdmsr(MSR_OP_CTL) & OP_VAL)
			low = n + 1;
		else
			high = n;
	}
	do {
		low -= scale;
		sample(cpu, c, low, mode);
		ip = rdmsr(MSR_OP_RIP);
	} while (ip < c->entry || ip >= c->entry + 256);
	apic_write(APIC_EILVT(0), LVT_NMI);
	return low - (c->insn - 1) * scale;
}

static void exact_op(struct cpu *cpu, const char *name, u64 mode, u64 scale)
{
	const struct ucase *c = find_case(name);
	u64 first, bad = 0, nmis = 0;

	list_case(cpu, c);
	first = first_op(cpu, c, mode);
	for (u64 i = 0; i + 1 < listed; i++) {
		sample(cpu, c, first + i * scale, mode);
		bad += rdmsr(MSR_OP_RIP) != list[i];
		nmis += cpu->pmis;
		bad += !(rdmsr(MSR_OP_CTL) & OP_VAL) || rdmsr(MSR_OP_CTL) >> 32 & 0x7ffffff;
	}
	wrmsr(MSR_OP_CTL, 0);
	check(!bad && nmis == listed - 1, "ibs: %s, %d samples (%d wrong, %d NMIs)", name,
	      listed - 1, bad, nmis);
}

void test_ibs_op(void)
{
	static const char *const names[] = {
		"no memory, no branch", "loop", "conditional branches", "calls and jumps",
		"stack", "read-modify-write",
	};
	struct cpu *cpu = this_cpu();

	apic_write(APIC_EILVT(0), LVT_NMI);
	for (u64 i = 0; i < sizeof(names) / sizeof(*names); i++)
		exact_op(cpu, names[i], OP_CNT_CTL, 1);
	exact_op(cpu, "no memory, no branch", 0, CPI);
	apic_write(APIC_EILVT(0), LVT_MASKED);
	sample(cpu, cases_start, 100, OP_CNT_CTL);
	check(!cpu->pmis && rdmsr(MSR_OP_CTL) & OP_VAL, "ibs: no interrupt if it is masked");
	wrmsr(MSR_OP_CTL, 0);
}

/* What is known of an access and a branch of "loop": ld, st, dec, jnz */
void test_ibs_data(void)
{
	const struct ucase *c = find_case("loop");
	struct cpu *cpu = this_cpu();
	u64 first, data = (u64)cpu->data, d3, d;

	apic_write(APIC_EILVT(0), LVT_NMI);
	first = first_op(cpu, c, OP_CNT_CTL);
	sample(cpu, c, first + 1, OP_CNT_CTL);
	d3 = rdmsr(MSR_OP_DATA3);
	check((d3 & 3) == 1 && d3 >> 17 & d3 >> 18 & 1 && (d3 >> 22 & 15) == 4 &&
	      rdmsr(MSR_DC_LIN) == data && rdmsr(MSR_DC_PHYS) == data,
	      "ibs: a load of 8 bytes (%x, %x)", d3, rdmsr(MSR_DC_LIN));
	check(!(rdmsr(MSR_OP_DATA) >> 37 & 1) && !rdmsr(MSR_BR_TARGET), "ibs: it is no branch");
	sample(cpu, c, first + 2, OP_CNT_CTL);
	d3 = rdmsr(MSR_OP_DATA3);
	check((d3 & 3) == 2 && rdmsr(MSR_DC_LIN) == data + 8 && !(d3 >> 7 & 1),
	      "ibs: a store of 8 bytes that hits (%x)", d3);
	sample(cpu, c, first + 3, OP_CNT_CTL);
	check(!rdmsr(MSR_OP_DATA3) && !rdmsr(MSR_DC_LIN), "ibs: no access");
	sample(cpu, c, first + 4 + 4 * 90, OP_CNT_CTL);
	d = rdmsr(MSR_OP_DATA);
	check((d >> 34 & 15) == 10 && rdmsr(MSR_BR_TARGET) == c->entry + 5,
	      "ibs: a branch that is taken and predicted (%x)", d);
	sample(cpu, c, first + 4 * 100, OP_CNT_CTL);
	d = rdmsr(MSR_OP_DATA);
	check((d >> 34 & 15) == 12, "ibs: one that is not taken, not predicted (%x)", d);
	sample(cpu, c, first + 4 * 100 + 1, OP_CNT_CTL);
	check((rdmsr(MSR_OP_DATA) >> 34 & 15) == 10, "ibs: INT is a branch");
	wrmsr(MSR_OP_CTL, 0);
	apic_write(APIC_EILVT(0), LVT_MASKED);
}

/* Only ops whose data is in no cache; only slow loads */
void test_ibs_filter(void)
{
	const struct ucase *c = find_case("64 KiB");
	struct cpu *cpu = this_cpu();
	u64 d3;

	if (!param("zen4", 0)) {
		result_skip("ibs: filters", "Zen 4 is the first that has them");
		return;
	}
	wrmsr(STAT_COLD, 0);
	wrmsr(MSR_OP_CTL, 0x10 | OP_CNT_CTL | OP_L3MISS | OP_EN);
	run_case(cpu, c, 0);
	d3 = rdmsr(MSR_OP_DATA3);
	check(rdmsr(MSR_OP_CTL) & OP_VAL && d3 >> 7 & d3 >> 20 & 1 &&
	      rdmsr(MSR_OP_DATA2) == 3, "ibs: an L3 miss is from memory (%x)", d3);
	if (param("ldlat", 0)) {
		wrmsr(MSR_OP_CTL, 0);
		wrmsr(STAT_COLD, 0);
		wrmsr(MSR_OP_CTL, 0x10 | OP_CNT_CTL | OP_EN | LDLAT_EN | 1ul << 59);
		run_case(cpu, c, 0);
		check(!(rdmsr(MSR_OP_CTL) & OP_VAL), "ibs: no load takes more than 256 cycles");
		wrmsr(MSR_OP_CTL, 0x10 | OP_CNT_CTL | OP_EN | LDLAT_EN);
		wrmsr(STAT_COLD, 0);
		run_case(cpu, c, 0);
		check(rdmsr(MSR_OP_CTL) & OP_VAL && (rdmsr(MSR_OP_DATA3) >> 32 & 0xffff) > 128,
		      "ibs: one takes more than 128");
	}
	wrmsr(MSR_OP_CTL, 0);
}

/* Both samplers at a time, the second of which starts @late instructions after the first */
static u64 fetch_bad(struct cpu *cpu, u64 late)
{
	const u64 all = FETCH_VAL | FETCH_COMP | FETCH_PHYS;
	u64 bad = 0;

	for (u64 n = 4; n < 64; n += 3) {
		wrmsr(MSR_FETCH_CTL, n | FETCH_EN);
		wrmsr(MSR_OP_CTL, n | OP_CNT_CTL | OP_EN | OP_CUR(late));
		run_case(cpu, cases_start + 1, 0);
		bad += (rdmsr(MSR_FETCH_CTL) & all) != all;
		bad += (rdmsr(MSR_FETCH_CTL) >> 16 & 0xffff) != n;
		bad += rdmsr(MSR_FETCH_LIN) != rdmsr(MSR_OP_RIP) ||
		       rdmsr(MSR_FETCH_PHYS) != rdmsr(MSR_FETCH_LIN);
	}
	return bad;
}

void test_ibs_fetch(void)
{
	struct cpu *cpu = this_cpu();
	u64 ctl, late = 0;

	while (late < 32 && fetch_bad(cpu, late))
		late++;
	check(late < 32, "ibs: a fetch is that of the op (%d instructions later)", late);
	wrmsr(MSR_FETCH_CTL, 0xffff | FETCH_EN);
	run_case(cpu, cases_start + 1, 0);
	wrmsr(MSR_FETCH_CTL, rdmsr(MSR_FETCH_CTL) & ~FETCH_EN);
	ctl = rdmsr(MSR_FETCH_CTL) >> 16 & 0xffff;
	check(ctl >= 402 / 16 && ctl < 20000 / 16, "ibs: its count is %d * 16", ctl);
	wrmsr(MSR_FETCH_CTL, 0);
	wrmsr(MSR_OP_CTL, 0);
}

/* ---- migration --------------------------------------------------------------- */

static u64 hash, samples;

static void drain(struct cpu *cpu, struct frame *f)
{
	if (!(rdmsr(MSR_OP_CTL) & OP_VAL))
		return;
	hash = hash * 31 + (rdmsr(MSR_OP_RIP) & 0xff);
	samples++;
	wrmsr(MSR_OP_CTL, 0x1000 | OP_CNT_CTL | OP_EN);
}

static void run_long(struct cpu *cpu, u64 n)
{
	struct frame f = {
		.rip = long_case->entry, .cs = SEL_UCODE, .ss = SEL_UDATA, .rflags = 0x3002,
		.rsp = (u64)cpu->user_stack + sizeof(cpu->user_stack) - 64, .rcx = n,
	};

	hash = samples = 0;
	cpu->on_pmi = drain;
	wrmsr(MSR_OP_CTL, 0x1000 | OP_CNT_CTL | OP_EN);
	enter_user(&f);
	wrmsr(MSR_OP_CTL, 0);
	cpu->on_pmi = 0;
}

/*
 * A sample every 64 Ki instructions, of which those of the handler from its WRMSR to the IRET are some:
 * twice the same
 */
void test_ibs_long(void)
{
	u64 n = (u64)param("millions", 20) * 1000000 / 4, want, nr;
	struct cpu *cpu = this_cpu();

	apic_write(APIC_EILVT(0), LVT_NMI);
	print("# running\n");
	run_long(cpu, n);
	want = hash;
	nr = samples;
	check(nr >= n * 4 / 0x10000 && nr <= n * 4 / (0x10000 - 64), "ibs: %d samples in a long run", nr);
	run_long(cpu, n);
	check(hash == want && samples == nr, "ibs: and again");
	apic_write(APIC_EILVT(0), LVT_MASKED);
}
