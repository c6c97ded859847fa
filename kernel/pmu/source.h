/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an event source is to the rest of kpmu, and what an event is to its
 * source.  Counters are 64 bits wide here; how wide the hardware is, how it
 * signs, wraps and reloads, is the source's business.
 */
#ifndef KPMU_SOURCE_H
#define KPMU_SOURCE_H

#include <linux/types.h>
#include <asm/local64.h>

struct kpmu_attr;
struct kpmu_hw;
struct kpmu_grant;
struct kpmu_match;
struct mm_struct;
struct perf_event_mmap_page;
struct kpmu_tap;
struct pt_regs;
struct seq_file;
struct task_struct;

#define KPMU_MAX_COUNTERS_SHIFT	5
#define KPMU_NR_SLOTS		(1 << KPMU_MAX_COUNTERS_SHIFT)

/* What an event may only have with more than the usual permission */
#define KPMU_NEED_CPU		BIT(0)	/* it sees other tasks (AnyThread) */
#define KPMU_NEED_RAW		BIT(1)	/* its records tell what the kernel does */

/**
 * struct kpmu_hit - what a source knows of an overflow, or of what leads to one
 * @regs: where it was noticed
 * @settle: makes of @regs where it is to be seen, once somebody samples it; NULL if they
 *	are that
 * @period: events since the one before
 * @addr: the address it is about, 0 if none
 * @raw: the raw record, or NULL
 * @raw_size: its bytes
 * @began: get_cycles() when its NMI began, of two in KPMU_TIMED; 0 of the others, and
 *	for what takes nobody's time but that of who is hit
 * @next: it is the one after one that was timed
 * @more: one hit makes the event overflow several times, and this is not the first
 * @filtering: what its filters took so far, in cycles
 * @samples: events that have sampled it
 */
#define KPMU_TIMED	8

struct kpmu_hit {
	struct pt_regs *regs;
	void (*settle)(struct pt_regs *regs);
	u64 period;
	u64 addr;
	const void *raw;
	u32 raw_size;
	u64 began;
	bool next;
	bool more;
	u32 samples;
	u64 filtering;
};

/**
 * struct kpmu_hw - the part of an event that its source works on
 * @source: who counts it
 * @count: what was counted up to @prev
 * @prev: the hardware counter's value at the last fold
 * @match: instead of @prev, for a source without counters: which hits count; NULL for all
 * @next: the value of @count at which the next overflow is due
 * @period: events from one overflow to the next; 0 for an event without
 * @sel: the selector, ready to be written
 * @tap: instead of @sel, for a source without counters: where its hits come from,
 *	NULL if it has none
 * @extra: value for the extra register, when @extra_reg is not 0
 * @own: instead of @extra: what the source keeps for a root event
 * @allowed: counters it may use, a bit each; 0 for a source without counters
 * @hint: counter it used last, -1 if none: taken again when free
 * @idx: counter it is on now, -1 when it does not count
 * @fixed: the selector for a fixed counter, four bits
 * @kernel: it counts at CPL 0 too
 * @extra_reg: the extra register it needs, from 1; 0 for none
 * @shown: its task reads the counter by itself, so its value tells of nothing else
 * @rare: one of the two before: what few events need when they get a counter
 * @extra_alt: registers 1 and 2 do the same, and the other one will do as well
 * @rdpmc: user space may read its counter, as the knob was when it was opened
 * @switches: task switches must be seen for it, whatever it is bound to
 * @gated: its hits are told on this CPU only between kpmu_hits_want() and kpmu_hits_leave()
 * @listens: it is between the two; owner of the context
 * @jumps: how often the overflow handler set its counter to another value
 * @page: its user page, NULL when it is not mapped; set by the context's owner
 */
struct kpmu_hw {
	const struct kpmu_source *source;
	local64_t count;
	union {
		local64_t prev;
		const struct kpmu_match *match;
	};
	u64 next;
	u64 period;
	union {
		u64 sel;
		const void *tap;
	};
	union {
		u64 extra;
		void *own;
	};
	u32 allowed;
	s8 hint;
	s8 idx;
	u8 fixed;
	bool kernel;
	union {
		struct {
			u8 extra_reg;
			bool shown;
		};
		u16 rare;
	};
	bool extra_alt;
	bool rdpmc;
	bool switches;
	bool gated;
	bool listens;
	u32 jumps;
	struct perf_event_mmap_page *page;
};

/**
 * struct kpmu_slots - what should run on the counters of this CPU
 * @mask: counters in use
 * @alt: counters whose event uses the other one of extra registers 1 and 2
 * @hw: per counter in @mask, the event
 */
