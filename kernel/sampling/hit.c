// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hits: occurrences counted by events without hardware counters.  A source reports
 * a hit on the CPU where it happens; the running events there with the same tap
 * count it.  So an event that is not gated costs nothing at a task switch.
 */
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rculist.h>
#include <linux/timex.h>

#include "../compat/compat.h"
#include "../record/sample.h"
#include "../sched/sched.h"
#include "../source/period.h"
#include "../trace/stats.h"
#include "fair.h"
#include "follow.h"
#include "rate.h"

/*
 * The period of an event with a frequency is stale after a rate drop: shrink it to
 * the hits since the last overflow, so that the event overflows now.
 */
static void shrink_period(struct kpmu_event *e, u64 count)
{
	u64 passed = kpmu_ctx_now(e->se.ctx) - e->sampling->seen;
	s64 left = kpmu_period_left(&e->se.hw, count);

	if (left <= 0 || passed < 2 * NSEC_PER_SEC / e->sampling->freq)
		return;
	kpmu_period_change(&e->se.hw, max_t(s64, e->se.hw.period - left, 1));
	kpmu_period_due(&e->se.hw, count);
}
NOKPROBE_SYMBOL(shrink_period);

static bool report_overflow_hit(struct kpmu_event *e, struct kpmu_hit *hit)
{
	if (hit->fix_regs) {
		hit->fix_regs(hit->regs);
		hit->fix_regs = NULL;
	}
	return kpmu_overflow(&e->se.hw, hit);
}
NOKPROBE_SYMBOL(report_overflow_hit);

/*
 * Number of overflows due at @count.  One hit may add millions (the nanoseconds of
 * sched_stat_*), so the number is computed rather than found in a loop.
 */
static u64 overflows_due(struct kpmu_event *e, u64 count)
{
	u64 next, nr;

	do {
		next = READ_ONCE(e->se.hw.next);
		if ((s64)(count - next) < 0)
			return 0;
		nr = 1;
		if (count - next >= e->se.hw.period)
			nr += div64_u64(count - next, e->se.hw.period);
		/* A hit in an NMI may have changed hw.next */
	} while (cmpxchg_local(&e->se.hw.next, next, next + nr * e->se.hw.period) != next);
	return nr;
}
NOKPROBE_SYMBOL(overflows_due);

/* Overflows of one hit after its first are throttled: at most the share of one tick */
static noinline void overflow_again(struct kpmu_event *e, u64 nr, struct kpmu_hit *hit)
{
	u64 most = kpmu_rate_burst(e), began = get_cycles();

	if (!most)
		return;
	hit->more = true;
	while (nr-- && !report_overflow_hit(e, hit)) {
		if (unlikely(get_cycles() - began > most)) {
			kpmu_rate_exceeded(e);
			break;
		}
	}
	hit->more = false;
	kpmu_rate_burst_took(e, get_cycles() - began);
}
NOKPROBE_SYMBOL(overflow_again);

/*
 * With SAMPLE_PERIOD and no frequency each hit is one sample, with the number of its
 * occurrences as the period, as upstream.
 */
static void sample_hits(struct kpmu_event *e, u64 nr, u64 count, struct kpmu_hit *hit)
{
	struct kpmu_sampling *s = e->sampling;

	if (!hit->regs)
		return;
	if (e->se.hw.source->trace) {
		kpmu_aux_trace(e, hit);
		return;
	}
	if (!s->freq && s->sample_type & KPMU_SAMPLE_PERIOD) {
		hit->period = nr;
		report_overflow_hit(e, hit);
		return;
	}
	if (s->freq)
		shrink_period(e, count);
	hit->period = e->se.hw.period;
	nr = overflows_due(e, count);
	if (nr && !report_overflow_hit(e, hit) && unlikely(nr > 1))
		overflow_again(e, nr - 1, hit);
}
NOKPROBE_SYMBOL(sample_hits);

/*
 * A filter may compare strings for a millisecond, and there may be thousands of them, with IRQs
 * off.  Together they may take a quarter of a tick per hit.  After that, an event with a filter
 * does not count the hit.
 */
