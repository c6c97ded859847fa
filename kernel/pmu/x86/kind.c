// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kinds of CPUs of a hybrid machine, each with a core PMU of its own.  None of these functions
 * is called on other machines.
 */
#include "../../abi/attr.h"
#include "x86.h"

#define FIRST	X86_CORE

/* The PMU with this attr.type, 0 if none has it */
static int kind_with(u32 type)
{
	int n;

	for (n = FIRST; n < KPMU_NR_KINDS; n++)
		if (x86_kinds[n].type == type)
			return n;
	return 0;
}

/* May the upper half of a generic config be ignored, as no PMU has that type? */
static bool is_unknown(u32 type)
{
	return type != KPMU_TYPE_SOFTWARE && type != KPMU_TYPE_TRACEPOINT &&
	       type != KPMU_TYPE_BREAKPOINT;
}

static bool is_generic(const struct kpmu_attr *attr)
{
	return attr->type == KPMU_TYPE_HARDWARE || attr->type == KPMU_TYPE_HW_CACHE;
}

static const struct kpmu_source *find_at(int n, int cpu)
{
	bool here = n && (cpu < 0 || cpumask_test_cpu(cpu, &x86_kinds[n].cpus));

	return here ? &x86_sources[n] : NULL;
}

/**
 * x86_find() - .find of struct kpmu_core
 * @attr: see struct kpmu_core
 * @cpu: see struct kpmu_core
 *
 * As upstream, the upper half of a generic config may have the type of a PMU.  Without it, or if no
 * PMU has that type, the event is one of the CPU's PMU; if it is not bound to a CPU, of the first PMU.
 *
 * Context: any.
 * Return: see struct kpmu_core.
 */
const struct kpmu_source *x86_find(const struct kpmu_attr *attr, int cpu)
{
	u32 type = attr->type;
	int n;

	if (!is_generic(attr))
		return find_at(kind_with(type), cpu);
	type = attr->config >> 32;
	n = kind_with(type);
	if (type && (n || !is_unknown(type)))
		return find_at(n, cpu);
	for (n = FIRST; n < KPMU_NR_KINDS; n++)
		if (find_at(n, cpu))
			return &x86_sources[n];
	return NULL;
}

/**
 * x86_cpu_kind() - .kind of struct kpmu_core
 * @cpu: see struct kpmu_core
 *
 * Context: any.
 * Return: see struct kpmu_core.
 */
u8 x86_cpu_kind(int cpu)
{
	return per_cpu(x86_cpu, cpu).kind;
}

/**
 * x86_has_type() - .has_type of struct kpmu_core
 * @type: see struct kpmu_core
 *
 * Context: any.
 * Return: see struct kpmu_core.
 */
bool x86_has_type(u32 type)
{
	return kind_with(type);
}
