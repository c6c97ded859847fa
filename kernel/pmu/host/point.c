// SPDX-License-Identifier: GPL-2.0-only
/*
 * Points: tracepoints whose hits are counted by a kpmu probe, without their records.
 *
 * Most have a tracepoint of their own, and one probe each.  All system calls share two
 * tracepoints (entry and exit): there a common probe looks up the point by number.
 *
 * A point without users is muted, and its probe stays attached for a while
 * (compat/detach.h), as attaching it costs some 100,000 instructions.
 */
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/static_call.h>
#include <linux/tracepoint.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

#include "../../compat/hook.h"
#include "point.h"
#include "../../source/source.h"
#include "host.h"

static void report_hit(const struct kpmu_point *p, struct pt_regs *regs)
{
	struct kpmu_hit hit = { .regs = regs };

	if (likely(!READ_ONCE(p->muted)))
		static_call(kpmu_source_hit)(p->key, 1, &hit);
}
NOKPROBE_SYMBOL(report_hit);

/* Works for tracepoints with any prototype: it takes none of their arguments */
static void on_point(void *data)
{
	struct kpmu_point *p = data;

	if (!kpmu_use_none(&p->own))
		report_hit(p, NULL);
}
NOKPROBE_SYMBOL(on_point);

/* Points by system call number, for entry and exit */
static struct kpmu_point __rcu *entries[NR_syscalls], *exits[NR_syscalls];

/* The use of the probes for all system calls; a point that is not muted is a user */
static struct kpmu_use entry_use, exit_use;

/* Compat system calls are numbered differently and have no tracepoints of their own */
static void on_syscall(struct kpmu_point __rcu **points, struct kpmu_use *use,
		       struct pt_regs *regs)
{
	int nr = syscall_get_nr(current, regs);
	struct kpmu_point *p;

	if (kpmu_use_none(use) || nr < 0 || nr >= NR_syscalls || in_compat_syscall())
		return;
	rcu_read_lock();
	p = rcu_dereference(points[nr]);
	if (p)
		report_hit(p, regs);
	rcu_read_unlock();
}
NOKPROBE_SYMBOL(on_syscall);

static void on_syscall_entry(void *data, struct pt_regs *regs, long nr)
{
	on_syscall(entries, &entry_use, regs);
}
NOKPROBE_SYMBOL(on_syscall_entry);

static void on_syscall_exit(void *data, struct pt_regs *regs, long ret)
{
	on_syscall(exits, &exit_use, regs);
}
NOKPROBE_SYMBOL(on_syscall_exit);

static struct kpmu_thook hooks[] = {
	{ "sys_enter", on_syscall_entry },
	{ "sys_exit", on_syscall_exit },
};

static DEFINE_MUTEX(points_lock);
static int users[ARRAY_SIZE(hooks)];

static struct kpmu_point __rcu **point_slot(const struct kpmu_point *p)
{
	return (p->where.exit ? exits : entries) + p->where.syscall;
}

static int listen_syscall(struct kpmu_point *p)
{
	int which = p->where.exit, err = 0;

	if (p->where.syscall >= NR_syscalls)
		return -EINVAL;
	mutex_lock(&points_lock);
	if (!users[which])
		err = kpmu_thook_arm(&hooks[which]);
	if (!err) {
		users[which]++;
		rcu_assign_pointer(*point_slot(p), p);
	}
	mutex_unlock(&points_lock);
	return err;
}

static void leave_syscall(struct kpmu_point *p)
{
	int which = p->where.exit;

	mutex_lock(&points_lock);
	/* A newer point may have replaced this one after its last user was gone */
	if (rcu_access_pointer(*point_slot(p)) == p)
		RCU_INIT_POINTER(*point_slot(p), NULL);
	if (!--users[which])
		kpmu_thook_disarm(&hooks[which]);
	mutex_unlock(&points_lock);
}

/**
 * kpmu_point_listen() - start to report the hits of a tracepoint
 * @p: the point, zeroed; must exist until kpmu_point_free()
 * @event: an event of the kernel's perf for the tracepoint, which pins its module during
 *	this call; no other point in use may be for the same tracepoint
 * @key: the tap to report the hits for
 * @by: what calls kpmu_point_leave() for unused points; the same for all
 *
 * Context: task, may sleep.
 * Return: 0, or an error if a kpmu probe cannot count the hits.
 */
int kpmu_point_listen(struct kpmu_point *p, const struct perf_event *event,
		      const struct kpmu_hit_key *key, struct kpmu_detach *by)
{
	int err;

	if (!kpmu_tracepoint_find(event, &p->where))
		return -EOPNOTSUPP;
	p->key = key;
	p->use = p->where.tp ? &p->own : p->where.exit ? &exit_use : &entry_use;
	p->use->by = by;
	atomic_inc(&p->use->users);
	if (p->where.tp)
		err = tracepoint_probe_register(p->where.tp, on_point, p);
	else
		err = listen_syscall(p);
	if (err)
		atomic_dec(&p->use->users);
	else
		__module_get(p->where.module);
	return err;
}

/**
 * kpmu_point_mute() - the last user of a point leaves
 * @p: from kpmu_point_listen()
 *
 * Hits may still be under way when this returns.
 *
 * Context: task; serialised with kpmu_point_unmute().
 */
void kpmu_point_mute(struct kpmu_point *p)
{
	WRITE_ONCE(p->muted, true);
	kpmu_use_end(p->use);
}

/**
 * kpmu_point_unmute() - an unused point is used again
 * @p: the point
 *
 * Context: task; serialised with kpmu_point_mute().
 */
void kpmu_point_unmute(struct kpmu_point *p)
{
	atomic_inc(&p->use->users);
	WRITE_ONCE(p->muted, false);
}

/**
 * kpmu_point_expired() - has a point been unused for long enough?
 * @p: the point, muted
 *
 * Context: any.
 * Return: true if it should be released.
 */
bool kpmu_point_expired(const struct kpmu_point *p)
{
	return kpmu_use_expired(p->use);
}

/**
 * kpmu_point_leave() - stop reporting hits
 * @p: the point, muted
 *
 * Hits may still be under way when this returns.
 *
 * Context: task, may sleep.
 */
void kpmu_point_leave(struct kpmu_point *p)
{
	if (p->where.tp)
		tracepoint_probe_unregister(p->where.tp, on_point, p);
	else
		leave_syscall(p);
}

/**
 * kpmu_point_free() - release a point's reference to the tracepoint's module
 * @p: the point, after kpmu_point_leave() and tracepoint_synchronize_unregister()
 *
 * Context: task.
 */
void kpmu_point_free(struct kpmu_point *p)
{
	module_put(p->where.module);
}

/**
 * kpmu_points_init() - look up the tracepoints of system calls
 *
 * Context: module init.
 */
void __init kpmu_points_init(void)
{
	kpmu_thooks_find(hooks, ARRAY_SIZE(hooks));
}
