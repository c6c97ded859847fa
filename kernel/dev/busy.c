// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unloading is refused while files of ours are open.  The kernel does that without
 * asking us, so delete_module(2) is listened to: the log then names the processes.
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

/* Processes that are named, and no more */
#define MAX_NAMED	16

static int count(const void *n, struct file *file, unsigned int fd)
{
	if (file->f_op == &kpmu_event_fops || file->f_op == &kpmu_dev_fops)
		++*(unsigned int *)n;
	return 0;
}

/* Open files of ours in a process */
static unsigned int files_of(struct task_struct *p)
{
	unsigned int n = 0;

	task_lock(p);
	if (p->files)
		iterate_fd(p->files, 0, count, &n);
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
		pr_notice("busy: by a mapping, an fd on its way, a call, or a SIGTRAP for a task that sleeps\n");
}

static DECLARE_WORK(work, name_holders);

/**
 * kpmu_busy() - name the processes that keep the module from being unloaded
 *
 * Context: atomic.
 */
void kpmu_busy(void)
{
	queue_work(KPMU_SYSTEM_WQ, &work);
}

/* The hook is gone */
void kpmu_busy_exit(void)
{
	cancel_work_sync(&work);
}
