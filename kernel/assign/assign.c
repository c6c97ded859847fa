// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counter assignment is bipartite matching.  Events are placed in order of importance; each
 * one takes a free counter, or makes earlier events move to other counters along an
 * augmenting path.  No placed event loses its counter without getting another, and a set that
 * has a solution is never refused: an event without an augmenting path cannot be placed together
 * with the earlier ones in any way.
 *
 * Of the free counters the highest is taken: fixed counters, which few events can use,
 * before general ones, and general ones without restrictions before those that
 * restricted events need.
 *
 * A wide event takes a pair of counters and stays there: single events move out of its way, but it
 * never moves out of theirs.  So no set that has a solution is refused, if single events may use any
 * counter, as on AMD.
 *
 * With at most 32 counters a set of counters is a word, so a search step is a
 * few bit operations.  Cost: one step if a counter is free (the common case), else at
 * most (counters x events) steps.
 */
#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/string.h>
#else
#include "shim.h"
#endif

#include "assign.h"

static void assign_counter(struct kpmu_matching *m, int event, int counter)
{
	m->counter[event] = counter;
	m->owner[counter] = event;
	m->used |= 1u << counter;
}

/*
 * Breadth-first search from the new event: the owner of a taken counter may move
 * to another one.  from[c] is the event that wants counter c, which gives the way back
 * along the path.
 */
static bool augment_matching(struct kpmu_matching *m, int event)
{
	s8 from[KPMU_MAX_COUNTERS], queue[KPMU_MAX_COUNTERS + 1];
	u32 seen = m->upper | m->upper >> 1, fresh;
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
			/* A free counter: each event on the path takes the counter it wants */
			for (;;) {
				e = from[c];
				next = e == event ? -1 : m->counter[e];
				assign_counter(m, e, c);
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
 * @m: the events placed so far; changed only on success
 * @allowed: counters the event may use, a bit each
 * @hint: the counter it had last, or -1; taken again if free, which saves
 *	reprogramming
 *
 * Context: any.
 * Return: true if the event fits together with the placed ones.
 */
bool kpmu_assign(struct kpmu_matching *m, u32 allowed, int hint)
{
	u32 free = allowed & ~m->used;
	int event = m->nr;

	if (event == KPMU_MAX_COUNTERS)
		return false;
	m->allowed[event] = allowed;
	if (hint >= 0 && free & 1u << hint)
		assign_counter(m, event, hint);
	else if (free)
		assign_counter(m, event, 31 - __builtin_clz(free));
	else if (!augment_matching(m, event))
		return false;
	m->nr++;
	return true;
}

static void assign_pair(struct kpmu_matching *m, int event, int counter)
{
	assign_counter(m, event, counter);
	m->used |= 2u << counter;
	m->upper |= 2u << counter;
}

/* Take a pair, whose events move to other counters; false if one cannot, then @m is changed */
static bool clear_pair(struct kpmu_matching *m, int event, int counter)
{
	u32 moved = m->used & 3u << counter;
	s8 owner[2] = { m->owner[counter], m->owner[counter + 1] };
	int i;

	assign_pair(m, event, counter);
	for (i = 0; i < 2; i++)
		if (moved & 1u << (counter + i) && !augment_matching(m, owner[i]))
			return false;
	return true;
}

static bool assign_wide(struct kpmu_matching *m, u32 allowed, int hint)
{
	u32 free = allowed & ~(m->used | m->used >> 1);
	struct kpmu_matching saved;
	int event = m->nr;

	if (event == KPMU_MAX_COUNTERS)
		return false;
	m->allowed[event] = allowed;
	if (free) {
		assign_pair(m, event, hint >= 0 && free & 1u << hint ? hint :
			    31 - __builtin_clz(free));
		m->nr++;
		return true;
	}
	saved = *m;
	for (allowed &= ~(m->upper >> 1); allowed; allowed &= allowed - 1) {
		if (clear_pair(m, event, __builtin_ctz(allowed))) {
			m->nr++;
			return true;
		}
		*m = saved;
	}
	return false;
}

/**
 * kpmu_assign_group() - place all events of a group or none
 * @m: the events placed so far; unchanged on failure
 * @allowed: per event, the counters it may use; of a wide event, the lower ones of pairs, which are even
 * @hint: per event, the counter it had last, or -1
 * @wide: the events that take a pair of counters, a bit each
 * @n: number of events
 *
 * Context: any.
 * Return: true if the group fits together with the placed events.
 */
bool kpmu_assign_group(struct kpmu_matching *m, const u32 *allowed,
		       const s8 *hint, u32 wide, int n)
{
	struct kpmu_matching saved;
	int i;

	if (n == 1 && !wide)
		return kpmu_assign(m, allowed[0], hint[0]);
	saved = *m;
	for (i = 0; i < n; i++) {
		if (!(wide & 1u << i ? assign_wide(m, allowed[i], hint[i]) :
				       kpmu_assign(m, allowed[i], hint[i]))) {
			*m = saved;
			return false;
		}
	}
	return true;
}
