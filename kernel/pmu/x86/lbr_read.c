// SPDX-License-Identifier: GPL-2.0-only
/*
 * Branch stacks: read the entries in the overflow interrupt, and keep those that the event asks
 * for.  The hardware filters by kinds of branches that are not exactly those of
 * attr.branch_sample_type, so the instruction at the start of the branch is decoded.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/ptrace.h>

#include "../../abi/attr.h"
#include "../../compat/ksym.h"
#include "lbr.h"

/**
 * struct records - the branch records of this CPU in a PMI
 * @turn: the PMI in which they were read, see struct x86_cpu
 * @nr: number of entries in @raw
 * @index: the hardware's index of the newest entry
 * @raw: the entries as they were read
 * @out: those that an event asks for
 * @recorded: likewise, from the record of a precise event
 */
struct records {
	u32 turn;
	int nr;
	u64 index;
	struct x86_branch raw[KPMU_MAX_BRANCHES];
	struct kpmu_branches out;
	struct kpmu_branches recorded;
};

static struct records __percpu *records;

static bool is_kernel_addr(u64 addr)
{
	return (s64)addr < 0;
}

/* Decode the instruction at @addr; false if it cannot be read */
static bool decode_at(u64 addr, unsigned int *kind)
{
	u8 insn[X86_MAX_INSN];
	unsigned long left;

	if (is_kernel_addr(addr)) {
		/* A program can jump to any address, and the fault is recorded */
		if (!kpmu_is_kernel_text(addr) ||
		    copy_from_kernel_nofault(insn, (void *)addr, sizeof(insn)))
			return false;
		*kind = x86_branch_decode(insn, sizeof(insn), true);
		return true;
	}
	if (!current->mm)
		return false;
	left = copy_from_user_nmi(insn, (void __user *)addr, sizeof(insn));
	if (left == sizeof(insn))
		return false;
	*kind = x86_branch_decode(insn, sizeof(insn) - left,
				  any_64bit_mode(task_pt_regs(current)));
	return true;
}
NOKPROBE_SYMBOL(decode_at);

/* Kind of a branch according to the instruction; 0 if it is unknown */
static unsigned int decode_kind(const struct x86_branch *b)
{
	unsigned int kind;

	if (!b->from || !b->to || !decode_at(b->from, &kind))
		return 0;
	/* Only these instructions enter the kernel: anything else was interrupted */
	if (!is_kernel_addr(b->from) && is_kernel_addr(b->to) &&
	    !(kind & (X86_BRANCH_SYSCALL | X86_BRANCH_INT)))
		return X86_BRANCH_IRQ;
	return kind;
}
NOKPROBE_SYMBOL(decode_kind);

/* Kind of a branch, with its end; 0 if it is unknown */
static unsigned int find_kind(const struct x86_branch *b, u64 flags)
{
	unsigned int kind = x86_pmu.lbr->kind ? x86_pmu.lbr->kind(b->info) : 0;

	if (!kind && flags & KPMU_BRANCH_ABORTED)
		kind = b->from && b->to ? X86_BRANCH_ABORT : 0;
	else if (!kind)
		kind = decode_kind(b);
	if (!kind)
		return 0;
	return kind | (is_kernel_addr(b->to) ? X86_TO_KERNEL : X86_TO_USER);
}
NOKPROBE_SYMBOL(find_kind);

/* The type of struct perf_branch_entry for each kind, from X86_BRANCH_CALL on */
static const u8 types[] = {
	PERF_BR_CALL,		/* X86_BRANCH_CALL */
	PERF_BR_RET,
	PERF_BR_SYSCALL,
	PERF_BR_SYSRET,
	PERF_BR_UNKNOWN,	/* X86_BRANCH_INT */
	PERF_BR_ERET,
	PERF_BR_COND,
	PERF_BR_UNCOND,
	PERF_BR_IRQ,
	PERF_BR_IND_CALL,
	PERF_BR_UNKNOWN,	/* X86_BRANCH_ABORT */
	PERF_BR_UNKNOWN,	/* X86_BRANCH_IN_TX */
	PERF_BR_NO_TX,
	PERF_BR_CALL,		/* X86_BRANCH_ZERO_CALL */
	PERF_BR_IND,
};

static u64 type_of(unsigned int kind)
{
	kind >>= 2;
	return kind ? types[__builtin_ctz(kind)] : PERF_BR_UNKNOWN;
}

