// SPDX-License-Identifier: GPL-2.0-only
/*
 * Branch stacks.  The branches of branches_counted() follow from its listing, so their records
 * must have exactly these addresses, in this order.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "switches.h"
#include "task.h"

/* Later than the headers of Debian 12 */
#define BRANCH_COUNTERS	(1ULL << 19)

#define USER_END	(1ULL << 47)
#define DEPTH		32

/* PERF_BR_* of Linux 5.18 and earlier kernels */
enum { COND = 1, JUMP, IND_JUMP, CALL, IND_CALL, RET, SYSCALL, SYSRET, ERET = 11, IRQ };

struct branch {
	uint64_t from, to, flags;
};

#define MISPREDICTED(b)	((b)->flags & 1)
#define PREDICTED(b)	((b)->flags >> 1 & 1)
#define CYCLES(b)	((b)->flags >> 4 & 0xffff)
#define TYPE(b)		((b)->flags >> 20 & 15)

/* In the order of execution */
extern const struct listed {
	uint64_t from, to, type;
} listed[], listed_end[];

#define LISTED	((int)(listed_end - listed))

extern const char sled_before[], sled_after[];
void branches_counted(int fd);
void jumps_counted(int fd);
void calls_counted(int fd, long depth, int (*inside)(void));

/* A row of @listed: a branch at the label from, and where it goes */
__asm__(
	".macro is from, to, type\n"
	"	.pushsection .data.rel.local, \"aw\"\n"
	"	.quad \\from, \\to, \\type\n"
	"	.popsection\n"
	".endm\n"
	".pushsection .data.rel.local, \"aw\"\n"
	".balign 8\n"
	"listed:\n"
	".popsection\n"
	/* ioctl(edi, code), which keeps rdi */
	".macro control code\n"
	"	mov $\\code, %esi\n"
	"	xor %edx, %edx\n"
	"	mov $16, %eax\n"
	"	syscall\n"
	".endm\n"
	".text\n"
	"branches_counted:\n"
	"	push %rbx\n"
	"	control 0x2400\n"
	/* counted from here */
	"1:	jmp 2f\n"
	"	is 1b, 2f, 2\n"
	"2:	xor %eax, %eax\n"
	"3:	jz 4f\n"
	"	is 3b, 4f, 1\n"
	"4:	jnz 1b\n"			/* not taken: no record */
	"	lea 6f(%rip), %rax\n"
	"5:	jmp *%rax\n"
	"	is 5b, 6f, 3\n"
	"6:	call leaf\n"
	"	is 6b, leaf, 4\n"
	"	is leaf, 7f, 6\n"
	"7:	lea leaf(%rip), %rax\n"
	"8:	call *%rax\n"
	"	is 8b, leaf, 5\n"
	"	is leaf, 9f, 6\n"
	"9:	mov $3, %ebx\n"
	"10:	dec %ebx\n"
	"11:	jnz 10b\n"
	"	is 11b, 10b, 1\n"
	"	is 11b, 10b, 1\n"
	"	.byte 0xe8, 0, 0, 0, 0\n"	/* call of the next instruction */
	"12:	pop %rbx\n"
	"	is 12b-5, 12b, 4\n"
	"13:	jmp sled_before\n"
	"	is 13b, sled_before, 2\n"
	"sled_before:\n"
	"	.rept 200\n"
	"	nop\n"
	"	.endr\n"
	"sled_after:\n"
	"	control 0x2401\n"
	"	pop %rbx\n"
	"	ret\n"
	"leaf:	ret\n"
	".pushsection .data.rel.local, \"aw\"\n"
	"listed_end:\n"
	".popsection\n"
	/* 40 jumps in a row, then the sled's length of nops */
	"jumps_counted:\n"
	"	control 0x2400\n"
	"	.rept 40\n"
	"	jmp 1f\n"
	"1:\n"
	"	.endr\n"
	"	.rept 200\n"
	"	nop\n"
	"	.endr\n"
	"	control 0x2401\n"
	"	ret\n"
	/*
	 * calls_counted(fd, depth, inside): enable, nest @depth calls, call @inside in the
	 * innermost one and then execute nops there
	 */
	"calls_counted:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	mov %rsi, %rbx\n"
	"	mov %rdx, %rbp\n"
	"	mov %rdi, %r12\n"
	"	control 0x2400\n"
	"	call nest\n"
	"calls_returned:\n"
	"	mov %r12, %rdi\n"
	"	control 0x2401\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	"nest:\n"
	"	dec %rbx\n"
	"	jz 1f\n"
	"nested_call:\n"
	"	call nest\n"
	"	ret\n"
	"1:	push %rbx\n"
	"	call *%rbp\n"
	"	pop %rbx\n"
	"	.rept 4000\n"
	"	nop\n"
	"	.endr\n"
	"	ret\n");

