// SPDX-License-Identifier: GPL-2.0-only
/*
 * CALLCHAIN_DEFERRED records: the user stack that samples with defer_callchain name by a cookie.
 * It is unwound when the task leaves the kernel, and written to the events with defer_output.
 */
#include "side_band.h"

struct unwound {
	struct {
		u64 cookie;
		u64 nr;
	} head;
	const unsigned long *ips;
};

static void deferred_record(struct kpmu_event *e, void *data)
{
	const struct unwound *u = data;
	u32 size = u->head.nr * sizeof(u64);
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, KPMU_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER,
			       sizeof(u->head) + size))
		return;
	kpmu_record_put(&r, &u->head, sizeof(u->head));
	if (size)
		kpmu_record_put(&r, u->ips, size);
	kpmu_record_end(&r);
}

/**
 * kpmu_side_deferred() - write CALLCHAIN_DEFERRED records for the current task
 * @ips: its user stack, the innermost frame first
 * @nr: number of addresses, a page of them at most
 * @cookie: identifies the stack
 *
 * Context: task, as it returns to user mode or exits.
 */
void kpmu_side_deferred(const unsigned long *ips, u32 nr, u64 cookie)
{
	struct unwound u = { .head = { .cookie = cookie, .nr = nr }, .ips = ips };

	kpmu_side_write(KPMU_ATTR_DEFER_OUTPUT, deferred_record, &u);
}