/* Append an entry to @out if the filter @want accepts it */
static void filter_entry(struct kpmu_branches *out, const struct x86_branch *b, u64 flags,
			 unsigned int want)
{
	unsigned int kind = find_kind(b, flags);

	if (kind && want & X86_BRANCH_TX)
		kind |= flags & KPMU_BRANCH_WAS_IN_TX ? X86_BRANCH_IN_TX : X86_BRANCH_NO_TX;
	if (!kind || kind & ~want)
		return;
	/* The hardware looks at the end of a branch only */
	if (is_kernel_addr(b->from) && !(want & X86_TO_KERNEL))
		return;
	if (want & X86_BRANCH_SAVE)
		flags |= type_of(kind) << KPMU_BRANCH_TYPE_SHIFT;
	out->entry[out->nr++] = (struct kpmu_branch){ b->from, b->to, flags };
}
NOKPROBE_SYMBOL(filter_entry);

/* Append those of @nr entries that the event asks for */
static void filter(struct kpmu_branches *out, const struct kpmu_hw *hw,
		   const struct x86_branch *b, int nr)
{
	unsigned int want = hw->branch_filter >> 32;
	bool all = (want & X86_BRANCH_ALL) == X86_BRANCH_ALL && !(want & X86_BRANCH_SAVE);
	bool flagged = !((u32)hw->branch_filter & X86_LBR_NO_INFO);

	for (; nr; nr--, b++) {
		u64 flags = flagged ? x86_pmu.lbr->flags(b->info) : 0;

		if (all)
			out->entry[out->nr++] = (struct kpmu_branch){ b->from, b->to, flags };
		else
			filter_entry(out, b, flags, want);
	}
}
NOKPROBE_SYMBOL(filter);

/**
 * x86_branches() - .branches of the CPU's counters
 * @hw: the event
 *
 * The registers are read once in a PMI, for all events that overflow in it.  A PMI during a task
 * switch finds no branches: see x86_lbr_leave().
 *
 * Context: the PMI, in which @hw has overflowed.
 * Return: its branches, valid until the next call; NULL if it does not record any.
 */
const struct kpmu_branches *x86_branches(const struct kpmu_hw *hw)
{
	struct x86_cpu *c = this_cpu_ptr(&x86_cpu);
	struct records *r = this_cpu_ptr(records);

	if (!hw->branches)
		return NULL;
	r->out.index = 0;
	r->out.nr = 0;
	/* In a task switch the registers may hold branches of a task that is not the event's */
	if (!READ_ONCE(c->lbr_on))
		return &r->out;
	if (r->turn != c->turn) {
		r->turn = c->turn;
		r->nr = x86_pmu.lbr->read(r->raw, hw->branch_filter, &r->index);
	}
	r->out.index = r->index;
	filter(&r->out, hw, r->raw, r->nr);
	return &r->out;
}
NOKPROBE_SYMBOL(x86_branches);

/**
 * x86_branches_of() - the branches that are in the record of a precise event
 * @hw: the event
 * @from: as many entries as there are registers, the newest first; NULL if the record has none
 * @old: the registers have changed since
 *
 * Context: the PMI, or IRQs off while PMIs ignore records.
 * Return: the branches that the event asks for, valid until the next call.
 */
const struct kpmu_branches *x86_branches_of(const struct kpmu_hw *hw,
					    const struct x86_branch *from, bool old)
{
	struct kpmu_branches *out = &this_cpu_ptr(records)->recorded;
	int nr = 0;

	out->nr = 0;
	out->index = old ? -1ULL : x86_pmu.lbr->newest();
	while (from && nr < x86_pmu.lbr_depth && from[nr].from)
		nr++;
	filter(out, hw, from, nr);
	return out;
}
NOKPROBE_SYMBOL(x86_branches_of);

/**
 * x86_lbr_init() - allocate the buffers for branch records
 *
 * Context: module init, after x86_pmu was filled in.
 * Return: 0 or -ENOMEM.
 */
int __init x86_lbr_init(void)
{
	if (!x86_pmu.lbr)
		return 0;
	records = alloc_percpu(struct records);
	return records ? 0 : -ENOMEM;
}

/**
 * x86_lbr_exit() - free what branch records need
 *
 * Context: task, may sleep; no PMI of kpmu comes any more.
 */
void x86_lbr_exit(void)
{
	x86_stacks_exit();
	free_percpu(records);
}