extern const char nest_[] __asm__("nest"), nested_call[], calls_returned[];

#define CALL_LEN	5

struct stack {
	int samples;
	uint64_t ip;
	uint64_t nr, index;
	struct branch b[DEPTH];
};

static bool has_branches(void)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/cpu/caps/branches",
		 route_is_native() ? "event_source" : "kpmu");
	return read_long(path) == DEPTH;
}

#define NEED_BRANCHES() do {						\
	if (!has_branches())						\
		SKIP(return, "this CPU records no branches");		\
} while (0)

/* User instructions with a branch stack of user mode, filtered by @type */
static struct perf_event_attr branch_attr(uint64_t period, uint64_t type)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	no_throttle();
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = type | PERF_SAMPLE_BRANCH_USER;
	return a;
}

/* The last sample in the ring buffer */
static struct stack last_stack(struct ring *r)
{
	static struct record rec;
	struct stack s = { 0 };
	struct parts p = { 0 };

	while (ring_find(r, &rec, PERF_RECORD_SAMPLE)) {
		p = record_sample(r, &rec);
		s.samples++;
		s.ip = p.ip;
		s.nr = p.nr_branches;
		s.index = p.branch_index;
		if (s.nr > DEPTH) {
			printf("# %llu branches\n", (unsigned long long)s.nr);
			exit(KSFT_FAIL);
		}
		memcpy(s.b, p.branches, s.nr * sizeof(s.b[0]));
	}
	return s;
}

static void print_stack(const struct stack *s)
{
	uint64_t i;

	for (i = 0; i < s->nr; i++)
		printf("# %2d: %#llx to %#llx, flags %#llx\n", (int)i,
		       (unsigned long long)s->b[i].from, (unsigned long long)s->b[i].to,
		       (unsigned long long)s->b[i].flags);
}

/* Run @fn, which enables and disables its event */
static struct stack run(const struct perf_event_attr *a, void (*fn)(int fd), int fd)
{
	struct stack s;
	struct ring r;

	ring_map(&r, fd, a, 64);
	fn(fd);
	s = last_stack(&r);
	ring_unmap(&r);
	close(fd);
	return s;
}

/* A task switch clears the records: how often a piece of code is tried without one */
#define TRIES	20

static struct stack sampled(const struct perf_event_attr *a, void (*fn)(int fd))
{
	struct stack s;
	long before;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = switches();
		s = run(a, fn, ev_must(a, 0, -1, -1, 0));
		if (switches() == before)
			break;
	}
	return s;
}

/* branches_counted() until no task switch came between, as the last of all */
static void counted_undisturbed(int fd)
{
	long before;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = switches();
		branches_counted(fd);
		if (switches() == before)
			break;
	}
}

/* A period that ends in the nops behind the branches of branches_counted() */
#define IN_SLED	150

/*
 * The newest entries are those of @listed whose type is in the mask @types, and they do not end
 * before.  Returns from interrupts, which older kernels show, may be between them.
 */
static bool is_listed(const struct stack *s, unsigned int types, bool with_type)
{
	const struct listed *l;
	uint64_t i = 0;

	for (l = listed_end; l-- > listed;) {
		const struct branch *b = &s->b[i];

		if (!(types & 1u << l->type))
			continue;
		while (i < s->nr && s->b[i].from >= USER_END)
			b = &s->b[++i];
		if (i++ == s->nr) {
			printf("# only %d branches\n", (int)s->nr);
			return false;
		}
		if (b->from != l->from || b->to != l->to ||
		    (with_type && TYPE(b) != l->type)) {
			printf("# %d: expected %#llx to %#llx, type %d\n", (int)i - 1,
			       (unsigned long long)l->from, (unsigned long long)l->to,
			       (int)l->type);
			print_stack(s);
			return false;
		}
	}
	return true;
}

