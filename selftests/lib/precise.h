/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Precise events.  The work is a row of instructions of known addresses (rising.S), so that the
 * instruction of each sample follows from the period.  On the PMU model, as the hardware does it: the
 * counter overflows, and the next event causes the record, whose counting begins at 0.  A counter
 * with precise distribution causes it by the overflow itself.
 */
#ifndef KPMU_TEST_PRECISE_H
#define KPMU_TEST_PRECISE_H

#include <cpuid.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "switches.h"

#define N		4000
#define PERIOD		397
#define INC_LEN		3

#define RAW_INSNS	0x00c0
#define RAW_PREC_DIST	0x01c0
#define RAW_LATENCY	0x01cd
#define RAW_LATENCY_AUX	0x8203

#define EXACT_IP	(1 << 14)	/* PERF_RECORD_MISC_EXACT_IP */
#define REGS_R8		16	/* PERF_REG_X86_R8 and so on */
#define REGS_XMM0	32

extern const char rising_start[], loads_start[];

void rising_counted(int fd);
void rising(void);
void loads_counted(int fd, const void *from);
void stores_counted(int fd, void *to);
void locked_counted(int fd, void *to);
void pages_counted(int fd, const void *from);

/* Native perf shows the level only while an event has reserved the buffers, so try */
static inline bool has_precise(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_INSNS);

	a.sample_period = 100000;
	a.precise_ip = 2;
	return !ev_errno(&a, 0, -1, -1, 0);
}

/*
 * Does the PMU model have what CPUID tells by two bits?  Then kpmu must have it: a test that was skipped if it
 * had not would miss that.
 */
static inline bool must_have(unsigned int leaf, unsigned int ecx, unsigned int edx)
{
	unsigned int a = 0, b, c = 0, d = 0;

	return exact() && !route_is_native() && __get_cpuid(leaf, &a, &b, &c, &d) &&
	       (c & ecx) == ecx && (d & edx) == edx;
}

/* 64-bit debug store: the model shows it if it has PEBS */
#define MUST_HAVE_PRECISE	must_have(1, 1U << 2, 1U << 21)

#define NEED_PRECISE() do {						\
	if (!MUST_HAVE_PRECISE && !has_precise())			\
		SKIP(return, "this CPU has no precise events");		\
} while (0)

/* Records of format 4, with registers XMM and branches */
static inline bool is_adaptive(void)
{
	return cpu_model() != CPU_SKYLAKE;
}

/* An event whose records wait in the buffer, if the fields @type allow that */
static inline struct perf_event_attr precise_attr(uint64_t raw, int level, uint64_t type)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, raw);

	no_throttle();
	a.sample_period = PERIOD;
	a.precise_ip = level;
	a.sample_type = PERF_SAMPLE_IP | type;
	return a;
}

/* The @n-th of the row, from 1 */
static inline uint64_t nth_inc(int n)
{
	return (uintptr_t)rising_start + INC_LEN * (n - 1);
}

/* Instructions from one sample to the next: on Ice Lake they are counted with precise distribution */
static inline int step_of(int level)
{
	switch (cpu_model()) {
	case CPU_ICELAKE:
		return PERIOD;
	case CPU_SPR:
		return PERIOD + (level < 3);
	default:
		return PERIOD + 1;
	}
}

struct seen {
	uint16_t misc;
	uint64_t ip, addr, data_src, weight, time, phys, page, reg;
	uint32_t pid, tid;
	bool branch_found;
};

#define MAX_SEEN	1024
static struct seen seen[MAX_SEEN];

/* Is the sample one of rising()? */
static inline bool in_rising(const struct seen *s)
{
	return s->ip - (uintptr_t)rising < INC_LEN * (N + 1);
}

static uint64_t branch_target;	/* looked for in the branch stacks */

static inline bool has_branch_to(const struct parts *p, uint64_t to)
{
	const uint64_t *b = p->branches;
	int i;

	for (i = 0; i < p->nr_branches; i++)
		if (b[3 * i + 1] == to)
			return true;
	return false;
}

/* All samples in the ring */
static inline int collect(struct ring *r)
{
	static struct record rec;
	int n = 0;

	while (n < MAX_SEEN && ring_find(r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts p = record_sample(r, &rec);

		seen[n++] = (struct seen){
			.misc = rec.head.misc, .ip = p.ip, .addr = p.addr, .pid = p.pid,
			.tid = p.tid, .time = p.time, .data_src = p.data_src,
			.weight = p.weight, .phys = p.phys_addr, .page = p.data_page,
			.reg = p.intr_abi ? p.intr_regs[0] : 0,
			.branch_found = has_branch_to(&p, branch_target),
		};
	}
	return n;
}

/* A task switch between an overflow and its record moves the sample */
#define TRIES	20

/* Samples of the row of instructions */
static inline int of_rising(const struct perf_event_attr *a)
{
	int n, fd, i;
	struct ring r;
	long before;

	for (i = 0; i < TRIES; i++) {
		fd = ev_must(a, 0, -1, -1, 0);
		ring_map(&r, fd, a, 64);
		before = switches();
		rising_counted(fd);
		n = collect(&r);
		ring_unmap(&r);
		close(fd);
		if (switches() == before)
			break;
	}
	return n;
}

#endif
