// SPDX-License-Identifier: GPL-2.0-only
/*
 * Translate an attr to a selector and the set of allowed counters.  SDM volume 3,
 * "Architectural Performance Monitoring", IA32_PERFEVTSELx.
 */
#include <linux/errno.h>

#include "../../abi/attr.h"
#include "lbr.h"
#include "msr.h"
#include "precise.h"

struct choice {
	const struct x86_kind *kind;
	u64 sel;
	u64 extra;
};

/*
 * The upper half of a generic config may contain the type of a PMU, for machines with
 * several core PMUs.  Other PMUs do not have such events.  As upstream, a type that no PMU has is
 * ignored.
 */
static int generic_config(const struct kpmu_attr *attr, u32 *config,
			  const char **why)
{
	u32 pmu = attr->config >> 32;

	/* x86_find() has looked at it */
	if (static_branch_unlikely(&kpmu_kinds_key))
		pmu = 0;
	if (pmu == KPMU_TYPE_SOFTWARE || pmu == KPMU_TYPE_TRACEPOINT || pmu == KPMU_TYPE_BREAKPOINT) {
		*why = "the PMU in the upper half of config does not have this event";
		return -ENOENT;
	}
	*config = attr->config;
	return 0;
}

static int hardware_config(u32 config, struct choice *c, const char **why)
{
	if (config >= X86_HW_EVENTS) {
		*why = "no such generic event";
		return -EINVAL;
	}
	c->sel = c->kind->hw[config];
	if (!c->sel) {
		*why = "this CPU has no such generic event";
		return -ENOENT;
	}
	return 0;
}

static int cache_config(u32 config, struct choice *c, const char **why)
{
	const struct x86_cache_event *e;
	u32 id = config & 0xff;
	u32 op = config >> 8 & 0xff;
	u32 result = config >> 16 & 0xff;

	if (config >> 24 || id >= X86_CACHE_IDS || op >= X86_CACHE_OPS ||
	    result >= X86_CACHE_RESULTS) {
		*why = "no such cache, operation or result";
		return -EINVAL;
	}
	if (!c->kind->model->cache) {
		*why = "no cache events known for this CPU";
		return -ENOENT;
	}
	e = &c->kind->model->cache[id][op][result];
	if (!e->config) {
		*why = "this CPU has no such cache event";
		return -ENOENT;
	}
	if (e->config == X86_NONSENSE) {
		*why = "this cache has no such operation";
		return -EINVAL;
	}
	c->sel = e->config;
	c->extra = e->extra;
	return 0;
}

/* Some programs (rr) pass the whole register value as config */
static int raw_config(const struct kpmu_attr *attr, struct choice *c, const char **why)
{
	if (attr->config & ~(x86_pmu.raw | x86_pmu.ignored)) {
		*why = "config bits that this PMU does not define";
		return -EINVAL;
	}
	c->sel = attr->config & x86_pmu.raw;
	c->extra = attr->config1;
	return 0;
}

static u32 allowed_counters(const struct x86_kind *kind, u64 sel)
{
	const struct x86_constraint *k = kind->model->constraints +
		(kind->first[sel & SEL_EVENT] & ~X86_HAS_EXTRA);
	u32 where = X86_GP_MASK;

	for (; k->counters; k++) {
		u64 code = sel & k->code_mask;

		if (code >= k->first && code <= k->last) {
			where = k->counters;
			break;
		}
	}
	if (sel & SEL_MODIFIERS)
		where &= X86_GP_MASK;
	return where & kind->counters;
}

static int extra_reg(struct kpmu_hw *hw, u64 extra, const char **why)
{
	const struct x86_kind *kind = x86_kind_of(hw);
	const struct x86_extra_reg *e = kind->model->extra;

	if (!(kind->first[hw->sel & SEL_EVENT] & X86_HAS_EXTRA))
		return 0;
	for (; e->reg; e++) {
		if (e->code != (hw->sel & SEL_CODE))
			continue;
		/* Latencies are only in the records of precise events */
		if (e->reg == X86_LATENCY_REG && !x86_pmu.precise)
			return 0;
		if (extra & ~e->valid) {
			*why = "config1 bits that the extra register does not define";
			return -EINVAL;
		}
		if (!(kind->extra_ok & 1u << e->reg)) {
			*why = "the event needs a register that this CPU does not have";
			return -ENXIO;
		}
		hw->extra_reg = e->reg;
		/* The two off-core response registers are equivalent */
		if (e->reg <= 2 && (kind->extra_ok & 6) == 6)
			hw->extra_alt = 3 - e->reg;
		hw->extra = extra;
		return 0;
	}
	return 0;
}

