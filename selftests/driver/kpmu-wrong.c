// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver with mistakes, which kpmu must refuse, each selected by a module parameter; no template.
 *
 * With fault=N the PMU is one that kpmu_register_pmu() must not accept.  Without it the PMU is
 * registered, under the name @name and with @counters counters.  Its event 0 counts nothing, and
 * .init of the others sets what it must not set.  With more=N as many other PMUs without counters are
 * registered after it.
 */
#define pr_fmt(fmt) "kpmu-wrong: " fmt

#include <linux/errno.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "abi/attr.h"
#include "source/pmu.h"

static int fault;
module_param(fault, int, 0444);
MODULE_PARM_DESC(fault, "what is wrong with the PMU; 0: nothing");

static char *name = "wrong";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "the name of the PMU");

static int counters;
module_param(counters, int, 0444);
MODULE_PARM_DESC(counters, "the number of its counters");

static int more;
module_param(more, int, 0444);
MODULE_PARM_DESC(more, "the number of other PMUs");

struct other {
	struct kpmu_pmu pmu;
	char name[16];
};

static struct other *others;
static int nr_others;

/* Values of attr.config */
enum { RIGHT, SET_SEL, SET_ALLOWED, SET_EXTRA };

static int wrong_init(struct kpmu_hw *hw, const struct kpmu_attr *attr, const char **why)
{
	switch (attr->config) {
	case SET_SEL:
		hw->sel = 1;
		break;
	case SET_ALLOWED:
		hw->allowed = 1u << counters;
		break;
	case SET_EXTRA:
		hw->extra_reg = 1;
		break;
	}
	return 0;
}

static u64 wrong_read(struct kpmu_hw *hw)
{
	return local64_read(&hw->count);
}

static void wrong_start(struct kpmu_hw *hw)
{
}

static u64 wrong_ahead(struct kpmu_hw *hw)
{
	return NSEC_PER_SEC;
}

static u32 wrong_trace(struct kpmu_hw *hw, const struct kpmu_hit *hit, void *to)
{
	return 0;
}

static struct kpmu_source source = {
	.name = "wrong",
	.owner = THIS_MODULE,
	.init = wrong_init,
	.start = wrong_start,
	.stop = wrong_start,
	.read = wrong_read,
	.ahead = wrong_ahead,
	.set_period = kpmu_pmu_set_period,
};

static struct kpmu_pmu pmu = {
	.source = &source,
};

static void break_source(void)
{
	switch (fault) {
	case 1:
		source.owner = NULL;
		break;
	case 2:
		source.init = NULL;
		break;
	case 3:
		source.read = NULL;
		break;
	case 4:
		source.start = NULL;
		break;
	case 5:
		source.stop = NULL;
		break;
	case 6:
		source.set_period = NULL;
		break;
	case 7:		/* neither .ahead nor .interrupt */
		source.ahead = NULL;
		break;
	case 8:		/* both */
		source.interrupt = true;
		break;
	case 9:
		source.nmi = true;
		break;
	case 10:
		source.clock = true;
		break;
	case 11:
		source.trace = wrong_trace;
		break;
	}
}

static void break_pmu(void)
{
	switch (fault) {
	case 12:
		pmu.name = NULL;
		break;
	case 13:
		pmu.source = NULL;
		break;
	case 14:
		pmu.counters = true;
		break;
	case 15:
		pmu.nr_counters = KPMU_PMU_COUNTERS + 1;
		break;
	case 16:	/* interrupts, but no counters */
		source.ahead = NULL;
		source.interrupt = true;
		pmu.nr_counters = 0;
		break;
	}
}

static void unregister_others(void)
{
	while (nr_others)
		kpmu_unregister_pmu(&others[--nr_others].pmu);
	kfree(others);
}

static int register_others(void)
{
	int err = 0;

	others = kcalloc(more, sizeof(*others), GFP_KERNEL);
	if (!others)
		return -ENOMEM;
	while (!err && nr_others < more) {
		struct other *o = &others[nr_others];

		snprintf(o->name, sizeof(o->name), "wrong%d", nr_others);
		o->pmu.name = o->name;
		o->pmu.source = &source;
		err = kpmu_register_pmu(&o->pmu);
		nr_others += !err;
	}
	if (err)
		unregister_others();
	return err;
}

static int __init wrong_init_module(void)
{
	int err;

	pmu.name = name;
	pmu.nr_counters = counters;
	break_source();
	break_pmu();
	err = kpmu_register_pmu(&pmu);
	if (err || !more)
		return err;
	err = register_others();
	if (err)
		kpmu_unregister_pmu(&pmu);
	return err;
}

static void __exit wrong_exit_module(void)
{
	unregister_others();
	kpmu_unregister_pmu(&pmu);
}

module_init(wrong_init_module);
module_exit(wrong_exit_module);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Mistakes in drivers of kpmu");