struct kpmu_slots {
	u32 mask;
	u32 alt;
	struct kpmu_hw *hw[KPMU_NR_SLOTS];
};

/**
 * struct kpmu_target - what an event is about to count
 * @attr: its attr, checked
 * @task: whom, NULL for all of a CPU
 * @cpu: where, -1 for any CPU
 */
struct kpmu_target {
	const struct kpmu_attr *attr;
	struct task_struct *task;
	int cpu;
};

/**
 * struct kpmu_source - a source of events
 * @name: its name, as in sysfs
 * @nmi: its overflows are NMIs
 * @both: exclude_user does not keep its hits out: they are the kernel's, even
 *	with registers of the user
 * @clock: the event counts the time it ran, and hw->count is what to add
 * @waits: @get waits for files or for user memory: not to be called with locks of tasks held
 * @init: check type and config of an attr, fill in an event's hw part.
 *	Task context.  0, -ENOENT (not mine, or no such event here), -EINVAL,
 *	-EOPNOTSUPP, -ENXIO; *@why then says more
 * @needs: what more permission (KPMU_NEED_*) an initialised event asks for,
 *	for what it is to count
 * @get: take the hardware for one more event, or what else gives its hits.  Task
 *	context, may sleep.  -EBUSY when somebody else holds it; *@why says more
 * @put: give it back.  Task context, may sleep
 * @read: bring hw->count up to date.  IRQs off, on the CPU where hw->idx is
 * @filter: SET_FILTER: count only hits that a filter of ftrace's grammar accepts.
 *	Either the source sees to it; or *@match and *@tap become what hw->match and
 *	hw->tap are to be from now on, and what @tap was before goes to @unfilter.
 *	Task context, may sleep.  -EINVAL for a bad filter, -EEXIST if there is one.
 *	NULL: there are no filters
 * @unfilter: nothing looks at a former tap any more
 * @modify: MODIFY_ATTRIBUTES: count another thing.  Task context, may sleep.
 *	-EINVAL.  NULL: it cannot
 * @set_period: overflow after so many events from now on.  IRQs off, on the CPU
 *	where hw->idx is
 * @reset: the count begins at 0 again, the next overflow is as far away as before.  IRQs off,
 *	on the CPU where hw->idx is.  NULL: kpmu_source_reset() will do
 * @check_period: may an event with these flags of an attr overflow after so many?  Any
 *	context.  NULL: after any number
 * @set_bpf: SET_BPF: run a BPF program at each hit.  Task context, may sleep.
 *	NULL: it cannot
 * @query_bpf: QUERY_BPF.  Likewise
 * @trace: each hit leaves so many bytes in the AUX area, KPMU_TRACE_MAX at most,
 *	put at @to here.  NULL: it has no AUX area.  Any context, NMI too
 * @user_view: how user space reads the counter that the event is on: its number
 *	for RDPMC plus 1, its width, and what to add to its sign-extended
 *	value.  Owner of the context
 */
struct kpmu_source {
	const char *name;
	bool nmi;
	bool both;
	bool clock;
	bool waits;
	int (*init)(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		    const char **why);
	u32 (*needs)(const struct kpmu_hw *hw,
		     const struct kpmu_target *target);
	int (*get)(struct kpmu_hw *hw, const struct kpmu_target *target,
		   const char **why);
	void (*put)(struct kpmu_hw *hw);
	u64 (*read)(struct kpmu_hw *hw);
	void (*set_period)(struct kpmu_hw *hw, u64 period);
	void (*reset)(struct kpmu_hw *hw);
	bool (*check_period)(const struct kpmu_hw *hw, u64 flags, u64 period);
	int (*filter)(struct kpmu_hw *hw, char *filter, const void **tap,
		      const struct kpmu_match **match);
	void (*unfilter)(const void *tap);
	int (*modify)(struct kpmu_hw *hw, const struct kpmu_attr *attr);
	int (*set_bpf)(struct kpmu_hw *hw, int fd);
	int (*query_bpf)(struct kpmu_hw *hw, void __user *query);
	u32 (*user_view)(struct kpmu_hw *hw, u16 *width, s64 *offset);
	u32 (*trace)(struct kpmu_hw *hw, const struct kpmu_hit *hit, void *to);
};

#define KPMU_TRACE_MAX	64

/**
 * kpmu_source_find() - the source that an attr names
 * @attr: a checked attr
 *
 * Return: the source, or NULL for a type that nobody serves.
 */
const struct kpmu_source *kpmu_source_find(const struct kpmu_attr *attr);

