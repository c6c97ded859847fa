// SPDX-License-Identifier: GPL-2.0-only
/* Branch stacks: what an entry says, and which branches each filter selects. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "branch.h"
#include "task.h"

/* Later than the headers of Debian 12 */
#define BRANCH_COUNTERS	(1ULL << 19)

TEST(any)
{
	struct perf_event_attr a;
	struct stack s;

	ROWS("S-15 S-17 A-71 A-75");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	s = sampled(&a, branches_counted);
	ASSERT_EQ(s.samples, 1 + !exact());
	EXPECT_TRUE(s.ip > (uintptr_t)sled_before && s.ip < (uintptr_t)sled_after);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
}

/* Each filter, and what it selects of the list */
static const struct {
	uint64_t bit;
	unsigned int types;
} filters[] = {
	{ PERF_SAMPLE_BRANCH_ANY, ALL_TYPES },
	{ PERF_SAMPLE_BRANCH_ANY_CALL, 1 << CALL | 1 << IND_CALL },
	{ PERF_SAMPLE_BRANCH_ANY_RETURN, 1 << RET },
	{ PERF_SAMPLE_BRANCH_IND_CALL, 1 << IND_CALL },
	{ PERF_SAMPLE_BRANCH_COND, 1 << COND },
	{ PERF_SAMPLE_BRANCH_IND_JUMP, 1 << IND_JUMP },
	{ PERF_SAMPLE_BRANCH_CALL, 1 << CALL },
	{ PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_ANY_RETURN, 1 << COND | 1 << RET },
	{ PERF_SAMPLE_BRANCH_CALL | PERF_SAMPLE_BRANCH_IND_JUMP, 1 << CALL | 1 << IND_JUMP },
};

TEST(filters)
{
	struct perf_event_attr a;
	struct stack s;
	int i;

	ROWS("S-19 A-75 A-76 U-18");
	NEED_BRANCHES();
	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		a = branch_attr(IN_SLED, filters[i].bit | PERF_SAMPLE_BRANCH_TYPE_SAVE);
		s = sampled(&a, branches_counted);
		printf("# filter %#llx\n", (unsigned long long)filters[i].bit);
		EXPECT_TRUE(is_listed(&s, filters[i].types, true));
		/* Nothing of another type, also not from before the list */
		while (s.nr--)
			EXPECT_TRUE(filters[i].types & 1u << TYPE(&s.b[s.nr]) ||
				    s.b[s.nr].from >= USER_END);
	}
}

/* The return from a system call begins in the kernel, which the event does not ask for */
TEST(returns_to_user_mode)
{
	struct perf_event_attr a;
	struct stack s;
	uint64_t i;

	ROWS("A-71 A-73");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	s = sampled(&a, branches_counted);
	EXPECT_GE(s.nr, LISTED);
	for (i = 0; i < s.nr; i++)
		EXPECT_LT(s.b[i].from, USER_END);
}

/* Filters that select nothing here */
TEST(transactions)
{
	struct perf_event_attr a;
	struct stack s;

	ROWS("S-19 A-75");
	NEED_BRANCHES();
	NOT_ON_AMD();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ABORT_TX);
	s = sampled(&a, branches_counted);
	EXPECT_EQ(s.nr, 0);
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_IN_TX);
	s = sampled(&a, branches_counted);
	EXPECT_EQ(s.nr, 0);
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_TX);
	s = sampled(&a, branches_counted);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
}

TEST(flags)
{
	struct perf_event_attr a;
	struct stack s;
	int i, cycles = 0;

	ROWS("S-16 U-18");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	s = sampled(&a, branches_counted);
	for (i = 0; i < LISTED; i++) {
		EXPECT_EQ(MISPREDICTED(&s.b[i]) + PREDICTED(&s.b[i]), 1);
		/* Neither in a transaction, nor an abort, nor a privilege */
		EXPECT_EQ(s.b[i].flags & ~0xffff3ULL & ~(63ULL << 20), 0);
		/* Intel does not know about speculation, AMD counts no cycles */
		EXPECT_EQ(SPECULATION(&s.b[i]), is_amd() ? ON_PATH : 0);
		cycles += CYCLES(&s.b[i]);
	}
	if (is_amd())
		EXPECT_EQ(cycles, 0);
	else if (exact())
		EXPECT_GT(cycles, 0);
}

