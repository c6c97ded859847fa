// SPDX-License-Identifier: GPL-2.0-only
/* /proc/sys/kernel/kpmu: our twins of the perf_event_* files, same names. */
#include <linux/sysctl.h>

#include "../compat/compat.h"
#include "../event/event.h"
#include "../event/rate.h"
#include "../ring/ring.h"
#include "../sched/sched.h"
#include "dev.h"

/* A period that was long must not delay what is wanted now */
static int mux_interval(KPMU_SYSCTL_CONST struct ctl_table *table, int write,
			void *buf, size_t *len, loff_t *pos)
{
	unsigned int old = kpmu_mux_interval_ms;
	int err = proc_dointvec_minmax(table, write, buf, len, pos);

	if (!err && write && kpmu_mux_interval_ms != old)
		kpmu_rotate_restart();
	return err;
}

static struct ctl_table table[] = {
	{
		.procname = "perf_event_paranoid",
		.data = &kpmu_sysctl_paranoid,
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec,
	},
	{
		.procname = "perf_event_mlock_kb",
		.data = &kpmu_sysctl_mlock_kb,
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec,
	},
	{
		.procname = "perf_event_max_sample_rate",
		.data = &kpmu_sysctl_max_rate,
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec_minmax,
		.extra1 = SYSCTL_ONE,
	},
	{
		.procname = "perf_event_mux_interval_ms",
		.data = &kpmu_mux_interval_ms,
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = mux_interval,
		.extra1 = SYSCTL_ONE,
		.extra2 = SYSCTL_INT_MAX,
	},
	KPMU_SYSCTL_END
};

static struct ctl_table_header *header;

int __init kpmu_sysctl_init(void)
{
	header = register_sysctl("kernel/kpmu", table);
	return header ? 0 : -ENOMEM;
}

void kpmu_sysctl_exit(void)
{
	unregister_sysctl_table(header);
}
