// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call chains: who called whom down to where an event overflowed.
 *
 * A chain is collected before its record has room, because nobody knows its
 * length: in a buffer for each context that can interrupt another.
 */
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/unwind.h>

#include "../compat/compat.h"
#include "sample.h"

/* One mark for the kernel's part of a chain, one for the user's */
#define MARKS	2
#define CONTEXTS	4

struct buffers {
	u64 words[CONTEXTS][1 + KPMU_MAX_STACK + MARKS];
};

static struct buffers __percpu *buffers;
static DEFINE_MUTEX(lock);

/**
 * kpmu_chains_get() - an event wants call chains: have room to collect them
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOMEM.
 */
int kpmu_chains_get(void)
{
	int err = 0;

	mutex_lock(&lock);
	if (!buffers)
		buffers = alloc_percpu(struct buffers);
	if (!buffers)
		err = -ENOMEM;
	mutex_unlock(&lock);
	return err;
}

/* No event is left */
void kpmu_chains_exit(void)
{
	free_percpu(buffers);
}

/* A chain being collected: @left frames may follow */
struct collector {
	struct kpmu_frames *frames;
	u32 left;
};

static void mark(struct collector *c, u64 what)
{
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
 * Registers that the hardware saved say where the caller's frame is; others
 * hold no more than ip, sp and bp.
 */
static void add_kernel(struct collector *c, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long ip;

	if (!add(c, regs->ip))
		return;
	if (regs->flags & X86_EFLAGS_FIXED)
		unwind_start(&state, current, regs, NULL);
	else
		unwind_start(&state, current, NULL, (void *)regs->sp);
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
 * Context: any, NMI too; preemption off while the result is in use, in
 * which time nobody of the same context calls this.
 * Return: the chain, NULL if there is to be none.
 */
const struct kpmu_frames *kpmu_chain_take(const struct kpmu_event *e,
					  struct pt_regs *regs)
{
	bool user = !(e->flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_USER) &&
		    kpmu_is_user_task(current) && current->mm &&
		    kpmu_task_of(e) == current;
	bool kernel = !(e->flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_KERNEL);
	struct collector c = { .left = e->sampling->max_stack };
	struct buffers *b;

	if (!user && !kernel)
		return NULL;
	b = this_cpu_ptr(buffers);
	c.frames = (void *)b->words[interrupt_context_level()];
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
