/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between event sources and the rest of kpmu, and the source's part of an event.  Counters
 * are 64 bits wide here; the source handles the hardware's width, sign extension, wrap and reload.
 * Sources without counters report hits: occurrences of something on a CPU.
 */
#ifndef KPMU_SOURCE_H
#define KPMU_SOURCE_H

#include <linux/static_call_types.h>
#include <linux/types.h>
#include <asm/local64.h>

struct bpf_prog;
struct cpumask;
struct kpmu_attr;
struct kpmu_guest;
struct kpmu_hw;
struct kpmu_match;
struct perf_event_mmap_page;
struct module;
struct pt_regs;
struct seq_file;
struct kpmu_branches;
struct task_struct;

#define KPMU_MAX_COUNTERS_SHIFT	5
#define KPMU_NR_SLOTS		(1 << KPMU_MAX_COUNTERS_SHIFT)

/* Reasons for which an event needs more than the usual permission */
#define KPMU_NEED_CPU		BIT(0)	/* it counts other tasks too (AnyThread) */
#define KPMU_NEED_RAW		BIT(1)	/* its records expose kernel activity */

#define KPMU_TIMED	8	/* one of this many NMIs is timed */

/**
 * struct kpmu_brief - what the hardware recorded for a sample that consists of single words
 * @ip: address of the instruction
 * @time: see struct kpmu_precise
 * @addr: data address, 0 if none
 */
struct kpmu_brief {
	u64 ip;
	u64 time;
	u64 addr;
};

/**
 * struct kpmu_batch - several overflows of an event with the same period
 * @records: one for each overflow
 * @nr: how many
 * @done: set to how many of them were reported, the first ones; the others follow one by one
 */
struct kpmu_batch {
	const struct kpmu_brief *records;
	u32 nr;
	u32 done;
};

/**
 * struct kpmu_precise - what the hardware recorded of the instruction that caused an overflow
 * @time: local_clock() at that instruction, 0 if not known
 * @weight: PERF_SAMPLE_WEIGHT
 * @weight_struct: PERF_SAMPLE_WEIGHT_STRUCT
 * @data_src: PERF_SAMPLE_DATA_SRC
 * @txn: PERF_SAMPLE_TRANSACTION
 * @phys: PERF_SAMPLE_PHYS_ADDR, 0 if the hardware does not tell
 * @xmm: registers XMM0 to XMM15, two words each, or NULL
 * @branches: the branch stack, NULL if it is not in the record
 * @ignored: the event's filter rejects the sample; it only counts towards the rate
 * @early: this is not the last of several overflows that are reported together, or they are not
 *	reported in an interrupt: as upstream, there is a sample, and nothing else is done
 * @lost: if @early: number of overflows of which nothing else is known; of struct kpmu_hit, only
 *	@precise is set, and @regs if they are reported in an interrupt.  0 for one that is known
 * @batch: if @early: these overflows instead of one; of struct kpmu_hit, only @precise, @exact and
 *	@period are set.  NULL for one
 */
struct kpmu_precise {
	u64 time;
	u64 weight;
	u64 weight_struct;
	u64 data_src;
	u64 txn;
	u64 phys;
	const u64 *xmm;
	const struct kpmu_branches *branches;
	bool ignored;
	bool early;
	u32 lost;
	struct kpmu_batch *batch;
};

/**
 * struct kpmu_hit - what a source knows of an overflow, or of a hit that may cause one
 * @regs: registers at the overflow or hit, NULL if not known
 * @frames: registers where the call chain begins, if not @regs
 * @precise: details of the instruction, NULL if not known
 * @guest: where the guest was whose run it has ended, else NULL
 * @exact: @regs are those of the instruction that caused the overflow
 * @fix_regs: corrects @regs, called only if a sample is taken; NULL if they are final
 * @period: event count since the previous overflow
 * @addr: data address, 0 if none
 * @raw: raw record, or NULL
 * @raw_size: size of @raw in bytes
 * @began: cycle count at NMI entry if this overflow is timed or @next is set, else 0
 * @next: check for livelock: the previous NMI was timed
 * @more: not the first of several overflows of one hit
 * @filtering: TSC cycles that filters of this hit took so far
 * @samples: events that have sampled this hit
 */
