// SPDX-License-Identifier: GPL-2.0-only
/*
 * Precise events: their selectors and counters, the buffers, and the registers.
 *
 * An overflow of such a counter raises no interrupt.  It arms the hardware, which writes a record at
 * the next event, sets the counter to a value from the DS area, and raises an interrupt if the buffer
 * is filled up to a threshold.  As upstream:
 *
 * - The value is the period, unless it changes with each overflow; then it is 0, and the handler sets
 *   the counter as for other events.
 * - The threshold is nearly the end of the buffer if all events allow it, because their samples contain
 *   only what a record has.  Otherwise it is one record.
 *
 * The hardware writes at any privilege level, also while the page tables of user mode are loaded.  So
 * DS area and buffers must be in the part of the address space that both page tables map: the
 * kernel's cpu_entry_area has room for them.  The kernel's own functions map memory there for its own
 * perf.  While kpmu has the counters, these are not in use, and kpmu calls them.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <asm/cpu_entry_area.h>
#include <asm/cpufeature.h>
#include <uapi/asm/perf_regs.h>

#include "../../../abi/attr.h"
#include "../../../compat/ksym.h"
#include "../msr.h"
#include "intel.h"
#include "pebs.h"

#define MSR_ENABLE		0x3f1
#define MSR_DATA_CFG		0x3f2

/* IA32_PERF_CAPABILITIES */
#define CAP_FORMAT(caps)	((caps) >> 8 & 15)
#define CAP_BASELINE		BIT_ULL(14)
/* IA32_PEBS_ENABLE before version 5: records of the counter have load latencies */
#define ENABLE_LATENCY(n)	BIT_ULL(32 + (n))

/* Counters that can be precise, and the reset values of fixed ones in the DS area */
#define PRECISE_GP		0xffu
#define PRECISE_FIXED		(0xfu << X86_FIXED)
#define RESET_OF_FIXED		8

#define CYCLES			0x003c
#define INSTRUCTIONS		0x00c0
#define TX_ABORTS		0x04c9	/* RTM_RETIRED.ABORTED */
/* Cycles that retire fewer than 16 instructions, i.e. all: an event that can be precise */
#define RETIRED_NONE		(0x00c0 | SEL_INV | 16ULL << 24)
#define RETIRED_NONE_DIST	(0x01c0 | SEL_INV | 16ULL << 24)

/* An event without privilege levels */
static u64 event_of(u64 sel)
{
	return sel & (SEL_CODE | SEL_MODIFIERS);
}

/* Skylake counts cycles precisely by another event; later CPUs need none */
static u64 pebs_alias(u64 sel, const struct kpmu_attr *attr)
{
	if (x86_pmu.precise->extended || event_of(sel) != CYCLES)
		return sel;
	return kpmu_attr_precise(attr) > 2 ? RETIRED_NONE_DIST : RETIRED_NONE;
}

#define WEIGHTS		(KPMU_SAMPLE_WEIGHT | KPMU_SAMPLE_WEIGHT_STRUCT)
#define NEED_MEMORY	(KPMU_SAMPLE_ADDR | KPMU_SAMPLE_DATA_SRC | KPMU_SAMPLE_PHYS_ADDR | \
			 WEIGHTS | KPMU_SAMPLE_TRANSACTION | KPMU_SAMPLE_DATA_PAGE_SIZE)
#define REGS_XMM	GENMASK_ULL(63, 32)
/* Registers that are in a record: all but segments */
#define REGS_RECORD	(GENMASK_ULL(PERF_REG_X86_FLAGS, PERF_REG_X86_AX) |	\
			 GENMASK_ULL(PERF_REG_X86_R15, PERF_REG_X86_R8))

static bool needs_regs(const struct kpmu_attr *attr)
{
	u64 type = attr->sample_type;

	if (type & KPMU_SAMPLE_REGS_INTR && attr->sample_regs_intr & REGS_RECORD)
		return true;
	return x86_pmu.precise->extended && type & KPMU_SAMPLE_REGS_USER &&
	       attr->sample_regs_user & REGS_RECORD;
}

