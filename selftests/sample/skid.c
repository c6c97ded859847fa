// SPDX-License-Identifier: GPL-2.0-only
/*
 * Skid into the kernel: an event that counts user mode overflows at a system call or a fault, and
 * its PMI arrives in kernel mode.  The sample must not expose the kernel's addresses or registers.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "harness.h"
#include "sampled.h"

#define CALLS	3000
#define PAGES	1000
#define REG_SP	7	/* enum perf_event_x86_regs */
#define REG_IP	8
#define REG_CS	10
#define REG_SS	11
#define REGS	((1ULL << REG_SP) | (1ULL << REG_IP) | (1ULL << REG_CS) | (1ULL << REG_SS))
#define USER_END	(1ULL << 47)

extern const char calls_[] __asm__("calls"), calls_end[];
void calls(long n);

/* Four instructions per round, one of them the system call */
__asm__(".text\n"
	"calls:	mov %rdi, %r10\n"
	"1:	mov $39, %eax\n"	/* getpid */
	"	syscall\n"
	"	dec %r10\n"
	"	jnz 1b\n"
	"	ret\n"
	"calls_end:\n");

static struct record rec;

static struct perf_event_attr skid_attr(uint64_t period)
{
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR |
						PERF_SAMPLE_CALLCHAIN |
						PERF_SAMPLE_REGS_INTR |
						PERF_SAMPLE_REGS_USER);

	a.sample_period = period;
	a.sample_regs_intr = REGS;
	a.sample_regs_user = REGS;
	return a;
}

/* The stack pointer is 0 (unknown), or near this function's stack */
static int is_stack(uint64_t sp)
{
	return !sp || sp - (uintptr_t)&sp + (1 << 20) < 1 << 21;
}

/* SS may not be known, as SP: then both are 0 */
static bool is_user_ss(const struct parts *p)
{
	return p->intr_regs[3] == 0x2b || (!p->intr_regs[3] && !p->intr_regs[0]);
}

/*
 * The sample contains no kernel address and no kernel register.  The call chain of a precise event
 * begins at the interrupt
 */
static int is_clean(const struct parts *p, bool precise)
{
	uint64_t i;

	if (rec.head.misc % 8 != PERF_RECORD_MISC_USER || p->ip >= USER_END ||
	    p->addr >= USER_END)
		return 0;
	if (p->nr < 1 || p->chain[0] != PERF_CONTEXT_USER)
		return 0;
	for (i = 1; i < p->nr; i++)
		if (p->chain[i] == PERF_CONTEXT_KERNEL)
			return 0;
	if (p->nr > 1 && (precise ? p->chain[1] >= USER_END : p->chain[1] != p->ip))
		return 0;
	if (p->intr_abi && (!is_stack(p->intr_regs[0]) || p->intr_regs[1] != p->ip ||
			    p->intr_regs[2] != 0x33 || !is_user_ss(p)))
		return 0;
	return !p->user_abi || (is_stack(p->user_regs[0]) &&
				p->user_regs[1] < USER_END);
}

struct found {
	int samples, bad, elsewhere;
};

static struct found look(struct ring *r, bool precise)
{
	struct found f = {};

	while (ring_next(r, &rec)) {
		struct parts p;

		if (rec.head.type != PERF_RECORD_SAMPLE)
			continue;
		p = record_sample(r, &rec);
		f.samples++;
		f.bad += !is_clean(&p, precise);
		f.elsewhere += p.ip < (uintptr_t)calls_ || p.ip >= (uintptr_t)calls_end;
	}
	printf("# %d samples, %d with something of the kernel, %d from elsewhere\n",
	       f.samples, f.bad, f.elsewhere);
	return f;
}

/* QEMU's x-pmu-skid delays PMIs, so the next overflow may precede the PMI of this one */
static bool skids(void)
{
	return model_property("x-pmu-skid", 0);
}

/* A period of 3 in rounds of 4: each of the four instructions overflows in turn */
TEST(syscalls)
{
	ROWS("C-18");
	struct perf_event_attr a = skid_attr(3);
	struct found f;
	struct ring r;
	int fd;

	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ev_enable(fd);
	calls(CALLS);
	ev_disable(fd);
	f = look(&r, false);
	EXPECT_EQ(f.bad, 0);
	EXPECT_GE(f.samples, CALLS);
	/* Outside calls(): the paths from the enable and to the disable */
	EXPECT_LE(f.elsewhere, 100);
	if (exact() && !skids())
		EXPECT_EQ(f.samples, ev_count(fd) / 3);
}

/* Precise events: the record may be of the SYSCALL, and the PMI comes in the kernel */
TEST(precise_syscalls)
{
	ROWS("C-18 A-37");
	struct perf_event_attr a = skid_attr(3);
	struct found f;
	struct ring r;
	int fd, level, err;

	a.type = PERF_TYPE_RAW;
	a.config = 0x00c0;
	for (level = 1; level < 3; level++) {
		a.precise_ip = level;
		/* ENOENT: IBS has no event of instructions */
		err = ev_errno(&a, 0, -1, -1, 0);
		if (err == EOPNOTSUPP || err == ENOENT)
			SKIP(return, "this CPU has no precise event of instructions");
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 256);
		ev_enable(fd);
		calls(CALLS);
		ev_disable(fd);
		f = look(&r, true);
		EXPECT_EQ(f.bad, 0);
		EXPECT_GE(f.samples, CALLS / 2);
		ring_unmap(&r);
		close(fd);
	}
}

TEST(faults)
{
	ROWS("C-18");
	struct perf_event_attr a = skid_attr(3);
	volatile char *mem;
	struct found f;
	struct ring r;
	int fd, i;

	mem = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE((void *)mem, MAP_FAILED);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 256);
	ev_enable(fd);
	for (i = 0; i < PAGES; i++)
		mem[i * 4096] = 1;
	ev_disable(fd);
	f = look(&r, false);
	EXPECT_EQ(f.bad, 0);
	EXPECT_GE(f.samples, skids() ? PAGES / 2 : PAGES);
}

TEST_HARNESS_MAIN
