/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core PMU of x86 CPUs: what all makers have in common, and the declarations that the files of
 * this directory share.  The directory of a maker has what only its CPUs have, and its struct
 * kpmu_core, whose operations are mostly the functions declared here.
 *
 * Counters are numbered as struct kpmu_slots does: general counter n is n,
 * fixed counter n is 16 + n.  SDM volume 3, chapter "Performance Monitoring".
 */
#ifndef KPMU_X86_H
#define KPMU_X86_H

#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "../../source/counters.h"
#include "../../source/pmu.h"

#define X86_FIXED		16	/* first slot of the fixed counters */
#define X86_MAX_GP		16
#define X86_MAX_FIXED		16
#define X86_GP_MASK		0x0000ffffu
#define X86_FIXED_MASK		0xffff0000u

/* PERFEVTSEL */
#define SEL_EVENT		0x000000ffULL
#define SEL_UMASK		0x0000ff00ULL
#define SEL_USR			BIT_ULL(16)
#define SEL_OS			BIT_ULL(17)
#define SEL_EDGE		BIT_ULL(18)
#define SEL_PC			BIT_ULL(19)
#define SEL_INT			BIT_ULL(20)
#define SEL_ANY			BIT_ULL(21)
#define SEL_EN			BIT_ULL(22)
#define SEL_INV			BIT_ULL(23)
#define SEL_CMASK		0xff000000ULL
#define SEL_EVENT_HIGH		GENMASK_ULL(35, 32)	/* AMD: bits 11:8 of the event */
#define SEL_ADAPTIVE		BIT_ULL(34)	/* see FIXED_ADAPTIVE */
#define SEL_CODE		(SEL_EVENT | SEL_UMASK)
/* One counter's bits of FIXED_CTR_CTRL */
#define FIXED_OS		1
#define FIXED_USR		2
#define FIXED_PMI		8
#define FIXED_ADAPTIVE		BIT_ULL(32)	/* a record has the groups of PEBS_DATA_CFG */
/* Bits that modify what is counted of an event */
#define SEL_MODIFIERS		(SEL_EDGE | SEL_ANY | SEL_INV | SEL_CMASK)

/* Number of generic hardware events, and dimensions of the generic cache events */
#define X86_HW_EVENTS		10
#define X86_CACHE_IDS		7
#define X86_CACHE_OPS		3
#define X86_CACHE_RESULTS	2
#define X86_NONSENSE		((u64)-1)	/* meaningless combination */

/**
 * struct x86_constraint - counters on which events can be scheduled
 * @first: first event code (with umask, if in @code_mask)
 * @last: last event code of a range, or @first
 * @code_mask: selector bits compared with @first and @last
 * @counters: allowed slots
 */
struct x86_constraint {
	u32 first;
	u32 last;
	u32 code_mask;
	u32 counters;
};

/* One entry of the generic cache event table */
struct x86_cache_event {
	u64 config;		/* 0 if the CPU has no such event, or X86_NONSENSE */
	u64 extra;		/* value of the extra register, 0 if not needed */
};

/* An event that needs a value in an extra register */
struct x86_extra_reg {
	u16 code;		/* event and umask */
	u8 reg;			/* kpmu's number of the register, from 1 */
	u32 msr;
	u64 valid;		/* bits that the user may set */
};

