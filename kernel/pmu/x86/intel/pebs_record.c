// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of precise events.  Formats 2 and 3 have one layout each; records of format 4 consist of groups, in a
 * fixed order, of which the first one says which others there are.
 *
 * A record may be older than the interrupt in which it is read.  So registers, time and branches are
 * those in the record, as far as it has them.
 */
#include <linux/bitops.h>
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/smp.h>
#include <asm/cpu_entry_area.h>
#include <asm/segment.h>

#include "../../../compat/tsc.h"
#include "../../../trace/stats.h"
#include "../counter.h"
#include "../lbr.h"
#include "pebs.h"
#include "pebs_format.h"

/**
 * struct details - what records of both formats say
 * @counters: the counters that have caused it, as in GLOBAL_STATUS
 * @event_ip: the instruction that has caused it
 * @next_ip: the next one; 0 if it is not known
 * @tsc: time stamp; of format 2, whatever is behind the record: see stamp_time()
 * @address: linear address of the memory access; and so on, as the hardware has it
 * @source: see intel_data_source()
 * @latency: see intel_weights()
 * @tsx: see intel_weights(); flags in 39:32
 * @three: the record, if it is of format 2 or 3
 * @gprs: registers, if it is of format 4 and has them
 * @xmm: likewise
 * @branches: likewise
 */
struct details {
	u64 counters, event_ip, next_ip, tsc;
	u64 address, source, latency, tsx;
	const struct record_3 *three;
	const struct gprs *gprs;
	const u64 *xmm;
	const struct x86_branch *branches;
};

/**
 * intel_ds() - the DS area of this CPU
 *
 * Context: preemption off; between .get and .put of struct x86_precise.
 * Return: the area.
 */
struct debug_store *intel_ds(void)
{
	return &get_cpu_entry_area(smp_processor_id())->cpu_debug_store;
}
NOKPROBE_SYMBOL(intel_ds);

/**
 * intel_pebs_size() - size of a record
 * @groups: PEBS_*
 *
 * Context: any.
 * Return: bytes.
 */
u32 intel_pebs_size(u32 groups)
{
	u32 size = sizeof(struct basic_4);

	if (!x86_pmu.precise->extended)
		return x86_pmu.precise->vague ? SIZE_2 : sizeof(struct record_3);
	if (groups & PEBS_MEMORY)
		size += sizeof(struct memory_4);
	if (groups & PEBS_GPRS)
		size += sizeof(struct gprs);
	if (groups & PEBS_XMM)
		size += XMM_SIZE;
	if (groups & PEBS_BRANCHES)
		size += x86_pmu.lbr_depth * sizeof(struct x86_branch);
	return size;
}

static __always_inline void decode_3(struct details *d, const struct record_3 *r)
{
	*d = (struct details){
		.counters = r->counters, .event_ip = r->event_ip, .next_ip = r->ip,
		.tsc = r->tsc, .address = r->address, .source = r->source,
		.latency = r->latency, .tsx = r->tsx, .three = r,
	};
}

static __always_inline void decode_4(struct details *d, const struct basic_4 *r)
{
	const void *at = r + 1;
	u32 groups = r->format;

	*d = (struct details){ .counters = r->counters, .event_ip = r->event_ip, .tsc = r->tsc };
	if (groups & PEBS_MEMORY) {
		const struct memory_4 *m = at;

		d->address = m->address;
		d->source = m->source;
		d->latency = m->latency;
		d->tsx = m->tsx;
		at = m + 1;
	}
	if (groups & PEBS_GPRS) {
		d->gprs = at;
		d->next_ip = d->gprs->ip;
		at = d->gprs + 1;
	}
	if (groups & PEBS_XMM) {
		d->xmm = at;
		at += XMM_SIZE;
	}
	if (groups & PEBS_BRANCHES)
		d->branches = at;
}

/**
 * struct clock - how to convert time stamps of records
 * @tsc: the conversion
 * @known: it is known, and records have time stamps
 */
struct clock {
	struct kpmu_tsc tsc;
	bool known;
};

static DEFINE_PER_CPU(struct clock, clock);

/**
 * intel_pebs_sync_clock() - read the conversion of time stamps, which is not possible in a PMI
 *
 * Context: IRQs off, the buffer of this CPU is empty.
 */
