// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening an event.  The arguments of perf_event_open(2) are checked in the same
 * order as by the kernel's own perf, so that the first error is the same.
 */
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/limits.h>

#include <uapi/linux/kpmu.h>

#include "../compat/unwind.h"
#include "../life/life.h"
#include "../record/side_band.h"
#include "../sampling/rate.h"
#include "../trace/kpmu_trace.h"
#include "dev.h"
#include "request.h"

#define FLAGS_ALL	((u64)PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | \
			 PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)

/* Strict is not part of the attr: it is added after the checks of what the user has set */
static int set_strict(struct kpmu_request *r)
{
	if (likely(!(r->args->flags & KPMU_OPEN_STRICT)))
		return 0;
	if (r->attr.flags & KPMU_ATTR_EXCLUSIVE) {
		r->why = "an exclusive event cannot be strict";
		return -EINVAL;
	}
	r->attr.flags |= KPMU_ATTR_PINNED | KPMU_ATTR_STRICT;
	if (perfmon_capable())
		r->attr.flags |= KPMU_ATTR_FIRM;
	return 0;
}

static int set_reserved(struct kpmu_request *r)
{
	u64 flags = 0;

	if (likely(!(r->args->flags & KPMU_OPEN_RESERVED)))
		return 0;
	r->reservation = fget(r->args->reserved);
	if (r->reservation)
		flags = kpmu_reservation_of_file(r->reservation, &r->reserved);
	if (!flags) {
		r->why = "not the fd of a reservation";
		return -EBADF;
	}
	r->attr.flags |= flags;
	return 0;
}

#define FLAGS_OWN	(KPMU_OPEN_STRICT | KPMU_OPEN_RESERVED)

/* What is requested by flags that perf_event_open(2) does not have */
static __always_inline int set_own(struct kpmu_request *r)
{
	return likely(!(r->args->flags & FLAGS_OWN)) ? 0 : set_strict(r) ?: set_reserved(r);
}

static __always_inline int set_clock(struct kpmu_request *r)
{
	return likely(!(r->attr.flags & KPMU_ATTR_USE_CLOCKID)) ? 0 :
	       kpmu_event_set_clock(r->event, &r->attr, &r->why);
}

static int check_reserved(struct kpmu_request *r)
{
	const struct kpmu_entity *se = &r->event->se;

	if (likely(!r->reservation) || !kpmu_has_counter(se) || kpmu_usable_among(se, r->reserved))
		return 0;
	r->why = "none of the reserved counters can count the event";
	return -EINVAL;
}

static __always_inline void put_request(struct kpmu_request *r)
{
	kpmu_target_put(r);
	if (r->group_file)
		fput(r->group_file);
	if (r->reservation)
		fput(r->reservation);
}

static void set_aux_limits(struct kpmu_attr_limits *l, const struct kpmu_attr *attr)
{
	const struct kpmu_source *source = kpmu_source_get(attr, -1);

	l->aux = source && source->trace;
	l->aux_output = source && source->output;
	kpmu_source_put(source);
}

static noinline int check_attr_rules(struct kpmu_request *r,
				     enum kpmu_attr_phase phase)
{
	struct kpmu_attr_limits limits = {
		.max_stack = READ_ONCE(kpmu_sysctl_max_stack),
		.max_rate = READ_ONCE(kpmu_sysctl_max_rate),
		.defers = kpmu_unwind_works(),
		.aux_leader = r->leader && r->leader->se.hw.source->trace,
	};

	set_aux_limits(&limits, &r->attr);
	return kpmu_attr_check(&r->attr, &limits, phase, &r->why);
}

static int check_rules(struct kpmu_request *r, enum kpmu_attr_phase phase)
{
	return r->plain ? 0 : check_attr_rules(r, phase);
}

static __always_inline int check_attr(struct kpmu_request *r)
{
	int err;

	err = kpmu_attr_copy(&r->attr, u64_to_user_ptr(r->args->attr));
	if (err)
		return err;
	r->plain = kpmu_attr_is_plain(&r->attr);
	err = check_rules(r, KPMU_ATTR_SHAPE) ?:
	      kpmu_permit(KPMU_PERMIT_OPEN, &r->attr, NULL, &r->why);
	if (err || r->plain)
		return err;
	return check_rules(r, KPMU_ATTR_LIMITS) ?:
	       kpmu_permit(KPMU_PERMIT_DATA, &r->attr, NULL, &r->why);
}

