/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GUEST_H
#define GUEST_H

#include "layout.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long s64;

/* The layout that "common" in boot.S pushes */
struct frame {
	u64 r15, r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
	u64 vector, error, rip, cs, rflags, rsp, ss;
};

#define MAX_STEPS 512

struct cpu {
	struct cpu *self;		/* gs:0 */
	u64 user_return;		/* gs:8, enter_user()'s stack */
	void *tss;			/* gs:16 */
	int nr;
	volatile int seen;		/* the CPU runs */
	void (*volatile job)(struct cpu *cpu);

	/* State of a run of a case */
	struct frame end;		/* registers at its end */
	volatile u64 pmis;		/* NMIs and VEC_PMI */
	u64 pmi_ip, pmi_cs, pmi_status;
	void (*on_pmi)(struct cpu *cpu, struct frame *f);
	void (*on_step)(struct cpu *cpu, struct frame *f);
	u64 steps, ticks;
	u64 step_ip[MAX_STEPS];
	u64 skipped_to;			/* by the handler of a fault */
	u32 rearm;			/* new LVTPC after a PMI; 0: unchanged */
	int bp_hits;
	int failed;
	u8 user_stack[8192] __attribute__((aligned(16)));
	u8 data[8192] __attribute__((aligned(4096)));
};

extern struct cpu cpus[MAX_CPUS];

static inline struct cpu *this_cpu(void)
{
	struct cpu *c;

	asm volatile("mov %%gs:0, %0" : "=r"(c));
	return c;
}

static inline void outb(u16 port, u8 v) { asm volatile("outb %0, %1" :: "a"(v), "Nd"(port)); }
static inline void outw(u16 port, u16 v) { asm volatile("outw %0, %1" :: "a"(v), "Nd"(port)); }
static inline u8 inb(u16 port) { u8 v; asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port)); return v; }

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;

	asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr) : "memory");
	return lo | (u64)hi << 32;
}

static inline void wrmsr(u32 msr, u64 v)
{
	asm volatile("wrmsr" :: "c"(msr), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
}

static inline void cpuid(u32 leaf, u32 *r)
{
	asm volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
		     : "a"(leaf), "c"(0));
}

static inline u64 read_cr4(void) { u64 v; asm volatile("mov %%cr4, %0" : "=r"(v)); return v; }
static inline void write_cr4(u64 v) { asm volatile("mov %0, %%cr4" :: "r"(v) : "memory"); }

/* MSRs and their bits, from the SDM; for those with two numbers the second is AMD's */
#define MSR_PMC(n)		(pmu.amd ? amd_ctr(n) : 0xc1u + (n))
#define MSR_PERFEVTSEL(n)	(pmu.amd ? amd_ctl(n) : 0x186u + (n))
#define MSR_OFFCORE_RSP(n)	(0x1a6 + (n))
#define MSR_DEBUGCTL		0x1d9
#define MSR_FIXED(n)		(0x309u + (n))
#define MSR_PERF_CAPS		0x345
#define MSR_PERF_METRICS	0x329
#define MSR_FIXED_CTRL		0x38d
#define MSR_GLOBAL_STATUS	(pmu.amd ? MSR_AMD_STATUS : 0x38eu)
#define MSR_GLOBAL_CTRL		(pmu.amd ? MSR_AMD_CTL : 0x38fu)
#define MSR_GLOBAL_OVF		(pmu.amd ? MSR_AMD_CLEAR : 0x390u)
#define MSR_GLOBAL_SET		(pmu.amd ? MSR_AMD_SET : 0x391u)
#define MSR_GLOBAL_INUSE	0x392
#define MSR_FULL(n)		(0x4c1 + (n))

/* AMD */
#define MSR_K7_CTL(n)		(0xc0010000 + (n))
#define MSR_K7_CTR(n)		(0xc0010004 + (n))
#define MSR_CORE_CTL(n)		(0xc0010200 + 2 * (n))
#define MSR_CORE_CTR(n)		(0xc0010201 + 2 * (n))
#define MSR_AMD_STATUS		0xc0000300
#define MSR_AMD_CTL		0xc0000301
#define MSR_AMD_CLEAR		0xc0000302
#define MSR_AMD_SET		0xc0000303
#define MSR_AMD_IRPERF		0xc00000e9
#define MSR_HWCR		0xc0010015
#define MSR_EFER		0xc0000080
#define MSR_VM_HSAVE		0xc0010117

/* Last branch records: legacy, then architectural */
#define MSR_LBR_SELECT		0x1c8
#define MSR_LBR_TOS		0x1c9
#define MSR_LER_FROM		0x1dd
#define MSR_LER_TO		0x1de
#define MSR_LER_INFO		0x1e0
#define MSR_LBR_FROM(n)		(0x680 + (n))
#define MSR_LBR_TO(n)		(0x6c0 + (n))
#define MSR_LBR_INFO(n)		(0xdc0 + (n))
#define MSR_LBR_CTL		0x14ce
#define MSR_LBR_DEPTH		0x14cf
#define MSR_ARCH_FROM(n)	(0x1500 + (n))
#define MSR_ARCH_TO(n)		(0x1600 + (n))
#define MSR_ARCH_INFO(n)	(0x1200 + (n))

