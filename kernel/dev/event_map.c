// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events in BPF maps (BPF_MAP_TYPE_PERF_EVENT_ARRAY): programs read their values.
 *
 * The kernel accepts only fds of its own perf there, by perf_event_get().  This function is diverted, and
 * gives the map a stand-in for an fd of kpmu (compat/bpf_map.c).
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>

#include "../compat/bpf_map.h"
#include "../compat/hook.h"
#include "../event/event.h"
#include "../sched/borrow.h"
#include "dev.h"

static struct file *get_event(unsigned int fd);

static struct kpmu_divert get_call[] = {
	{ .func = "perf_event_get", .instead = get_event, .feature = "events in BPF maps" },
};

static struct kpmu_diverts map_set = {
	.table = get_call, .n = ARRAY_SIZE(get_call),
};

/* See struct kpmu_bpf_counter.  In an NMI the interrupted code may own the context: see kpmu_event_count() */
static bool values_now(void *event, u64 values[3])
{
	struct kpmu_event *e = event;
	struct kpmu_ctx *ctx = e->se.ctx;
	struct kpmu_times times;
	bool valid;

	if (!kpmu_ctx_borrow(ctx))
		return false;
	valid = e->se.state != KPMU_ERROR;
	if (valid) {
		times = kpmu_times_at(&e->se.clock, kpmu_ctx_now(ctx));
		values[0] = kpmu_event_count(e);
		values[1] = times.enabled;
		values[2] = times.running;
	}
	kpmu_ctx_return(ctx);
	return valid;
}
NOKPROBE_SYMBOL(values_now);

/* Return: the file of the map's element, with a reference */
static struct file *element_of(struct file *file, struct kpmu_event *e)
{
	const struct kpmu_ctx *ctx = e->se.ctx;
	struct kpmu_bpf_counter c = {
		.type = e->type,
		.config = e->config,
		.inherit = e->se.flags & KPMU_ATTR_INHERIT,
		.cpu = ctx->home,
		.task = ctx->task,
		.file = file,
		.event = e,
		.read = values_now,
	};

	/* Programs do not read such events but write to them */
	if (e->type == KPMU_TYPE_SOFTWARE && e->config == PERF_COUNT_SW_BPF_OUTPUT)
		return ERR_PTR(-EBADF);
	return kpmu_bpf_map_file(&c);
}

/* Replacement of perf_event_get() */
static struct file *get_event(unsigned int fd)
{
	struct kpmu_divert *d = &get_call[0];
	struct file *got, *file = fget(fd);
	struct kpmu_event *e = file ? kpmu_event_of_file(file) : NULL;

	if (e)
		got = element_of(file, e);
	else
		got = (void *)kpmu_divert_call(d, fd);
	if (file && (!e || IS_ERR(got)))
		fput(file);
	kpmu_divert_done(d);
	return got;
}

/**
 * kpmu_bpf_maps_init() - let BPF maps have events
 *
 * Cannot fail: /dev/kpmu may be open already.  Without it the map gives EBADF.
 *
 * Context: module init, after everything that an open needs; may sleep.
 */
void __init kpmu_bpf_maps_init(void)
{
	int err = kpmu_diverts_register(&map_set);

	if (err)
		pr_notice("no events in BPF maps (%d)\n", err);
}

/**
 * kpmu_bpf_maps_exit() - undo kpmu_bpf_maps_init()
 *
 * Context: module exit, no map with an event left; may sleep.
 */
void kpmu_bpf_maps_exit(void)
{
	kpmu_diverts_unregister(&map_set);
}