/**
 * struct x86_model - properties of a CPU model that CPUID does not report
 * @name: upstream's name in caps/pmu_name, or NULL
 * @models: model numbers of family 6, ended by 0
 * @constraints: event constraints, ended by an entry with no counters
 * @hw: overrides of the generic hardware events, 0 for no override; or NULL
 * @cache: the generic cache events, or NULL
 * @extra: extra registers, ended by an entry with reg 0, or NULL
 * @events: named events for sysfs in addition to the generic ones, or NULL
 * @lbr_depth: number of its legacy last branch records, 0 if it has none, or others
 * @block_info: load latency records say why a load was blocked
 * @split_latency: latencies are those of the instruction and of the cache
 * @pmem: what a data source calls L4 on client models is persistent memory
 * @pdist_fixed: precise level 3 of retired instructions is on fixed counter 0
 * @pdist_first: that of other events is on general counter 0
 * @aux_loads: load latencies with their data source need another event in the group
 * @memory_events: more of @events, if there are precise events
 * @metric_events: likewise, if there are PERF_METRICS, or this is a hybrid processor
 * @precise: precise events with constraints of their own, ended by an entry with no
 *	counters; NULL if there are no precise events
 * @atom: of a hybrid processor: the table of its efficiency cores, this is that of the others; else
 *	NULL
 * @gp: of a hybrid processor: number of general counters, as CPUID reports those of all CPUs
 * @fixed: likewise of fixed counters
 */
struct x86_model {
	const char *name;
	const u8 *models;
	const struct x86_constraint *constraints;
	const u64 *hw;
	const struct x86_cache_event (*cache)[X86_CACHE_OPS][X86_CACHE_RESULTS];
	const struct x86_extra_reg *extra;
	const struct kpmu_file *events;
	u8 lbr_depth;
	bool block_info;
	bool split_latency;
	bool pmem;
	bool pdist_fixed;
	bool pdist_first;
	bool aux_loads;
	const struct kpmu_file *memory_events;
	const struct kpmu_file *metric_events;
	const struct x86_precise_event *precise;
	const struct x86_model *atom;
	u8 gp;
	u8 fixed;
};

/* What the records of a precise event say of memory accesses */
enum x86_mem { X86_MEM_NONE, X86_MEM_LOAD, X86_MEM_STORE, X86_MEM_LOAD_LATENCY,
	       X86_MEM_STORE_LATENCY };

/**
 * struct x86_precise_event - counters on which a precise event can be scheduled
 * @first: first event code (with umask, if in @code_mask)
 * @last: last event code of a range, or @first
 * @code_mask: selector bits compared with @first and @last
 * @counters: allowed slots
 * @mem: what its records say of memory accesses
 */
struct x86_precise_event {
	u32 first;
	u32 last;
	u32 code_mask;
	u32 counters;
	u8 mem;
};

struct x86_lbr;
struct x86_precise;
struct x86_cpu;

/**
 * struct x86_pairs - events that need two counters: an even one, and the next, which gets an event
 *	that makes the two one
 * @lower: the even counters on which a selector can be; 0 if it needs only one counter
 * @join: make a pair of a counter that is stopped and the next.  IRQs off
 * @part: undo @join.  IRQs off
 * @refill: a PMI has been handled: let the pairs overflow again.  The PMI
 */
struct x86_pairs {
	u32 (*lower)(u64 sel);
	void (*join)(struct x86_cpu *c, int idx);
	void (*part)(struct x86_cpu *c, int idx);
	void (*refill)(struct x86_cpu *c);
};

#define X86_HAS_EXTRA	0x80
#define X86_LATENCY_REG	4	/* extra register: the threshold of load latencies */

/**
 * struct x86_regs - numbers of the PMU's registers
 * @sel: event selector of general counter 0
 * @counter: its value; the number by which it is reserved
 * @write: its value; the number by which it is set, to at most the farthest value
 * @shift: logarithm of the distance to the next counter
 * @ctrl: enables counters; as @status and @clear, from version 2 on
 * @status: bits of the counters that have overflowed
 * @clear: clears such bits
 */
struct x86_regs {
	u32 sel;
	u32 counter;
	u32 write;
	u32 shift;
	u32 ctrl;
	u32 status;
	u32 clear;
};

/* The numbers of kinds of CPUs, see kpmu_kinds_key */
enum { X86_ALL, X86_CORE, X86_ATOM };

/**
 * struct x86_kind - the core PMU of one kind of CPUs; constant after detection but @cpus
 * @name: name of the PMU; NULL if the machine has no such kind
 * @type: attr.type of its raw events
 * @counters: slots of its counters
 * @extra_ok: extra registers that exist, a bit for each number
 * @hw: the generic hardware events, 0 for those that do not exist
 * @first: by event code, index of the first of the model's constraints that may apply,
 *	with X86_HAS_EXTRA if the event may need an extra register
 * @model: the table in use
 * @cpus: CPUs of this kind that are online; not used for X86_ALL
 */
