// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events in BPF maps (BPF_MAP_TYPE_PERF_EVENT_ARRAY).
 *
 * An element of such a map is a file and, in its private_data, a struct perf_event.  Helpers read the
 * values by perf_event_read_local().  So an element for kpmu's event has a stand-in of both, which lives as
 * long as the element.  As that of bpf_run.c, the stand-in is in no context of the kernel's perf; its PMU
 * reads kpmu's event.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "bpf_map.h"

/**
 * struct element - what a map has for an event
 * @event: what helpers read
 * @counter: where they get it from
 */
struct element {
	struct perf_event event;
	struct kpmu_bpf_counter counter;
};

/* Elements with events of tasks */
atomic_t kpmu_bpf_map_tasks = ATOMIC_INIT(0);

/* perf_event_read_local() calls this, and then takes the values from the event */
static void read_element(struct perf_event *event)
{
	const struct kpmu_bpf_counter *c = &container_of(event, struct element, event)->counter;
	u64 values[3];

	if (!c->read(c->event, values))
		return;
	local64_set(&event->count, values[0]);
	event->total_time_enabled = values[1];
	event->total_time_running = values[2];
}
NOKPROBE_SYMBOL(read_element);

static struct pmu element_pmu = { .read = read_element };

/**
 * kpmu_bpf_map_read() - at the entry of perf_event_read_local(): an element of a task's event is on this CPU
 * @event: any event
 *
 * Else the function would not call its PMU.  The program that reads is not migrated.
 *
 * Context: any, including NMI.
 */
void kpmu_bpf_map_read(struct perf_event *event)
{
	if (event->pmu == &element_pmu && event->attach_state & PERF_ATTACH_TASK)
		event->oncpu = raw_smp_processor_id();
}
NOKPROBE_SYMBOL(kpmu_bpf_map_read);

static int release_element(struct inode *inode, struct file *file)
{
	struct element *m = container_of(file->private_data, struct element, event);

	if (m->counter.task) {
		atomic_dec(&kpmu_bpf_map_tasks);
		put_task_struct(m->counter.task);
	}
	fput(m->counter.file);
	kfree(m);
	return 0;
}

static const struct file_operations element_fops = {
	.owner = THIS_MODULE,
	.release = release_element,
};

/* On its CPU, and without a context: its times do not advance by themselves */
static void fill_element(struct perf_event *event, const struct kpmu_bpf_counter *c)
{
	event->pmu = &element_pmu;
	event->group_leader = event;
	event->state = PERF_EVENT_STATE_ACTIVE;
	event->cpu = c->cpu;
	event->oncpu = c->cpu;
	event->attr.size = sizeof(event->attr);
	event->attr.type = c->type;
	event->attr.config = c->config;
	event->attr.inherit = c->inherit;
	/* Not NULL: BPF_LINK_CREATE, which also calls perf_event_get(), attaches no program to it (EINVAL) */
	event->overflow_handler_context = event;
	if (c->task) {
		event->attach_state = PERF_ATTACH_TASK;
		event->hw.target = c->task;
	}
}

/**
 * kpmu_bpf_map_file() - make an element of a map
 * @c: the event; on success the element takes the caller's reference to its file
 *
 * Context: task, may sleep.
 * Return: a file as that of an event of the kernel's perf, for perf_event_get() only; -ENOMEM, -ENFILE.
 */
struct file *kpmu_bpf_map_file(const struct kpmu_bpf_counter *c)
{
	struct element *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	struct file *file;

	if (!m)
		return ERR_PTR(-ENOMEM);
	m->counter = *c;
	fill_element(&m->event, c);
	file = anon_inode_getfile("[perf_event]", &element_fops, &m->event, O_RDWR);
	if (IS_ERR(file)) {
		kfree(m);
		return file;
	}
	if (c->task) {
		get_task_struct(c->task);
		atomic_inc(&kpmu_bpf_map_tasks);
	}
	return file;
}