/* AMD's LbrExtV2 */
#define MSR_AMD_LBR_SELECT	0xc000010e
#define MSR_AMD_EXTN_CFG	0xc000010f
#define MSR_AMD_FROM(n)		(0xc0010300 + 2 * (n))
#define MSR_AMD_TO(n)		(0xc0010301 + 2 * (n))

#define SEL_USR			(1u << 16)
#define SEL_OS			(1u << 17)
#define SEL_EDGE		(1u << 18)
#define SEL_INT			(1u << 20)
#define SEL_ANY			(1u << 21)
#define SEL_EN			(1u << 22)
#define SEL_INV			(1u << 23)
#define SEL_CMASK(n)		((u32)(n) << 24)

#define EV_INSN			0x00c0
#define EV_BR			0x00c4
#define EV_LD			0x81d0
#define EV_ST			0x82d0
#define EV_CYC			0x003c
#define EV_REF			0x013c

/* Statistics of the model */
#define STAT_USER		0x51504d00
#define STAT_KERNEL		0x51504d01
#define STAT_WRMSR		0x51504d02
#define STAT_RDMSR		0x51504d03
#define STAT_RDPMC		0x51504d04
#define STAT_PMI		0x51504d05
#define STAT_SLOW		0x51504d06
#define STAT_PMI_LOST		0x51504d09
#define STAT_FAULTS		0x51504d0a
#define STAT_COLD		0x51504d0f
#define STAT_WR(m)		(0x51500000 + (m))
#define STAT_RD(m)		(0x51510000 + (m))

#define CPI	2		/* x-pmu-cpi, the default */
#define REF(insn)	((u64)(insn) * 5 / 2)	/* x-pmu-ref, x-pmu-ref-div */

/* Properties of the PMU, from CPUID */
struct pmu {
	u32 version, gp, width, events, unavail, fixed, fixed_width, any_deprecated;
	u64 mask;		/* valid bits of a counter */
	int amd, core, zen;	/* AMD's, has PerfCtrExtCore, is of family 17h or later */
};
extern struct pmu pmu;

static inline u32 amd_ctl(u32 n) { return pmu.core ? MSR_CORE_CTL(n) : MSR_K7_CTL(n); }
static inline u32 amd_ctr(u32 n) { return pmu.core ? MSR_CORE_CTR(n) : MSR_K7_CTR(n); }

/* lib.c */
void print(const char *fmt, ...);	/* %s, %d and %x (64 bits) */
void check(int ok, const char *fmt, ...);
void result_skip(const char *name, const char *why);
int param(const char *name, int def);
const char *tests_wanted(void);
void *memset(void *p, int c, u64 n);
void *memcpy(void *d, const void *s, u64 n);
int streq(const char *a, const char *b);

/* cpu.c */
u32 apic_read(u32 reg);
void apic_write(u32 reg, u32 v);
void x2apic_on(void);
void start_cpus(int n);
void init_cpu(int n);
void run_on(int n, void (*job)(struct cpu *cpu));
void wait_cpu(int n);
int probe_msr(u32 msr, u64 *val, int write);
int probe_rdpmc(u32 index, u64 *val);
void enter_user(struct frame *f);
void leave_user(void) __attribute__((noreturn));

#define APIC_EOI	0xb0
#define APIC_SVR	0xf0
#define APIC_ICR	0x300
#define APIC_ICR2	0x310
#define APIC_LVTT	0x320
#define APIC_LVTPC	0x340
#define APIC_LVT0	0x350
#define APIC_TMICT	0x380
#define APIC_TDCR	0x3e0
#define LVT_SMI		0x200
#define LVT_NMI		0x400
#define LVT_MASKED	0x10000

/* A case: user code with known counts, see cases.S */
struct ucase {
	const char *name;
	u64 entry;
	u32 insn, br, ld, st;
	u32 flags;
	u32 pad;
};
#define CASE_FRESH	1	/* DEMAND pages are absent, mapped by #PF */
#define CASE_COW	2	/* ... are read-only, made writable by #PF */
#define CASE_NOSTEP	4	/* a step is not an instruction (REP, traps) */
#define CASE_CODE32	8	/* contains 32-bit code */
#define CASE_WATCH	16	/* with a watchpoint at data + 8 */
#define CASE_BREAK	32	/* with a breakpoint at case_breakpoint */
#define CASE_PORT	64	/* with a breakpoint on port 80H */

extern struct ucase cases_start[], cases_end[];

/* More user code, model.S */
extern const struct ucase long_case[], shadow_cases[];
/* The case of this name of cases.S or model.S; without one, the guest ends */
const struct ucase *find_case(const char *name);

/* test_msr.c */
struct reg {
	const char *name;
	u32 msr;
	int there;		/* RDMSR does not raise #GP */
	int writable;
	u64 valid;		/* bits that may be written */
	u64 reads_as;		/* ... and are read back */
};
void check_reg(const struct reg *r);
void check_reset_state(const char *what);

/* test_amd.c: AMD's event select for Intel's, 0: there is none */
u64 amd_event(u32 event);
int amd_detect(void);
u64 amd_bad_reset_state(void);

/* test_lbr_msr.c */
u64 lbr_reset_state(void);
void lbr_fill(struct cpu *cpu);

/* user.c */
void run_case(struct cpu *cpu, const struct ucase *c, u64 rflags);
void pmu_stop(void);
u64 ctr_read(int n);
void ctr_write(int n, u64 v);
void gp_start(int n, u32 sel, u64 v);
u64 pmu_all(void);

#endif