/*
 * Intel's counters do not distinguish host and guest mode: KVM would have to switch them on
 * guest entry and exit, and does so only for the kernel's own perf.  So an event with
 * exclude_host counts nothing, as if no guest ran.
 */
static void exclusions(struct kpmu_hw *hw, const struct kpmu_attr *attr)
{
	bool host = !(attr->flags & KPMU_ATTR_EXCLUDE_HOST);
	bool guest = !(attr->flags & KPMU_ATTR_EXCLUDE_GUEST);

	hw->sel |= SEL_INT | SEL_EN;
	hw->fixed = FIXED_PMI;
	if (!host && !(guest && x86_pmu.guest))
		return;
	if (!host)
		hw->sel |= x86_pmu.guest;
	else if (!guest)
		hw->sel |= x86_pmu.host;
	if (!(attr->flags & KPMU_ATTR_EXCLUDE_USER)) {
		hw->sel |= SEL_USR;
		hw->fixed |= FIXED_USR;
	}
	if (!(attr->flags & KPMU_ATTR_EXCLUDE_KERNEL)) {
		hw->sel |= SEL_OS;
		hw->fixed |= FIXED_OS;
		hw->kernel = true;
	}
}

#define HW_BRANCHES	4

/*
 * On Intel a sample of every branch requires the branch trace store (BTS) instead of a counter.  As
 * upstream, this depends on the encoding only, not on the type of the event.
 */
static bool traces_branches(const struct kpmu_hw *hw, u64 flags, u64 period)
{
	return x86_pmu.traces && period == 1 && !(flags & (KPMU_ATTR_FREQ | KPMU_ATTR_EXCLUDE_HOST)) &&
	       (hw->sel & SEL_CODE) == x86_kind_of(hw)->hw[HW_BRANCHES];
}

/**
 * x86_check_period() - is a period possible for an event?
 * @hw: the event
 * @flags: its attr's flags
 * @period: the period in events
 *
 * Context: any.
 * Return: true if it is.
 */
bool x86_check_period(const struct kpmu_hw *hw, u64 flags, u64 period)
{
	return !traces_branches(hw, flags, period);
}

#define REGS_EXTENDED	GENMASK_ULL(63, 32)

/* Registers XMM are only in the records of precise events */
static int check_regs(const struct kpmu_attr *attr, const char **why)
{
	if (!((attr->sample_regs_user | attr->sample_regs_intr) & REGS_EXTENDED))
		return 0;
	*why = "extended registers are in samples of precise events only, and not on all CPUs";
	if (attr->sample_regs_user & REGS_EXTENDED || !kpmu_attr_precise(attr) ||
	    !x86_pmu.precise->extended)
		return -EINVAL;
	return 0;
}

/* Reject what counters do not support, in the order of upstream's checks */
static int refuse(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	int err;

	if (traces_branches(hw, attr->flags, attr->sample_period)) {
		*why = "no branch trace store: a period of 1 is too short for branches";
		return -EOPNOTSUPP;
	}
	err = check_regs(attr, why);
	if (!err && attr->sample_type & KPMU_SAMPLE_BRANCH_STACK)
		err = x86_lbr_init_event(hw, attr, why);
	if (err || !(attr->flags & KPMU_ATTR_AUX_OUTPUT))
		return err;
	if (!x86_pmu.traces || x86_pmu.version < 2) {
		*why = "this PMU writes no AUX data";
		return -EOPNOTSUPP;
	}
	*why = "aux_output needs a precise event";
	return -EINVAL;
}