/* Groups that the fields of the event's samples need */
static u32 groups_for(const struct kpmu_hw *hw, const struct kpmu_attr *attr)
{
	u64 type = attr->sample_type;
	u32 groups = needs_regs(attr) ? PEBS_GPRS : 0;

	if (type & NEED_MEMORY)
		groups |= PEBS_MEMORY;
	if (type & (WEIGHTS | KPMU_SAMPLE_TRANSACTION) && event_of(hw->sel) == TX_ABORTS)
		groups |= PEBS_GPRS;
	if (type & KPMU_SAMPLE_REGS_INTR && attr->sample_regs_intr & REGS_XMM)
		groups |= PEBS_XMM;
	if (hw->branches)
		groups |= PEBS_BRANCHES;
	return groups;
}

/* The fields that are in records, or do not change between a record and the interrupt */
#define LARGE	(KPMU_SAMPLE_IP | KPMU_SAMPLE_TID | KPMU_SAMPLE_ADDR | KPMU_SAMPLE_ID |	\
		 KPMU_SAMPLE_CPU | KPMU_SAMPLE_STREAM_ID | KPMU_SAMPLE_DATA_SRC |	\
		 KPMU_SAMPLE_IDENTIFIER | KPMU_SAMPLE_TRANSACTION |			\
		 KPMU_SAMPLE_PHYS_ADDR | KPMU_SAMPLE_REGS_INTR | KPMU_SAMPLE_REGS_USER |	\
		 KPMU_SAMPLE_PERIOD | KPMU_SAMPLE_CODE_PAGE_SIZE | WEIGHTS | KPMU_SAMPLE_TIME)

/* Of these, the ones that are a single word, and in struct kpmu_brief or constant */
#define BRIEF	(KPMU_SAMPLE_IDENTIFIER | KPMU_SAMPLE_IP | KPMU_SAMPLE_TID | KPMU_SAMPLE_TIME |	\
		 KPMU_SAMPLE_ADDR | KPMU_SAMPLE_ID | KPMU_SAMPLE_STREAM_ID |		\
		 KPMU_SAMPLE_CPU | KPMU_SAMPLE_PERIOD)

/* Upstream's rules for events whose records may wait in the buffer */
static bool may_wait(const struct kpmu_attr *attr)
{
	u64 fields = LARGE;

	if (x86_pmu.precise->extended)
		fields |= KPMU_SAMPLE_BRANCH_STACK;
	if (attr->flags & KPMU_ATTR_USE_CLOCKID || x86_pmu.precise->vague)
		fields &= ~KPMU_SAMPLE_TIME;
	if (!(attr->flags & KPMU_ATTR_EXCLUDE_KERNEL) || attr->sample_regs_user & ~REGS_RECORD)
		fields &= ~KPMU_SAMPLE_REGS_USER;
	if (attr->sample_regs_intr & ~REGS_RECORD)
		fields &= ~KPMU_SAMPLE_REGS_INTR;
	return !(attr->sample_type & ~fields) && !attr->aux_action;
}

static bool has_fixed_period(const struct kpmu_attr *attr)
{
	return !(attr->flags & KPMU_ATTR_FREQ) &&
	       (!attr->wakeup_events || attr->flags & KPMU_ATTR_WATERMARK);
}

static const struct x86_precise_event *find_event(u64 sel)
{
	const struct x86_precise_event *e = x86_pmu.model->precise;

	for (; e->counters; e++)
		if ((sel & e->code_mask) >= e->first && (sel & e->code_mask) <= e->last)
			return e;
	return NULL;
}

/* Counters on which level 3 is more than level 2 */
static u32 distributed(u64 event, u32 allowed)
{
	if (x86_pmu.model->pdist_fixed && event == INSTRUCTIONS)
		return 1u << X86_FIXED;
	return x86_pmu.model->pdist_first ? allowed & 1 : allowed;
}

