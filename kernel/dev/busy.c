// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unloading is refused while files of kpmu are open.  The kernel does that without
 * calling the module, so delete_module(2) is hooked to log the processes that have
 * them open.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/workqueue.h>

#include "../compat/compat.h"
#include "../hooks/hooks.h"
#include "dev.h"

/* Maximum number of processes in the log */
#define MAX_NAMED	16

static int count_file(const void *n, struct file *file, unsigned int fd)
{
	if (file->f_op == &kpmu_event_fops || file->f_op == &kpmu_dev_fops ||
	    file->f_op == &kpmu_set_fops)
		++*(unsigned int *)n;
	return 0;
}

/* Number of kpmu files that a process has open */
static unsigned int files_of(struct task_struct *p)
{
	unsigned int n = 0;

	task_lock(p);
	if (p->files)
		iterate_fd(p->files, 0, count_file, &n);
	task_unlock(p);
	return n;
}

static void name_holders(struct work_struct *work)
{
	struct task_struct *p;
	int named = 0;

	rcu_read_lock();
	for_each_process(p) {
		unsigned int n = files_of(p);

		if (!n)
			continue;
		if (named++ == MAX_NAMED) {
			pr_notice("busy: and more\n");
			break;
		}
		pr_notice("busy: %s (pid %d) has %u of its files open\n",
			  p->comm, task_tgid_nr(p), n);
	}
	rcu_read_unlock();
	if (!named)
		pr_notice("busy: a mapping, an fd in an unread message, a running call, a PMU driver, or a SIGTRAP pending for a sleeping task\n");
}

static DECLARE_WORK(work, name_holders);

/**
 * kpmu_busy() - log the processes that keep the module from being unloaded
 *
 * Context: any but NMI.
 */
void kpmu_busy(void)
{
	queue_work(KPMU_SYSTEM_WQ, &work);
}

/**
 * kpmu_busy_exit() - wait for kpmu_busy() to complete
 *
 * Context: module exit, after kpmu_hooks_exit(); may sleep.
 */
void kpmu_busy_exit(void)
{
	cancel_work_sync(&work);
}