/* Kinds of branches that each bit of attr.branch_sample_type selects */
static const struct {
	u64 bit;
	unsigned int kinds;
} selects[] = {
	{ KPMU_BRANCH_USER, X86_TO_USER },
	{ KPMU_BRANCH_KERNEL, X86_TO_KERNEL },
	{ KPMU_BRANCH_ANY, X86_BRANCH_ANY },
	{ KPMU_BRANCH_ANY_CALL, X86_BRANCH_CALL | X86_BRANCH_IND_CALL | X86_BRANCH_ZERO_CALL |
		X86_BRANCH_SYSCALL | X86_BRANCH_IRQ | X86_BRANCH_INT },
	{ KPMU_BRANCH_ANY_RETURN, X86_BRANCH_RET | X86_BRANCH_IRET | X86_BRANCH_SYSRET },
	{ KPMU_BRANCH_IND_CALL, X86_BRANCH_IND_CALL },
	{ KPMU_BRANCH_ABORT_TX, X86_BRANCH_ABORT },
	{ KPMU_BRANCH_IN_TX, X86_BRANCH_IN_TX },
	{ KPMU_BRANCH_NO_TX, X86_BRANCH_NO_TX },
	{ KPMU_BRANCH_COND, X86_BRANCH_COND },
	{ KPMU_BRANCH_CALL_STACK, X86_BRANCH_CALL | X86_BRANCH_IND_CALL | X86_BRANCH_RET |
		X86_BRANCH_STACK },
	{ KPMU_BRANCH_IND_JUMP, X86_BRANCH_IND_JUMP },
	{ KPMU_BRANCH_CALL, X86_BRANCH_CALL | X86_BRANCH_ZERO_CALL },
	{ KPMU_BRANCH_TYPE_SAVE, X86_BRANCH_SAVE },
};

/* Those that call-stack mode cannot be combined with */
#define BESIDE_STACK	(KPMU_BRANCH_ANY | KPMU_BRANCH_ANY_CALL | KPMU_BRANCH_ANY_RETURN | \
			 KPMU_BRANCH_IND_CALL | KPMU_BRANCH_ABORT_TX | KPMU_BRANCH_IN_TX | \
			 KPMU_BRANCH_NO_TX | KPMU_BRANCH_COND)

static unsigned int select_kinds(u64 type)
{
	unsigned int kinds = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(selects); i++)
		if (type & selects[i].bit)
			kinds |= selects[i].kinds;
	return kinds;
}

/* attr.branch_sample_type; without privilege levels, those of the event are used */
static u64 branch_type(const struct kpmu_attr *attr)
{
	u64 type = attr->branch_sample_type;

	if (type & KPMU_BRANCH_PLM)
		return type;
	if (!(attr->flags & KPMU_ATTR_EXCLUDE_USER))
		type |= KPMU_BRANCH_USER;
	if (!(attr->flags & KPMU_ATTR_EXCLUDE_KERNEL))
		type |= KPMU_BRANCH_KERNEL;
	return type;
}

/**
 * x86_lbr_init_event() - translate attr.branch_sample_type into filters
 * @hw: the event's hw part; the filters are set
 * @attr: its attr, checked
 * @why: set to a description of the error
 *
 * perf_event_open(2), branch_sample_type.
 *
 * Context: any.
 * Return: 0, also for an event without a branch stack; -EINVAL for bits that exclude each other,
 * or for branch counters; -EOPNOTSUPP if this CPU does not record branches, or not in this way.
 */
int x86_lbr_init_event(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	u64 type = branch_type(attr);
	unsigned int kinds;
	u32 filter;

	if (!(attr->sample_type & KPMU_SAMPLE_BRANCH_STACK))
		return 0;
	if (type & KPMU_BRANCH_COUNTERS) {
		*why = "this CPU's branch records contain no counters";
		return -EINVAL;
	}
	/* As upstream, an event that is only there to be read needs no records */
	if (!attr->sample_period && attr->sample_type & KPMU_SAMPLE_READ)
		return 0;
	*why = "this CPU does not record branches, or not in this way";
	if (!x86_pmu.lbr)
		return -EOPNOTSUPP;
	if (x86_pmu.lbr->filter(type, &filter))
		return -EOPNOTSUPP;
	if (type & KPMU_BRANCH_CALL_STACK && type & BESIDE_STACK) {
		*why = "call stacks cannot be recorded together with other branches";
		return -EINVAL;
	}
	kinds = select_kinds(type);
	/* No decoding is needed for it */
	if (x86_pmu.lbr->kind)
		kinds |= X86_BRANCH_SAVE;
	hw->branch_filter = (u64)kinds << 32 | filter;
	hw->branches = KPMU_BRANCHES_RECORDED;
	if (type & KPMU_BRANCH_CALL_STACK && type & KPMU_BRANCH_USER)
		hw->branches |= KPMU_BRANCHES_KEPT;
	/* Entries of another task are cleared in the switch */
	hw->switches = true;
	return 0;
}