/* Neither flags nor cycles: the hardware need not read them */
TEST(no_flags)
{
	struct perf_event_attr a;
	struct stack s;
	int i;

	ROWS("S-18 U-17");
	NEED_BRANCHES();
	NOT_ON_AMD();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_FLAGS |
			PERF_SAMPLE_BRANCH_NO_CYCLES);
	s = sampled(&a, branches_counted);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	/* Architectural records have the information in any case */
	for (i = 0; i < s.nr && cpu_model() == CPU_SKYLAKE; i++)
		EXPECT_EQ(s.b[i].flags, 0);
}

/* More branches than the hardware records: the newest ones */
/* The return of an interrupt takes an entry, which does not belong to user mode: try again */
static struct stack sampled_full(const struct perf_event_attr *a)
{
	struct stack s;
	int i = 0;

	do {
		s = sampled(a, jumps_counted);
	} while (s.nr < DEPTH && ++i < TRIES);
	return s;
}

TEST(wraps)
{
	struct perf_event_attr a;
	struct stack s;
	int i;

	ROWS("S-15 S-17");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	s = sampled_full(&a);
	ASSERT_EQ(s.nr, DEPTH);
	for (i = 0; i < DEPTH; i++) {
		EXPECT_EQ(s.b[i].to, s.b[i].from + 2);
		if (i)
			EXPECT_EQ(s.b[i].to, s.b[i - 1].from);
	}
}

TEST(hardware_index)
{
	struct perf_event_attr a;
	struct stack s;

	ROWS("U-19");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX);
	s = sampled_full(&a);
	EXPECT_EQ(s.nr, DEPTH);
	/* Entry 0 is always the newest of AMD's */
	EXPECT_LT(s.index, is_amd() ? 1 : DEPTH);
	EXPECT_EQ(s.b[0].to, s.b[0].from + 2);
}

/* sample_max_stack limits branch stacks, too */
TEST(limited)
{
	struct perf_event_attr a;
	struct stack s;

	ROWS("S-15");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	a.sample_max_stack = 5;
	s = sampled(&a, jumps_counted);
	EXPECT_EQ(s.nr, 5);
	EXPECT_EQ(s.b[4].to, s.b[3].from);
}

/* The branch stack among all other fields: record_sample() finds each in its place */
TEST(with_all_fields)
{
	static struct record rec;
	struct perf_event_attr a;
	struct parts p = { 0 }, last;
	struct ring r;
	int fd;

	ROWS("S-15 S-17");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX);
	a.sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			 PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
			 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
			 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
			 PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
			 PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |
			 PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP;
	a.sample_regs_user = a.sample_regs_intr = 0xff;
	a.sample_stack_user = 64;
	a.read_format = FORMAT_TIMES | PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	counted_undisturbed(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		last = record_sample(&r, &rec);
		/* After a disturbed try, periods end elsewhere, too */
		if (last.ip > (uintptr_t)sled_before && last.ip < (uintptr_t)sled_after)
			p = last;
	}
	ASSERT_EQ(p.period, IN_SLED);
	EXPECT_EQ(p.stack_size, 64);
	ASSERT_GE(p.nr_branches, LISTED);
	EXPECT_EQ(((const struct branch *)p.branches)[0].from, listed[LISTED - 1].from);
	EXPECT_EQ(((const struct branch *)p.branches)[0].to, (uintptr_t)sled_before);
	EXPECT_GT(p.user_abi, 0);
}