struct kpmu_hit {
	struct pt_regs *regs;
	struct pt_regs *frames;
	const struct kpmu_precise *precise;
	const struct kpmu_guest *guest;
	bool exact;
	void (*fix_regs)(struct pt_regs *regs);
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
 * struct kpmu_hit_key - identifies an origin of hits; an event counts those with its key
 * @name: for debugging only; keys are compared by their address
 */
struct kpmu_hit_key {
	const char *name;
};

#define KPMU_MAX_BRANCHES	32

/* Flags of a branch: those of struct perf_branch_entry */
#define KPMU_BRANCH_MISPREDICTED	BIT_ULL(0)
#define KPMU_BRANCH_PREDICTED		BIT_ULL(1)
#define KPMU_BRANCH_WAS_IN_TX		BIT_ULL(2)
#define KPMU_BRANCH_ABORTED		BIT_ULL(3)
#define KPMU_BRANCH_CYCLES_SHIFT	4	/* 16 bits */
#define KPMU_BRANCH_TYPE_SHIFT		20	/* 4 bits, PERF_BR_* */
#define KPMU_BRANCH_SPEC_SHIFT		24	/* 2 bits, PERF_BR_SPEC_* */

/* A branch as a sample contains it */
struct kpmu_branch {
	u64 from;
	u64 to;
	u64 flags;
};

/**
 * struct kpmu_branches - the branches before an overflow
 * @nr: how many
 * @index: the hardware's index of the newest one, 0 if it has none
 * @entry: the branches, the newest first
 */
struct kpmu_branches {
	u64 nr;
	u64 index;
	struct kpmu_branch entry[KPMU_MAX_BRANCHES];
};

/* Flags of kpmu_hw.branches */
#define KPMU_BRANCHES_RECORDED	BIT(0)	/* branches are recorded while it is on a counter */
#define KPMU_BRANCHES_KEPT	BIT(1)	/* and kept for the task while another one runs */
#define KPMU_BRANCHES_OF_ALL	BIT(2)	/* of all tasks: it is an event of a CPU */

/**
 * struct kpmu_hw - the source's part of an event
 * @source: the event's source
 * @count: events counted up to @prev
 * @prev: value of the hardware counter at the last fold
 * @match: instead of @prev, for a source without counters: filter for hits, NULL for none
 * @next: value of @count at which the next overflow is due
 * @period: events from one overflow to the next; 0 if the event does not overflow
 * @sel: the selector, ready to be written
 * @key: instead of @sel, for a source without counters: origin of the hits, NULL if none
 * @extra: value for the extra register, if @extra_reg is not 0
 * @own: instead of @extra: the source's private data, used for root events only
 * @branch_filter: if @branches: the source's filter; events on counters at the same time
 *	must have the same lower 32 bits, those of the hardware
 * @allowed: bit mask of usable counters; 0 for a source without counters; see @wide
 * @hint: last counter used, -1 if none; preferred when free
 * @idx: current counter, -1 if the event is not on one
 * @fixed: the selector for a fixed counter, four bits
 * @first: instead of @fixed, on a counter of a driver's PMU: slot of the PMU's counter 0
 * @kernel: counts at CPL 0 too
 * @extra_reg: number of the extra register needed, from 1; 0 for none
 * @shown: the task reads the counter with RDPMC, so it must not hold other events' counts
 * @branches: its samples have branch stacks: KPMU_BRANCHES_*, 0 if not
 * @precise: precise_ip, 0 to 3
 * @reload: the hardware may start its next period
 * @large: its records may stay in the buffer until this is nearly full
 * @brief: its samples consist of single words that struct kpmu_brief has, or do not change
 * @drained: that needs a task switch hook, as the event is one of a CPU
 * @paired: its group must have another event, see .goes_with of its source
 * @wide: it takes a pair of counters, and @allowed has the lower ones of those that it can use
 * @rare: @extra_reg, @shown, @branches and those from @precise on in one test: 0 for most events
 * @mem: if @precise: what its records say of memory accesses, a number of the source
 * @groups: if @precise: what its records contain, bits of the source
 * @recorded: branches have been recorded for it
 * @extra_alt: number of an extra register that is equivalent to @extra_reg; 0 for none
 * @rdpmc: user space may use RDPMC; the rdpmc file's setting when the event was opened
 * @switches: needs the task switch hook, even if the target is a CPU
 * @runs: between @start and @stop of its source; written by the owner of the context
 * @gated: hits are only guaranteed between kpmu_hits_want() and kpmu_hits_leave()
 * @listens: between the two; written by the owner of the context
 * @jumps: incremented when the counter of a mapped event is set to another value
 * @page: user page, NULL if the event is not mapped; set by the owner of the context
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
		const struct kpmu_hit_key *key;
	};
	union {
		u64 extra;
		void *own;
	};
	u64 branch_filter;
	u32 allowed;
	s8 hint;
	s8 idx;
	union {
		u8 fixed;
		u8 first;
	};
	bool kernel;
	union {
		struct {
			u8 extra_reg;
			bool shown;
			u8 branches;
			u8 precise : 2;
			u8 reload : 1;
			u8 large : 1;
			u8 brief : 1;
			u8 drained : 1;
			u8 paired : 1;
			u8 wide : 1;
		};
		u32 rare;
	};
	u8 extra_alt;
	bool recorded;
	u8 mem : 4;
	u8 groups : 4;
	bool rdpmc;
	bool switches;
	bool runs;
	bool gated;
	bool listens;
	u32 jumps;
	struct perf_event_mmap_page *page;
};

/**
 * struct kpmu_target - what an event is to count
 * @attr: its attr, checked
 * @task: the task, NULL for all tasks of a CPU
 * @cpu: the CPU, -1 for any
 */
struct kpmu_target {
	const struct kpmu_attr *attr;
	struct task_struct *task;
	int cpu;
};

/**
 * struct kpmu_source - a source of events
 * @name: name, as in sysfs
 * @owner: the driver's module (pmu.h); NULL for kpmu's own sources
 * @cpus: it counts for these CPUs only and not for tasks; NULL: all CPUs, and tasks
 * @kind: of a core PMU, on a machine with several: the kind of CPUs that it counts on
 *	(counters.h); 0: all CPUs
 * @nmi: overflows may occur in NMI context
 * @both: ignore exclude_user: hits occur in the kernel, even if their registers are the
 *	user's
 * @clock: counts the event's running time in ns; hw->count is a constant added to it
 * @interrupt: of a driver: its counters raise overflow interrupts, see kpmu_pmu_overflow()
 * @waits: @get may wait for files or user memory; no locks of tasks may be held
 * @init: check type and config of an attr, fill in an event's hw part.
 *	Task context.  0, -ENOENT (wrong source, or no such event here), -EINVAL,
 *	-EOPNOTSUPP, -ENXIO; the error is explained in *@why
 * @needs: additional permissions (KPMU_NEED_*) that an initialised event requires
 *	for the target
 * @get: reserve the hardware, or attach to the origin of hits, for one event.  Task
 *	context, may sleep.  -EBUSY if it is reserved elsewhere; explained in *@why.  It may set
 *	hw->source to another one of its module, whose operations are called from then on
 * @put: undo @get.  Task context, may sleep
 * @read: fold, and return the count.  IRQs off, on the CPU of hw->idx, or where hw->runs
 * @start: the event counts on this CPU from now on; on the counter hw->idx if it needs one.
 *	IRQs off.  NULL: for the CPU's own counters, sources with hits, and clocks
 * @stop: the event no longer counts; fold for the last time.  IRQs off, on the CPU of
 *	@start
 * @ahead: of a source with @start, whose overflows are found by polling: the least time
 *	in ns until hw->count may have reached hw->next; @read is called then.  IRQs off
 * @filter: SET_FILTER: count only the hits that an ftrace filter accepts.  Either the
 *	source applies it itself; or it sets *@match and *@key, the caller stores them in
 *	hw->match and hw->key and passes the former key to @unfilter.  Task context,
 *	may sleep.  -EINVAL for a bad filter, -EEXIST if there is one.
 *	NULL: filters are not supported
 * @unfilter: release the tap of a former key that is no longer in use
 * @modify: MODIFY_ATTRIBUTES: count something else.  Task context, may sleep.
 *	-EINVAL.  NULL: not supported
 * @set_period: change the period, counted from now.  IRQs off, on the CPU of hw->idx
 * @reset: set the count to 0; the distance to the next overflow stays.  IRQs off, on the
 *	CPU of hw->idx.  NULL: kpmu_source_reset() is enough
 * @goes_with: is @other the event that the group of @hw must have?  For events with @paired.
 *	Any context
 * @check_period: is this period possible with these attr flags?  Any context.
 *	NULL: every period is
 * @set_bpf: SET_BPF: run a BPF program at each hit, and take the caller's reference to it.  Task
 *	context, may sleep.  NULL: the program is run at overflows, see kpmu_program_set()
 * @unset_bpf: detach the program.  Likewise
 * @query_bpf: QUERY_BPF.  Likewise
 * @trace: write a hit's data for the AUX area to @to, and return its size in bytes, at
 *	most KPMU_TRACE_MAX.  NULL: no AUX area.  Any context, including NMI
 * @output: likewise write an overflow's data for the AUX area of the group leader, instead of a
 *	sample.  NULL: aux_output is not supported
 * @branches: branches that the hardware recorded before the overflow, filtered as the event
 *	asks; valid until the next call on this CPU.  NULL if the event does not record any.
 *	In the overflow callback.  NULL: there never are any
 * @user_view: how user space reads the event's counter: returns the RDPMC index plus 1,
 *	sets the width and the offset to add to the sign-extended value.  Owner of
 *	the context
 */
struct kpmu_source {
	const char *name;
	struct module *owner;
	const struct cpumask *cpus;
	u8 kind;
	bool nmi;
	bool both;
	bool clock;
	bool interrupt;
	bool waits;
	int (*init)(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		    const char **why);
	u32 (*needs)(const struct kpmu_hw *hw,
		     const struct kpmu_target *target);
	int (*get)(struct kpmu_hw *hw, const struct kpmu_target *target,
		   const char **why);
	void (*put)(struct kpmu_hw *hw);
	u64 (*read)(struct kpmu_hw *hw);
	void (*start)(struct kpmu_hw *hw);
	void (*stop)(struct kpmu_hw *hw);
	u64 (*ahead)(struct kpmu_hw *hw);
	void (*set_period)(struct kpmu_hw *hw, u64 period);
	void (*reset)(struct kpmu_hw *hw);
	bool (*goes_with)(const struct kpmu_hw *hw, const struct kpmu_hw *other);
	bool (*check_period)(const struct kpmu_hw *hw, u64 flags, u64 period);
	int (*filter)(struct kpmu_hw *hw, char *filter, const struct kpmu_hit_key **key,
		      const struct kpmu_match **match);
	void (*unfilter)(const struct kpmu_hit_key *key);
	int (*modify)(struct kpmu_hw *hw, const struct kpmu_attr *attr);
	int (*set_bpf)(struct kpmu_hw *hw, struct bpf_prog *prog, u64 cookie);
	void (*unset_bpf)(struct kpmu_hw *hw);
	int (*query_bpf)(struct kpmu_hw *hw, void __user *query);
	const struct kpmu_branches *(*branches)(const struct kpmu_hw *hw);
	u32 (*user_view)(struct kpmu_hw *hw, u16 *width, s64 *offset);
	u32 (*trace)(struct kpmu_hw *hw, const struct kpmu_hit *hit, void *to);
	u32 (*output)(struct kpmu_hw *hw, const struct kpmu_hit *hit, void *to);
};

#define KPMU_TRACE_MAX	64

/**
 * kpmu_source_get() - find the source for an attr
 * @attr: a checked attr
 * @cpu: the CPU on which the event is to count, -1 for any
 *
 * Context: any.
 * Return: the source, held until kpmu_source_put(); NULL if the type is unknown, or is that of a
 * core PMU that the CPU does not have.
 */
const struct kpmu_source *kpmu_source_get(const struct kpmu_attr *attr, int cpu);
void kpmu_source_put(const struct kpmu_source *source);

/**
 * typedef kpmu_overflow_fn - overflow callback
 * @hw: the event, active on this CPU
 * @hit: what is known about the overflow
 *
 * May change hw->period; the new value is used at once.
 *
 * Context: that of the source; NMI for the CPU's counters.
 * Return: true to stop the counter until kpmu_counters_resume(), or until the event is
 * scheduled in again.
 */
typedef bool (*kpmu_overflow_fn)(struct kpmu_hw *hw, struct kpmu_hit *hit);

/**
 * kpmu_source_read() - .read of sources without counters, kpmu_hit_report() does the counting
 * @hw: the event
 *
 * Context: any.
 * Return: hw->count.
 */
u64 kpmu_source_read(struct kpmu_hw *hw);

int kpmu_source_refuse(const struct kpmu_attr *attr, const char **why);
const char *kpmu_source_why(const struct kpmu_source *source, const char *why);

/**
 * kpmu_source_set_period() - .set_period of sources without counters
 * @hw: the event
 * @period: events from one overflow to the next, counted from now
 *
 * Context: owner of the event's context, IRQs off.
 */
void kpmu_source_set_period(struct kpmu_hw *hw, u64 period);

/**
 * kpmu_sources_cpu_up() - extend the taps to a CPU that has come online
 * @cpu: the CPU
 *
 * Context: any; the work is deferred.
 */
void kpmu_sources_cpu_up(int cpu);

void kpmu_sources_show(struct seq_file *m);

bool kpmu_taps_idle(void);
bool kpmu_faults_seen(void);

/**
 * typedef kpmu_hit_fn - callback that counts hits, for sources without counters
 * @key: origin of the hits; counted by the active events with the same hw.key
 * @nr: number of hits reported at once
 * @hit: what is known about them
 *
 * Context: any, including NMI; on the CPU where they happened.
 */
typedef void (*kpmu_hit_fn)(const struct kpmu_hit_key *key, u64 nr, struct kpmu_hit *hit);

/* Callback that counts hits; set at init */
DECLARE_STATIC_CALL(kpmu_source_hit, *(kpmu_hit_fn)NULL);

/**
 * kpmu_hits_want() - a gated event starts counting on this CPU
 * @hw: the event
 *
 * Context: owner of the event's context, IRQs off.
 */
void kpmu_hits_want(struct kpmu_hw *hw);

/**
 * kpmu_hits_leave() - a gated event stops counting, or its tap is about to change
 * @hw: the event
 *
 * Context: owner of the event's context, IRQs off.
 */
void kpmu_hits_leave(struct kpmu_hw *hw);

/**
 * kpmu_match_hit() - does a filter accept a hit?
 * @match: the filter
 * @hit: the hit
 *
 * Context: any, including NMI; under RCU.
 * Return: true if it does.
 */
bool kpmu_match_hit(const struct kpmu_match *match, const struct kpmu_hit *hit);

/* Callback that returns how long an event has been running in ns, the count of a clock */
typedef u64 (*kpmu_time_fn)(struct kpmu_hw *hw);

int kpmu_sources_init(kpmu_hit_fn hit, kpmu_time_fn time);
void kpmu_sources_exit(void);

#endif
