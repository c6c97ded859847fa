// SPDX-License-Identifier: GPL-2.0-only
/*
 * KPMU_IOC_INFO: counters, features and limits of a CPU, and the holder of each counter.  An event
 * is shown only if the caller has permission to open an event on the same task or CPU.
 */
#include <linux/cpumask.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <uapi/linux/kpmu.h>

#include "../event/event.h"
#include "../record/sample.h"
#include "../sampling/rate.h"
#include "../sched/sched.h"
#include "../source/drivers.h"
#include "dev.h"
#include "held.h"

static_assert(KPMU_HELD_BY_NONE == KPMU_HOLDER_NONE);
static_assert(KPMU_HELD_BY_EVENTS == KPMU_HOLDER_EVENT);
static_assert(KPMU_HELD_BY_KERNEL == KPMU_HOLDER_KERNEL);
static_assert(KPMU_HELD_BY_WATCHDOG == KPMU_HOLDER_WATCHDOG);
static_assert(KPMU_HELD_BY_VM == KPMU_HOLDER_VM);
static_assert(KPMU_HELD_BY_OTHER == KPMU_HOLDER_OTHER);

/**
 * struct look - the counters of a CPU
 * @online: the CPU is online
 * @used: those with an event
 * @reserved: those that are reserved
 * @held: these events
 * @by: the ids of the reservations
 */
struct look {
	bool online;
	u32 used;
	u32 reserved;
	struct kpmu_held held[KPMU_NR_SLOTS];
	u16 by[KPMU_NR_SLOTS];
};

/* ---- what is on the counters ---------------------------------------------------- */

/* On the CPU, IRQs off */
static void look_here(void *data)
{
	const struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	const struct kpmu_plan *plan = kc->applied;
	unsigned long used;
	struct look *l = data;
	int i;

	l->online = plan;
	used = plan ? kpmu_slots_used(&plan->slots) | plan->upper : 0;
	l->used = used;
	l->reserved = kc->ctx.reserved;
	memcpy(l->by, kc->reserved_by, sizeof(l->by));
	for_each_set_bit(i, &used, KPMU_NR_SLOTS)
		kpmu_held_note(&l->held[i], plan->slots.hw[i - (plan->upper >> i & 1)]);
}

static void forget(struct look *l)
{
	unsigned long used = l->used;
	int i;

	for_each_set_bit(i, &used, KPMU_NR_SLOTS)
		kpmu_held_put(&l->held[i]);
}

/* ---- what the caller may know --------------------------------------------------- */

static void name_event(struct kpmu_info_counter *c, const struct kpmu_held *h)
{
	struct pid_namespace *ns = task_active_pid_ns(current);

	c->holder = KPMU_HOLDER_EVENT;
	if (!kpmu_held_visible(h))
		return;
	c->pid = h->task ? task_pid_nr_ns(h->task, ns) : -1;
	if (!c->pid)
		return;			/* not in the caller's namespace */
	c->id = h->id;
	c->type = h->type;
	c->config = h->config;
	if (h->task)
		get_task_comm(c->comm, h->task);
}

static void name_holder(struct kpmu_info_counter *c, u16 id)
{
	c->holder = KPMU_HOLDER_RESERVED;
	kpmu_reservation_name(id, c->comm);
}

/* ---- the answer ----------------------------------------------------------------- */

/* Copy @ksize bytes of @from to a user's structure of @usize bytes */
static int put_struct(u64 to, u32 usize, const void *from, u32 ksize)
{
	void __user *user = u64_to_user_ptr(to);
	u32 n = min(usize, ksize);

	if (copy_to_user(user, from, n) || clear_user(user + n, usize - n))
		return -EFAULT;
	return 0;
}

static int put_counters(const struct kpmu_ask_info *ask, const struct look *l,
			const struct kpmu_info *info)
{
	unsigned long all = info->general | info->fixed | info->drivers;
	int i, err, n = 0;

	for_each_set_bit(i, &all, KPMU_NR_SLOTS) {
		struct kpmu_info_counter c = { .counter = i };

		if (n == ask->nr)
			break;
		if (l->used & 1u << i)
			name_event(&c, &l->held[i]);
		else if (!(info->drivers & 1u << i) && info->holder > KPMU_HOLDER_EVENT)
			c.holder = info->holder;
		else if (l->reserved & 1u << i)
			name_holder(&c, l->by[i]);
		err = put_struct(ask->counters + (u64)n++ * ask->counter_size,
				 ask->counter_size, &c, sizeof(c));
		if (err)
			return err;
	}
	return 0;
}

static void fill_info(struct kpmu_info *info, const struct look *l, int cpu)
{
	u32 own = kpmu_core.slots(kpmu_kind_of_cpu(cpu));

	info->abi = KPMU_ABI;
	info->features = kpmu_features();
	info->online = l->online;
	info->fixed = own & kpmu_core.fixed();
	info->general = own & ~info->fixed;
	info->drivers = kpmu_drivers_slots();
	info->width = kpmu_core.width();
	info->holder = kpmu_core.holder();
	if (l->online)
		info->free = info->drivers | (info->holder > KPMU_HOLDER_EVENT ? 0 : own);
	info->reserved = l->reserved;
	info->free &= ~(l->used | l->reserved);
	info->branches = kpmu_branches_depth();
	info->precise = kpmu_core.precise();
	info->paranoid = kpmu_paranoid();
	info->max_rate = READ_ONCE(kpmu_sysctl_max_rate);
	info->max_stack = READ_ONCE(kpmu_sysctl_max_stack);
	info->max_events = KPMU_CTX_MAX;
	info->max_set = KPMU_EXPLAIN_MAX;
	info->mux_interval_ms = READ_ONCE(kpmu_mux_interval_ms);
	info->nr_counters = hweight32(own | info->drivers);
}

static int check_ask(const struct kpmu_ask_info *ask)
{
	if ((unsigned int)ask->cpu >= nr_cpu_ids || !cpu_possible(ask->cpu))
		return -EINVAL;
	if (ask->size < KPMU_INFO_SIZE_VER0 || ask->size > PAGE_SIZE)
		return -EINVAL;
	if (!ask->nr)
		return 0;
	return ask->counter_size < KPMU_INFO_COUNTER_SIZE_VER0 ||
	       ask->counter_size > PAGE_SIZE ? -EINVAL : 0;
}

/**
 * kpmu_dev_info() - KPMU_IOC_INFO
 * @arg: struct kpmu_ask_info in user memory
 *
 * Context: task, may sleep.
 * Return: 0; -EFAULT, -EINVAL, -ENOMEM.
 */
long kpmu_dev_info(void __user *arg)
{
	struct kpmu_info info = { };
	struct kpmu_ask_info ask;
	struct look *l;
	int err;

	if (copy_from_user(&ask, arg, sizeof(ask)))
		return -EFAULT;
	err = check_ask(&ask);
	if (err)
		return err;
	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return -ENOMEM;
	smp_call_function_single(ask.cpu, look_here, l, 1);	/* fails if the CPU is offline */
	fill_info(&info, l, ask.cpu);
	err = put_struct(ask.info, ask.size, &info, sizeof(info)) ?:
	      put_counters(&ask, l, &info);
	forget(l);
	kfree(l);
	return err;
}
