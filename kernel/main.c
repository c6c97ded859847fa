// SPDX-License-Identifier: GPL-2.0-only
/* Module init and exit. */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/module.h>

#include "check/check.h"
#include "compat/bpf_run.h"
#include "compat/ksym.h"
#include "compat/unwind.h"
#include "dev/dev.h"
#include "event/sampling.h"
#include "hooks/hooks.h"
#include "life/life.h"
#include "source/drivers.h"
#include "source/source.h"
#include "record/sample.h"
#include "record/side_band.h"
#include "ring/ring.h"
#include "sampling/follow.h"
#include "sampling/rate.h"
#include "sched/sched.h"

static int __init kpmu_init(void)
{
	int err;

	err = kpmu_ksym_init();
	if (err)
		pr_notice("no symbol lookup (%d): some features are off\n", err);
	kpmu_lsm_init();
	kpmu_checks_init();
	kpmu_owners_init();	/* before the hook of prctl(2), which any task may call */
	err = kpmu_events_init();
	if (err)
		return err;
	err = kpmu_ctxs_init(&kpmu_event_ops);
	if (err)
		goto err_events;
	err = kpmu_sources_init(kpmu_hit_report, kpmu_entity_time);
	if (err)
		goto err_ctxs;
	err = kpmu_hooks_init();
	if (err)
		goto err_sources;
	err = kpmu_sysctl_init();
	if (err)
		goto err_hooks;
	err = kpmu_sysfs_init();
	if (err)
		goto err_sysctl;
	kpmu_debugfs_init();
	kpmu_outputs_init();
	kpmu_rates_init();
	kpmu_on_overflow(kpmu_overflow);
	kpmu_drivers_init(kpmu_overflow, kpmu_counters_slots());
	kpmu_register_more();
	kpmu_event_files_init();
	err = kpmu_chardev_init();
	if (err)
		goto err_files;
	/* Nothing may fail from here on: the device may be open */
	kpmu_redirect_init();
	kpmu_bpf_links_init();
	kpmu_bpf_maps_init();
	kpmu_unwind_init(kpmu_side_deferred);
	kpmu_hooks_on_busy(kpmu_busy);
	return 0;

err_files:
	kpmu_event_files_exit();
	kpmu_unregister_more();
	kpmu_debugfs_exit();
	kpmu_sysfs_exit();
err_sysctl:
	kpmu_sysctl_exit();
err_hooks:
	kpmu_hooks_exit();
err_sources:
	kpmu_sources_exit();
err_ctxs:
	kpmu_ctxs_exit();
err_events:
	kpmu_events_exit();
	return err;
}

static void __exit kpmu_exit(void)
{
	kpmu_bpf_maps_exit();
	kpmu_bpf_links_exit();
	kpmu_redirect_exit();
	kpmu_chardev_exit();
	kpmu_event_files_exit();
	kpmu_unregister_more();
	kpmu_debugfs_exit();
	kpmu_sysfs_exit();
	kpmu_sysctl_exit();
	kpmu_hooks_exit();
	kpmu_busy_exit();
	kpmu_rates_exit();
	kpmu_traps_exit();
	kpmu_kept_free();
	kpmu_events_drain();
	kpmu_unwind_exit();
	kpmu_checks_exit();
	kpmu_drivers_exit();
	kpmu_sources_exit();
	kpmu_ctxs_exit();
	kpmu_events_exit();
	kpmu_rings_exit();
	kpmu_chains_exit();
	kpmu_bpf_exit();
	kpmu_lsm_exit();
}

module_init(kpmu_init);
module_exit(kpmu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The perf_event subsystem, rebuilt as a module");
