// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of the security hooks for an event.  When it is created, a module may attach a
 * label to it (SELinux does); the hooks are then called at each read and change.  They
 * take a struct perf_event, so a labelled event has one, of which only the attr and the
 * label are valid.  Without a label the modules are not called again.
 */
#include <linux/errno.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/static_call.h>

#include "compat.h"
#include "ksym.h"

#ifdef CONFIG_SECURITY

/* All hooks were found */
static bool labels_known __ro_after_init;

/* A direct call, see ksym.c */
typedef int (*lsm_alloc_fn)(struct perf_event *event);
DEFINE_STATIC_CALL_NULL(kpmu_direct_lsm_alloc, *(lsm_alloc_fn)NULL);

/**
 * kpmu_lsm_init() - find out whether the hooks of the security modules can be called
 *
 * Context: module init, after kpmu_ksym_init().
 */
void __init kpmu_lsm_init(void)
{
	labels_known = kpmu_ksym_has(KSYM_security_perf_event_alloc) &&
		       kpmu_ksym_has(KSYM_security_perf_event_free) &&
		       kpmu_ksym_has(KSYM_security_perf_event_read) &&
		       kpmu_ksym_has(KSYM_security_perf_event_write);
	static_call_update(kpmu_direct_lsm_alloc,
			   (lsm_alloc_fn)kpmu_ksym_data(KSYM_security_perf_event_alloc));
}

/*
 * The perf_event of the last open that got no label, one on each CPU.  Few systems have labels, and
 * allocating and zeroing more than a kilobyte costs more than the hook.
 */
static DEFINE_PER_CPU(struct perf_event *, unlabelled);

static struct perf_event *take_unlabelled(void)
{
	return this_cpu_xchg(unlabelled, NULL) ?: kzalloc(sizeof(struct perf_event), GFP_KERNEL);
}

static void keep_unlabelled(struct perf_event *event)
{
	if (this_cpu_cmpxchg(unlabelled, NULL, event))
		kfree(event);
}

static int call_lsm_hook(enum kpmu_ksym hook, struct perf_event *label)
{
	return kpmu_ksym_call(hook, (unsigned long)label, 0, 0, 0);
}

/**
 * kpmu_lsm_alloc() - check whether the security modules permit to create an event
 * @label: set to the event's label, NULL if no module set one
 * @type: attr.type of the event
 * @config: attr.config of the event
 *
 * Context: task, may sleep.
 * Return: 0, a module's error, -ENOMEM; -EACCES if the kernel's hooks were not found.
 */
int kpmu_lsm_alloc(struct perf_event **label, u32 type, u64 config)
{
	struct perf_event *event;
	int err;

	*label = NULL;
	if (!labels_known)
		return -EACCES;
	event = take_unlabelled();
	if (!event)
		return -ENOMEM;
	event->attr.type = type;
	event->attr.size = sizeof(event->attr);
	event->attr.config = config;
	err = static_call(kpmu_direct_lsm_alloc)(event);
	if (err)
		kfree(event);
	else if (event->security)
		*label = event;
	else
		keep_unlabelled(event);
	return err;
}

/**
 * kpmu_lsm_free() - free an event's label
 * @label: from kpmu_lsm_alloc(), not NULL
 *
 * Context: task.
 */
void kpmu_lsm_free(struct perf_event *label)
{
	call_lsm_hook(KSYM_security_perf_event_free, label);
	kfree(label);
}

/**
 * kpmu_lsm_read() - check whether current may read or map a labelled event
 * @label: from kpmu_lsm_alloc(), not NULL
 *
 * Context: task, may sleep.
 * Return: 0, or a module's error.
 */
int kpmu_lsm_read(struct perf_event *label)
{
	return call_lsm_hook(KSYM_security_perf_event_read, label);
}

/**
 * kpmu_lsm_write() - check whether current may change a labelled event
 * @label: from kpmu_lsm_alloc(), not NULL
 *
 * Context: task, may sleep.
 * Return: 0, or a module's error.
 */
int kpmu_lsm_write(struct perf_event *label)
{
	return call_lsm_hook(KSYM_security_perf_event_write, label);
}

/**
 * kpmu_lsm_exit() - free what kpmu_lsm_alloc() keeps for the next event
 *
 * Context: module exit, no event is opened any more.
 */
void kpmu_lsm_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kfree(per_cpu(unlabelled, cpu));
}

#else

int kpmu_lsm_alloc(struct perf_event **label, u32 type, u64 config)
{
	*label = NULL;
	return 0;
}

void kpmu_lsm_free(struct perf_event *label) { }
int kpmu_lsm_read(struct perf_event *label) { return 0; }
int kpmu_lsm_write(struct perf_event *label) { return 0; }
void __init kpmu_lsm_init(void) { }
void kpmu_lsm_exit(void) { }

#endif
