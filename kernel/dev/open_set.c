// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_OPEN_SET: opening a set of events, and the operations of its fd. */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <uapi/linux/kpmu.h>

#include "../compat/compat.h"
#include "../hooks/hooks.h"
#include "../life/set.h"
#include "dev.h"

#define SET_BUCKETS	(KPMU_SET_BY_CGROUP | KPMU_SET_BY_TASK)
#define SET_FLAGS	(KPMU_SET_TASKS | KPMU_SET_CGROUP | KPMU_SET_PARTIAL | KPMU_SET_TIMES | \
			 KPMU_SET_CLOEXEC | KPMU_SET_STRICT | KPMU_SET_RESERVED | SET_BUCKETS | \
			 KPMU_SET_DELTA | KPMU_SET_TIMELINE)

/**
 * struct making - a set that is being opened
 * @args: the arguments
 * @events: copy of args.events
 * @targets: copy of args.targets
 * @errors: for args.errors
 * @set: the set
 * @nr_open: number of events that were opened
 * @first: the error of the first event that could not be opened, 0 if all could
 * @why: the reason of that error
 */
struct making {
	struct kpmu_open_set args;
	struct kpmu_set_event *events;
	s32 *targets;
	s32 *errors;
	struct kpmu_set *set;
	u32 nr_open;
	int first;
	const char *why;
};

/* ---- opening -------------------------------------------------------------------- */

static int check_set_args(const struct kpmu_open_set *a)
{
	if (a->flags & ~SET_FLAGS)
		return -EINVAL;
	if ((a->flags & KPMU_SET_TASKS && a->flags & KPMU_SET_CGROUP) ||
	    (!(a->flags & KPMU_SET_CGROUP) && a->cgroup))
		return -EINVAL;
	if (!a->nr_events || a->nr_events > KPMU_SET_MAX_EVENTS)
		return -EINVAL;
	if (!a->nr_targets || a->nr_targets > KPMU_SET_MAX_TARGETS)
		return -EINVAL;
	return a->nr_events * a->nr_targets > KPMU_SET_MAX ? -EINVAL : 0;
}

/* Snapshots are taken in a work item, whose CPU time is not accounted to the caller: limit it */
#define MIN_PERIOD_US		1000
#define EVENT_PERIOD_US		10
#define MAX_BYTES		(64 << 20)

static bool is_too_often(const struct kpmu_open_set *a)
{
	return a->period_us < max_t(u32, MIN_PERIOD_US,
				    EVENT_PERIOD_US * a->nr_events * a->nr_targets);
}

static int check_snapshots(const struct kpmu_open_set *a)
{
	u64 words = sizeof(struct kpmu_set_head) / sizeof(u64) +
		    3ULL * a->nr_events * a->nr_targets;

	if (a->flags & (SET_BUCKETS | KPMU_SET_TIMELINE))
		return 0;
	if (!a->period_us || !a->nr_slots)
		return a->period_us | a->nr_slots ? -EINVAL : 0;
	if (a->nr_slots > KPMU_SET_MAX_SLOTS ||
	    a->nr_slots * words * sizeof(u64) > MAX_BYTES)
		return -EINVAL;
	return is_too_often(a) ? -EINVAL : 0;
}

#define MIN_RECORDS		8

static int check_timeline(const struct kpmu_open_set *a)
{
	if (!(a->flags & KPMU_SET_TIMELINE))
		return 0;
	if (a->flags & (SET_BUCKETS | KPMU_SET_TASKS | KPMU_SET_CGROUP))
		return -EINVAL;
	if (a->nr_slots < MIN_RECORDS || a->nr_slots > KPMU_SET_MAX_RECORDS ||
	    !is_power_of_2(a->nr_slots))
		return -EINVAL;
	if (kpmu_timelines_bytes(a->nr_targets, a->nr_slots, a->nr_events) > MAX_BYTES)
		return -EINVAL;
	return a->period_us && is_too_often(a) ? -EINVAL : 0;
}

