// SPDX-License-Identifier: GPL-2.0-only
/* The user page of an event whose counter is set to another value. */
#include <uapi/linux/perf_event.h>

#include "counter.h"

/**
 * x86_user_jump() - adjust the user page after a counter was set to another value
 * @hw: the event, mapped
 * @from: last value of the counter before
 * @to: value that it was set to
 *
 * The offset is adjusted by the difference instead of being computed anew, because the
 * code interrupted may be in the middle of a fold.  If it is writing the page, it notices
 * the change in hw->jumps and writes again.
 *
 * Context: PMI; or IRQs off while PMIs ignore the event.
 */
void x86_user_jump(struct kpmu_hw *hw, u64 from, u64 to)
{
	struct perf_event_mmap_page *page = hw->page;
	u32 lock = READ_ONCE(page->lock);

	WRITE_ONCE(hw->jumps, hw->jumps + 1);
	if (!page->index)
		return;
	/* An odd lock belongs to the interrupted writer, and stays odd until it is done */
	WRITE_ONCE(page->lock, lock | 1);
	smp_wmb();	/* the lock changes before the offset */
	page->offset += x86_sign_extend(from) - x86_sign_extend(to);
	smp_wmb();	/* and after it */
	if (!(lock & 1))
		WRITE_ONCE(page->lock, lock + 2);
}
