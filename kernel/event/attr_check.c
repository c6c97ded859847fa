// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is an attr sound in itself?  Tables, a row for each flag bit and each rule,
 * so that the manual can be ticked off against them.  No kernel services:
 * also built and tested in user space.
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
 * struct flag_row - a bit of the flag word
 * @bit: the bit or field
 * @name: its name in the manual
 * @needs: flags without which it makes no sense
 * @excludes: flags it contradicts
 * @later: not built yet; refused so that nobody waits for what never comes
 */
struct flag_row {
	u64 bit;
	const char *name;
	u64 needs;
	u64 excludes;
	bool later;
};

#define FLAG(b, n)	{ KPMU_ATTR_##b, n, 0, 0, false }
#define LATER(b, n)	{ KPMU_ATTR_##b, n, 0, 0, true }

static const struct flag_row flag_rows[] = {
	FLAG(DISABLED, "disabled"),
	LATER(INHERIT, "inherit"),
	FLAG(PINNED, "pinned"),
	FLAG(EXCLUSIVE, "exclusive"),
	FLAG(EXCLUDE_USER, "exclude_user"),
	FLAG(EXCLUDE_KERNEL, "exclude_kernel"),
	FLAG(EXCLUDE_HV, "exclude_hv"),
	FLAG(EXCLUDE_IDLE, "exclude_idle"),
	FLAG(MMAP, "mmap"),
	FLAG(COMM, "comm"),
	FLAG(FREQ, "freq"),
	FLAG(INHERIT_STAT, "inherit_stat"),
	{ KPMU_ATTR_ENABLE_ON_EXEC, "enable_on_exec", 0,
	  KPMU_ATTR_REMOVE_ON_EXEC, true },
	FLAG(TASK, "task"),
	FLAG(WATERMARK, "watermark"),
	FLAG(PRECISE, "precise_ip"),
	FLAG(MMAP_DATA, "mmap_data"),
	FLAG(SAMPLE_ID_ALL, "sample_id_all"),
	FLAG(EXCLUDE_HOST, "exclude_host"),
	FLAG(EXCLUDE_GUEST, "exclude_guest"),
	FLAG(EXCLUDE_CALLCHAIN_KERNEL, "exclude_callchain_kernel"),
	FLAG(EXCLUDE_CALLCHAIN_USER, "exclude_callchain_user"),
	FLAG(MMAP2, "mmap2"),
	FLAG(COMM_EXEC, "comm_exec"),
	FLAG(USE_CLOCKID, "use_clockid"),
	FLAG(CONTEXT_SWITCH, "context_switch"),
	FLAG(WRITE_BACKWARD, "write_backward"),
	FLAG(NAMESPACES, "namespaces"),
	FLAG(KSYMBOL, "ksymbol"),
	FLAG(BPF_EVENT, "bpf_event"),
	FLAG(AUX_OUTPUT, "aux_output"),
	FLAG(CGROUP, "cgroup"),
	FLAG(TEXT_POKE, "text_poke"),
	FLAG(BUILD_ID, "build_id"),
	{ KPMU_ATTR_INHERIT_THREAD, "inherit_thread", KPMU_ATTR_INHERIT, 0, true },
	{ KPMU_ATTR_REMOVE_ON_EXEC, "remove_on_exec", 0,
	  KPMU_ATTR_ENABLE_ON_EXEC, true },
	{ KPMU_ATTR_SIGTRAP, "sigtrap", KPMU_ATTR_REMOVE_ON_EXEC, 0, true },
	LATER(DEFER_CALLCHAIN, "defer_callchain"),
	LATER(DEFER_OUTPUT, "defer_output"),
};

#define ATTR_FLAGS_ALL	GENMASK_ULL(KPMU_ATTR_NR_FLAGS - 1, 0)

/* Registers of arch/x86's perf_regs numbering that a sample can have */
#define REGS_64		(GENMASK_ULL(23, 16) | GENMASK_ULL(11, 0))
#define REGS_EXTENDED	GENMASK_ULL(63, 32)

static bool regs_bad(u64 mask)
{
	return !mask || mask & ~(REGS_64 | REGS_EXTENDED);
}

static bool has(const struct kpmu_attr *a, u64 sample)
{
	return a->sample_type & sample;
}

