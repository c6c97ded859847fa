// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native perf as the driver of the model's last branch records: the branch stacks
 * of samples are compared with the branches of the assembly below.  The argument amd is for
 * AMD's, which have 16 entries, the state of speculation, neither cycles nor call stacks.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

/* ---- the program: a loop with a call, an indirect call and a jump --------------- */

void branchy(long n);
extern char at_call[], at_icall[], at_jmp[], at_jnz[], fn[], fn_ret[], after_call[], after_icall[],
	jmp_to[], loop_start[];
asm("branchy:\n"
    "	leaq fn(%rip), %rax\n"
    "loop_start:\n"
    "at_call: call fn\n"
    "after_call: nop\n"
    "at_icall: call *%rax\n"
    "after_icall: nop\n"
    "at_jmp: jmp jmp_to\n"
    "	ud2\n"
    "jmp_to: decq %rdi\n"
    "at_jnz: jnz loop_start\n"
    "	ret\n"
    "fn:	nop\n"
    "fn_ret: ret\n");

/* The branches of a round, in their order */
static const struct { char *from, *to; uint64_t kinds; } round_of[] = {
	{ at_call, fn, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_CALL },
	{ fn_ret, after_call, PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ at_icall, fn, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_CALL },
	{ fn_ret, after_icall, PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ at_jmp, jmp_to, 0 },
	{ at_jnz, loop_start, PERF_SAMPLE_BRANCH_COND },
};
#define ROUND 6

/* Nested calls with a loop in the innermost one */
void nested(long n);
extern char nest1[], nest2[], nest3[], in_1[], in_2[], in_3[], in_loop[], in_loop_end[];
asm("nested:\n"
    "nest1: call in_1\n"
    "	ret\n"
    "in_1:\n"
    "nest2: call in_2\n"
    "	ret\n"
    "in_2:\n"
    "nest3: call in_3\n"
    "	ret\n"
    "in_3:\n"
    "in_loop: call fn\n"
    "	decq %rdi\n"
    "	jnz in_loop\n"
    "in_loop_end: ret\n");

/* ---- samples ---------------------------------------------------------------------- */

#define RING 64

static char *ring;
static int amd;

static int try_open(uint64_t kinds, uint64_t period, int kernel)
{
	struct perf_event_attr a = {
		.size = sizeof(a), .type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS, .disabled = 1, .exclude_hv = 1,
		.exclude_kernel = !kernel, .exclude_user = kernel,
		.sample_period = period, .branch_sample_type = kinds,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
	};

	return syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
}