struct x86_kind {
	const char *name;
	u32 type;
	u32 counters;
	u32 extra_ok;
	u64 hw[X86_HW_EVENTS];
	u8 first[256];
	const struct x86_model *model;
	struct cpumask cpus;
};

extern struct x86_kind x86_kinds[KPMU_NR_KINDS];
extern const struct kpmu_source x86_sources[KPMU_NR_KINDS];

/**
 * x86_kind_of() - the core PMU of an event
 * @hw: the event
 *
 * Context: any.
 * Return: what is known of the PMU.
 */
static inline const struct x86_kind *x86_kind_of(const struct kpmu_hw *hw)
{
	return &x86_kinds[hw->source->kind];
}

/**
 * struct x86_pmu - what all CPUs of this machine have in common; constant after detection
 * @version: 0 when there is no usable PMU, 1 without the global registers, else the maker's
 * @regs: numbers of its registers
 * @gp: number of general counters; of a hybrid machine, as @fixed, @counters and @status: of all
 *	kinds of CPUs together
 * @fixed: slots of the fixed counters that exist
 * @counters: slots of all counters
 * @width: width of a counter in bits
 * @status: bits of all counters in GLOBAL_STATUS
 * @value: mask of a counter's value
 * @sign: sign bit of a counter's value
 * @start: start value of a counter, as far from its overflow as possible
 * @farthest: largest distance to an overflow that a counter can be set to, in events
 * @full_width: counters can be written in full width
 * @raw: bits of a selector that select what is counted
 * @ignored: other bits that a raw config may have; kpmu sets them itself
 * @host: bit of a selector with which a counter counts the host only; 0 if there is none
 * @guest: and guests only
 * @traces: branches can be traced to memory (Intel: BTS, AUX data of precise events), which kpmu
 *	does not support
 * @late_nmis: an NMI may arrive when its overflow has been handled or its counter stopped,
 *	and LVTPC is not masked by delivery
 * @freeze_smi: DEBUGCTL can stop the counters in SMM
 * @metrics: there is the register PERF_METRICS
 * @formats: fields of a raw config for sysfs, or NULL for Intel's
 * @model: the table in use, of a hybrid machine that of performance cores
 * @lbr: access to the last branch records, NULL if there are none that kpmu can use
 * @lbr_depth: number of their entries
 * @precise: access to precise events, NULL if there are none
 * @pairs: pairs of counters, NULL if no event needs them
 * @forwarded: if there are none: largest precise_ip of events that are counted by another PMU, see
 *	.adapt of struct kpmu_core
 */
struct x86_pmu {
	int version;
	struct x86_regs regs;
	int gp;
	u32 fixed;
	u32 counters;
	int width;
	u64 status;
	u64 value;
	u64 sign;
	u64 start;
	u64 farthest;
	bool full_width;
	u64 raw;
	u64 ignored;
	u64 host;
	u64 guest;
	bool traces;
	bool late_nmis;
	bool freeze_smi;
	bool metrics;
	const struct kpmu_file *formats;
	const struct x86_model *model;
	const struct x86_lbr *lbr;
	int lbr_depth;
	const struct x86_precise *precise;
	const struct x86_pairs *pairs;
	u8 forwarded;
};

extern struct x86_pmu x86_pmu;

/* Enabling counters takes more than to write their bits to GLOBAL_CTRL: version 1, or there may be pairs */
extern struct static_key_false_deferred x86_ctrl_key;

