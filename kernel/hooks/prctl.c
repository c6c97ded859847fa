// SPDX-License-Identifier: GPL-2.0-only
/*
 * prctl(PR_TASK_PERF_EVENTS_DISABLE) and _ENABLE.  The kernel calls us in the
 * middle of the system call, where we may not sleep; the work is done on the
 * way out of it, before anything else of the program runs.
 */
#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>

#include "../event/event.h"
#include "../trace/stats.h"
#include "hooks.h"

struct request {
	struct callback_head work;
	enum kpmu_op op;
};

static atomic_t pending = ATOMIC_INIT(0);

static void done(void)
{
	if (atomic_dec_and_test(&pending))
		wake_up_var(&pending);
}

static void run(struct callback_head *work)
{
	struct request *r = container_of(work, struct request, work);

	kpmu_owner_control(r->op);
	kfree(r);
	done();
}

/**
 * kpmu_prctl() - current asks to switch its events
 * @op: on or off
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
	init_task_work(&r->work, run);
	atomic_inc(&pending);
	if (task_work_add(current, &r->work, TWA_RESUME)) {
		kfree(r);		/* it exits */
		done();
	}
}

/**
 * kpmu_prctl_drain() - wait until no request is on its way
 *
 * Context: module exit, the hooks gone; may sleep.
 */
void kpmu_prctl_drain(void)
{
	wait_var_event(&pending, !atomic_read(&pending));
	/* The last one may still be on its way out of our text */
	synchronize_rcu_tasks();
}
