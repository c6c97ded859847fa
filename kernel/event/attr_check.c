// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks of an attr by itself.  Tables with a row for each flag bit and each rule,
 * so that they can be compared with the manual.  Uses no kernel services: also
 * built and tested in user space.
 */
#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#else
#include "shim.h"
#endif

#include "../abi/attr.h"

/**
 * struct flag_row - a bit of the flag word; the index in the table is the bit number
 * @name: its name in the manual
 * @needs: flags that must be set with it
 * @excludes: flags that must not be set with it
 */
struct flag_row {
	const char *name;
	u64 needs;
	u64 excludes;
};

static const struct flag_row flag_rows[KPMU_ATTR_NR_FLAGS] = {
	[0] = { "disabled" },
	[1] = { "inherit" },
	[2] = { "pinned" },
	[3] = { "exclusive" },
	[4] = { "exclude_user" },
	[5] = { "exclude_kernel" },
	[6] = { "exclude_hv" },
	[7] = { "exclude_idle" },
	[8] = { "mmap" },
	[9] = { "comm" },
	[10] = { "freq" },
	[11] = { "inherit_stat" },
	[12] = { "enable_on_exec", 0, KPMU_ATTR_REMOVE_ON_EXEC },
	[13] = { "task" },
	[14] = { "watermark" },
	[15] = { "precise_ip" },
	[16] = { "precise_ip" },
	[17] = { "mmap_data" },
	[18] = { "sample_id_all" },
	[19] = { "exclude_host" },
	[20] = { "exclude_guest" },
	[21] = { "exclude_callchain_kernel" },
	[22] = { "exclude_callchain_user" },
	[23] = { "mmap2" },
	[24] = { "comm_exec" },
	[25] = { "use_clockid" },
	[26] = { "context_switch" },
	[27] = { "write_backward" },
	[28] = { "namespaces" },
	[29] = { "ksymbol" },
	[30] = { "bpf_event" },
	[31] = { "aux_output" },
	[32] = { "cgroup" },
	[33] = { "text_poke" },
	[34] = { "build_id" },
	[35] = { "inherit_thread", KPMU_ATTR_INHERIT },
	[36] = { "remove_on_exec", 0, KPMU_ATTR_ENABLE_ON_EXEC },
	[37] = { "sigtrap", KPMU_ATTR_REMOVE_ON_EXEC },
	[38] = { "defer_callchain" },
	[39] = { "defer_output" },
};

/* Bits with rules in their row; the others need no check */
#define FLAGS_WITH_RULES	(KPMU_ATTR_ENABLE_ON_EXEC |		\
				 KPMU_ATTR_INHERIT_THREAD |		\
				 KPMU_ATTR_REMOVE_ON_EXEC |		\
				 KPMU_ATTR_SIGTRAP |			\
				 KPMU_ATTR_DEFER_CALLCHAIN |		\
				 KPMU_ATTR_DEFER_OUTPUT)

#define ATTR_FLAGS_ALL	GENMASK_ULL(KPMU_ATTR_NR_FLAGS - 1, 0)

/* Registers that a sample can contain, in the numbering of arch/x86's perf_regs.h */
#define REGS_64		(GENMASK_ULL(23, 16) | GENMASK_ULL(11, 0))
#define REGS_EXTENDED	GENMASK_ULL(63, 32)

static bool regs_bad(u64 mask)
{
	return !mask || mask & ~(REGS_64 | REGS_EXTENDED);
}

static bool has_sample(const struct kpmu_attr *a, u64 sample)
{
	return a->sample_type & sample;
}

/* The rules: each returns true for an attr that violates it */
static bool bad_flags(const struct kpmu_attr *a,
		      const struct kpmu_attr_limits *l)
{
	return a->flags & ~ATTR_FLAGS_ALL || a->reserved_2 ||
	       a->aux_action & ~KPMU_AUX_ACTION_ALL;
}

static bool bad_sample_bits(const struct kpmu_attr *a,
			    const struct kpmu_attr_limits *l)
{
	return a->sample_type & ~KPMU_SAMPLE_ALL;
}

static bool bad_format_bits(const struct kpmu_attr *a,
			    const struct kpmu_attr_limits *l)
{
	return a->read_format & ~KPMU_FORMAT_ALL;
}

static bool bad_branch_bits(const struct kpmu_attr *a,
			    const struct kpmu_attr_limits *l)
{
	return has_sample(a, KPMU_SAMPLE_BRANCH_STACK) &&
	       (a->branch_sample_type & ~KPMU_BRANCH_ALL ||
		!(a->branch_sample_type & ~KPMU_BRANCH_PLM));
}

static bool bad_regs_user(const struct kpmu_attr *a,
			  const struct kpmu_attr_limits *l)
{
	return has_sample(a, KPMU_SAMPLE_REGS_USER) && regs_bad(a->sample_regs_user);
}

