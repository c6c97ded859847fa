/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Invariants: rules that hold whenever the owner of a context gives it up, and after each
 * commit.  Documentation/testing.rst, "Invariants", lists them.
 */
#ifndef KPMU_CHECK_H
#define KPMU_CHECK_H

#include <linux/types.h>

#include "../event/family.h"
#include "../event/sampling.h"
#include "../sampling/follow.h"
#include "../sched/sched.h"

/* Limit of events per check of a context; the next check continues after them */
#define CHECK_EVENTS	32

/**
 * struct check_tally - what a walk over a whole context has found
 * @events: attached events
 * @inherit: events with a family
 * @sampling: events that write records
 * @freq: events with a sampling frequency
 * @pinned: pinned groups that are candidates
 * @flexible: flexible groups that are candidates
 * @bound: groups in @pinned and @flexible that are bound to a CPU or a kind of CPUs
 * @free_bound: free groups of a task that are bound to a CPU
 * @placed: groups that a plan has placed
 * @side: events with side-band records
 * @hits: events that count hits
 * @gated: events in @hits whose hits are reported only while they run
 * @timed: events whose source or timer follows the context, see kpmu_is_followed()
 * @mapped: events with a user page
 * @scan: the event in ctx->scan was found
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
 * struct check_state - what is being checked
 * @kc: the CPU on which @ctx is active; NULL if it is idle or being released
 * @ctx: the context
 * @leader: the group's leader
 * @e: the event
 * @members: members of @leader that were walked; U32_MAX if not all
 * @family: the family
 * @tally: sums of the walk; complete if it covers the whole context
 * @detail: which part of a rule does not hold, or NULL
 */
struct check_state {
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
 * @holds: test the rule for the objects in @l that the table is about
 * @told: a breach has been reported; later ones are not
 *
 * A table of rules ends with one without a name.
 */
struct check_rule {
	const char *name;
	bool (*holds)(struct check_state *l);
	bool told;
};

extern struct check_rule check_pmi_rules[];	/* of this CPU */
extern struct check_rule check_cpu_rules[];	/* of @kc */
extern struct check_rule check_bucket_rules[];	/* of @kc */
extern struct check_rule check_ctx_rules[];	/* of @ctx, cheap */
extern struct check_rule check_sum_rules[];	/* of @ctx, after a whole walk */
extern struct check_rule check_group_rules[];	/* of @leader */
extern struct check_rule check_event_rules[];	/* of @e */
extern struct check_rule check_time_rules[];	/* of @e */
extern struct check_rule check_family_rules[];	/* of @family */

void check_rules(struct check_rule *rules, struct check_state *l);
void check_breach(const char *name, const struct check_state *l);
void check_breaches_exit(void);
void check_times_forget(const struct kpmu_event *e);
void check_times_init(void);

void kpmu_checks_init(void);
void kpmu_checks_exit(void);

#endif
