// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call stacks of tasks without events, for events of CPUs: a table in which a task finds the
 * room for its own by a hash.  It exists while there are such events, so that its memory is
 * bounded, and no task has to be followed from its fork to its exit.  Two tasks with the same
 * room take it from each other, and a stack that was taken is lost: the room has the name of
 * its task, so it is never seen by another one.
 *
 * A task switch holds the run-queue lock and does not wait: if the room is in use on another
 * CPU, the stack is lost as well.
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "lbr.h"

#define ROOMS_SHIFT	12

/**
 * struct room - room for a call stack
 * @busy: a CPU uses it
 * @task: task whose stack it has; only compared, together with @born
 * @born: when this task was created: its memory may be that of another one now
 * @store: the stack
 */
struct room {
	atomic_t busy;
	const struct task_struct *task;
	u64 born;
	struct x86_lbr_store store;
};

struct table {
	struct rcu_head rcu;
	struct room rooms[1 << ROOMS_SHIFT];
};

static DEFINE_MUTEX(rooms_lock);
static struct table __rcu *table;
static unsigned int users;	/* under rooms_lock */

/**
 * x86_stacks_get() - keep call stacks of all tasks for one more event
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOMEM.
 */
int x86_stacks_get(void)
{
	struct table *t;

	mutex_lock(&rooms_lock);
	if (!users) {
		t = kvzalloc(sizeof(*t), GFP_KERNEL);
		if (!t) {
			mutex_unlock(&rooms_lock);
			return -ENOMEM;
		}
		rcu_assign_pointer(table, t);
	}
	users++;
	mutex_unlock(&rooms_lock);
	return 0;
}

static void free_table(struct rcu_head *rcu)
{
	kvfree(container_of(rcu, struct table, rcu));
}

/**
 * x86_stacks_put() - the end of an event for which x86_stacks_get() was called
 *
 * Context: task, may sleep.
 */
void x86_stacks_put(void)
{
	struct table *t;

	mutex_lock(&rooms_lock);
	if (!--users) {
		t = rcu_replace_pointer(table, NULL, lockdep_is_held(&rooms_lock));
		call_rcu(&t->rcu, free_table);
	}
	mutex_unlock(&rooms_lock);
}

/* The room of a task, in use by this CPU; NULL if there is none or another CPU uses it */
static struct room *lock_room(const struct task_struct *task)
{
	/* IRQs are off, so the table stays */
	struct table *t = rcu_dereference_sched(table);
	struct room *r;

	if (!t)
		return NULL;
	r = &t->rooms[hash_ptr(task, ROOMS_SHIFT)];
	return atomic_cmpxchg_acquire(&r->busy, 0, 1) ? NULL : r;
}

/**
 * x86_stack_claim() - room to keep the call stack of the outgoing task
 * @task: the task
 *
 * Context: a task switch, IRQs off.
 * Return: the room, for x86_stack_done(); NULL if there is none.
 */
struct x86_lbr_store *x86_stack_claim(const struct task_struct *task)
{
	struct room *r = lock_room(task);

	if (!r)
		return NULL;
	r->task = task;
	r->born = task->start_boottime;
	r->store.valid = false;
	return &r->store;
}

/**
 * x86_stack_find() - the call stack that was kept of the incoming task
 * @task: the task
 *
 * Context: a task switch, IRQs off.
 * Return: the stack, for x86_stack_done(); NULL if there is none.
 */
struct x86_lbr_store *x86_stack_find(const struct task_struct *task)
{
	struct room *r = lock_room(task);

	if (!r)
		return NULL;
	if (r->task == task && r->born == task->start_boottime)
		return &r->store;
	x86_stack_done(&r->store);
	return NULL;
}

/**
 * x86_stack_done() - the end of the use of a room
 * @store: what x86_stack_claim() or x86_stack_find() returned
 *
 * Context: that of the call which returned it.
 */
void x86_stack_done(struct x86_lbr_store *store)
{
	atomic_set_release(&container_of(store, struct room, store)->busy, 0);
}

/**
 * x86_stacks_exit() - free what is left
 *
 * Context: module exit; no event is left.
 */
void x86_stacks_exit(void)
{
	rcu_barrier();
}