/* The rules, each true for an attr that breaks it */
static bool reserved_flags(const struct kpmu_attr *a,
			   const struct kpmu_attr_limits *l)
{
	return a->flags & ~ATTR_FLAGS_ALL || a->reserved_2 ||
	       a->aux_action & ~KPMU_AUX_ACTION_ALL;
}

static bool sample_bits(const struct kpmu_attr *a,
			const struct kpmu_attr_limits *l)
{
	return a->sample_type & ~KPMU_SAMPLE_ALL;
}

static bool format_bits(const struct kpmu_attr *a,
			const struct kpmu_attr_limits *l)
{
	return a->read_format & ~KPMU_FORMAT_ALL;
}

static bool branch_bits(const struct kpmu_attr *a,
			const struct kpmu_attr_limits *l)
{
	return has(a, KPMU_SAMPLE_BRANCH_STACK) &&
	       (a->branch_sample_type & ~KPMU_BRANCH_ALL ||
		!(a->branch_sample_type & ~KPMU_BRANCH_PLM));
}

static bool regs_user_bits(const struct kpmu_attr *a,
			   const struct kpmu_attr_limits *l)
{
	return has(a, KPMU_SAMPLE_REGS_USER) && regs_bad(a->sample_regs_user);
}

static bool regs_intr_bits(const struct kpmu_attr *a,
			   const struct kpmu_attr_limits *l)
{
	return has(a, KPMU_SAMPLE_REGS_INTR) && regs_bad(a->sample_regs_intr);
}

static bool stack_size(const struct kpmu_attr *a,
		       const struct kpmu_attr_limits *l)
{
	return has(a, KPMU_SAMPLE_STACK_USER) &&
	       (a->sample_stack_user >= USHRT_MAX || a->sample_stack_user % 8);
}

static bool two_weights(const struct kpmu_attr *a,
			const struct kpmu_attr_limits *l)
{
	return has(a, KPMU_SAMPLE_WEIGHT) && has(a, KPMU_SAMPLE_WEIGHT_STRUCT);
}

static bool frequency(const struct kpmu_attr *a,
		      const struct kpmu_attr_limits *l)
{
	return a->flags & KPMU_ATTR_FREQ && a->sample_freq > l->max_rate;
}

static bool period(const struct kpmu_attr *a, const struct kpmu_attr_limits *l)
{
	return !(a->flags & KPMU_ATTR_FREQ) && a->sample_period >> 63;
}

static bool max_stack(const struct kpmu_attr *a,
		      const struct kpmu_attr_limits *l)
{
	return has(a, KPMU_SAMPLE_CALLCHAIN) && a->sample_max_stack > l->max_stack;
}

static bool extended_regs(const struct kpmu_attr *a,
			  const struct kpmu_attr_limits *l)
{
	return (has(a, KPMU_SAMPLE_REGS_USER) &&
		a->sample_regs_user & REGS_EXTENDED) ||
	       (has(a, KPMU_SAMPLE_REGS_INTR) &&
		a->sample_regs_intr & REGS_EXTENDED);
}

static bool aux_output(const struct kpmu_attr *a,
		       const struct kpmu_attr_limits *l)
{
	return a->flags & KPMU_ATTR_AUX_OUTPUT;
}

static bool aux_start_paused(const struct kpmu_attr *a,
			     const struct kpmu_attr_limits *l)
{
	return a->aux_action & KPMU_AUX_START_PAUSED;
}

static bool aux_group(const struct kpmu_attr *a,
		      const struct kpmu_attr_limits *l)
{
	return a->aux_action & (KPMU_AUX_PAUSE | KPMU_AUX_RESUME) ||
	       has(a, KPMU_SAMPLE_AUX);
}

static bool branch_stack(const struct kpmu_attr *a,
			 const struct kpmu_attr_limits *l)
{
	return has(a, KPMU_SAMPLE_BRANCH_STACK);
}

static bool sampling(const struct kpmu_attr *a, const struct kpmu_attr_limits *l)
{
	return a->sample_period;
}

