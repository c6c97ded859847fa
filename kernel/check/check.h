/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Invariants: rules that hold whenever a context's owner lets go of it, and at each
 * commit.  Documentation/testing.rst, "Invariants", has a line for each.
 */
#ifndef KPMU_CHECK_H
#define KPMU_CHECK_H

#include <linux/types.h>

#include "../event/event.h"
#include "../event/family.h"
#include "../event/sampling.h"
#include "../event/timer.h"
#include "../sched/sched.h"

/* Events of a context that one look walks, at most; the next look goes on from there */
#define CHECK_EVENTS	32

/**
 * struct check_tally - what a walk over a whole context has found
 * @events: attached events
 * @inherit: with a family
 * @sampling: that write records
 * @freq: with a frequency
 * @pinned: pinned groups that are candidates
 * @flexible: flexible groups that are candidates
 * @bound: of both, those bound to a CPU
 * @free_bound: groups that need no counter, in the list of those bound to a CPU
 * @placed: groups that a plan has placed
 * @side: events with side-band records
 * @hits: events that count hits
 * @gated: those of them that are told of hits only while they run
 * @timed: clock events that sample
 * @mapped: events with a user page
 * @scan: the scan's next event was there
 */
struct check_tally {
	u32 events;
	u32 inherit;
	u32 sampling;
	u32 freq;
	u32 pinned;
	u32 flexible;
	u32 bound;
	u32 free_bound;
	u32 placed;
	u32 side;
	u32 hits;
	u32 gated;
	u32 timed;
	u32 mapped;
	bool scan;
};

/**
 * struct check_look - what is being looked at
 * @kc: the CPU on which it is active, NULL if it is not
 * @ctx: the context
 * @leader: the group
 * @e: the event
 * @members: members of @leader that were walked; U32_MAX if not all
 * @family: the family
 * @tally: of the walk, if it was over the whole context
 * @detail: which part of a rule does not hold, or NULL
 */
struct check_look {
	struct kpmu_cpu *kc;
	struct kpmu_ctx *ctx;
	struct kpmu_event *leader;
	struct kpmu_event *e;
	u32 members;
	struct kpmu_family *family;
	struct check_tally tally;
	const char *detail;
};

/**
 * struct check_rule - a rule
 * @name: its name, as in testing.rst
 * @holds: does it hold for what @l has of what the table is about?
 * @told: a breach of it was told
 *
 * A table of rules ends with one without a name.
 */
struct check_rule {
	const char *name;
	bool (*holds)(struct check_look *l);
	bool told;
};

extern struct check_rule check_cpu_rules[];	/* of @kc */
extern struct check_rule check_ctx_rules[];	/* of @ctx, at little cost */
extern struct check_rule check_sum_rules[];	/* of @ctx, after a whole walk */
extern struct check_rule check_group_rules[];	/* of @leader */
extern struct check_rule check_event_rules[];	/* of @e */
extern struct check_rule check_time_rules[];	/* of @e */
extern struct check_rule check_family_rules[];	/* of @family */

void check_rules(struct check_rule *rules, struct check_look *l);
void check_breach(const char *name, const struct check_look *l);
void check_breaches_exit(void);
void check_times_forget(const struct kpmu_event *e);
void check_times_init(void);

void kpmu_checks_init(void);
void kpmu_checks_exit(void);

#endif
