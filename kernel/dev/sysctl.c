// SPDX-License-Identifier: GPL-2.0-only
/* /proc/sys/kernel/kpmu: counterparts of the perf_event_* files, with the same names. */
#include <linux/sysctl.h>

#include "../compat/compat.h"
#include "../event/sampling.h"
#include "../record/sample.h"
#include "../ring/ring.h"
#include "../sampling/rate.h"
#include "../sched/sched.h"
#include "dev.h"

/* A new interval takes effect at once, not after the old one has passed */
static int mux_interval(KPMU_SYSCTL_CONST struct ctl_table *table, int write,
			void *buf, size_t *len, loff_t *pos)
{
	unsigned int old = kpmu_mux_interval_ms;
	int err = proc_dointvec_minmax(table, write, buf, len, pos);

	if (!err && write && kpmu_mux_interval_ms != old)
		kpmu_rotate_restart();
	return err;
}

/* Fails with -EBUSY while an event has call chains */
static int chain_limit(KPMU_SYSCTL_CONST struct ctl_table *table, int write,
		       void *buf, size_t *len, loff_t *pos)
{
	struct ctl_table copy = *table;
	int value = *(int *)table->data, err;

	copy.data = &value;
	err = proc_dointvec_minmax(&copy, write, buf, len, pos);
	if (err || !write)
		return err;
	return kpmu_chains_limit(table->data, value);
}

static int rates(KPMU_SYSCTL_CONST struct ctl_table *table, int write,
		 void *buf, size_t *len, loff_t *pos)
{
	int err = proc_dointvec_minmax(table, write, buf, len, pos);

	if (!err && write)
		kpmu_rate_limits();
	return err;
}

/* A call chain of this length nearly fills a record (64 KiB) */
static int longest_chain = 8000;

#define ROW(name, value, handler, least, most) {			\
		.procname = name,					\
		.data = value,						\
		.maxlen = sizeof(int),					\
		.mode = 0644,						\
		.proc_handler = handler,				\
		.extra1 = least,					\
		.extra2 = most,						\
	}

static struct ctl_table table[] = {
	ROW("perf_event_paranoid", &kpmu_sysctl_paranoid,
	    proc_dointvec, NULL, NULL),
	ROW("perf_event_mlock_kb", &kpmu_sysctl_mlock_kb,
	    proc_dointvec, NULL, NULL),
	ROW("perf_event_max_sample_rate", &kpmu_sysctl_max_rate,
	    rates, SYSCTL_ONE, NULL),
	ROW("perf_cpu_time_max_percent", &kpmu_sysctl_cpu_time,
	    rates, SYSCTL_ZERO, SYSCTL_ONE_HUNDRED),
	ROW("perf_event_max_stack", &kpmu_sysctl_max_stack,
	    chain_limit, SYSCTL_ZERO, &longest_chain),
	ROW("perf_event_max_contexts_per_stack", &kpmu_sysctl_max_contexts,
	    chain_limit, SYSCTL_ZERO, SYSCTL_ONE_THOUSAND),
	ROW("perf_event_mux_interval_ms", &kpmu_mux_interval_ms,
	    mux_interval, SYSCTL_ONE, SYSCTL_INT_MAX),
	KPMU_SYSCTL_END
};

static struct ctl_table_header *header;

/**
 * kpmu_sysctl_init() - register the sysctls
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int __init kpmu_sysctl_init(void)
{
	header = register_sysctl("kernel/kpmu", table);
	return header ? 0 : -ENOMEM;
}

/**
 * kpmu_sysctl_exit() - unregister the sysctls
 *
 * Context: module exit, may sleep.
 */
void kpmu_sysctl_exit(void)
{
	unregister_sysctl_table(header);
}