#define ALL_TYPES	(~0u)

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
		/* Neither in a transaction, nor an abort, nor speculative, nor a privilege */
		EXPECT_EQ(s.b[i].flags & ~0xffff3ULL & ~(15ULL << 20), 0);
		cycles += CYCLES(&s.b[i]);
	}
	if (exact())
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
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_FLAGS |
			PERF_SAMPLE_BRANCH_NO_CYCLES);
	s = sampled(&a, branches_counted);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	/* Architectural records have the information in any case */
	for (i = 0; i < s.nr && cpu_model() == CPU_SKYLAKE; i++)
		EXPECT_EQ(s.b[i].flags, 0);
}

/* More branches than the hardware records: the newest ones */
TEST(wraps)
{
	struct perf_event_attr a;
	struct stack s;
	int i;

	ROWS("S-15 S-17");
	NEED_BRANCHES();
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	s = sampled(&a, jumps_counted);
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
	s = sampled(&a, jumps_counted);
	EXPECT_EQ(s.nr, DEPTH);
	EXPECT_LT(s.index, DEPTH);
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
	struct parts p = { 0 };
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
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE))
		p = record_sample(&r, &rec);
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

static int nothing(void)
{
	return 0;
}

/* All of calls_counted(): a number of frames, the innermost first */
static bool is_nested(const struct stack *s, int frames)
{
	int i;

	if (s->nr < frames) {
		print_stack(s);
		return false;
	}
	for (i = 0; i < frames; i++) {
		const struct branch *b = &s->b[i];
		bool last = i == frames - 1;

		if (b->to != (uintptr_t)nest_ ||
		    (!last && b->from != (uintptr_t)nested_call)) {
			print_stack(s);
			return false;
		}
	}
	return true;
}

static struct stack nested_once(const struct perf_event_attr *a, long depth, int (*inside)(void))
{
	int fd = ev_must(a, 0, -1, -1, 0);
	struct stack s;
	struct ring r;

	ring_map(&r, fd, a, 64);
	calls_counted(fd, depth, inside);
	s = last_stack(&r);
	ring_unmap(&r);
	close(fd);
	return s;
}

static struct stack nested(const struct perf_event_attr *a, long depth, int (*inside)(void))
{
	struct stack s;
	long before;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = switches();
		s = nested_once(a, depth, inside);
		if (switches() == before)
			break;
	}
	return s;
}

/* @depth calls of nested, then the sample among the nops: what did not return is on the stack */
TEST(call_stack)
{
	struct perf_event_attr a;
	struct stack s;
	int i;

	ROWS("A-77 S-19");
	NEED_BRANCHES();
	a = branch_attr(3000, PERF_SAMPLE_BRANCH_CALL_STACK);
	s = nested(&a, 7, nothing);
	ASSERT_EQ(s.samples, 1 + !exact());
	EXPECT_TRUE(is_nested(&s, 7));
	EXPECT_EQ(s.b[6].from + CALL_LEN, (uintptr_t)calls_returned);
	/* More than fit: the innermost, but one entry was that of the call that has returned */
	s = nested(&a, 50, nothing);
	EXPECT_EQ(s.nr, DEPTH - 1);
	for (i = 0; i < DEPTH - 1; i++)
		EXPECT_EQ(s.b[i].from, (uintptr_t)nested_call);
}

static int go_to_sleep(void)
{
	usleep(20000);
	return 0;
}

/* The stack of a task outlasts a switch to other tasks */
TEST(call_stack_after_sleep)
{
	struct perf_event_attr a;
	struct stack s;

	ROWS("A-77");
	NEED_BRANCHES();
	a = branch_attr(3500, PERF_SAMPLE_BRANCH_CALL_STACK);
	s = nested_once(&a, 7, go_to_sleep);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_nested(&s, 7));
}

extern const char work_[] __asm__("work");

/* After a switch no branch of another task is left: here those of the loop in work() */
TEST(cleared_by_a_switch)
{
	struct perf_event_attr a;
	struct worker w;
	struct stack s;
	struct ring r;
	uint64_t j;
	int fd, i, here;

	ROWS("S-15");
	NEED_BRANCHES();
	pin_to(0);
	worker_start(&w);
	worker_pin(&w, 0);
	/* Of the CPU: it records the other task, too */
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	fd = ev_must(&a, -1, 0, -1, 0);
	ring_map(&r, fd, &a, 256);
	for (i = here = 0; i < 20; i++) {
		ev_enable(fd);
		worker_run(&w, 1000);
		branches_counted(fd);
		s = last_stack(&r);
		ring_consume(&r);
		if (!s.samples || s.ip < (uintptr_t)sled_before || s.ip > (uintptr_t)sled_after)
			continue;
		for (j = 0; j < s.nr; j++)
			EXPECT_GE(s.b[j].from - (uintptr_t)work_, 64);
		/* Fewer, if there was another switch in between */
		if (s.nr < LISTED)
			continue;
		here++;
		EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
	}
	EXPECT_GT(here, 0);
	worker_stop(&w);
}