static bool bad_regs_intr(const struct kpmu_attr *a,
			  const struct kpmu_attr_limits *l)
{
	return has_sample(a, KPMU_SAMPLE_REGS_INTR) && regs_bad(a->sample_regs_intr);
}

static bool bad_stack_size(const struct kpmu_attr *a,
			   const struct kpmu_attr_limits *l)
{
	return has_sample(a, KPMU_SAMPLE_STACK_USER) &&
	       (a->sample_stack_user >= USHRT_MAX || a->sample_stack_user % 8);
}

static bool has_two_weights(const struct kpmu_attr *a,
			    const struct kpmu_attr_limits *l)
{
	return has_sample(a, KPMU_SAMPLE_WEIGHT) &&
	       has_sample(a, KPMU_SAMPLE_WEIGHT_STRUCT);
}

static bool bad_frequency(const struct kpmu_attr *a,
			  const struct kpmu_attr_limits *l)
{
	return a->flags & KPMU_ATTR_FREQ && a->sample_freq > l->max_rate;
}

static bool bad_period(const struct kpmu_attr *a,
		       const struct kpmu_attr_limits *l)
{
	return !(a->flags & KPMU_ATTR_FREQ) && a->sample_period >> 63;
}

static bool bad_max_stack(const struct kpmu_attr *a,
			  const struct kpmu_attr_limits *l)
{
	return has_sample(a, KPMU_SAMPLE_CALLCHAIN) && a->sample_max_stack > l->max_stack;
}

static bool is_counter(const struct kpmu_attr *a)
{
	return a->type == KPMU_TYPE_HARDWARE || a->type == KPMU_TYPE_HW_CACHE ||
	       a->type == KPMU_TYPE_RAW;
}

/* Whether or not sample_type selects registers; the source of counters has a rule of its own */
static bool has_extended_regs(const struct kpmu_attr *a,
			      const struct kpmu_attr_limits *l)
{
	return (a->sample_regs_user | a->sample_regs_intr) & REGS_EXTENDED && !is_counter(a);
}

/* The source of the CPU's counters refuses aux_output before this, with its own error */
static bool counter_output(const struct kpmu_attr *a)
{
	return a->flags & KPMU_ATTR_AUX_OUTPUT &&
	       (a->type == KPMU_TYPE_HARDWARE || a->type == KPMU_TYPE_HW_CACHE ||
		a->type == KPMU_TYPE_RAW);
}

static bool bad_aux_output(const struct kpmu_attr *a,
			   const struct kpmu_attr_limits *l)
{
	if (!(a->flags & KPMU_ATTR_AUX_OUTPUT) || counter_output(a))
		return false;
	return !l->aux_output || a->aux_action & (KPMU_AUX_PAUSE | KPMU_AUX_RESUME);
}

static bool has_two_aux_uses(const struct kpmu_attr *a, const struct kpmu_attr_limits *l)
{
	return a->flags & KPMU_ATTR_AUX_OUTPUT && a->aux_sample_size;
}

static bool bad_aux_start_paused(const struct kpmu_attr *a,
				 const struct kpmu_attr_limits *l)
{
	return a->aux_action & KPMU_AUX_START_PAUSED && !l->aux &&
	       !counter_output(a);
}

static bool bad_aux_pause_resume(const struct kpmu_attr *a,
				 const struct kpmu_attr_limits *l)
{
	return a->aux_action & KPMU_AUX_PAUSE && a->aux_action & KPMU_AUX_RESUME;
}

static bool bad_defer(const struct kpmu_attr *a, const struct kpmu_attr_limits *l)
{
	return a->flags & (KPMU_ATTR_DEFER_CALLCHAIN | KPMU_ATTR_DEFER_OUTPUT) && !l->defers;
}

static bool bad_aux_group(const struct kpmu_attr *a,
			  const struct kpmu_attr_limits *l)
{
	return (a->aux_action & (KPMU_AUX_PAUSE | KPMU_AUX_RESUME) ||
		a->aux_sample_size ||
		(a->flags & KPMU_ATTR_AUX_OUTPUT && !counter_output(a))) && !l->aux_leader;
}

/* The count is that of one task, which only SAMPLE_TID identifies */
static bool bad_inherited_read(const struct kpmu_attr *a,
			       const struct kpmu_attr_limits *l)
{
	return a->flags & KPMU_ATTR_INHERIT && has_sample(a, KPMU_SAMPLE_READ) &&
	       !has_sample(a, KPMU_SAMPLE_TID);
}

struct rule {
	bool (*broken)(const struct kpmu_attr *attr,
		       const struct kpmu_attr_limits *limits);
	int err;
	const char *why;
};

