/* SPDX-License-Identifier: GPL-2.0-only */
/* The holder of the counters of a PMU. */
#ifndef KPMU_HOLDER_H
#define KPMU_HOLDER_H

/* The numbers are those of KPMU_HOLDER_* */
enum kpmu_holder {
	KPMU_HELD_BY_NONE,
	KPMU_HELD_BY_EVENTS,
	KPMU_HELD_BY_KERNEL,
	KPMU_HELD_BY_WATCHDOG,
	KPMU_HELD_BY_VM,
	KPMU_HELD_BY_OTHER,
};

#endif
