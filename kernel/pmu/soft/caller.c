// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caller of the scheduler, where the kernel's own perf locates a task switch.
 *
 * The stack, from its top: the frames of kpmu; that of the tracepoint's iterator, if the tracepoint
 * has several probes; that of the function with the tracepoint; the caller.  Unwinding
 * them takes thousands of instructions.  But frames have a fixed size at a given instruction.
 * So the first switch of each kind is unwound, and the offsets at which the return addresses were
 * found are kept; later switches of this kind only compare what is there.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>

#include "../../compat/compat.h"
#include "../../source/source.h"
#include "soft.h"

/**
 * struct route - from kpmu's frame to the caller of the scheduler
 * @probe_at: offset of the slot with the return address of kpmu's probe
 * @probe_ip: that address, in the function with the tracepoint or in the iterator
 * @caller_at: offset of the slot with an address in the caller
 */
struct route {
	unsigned long probe_at;
	unsigned long probe_ip;
	unsigned long caller_at;
};

/* Called directly and by the iterator; the compiler may have copied the tracepoint */
#define ROUTES	4

/* There are about eight: functions that sleep, yield or preempt in different ways */
#define CALLERS	16

/* Entries are added, and never changed: a reader sees the first @nr_* of them */
static struct route routes[ROUTES];
static unsigned int nr_routes;
static unsigned long callers[CALLERS];
static unsigned int nr_callers;

/* Set while a CPU adds entries; another one does not wait, but learns later */
static atomic_t learning;

static unsigned long iterator;

/* See source.h */
void kpmu_software_told_by(const void *fn)
{
	iterator = (unsigned long)fn;
}

#define ITERATOR_SIZE	256	/* upper bound: the function is a loop around a call */

/* An aligned word of this task's stack, which may belong to any frame; 0 beyond its end */
static unsigned long word_at(unsigned long at)
{
	if (unlikely(at - (unsigned long)task_stack_page(current) > THREAD_SIZE - sizeof(at)))
		return 0;
	return READ_ONCE_NOCHECK(*(unsigned long *)at);
}

static bool is_caller(unsigned long ip)
{
	/* The entries below the number are complete; pairs with learn() */
	unsigned int i, n = smp_load_acquire(&nr_callers);

	for (i = 0; i < n; i++)
		if (callers[i] == ip)
			return true;
	return false;
}

static const struct route *find_route(unsigned long frame)
{
	/* As in is_caller() */
	unsigned int i, n = smp_load_acquire(&nr_routes);

	for (i = 0; i < n; i++)
		if (word_at(frame + routes[i].probe_at) == routes[i].probe_ip)
			return &routes[i];
	return NULL;
}

static void learn(unsigned long frame, const struct route *route, unsigned long ip)
{
	/* A function tracer may have replaced a return address on the stack */
	if (word_at(frame + route->probe_at) != route->probe_ip ||
	    word_at(frame + route->caller_at) != ip)
		return;
	if (atomic_cmpxchg_acquire(&learning, 0, 1))
		return;
	if (!find_route(frame) && nr_routes < ROUTES) {
		routes[nr_routes] = *route;
		/* The entry before the number; pairs with find_route() */
		smp_store_release(&nr_routes, nr_routes + 1);
	}
	if (!is_caller(ip) && nr_callers < CALLERS) {
		callers[nr_callers] = ip;
		/* The entry before the number; pairs with is_caller() */
		smp_store_release(&nr_callers, nr_callers + 1);
	}
	atomic_set_release(&learning, 0);
}

static noinline void unwind_to_caller(struct pt_regs *regs)
{
	unsigned long frame = regs->sp, ip;
	struct route route = { };
	struct unwind_state state;
	bool next = false;

	for (unwind_start(&state, current, NULL, NULL); !unwind_done(&state);
	     unwind_next_frame(&state)) {
		ip = unwind_get_return_address(&state);
		if (!ip)
			return;
		if (within_module_core(ip, THIS_MODULE))
			continue;
		if (!route.probe_ip) {
			route.probe_ip = ip;
			route.probe_at = kpmu_unwind_below(&state) - frame;
		}
		if (ip - iterator < ITERATOR_SIZE)
			continue;
		if (next) {
			regs->ip = ip;
			regs->sp = kpmu_unwind_below(&state);
			route.caller_at = regs->sp - frame;
			learn(frame, &route, ip);
			return;
		}
		next = true;
	}
}

/**
 * soft_find_caller() - replace the registers of a switch by those of the scheduler's caller
 * @regs: from perf_fetch_caller_regs() in the function that the probe of sched_switch
 *	calls, which must always be the same
 *
 * Only the instruction pointer, and the stack pointer to unwind from, are set.
 *
 * Context: in a probe of sched_switch.
 */
void soft_find_caller(struct pt_regs *regs)
{
	const struct route *route = find_route(regs->sp);
	unsigned long at, ip;

	if (route) {
		at = regs->sp + route->caller_at;
		ip = word_at(at);
		if (likely(is_caller(ip))) {
			regs->ip = ip;
			regs->sp = at;
			return;
		}
	}
	unwind_to_caller(regs);
}
