/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures how long a CPU runs with interrupts disabled.  The unit is instructions, so that the
 * speed of the machine does not matter.  An event samples every IRQS_PERIOD kernel
 * instructions; its PMI is an NMI and also hits regions with interrupts disabled.
 */
#ifndef KPMU_TEST_IRQS_H
#define KPMU_TEST_IRQS_H

#include "event.h"
#include "ring.h"

#define IRQS_PERIOD	20000

/* Open the event on CPU 0, disabled, and map its ring buffer */
static inline int irqs_event(struct ring *r)
{
	static struct perf_event_attr a;
	int fd;

	a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	a.sample_period = IRQS_PERIOD;
	a.sample_type = PERF_SAMPLE_REGS_INTR;
	a.sample_regs_intr = 1 << 9;	/* PERF_REG_X86_FLAGS */
	fd = ev_must(&a, -1, 0, -1, 0);
	ring_map(r, fd, &a, 64);
	return fd;
}

/* Longest run of samples with interrupts disabled; *@samples is the number of all samples */
static inline int irqs_longest_off(struct ring *r, int *samples)
{
	static struct record rec;
	int n = 0, most = 0;

	*samples = 0;
	while (ring_find(r, &rec, PERF_RECORD_SAMPLE)) {
		++*samples;
		n = record_sample(r, &rec).intr_regs[0] & 0x200 ? 0 : n + 1;
		most = n > most ? n : most;
	}
	ring_consume(r);
	return most;
}

#endif
