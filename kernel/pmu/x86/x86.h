/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core PMU of x86 CPUs: what the files of this folder share.
 *
 * Counters are numbered as struct kpmu_slots does: general counter n is n,
 * fixed counter n is 16 + n.  SDM volume 3, chapter "Performance Monitoring".
 */
#ifndef KPMU_X86_H
#define KPMU_X86_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "../source.h"

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
#define SEL_CODE		(SEL_EVENT | SEL_UMASK)
/* One counter's bits of FIXED_CTR_CTRL */
#define FIXED_OS		1
#define FIXED_USR		2
#define FIXED_PMI		8
/* What turns a plain count of an event into something else */
#define SEL_MODIFIERS		(SEL_EDGE | SEL_ANY | SEL_INV | SEL_CMASK)

/* The attr.config values that have no bit in CPUID but are known by number */
#define X86_HW_EVENTS		10
#define X86_CACHE_IDS		7
#define X86_CACHE_OPS		3
#define X86_CACHE_RESULTS	2
#define X86_NONSENSE		((u64)-1)	/* the combination means nothing */

/**
 * struct x86_constraint - where events may go
 * @first: first event code (with umask, if @code_mask has it)
 * @last: last event code of a range, or @first
 * @code_mask: the selector bits that @first and @last speak of
 * @counters: slots allowed
 */
struct x86_constraint {
	u32 first;
	u32 last;
	u32 code_mask;
	u32 counters;
};

/* One entry of the generic cache event table */
struct x86_cache_event {
	u64 config;		/* 0: none here; X86_NONSENSE */
	u64 extra;		/* value of the extra register, 0 if none needed */
};

/* An event whose meaning is completed by a second register */
struct x86_extra_reg {
	u16 code;		/* event and umask */
	u8 reg;			/* our number of it, from 1 */
	u32 msr;
	u64 valid;		/* bits a user may set */
};

/**
 * struct x86_model - what is known of a CPU model beyond its CPUID
 * @name: as upstream names it in caps/pmu_name
 * @models: model numbers of family 6, ended by 0
 * @constraints: ended by an entry with no counters
 * @hw: overrides of the generic hardware events, 0 for none
 * @cache: the generic cache events, or NULL
 * @extra: extra registers, ended by an entry with reg 0, or NULL
 * @events: events by name beside the generic ones, for sysfs, or NULL
 */
struct x86_model {
	const char *name;
	const u8 *models;
	const struct x86_constraint *constraints;
	const u64 *hw;
	const struct x86_cache_event (*cache)[X86_CACHE_OPS][X86_CACHE_RESULTS];
	const struct x86_extra_reg *extra;
	const struct kpmu_file *events;
};

extern const struct x86_model *const x86_models[];
extern const struct x86_model x86_generic;

#define X86_HAS_EXTRA	0x80

/**
 * struct x86_pmu - this machine's PMU, constant after detection
 * @version: architectural version, 0 when there is no usable PMU
 * @gp: number of general counters
 * @fixed: slots of the fixed counters that exist
 * @counters: slots of all counters
 * @status: their bits in GLOBAL_STATUS
 * @width: of a counter in bits
 * @value: mask of a counter's value
 * @sign: the sign bit of a counter's value
 * @start: what an idle counter is set to: as far from its overflow as it may be
 * @farthest: how many events at most a counter can be set before its overflow
 * @full_width: counters can be written in their whole width
 * @anythread: PERFEVTSEL.ANY may be set
 * @freeze_smi: DEBUGCTL can let counters stand still in SMM
 * @extra_ok: extra registers that exist, by number
 * @hw: the generic hardware events, 0 where there is none
 * @first: by event code, the first of the model's constraints that may be about
 *	it, and X86_HAS_EXTRA if an extra register may be
 * @model: the table in use
 */
struct x86_pmu {
	int version;
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
	bool anythread;
	bool freeze_smi;
	u32 extra_ok;
	u64 hw[X86_HW_EVENTS];
	u8 first[256];
	const struct x86_model *model;
};

extern struct x86_pmu x86_pmu;

/**
 * struct x86_cpu - the shadow: what is in a CPU's PMU registers
 * @ready: the registers are ours and known; cleared when they are given back
 * @lvtpc: the overflow interrupt goes where it should; until the CPU goes
 *	offline, for all on this machine want it as an NMI
 * @on: counters that count, as in GLOBAL_CTRL
 * @known: counters whose selector is what @sel says
 * @kernel: counters whose selector counts at CPL 0
 * @halted: counters that stand still, though an event has them; NMIs add to it
 * @turn: how many NMIs there were, some of KPMU_TIMED are timed
 * @hit: the overflow it tells of, but for its period
 * @fixed_ctrl: FIXED_CTR_CTRL
 * @boot_ctrl: GLOBAL_CTRL as we found it
 * @sel: selectors; a fixed counter's holds its four bits of FIXED_CTR_CTRL
 * @extra: extra registers
 * @extra_known: which of them are what @extra says, by number
 * @slots: who owns which counter
 */
struct x86_cpu {
	bool ready;
	bool lvtpc;
	u32 on;
	u32 known;
	u32 kernel;
	u32 halted;
	u32 turn;
	struct kpmu_hit hit;
	u64 fixed_ctrl;
	u64 boot_ctrl;
	u64 sel[KPMU_NR_SLOTS];
	u64 extra[3];
	u8 extra_known;
	struct kpmu_slots slots;
};

DECLARE_PER_CPU(struct x86_cpu, x86_cpu);

int x86_detect(void);
int x86_event_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		   const char **why);
bool x86_check_period(const struct kpmu_hw *hw, u64 flags, u64 period);
u32 x86_event_needs(const struct kpmu_hw *hw,
		    const struct kpmu_target *target);
int x86_get(struct kpmu_hw *hw, const struct kpmu_target *target,
	    const char **why);
void x86_put(struct kpmu_hw *hw);
bool x86_describe(struct kpmu_pmu *pmu);
int x86_start(void);
void x86_end(void);
u64 x86_read(struct kpmu_hw *hw);
u32 x86_user_view(struct kpmu_hw *hw, u16 *width, s64 *offset);
void x86_user_jump(struct kpmu_hw *hw, u64 from, u64 to);
void x86_rdpmc_exit(void);
void x86_smi_exit(void);
void x86_counter_move(struct kpmu_hw *hw);
void x86_cpu_setup(struct x86_cpu *c);
void x86_cpu_clear(struct x86_cpu *c);
void x86_go_on_now(struct x86_cpu *c);
u64 x86_selector(const struct kpmu_hw *hw, int idx, bool alt);
void x86_set_period(struct kpmu_hw *hw, u64 period);
void x86_reset(struct kpmu_hw *hw);
bool x86_ask(void);
void x86_asked(void);
void x86_keep(bool on);
void x86_rivals_init(void);
void x86_rivals_exit(void);
bool x86_guarded(void);
const char *x86_rival(void);
const char *x86_rival_guess(void);
int x86_pmi_init(void);
void x86_pmi_exit(void);

extern const struct kpmu_source x86_source;

#endif