static const struct rule shape_rules[] = {
	{ bad_flags, -EINVAL, "reserved bits are set" },
	{ bad_sample_bits, -EINVAL, "unknown sample_type bits" },
	{ bad_format_bits, -EINVAL, "unknown read_format bits" },
	{ bad_branch_bits, -EINVAL, "branch_sample_type is empty or has unknown bits" },
	{ bad_regs_user, -EINVAL,
	  "sample_regs_user names no register, or unknown ones" },
	{ bad_stack_size, -EINVAL,
	  "sample_stack_user must be a multiple of 8 below 65535" },
	{ bad_regs_intr, -EINVAL,
	  "sample_regs_intr names no register, or unknown ones" },
	{ has_two_weights, -EINVAL, "WEIGHT and WEIGHT_STRUCT together" },
};

static const struct rule limit_rules[] = {
	{ bad_frequency, -EINVAL, "sample_freq above perf_event_max_sample_rate" },
	{ bad_period, -EINVAL, "sample_period has bit 63 set" },
};

static const struct rule family_rules[] = {
	{ bad_inherited_read, -EINVAL, "inherit and SAMPLE_READ without SAMPLE_TID" },
};

static const struct rule support_rules[] = {
	{ bad_defer, -EOPNOTSUPP, "this kernel does not unwind user stacks later" },
	{ has_extended_regs, -EOPNOTSUPP, "no extended registers on this PMU" },
	{ bad_aux_output, -EOPNOTSUPP, "this PMU writes no AUX data" },
	{ bad_aux_pause_resume, -EINVAL, "aux_pause and aux_resume together" },
	{ bad_aux_start_paused, -EOPNOTSUPP, "this PMU cannot start paused" },
};

static const struct rule late_rules[] = {
	{ bad_max_stack, -EOVERFLOW, "sample_max_stack above perf_event_max_stack" },
	{ bad_aux_group, -EINVAL, "needs an AUX event as group leader" },
	{ has_two_aux_uses, -EINVAL, "aux_output and aux_sample_size together" },
};

static const struct {
	const struct rule *rules;
	size_t n;
} phases[] = {
	[KPMU_ATTR_SHAPE] = { shape_rules, ARRAY_SIZE(shape_rules) },
	[KPMU_ATTR_LIMITS] = { limit_rules, ARRAY_SIZE(limit_rules) },
	[KPMU_ATTR_FAMILY] = { family_rules, ARRAY_SIZE(family_rules) },
	[KPMU_ATTR_SUPPORT] = { support_rules, ARRAY_SIZE(support_rules) },
	[KPMU_ATTR_LATE] = { late_rules, ARRAY_SIZE(late_rules) },
};

static bool flag_broken(const struct flag_row *row, u64 flags)
{
	return (flags & row->needs) != row->needs || flags & row->excludes;
}

/**
 * kpmu_attr_is_plain() - does no rule apply to an attr?
 * @a: the attr
 *
 * True for most events; kpmu_attr_check() can be skipped then.
 *
 * Context: any.
 * Return: true if kpmu_attr_check() is known to succeed in all phases.
 */
bool kpmu_attr_is_plain(const struct kpmu_attr *a)
{
	const u64 harmless = KPMU_SAMPLE_IP | KPMU_SAMPLE_TID | KPMU_SAMPLE_TIME |
			     KPMU_SAMPLE_ID | KPMU_SAMPLE_CPU |
			     KPMU_SAMPLE_PERIOD | KPMU_SAMPLE_IDENTIFIER;

	return !(a->sample_type & ~harmless) && !a->sample_period &&
	       !(a->flags & (FLAGS_WITH_RULES | KPMU_ATTR_AUX_OUTPUT |
			     ~ATTR_FLAGS_ALL)) &&
	       !(a->read_format & ~KPMU_FORMAT_ALL) && !a->reserved_2 &&
	       !a->aux_action && !a->aux_sample_size && !a->sample_regs_user &&
	       !a->sample_regs_intr;
}

/**
 * kpmu_attr_check() - check an attr by itself
 * @attr: as copied from user space
 * @limits: limits set by sysctls, and AUX support; may be NULL for KPMU_ATTR_SHAPE
 * @phase: which rules; callers check the phases in order, so that the first error
 *	is the one that the kernel's perf returns
 * @why: set to the reason of an error
 *
 * Context: any.  perf_event_open(2), "ERRORS".
 * Return: 0, -EINVAL, -EOPNOTSUPP or -EOVERFLOW.
 */
int kpmu_attr_check(const struct kpmu_attr *attr,
		    const struct kpmu_attr_limits *limits,
		    enum kpmu_attr_phase phase, const char **why)
{
	const struct rule *r = phases[phase].rules;
	const struct rule *end = r + phases[phase].n;
	u64 bits = phase == KPMU_ATTR_SHAPE ? attr->flags & FLAGS_WITH_RULES : 0;

	for (; r < end; r++) {
		if (r->broken(attr, limits)) {
			*why = r->why;
			return r->err;
		}
	}
	for (; bits; bits &= bits - 1) {
		const struct flag_row *row = &flag_rows[__builtin_ctzll(bits)];

		if (flag_broken(row, attr->flags)) {
			*why = row->name;
			return -EINVAL;
		}
	}
	return 0;
}
