// SPDX-License-Identifier: GPL-2.0-only
/* COMM, FORK and EXIT records.  perf_event_open(2), PERF_RECORD_COMM and following. */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "side_band.h"

struct comm {
	struct task_struct *task;
	bool exec;
	u32 size;		/* of @name, including padding */
	char name[ALIGN(TASK_COMM_LEN, sizeof(u64))];
};

static void comm_record(struct kpmu_event *e, void *data)
{
	struct comm *c = data;
	struct kpmu_record r;
	u64 ids = kpmu_record_ids(e, c->task);

	if (!kpmu_record_begin(&r, e, PERF_RECORD_COMM,
			       c->exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
			       sizeof(ids) + c->size))
		return;
	kpmu_record_put(&r, &ids, sizeof(ids));
	kpmu_record_put(&r, c->name, c->size);
	kpmu_record_end(&r);
}

/**
 * kpmu_side_comm() - write COMM records for a task with a new name
 * @task: current, or a thread of the same process
 * @exec: the name was set by exec
 *
 * Context: task, may be atomic.
 */
void kpmu_side_comm(struct task_struct *task, bool exec)
{
	struct comm c = { .task = task, .exec = exec };

	if (!kpmu_side_wanted(KPMU_ATTR_COMM))
		return;
	strscpy(c.name, task->comm, TASK_COMM_LEN);
	c.size = ALIGN(strlen(c.name) + 1, sizeof(u64));
	kpmu_side_write(KPMU_ATTR_COMM, comm_record, &c);
}

/**
 * kpmu_side_task() - write a FORK or EXIT record
 * @e: the event
 * @type: PERF_RECORD_FORK or PERF_RECORD_EXIT
 * @task: the new child of current, or the exiting task
 *
 * Context: IRQs off, on the CPU that the event's records come from.
 */
void kpmu_side_task(struct kpmu_event *e, u32 type, struct task_struct *task)
{
	struct {
		u32 pid, ppid, tid, ptid;
		u64 time;
	} body;
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, type, 0, sizeof(body)))
		return;
	body.pid = kpmu_record_pid(e, task);
	body.tid = kpmu_record_tid(e, task);
	rcu_read_lock();
	if (type == PERF_RECORD_FORK) {
		body.ppid = kpmu_record_pid(e, current);
		body.ptid = kpmu_record_tid(e, current);
	} else {
		/* As upstream, the parent's process id serves as its thread id */
		body.ppid = kpmu_record_pid(e, rcu_dereference(task->real_parent));
		body.ptid = body.ppid;
	}
	rcu_read_unlock();
	body.time = kpmu_record_clock(e);
	kpmu_record_put(&r, &body, sizeof(body));
	kpmu_record_end(&r);
}

static void fork_record(struct kpmu_event *e, void *task)
{
	kpmu_side_task(e, PERF_RECORD_FORK, task);
}

/**
 * kpmu_side_fork() - write FORK records
 * @task: the new child of current, which has not run yet
 *
 * Context: task, may be atomic.
 */
void kpmu_side_fork(struct task_struct *task)
{
	kpmu_side_write(KPMU_SIDE_TASK, fork_record, task);
}
