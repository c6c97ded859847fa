// SPDX-License-Identifier: GPL-2.0-only
/*
 * sigtrap: the thread whose event overflows gets a SIGTRAP before it executes
 * anything more in user mode.  perf_event_open(2), sigtrap.
 *
 * From the NMI to the signal it takes two steps: an irq_work, which may give the
 * thread work to do, and that work on the thread's way back to user mode.  The
 * event may be gone by then, so what they need is kept apart from it.
 */
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>

#include "../sched/sched.h"
#include "sampling.h"

/**
 * struct kpmu_trap - a SIGTRAP to come
 * @irq: first step
 * @work: second step
 * @task: who gets it; held from the first overflow to the signal
 * @addr: the address that it is about
 * @data: sig_data of the attr
 * @type: of the attr
 * @pending: it is on its way; further overflows until then are not told
 * @dead: its event is no more part of the task, so do not send it
 * @ref: the event, and whoever is to send it
 */
struct kpmu_trap {
	struct irq_work irq;
	struct callback_head work;
	struct task_struct *task;
	u64 addr;
	u64 data;
	u32 type;
	atomic_t pending;
	bool dead;
	refcount_t ref;
};

/* On their way; and one for the module */
static atomic_t under_way = ATOMIC_INIT(1);

/* Events with sigtrap, ever: while there was none, no fork needs to think of it */
static bool used;

static void put(struct kpmu_trap *t)
{
	if (refcount_dec_and_test(&t->ref))
		kfree(t);
}

static void done(struct kpmu_trap *t)
{
	put_task_struct(t->task);
	atomic_set(&t->pending, 0);
	put(t);
	if (atomic_dec_and_test(&under_way))
		wake_up_var(&under_way);
}

/* Who has blocked it must not die of it: it comes late, and says so */
static void send(const struct kpmu_trap *t)
{
	struct kernel_siginfo info;

	clear_siginfo(&info);
	info.si_signo = SIGTRAP;
	info.si_code = TRAP_PERF;
	info.si_addr = (void __user *)t->addr;
	info.si_perf_data = t->data;
	info.si_perf_type = t->type;
	info.si_perf_flags = sigismember(&current->blocked, SIGTRAP) ?
			     TRAP_PERF_FLAG_ASYNC : 0;
	send_sig_info(SIGTRAP, &info, current);
}

static void run(struct callback_head *work)
{
	struct kpmu_trap *t = container_of(work, struct kpmu_trap, work);

	if (!READ_ONCE(t->dead) && !(current->flags & PF_EXITING))
		send(t);
	done(t);
	module_put(THIS_MODULE);
}

static void give_work(struct irq_work *irq)
{
	struct kpmu_trap *t = container_of(irq, struct kpmu_trap, irq);

	/* The task may sleep for long: unloading is refused then, and does not wait */
	if (!try_module_get(THIS_MODULE)) {
		done(t);
		return;
	}
	init_task_work(&t->work, run);
	if (!task_work_add(t->task, &t->work, TWA_RESUME))
		return;
	done(t);		/* it exits */
	module_put(THIS_MODULE);
}

static struct kpmu_trap *make(gfp_t gfp)
{
	struct kpmu_trap *t = kzalloc(sizeof(*t), gfp);

	if (!t)
		return NULL;
	init_irq_work(&t->irq, give_work);
	refcount_set(&t->ref, 1);
	return t;
}

/**
 * kpmu_trap_new() - what an event with sigtrap needs
 * @type: attr.type
 * @data: attr.sig_data
 *
 * Context: task, may sleep.
 * Return: it, or NULL.
 */
struct kpmu_trap *kpmu_trap_new(u32 type, u64 data)
{
	struct kpmu_trap *t = make(GFP_KERNEL);

	if (!t)
		return NULL;
	t->type = type;
	t->data = data;
	WRITE_ONCE(used, true);
	return t;
}

/**
 * kpmu_trap_blank() - the same for an event that may be inherited
 * @t: set to memory for kpmu_trap_clone(), or to NULL if nobody uses sigtrap
 *
 * Context: any but NMI, with no raw spinlock held.
 * Return: false if there is no memory.
 */
bool kpmu_trap_blank(struct kpmu_trap **t)
{
	*t = NULL;
	if (!READ_ONCE(used))
		return true;
	*t = make(GFP_ATOMIC | __GFP_NOWARN);
	return *t;
}

/**
 * kpmu_trap_clone() - a child's is like its parent's
 * @t: from kpmu_trap_blank(), may be NULL
 * @from: the parent's, may be NULL
 *
 * Return: @t if the child has one.
 */
struct kpmu_trap *kpmu_trap_clone(struct kpmu_trap *t,
				  const struct kpmu_trap *from)
{
	if (t && from) {
		t->type = from->type;
		t->data = from->data;
		return t;
	}
	kpmu_trap_put(t);
	return NULL;
}

/**
 * kpmu_trap_end() - the event does not belong to its task any more
 * @t: its trap, or NULL
 *
 * Context: any.
 */
void kpmu_trap_end(struct kpmu_trap *t)
{
	if (t)
		WRITE_ONCE(t->dead, true);
}

void kpmu_trap_put(struct kpmu_trap *t)
{
	if (t)
		put(t);
}

/**
 * kpmu_trap() - an event with sigtrap has overflowed
 * @e: the event, of the task that runs here
 * @hit: what its source knows
 *
 * An event for user mode may be noticed late, in the kernel: the signal comes all
 * the same, but without the address, which would be of something else.
 *
 * Context: NMI or IRQs off, where the event is.
 */
void kpmu_trap(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	struct kpmu_trap *t = e->sampling->trap;
	bool right = !(e->flags & KPMU_ATTR_EXCLUDE_KERNEL) ||
		     user_mode(hit->regs);

	if (!e->ctx->task || atomic_xchg(&t->pending, 1))
		return;
	t->task = e->ctx->task;
	t->addr = right ? hit->addr : 0;
	get_task_struct(t->task);
	refcount_inc(&t->ref);
	atomic_inc(&under_way);
	irq_work_queue(&t->irq);
}
NOKPROBE_SYMBOL(kpmu_trap);

/**
 * kpmu_traps_exit() - wait until no signal is on its way
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_traps_exit(void)
{
	atomic_dec(&under_way);
	wait_var_event(&under_way, !atomic_read(&under_way));
	/* The last one may still be on its way out of our text */
	synchronize_rcu_tasks();
}
