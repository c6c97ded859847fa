// SPDX-License-Identifier: GPL-2.0-only
/* CGROUP records.  perf_event_open(2), PERF_RECORD_CGROUP. */
#include <linux/cgroup.h>
#include <linux/slab.h>

#include "side_band.h"

struct born {
	u64 id;
	const char *path;
	u32 size;		/* of @path, including padding */
};

static void cgroup_record(struct kpmu_event *e, void *data)
{
	const struct born *b = data;
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, PERF_RECORD_CGROUP, 0,
			       sizeof(b->id) + b->size))
		return;
	kpmu_record_put(&r, &b->id, sizeof(b->id));
	kpmu_record_put(&r, b->path, b->size);
	kpmu_record_end(&r);
}

/**
 * kpmu_side_cgroup() - write CGROUP records for a new cgroup
 * @css: its state of the perf_event controller
 *
 * Context: task, may be atomic.
 */
void kpmu_side_cgroup(struct cgroup_subsys_state *css)
{
	static const char enomem[16] = "//enomem";
	struct born b = { .id = cgroup_id(css->cgroup), .path = enomem };
	char *buf;

	if (!kpmu_side_wanted(KPMU_ATTR_CGROUP))
		return;
	/* Zeroed: the bytes after the path are its padding */
	buf = kzalloc(PATH_MAX, GFP_ATOMIC | __GFP_NOWARN);
	if (buf) {
		cgroup_path(css->cgroup, buf, PATH_MAX - sizeof(u64));
		b.path = buf;
	}
	b.size = ALIGN(strlen(b.path) + 1, sizeof(u64));
	kpmu_side_write(KPMU_ATTR_CGROUP, cgroup_record, &b);
	kfree(buf);
}
