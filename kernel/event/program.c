// SPDX-License-Identifier: GPL-2.0-only
/*
 * The BPF program of an event that is run at its overflows (BPF_PROG_TYPE_PERF_EVENT).
 * perf_event_open(2), PERF_EVENT_IOC_SET_BPF.
 *
 * An event without a program has no struct kpmu_program.  Once set, it stays until the event is
 * freed, also if the program is detached earlier: overflows read it without a lock.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/filter.h>
#include <linux/slab.h>

#include "../compat/bpf_run.h"
#include "program.h"
#include "sampling.h"

/*
 * The registers of a precise event are those of an instruction earlier than the interrupted one, and
 * do not belong to the stack as it is now.  Only the event's own call chain is sound.
 */
static bool lacks_chain(const struct kpmu_event *e, const struct bpf_prog *prog)
{
	return e->se.hw.precise && prog->call_get_stack &&
	       (!kpmu_has_chains(e) ||
		e->se.flags & (KPMU_ATTR_EXCLUDE_CALLCHAIN_KERNEL |
			       KPMU_ATTR_EXCLUDE_CALLCHAIN_USER));
}

/* An event without a sampling part never overflows, but holds its program */
static struct kpmu_program **program_of(struct kpmu_event *e)
{
	return e->sampling ? &e->sampling->program : &e->idle;
}

/**
 * kpmu_program_set() - set the program that is run at an event's overflows
 * @e: the event; the caller serializes changes of it
 * @prog: the program; on success the event takes the caller's reference
 * @cookie: for bpf_get_attach_cookie()
 *
 * Events that are inherited from @e later run it too.
 *
 * Context: task, may sleep.
 * Return: 0; -EEXIST if the event has a program; -EINVAL for another type of program; -EPROTO for one
 * that gets stacks, if the event is precise and has no whole call chain; -EOPNOTSUPP; -ENOMEM.
 */
int kpmu_program_set(struct kpmu_event *e, struct bpf_prog *prog, u64 cookie)
{
	struct kpmu_program **slot = program_of(e), *p = *slot;
	int err;

	if (p && rcu_access_pointer(p->prog))
		return -EEXIST;
	if (prog->type != BPF_PROG_TYPE_PERF_EVENT)
		return -EINVAL;
	if (lacks_chain(e, prog))
		return -EPROTO;
	err = kpmu_bpf_setup();
	if (err)
		return err;
	if (!p) {
		p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
		if (!p)
			return -ENOMEM;
		refcount_set(&p->ref, 1);
	}
	WRITE_ONCE(p->cookie, cookie);
	rcu_assign_pointer(p->prog, prog);
	smp_store_release(slot, p);  /* p->prog is set */
	return 0;
}

static void drop_prog(struct kpmu_program *p)
{
	struct bpf_prog *prog = unrcu_pointer(xchg(&p->prog, NULL));

	/* The program is freed after a grace period: overflows may still run it */
	if (prog)
		bpf_prog_put(prog);
}

/**
 * kpmu_program_unset() - detach the program of an event, also from inherited events
 * @e: the event; the caller serializes changes of it
 *
 * Context: task.
 */
void kpmu_program_unset(struct kpmu_event *e)
{
	struct kpmu_program *p = *program_of(e);

	if (p)
		drop_prog(p);
}

/**
 * kpmu_program_inherit() - let an inherited event run the program of its parent
 * @child: the inherited event, which does not run yet
 * @from: the parent task's event
 *
 * Context: the owner of @from's context, IRQs off.
 */
void kpmu_program_inherit(struct kpmu_event *child, const struct kpmu_event *from)
{
	struct kpmu_program *p;

	if (!from->sampling)
		return;
	p = READ_ONCE(from->sampling->program);
	if (p)
		refcount_inc(&p->ref);
	child->sampling->program = p;
}

/**
 * kpmu_program_leave() - drop the reference of an event without users to its program, if any
 * @e: the event; an overflow may still run the program
 *
 * Context: any but NMI.
 */
void kpmu_program_leave(struct kpmu_event *e)
{
	struct kpmu_program *p;

	if (!e->sampling && e->root)
		return;
	p = *program_of(e);
	if (!p || !refcount_dec_and_test(&p->ref))
		return;
	drop_prog(p);
	kfree_rcu(p, rcu);
}
