/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branch stacks.  The branches of branches_counted() follow from its listing in branched.S, so
 * their records must have exactly these addresses, in this order.
 */
#ifndef KPMU_TEST_BRANCH_H
#define KPMU_TEST_BRANCH_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "switches.h"

#define USER_END	(1ULL << 47)
#define MAX_DEPTH	32

/* PERF_BR_* of Linux 5.18 and earlier kernels */
enum { COND = 1, JUMP, IND_JUMP, CALL, IND_CALL, RET, SYSCALL, SYSRET, ERET = 11, IRQ };

struct branch {
	uint64_t from, to, flags;
};

#define MISPREDICTED(b)	((b)->flags & 1)
#define PREDICTED(b)	((b)->flags >> 1 & 1)
#define CYCLES(b)	((b)->flags >> 4 & 0xffff)
#define TYPE(b)		((b)->flags >> 20 & 15)
#define SPECULATION(b)	((b)->flags >> 24 & 3)
#define ON_PATH		2	/* PERF_BR_NON_SPEC_CORRECT_PATH */

/* The branches of branches_counted(), in the order of execution */
extern const struct listed {
	uint64_t from, to, type;
} listed[], listed_end[];

#define LISTED	((int)(listed_end - listed))

extern const char sled_before[], sled_after[];
void branches_counted(int fd);
void jumps_counted(int fd);
void calls_counted(int fd, long depth, int (*inside)(void));
extern const char nest_[] __asm__("nest"), nested_call[], calls_returned[];

#define CALL_LEN	5

struct stack {
	int samples;
	uint64_t ip;
	uint64_t nr, index;
	struct branch b[MAX_DEPTH];
};

/* As the kernel's perf or kpmu has it in sysfs */
static inline int depth_by(const char *bus)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/cpu/caps/branches", bus);
	return access(path, R_OK) ? 0 : read_long(path);
}

/* How many branches the CPU records: 32, AMD's 16; 0 if it records none */
static inline int branch_depth(void)
{
	static int depth = -1;

	if (depth < 0)
		depth = depth_by(route_is_native() ? "event_source" : "kpmu");
	return depth;
}

#define DEPTH	branch_depth()

/* Not skipped on kpmu if the kernel's perf finds them: then kpmu must find them, too */
#define NEED_BRANCHES() do {						\
	int depth = is_amd() ? 16 : 32;					\
									\
	if (DEPTH != depth && depth_by("event_source") != depth)	\
		SKIP(return, "this CPU records no branches");		\
} while (0)

/* AMD has neither call-stack mode nor transactions, and always reads the flags */
#define NOT_ON_AMD() do {						\
	if (is_amd())							\
		SKIP(return, "AMD's branch records cannot do this");	\
} while (0)

/* User instructions with a branch stack of user mode, filtered by @type */
static inline struct perf_event_attr branch_attr(uint64_t period, uint64_t type)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	no_throttle();
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	a.branch_sample_type = type | PERF_SAMPLE_BRANCH_USER;
	return a;
}

/* The last sample in the ring buffer */
static inline struct stack last_stack(struct ring *r)
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
		if (s.nr > MAX_DEPTH) {
			printf("# %llu branches\n", (unsigned long long)s.nr);
			exit(KSFT_FAIL);
		}
		memcpy(s.b, p.branches, s.nr * sizeof(s.b[0]));
	}
	return s;
}

static inline void print_stack(const struct stack *s)
{
	uint64_t i;

	for (i = 0; i < s->nr; i++)
		printf("# %2d: %#llx to %#llx, flags %#llx\n", (int)i,
		       (unsigned long long)s->b[i].from, (unsigned long long)s->b[i].to,
		       (unsigned long long)s->b[i].flags);
}

/* Run @fn, which enables and disables its event */
static inline struct stack run(const struct perf_event_attr *a, void (*fn)(int fd), int fd)
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

static inline struct stack sampled(const struct perf_event_attr *a, void (*fn)(int fd))
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
static inline void counted_undisturbed(int fd)
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
static inline bool is_listed(const struct stack *s, unsigned int types, bool with_type)
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

#endif