static const struct rule {
	enum kpmu_attr_phase phase;
	bool (*broken)(const struct kpmu_attr *attr,
		       const struct kpmu_attr_limits *limits);
	int err;
	const char *why;
} rules[] = {
	{ KPMU_ATTR_SHAPE, reserved_flags, -EINVAL, "reserved bits are set" },
	{ KPMU_ATTR_SHAPE, sample_bits, -EINVAL, "unknown sample_type bits" },
	{ KPMU_ATTR_SHAPE, format_bits, -EINVAL, "unknown read_format bits" },
	{ KPMU_ATTR_SHAPE, branch_bits, -EINVAL,
	  "branch_sample_type selects nothing, or too much" },
	{ KPMU_ATTR_SHAPE, regs_user_bits, -EINVAL,
	  "sample_regs_user names no register, or unknown ones" },
	{ KPMU_ATTR_SHAPE, stack_size, -EINVAL,
	  "sample_stack_user must be a multiple of 8 below 65535" },
	{ KPMU_ATTR_SHAPE, regs_intr_bits, -EINVAL,
	  "sample_regs_intr names no register, or unknown ones" },
	{ KPMU_ATTR_SHAPE, two_weights, -EINVAL,
	  "WEIGHT and WEIGHT_STRUCT together" },
	{ KPMU_ATTR_LIMITS, frequency, -EINVAL,
	  "sample_freq above perf_event_max_sample_rate" },
	{ KPMU_ATTR_LIMITS, period, -EINVAL, "sample_period has bit 63 set" },
	{ KPMU_ATTR_SUPPORT, extended_regs, -EOPNOTSUPP,
	  "no extended registers on this PMU" },
	{ KPMU_ATTR_SUPPORT, aux_output, -EOPNOTSUPP,
	  "this PMU writes no AUX data" },
	{ KPMU_ATTR_SUPPORT, aux_start_paused, -EOPNOTSUPP,
	  "this PMU cannot start paused" },
	{ KPMU_ATTR_SUPPORT, aux_group, -EINVAL,
	  "needs an AUX event as group leader" },
	{ KPMU_ATTR_SUPPORT, branch_stack, -EOPNOTSUPP,
	  "this PMU records no branches" },
	{ KPMU_ATTR_SUPPORT, max_stack, -EOVERFLOW,
	  "sample_max_stack above perf_event_max_stack" },
	{ KPMU_ATTR_SUPPORT, sampling, -EOPNOTSUPP, "sampling is not built yet" },
};

static bool flag_broken(const struct flag_row *row, u64 flags,
			enum kpmu_attr_phase phase)
{
	if (!(flags & row->bit))
		return false;
	if (phase == KPMU_ATTR_SHAPE)
		return (flags & row->needs) != row->needs || flags & row->excludes;
	return phase == KPMU_ATTR_SUPPORT && row->later;
}

/**
 * kpmu_attr_check() - is an attr sound in itself?
 * @attr: as copied from the user
 * @limits: what sysctls allow
 * @phase: which rules; a caller goes through them in order, so that the first
 *	error found is the one that clients of the kernel's perf know
 * @why: set to what is wrong with it, in words
 *
 * Context: any.  perf_event_open(2), "ERRORS".
 * Return: 0, -EINVAL, -EOPNOTSUPP or -EOVERFLOW.
 */
int kpmu_attr_check(const struct kpmu_attr *attr,
		    const struct kpmu_attr_limits *limits,
		    enum kpmu_attr_phase phase, const char **why)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].phase == phase && rules[i].broken(attr, limits)) {
			*why = rules[i].why;
			return rules[i].err;
		}
	}
	for (i = 0; i < ARRAY_SIZE(flag_rows); i++) {
		if (flag_broken(&flag_rows[i], attr->flags, phase)) {
			*why = flag_rows[i].name;
			return phase == KPMU_ATTR_SHAPE ? -EINVAL : -EOPNOTSUPP;
		}
	}
	return 0;
}

/**
 * kpmu_attr_flag_name() - the manual's name of a flag bit
 * @bit: 0 to 63
 *
 * Return: the name, NULL for a reserved bit.  For tests that walk the table.
 */
const char *kpmu_attr_flag_name(int bit)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(flag_rows); i++)
		if (flag_rows[i].bit & BIT_ULL(bit))
			return flag_rows[i].name;
	return NULL;
}