void intel_pebs_sync_clock(void)
{
	const struct kpmu_tsc *tsc = kpmu_tsc_get();
	struct clock *c = this_cpu_ptr(&clock);

	c->known = tsc && !x86_pmu.precise->vague;
	if (tsc)
		c->tsc = *tsc;
}

static __always_inline u64 stamp_time(u64 tsc)
{
	const struct clock *c = this_cpu_ptr(&clock);

	if (!c->known)
		return 0;
	return mul_u64_u32_shr(tsc, c->tsc.mult, c->tsc.shift) + c->tsc.zero;
}

static __always_inline void decode(struct details *d, const void *record)
{
	if (x86_pmu.precise->extended)
		decode_4(d, record);
	else
		decode_3(d, record);
}

static __always_inline u64 sample_ip(const struct kpmu_hw *hw, const struct details *d)
{
	return hw->precise < 2 && d->next_ip ? d->next_ip : d->event_ip;
}

#define TSX_FLAGS(tsx)	((tsx) >> 32 & 0xff)

static u64 transaction(const struct details *d)
{
	u64 txn = TSX_FLAGS(d->tsx), ax = d->three ? d->three->ax : d->gprs ? d->gprs->ax : 0;

	/* XABORT passes a code in bits 31:24 of AX */
	if (txn & PERF_TXN_TRANSACTION && ax & 1)
		txn |= (ax >> 24 & 0xff) << PERF_TXN_ABORT_SHIFT;
	return txn;
}

/* Both kinds of records have the same names of registers */
#define COPY_REGS(to, from) do {						\
	(to)->ax = (from)->ax, (to)->bx = (from)->bx, (to)->cx = (from)->cx;	\
	(to)->dx = (from)->dx, (to)->si = (from)->si, (to)->di = (from)->di;	\
	(to)->bp = (from)->bp, (to)->sp = (from)->sp, (to)->r8 = (from)->r8;	\
	(to)->r9 = (from)->r9, (to)->r10 = (from)->r10, (to)->r11 = (from)->r11; \
	(to)->r12 = (from)->r12, (to)->r13 = (from)->r13;			\
	(to)->r14 = (from)->r14, (to)->r15 = (from)->r15;			\
} while (0)

/*
 * What is in no record: the registers of the interrupt, if there is one and it came in the mode of the
 * event.  A sample of user mode must not contain registers of the kernel.
 */
static __always_inline void start_regs(struct pt_regs *to, const struct pt_regs *regs, u64 ip)
{
	if (regs && user_mode((struct pt_regs *)regs) == ((s64)ip >= 0))
		*to = *regs;
	else
		memset(to, 0, sizeof(*to));
}

/* Registers at the event */
static __always_inline void make_regs(struct pt_regs *to, const struct kpmu_hw *hw,
				      const struct details *d, const struct pt_regs *regs)
{
	u64 ip = sample_ip(hw, d);

	start_regs(to, regs, ip);
	if (d->three)
		to->flags = d->three->flags;
	else if (d->gprs)
		to->flags = d->gprs->flags;
	if (hw->groups & PEBS_GPRS) {
		if (d->three)
			COPY_REGS(to, d->three);
		else if (d->gprs)
			COPY_REGS(to, d->gprs);
	}
	/* The record has no segments, and the interrupt may have come in another mode */
	to->ip = ip;
	to->cs = (s64)ip < 0 ? __KERNEL_CS : __USER_CS;
	to->ss = (s64)ip < 0 ? __KERNEL_DS : __USER_DS;
}

#define NEED_DETAILS	(PEBS_MEMORY | PEBS_XMM | PEBS_BRANCHES)

/* What only some events need */
static noinline void add_details(struct kpmu_precise *p, const struct kpmu_hw *hw,
				 const struct details *d, const struct pt_regs *regs)
{
	intel_weights(p, hw->mem, d->latency, d->tsx);
	p->data_src = intel_data_source(hw->mem, d->source);
	p->txn = transaction(d);
	p->xmm = d->xmm;
	if (hw->branches && (d->branches || !regs))
		p->branches = x86_branches_of(hw, d->branches, hw->large);
}
NOKPROBE_SYMBOL(add_details);

/*
 * The record is an overflow of this event.  Bring its count up to date and say when the next one is due.
 * If the period is longer than the counter, there may be more records until then.
 */