static void pebs_init(struct kpmu_hw *hw, const struct kpmu_attr *attr)
{
	/* In the table, only events themselves are compared, not what is counted of them */
	const struct x86_precise_event *e = find_event(event_of(hw->sel));

	hw->precise = kpmu_attr_precise(attr);
	if (e) {
		hw->allowed = e->counters & x86_pmu.counters;
		hw->mem = e->mem;
	}
	if (hw->precise > 2)
		hw->allowed = distributed(event_of(hw->sel), hw->allowed) & x86_pmu.counters;
	hw->allowed &= PRECISE_GP | PRECISE_FIXED;
	hw->groups = groups_for(hw, attr);
	hw->reload = has_fixed_period(attr);
	hw->large = hw->reload && may_wait(attr);
	hw->brief = hw->large && !(attr->sample_type & ~BRIEF);
	if (hw->large) {
		hw->switches = true;
		hw->rdpmc = false;
	}
	hw->sel &= ~SEL_INT;
	hw->fixed &= ~FIXED_PMI;
	if (x86_pmu.precise->extended)
		hw->sel |= SEL_ADAPTIVE;
}

static DEFINE_MUTEX(buffers_lock);
static unsigned int nr_users;	/* under buffers_lock */

/* The kernel stops at the first CPU for which it has no memory */
static bool have_buffers(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (!get_cpu_entry_area(cpu)->cpu_debug_store.pebs_buffer_base)
			return false;
	return true;
}

static int pebs_get(const char **why)
{
	int err = 0;

	mutex_lock(&buffers_lock);
	if (!nr_users) {
		kpmu_ksym_call(KSYM_reserve_ds_buffers, 0, 0, 0, 0);
		if (!have_buffers()) {
			kpmu_ksym_call(KSYM_release_ds_buffers, 0, 0, 0, 0);
			*why = "no memory for the records of precise events";
			err = -ENOMEM;
		}
	}
	nr_users += !err;
	mutex_unlock(&buffers_lock);
	return err;
}

static void pebs_put(void)
{
	mutex_lock(&buffers_lock);
	if (!--nr_users)
		kpmu_ksym_call(KSYM_release_ds_buffers, 0, 0, 0, 0);
	mutex_unlock(&buffers_lock);
}

static void pebs_setup(struct x86_cpu *c)
{
	c->pebs_enable = 0;
	c->pebs_groups = ~0u;	/* not known */
	c->pebs_size = 0;
	if (x86_pmu.precise->extended)
		c->boot_data_cfg = kpmu_rdmsr(MSR_DATA_CFG);
}

/* Native perf relies on what it has written last */
static void pebs_clear(struct x86_cpu *c)
{
	if (x86_pmu.precise->extended && c->pebs_groups != ~0u)
		x86_wrmsr(MSR_DATA_CFG, c->boot_data_cfg);
}

static u64 *reset_value(struct debug_store *ds, int idx)
{
	return &ds->pebs_event_reset[idx < X86_FIXED ? idx : RESET_OF_FIXED + idx - X86_FIXED];
}

static u64 reset_for(const struct kpmu_hw *hw)
{
	return x86_reloads(hw) ? -hw->period & x86_pmu.value : 0;
}

/* What the events on counters need */
struct wanted {
	u64 enable;
	u32 groups;
	bool large;
};

static struct wanted wanted_by(const struct x86_cpu *c)
{
	struct wanted w = { .enable = x86_global_bits(c->precise), .large = true };
	u32 m;

	for (m = c->precise; m; m &= m - 1) {
		const struct kpmu_hw *hw = c->slots.hw[__ffs(m)];

		w.groups |= hw->groups;
		/* Level 1 is the next instruction, whose address is among the registers */
		if (hw->precise < 2)
			w.groups |= PEBS_GPRS;
		w.large &= hw->large;
		if (hw->mem == X86_MEM_LOAD_LATENCY && x86_pmu.version < 5)
			w.enable |= ENABLE_LATENCY(__ffs(m));
	}
	if (w.groups & PEBS_BRANCHES)
		w.groups |= (x86_pmu.lbr_depth - 1) << PEBS_DEPTH_SHIFT;
	return w;
}

