// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call chains of the code that an overflow interrupted.
 *
 * The length of a chain must be known before room for its record is taken in the ring.  So
 * it is collected in a buffer first; each CPU has one per context level, because a higher
 * level may interrupt a lower one.
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
#include "../compat/ksym.h"
#include "../compat/unwind.h"
#include "sample.h"

/* Context levels: task, softirq, IRQ and NMI */
#define CONTEXTS	4

static DEFINE_PER_CPU(u64 *, buffer);	/* CONTEXTS chains of @words */
static DEFINE_PER_CPU(unsigned int, busy); /* mask of levels whose buffer is in use */
static u32 words;			/* u64s of a chain: nr, frames, context markers */
static unsigned int users;		/* events with call chains */
static DEFINE_MUTEX(chains_lock);		/* guards all but @busy, and the limits */

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
 * kpmu_chains_get() - allocate the buffers for an event with call chains
 *
 * All events share them.
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
 * kpmu_chains_put() - undo kpmu_chains_get()
 *
 * The buffers stay allocated for the next event.
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
 * kpmu_chains_limit() - set a limit on the length of call chains
 * @limit: &kpmu_sysctl_max_stack or &kpmu_sysctl_max_contexts
 * @value: the new limit, in frames or context markers
 *
 * See proc(5), perf_event_max_stack.
 *
 * Context: task, may sleep.
 * Return: 0; -EBUSY while an event with call chains exists.
 */
int kpmu_chains_limit(int *limit, int value)
{
	int err = 0;

	mutex_lock(&chains_lock);
	if (users) {
		err = -EBUSY;
	} else {
		/* The last overflow of a closed event may still use a buffer */
		synchronize_rcu();
		free_buffers();
		WRITE_ONCE(*limit, value);
	}
	mutex_unlock(&chains_lock);
	return err;
}

/**
 * kpmu_chains_exit() - free the buffers
 *
 * Context: module exit, no event left.
 */
void kpmu_chains_exit(void)
{
	free_buffers();
}

/* A chain being collected: room is left for @left frames and @marks context markers */
struct collector {
	struct kpmu_frames *frames;
	u32 left;
	u32 marks;
};

static void add_marker(struct collector *c, u64 what)
{
	if (!c->marks) {
		c->left = 0;
		return;
	}
	c->marks--;
	c->frames->ip[c->frames->nr++] = what;
}

static bool add_ip(struct collector *c, u64 ip)
{
	if (!c->left)
		return false;
	c->left--;
	c->frames->ip[c->frames->nr++] = ip;
	return true;
}

/*
 * Registers saved by an interrupt or exception are a frame of their own.  Synthetic ones,
 * without the always-set bit in flags, only hold the stack pointer to start from; the
 * unwinder finds their ip.
 */
static void add_kernel(struct collector *c, struct pt_regs *regs)
{
	struct unwind_state state;
	unsigned long ip;

	if (!kpmu_regs_are_saved(regs))
		unwind_start(&state, current, NULL, (void *)regs->sp);
	else if (add_ip(c, regs->ip))
		unwind_start(&state, current, regs, NULL);
	else
		return;
	for (; !unwind_done(&state); unwind_next_frame(&state)) {
		ip = unwind_get_return_address(&state);
		if (!ip || !add_ip(c, ip))
			return;
	}
}

/* Frame pointers: each frame starts with the address of its caller's frame */
struct frame64 {
	u64 next;
	u64 ip;
};

struct frame32 {
	u32 next;
	u32 ip;
};

/* A frame this close to another one, or to the stack pointer, is on the same stack */
#define NEAR	SZ_64K

/*
 * The outermost frame of a program has 0 instead of the address of a caller's frame, and code without
 * frame pointers has small numbers, or any address.  To read there would take a page fault.
 */
static noinline bool is_far_frame(u64 at)
{
	return at >= PAGE_SIZE && at < TASK_SIZE_MAX && !(irqs_disabled() && kpmu_is_unmapped(at));
}

static __always_inline bool is_frame(u64 at, u64 last)
{
	return likely(at - last + NEAR < 2 * NEAR) || is_far_frame(at);
}

/*
 * Follow frame pointers, with page faults disabled.  The words of a frame are read one by one:
 * a block copy from an address that is not mapped faults twice, as it tries the rest again.
 */
