// SPDX-License-Identifier: GPL-2.0-only
/* Registers and user stacks in samples. */
#define _GNU_SOURCE
#include <alloca.h>
#include <asm/perf_regs.h>
#include <sys/mman.h>

#include "harness.h"
#include "sampled.h"

#define ALL_REGS	0xff0fffULL

static struct record rec;

/* Index of a register's value in a sample with ALL_REGS */
static int place(int reg)
{
	return __builtin_popcountll(ALL_REGS & ((1ULL << reg) - 1));
}

static struct perf_event_attr regs_attr(void)
{
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_REGS_USER |
						PERF_SAMPLE_IP |
						PERF_SAMPLE_REGS_INTR);

	a.sample_regs_user = ALL_REGS;
	a.sample_regs_intr = ALL_REGS;
	return a;
}

/* Samples in user mode: both sets of registers are equal */
TEST(of_user_mode)
{
	ROWS("S-20 S-37 A-78 A-79 S-22");
	struct perf_event_attr a = regs_attr();
	struct ring r;
	int fd, n, i;

	fd = sampled(&r, &a);
	for (n = 1; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(rec.head.size, 16 + 2 * (8 + 20 * 8));
		EXPECT_EQ(s.user_abi, 2);
		EXPECT_EQ(s.intr_abi, 2);
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_IP)], s.ip);
		/* work_counted() holds its fd in di and the remaining rounds in r10 */
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_DI)], fd);
		EXPECT_LE(s.user_regs[place(PERF_REG_X86_R10)], ROUNDS - n * PERIOD / 4);
		EXPECT_GE(s.user_regs[place(PERF_REG_X86_R10)] + SLACK(PERIOD) / 4,
			  ROUNDS - n * PERIOD / 4);
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_CS)], 0x33);
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_SS)], 0x2b);
		for (i = 0; i < 20; i++)
			EXPECT_EQ(s.user_regs[i], s.intr_regs[i]);
	}
	EXPECT_EQ(n, 11);
}

/* Samples in kernel mode: the kernel's registers, and the known ones of user mode */
TEST(kernel_mode)
{
	ROWS("S-22 S-37 B-03 A-79");
	struct perf_event_attr a = regs_attr();
	int n = 0, known = 0;
	struct ring r;

	sampled_kernel(&r, &a, 100);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);

		if (rec.head.misc == PERF_RECORD_MISC_USER)
			continue;	/* at the return to user mode */
		EXPECT_EQ(rec.head.misc, PERF_RECORD_MISC_KERNEL);
		EXPECT_LT((int64_t)s.ip, 0);
		EXPECT_EQ(s.intr_regs[place(PERF_REG_X86_IP)], s.ip);
		EXPECT_EQ(s.intr_regs[place(PERF_REG_X86_CS)], 0x10);
		n++;
		if (!s.user_abi)
			continue;	/* user registers not saved yet */
		EXPECT_EQ(s.user_abi, 2);
		EXPECT_GT((int64_t)s.user_regs[place(PERF_REG_X86_IP)], 0);
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_CS)], 0x33);
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_BX)], -1);
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_R12)], -1);
		EXPECT_EQ(s.user_regs[place(PERF_REG_X86_R15)], -1);
		known++;
	}
	EXPECT_GE(n, 5);
	EXPECT_GE(known, 1);
}

/* The idle task runs no user mode: no user registers, user stack or user call chain */
TEST(idle_task)
{
	ROWS("S-21 S-23 S-04");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_REGS_USER |
						PERF_SAMPLE_TID |
						PERF_SAMPLE_STACK_USER |
						PERF_SAMPLE_CALLCHAIN);
	int fd, i, idle = 0;
	struct ring r;

	sample_the_kernel(&a);
	a.sample_regs_user = 1;
	a.sample_stack_user = 64;
	pin_to(nr_cpus() - 1);
	fd = ev_must(&a, -1, nr_cpus() - 1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ev_enable(fd);
	for (i = 0; i < 20; i++)
		usleep(1000);
	ev_disable(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);

		if (s.pid)
			continue;
		idle++;
		EXPECT_EQ(s.tid, 0);
		EXPECT_EQ(s.user_abi, 0);
		EXPECT_EQ(s.stack_size, 0);
		ASSERT_GE(s.nr, 2);
		EXPECT_EQ(s.chain[0], PERF_CONTEXT_KERNEL);
		for (i = 0; i < s.nr; i++)
			EXPECT_NE(s.chain[i], PERF_CONTEXT_USER);
	}
	EXPECT_GE(idle, 1);
}

static __attribute__((noinline)) void stack_work(int fd, uint64_t *pattern)
{
	int i;

	for (i = 0; i < 64; i++)
		pattern[i] = 0x1122334455660000ULL + i;
	work_counted(fd, ROUNDS, 0);
}

static void check_stack(struct __test *_metadata, int size)
{
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_STACK_USER |
						PERF_SAMPLE_REGS_USER);
	uint64_t pattern[64], sp;
	struct ring r;
	int fd, n;

	a.sample_regs_user = 1 << PERF_REG_X86_SP;
	a.sample_stack_user = size;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	stack_work(fd, pattern);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		ASSERT_EQ(s.stack_size, size);
		sp = s.user_regs[0];
		EXPECT_LT(sp, (uintptr_t)pattern);
		if (size <= 1024)
			EXPECT_EQ(s.stack_dyn, size);
		if (size <= 1024)
			continue;
		ASSERT_GE(s.stack_dyn, (uintptr_t)(pattern + 64) - sp);
		EXPECT_FALSE(memcmp(s.stack + ((uintptr_t)pattern - sp), pattern,
				    sizeof(pattern)));
	}
	EXPECT_GE(n, 7);
	ring_unmap(&r);
	close(fd);
}