/* In a group each event has a stack or not, as its own attr says */
TEST(group)
{
	struct perf_event_attr a, b;
	struct stack s;
	struct ring ra, rb;
	static struct record rec;
	int lead, fd;

	ROWS("S-15");
	NEED_BRANCHES();
	a = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY);
	b = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	b.disabled = 0;
	lead = ev_must(&a, 0, -1, -1, 0);
	fd = ev_must(&b, 0, -1, lead, 0);
	ring_map(&rb, fd, &b, 16);
	counted_undisturbed(lead);
	s = last_stack(&rb);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	close(fd);
	close(lead);
	/* A leader without */
	a = branch_attr(IN_SLED, 0);
	a.sample_type = PERF_SAMPLE_IP;
	a.branch_sample_type = 0;
	lead = ev_must(&a, 0, -1, -1, 0);
	fd = ev_must(&b, 0, -1, lead, 0);
	ring_map(&ra, lead, &a, 16);
	ring_map(&rb, fd, &b, 16);
	counted_undisturbed(lead);
	s = last_stack(&rb);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	ASSERT_TRUE(ring_find(&ra, &rec, PERF_RECORD_SAMPLE));
	EXPECT_EQ(rec.head.size, 16);
}

/* The levels of branches need not be those of the event; without any, they are */
TEST(levels)
{
	struct perf_event_attr a;
	struct stack s;
	uint64_t i, kernel;

	ROWS("A-71 A-72 A-73");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	s = sampled(&a, branches_counted);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	for (i = 0; i < s.nr; i++)
		EXPECT_LT(s.b[i].to, USER_END);
	/* An event of user mode, branches of both: those of the enabling call come first */
	a.branch_sample_type |= PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL;
	s = sampled(&a, branches_counted);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	EXPECT_EQ(s.nr, DEPTH);
	EXPECT_EQ(s.b[LISTED].to, (uintptr_t)listed[0].from);
	EXPECT_GE(s.b[LISTED].from, USER_END);
	/* Branches of the kernel only */
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL;
	s = sampled(&a, branches_counted);
	for (i = kernel = 0; i < s.nr; i++)
		kernel += s.b[i].to >= USER_END;
	EXPECT_GT(s.nr, 0);
	EXPECT_EQ(kernel, s.nr);
}

static char *fault_page;
extern const char fault_here[];

/* Enable for one sample, and fault */
static void with_a_fault(int fd)
{
	madvise(fault_page, 4096, MADV_DONTNEED);
	ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
	__asm__ volatile("fault_here: movb $1, (%0)" : : "r" (fault_page) : "memory");
	ev_disable(fd);
}

static bool saw_the_fault(const struct stack *s)
{
	uint64_t i;

	for (i = 0; i < s->nr; i++)
		if (s->b[i].from == (uintptr_t)fault_here)
			return s->b[i].to >= USER_END && TYPE(&s->b[i]) == IRQ;
	return false;
}

/* The record of a page fault begins at an instruction that is no branch */
TEST(page_fault)
{
	struct perf_event_attr a;
	struct stack s;
	bool seen = false;

	ROWS("S-18 U-18");
	NEED_BRANCHES();
	fault_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(fault_page, MAP_FAILED);
	a = branch_attr(0, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_KERNEL |
			PERF_SAMPLE_BRANCH_TYPE_SAVE);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	/* One of these periods ends in the handler of the fault */
	for (a.sample_period = 100; !seen && a.sample_period < 20000 * slow();
	     a.sample_period += 50) {
		s = sampled(&a, with_a_fault);
		seen = saw_the_fault(&s);
	}
	EXPECT_TRUE(seen);
}

/* Errors, in the order of upstream's checks */
TEST(refused)
{
	struct perf_event_attr a;

	ROWS("A-77 A-74 E-34");
	NEED_BRANCHES();
	NOT_ON_AMD();
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_COND);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	/* Also of an event that counts */
	a = branch_attr(0, PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_COND);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_TYPE_SAVE);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_ANY | BRANCH_COUNTERS);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = branch_attr(1000, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	/* Software events record no branches, whatever the CPU can */
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_ANY);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_TASK_CLOCK;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
}