/* Room for a record of each counter after the threshold */
static u64 threshold_of(const struct debug_store *ds, const struct wanted *w, u32 size)
{
	if (!w->large)
		return ds->pebs_buffer_base + size;
	return ds->pebs_absolute_maximum - hweight32(x86_pmu.counters) * size;
}

static void set_buffer(const struct x86_cpu *c, const struct wanted *w)
{
	struct debug_store *ds = intel_ds();
	u32 m, size = c->pebs_size;

	ds->pebs_index = ds->pebs_buffer_base;
	ds->pebs_absolute_maximum = ds->pebs_buffer_base + PEBS_BUFFER_SIZE / size * size;
	ds->pebs_interrupt_threshold = threshold_of(ds, w, size);
	for (m = c->precise; m; m &= m - 1)
		*reset_value(ds, __ffs(m)) = reset_for(c->slots.hw[__ffs(m)]);
}

static void pebs_update(struct x86_cpu *c)
{
	struct wanted w = wanted_by(c);

	if (c->precise) {
		c->pebs_size = intel_pebs_size(w.groups);
		if (x86_pmu.precise->extended && w.groups != c->pebs_groups)
			x86_wrmsr(MSR_DATA_CFG, w.groups);
		c->pebs_groups = w.groups;
		set_buffer(c, &w);
		intel_pebs_sync_clock();
	}
	if (w.enable != c->pebs_enable)
		x86_wrmsr(MSR_ENABLE, w.enable);
	c->pebs_enable = w.enable;
}

static bool pebs_is_on(const struct x86_cpu *c)
{
	struct wanted w = wanted_by(c);
	struct debug_store *ds;
	u32 m;

	if (c->pebs_enable != w.enable || kpmu_rdmsr(MSR_ENABLE) != w.enable)
		return false;
	if (!c->precise)
		return true;
	ds = intel_ds();
	for (m = c->precise; m; m &= m - 1)
		if (*reset_value(ds, __ffs(m)) != reset_for(c->slots.hw[__ffs(m)]))
			return false;
	if (x86_pmu.precise->extended && kpmu_rdmsr(MSR_DATA_CFG) != w.groups)
		return false;
	return c->pebs_size == intel_pebs_size(w.groups) &&
	       ds->pebs_interrupt_threshold == threshold_of(ds, &w, c->pebs_size);
}

static struct x86_precise pebs __ro_after_init = {
	.max = 3,
	.alias = pebs_alias,
	.init = pebs_init,
	.get = pebs_get,
	.put = pebs_put,
	.setup = pebs_setup,
	.clear = pebs_clear,
	.update = pebs_update,
	.pending = intel_pebs_pending,
	.drain = intel_pebs_drain,
	.is_on = pebs_is_on,
};

/**
 * intel_detect_pebs() - detect precise events
 * @caps: IA32_PERF_CAPABILITIES, 0 if it does not exist
 *
 * Supported are the 64-bit formats 2 and 3, and 4 with adaptive records.  The kernel must be built to map
 * the buffers.
 *
 * Context: module init, after the rest of x86_pmu was filled in.
 */
void __init intel_detect_pebs(u64 caps)
{
	int format = CAP_FORMAT(caps);

	if (!boot_cpu_has(X86_FEATURE_DTES64) || !boot_cpu_has(X86_FEATURE_PEBS) ||
	    !x86_pmu.model->precise || x86_pmu.version < 2 ||
	    !kpmu_ksym_has(KSYM_reserve_ds_buffers) || !kpmu_ksym_has(KSYM_release_ds_buffers))
		return;
	pebs.extended = format == 4 && caps & CAP_BASELINE;
	pebs.vague = format == 2;
	if (format != 3 && !pebs.vague && !pebs.extended)
		return;
	if (pebs.vague)
		pebs.drain = intel_pebs_drain_vague;
	x86_pmu.status |= X86_STATUS_BUFFER;
	x86_pmu.precise = &pebs;
}