TEST(stack)
{
	ROWS("S-23 S-24 A-80");
	check_stack(_metadata, 0);
	check_stack(_metadata, 8);
	check_stack(_metadata, 64);
	check_stack(_metadata, 1024);
	/* More than the stack holds: dyn_size is the number of bytes copied */
	check_stack(_metadata, 32768);
}

/* With sample_stack_user 0 the stack field is one word; the next fields follow directly */
TEST(no_stack)
{
	ROWS("S-23");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_STACK_USER |
						PERF_SAMPLE_REGS_INTR |
						PERF_SAMPLE_CODE_PAGE_SIZE);
	struct ring r;
	int n;

	a.sample_regs_intr = 1 << PERF_REG_X86_IP;
	sampled(&r, &a);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(rec.head.size, 8 + 8 + 16 + 8);
		EXPECT_EQ(s.intr_abi, 2);
		EXPECT_TRUE(in_work(s.intr_regs[0]));
		EXPECT_EQ(s.code_page, 4096);
	}
	EXPECT_EQ(n, 10);
}

/* The stack dump is truncated to fit the maximum record size */
TEST(stack_truncated)
{
	ROWS("S-25 A-80 R-23");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_STACK_USER |
						PERF_SAMPLE_IP |
						PERF_SAMPLE_CALLCHAIN |
						PERF_SAMPLE_REGS_USER);
	volatile char *big = alloca(200000);
	struct ring r;
	int fd, n, i;

	for (i = 0; i < 200000; i++)
		big[i] = i;
	a.sample_regs_user = ALL_REGS;
	a.sample_stack_user = 65528;
	/* Four samples, the last one some instructions before the end */
	a.sample_period = ROUNDS - 20;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	work_counted(fd, ROUNDS, 0);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(rec.head.size, 65528);
		EXPECT_EQ(s.stack_size,
			  65528 - 8 - 8 - 8 - 8 * s.nr - 8 - 160 - 16);
		EXPECT_EQ(s.stack_dyn, s.stack_size);
	}
	EXPECT_EQ(n, 4);
	EXPECT_EQ(big[199999], (char)199999);
}

extern const char work_[] __asm__("work");

/* A stack whose upper part is missing: the dump has the size asked for, and says what is there */
static void on_short_stack(char *top)
{
	asm volatile("mov %%rsp, %%rbx\n"
		"	mov %0, %%rsp\n"
		"	call work\n"
		"	mov %%rbx, %%rsp\n"
		: : "r"(top), "D"((uint64_t)ROUNDS) : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9",
		    "r10", "r11", "memory", "cc");
}

/* Also at the end of the ring, where the dump is in two parts */
TEST(end_of_the_stack)
{
	ROWS("S-25");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_IP);
	char *stack = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ring r;
	int fd, n = 0, i;

	ASSERT_NE(stack, MAP_FAILED);
	ASSERT_EQ(munmap(stack + 8192, 8192), 0);
	a.sample_stack_user = 4096;
	a.sample_period = WORK_INSNS(ROUNDS) / 8;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 16);
	ev_enable(fd);
	for (i = 0; i < 20; i++) {
		on_short_stack(stack + 8192 - 1024);
		while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
			struct parts s = record_sample(&r, &rec);

			if (s.ip - (uintptr_t)work_ >= 32)
				continue;
			EXPECT_EQ(s.stack_size, 4096);
			EXPECT_EQ(s.stack_dyn, 1024 + 8);
			n++;
		}
		ring_consume(&r);
	}
	EXPECT_GE(n, 100);
}

#define END_OF_MEMORY	0x7ffffffff000ULL	/* of 64-bit programs, with page tables of four levels */

/* A stack at the end of the address space: no more is asked for than there can be */
TEST(end_of_memory)
{
	ROWS("S-25");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_IP);
	char *end = (char *)END_OF_MEMORY;
	struct ring r;
	int n = 0;
	int fd;

	if (mmap(end - 8192, 8192, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != end - 8192)
		SKIP(return, "something else is there");
	a.sample_stack_user = 4096;
	a.sample_period = WORK_INSNS(ROUNDS) / 8;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 16);
	ev_enable(fd);
	on_short_stack(end - 1024);
	ev_disable(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);

		if (s.ip - (uintptr_t)work_ >= 32)
			continue;
		EXPECT_EQ(s.stack_size, 1024 + 8);
		EXPECT_EQ(s.stack_dyn, 1024 + 8);
		n++;
	}
	EXPECT_GE(n, 5);
	munmap(end - 8192, 8192);
}

/* A loop whose stack pointer is 0 */
static void without_stack(uint64_t rounds)
{
	asm volatile("mov %%rsp, %%r12\n\t"
		     "xor %%esp, %%esp\n"
		     "1:	dec %0\n\t"
		     "jnz 1b\n\t"
		     "mov %%r12, %%rsp"
		     : "+r" (rounds) : : "r12", "cc", "memory");
}

TEST(no_stack_pointer)
{
	ROWS("S-23");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_USER);
	struct ring r;
	int fd, n;

	a.sample_stack_user = 64;
	a.sample_regs_user = 1 << PERF_REG_X86_SP;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	without_stack(5 * PERIOD);
	ev_disable(fd);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); ) {
		struct parts s = record_sample(&r, &rec);

		if (s.user_regs[0])
			continue;
		n++;
		EXPECT_EQ(rec.head.size, 8 + 8 + 8 + 8);
		EXPECT_EQ(s.stack_size, 0);
	}
	EXPECT_GE(n, 9);
	ring_unmap(&r);
	close(fd);
}

TEST_HARNESS_MAIN