/* Events on counters at the same time have one filter: pinned ones do not fit together */
TEST(two_filters)
{
	struct perf_event_attr a, b;
	uint64_t val;
	int fa, fb;

	ROWS("S-19");
	NEED_BRANCHES();
	a = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_COND);
	b = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY_CALL);
	a.pinned = b.pinned = 1;
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, -1, 0);
	ev_enable(fa);
	ev_enable(fb);
	work(100);
	EXPECT_EQ(read(fa, &val, 8), 8);
	EXPECT_EQ(read(fb, &val, 8), 0);	/* in error state */
	close(fb);
	/* The same filter is shared */
	fb = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fb);
	work(100);
	EXPECT_EQ(read(fb, &val, 8), 8);
	close(fb);
	/* An event without branches does not mind */
	b.sample_type = PERF_SAMPLE_IP;
	b.branch_sample_type = 0;
	fb = ev_must(&b, 0, -1, -1, 0);
	ev_enable(fb);
	work(100);
	EXPECT_EQ(read(fb, &val, 8), 8);
	/* Nor can a group contain both */
	a.pinned = 0;
	close(fa);
	close(fb);
	fa = ev_must(&a, 0, -1, -1, 0);
	b = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY_CALL);
	EXPECT_EQ(ev_errno(&b, 0, -1, fa, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, -1, fa, 0), 0);
}

/* Flexible events with different filters take turns */
TEST(filters_take_turns)
{
	struct perf_event_attr a, b;
	uint64_t until;
	int fa, fb;

	ROWS("S-19");
	NEED_BRANCHES();
	a = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_COND);
	b = branch_attr(1 << 30, PERF_SAMPLE_BRANCH_ANY_CALL);
	a.read_format = b.read_format = FORMAT_TIMES;
	fa = ev_must(&a, 0, -1, -1, 0);
	fb = ev_must(&b, 0, -1, -1, 0);
	ev_enable(fa);
	ev_enable(fb);
	for (until = patience(); now_ns() < until;) {
		work(10000);
		if (ev_times(fa).running && ev_times(fb).running)
			break;
	}
	EXPECT_GT(ev_times(fa).running, 0);
	EXPECT_GT(ev_times(fb).running, 0);
	EXPECT_LE(ev_times(fa).running + ev_times(fb).running,
		  ev_times(fa).enabled + 1000000000ULL);
}

/* A child's samples have its branches */
TEST(inherited)
{
	struct perf_event_attr a;
	struct stack s;
	struct ring r;
	int fd, status;
	pid_t pid;

	ROWS("S-15");
	NEED_BRANCHES();
	pin_to(0);
	a = branch_attr(IN_SLED, PERF_SAMPLE_BRANCH_ANY);
	a.inherit = 1;
	/* With inherit, the ring buffer must be that of one CPU */
	fd = ev_must(&a, 0, 0, -1, 0);
	ring_map(&r, fd, &a, 64);
	pid = fork();
	if (!pid) {
		/* Acts on the child's event, too */
		counted_undisturbed(fd);
		_exit(0);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	s = last_stack(&r);
	ASSERT_GT(s.samples, 0);
	EXPECT_TRUE(is_listed(&s, ALL_TYPES, false));
}

/* Errors, in the order of upstream's checks */
TEST(refused)
{
	struct perf_event_attr a;

	ROWS("A-77 A-74 E-34");
	NEED_BRANCHES();
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a = branch_attr(1000, PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_COND);
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
	/* An event that counts may have one, as far as errors are concerned */
	a = branch_attr(0, PERF_SAMPLE_BRANCH_ANY);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
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
	native = run(&a, jumps_counted, native_open(&a));
	ours = sampled(&a, jumps_counted);
	ASSERT_EQ(ours.nr, native.nr);
	for (i = 0; i < DEPTH; i++) {
		EXPECT_EQ(ours.b[i].from, native.b[i].from);
		EXPECT_EQ(ours.b[i].to, native.b[i].to);
		/* Cycles are exact under -icount only; predictions have a history */
		if (exact_time())
			EXPECT_EQ(CYCLES(&ours.b[i]), CYCLES(&native.b[i]));
	}
}

TEST_HARNESS_MAIN
