/* SPDX-License-Identifier: GPL-2.0-only */
/* State of an open in progress, shared by open.c and target.c. */
#ifndef KPMU_DEV_REQUEST_H
#define KPMU_DEV_REQUEST_H

#include <linux/compiler.h>
#include <linux/perf_event.h>

#include <uapi/linux/kpmu.h>

#include "../abi/attr.h"
#include "../source/source.h"

struct cgroup_subsys_state;
struct file;
struct kpmu_event;
struct task_struct;

/**
 * struct kpmu_request - a call of perf_event_open(2)
 * @args: its arguments
 * @opener: the task that opens the event, held; current unless on behalf of another
 * @extra: flags of @args that are accepted beside PERF_FLAG_*
 * @attr: copy of the attr
 * @reservation: with KPMU_OPEN_RESERVED its file, held
 * @reserved: and its counters
 * @plain: the attr has nothing that kpmu_attr_check() could refuse
 * @group_file: file of group_fd, held
 * @leader: event of group_fd, if the new event joins its group
 * @output: event of group_fd, if the new event writes to its ring
 * @task: the target, if it is a task; held if it is not @opener
 * @css: the target, if it is a cgroup; held.  Without both, it is a CPU
 * @target: what the new event counts, as its source needs it
 * @event: the new event
 * @fd: the event's fd, reserved
 * @file: its file, without the event until that is attached
 * @id: the event's id, set when it has a file
 * @why: reason for an error
 */
struct kpmu_request {
	const struct kpmu_open *args;
	struct task_struct *opener;
	u64 extra;
	struct kpmu_attr attr;
	struct file *reservation;
	u32 reserved;
	bool plain;
	struct file *group_file;
	struct kpmu_event *leader;
	struct kpmu_event *output;
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	struct kpmu_target target;
	struct kpmu_event *event;
	int fd;
	struct file *file;
	u64 id;
	const char *why;
};

int kpmu_target_search(struct kpmu_request *r);
int kpmu_target_cpu(struct kpmu_request *r);
int kpmu_target_css(struct kpmu_request *r);
int kpmu_target_attach(struct kpmu_request *r);
void kpmu_target_drop(struct kpmu_request *r);

/**
 * kpmu_target_task() - look up the task of the pid argument
 * @r: the open; sets r->task, with a reference unless it is r->opener
 *
 * Context: task.
 * Return: 0, also if pid does not select a task; -ESRCH.
 */
static inline int kpmu_target_task(struct kpmu_request *r)
{
	if (r->args->flags & PERF_FLAG_PID_CGROUP)
		return 0;
	if (r->args->pid)
		return kpmu_target_search(r);
	r->task = r->opener;
	return 0;
}

/**
 * kpmu_target_check_cpu() - check the cpu argument
 * @r: the open, with its task
 *
 * Context: any.
 * Return: 0; -EINVAL for an invalid CPU, or for none without a task.
 */
static inline int kpmu_target_check_cpu(struct kpmu_request *r)
{
	return likely(r->task && r->args->cpu == -1) ? 0 : kpmu_target_cpu(r);
}

/**
 * kpmu_target_cgroup() - look up the cgroup that is the target
 * @r: the open; sets .css, which kpmu_target_put() puts
 *
 * Context: task, may sleep.
 * Return: 0, also if the target is no cgroup; an error of kpmu_css_of_fd().
 */
static inline int kpmu_target_cgroup(struct kpmu_request *r)
{
	return r->args->flags & PERF_FLAG_PID_CGROUP ? kpmu_target_css(r) : 0;
}

/**
 * kpmu_target_put() - drop the references to the target
 * @r: the open, completed
 *
 * Context: task.
 */
static inline void kpmu_target_put(struct kpmu_request *r)
{
	if (unlikely((r->task && r->task != r->opener) || r->css))
		kpmu_target_drop(r);
}

#endif