static noinline bool match_hit(const struct kpmu_match *match, struct kpmu_hit *hit)
{
	u64 began = get_cycles();
	bool matches;

	if (unlikely(hit->filtering > kpmu_tick_cycles() / 4)) {
		kpmu_stat_inc(hits_unfiltered);
		return false;
	}
	matches = kpmu_match_hit(match, hit);
	hit->filtering += kpmu_rate_of_filter(get_cycles() - began);
	return matches;
}
NOKPROBE_SYMBOL(match_hit);

static __always_inline bool filtered_out(const struct kpmu_event *e,
					 struct kpmu_hit *hit)
{
	const struct kpmu_match *match = READ_ONCE(e->se.hw.match);

	return unlikely(match) && !match_hit(match, hit);
}

/* Number of samples of one hit that are not throttled as a burst */
#define FREE_SAMPLES	16

/* Thousands of events may sample the same hit: together they are throttled as a burst */
static noinline void sample_more(struct kpmu_event *e, u64 nr, u64 count, struct kpmu_hit *hit)
{
	u64 began = get_cycles();

	if (!kpmu_rate_burst(e))
		return;
	sample_hits(e, nr, count, hit);
	kpmu_rate_sample_took(e, get_cycles() - began);
}
NOKPROBE_SYMBOL(sample_more);

static void hit_ctx(struct kpmu_ctx *ctx, const struct kpmu_hit_key *key, u64 nr,
		    struct kpmu_hit *hit)
{
	struct kpmu_event *e;
	u64 count;

	hlist_for_each_entry_rcu(e, &ctx->hits, hit_node,
				 rcu_read_lock_sched_held()) {
		if (READ_ONCE(e->se.hw.key) != key || !e->se.clock.is_running ||
		    kpmu_hit_excluded(e, hit->regs) || filtered_out(e, hit))
			continue;
		if (unlikely(e->se.clock.is_still) && kpmu_rate_waits(e))
			continue;
		if (!e->se.hw.period) {
			local64_add(nr, &e->se.hw.count);
			continue;
		}
		count = local64_add_return(nr, &e->se.hw.count);
		if (likely(hit->samples++ < FREE_SAMPLES))
			sample_hits(e, nr, count, hit);
		else
			sample_more(e, nr, count, hit);
	}
}
NOKPROBE_SYMBOL(hit_ctx);

static __always_inline void hit_all(struct kpmu_cpu *kc, const struct kpmu_hit_key *key, u64 nr,
				    struct kpmu_hit *hit)
{
	struct kpmu_ctx *ctx;

	/* Tasks may still run on a CPU that goes offline; other CPUs may own the contexts then */
	if (unlikely(kc->offline))
		return;
	/* Mostly the task's context is the only one with events that count hits */
	kpmu_for_each_cpu_ctx(ctx, kc)
		if (ctx->hits.first)
			hit_ctx(ctx, key, nr, hit);
	if (kc->task && kc->task->hits.first)
		hit_ctx(kc->task, key, nr, hit);
}

/**
 * kpmu_hit_report() - report a hit on this CPU to the events that count it
 * @key: origin of the hit, see struct kpmu_hit_key
 * @nr: number of occurrences
 * @hit: details of the hit
 *
 * Disables IRQs, as not every source does: an IPI must not change contexts, groups and
 * counters meanwhile.  Most hits are in tasks without events: they take the short path.
 *
 * Context: any, also NMI.
 */
void kpmu_hit_report(const struct kpmu_hit_key *key, u64 nr, struct kpmu_hit *hit)
{
	unsigned long flags = kpmu_irq_save_notrace();
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	struct kpmu_ctx *task = READ_ONCE(kc->task);

	if (unlikely((task && task->hits.first) || kc->ctx.hits.first || kc->ctx.up))
		hit_all(kc, key, nr, hit);
	kpmu_irq_restore_notrace(flags);
}
NOKPROBE_SYMBOL(kpmu_hit_report);