static __always_inline bool is_due(struct kpmu_hw *hw, int idx)
{
	if (likely(x86_reloads(hw))) {
		local64_add(hw->period, &hw->count);
		kpmu_period_due(hw, hw->next + hw->period);
		if (hw->page)
			x86_user_jump(hw, 0, -hw->period & x86_pmu.value);
		return true;
	}
	x86_fold_signed(hw, idx);
	return kpmu_period_left(hw, local64_read(&hw->count)) <= 0;
}

/**
 * intel_pebs_aim() - set the counter of an event to what is left of its period
 * @hw: the event, !x86_reloads(); the hardware has set its counter to 0 for a record
 * @idx: its slot
 * @due: the record was an overflow
 *
 * Context: as intel_pebs_drain().
 */
void intel_pebs_aim(struct kpmu_hw *hw, int idx, bool due)
{
	u64 from = local64_read(&hw->prev), to;

	/* Only now, as the overflow may have changed the period */
	if (due)
		kpmu_period_due(hw, local64_read(&hw->count) + hw->period);
	to = x86_aim(hw, idx);
	if (hw->page)
		x86_user_jump(hw, from, to);
}

/* Report the record to one of its events, and set the event's counter for the next one */
static void report(struct x86_cpu *c, int idx, const struct details *d, struct pt_regs *regs,
		   bool last)
{
	struct kpmu_hw *hw = READ_ONCE(c->slots.hw[idx]);
	struct kpmu_precise precise;
	struct kpmu_hit hit = { };
	struct pt_regs at;
	bool due;

	if (!hw || !hw->precise || !hw->period) {
		kpmu_stat_inc(pmis_late);
		return;
	}
	hit.period = hw->period;
	due = is_due(hw, idx);
	if (due) {
		make_regs(&at, hw, d, regs);
		precise = (struct kpmu_precise){
			.time = stamp_time(d->tsc), .data_src = PERF_MEM_NA,
			.early = !regs || !last,
		};
		if (hw->groups & NEED_DETAILS)
			add_details(&precise, hw, d, regs);
		if (!precise.early) {
			hit.began = c->hit.began;
			hit.next = c->hit.next;
			c->hit.began = 0;
		}
		hit.regs = &at;
		/* Skid: an event of user mode has no frames of the kernel */
		hit.frames = regs && (hw->kernel || user_mode(regs)) ? regs : NULL;
		hit.exact = hw->precise > 1;
		hit.addr = d->address;
		hit.precise = &precise;
		if (x86_report(hw, &hit) && regs)
			x86_halt(hw);
	}
	if (!x86_reloads(hw))
		intel_pebs_aim(hw, idx, due);
}
NOKPROBE_SYMBOL(report);

static __always_inline u64 record_counters(const void *record)
{
	if (x86_pmu.precise->extended)
		return ((const struct basic_4 *)record)->counters;
	return ((const struct record_3 *)record)->counters;
}

/* The events that a record is reported to */
static __always_inline u32 record_slots(const struct x86_cpu *c, u64 counters)
{
	u32 slots = x86_global_slots(counters) & c->precise;

	/* Of several ones, the record does not tell which have caused it */
	if (unlikely(slots & (slots - 1)) && x86_pmu.precise->vague)
		return 0;
	return slots;
}

/* Records that are reported together, most */
#define BATCH	64

static DEFINE_PER_CPU(struct kpmu_brief [BATCH], briefs);

/* Records of the same counters as the first, up to one in a mode that the event does not count */
static __always_inline u32 collect(struct kpmu_brief *to, const struct kpmu_hw *hw, const void *at,
				   const void *end, u32 size)
{
	u64 counters = record_counters(at);
	struct details d;
	u32 n = 0;

	for (; at < end && n < BATCH && record_counters(at) == counters; at += size, n++) {
		decode(&d, at);
		to[n].ip = sample_ip(hw, &d);
		if (unlikely((s64)to[n].ip < 0 && !hw->kernel))
			break;
		to[n].time = stamp_time(d.tsc);
		to[n].addr = d.address;
	}
	return n;
}