/**
 * struct x86_cpu - shadow of a CPU's PMU registers
 * @ready: kpmu owns the registers and the shadow is valid; cleared on release
 * @lvtpc: LVTPC is set to NMI; never undone while the CPU is online, as other users of
 *	the PMU need the same
 * @hidden: the event whose counter is being set, NULL otherwise
 * @hidden_idx: its counter
 * @kind: the kind of this CPU, see kpmu_kinds_key
 * @counters: slots of its counters; set with @ready
 * @on: counters enabled in GLOBAL_CTRL
 * @known: counters whose selector register is equal to @sel
 * @kernel: counters whose selector counts at CPL 0
 * @left_out: bits of @sel that are not in the registers, see x86_left_out()
 * @halted: counters that are stopped although an event is on them; NMIs set bits
 * @turn: number of NMIs while @ready; selects those to be timed, see KPMU_TIMED
 * @late: an NMI is expected that no overflow explains
 * @late_until: it is expected until then, in jiffies
 * @hit: overflow being reported, except for its period
 * @fixed_ctrl: value of FIXED_CTR_CTRL
 * @boot_ctrl: value of GLOBAL_CTRL before kpmu took the registers
 * @sel: selectors; for a fixed counter, its four bits of FIXED_CTR_CTRL
 * @extra: values of the extra registers
 * @extra_known: extra registers that are equal to @extra, a bit for each number
 * @precise: counters whose event is precise
 * @draining: the records of precise events are being read; PMIs leave them alone
 * @pebs_enable: value of the register PEBS_ENABLE
 * @pebs_groups: groups in the records of precise events
 * @pebs_size: bytes of such a record
 * @boot_data_cfg: value of PEBS_DATA_CFG before kpmu took the registers
 * @recorders: counters whose event records branches
 * @pairs: counters that are the lower ones of pairs
 * @special: @precise, @recorders and @pairs in one test
 * @lbr_filter: filter of the branch records, while @recorders is not 0
 * @lbr_on: branches are recorded
 * @lbr_switch: a task switch is in progress, see x86_lbr_leave()
 * @lbr_foreign: the branch records may be those of another task than current
 * @slots: the event on each counter
 */
struct x86_cpu {
	bool ready;
	bool lvtpc;
	s8 hidden_idx;
	u8 kind;
	u32 counters;
	struct kpmu_hw *hidden;
	u32 on;
	u32 known;
	u32 kernel;
	u64 left_out;
	u32 halted;
	u32 turn;
	bool late;
	unsigned long late_until;
	struct kpmu_hit hit;
	u64 fixed_ctrl;
	u64 boot_ctrl;
	u64 sel[KPMU_NR_SLOTS];
	u64 extra[4];
	u8 extra_known;
	u32 precise;
	bool draining;
	u64 pebs_enable;
	u32 pebs_groups;
	u32 pebs_size;
	u64 boot_data_cfg;
	u32 recorders;
	u32 pairs;
	u32 special;
	u32 lbr_filter;
	bool lbr_on;
	bool lbr_switch;
	bool lbr_foreign;
	struct kpmu_slots slots;
};

DECLARE_PER_CPU(struct x86_cpu, x86_cpu);

int x86_event_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		   const char **why);
bool x86_goes_with(const struct kpmu_hw *hw, const struct kpmu_hw *other);
bool x86_check_period(const struct kpmu_hw *hw, u64 flags, u64 period);
u32 x86_event_needs(const struct kpmu_hw *hw,
		    const struct kpmu_target *target);
int x86_get(struct kpmu_hw *hw, const struct kpmu_target *target,
	    const char **why);
