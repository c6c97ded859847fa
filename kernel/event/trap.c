// SPDX-License-Identifier: GPL-2.0-only
/*
 * sigtrap: the thread whose event overflows gets a SIGTRAP before it executes
 * anything more in user mode.  perf_event_open(2), sigtrap.
 *
 * There are two steps from the NMI to the signal: an irq_work, which adds a task_work to
 * the thread, and the task_work, which runs on return to user mode.  The event may be
 * freed by then, so both use a separate object.
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
 * struct kpmu_trap - a SIGTRAP to be sent
 * @irq: first step
 * @work: second step
 * @task: the task to signal; held from the overflow until the trap is done
 * @addr: si_addr, the address of the overflow
 * @data: sig_data of the attr
 * @type: type of the attr
 * @pending: the steps are in progress; further overflows send no signal of their own
 * @dead: the event has left the task's context, so send nothing
 * @ref: held by the event and by the steps in progress
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

/* Number of pending traps, plus one for the module */
static atomic_t under_way = ATOMIC_INIT(1);

/* Set when the first event with sigtrap is opened; fork allocates no traps before */
static bool used;

static void put_trap(struct kpmu_trap *t)
{
	if (refcount_dec_and_test(&t->ref))
		kfree(t);
}

static void finish_trap(struct kpmu_trap *t)
{
	put_task_struct(t->task);
	atomic_set(&t->pending, 0);
	put_trap(t);
	if (atomic_dec_and_test(&under_way))
		wake_up_var(&under_way);
}

/*
 * A forced signal would kill a task that blocks SIGTRAP.  A normal one is delivered later,
 * marked as asynchronous.
 */
static void send_trap(const struct kpmu_trap *t)
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

static void run_trap_work(struct callback_head *work)
{
	struct kpmu_trap *t = container_of(work, struct kpmu_trap, work);

	if (!READ_ONCE(t->dead) && !(current->flags & PF_EXITING))
		send_trap(t);
	finish_trap(t);
	module_put(THIS_MODULE);
}

static void queue_trap_work(struct irq_work *irq)
{
	struct kpmu_trap *t = container_of(irq, struct kpmu_trap, irq);

	/* The task may sleep for long: refuse to unload meanwhile, rather than wait for it */
	if (!try_module_get(THIS_MODULE)) {
		finish_trap(t);
		return;
	}
	init_task_work(&t->work, run_trap_work);
	if (!task_work_add(t->task, &t->work, TWA_RESUME))
		return;
	finish_trap(t);		/* the task exits */
	module_put(THIS_MODULE);
}

static struct kpmu_trap *alloc_trap(gfp_t gfp)
{
	struct kpmu_trap *t = kzalloc(sizeof(*t), gfp);

	if (!t)
		return NULL;
	init_irq_work(&t->irq, queue_trap_work);
	refcount_set(&t->ref, 1);
	return t;
}

/**
 * kpmu_trap_new() - allocate the trap of an event with sigtrap
 * @type: attr.type
 * @data: attr.sig_data
 *
 * Context: task, may sleep.
 * Return: the trap, or NULL.
 */
struct kpmu_trap *kpmu_trap_new(u32 type, u64 data)
{
	struct kpmu_trap *t = alloc_trap(GFP_KERNEL);

	if (!t)
		return NULL;
	t->type = type;
	t->data = data;
	WRITE_ONCE(used, true);
	return t;
}

/**
 * kpmu_trap_blank() - allocate memory for kpmu_trap_clone()
 * @t: set to the memory, or to NULL if there never was an event with sigtrap
 *
 * Context: any but NMI, with no raw spinlock held.
 * Return: false if there is no memory.
 */
bool kpmu_trap_blank(struct kpmu_trap **t)
{
	*t = NULL;
	if (!READ_ONCE(used))
		return true;
	*t = alloc_trap(GFP_ATOMIC | __GFP_NOWARN);
	return *t;
}

/**
 * kpmu_trap_clone() - set up the trap of an inherited event
 * @t: from kpmu_trap_blank(), may be NULL; freed if @from is NULL
 * @from: the parent's, may be NULL
 *
 * Context: any but NMI.
 * Return: @t, or NULL if either is NULL.
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
 * kpmu_trap_end() - send no more signals, as the event has left its context
 * @t: its trap, or NULL
 *
 * Context: any.
 */
void kpmu_trap_end(struct kpmu_trap *t)
{
	if (t)
		WRITE_ONCE(t->dead, true);
}

/**
 * kpmu_trap_put() - drop the event's reference to its trap
 * @t: the trap, or NULL
 *
 * Context: any but NMI.
 */
void kpmu_trap_put(struct kpmu_trap *t)
{
	if (t)
		put_trap(t);
}

/**
 * kpmu_trap_raise() - send a SIGTRAP for an overflow
 * @e: the event, with sigtrap
 * @hit: details from the source
 *
 * The overflow of an event that excludes the kernel may be noticed late, in the kernel.
 * The signal is sent then too, but without the address, which would be unrelated.
 *
 * Context: NMI or IRQs off, on the CPU where the event counts.
 */
void kpmu_trap_raise(struct kpmu_event *e, const struct kpmu_hit *hit)
{
	struct kpmu_trap *t = e->sampling->trap;
	bool right = !(e->se.flags & KPMU_ATTR_EXCLUDE_KERNEL) ||
		     user_mode(hit->regs);

	if (!e->se.ctx->task || atomic_xchg(&t->pending, 1))
		return;
	t->task = e->se.ctx->task;
	t->addr = right ? hit->addr : 0;
	get_task_struct(t->task);
	refcount_inc(&t->ref);
	atomic_inc(&under_way);
	irq_work_queue(&t->irq);
}
NOKPROBE_SYMBOL(kpmu_trap_raise);

/**
 * kpmu_traps_exit() - wait until no signal is pending
 *
 * Context: module exit, no event left; may sleep.
 */
void kpmu_traps_exit(void)
{
	atomic_dec(&under_way);
	wait_var_event(&under_way, !atomic_read(&under_way));
	/* The last callback may still be executing the module's code */
	synchronize_rcu_tasks();
}