static int find_leader(struct kpmu_request *r)
{
	if (r->args->group_fd == -1)
		return 0;
	r->group_file = fget(r->args->group_fd);
	if (!r->group_file)
		return -EBADF;
	r->leader = kpmu_event_of_file(r->group_file);
	if (!r->leader) {
		r->why = "group_fd is not an event of kpmu";
		return -EBADF;
	}
	if (!READ_ONCE(r->leader->se.attached)) {
		r->why = "the group leader's task has exited";
		return -ENODEV;
	}
	if (r->args->flags & PERF_FLAG_FD_OUTPUT)
		r->output = r->leader;
	if (r->args->flags & PERF_FLAG_FD_NO_GROUP)
		r->leader = NULL;
	return 0;
}

/* With inherit in some members only, these would count more tasks than the others */
static int check_inherit(struct kpmu_request *r)
{
	if (!r->task || !r->leader ||
	    !((r->leader->se.flags ^ r->attr.flags) & KPMU_ATTR_INHERIT))
		return 0;
	r->why = "inherit must be the same for all events of a group";
	return -EINVAL;
}

/* Errors of the source take precedence over those of KPMU_ATTR_SUPPORT */
static __always_inline int alloc_event(struct kpmu_request *r)
{
	int err;

	r->event = kpmu_event_alloc(&r->target, &r->why);
	if (IS_ERR(r->event)) {
		err = PTR_ERR(r->event);
		r->event = NULL;
		return err;
	}
	err = check_rules(r, KPMU_ATTR_SUPPORT) ?: kpmu_target_cgroup(r) ?:
	      check_rules(r, KPMU_ATTR_LATE) ?:
	      set_clock(r) ?: check_reserved(r);
	if (err) {
		kpmu_event_put(r->event);
		r->event = NULL;
	}
	return err;
}

/* All of the event but its place: it is not attached and holds no hardware */
static __always_inline int new_event(struct kpmu_request *r)
{
	int err;

	err = kpmu_target_check_cpu(r);
	if (err)
		return err;
	err = check_rules(r, KPMU_ATTR_FAMILY);
	if (err)
		return err;
	if (r->attr.flags & KPMU_ATTR_SIGTRAP && !r->task) {
		r->why = "sigtrap needs a task event";
		return -EINVAL;
	}
	r->target.attr = &r->attr;
	r->target.task = r->task;
	r->target.cpu = r->args->cpu;
	return kpmu_counters_adapt(&r->attr, &r->why) ?: alloc_event(r);
}

/* The end of an event that was not attached */
static int drop_event(struct kpmu_request *r, int err)
{
	kpmu_event_put(r->event);
	r->event = NULL;
	return err;
}

static const char no_ring[] = "the event's records cannot go to the ring of group_fd";

static int check_output(struct kpmu_request *r)
{
	int err = r->output ? kpmu_output_check(r->event, r->task, r->output) : 0;

	if (!err)
		return 0;
	r->why = no_ring;
	return drop_event(r, err);
}

/* Made before the event is attached: without a file, the group must not have had it for a moment */
static int new_file(struct kpmu_request *r)
{
	struct file *file = kpmu_event_file();

	if (IS_ERR(file))
		return drop_event(r, PTR_ERR(file));
	r->file = file;
	return 0;
}

static __always_inline int attach_event(struct kpmu_request *r)
{
	int err;

	/* Opens a file in /proc, so it is done before a task's lock is taken */
	if (r->attr.flags & KPMU_ATTR_NAMESPACES)
		kpmu_side_namespaces_setup();
	if (r->opener != current)
		kpmu_sampling_for(r->event, r->opener);
	err = kpmu_target_attach(r);
	return err ? drop_event(r, err) : 0;
}

/* Fails only if the ring was unmapped since check_output(), or without memory */
static int redirect(struct kpmu_request *r)
{
	int err;

	if (!r->output)
		return 0;
	err = kpmu_output_redirect(r->event, r->output);
	if (err) {
		r->why = no_ring;
		kpmu_event_close(r->event);
		r->event = NULL;
	}
	return err;
}

static void install_file(struct kpmu_request *r)
{
	r->id = r->event->se.id;
	kpmu_owner_set(r->event, r->opener);
	r->file->private_data = r->event;
	/* From here on the fd owns the event, and another thread may close it */
	fd_install(r->fd, r->file);
}