void x86_put(struct kpmu_hw *hw);
bool x86_describe(int n, struct kpmu_pmu *pmu);
const struct kpmu_source *x86_find(const struct kpmu_attr *attr, int cpu);
u8 x86_cpu_kind(int cpu);
bool x86_has_type(u32 type);
void x86_kind_online(u8 kind);
void x86_kind_offline(void);
int x86_start(void);
void x86_end(void);
u32 x86_peek(struct kpmu_hw *const *hw, u32 n, u64 *counts);
int x86_like(const struct kpmu_hw *hw);
u64 x86_read(struct kpmu_hw *hw);
u32 x86_user_view(struct kpmu_hw *hw, u16 *width, s64 *offset);
void x86_user_jump(struct kpmu_hw *hw, u64 from, u64 to);
void x86_rdpmc_exit(void);
u32 x86_slots(u8 kind);
u32 x86_fixed_slots(void);
int x86_width(void);
void x86_on_overflow(kpmu_overflow_fn fn);
void x86_commit(struct kpmu_slots *want);
void x86_halt(const struct kpmu_hw *hw);
void x86_resume(const struct kpmu_hw *hw);
void x86_restart(void);
void x86_update(void);
struct kpmu_hw *x86_halted(int from, int *at);
void x86_hide(void);
void x86_release(void);
void x86_offline(void);
const char *x86_check(const struct kpmu_slots *want);
bool x86_check_pmi(void);
void x86_show(struct seq_file *m, int cpu);
void x86_rdpmc_guarded(bool yes);
struct kpmu_grant *x86_rdpmc_grant(struct mm_struct *mm);
void x86_rdpmc_share(struct kpmu_grant *grant);
void x86_rdpmc_drop(struct kpmu_grant *grant);
int x86_rdpmc_set(unsigned long new);
int x86_rdpmc_get(void);
void x86_counter_move(struct kpmu_hw *hw);
void x86_cpu_setup(struct x86_cpu *c);
void x86_cpu_clear(struct x86_cpu *c);
void x86_enable_slowly(struct x86_cpu *c, u32 on);
void x86_go_on_now(struct x86_cpu *c);
u64 x86_alt_selector(const struct kpmu_hw *hw);
void x86_set_period(struct kpmu_hw *hw, u64 period);
void x86_reset(struct kpmu_hw *hw);
bool x86_yield_begin(void);
void x86_yield_end(void);
void x86_retain(bool on, bool safe);
void x86_rivals_init(void);
void x86_rivals_exit(void);
enum kpmu_holder x86_holder(void);
enum kpmu_holder x86_rival(void);
enum kpmu_holder x86_rival_guess(void);
extern const char *const x86_holder_text[];
int x86_pmi_init(void);
void x86_pmi_exit(void);

int x86_max_precise(void);
int x86_branch_depth(void);
const struct kpmu_branches *x86_branches(const struct kpmu_hw *hw);
void x86_leave(struct task_struct *task, void *to);
void x86_lbr_leave(struct task_struct *task, void *to);
void x86_lbr_enter(struct task_struct *task, void *from);

/* Operations of struct kpmu_core that are the same for all makers; a user includes lbr.h, too */
#define X86_CORE_OPS						\
	.source = &x86_sources[X86_ALL],			\
	.find = x86_find,					\
	.kind = x86_cpu_kind,				\
	.has_type = x86_has_type,				\
	.describe = x86_describe,				\
	.slots = x86_slots,					\
	.fixed = x86_fixed_slots,				\
	.width = x86_width,					\
	.holder = x86_holder,					\
	.on_overflow = x86_on_overflow,				\
	.peek = x86_peek,					\
	.like = x86_like,					\
	.commit = x86_commit,					\
	.halt = x86_halt,					\
	.resume = x86_resume,					\
	.restart = x86_restart,					\
	.update = x86_update,					\
	.halted = x86_halted,					\
	.hide = x86_hide,					\
	.release = x86_release,					\
	.offline = x86_offline,					\
	.check = x86_check,					\
	.check_pmi = x86_check_pmi,				\
	.show = x86_show,					\
	.rdpmc_guarded = x86_rdpmc_guarded,			\
	.rdpmc_grant = x86_rdpmc_grant,				\
	.rdpmc_share = x86_rdpmc_share,				\
	.rdpmc_drop = x86_rdpmc_drop,				\
	.rdpmc_set = x86_rdpmc_set,				\
	.rdpmc_get = x86_rdpmc_get,				\
	.precise = x86_max_precise,				\
	.branches = x86_branch_depth,				\
	.branches_size = X86_LBR_STORE_SIZE,			\
	.branches_leave = x86_leave,				\
	.branches_enter = x86_lbr_enter

#endif