/**
 * kpmu_commit() - make the counters of this CPU be what a plan says
 * @want: the counters to use and their events; what runs already goes on
 *	untouched
 *
 * Not in the vtable: there is one set of counters that needs planning, and the
 * call sits in the task switch.
 *
 * Context: IRQs off; NMIs may come in between.
 */
void kpmu_commit(const struct kpmu_slots *want);

/**
 * kpmu_counters_check() - do the counters of this CPU agree with what was committed?
 * @want: what was committed last
 *
 * Context: IRQs off.
 * Return: what does not agree; NULL if all does.
 */
const char *kpmu_counters_check(const struct kpmu_slots *want);

/**
 * typedef kpmu_overflow_fn - an event has overflowed
 * @hw: the event, active on this CPU
 * @hit: what is known about it
 *
 * May change hw->period, which is then used at once.
 *
 * Context: whatever the source counts in; NMI for the CPU's counters.
 * Return: true if the event is to stand still until kpmu_counters_resume(), or until it
 * gets a counter again.
 */
typedef bool (*kpmu_overflow_fn)(struct kpmu_hw *hw, struct kpmu_hit *hit);

/**
 * kpmu_on_overflow() - who is to be told of overflows
 * @fn: he; called from now on
 *
 * Context: before the first event.
 */
void kpmu_on_overflow(kpmu_overflow_fn fn);

/**
 * kpmu_counters_halt() - let an event's counter stand still
 * @hw: the event
 * kpmu_counters_resume() - let it go on, if it has one
 *
 * kpmu_counters_settle() - where no PMI is: let kpmu_counters_halt() take effect
 * kpmu_counters_halted() - the first event from counter @from on whose counter stands
 *	still, and the counter in @at; NULL after the last
 *
 * Context: IRQs off, on the CPU where the event is; kpmu_counters_halt() takes effect
 * at the end of the overflow that calls it.
 */
void kpmu_counters_halt(const struct kpmu_hw *hw);
void kpmu_counters_resume(const struct kpmu_hw *hw);
void kpmu_counters_settle(void);
struct kpmu_hw *kpmu_counters_halted(int from, int *at);

/**
 * kpmu_counters_yield() - if no event needs the counters, let others have them
 *
 * Context: task, IRQs on; may be atomic.
 */
void kpmu_counters_yield(void);

/**
 * kpmu_counters_offline() - this CPU goes; nothing is on its counters
 *
 * Context: on the CPU, IRQs off.
 */
void kpmu_counters_offline(void);

/**
 * kpmu_counters_type() - attr.type of the CPU's counters
 *
 * Return: the type; -ENODEV on a machine without.
 */
int kpmu_counters_type(void);

/**
 * kpmu_rdpmc_grant() - let user space of an mm execute RDPMC
 * @mm: the mm
 *
 * Adds to what the kernel's own perf allows for the same mm.
 *
 * Context: task, may sleep.
 * Return: to be given back by kpmu_rdpmc_drop(); NULL if it cannot be.
 */
struct kpmu_grant *kpmu_rdpmc_grant(struct mm_struct *mm);
void kpmu_rdpmc_share(struct kpmu_grant *grant);
void kpmu_rdpmc_drop(struct kpmu_grant *grant);

/**
 * kpmu_counters_hide() - nothing that was counted for others is left in the counters
 *
 * The counters of shown events are left alone: they are so already.  Those of events that
 * sample stand as far from their wrap as the next overflow is.
 *
 * Context: IRQs off; by the switch to an mm that may execute RDPMC, after the events of
 * its task have got their counters, and before it runs.
 */
void kpmu_counters_hide(void);

/**
 * kpmu_rdpmc_guarded() - kpmu_counters_hide() is called as it should be
 * @yes: or else kpmu_rdpmc_grant() refuses everything
 *
 * Context: before the first event.
 */
void kpmu_rdpmc_guarded(bool yes);

/**
 * kpmu_rdpmc_set() - who may execute RDPMC
 * @knob: 0 nobody on our account; 1 who has mapped an event; 2 everybody
 *
 * Context: task, may sleep.
 * Return: 0, -EINVAL, or -EOPNOTSUPP if this kernel's switches are out of reach.
 */
int kpmu_rdpmc_set(unsigned long knob);
int kpmu_rdpmc_get(void);

/**
 * kpmu_freeze_on_smi_set() - whether counters stand still in system-management mode
 * @val: 1 they do, 0 they do not: on all CPUs, for the kernel's own perf, too
 * kpmu_freeze_on_smi_get() - whether they do on this CPU
 *
 * Context: task, may sleep.
 * Return: 0 or, of the second, 0 and 1; -EINVAL; -ENODEV if this machine cannot.
 */