/* The slots of events whose records may be reported together */
static u32 brief_slots(const struct x86_cpu *c)
{
	u32 m, slots = 0;

	for (m = c->precise; m; m &= m - 1) {
		const struct kpmu_hw *hw = READ_ONCE(c->slots.hw[__ffs(m)]);

		if (hw && hw->brief && hw->period && x86_reloads(hw))
			slots |= m & -m;
	}
	return slots;
}
NOKPROBE_SYMBOL(brief_slots);

/*
 * Report several records of one event together.  There is no user page to adjust, because user
 * space does not read the counters of events with a large buffer.
 */
static noinline u32 report_batch(struct x86_cpu *c, int idx, const void *at, const void *end,
				 u32 *brief)
{
	struct kpmu_hw *hw = c->slots.hw[idx];
	struct kpmu_brief *to = *this_cpu_ptr(&briefs);
	struct kpmu_batch batch = { .records = to };
	struct kpmu_precise precise = { .early = true, .batch = &batch };
	struct kpmu_hit hit = { .precise = &precise };

	batch.nr = collect(to, hw, at, end, c->pebs_size);
	if (!batch.nr)
		return 0;
	hit.period = hw->period;
	hit.exact = hw->precise > 1;
	x86_report_batch(hw, &hit);
	local64_add(batch.done * hw->period, &hw->count);
	kpmu_period_due(hw, hw->next + batch.done * hw->period);
	/* Do not collect the same ones again */
	if (!batch.done)
		*brief &= ~(1u << idx);
	return batch.done;
}
NOKPROBE_SYMBOL(report_batch);

/**
 * intel_pebs_pending() - .pending of struct x86_precise
 *
 * Context: see struct x86_precise.
 * Return: see struct x86_precise.
 */
bool intel_pebs_pending(void)
{
	const struct debug_store *ds = intel_ds();

	return ds->pebs_index != ds->pebs_buffer_base;
}

/* In the interrupt, the last record of an event is its overflow; otherwise there is no last one */
static void find_last(const struct x86_cpu *c, const void **last, const void *at, const void *top,
		      const struct pt_regs *regs)
{
	u32 size = c->pebs_size, left = c->precise, m;
	const void *r;

	for (m = left; m; m &= m - 1)
		last[__ffs(m)] = top;
	if (!regs)
		return;
	for (r = top - size; r >= at && left; r -= size) {
		m = record_slots(c, record_counters(r)) & left;
		left &= ~m;
		for (; m; m &= m - 1)
			last[__ffs(m)] = r;
	}
}
NOKPROBE_SYMBOL(find_last);

static __always_inline void report_record(struct x86_cpu *c, const void *record,
					  struct pt_regs *regs, const void **last)
{
	struct details d;
	u32 m;

	decode(&d, record);
	for (m = record_slots(c, d.counters); m; m &= m - 1)
		report(c, __ffs(m), &d, regs, !last || last[__ffs(m)] == record);
}

static noinline void report_many(struct x86_cpu *c, const void *at, const void *top,
				 struct pt_regs *regs)
{
	u32 m, n, brief = brief_slots(c), size = c->pebs_size;
	const void *last[KPMU_NR_SLOTS];

	find_last(c, last, at, top, regs);
	while (at < top) {
		m = record_slots(c, record_counters(at));
		/* Of one event only */
		if (m & brief && !(m & (m - 1))) {
			n = report_batch(c, __ffs(m), at, last[__ffs(m)], &brief);
			at += n * size;
			if (n)
				continue;
		}
		report_record(c, at, regs, last);
		at += size;
	}
}
NOKPROBE_SYMBOL(report_many);

/**
 * intel_pebs_drain() - .drain of struct x86_precise
 * @c: see struct x86_precise
 * @regs: see struct x86_precise
 *
 * Context: see struct x86_precise.
 */
void intel_pebs_drain(struct x86_cpu *c, struct pt_regs *regs)
{
	struct debug_store *ds = intel_ds();
	const void *at = (void *)ds->pebs_buffer_base, *top = (void *)ds->pebs_index;
	u32 size = c->pebs_size;

	if (at >= top)
		return;
	if (top - at < 2 * size)
		report_record(c, at, regs, NULL);
	else
		report_many(c, at, at + (top - at) / size * size, regs);
	ds->pebs_index = ds->pebs_buffer_base;
}
NOKPROBE_SYMBOL(intel_pebs_drain);
