/* SPDX-License-Identifier: GPL-2.0-only */
/* Events in BPF maps (BPF_MAP_TYPE_PERF_EVENT_ARRAY), whose values programs read: bpf_map.c. */
#ifndef KPMU_BPF_MAP_H
#define KPMU_BPF_MAP_H

#include <linux/atomic.h>
#include <linux/types.h>

struct file;
struct perf_event;
struct task_struct;

/**
 * struct kpmu_bpf_counter - an event whose values programs may read
 * @type: attr.type of the event
 * @config: attr.config of the event
 * @inherit: attr.inherit of the event: its values cannot be read
 * @cpu: its CPU, where alone it can be read; not used with @task
 * @task: its task, which alone can read it; NULL for an event of a CPU
 * @file: its file
 * @event: argument of @read
 * @read: gets the event's count, time enabled and time running in ns.  False if they cannot be had now: a
 *	program then gets those of the last time.  Called on the CPU or in the task, IRQs off, also in NMIs
 */
struct kpmu_bpf_counter {
	u32 type;
	u64 config;
	bool inherit;
	int cpu;
	struct task_struct *task;
	struct file *file;
	void *event;
	bool (*read)(void *event, u64 values[3]);
};

extern atomic_t kpmu_bpf_map_tasks;

struct file *kpmu_bpf_map_file(const struct kpmu_bpf_counter *c);
void kpmu_bpf_map_read(struct perf_event *event);

#endif
