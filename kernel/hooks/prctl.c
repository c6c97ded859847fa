// SPDX-License-Identifier: GPL-2.0-only
/*
 * prctl(PR_TASK_PERF_EVENTS_DISABLE) and _ENABLE.  The hook is called in the middle
 * of the system call and must not sleep; the work is done on return to user mode,
 * before the program executes anything else.
 */
#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>

#include "../life/life.h"
#include "../trace/stats.h"
#include "hooks.h"

struct request {
	struct callback_head work;
	enum kpmu_op op;
};

static atomic_t pending = ATOMIC_INIT(0);

static void finish_prctl(void)
{
	if (atomic_dec_and_test(&pending))
		wake_up_var(&pending);
}

static void run_prctl_work(struct callback_head *work)
{
	struct request *r = container_of(work, struct request, work);

	kpmu_owner_control(r->op);
	kfree(r);
	finish_prctl();
}

/**
 * kpmu_prctl() - enable or disable the events of current on return to user mode
 * @op: KPMU_OP_ENABLE or KPMU_OP_DISABLE
 *
 * Context: task, may be atomic.
 */
void kpmu_prctl(enum kpmu_op op)
{
	struct request *r = kmalloc(sizeof(*r), GFP_ATOMIC);

	if (!r) {
		kpmu_stat_inc(prctls_lost);
		return;
	}
	r->op = op;
	init_task_work(&r->work, run_prctl_work);
	atomic_inc(&pending);
	if (task_work_add(current, &r->work, TWA_RESUME)) {
		kfree(r);		/* current is exiting */
		finish_prctl();
	}
}

/**
 * kpmu_prctl_drain() - wait until no request is pending
 *
 * Context: module exit, after the hooks are detached; may sleep.
 */
void kpmu_prctl_drain(void)
{
	wait_var_event(&pending, !atomic_read(&pending));
	/* The last callback may still be executing module text */
	synchronize_rcu_tasks();
}
