// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call chains: who called whom down to where an event overflowed.
 *
 * A chain is collected before its record has room, because nobody knows its
 * length: in a buffer for each context that can interrupt another.
 */
#include <linux/cpumask.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <asm/unwind.h>

#include "../compat/compat.h"
#include "sample.h"

/* Task, softirq, IRQ and NMI */
#define CONTEXTS	4

static DEFINE_PER_CPU(u64 *, buffer);	/* CONTEXTS times @words */
static DEFINE_PER_CPU(unsigned int, busy); /* contexts whose part is in use, a bit each */
static u32 words;			/* of one chain: nr, frames, marks */
static unsigned int users;		/* events with chains */
static DEFINE_MUTEX(chains_lock);		/* of these, and of the limits */

static void free_buffers(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		kvfree(per_cpu(buffer, cpu));
		per_cpu(buffer, cpu) = NULL;
	}
	words = 0;
}

static int alloc_buffers(void)
{
	u32 n = 1 + kpmu_sysctl_max_stack + kpmu_sysctl_max_contexts;
	int cpu;

	for_each_possible_cpu(cpu) {
		per_cpu(buffer, cpu) = kvmalloc_node(CONTEXTS * n * sizeof(u64),
						     GFP_KERNEL,
						     cpu_to_node(cpu));
		if (!per_cpu(buffer, cpu)) {
			free_buffers();
			return -ENOMEM;
		}
	}
	words = n;
	return 0;
}

/**
 * kpmu_chains_get() - an event wants call chains: have room to collect them
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOMEM.
 */
int kpmu_chains_get(void)
{
	int err = 0;

	mutex_lock(&chains_lock);
	if (!words)
		err = alloc_buffers();
	if (!err)
		users++;
	mutex_unlock(&chains_lock);
	return err;
}

/**
 * kpmu_chains_put() - it wants no more
 *
 * The room stays for the next one.
 *
 * Context: task, may sleep.
 */
void kpmu_chains_put(void)
{
	mutex_lock(&chains_lock);
	users--;
	mutex_unlock(&chains_lock);
}

/**
 * kpmu_chains_limit() - how long chains may be
 * @limit: &kpmu_sysctl_max_stack or &kpmu_sysctl_max_contexts
 * @value: what it becomes
 *
 * Context: task, may sleep.  proc(5), perf_event_max_stack.
 * Return: 0; -EBUSY while there is an event with chains.
 */
int kpmu_chains_limit(int *limit, int value)
{
	int err = 0;

	mutex_lock(&chains_lock);
	if (users) {
		err = -EBUSY;
	} else {
		/* The last overflow of an event that has gone may be at it yet */
		synchronize_rcu();
		free_buffers();
		WRITE_ONCE(*limit, value);
	}
	mutex_unlock(&chains_lock);
	return err;
}

/* No event is left */
void kpmu_chains_exit(void)
{
	free_buffers();
}

/* A chain being collected: @left frames and @marks marks may follow */
struct collector {
	struct kpmu_frames *frames;
	u32 left;
	u32 marks;
};

static void mark(struct collector *c, u64 what)
{
	if (!c->marks) {
		c->left = 0;
		return;
	}
	c->marks--;
	c->frames->ip[c->frames->nr++] = what;
}

static bool add(struct collector *c, u64 ip)
{
	if (!c->left)
		return false;
	c->left--;
	c->frames->ip[c->frames->nr++] = ip;
	return true;
}

/*
 * Registers that the hardware saved are a frame of their own.  Others hold no more than
 * where to begin, and their ip is found on the way.
 */
static void add_kernel(struct collector *c, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long ip;

	if (!(regs->flags & X86_EFLAGS_FIXED))
		unwind_start(&state, current, NULL, (void *)regs->sp);
	else if (add(c, regs->ip))
		unwind_start(&state, current, regs, NULL);
	else
		return;
	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		ip = unwind_get_return_address(&state);
		if (!ip || !add(c, ip))
			return;
	}
}

/* Frame pointers: each frame begins with the address of the one before */
struct frame64 {
	u64 next;
	u64 ip;
};

struct frame32 {
	u32 next;
	u32 ip;
};

static void add_user64(struct collector *c, u64 at)
{
	struct frame64 frame;

	while (c->left && !copy_from_user_nmi(&frame, (void __user *)at,
					      sizeof(frame))) {
		add(c, frame.ip);
		at = frame.next;
	}
}

static void add_user32(struct collector *c, u32 at)
{
	struct frame32 frame;

	while (c->left && !copy_from_user_nmi(&frame, (void __user *)(u64)at,
					      sizeof(frame))) {
		add(c, frame.ip);
		at = frame.next;
	}
}

static void add_user(struct collector *c, const struct pt_regs *regs)
{
	add(c, regs->ip);
	if (user_64bit_mode((struct pt_regs *)regs))
		add_user64(c, regs->bp);
	else
		add_user32(c, regs->bp);
}

/**
 * kpmu_chain_take() - collect the call chain of this moment
 * @e: the event
 * @regs: registers at its overflow
 *
 * To collect it may hit another event, by a page fault say.  That one has no chain then.
 *
 * Context: any, NMI too; preemption off until kpmu_chain_done().
 * Return: the chain, to be given back by kpmu_chain_done(); NULL if there is to be none.
 */
const struct kpmu_frames *kpmu_chain_take(const struct kpmu_event *e,
					  struct pt_regs *regs)
{
	bool user = !(e->flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_USER) &&
		    kpmu_is_user_task(current) && current->mm &&
		    kpmu_task_of(e) == current;
	bool kernel = !(e->flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_KERNEL);
	struct collector c = {
		.left = min_t(u32, e->sampling->max_stack,
			      READ_ONCE(kpmu_sysctl_max_stack)),
		.marks = READ_ONCE(kpmu_sysctl_max_contexts),
	};
	int level = interrupt_context_level();

	if (!user && !kernel)
		return NULL;
	if (__this_cpu_read(busy) & BIT(level))
		return NULL;
	this_cpu_or(busy, BIT(level));
	barrier();
	c.frames = (void *)(__this_cpu_read(buffer) + level * words);
	c.frames->nr = 0;
	if (kernel && !user_mode(regs)) {
		mark(&c, PERF_CONTEXT_KERNEL);
		add_kernel(&c, regs);
	}
	if (user) {
		mark(&c, PERF_CONTEXT_USER);
		add_user(&c, user_mode(regs) ? regs : task_pt_regs(current));
	}
	return c.frames;
}

/**
 * kpmu_chain_done() - a chain is not looked at any more
 *
 * Context: that of kpmu_chain_take(), which did not return NULL.
 */
void kpmu_chain_done(void)
{
	barrier();
	this_cpu_and(busy, ~BIT(interrupt_context_level()));
}