static void add_user64(struct collector *c, u64 at, u64 last)
{
	const struct frame64 __user *frame;
	u64 next, ip;

	while (c->left && is_frame(at, last)) {
		frame = (const void __user *)at;
		if (!__access_ok(frame, sizeof(*frame)) ||
		    __get_user(next, &frame->next) || __get_user(ip, &frame->ip))
			return;
		add_ip(c, ip);
		last = at;
		at = next;
	}
}

static void add_user32(struct collector *c, u32 at, u32 last)
{
	const struct frame32 __user *frame;
	u32 next, ip;

	while (c->left && is_frame(at, last)) {
		frame = (const void __user *)(u64)at;
		if (!__access_ok(frame, sizeof(*frame)) ||
		    __get_user(next, &frame->next) || __get_user(ip, &frame->ip))
			return;
		add_ip(c, ip);
		last = at;
		at = next;
	}
}

/*
 * An NMI may interrupt a switch of page tables; then user memory must not be accessed.  If the
 * kernel's check was not found, read the first byte by a function that checks, too: if it
 * cannot be read, the chain ends there in any case.
 */
static bool may_read(u64 bp)
{
	bool known, okay = kpmu_uaccess_okay(&known);
	u8 byte;

	if (known)
		return okay;
	return !copy_from_user_nmi(&byte, (void __user *)bp, sizeof(byte));
}

static void add_user(struct collector *c, const struct pt_regs *regs)
{
	bool is_64bit = user_64bit_mode((struct pt_regs *)regs);
	u64 bp = is_64bit ? regs->bp : (u32)regs->bp;

	add_ip(c, regs->ip);
	if (!may_read(bp))
		return;
	pagefault_disable();
	if (is_64bit)
		add_user64(c, bp, regs->sp);
	else
		add_user32(c, bp, regs->sp);
	pagefault_enable();
}

/**
 * kpmu_chain_take() - collect the call chain of an overflow
 * @e: the event
 * @hit: details of the hit, from the event's source
 *
 * The chain of a hit in a guest has no frames.  With defer_callchain, the user part is a cookie: the
 * stack follows in a record, see kpmu_side_deferred().
 *
 * Collecting may itself hit an event, for example by a page fault.  The sample of that
 * event has no chain.
 *
 * Context: any, including NMI; preemption off until kpmu_chain_done().
 * Return: the chain, to be released by kpmu_chain_done(); NULL if there is none.
 */
const struct kpmu_frames *kpmu_chain_take(const struct kpmu_event *e,
					  const struct kpmu_hit *hit)
{
	struct pt_regs *regs = hit->frames ?: hit->regs;
	bool user = !(e->se.flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_USER) &&
		    kpmu_is_user_task(current) && current->mm &&
		    kpmu_task_of(e) == current;
	bool kernel = !(e->se.flags & KPMU_ATTR_EXCLUDE_CALLCHAIN_KERNEL);
	struct collector c = {
		.left = unlikely(hit->guest) ? 0 : min_t(u32, e->sampling->max_stack,
							 READ_ONCE(kpmu_sysctl_max_stack)),
		.marks = READ_ONCE(kpmu_sysctl_max_contexts),
	};
	int level = interrupt_context_level();
	u64 cookie;

	if (!user && !kernel)
		return NULL;
	if (__this_cpu_read(busy) & BIT(level))
		return NULL;
	this_cpu_or(busy, BIT(level));
	barrier();
	c.frames = (void *)(__this_cpu_read(buffer) + level * words);
	c.frames->nr = 0;
	if (kernel && !user_mode(regs)) {
		add_marker(&c, PERF_CONTEXT_KERNEL);
		add_kernel(&c, regs);
	}
	if (user && unlikely(e->se.flags & KPMU_ATTR_DEFER_CALLCHAIN) &&
	    kpmu_unwind_request(&cookie)) {
		add_marker(&c, KPMU_CONTEXT_USER_DEFERRED);
		add_marker(&c, cookie);
	} else if (user) {
		add_marker(&c, PERF_CONTEXT_USER);
		add_user(&c, user_mode(regs) ? regs : task_pt_regs(current));
	}
	return c.frames;
}

/**
 * kpmu_chain_done() - release a chain's buffer
 *
 * Context: that of the kpmu_chain_take() that returned the chain.
 */
void kpmu_chain_done(void)
{
	barrier();
	this_cpu_and(busy, ~BIT(interrupt_context_level()));
}
