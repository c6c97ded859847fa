// SPDX-License-Identifier: GPL-2.0-only
/* Lines that another CPU has modified: counts, records of loads, locked instructions, migration. */
#include "pebs.h"

#define NR		8
#define EV_HITM		0x04d2
#define EV_L1_MISS	0x08d1
#define L3_HITM		7u

static struct { u64 word[8]; } lines[NR] __attribute__((aligned(64)));

enum { LOAD, STORE, ADD, XCHG };

/* Access each line once; inlined, so that each use has accesses of one kind only */
static inline __attribute__((always_inline)) void access_lines(int how)
{
	for (u64 i = 0; i < NR; i++) {
		u64 *p = &lines[i].word[i], v = i;

		if (how == LOAD)
			asm volatile("movq (%1), %0" : "=r"(v) : "r"(p) : "memory");
		else if (how == STORE)
			asm volatile("movq %0, (%1)" :: "r"(v), "r"(p) : "memory");
		else if (how == ADD)
			asm volatile("lock; addq %0, (%1)" :: "r"(v), "r"(p) : "memory");
		else
			asm volatile("xchgq %0, (%1)" : "+r"(v) : "r"(p) : "memory");
	}
}

/* Counts of the CPU: loads of lines that another one has modified, loads that miss L1 */
static struct { u64 hitm, miss; } __attribute__((aligned(64))) seen[2];

#define COUNTED(name, how)						\
static void name(struct cpu *cpu)					\
{									\
	gp_start(0, EV_HITM | SEL_OS, 0);				\
	gp_start(1, EV_L1_MISS | SEL_OS, 0);				\
	access_lines(how);						\
	seen[cpu->nr].hitm = ctr_read(0);				\
	seen[cpu->nr].miss = ctr_read(1);				\
	pmu_stop();							\
}
COUNTED(load, LOAD)
COUNTED(store, STORE)
COUNTED(add, ADD)
COUNTED(xchg, XCHG)

static void other(void (*job)(struct cpu *cpu))
{
	run_on(1, job);
	wait_cpu(1);
}

static void loads(const char *what, u64 hitm)
{
	load(this_cpu());
	check(seen[0].hitm == hitm && seen[0].miss == hitm,
	      "owned: %s: %d loads of modified lines, %d that miss L1", what, seen[0].hitm,
	      seen[0].miss);
}

static void unseen(struct cpu *cpu)
{
	access_lines(STORE);
}

static void counts(void)
{
	struct cpu *cpu = this_cpu();

	/* Let all that is accessed beside the lines get into L1 */
	wrmsr(STAT_COLD, 0);
	for (int i = 0; i < 2; i++) {
		other(store);
		load(cpu);
	}
	loads("read before", 0);
	other(store);
	loads("after stores", NR);
	loads("read again", 0);
	other(load);
	check(!seen[1].hitm, "owned: the other CPU reads its own lines, %d", seen[1].hitm);
	loads("after loads", 0);
	other(add);
	loads("after locked additions", NR);
	other(xchg);
	loads("after exchanges", NR);
	/* The newest writer owns a line */
	other(store);
	store(cpu);
	loads("after stores of both", 0);
	other(load);
	check(seen[1].hitm == NR, "owned: the other CPU, %d", seen[1].hitm);
	/* As all of the model of caches: only while something counts */
	other(unseen);
	loads("stores while nothing counts", 0);
	other(store);
	wrmsr(STAT_COLD, 0);
	load(cpu);
	check(!seen[0].hitm, "owned: after the caches are cleared, %d", seen[0].hitm);
}

/* Records of every second load, with the cycles that such a load takes */
static void records(u32 event, u64 cycles)
{
	struct cpu *cpu = this_cpu();
	u64 split = param("split", 0) ? cycles << 32 : 0, bad = 0, nr;
	struct sample s;

	other(store);
	pebs_setup(cpu, CFG_MEM | CFG_GPR);
	if (pebs_fmt() < 4 && cycles)
		wrmsr(MSR_PEBS_ENABLE, 1ul << 32);
	wrmsr(MSR_PEBS_LD_LAT, 79);
	pebs_start(0, event | SEL_OS, 1, 1);
	access_lines(LOAD);
	pebs_stop();
	wrmsr(MSR_PEBS_LD_LAT, 0);
	nr = pebs_records(cpu);
	for (u32 i = 0; i < nr; i++)
		bad += !pebs_get(cpu, i, &s) || s.addr != (u64)&lines[2 * i + 1].word[2 * i + 1] ||
		       s.source != L3_HITM || s.latency != (cycles | split);
	check(nr == NR / 2 && !bad, "owned: event %x, %d records, %d bad", (u64)event, nr, bad);
}

void test_owned(void)
{
	start_cpus(2);
	counts();
	if (!pebs_fmt())
		return;
	for (int i = 0; i < 2; i++) {
		records(EV_HITM, 0);
		records(EV_LATENCY, 80);
	}
}

static void spin(u64 n)
{
	for (u64 i = 0; i < n; i++)
		asm volatile("nop");
}

/* Lines are modified before the state is saved, and read afterwards */
void test_owned_long(void)
{
	u64 n = (u64)param("millions", 20) * 1000000 / 4;

	start_cpus(2);
	wrmsr(STAT_COLD, 0);
	for (int i = 0; i < 2; i++) {
		other(store);
		load(this_cpu());
	}
	other(store);
	store(this_cpu());
	other(store);
	print("# running\n");
	spin(n);
	loads("before the state was saved", NR);
}

/* The state is saved when no line is modified, and loaded when they are: this part runs twice */
void test_owned_back(void)
{
	u64 n = (u64)param("millions", 400) * 1000000 / 4;

	start_cpus(2);
	load(this_cpu());
	print("# running\n");
	spin(n);
	loads("no line is modified", 0);
	other(store);
	print("# modified\n");
	spin(4 * n);
	loads("after stores", NR);
}