static int with_fd(struct kpmu_request *r)
{
	int flags = O_RDWR;
	int err;

	if (r->args->flags & PERF_FLAG_FD_CLOEXEC)
		flags |= O_CLOEXEC;
	r->fd = get_unused_fd_flags(flags);
	if (r->fd < 0)
		return r->fd;
	err = find_leader(r) ?: kpmu_target_task(r) ?: check_inherit(r) ?: new_event(r) ?:
	      check_output(r) ?: new_file(r) ?: attach_event(r) ?: redirect(r);
	if (!err) {
		install_file(r);
		return r->fd;
	}
	if (r->file)
		fput(r->file);
	put_unused_fd(r->fd);
	return err;
}

static long open_event(struct kpmu_request *r)
{
	const struct kpmu_open *args = r->args;
	int err;

	if (args->flags & ~(FLAGS_ALL | r->extra)) {
		r->why = "unknown flags";
		return -EINVAL;
	}
	err = check_attr(r) ?: set_own(r);
	if (err)
		return err;
	if (args->flags & PERF_FLAG_PID_CGROUP &&
	    (args->pid == -1 || args->cpu == -1)) {
		r->why = "a cgroup event needs an fd of the cgroup and a CPU";
		return -EINVAL;
	}
	return with_fd(r);
}

/**
 * kpmu_dev_open_event() - open an event: KPMU_IOC_OPEN
 * @args: the arguments
 * @opener: the task that opens the event, held; current runs with its credentials
 * @extra: flags that are accepted beside PERF_FLAG_*
 * @why: set to the reason for an error, a string literal
 *
 * Context: task, may sleep.
 * Return: the new fd, or an errno of perf_event_open(2).
 */
long kpmu_dev_open_event(const struct kpmu_open *args, struct task_struct *opener, u64 extra,
			 const char **why)
{
	struct kpmu_request r = { .args = args, .opener = opener, .extra = extra, .why = "" };
	long ret;

	ret = open_event(&r);
	*why = r.why;
	trace_kpmu_open(r.id, r.attr.type, r.attr.config, args->pid, args->cpu,
			ret, r.why);
	put_request(&r);
	return ret;
}

static int open_member(struct kpmu_request *r)
{
	int err = check_attr(r) ?: set_own(r);

	if (err)
		return err;
	if (r->leader && !READ_ONCE(r->leader->se.attached)) {
		r->why = "the group leader's task has exited";
		return -ENODEV;
	}
	return kpmu_target_task(r) ?: check_inherit(r) ?: new_event(r) ?: attach_event(r);
}

/**
 * kpmu_dev_open_member() - open an event without an fd
 * @args: the arguments; group_fd is not used, of flags only PERF_FLAG_PID_CGROUP and
 *	KPMU_OPEN_*
 * @leader: leader of its group, NULL if it leads one
 * @why: set to the reason for an error, a string literal
 *
 * Context: task, may sleep.
 * Return: the event, for kpmu_dev_close_member(); an errno of perf_event_open(2).
 */
struct kpmu_event *kpmu_dev_open_member(const struct kpmu_open *args, struct kpmu_event *leader,
					const char **why)
{
	struct kpmu_request r = {
		.args = args, .opener = current, .leader = leader, .why = "",
	};
	int err = open_member(&r);

	*why = r.why;
	trace_kpmu_open(r.event ? r.event->se.id : 0, r.attr.type, r.attr.config, args->pid,
			args->cpu, err, r.why);
	put_request(&r);
	if (err)
		return ERR_PTR(err);
	kpmu_owner_set(r.event, current);
	return r.event;
}

/**
 * kpmu_dev_close_member() - close an event without an fd
 * @e: the event
 *
 * Context: task, may sleep.
 */
void kpmu_dev_close_member(struct kpmu_event *e)
{
	kpmu_owner_clear(e);
	kpmu_event_close(e);
}

/**
 * kpmu_dev_try_open() - create an event as an open does, but do not attach it
 * @args: the arguments; pid is 0 or -1, flags is 0, group_fd is ignored
 * @why: set to the reason for an error, a string literal
 *
 * Context: task, may sleep.
 * Return: the event, for kpmu_event_put(); an errno of perf_event_open(2).
 */
struct kpmu_event *kpmu_dev_try_open(const struct kpmu_open *args, const char **why)
{
	struct kpmu_request r = { .args = args, .opener = current, .why = "" };
	int err;

	if (!args->pid)
		r.task = current;
	err = check_attr(&r) ?: new_event(&r);
	if (!err && !r.task)
		err = kpmu_permit(KPMU_PERMIT_CPU, &r.attr, NULL, &r.why);
	if (err && r.event)
		kpmu_event_put(r.event);
	*why = r.why;
	return err ? ERR_PTR(err) : r.event;
}