static size_t bucket_bytes(const struct kpmu_open_set *a)
{
	u32 each = a->flags & KPMU_SET_TIMES ? 3 : 1;

	return kpmu_collect_bytes(a->nr_targets, a->nr_slots, a->nr_events * each);
}

static int check_buckets(const struct kpmu_open_set *a)
{
	u32 by = a->flags & SET_BUCKETS;

	if (!by)
		return a->flags & KPMU_SET_DELTA ? -EINVAL : 0;
	if (by == SET_BUCKETS || a->flags & (KPMU_SET_TASKS | KPMU_SET_CGROUP) || a->period_us)
		return -EINVAL;
	if (!a->nr_slots || a->nr_slots > KPMU_SET_MAX_BUCKETS)
		return -EINVAL;
	return bucket_bytes(a) > MAX_BYTES ? -EINVAL : 0;
}

/* Memory beside that of the events */
static size_t more_bytes(const struct kpmu_open_set *a)
{
	u32 each = a->flags & KPMU_SET_TIMES ? 3 : 1;

	if (a->flags & SET_BUCKETS)
		return bucket_bytes(a);
	if (a->flags & KPMU_SET_TIMELINE)
		return kpmu_timelines_bytes(a->nr_targets, a->nr_slots, a->nr_events);
	return a->nr_slots ? kpmu_snapshots_bytes(a->nr_slots, KPMU_SET_HEAD +
						  (size_t)a->nr_events * a->nr_targets * each) : 0;
}

static int check_events(const struct making *m)
{
	int i;

	for (i = 0; i < m->args.nr_events; i++) {
		const struct kpmu_set_event *u = &m->events[i];

		if (u->reserved && !(m->args.flags & KPMU_SET_RESERVED))
			return -EINVAL;
		if (u->group == -1)
			continue;
		if (u->group < 0 || u->group >= i || m->events[u->group].group != -1)
			return -EINVAL;
	}
	return 0;
}

static int copy_arrays(struct making *m)
{
	const struct kpmu_open_set *a = &m->args;
	void *p;

	p = vmemdup_user(u64_to_user_ptr(a->events), a->nr_events * sizeof(*m->events));
	if (IS_ERR(p))
		return PTR_ERR(p);
	m->events = p;
	p = vmemdup_user(u64_to_user_ptr(a->targets), a->nr_targets * sizeof(*m->targets));
	if (IS_ERR(p))
		return PTR_ERR(p);
	m->targets = p;
	m->errors = kvcalloc(a->nr_events * a->nr_targets, sizeof(*m->errors),
			     GFP_KERNEL_ACCOUNT);
	return m->errors ? check_events(m) : -ENOMEM;
}

/* pid and cpu of a target.  The pid of a task is never negative: that would be another target */
static int aim_at(const struct making *m, s32 target, struct kpmu_open *open)
{
	*open = (struct kpmu_open){ .pid = -1, .cpu = target };
	if (target < 0)
		return m->args.flags & KPMU_SET_TASKS ? -ESRCH : -EINVAL;
	if (m->args.flags & KPMU_SET_TASKS) {
		open->pid = target;
		open->cpu = -1;
	} else if (m->args.flags & KPMU_SET_CGROUP) {
		open->pid = m->args.cgroup;
		open->flags = PERF_FLAG_PID_CGROUP;
	}
	return 0;
}

/* Open event @i on target @t */
static struct kpmu_event *open_one(struct making *m, u32 t, u32 i, const char **why)
{
	const struct kpmu_set_event *u = &m->events[i];
	struct kpmu_event *leader = NULL;
	struct kpmu_open open;
	int err;

