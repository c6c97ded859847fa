// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counter assignment is bipartite matching.  Events come in order of
 * importance; each either takes a free counter or makes events placed before
 * it move over, along an augmenting path.  Nothing placed is ever thrown out, and a
 * set that has a solution is never refused: an event that finds no augmenting
 * path cannot be placed beside the earlier ones in any way.
 *
 * A free counter is taken from the top: fixed counters, which few events can use,
 * come before general ones, and general ones that have no restrictions before
 * those that restricted events need.
 *
 * With at most 32 counters a set of counters is a word, so a search step is a
 * few bit operations.  Cost: one step for a free hinted counter (the common
 * case), at most (counters x events) steps otherwise.
 */
#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/string.h>
#else
#include "shim.h"
#endif

#include "assign.h"

static void place(struct kpmu_matching *m, int event, int counter)
{
	m->counter[event] = counter;
	m->owner[counter] = event;
	m->used |= 1u << counter;
}

/*
 * Breadth-first from the new event: try counters; the owner of a taken one may
 * move to others.  from[c] is the event that wants counter c, so the path
 * can be walked back.
 */
static bool augment(struct kpmu_matching *m, int event)
{
	s8 from[KPMU_MAX_COUNTERS], queue[KPMU_MAX_COUNTERS + 1];
	u32 seen = 0, fresh;
	int head = 0, tail = 0, e, c, next;

	queue[tail++] = event;
	while (head < tail) {
		e = queue[head++];
		for (fresh = m->allowed[e] & ~seen; fresh; fresh &= fresh - 1) {
			c = __builtin_ctz(fresh);
			seen |= 1u << c;
			from[c] = e;
			if (m->used & 1u << c) {
				queue[tail++] = m->owner[c];
				continue;
			}
			/* A free counter: everyone on the path moves up */
			for (;;) {
				e = from[c];
				next = e == event ? -1 : m->counter[e];
				place(m, e, c);
				if (next < 0)
					return true;
				c = next;
			}
		}
	}
	return false;
}

/**
 * kpmu_assign() - place one more event
 * @m: what is placed already; changed only on success
 * @allowed: counters the event may use, a bit each
 * @hint: the counter it had last, or -1: taken again when free, so that
 *	nothing needs to be reprogrammed
 *
 * Context: any.
 * Return: whether it fits beside all that is placed.
 */
bool kpmu_assign(struct kpmu_matching *m, u32 allowed, int hint)
{
	u32 free = allowed & ~m->used;
	int event = m->nr;

	if (event == KPMU_MAX_COUNTERS)
		return false;
	m->allowed[event] = allowed;
	if (hint >= 0 && free & 1u << hint)
		place(m, event, hint);
	else if (free)
		place(m, event, 31 - __builtin_clz(free));
	else if (!augment(m, event))
		return false;
	m->nr++;
	return true;
}

/**
 * kpmu_assign_group() - place all events of a group or none
 * @m: what is placed already; unchanged on failure
 * @allowed: per event, the counters it may use
 * @hint: per event, the counter it had last, or -1
 * @n: number of events
 *
 * Context: any.
 * Return: whether the group fits beside all that is placed.
 */
bool kpmu_assign_group(struct kpmu_matching *m, const u32 *allowed,
		       const s8 *hint, int n)
{
	struct kpmu_matching saved;
	int i;

	if (n == 1)
		return kpmu_assign(m, allowed[0], hint[0]);
	saved = *m;
	for (i = 0; i < n; i++) {
		if (!kpmu_assign(m, allowed[i], hint[i])) {
			*m = saved;
			return false;
		}
	}
	return true;
}
