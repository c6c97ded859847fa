/* SPDX-License-Identifier: GPL-2.0-only */
/* The event on a counter, and the permission to know of it. */
#ifndef KPMU_DEV_HELD_H
#define KPMU_DEV_HELD_H

#include <linux/types.h>

struct kpmu_hw;
struct task_struct;

/**
 * struct kpmu_held - the event on a counter
 * @id: id of the event, 0 if there is none
 * @config: attr.config
 * @type: attr.type
 * @task: the task that it counts, referenced; NULL for an event of a CPU or a cgroup
 */
struct kpmu_held {
	u64 id;
	u64 config;
	u32 type;
	struct task_struct *task;
};

void kpmu_held_note(struct kpmu_held *h, struct kpmu_hw *hw);
void kpmu_held_put(struct kpmu_held *h);
bool kpmu_held_visible(const struct kpmu_held *h);

#endif