static int check_precise(const struct kpmu_attr *attr, const char **why)
{
	unsigned int level = kpmu_attr_precise(attr);

	if (!level)
		return 0;
	if (!x86_pmu.precise || level > x86_pmu.precise->max) {
		*why = "this PMU has no precise events, or not at this level";
		return -EOPNOTSUPP;
	}
	if (!attr->sample_period) {
		*why = "a precise event must sample";
		return -EINVAL;
	}
	return 0;
}

#define LOAD_LATENCY		0x01cd	/* MEM_TRANS_RETIRED.LOAD_LATENCY */
#define LOAD_LATENCY_AUX	0x8203	/* LOAD_BLOCKS.*, see struct x86_model */

static bool is_event(const struct kpmu_hw *hw, u64 code)
{
	return (hw->sel & (SEL_CODE | SEL_MODIFIERS)) == code;
}

/**
 * x86_goes_with() - .goes_with of the CPU's counters
 * @hw: an event with load latencies
 * @other: another one
 *
 * Context: any.
 * Return: true if @other is the event without which the latencies are wrong.
 */
bool x86_goes_with(const struct kpmu_hw *hw, const struct kpmu_hw *other)
{
	return is_event(other, LOAD_LATENCY_AUX);
}

/**
 * x86_event_init() - translate an attr to a selector
 * @hw: the event's hw part, filled in; .source is set
 * @attr: attr of type HARDWARE, HW_CACHE, RAW or of its PMU, checked
 * @why: set to a description of the error
 *
 * Context: any.
 * Return: 0; -ENOENT if this CPU does not have the event; -EINVAL if the attr is
 * meaningless or no counter can count it; -ENXIO if an extra register does not exist;
 * -EOPNOTSUPP for features not supported, e.g. precise events.
 */
int x86_event_init(struct kpmu_hw *hw, const struct kpmu_attr *attr,
		   const char **why)
{
	struct choice c = { .kind = x86_kind_of(hw) };
	u32 config;
	int err;

	if (!x86_pmu.version) {
		*why = "no hardware PMU";
		return -ENOENT;
	}
	err = check_precise(attr, why);
	if (err)
		return err;
	switch (attr->type) {
	case KPMU_TYPE_HARDWARE:
		err = generic_config(attr, &config, why) ?:
		      hardware_config(config, &c, why);
		break;
	case KPMU_TYPE_HW_CACHE:
		err = generic_config(attr, &config, why) ?:
		      cache_config(config, &c, why);
		break;
	default:
		err = raw_config(attr, &c, why);
		break;
	}
	if (err)
		return err;
	hw->sel = kpmu_attr_precise(attr) ? x86_pmu.precise->alias(c.sel, attr) : c.sel;
	hw->rdpmc = x86_rdpmc_get();
	err = extra_reg(hw, c.extra, why) ?: refuse(hw, attr, why);
	if (err)
		return err;
	exclusions(hw, attr);
	hw->allowed = allowed_counters(c.kind, hw->sel);
	if (x86_pmu.pairs && x86_pmu.pairs->lower(hw->sel)) {
		hw->wide = true;
		hw->allowed &= x86_pmu.pairs->lower(hw->sel);
	}
	if (kpmu_attr_precise(attr))
		x86_pmu.precise->init(hw, attr);
	hw->paired = x86_pmu.model->aux_loads && attr->type == KPMU_TYPE_RAW &&
		     attr->sample_type & KPMU_SAMPLE_DATA_SRC && is_event(hw, LOAD_LATENCY);
	if (!hw->allowed) {
		*why = "no counter of this PMU can count the event";
		return -EINVAL;
	}
	return 0;
}

/**
 * x86_event_needs() - additional permissions required for an event
 * @hw: the event
 * @target: what it is to count
 *
 * Context: any.
 * Return: KPMU_NEED_CPU for AnyThread, which also counts the sibling hyperthread; else 0.
 */
u32 x86_event_needs(const struct kpmu_hw *hw,
		    const struct kpmu_target *target)
{
	return hw->sel & SEL_ANY ? KPMU_NEED_CPU : 0;
}
