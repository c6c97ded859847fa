/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a CPU has its interrupts off, in instructions, so that it does not matter how fast
 * the machine is: a sample every IRQS_PERIOD instructions of the kernel, by NMI.
 */
#ifndef KPMU_TEST_IRQS_H
#define KPMU_TEST_IRQS_H

#include "event.h"
#include "ring.h"

#define IRQS_PERIOD	20000

/* Of CPU 0, off; its ring is mapped */
static inline int irqs_event(struct ring *r)
{
	static struct perf_event_attr a;	/* the ring keeps its address */
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

/* The most samples in a row with interrupts off; how many there were */
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