	err = aim_at(m, m->targets[t], &open);
	if (err)
		return ERR_PTR(err);
	if (u->group >= 0) {
		leader = m->set->events[t * m->args.nr_events + u->group];
		if (!leader) {
			*why = "its leader cannot be opened";
			return ERR_PTR(-EBADF);
		}
	}
	if (u->group < 0 && m->args.flags & KPMU_SET_STRICT)
		open.flags |= KPMU_OPEN_STRICT;
	if (m->args.flags & KPMU_SET_RESERVED) {
		open.flags |= KPMU_OPEN_RESERVED;
		open.reserved = u->reserved;
	}
	open.attr = u->attr;
	return kpmu_dev_open_member(&open, leader, why);
}

/* Return: 0 to go on */
static int try_one(struct making *m, u32 t, u32 i)
{
	u32 at = t * m->args.nr_events + i;
	const char *why = "";
	struct kpmu_event *e = open_one(m, t, i, &why);

	if (!IS_ERR(e)) {
		m->set->events[at] = e;
		m->nr_open++;
		return 0;
	}
	m->errors[at] = -PTR_ERR(e);
	if (!m->first) {
		m->first = PTR_ERR(e);
		m->why = why;
	}
	return m->args.flags & KPMU_SET_PARTIAL ? 0 : m->first;
}

static int open_all(struct making *m)
{
	int err = 0;
	u32 t, i;

	for (t = 0; t < m->args.nr_targets; t++) {
		for (i = 0; i < m->args.nr_events && !err; i++)
			err = try_one(m, t, i);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return m->nr_open ? err : m->first;
}

static int put_errors(const struct making *m)
{
	size_t size = sizeof(*m->errors) * m->args.nr_events * m->args.nr_targets;

	if (!m->args.errors)
		return 0;
	return copy_to_user(u64_to_user_ptr(m->args.errors), m->errors, size) ? -EFAULT : 0;
}

/* Members before their leaders, so that no group is split up */
static void close_set(struct kpmu_set *s)
{
	u32 i;

	kpmu_snapshots_stop(s);
	kpmu_collect_stop(s);
	kpmu_timelines_stop(s);
	if (s->hooks) {
		kpmu_hooks_put(s->hooks);
		kpmu_hooks_put_later();
	}
	for (i = kpmu_set_size(s); i--;) {
		if (s->events[i])
			kpmu_dev_close_member(s->events[i]);
		cond_resched();
	}
	kpmu_set_free(s);
}

static int set_fd(struct making *m)
{
	bool mapped = m->args.period_us || m->args.flags & KPMU_SET_TIMELINE;
	int flags = mapped ? O_RDWR : O_RDONLY;

	if (m->args.flags & KPMU_SET_CLOEXEC)
		flags |= O_CLOEXEC;
	return anon_inode_getfd("[kpmu_set]", &kpmu_set_fops, m->set, flags);
}

static int hook_switches(struct making *m)
{
	int err = kpmu_hooks_get(BIT(KPMU_LAZY_SWITCH));

	if (err)
		m->why = "task switches cannot be hooked on this kernel";
	else
		m->set->hooks = BIT(KPMU_LAZY_SWITCH);
	return err;
}

static int start_buckets(struct making *m)
{
	struct kpmu_set *s = m->set;
	int err;

	if (m->args.flags & KPMU_SET_BY_CGROUP && !kpmu_has_cgroups()) {
		m->why = "this kernel has no cgroups for perf_event";
		return -EOPNOTSUPP;
	}
	err = hook_switches(m);
	if (err)
		return err;
	err = kpmu_collect_start(s, m->args.nr_slots, m->args.flags & KPMU_SET_BY_TASK,
				 m->args.flags & KPMU_SET_DELTA);
	if (err == -EINVAL)
		m->why = "a CPU is in the set twice";
	if (err == -ENOSPC)
		m->why = "the CPU has the maximum number of events with buckets";
	return err;
}

static int start_timeline(struct making *m)
{
	const struct kpmu_open_set *a = &m->args;
	int err = hook_switches(m) ?:
		  kpmu_timelines_start(m->set, m->targets, a->nr_slots,
				       (u64)a->period_us * NSEC_PER_USEC);

	if (err == -EINVAL)
		m->why = "a CPU is in the set twice";
	if (err == -ENOSPC)
		m->why = "the CPU has the maximum number of events with timelines";
	return err;
}

/* What the set does beside counting, once its events exist */
static int start_extras(struct making *m)
{
	const struct kpmu_open_set *a = &m->args;

	if (a->flags & SET_BUCKETS)
		return start_buckets(m);
	if (a->flags & KPMU_SET_TIMELINE)
		return start_timeline(m);
	if (!a->period_us)
		return 0;
	return kpmu_snapshots_start(m->set, a->nr_slots, (u64)a->period_us * NSEC_PER_USEC);
}

static int make_set(struct making *m)
{
	struct kpmu_set *s = kpmu_set_new(m->args.nr_targets, m->args.nr_events,
					  m->args.flags & KPMU_SET_TIMES, more_bytes(&m->args));
	int ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	m->set = s;
	ret = open_all(m);
	ret = put_errors(m) ?: ret;
	if (!ret) {
		kpmu_set_ready(s);
		ret = start_extras(m);
	}
	if (!ret)
		ret = set_fd(m);
	if (ret < 0)
		close_set(s);
	return ret;
}

/**
 * kpmu_dev_open_set() - KPMU_IOC_OPEN_SET
 * @arg: struct kpmu_open_set in user memory
 * @why: set to the reason for an error, a string literal
 *
 * Context: task, may sleep.
 * Return: the new fd; -EFAULT, -EINVAL, -ENOMEM, -EMFILE; -EPERM, see kpmu_set_new(); -EINTR if a
 * fatal signal is pending; an errno of perf_event_open(2), of kpmu_collect_start(),
 * kpmu_timelines_start() or kpmu_hooks_get().
 */
long kpmu_dev_open_set(void __user *arg, const char **why)
{
	struct making m = { .why = "" };
	int ret;

	if (copy_from_user(&m.args, arg, sizeof(m.args)))
		return -EFAULT;
	ret = check_set_args(&m.args) ?: check_snapshots(&m.args) ?: check_buckets(&m.args) ?:
	      check_timeline(&m.args) ?: copy_arrays(&m) ?: make_set(&m);
	*why = m.why;
	kvfree(m.errors);
	kvfree(m.targets);
	kvfree(m.events);
	return ret;
}

/* ---- the fd --------------------------------------------------------------------- */

static ssize_t set_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	return kpmu_set_read(file->private_data, buf, len);
}