static int sample_open(uint64_t kinds, uint64_t period, int kernel)
{
	int fd = try_open(kinds, period, kernel);

	if (fd < 0) {
		perror("# perf_event_open");
		return -1;
	}
	ring = mmap(NULL, (RING + 1) * 4096ul, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

struct sample {
	struct perf_event_header h;
	uint64_t ip, nr;
	struct perf_branch_entry e[];
};

/* Call a function for each sample; returns their number */
static int each(int fd, void (*see)(const struct sample *s))
{
	struct perf_event_mmap_page *page = (void *)ring;
	uint64_t tail = page->data_tail, head = page->data_head;
	static char copy[8192] __attribute__((aligned(8)));
	int n = 0;

	while (tail < head) {
		struct perf_event_header *h = (void *)(ring + 4096 + tail % (RING * 4096));

		for (int i = 0; i < h->size; i++)
			copy[i] = ring[4096 + (tail + i) % (RING * 4096)];
		if (h->type == PERF_RECORD_SAMPLE) {
			see((void *)copy);
			n++;
		}
		tail += h->size;
	}
	page->data_tail = tail;
	munmap(ring, (RING + 1) * 4096ul);
	close(fd);
	return n;
}

static uint64_t kinds;
static int entries, strange, out_of_order, with_cycles, missed, on_path;

/* Flags that the headers of Debian 12 have no names for */
static int speculation(const struct perf_branch_entry *e)
{
	uint64_t flags;

	memcpy(&flags, (const char *)e + 16, 8);
	return flags >> 24 & 3;
}

/* Number of a branch in a round, or -1 */
static int branch_nr(const struct perf_branch_entry *e)
{
	for (int i = 0; i < ROUND; i++)
		if (e->from == (uint64_t)round_of[i].from && e->to == (uint64_t)round_of[i].to)
			return i;
	return -1;
}

/* The branches of the kinds, from the newest to the oldest */
static void see_loop(const struct sample *s)
{
	int last = -1;

	for (uint64_t i = 0; i < s->nr; i++) {
		int nr = branch_nr(&s->e[i]), want = last;

		entries++;
		with_cycles += s->e[i].cycles != 0;
		missed += s->e[i].mispred;
		on_path += speculation(&s->e[i]) == 2;	/* PERF_BR_NON_SPEC_CORRECT_PATH */
		if (nr < 0) {
			strange++;
			if (strange < 4)
				printf("# %lx -> %lx\n", (long)s->e[i].from, (long)s->e[i].to);
			last = -1;
			continue;
		}
		do
			want = (want + ROUND - 1) % ROUND;
		while (kinds != PERF_SAMPLE_BRANCH_ANY && !(round_of[want].kinds & kinds));
		if (kinds != PERF_SAMPLE_BRANCH_ANY && !(round_of[nr].kinds & kinds))
			out_of_order++;
		else if (last >= 0 && nr != want)
			out_of_order++;
		last = nr;
	}
}

static void loop(const char *name, uint64_t k)
{
	int fd = sample_open(k | PERF_SAMPLE_BRANCH_USER, 10007, 0), n;

	kinds = k;
	entries = strange = out_of_order = with_cycles = missed = on_path = 0;
	if (fd < 0) {
		check(0, "lbr: %s", name);
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	branchy(100000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	n = each(fd, see_loop);
	/* Far branches are other branches: the first sample may have some */
	check(n > 50 && entries >= n * (amd ? 14 : 30) && strange < 20 && !out_of_order,
	      "lbr: %s: %d samples, %d entries, %d elsewhere, %d out of order", name, n, entries,
	      strange, out_of_order);
	if (k == PERF_SAMPLE_BRANCH_ANY && amd)
		check(!with_cycles && missed < entries / 10 && on_path == entries,
		      "lbr: %d entries are mispredicted, %d not speculative", missed, on_path);
	else if (k == PERF_SAMPLE_BRANCH_ANY)
		check(with_cycles > entries * 9 / 10 && missed < entries / 10,
		      "lbr: %d entries have cycles, %d are mispredicted", with_cycles, missed);
}

static int stacks, bad_stacks;

static void see_stack(const struct sample *s)
{
	static char *const calls[] = { nest3, nest2, nest1 };
	uint64_t i = 0;
	int bad = 0;

	if (s->ip < (uint64_t)in_loop || s->ip >= (uint64_t)in_loop_end)
		return;
	stacks++;
	for (int k = 0; k < 3; k++, i++)
		bad |= i >= s->nr || s->e[i].from != (uint64_t)calls[k];
	bad_stacks += bad;
	if (bad && bad_stacks < 3)
		for (i = 0; i < s->nr && i < 6; i++)
			printf("# %lx -> %lx\n", (long)s->e[i].from, (long)s->e[i].to);
}

static void call_stack(void)
{
	int fd = sample_open(PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_USER, 10007, 0);

	if (fd < 0) {
		check(0, "lbr: call stack");
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	nested(200000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	each(fd, see_stack);
	check(stacks > 20 && !bad_stacks, "lbr: %d call stacks, %d wrong", stacks, bad_stacks);
}

static int in_kernel, in_user;

static void see_kernel(const struct sample *s)
{
	for (uint64_t i = 0; i < s->nr; i++) {
		in_kernel += (int64_t)s->e[i].to < 0;
		in_user += (int64_t)s->e[i].to >= 0;
	}
}

static void kernel(void)
{
	int fd = sample_open(PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL, 10007, 1);

	if (fd < 0) {
		check(0, "lbr: kernel");
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 20000; i++)
		syscall(SYS_getppid);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	each(fd, see_kernel);
	check(in_kernel > 100 && !in_user, "lbr: kernel: %d entries, %d in user mode", in_kernel,
	      in_user);
}

/* What perf refuses, since these records have neither */
static void refused(void)
{
	int stack = try_open(PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_USER, 10007, 0);
	int err = errno;

	check(stack < 0 && err == EOPNOTSUPP, "lbr: no call stacks: %s", strerror(err));
}

int main(int argc, char **argv)
{
	FILE *f = fopen("/proc/sys/kernel/perf_cpu_time_max_percent", "w");

	if (f) {
		fputs("0", f);
		fclose(f);
	}
	amd = argc > 1 && !strcmp(argv[1], "amd");
	setvbuf(stdout, NULL, _IOLBF, 0);
	loop("any", PERF_SAMPLE_BRANCH_ANY);
	loop("calls", PERF_SAMPLE_BRANCH_ANY_CALL);
	loop("indirect calls", PERF_SAMPLE_BRANCH_IND_CALL);
	loop("direct calls", PERF_SAMPLE_BRANCH_CALL);
	loop("returns", PERF_SAMPLE_BRANCH_ANY_RETURN);
	loop("conditional", PERF_SAMPLE_BRANCH_COND);
	loop("indirect jumps and conditional",
	     PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP);
	if (amd)
		refused();
	else
		call_stack();
	kernel();
	printf("1..%d\n", tests);
	return failed != 0;
}
