/* SPDX-License-Identifier: GPL-2.0-only */
/* An open on its way: what open.c and target.c share. */
#ifndef KPMU_DEV_REQUEST_H
#define KPMU_DEV_REQUEST_H

#include "../abi/attr.h"

struct cgroup_subsys_state;
struct file;
struct kpmu_event;
struct kpmu_open;
struct task_struct;

/**
 * struct kpmu_request - a call of perf_event_open(2)
 * @args: its arguments
 * @who: the task that asks, held; mostly current
 * @attr: the attr, copied
 * @plain: the attr asks for nothing that has rules
 * @group_file: file of group_fd, held
 * @leader: the event that group_fd names, if a group is meant
 * @output: the same, if its ring is meant
 * @task: what is to be counted: a task, held if it is not @who;
 * @css: or a cgroup, held; or else a CPU
 * @event: the new event
 * @fd: its fd, reserved
 * @id: its id, once it has its fd
 * @why: what is wrong with the call, for the trace
 */
struct kpmu_request {
	const struct kpmu_open *args;
	struct task_struct *who;
	struct kpmu_attr attr;
	bool plain;
	struct file *group_file;
	struct kpmu_event *leader;
	struct kpmu_event *output;
	struct task_struct *task;
	struct cgroup_subsys_state *css;
	struct kpmu_event *event;
	int fd;
	u64 id;
	const char *why;
};

int kpmu_target_task(struct kpmu_request *r);
int kpmu_target_check_cpu(struct kpmu_request *r);
int kpmu_target_attach(struct kpmu_request *r);
void kpmu_target_put(struct kpmu_request *r);

#endif