static long set_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct kpmu_set *s = file->private_data;

	switch (cmd) {
	case PERF_EVENT_IOC_ENABLE:
		return arg ? -EINVAL : kpmu_set_control(s, KPMU_OP_ENABLE);
	case PERF_EVENT_IOC_DISABLE:
		return arg ? -EINVAL : kpmu_set_control(s, KPMU_OP_DISABLE);
	case PERF_EVENT_IOC_RESET:
		return arg ? -EINVAL : kpmu_set_control(s, KPMU_OP_RESET);
	default:
		return -ENOTTY;
	}
}

static __poll_t set_poll(struct file *file, struct poll_table_struct *wait)
{
	struct kpmu_set *s = file->private_data;

	return s->timelines ? kpmu_timelines_poll(s, file, wait) : kpmu_snapshots_poll(s, file, wait);
}

static int set_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kpmu_set *s = file->private_data;

	return s->timelines ? kpmu_timelines_mmap(s, vma) : kpmu_snapshots_mmap(s, vma);
}

static int set_release(struct inode *inode, struct file *file)
{
	close_set(file->private_data);
	return 0;
}

const struct file_operations kpmu_set_fops = {
	.owner = THIS_MODULE,
	.read = set_read,
	.poll = set_poll,
	.mmap = set_mmap,
	.release = set_release,
	.unlocked_ioctl = set_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};