int kpmu_freeze_on_smi_set(unsigned long val);
int kpmu_freeze_on_smi_get(void);

/**
 * kpmu_counters_online() - this CPU is new, or here again: what holds for all CPUs is
 * to hold for it
 *
 * Context: on the CPU, IRQs off.
 */
void kpmu_counters_online(void);

/**
 * kpmu_counters_show() - what is on a CPU's counters, for debugfs
 * @m: where to print
 * @cpu: which CPU
 *
 * Context: on that CPU with IRQs off, or anywhere if lines may disagree.
 */
void kpmu_counters_show(struct seq_file *m, int cpu);

/**
 * kpmu_software_switch() - a task switch, for events that count them
 * @prev: the task that leaves this CPU, whose events are still active
 * @next: the task that comes
 *
 * Context: under the run-queue lock, IRQs off.
 */
void kpmu_software_switch(struct task_struct *prev, struct task_struct *next);
extern atomic_t kpmu_software_switches;

/**
 * kpmu_software_told_by() - what calls us at a switch, if it is not the scheduler itself
 * @iterator: the tracepoint's function that calls one listener after another
 *
 * Context: before the first event.
 */
void kpmu_software_told_by(const void *iterator);

/**
 * kpmu_source_read() - hw->count, for sources whose hits are counted by kpmu_hit()
 * @hw: the event
 */
u64 kpmu_source_read(struct kpmu_hw *hw);
void kpmu_source_set_period(struct kpmu_hw *hw, u64 period);

/**
 * kpmu_source_reset() - let a count begin at 0 again
 * @hw: the event
 * @count: its count
 *
 * Context: IRQs off, the owner of the event's context.
 */
static inline void kpmu_source_reset(struct kpmu_hw *hw, u64 count)
{
	/* In this order, so that a hit in an NMI in between finds no overflow due */
	local64_sub(count, &hw->count);
	barrier();
	hw->next -= count;
}

/**
 * kpmu_sources_cpu_up() - a CPU has come; what events tap there is to follow
 * @cpu: the CPU
 *
 * Context: any.
 */
void kpmu_sources_cpu_up(int cpu);

/* A file of one line */
struct kpmu_file {
	const char *name;
	const char *text;
};

/**
 * struct kpmu_pmu - what the folder of a PMU in sysfs says
 * @name: its name
 * @type: attr.type of its events
 * @counters: it has counters that user space may read
 * @format: which bits of an attr have which name; ended by an entry without one
 * @events: events by name; likewise
 * @caps: what it can do; likewise
 */
struct kpmu_pmu {
	const char *name;
	int type;
	bool counters;
	const struct kpmu_file *format;
	const struct kpmu_file *events;
	const struct kpmu_file *caps;
};

#define KPMU_NR_PMUS	7

/**
 * kpmu_pmu_get() - a PMU of this machine
 * @n: which, below KPMU_NR_PMUS
 * @pmu: filled in; all but the struct itself is good until the module goes
 *
 * Return: false if this machine does not have it; then only the name is good.
 */
bool kpmu_pmu_get(int n, struct kpmu_pmu *pmu);
void kpmu_sources_show(struct seq_file *m);

/* Is no tap left that events share?  Task, may sleep */
bool kpmu_taps_idle(void);
bool kpmu_faults_seen(void);

/*
 * Who counts hits, for sources without counters: something that happened on this
 * CPU, so many times at once.  Events with the same hw.tap count it, if they are
 * active.  Any context, NMI too.
 */
typedef void (*kpmu_hit_fn)(const void *tap, u64 nr, struct kpmu_hit *hit);

/**
 * kpmu_hits_want() - a gated event runs on this CPU from now on
 * @hw: the event
 * kpmu_hits_leave() - it does so no more, or its tap is about to change
 *
 * Context: the owner of the event's context, IRQs off.
 */
void kpmu_hits_want(struct kpmu_hw *hw);
void kpmu_hits_leave(struct kpmu_hw *hw);

/**
 * kpmu_match_hit() - does a hit count for events with a filter?
 * @match: their filter
 * @hit: the hit
 *
 * Context: any, NMI too; under RCU.
 */
bool kpmu_match_hit(const struct kpmu_match *match, const struct kpmu_hit *hit);

/* Who knows how long an event has run, which is what a clock counts */
typedef u64 (*kpmu_time_fn)(struct kpmu_hw *hw);

int kpmu_sources_init(kpmu_hit_fn hit, kpmu_time_fn time);
void kpmu_sources_exit(void);

#endif