/* What AMD's records cannot do, alone and with what they can */
TEST(refused_on_amd)
{
	static const uint64_t missing[] = {
		PERF_SAMPLE_BRANCH_CALL_STACK, PERF_SAMPLE_BRANCH_ABORT_TX,
		PERF_SAMPLE_BRANCH_IN_TX, PERF_SAMPLE_BRANCH_NO_TX,
		PERF_SAMPLE_BRANCH_NO_FLAGS, PERF_SAMPLE_BRANCH_NO_CYCLES,
	};
	struct perf_event_attr a;
	int i;

	ROWS("A-77 A-75 E-34 U-17 U-48");
	NEED_BRANCHES();
	if (!is_amd())
		SKIP(return, "only AMD refuses these");
	for (i = 0; i < ARRAY_SIZE(missing); i++) {
		a = branch_attr(1000, missing[i]);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
		a = branch_attr(1000, missing[i] | PERF_SAMPLE_BRANCH_ANY);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
	}
	/* These ask nothing of the hardware */
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE |
			PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_PRIV_SAVE);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

/* An event that counts may have a stack, as far as errors are concerned */
TEST(of_an_event_that_counts)
{
	struct perf_event_attr a;

	ROWS("S-15");
	NEED_BRANCHES();
	a = branch_attr(0, PERF_SAMPLE_BRANCH_ANY);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
}

TEST(no_counters_on_amd)
{
	struct perf_event_attr a;

	ROWS("U-17 U-48");
	NEED_BRANCHES();
	if (!is_amd())
		SKIP(return, "see refused");
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_ANY | BRANCH_COUNTERS);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

/* Branches of the kernel need the same permission as its instructions */
TEST(unprivileged)
{
	struct perf_event_attr a;

	ROWS("A-72");
	NEED_BRANCHES();
	set_paranoid(2);
	drop_privilege();
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_ANY);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	a.branch_sample_type |= PERF_SAMPLE_BRANCH_KERNEL;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EACCES);
	a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), a.exclude_hv ? 0 : EACCES);
}

static int native_open(struct perf_event_attr *a)
{
	int fd = syscall(SYS_perf_event_open, a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0) {
		printf("# native event: %s\n", strerror(errno));
		exit(KSFT_FAIL);
	}
	return fd;
}

/* Entry by entry as native perf's, with flags and cycles: all of the list, and what is older */
TEST(as_native)
{
	struct perf_event_attr a;
	struct stack ours, native;
	int i;

	ROWS("S-15 S-16 S-17 S-19");
	NEED_BRANCHES();
	for (i = 0; i < ARRAY_SIZE(filters); i++) {
		a = branch_attr(IN_SLED, filters[i].bit | PERF_SAMPLE_BRANCH_TYPE_SAVE);
		native = run(&a, branches_counted, native_open(&a));
		ours = sampled(&a, branches_counted);
		EXPECT_EQ(ours.ip, native.ip);
		EXPECT_GE(native.nr, 1);
		/* Those of the list: older kernels have records of the return to user mode */
		EXPECT_TRUE(is_listed(&native, filters[i].types, true));
		EXPECT_TRUE(is_listed(&ours, filters[i].types, true));
	}
	/* 32 jumps: nothing older is left */
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	/* An interrupt meanwhile takes an entry: its return to user mode is filtered out */
	for (i = 0, native.nr = 0; i < 5 && native.nr != DEPTH; i++)
		native = run(&a, jumps_counted, native_open(&a));
	for (i = 0, ours.nr = 0; i < 5 && ours.nr != DEPTH; i++)
		ours = sampled(&a, jumps_counted);
	ASSERT_EQ(native.nr, DEPTH);
	ASSERT_EQ(ours.nr, DEPTH);
	for (i = 0; i < DEPTH; i++) {
		EXPECT_EQ(ours.b[i].from, native.b[i].from);
		EXPECT_EQ(ours.b[i].to, native.b[i].to);
		/* Cycles are exact under -icount only; predictions have a history */
		if (exact_time())
			EXPECT_EQ(CYCLES(&ours.b[i]), CYCLES(&native.b[i]));
	}
}

TEST_HARNESS_MAIN
