/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Reading one's own event without a system call.
 *
 * Map the event's fd (one page is enough, PROT_READ will do), then call
 * kpmu_read_self() in the task that is counted, or on the CPU that is.  Works
 * as well on pages of the kernel's own perf.  C11 and C++, x86-64.
 *
 *	struct perf_event_mmap_page *page =
 *		mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
 *	struct kpmu_value v;
 *
 *	if (kpmu_read_self(page, &v) < 0)
 *		... read(fd, ...) as ever
 */
#ifndef _UAPI_LINUX_KPMU_READ_H
#define _UAPI_LINUX_KPMU_READ_H

#include <linux/perf_event.h>
#include <linux/types.h>

/* Define it before the include to see how often the loop goes round again */
#ifndef KPMU_READ_RETRY
#define KPMU_READ_RETRY()
#endif

/**
 * struct kpmu_value - what read(2) would say
 * @value: the count
 * @enabled: ns that the event was enabled
 * @running: ns that it was on a counter
 */
struct kpmu_value {
	__u64 value;
	__u64 enabled;
	__u64 running;
};

/* The compiler keeps the order of what is before and after; x86 does anyway */
#define __kpmu_barrier()	__asm__ __volatile__("" : : : "memory")
#define __kpmu_load(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)

static inline __u64 __kpmu_rdtsc(void)
{
	__u32 lo, hi;

	__asm__ __volatile__("rdtsc" : "=a" (lo), "=d" (hi));
	return lo | (__u64)hi << 32;
}

static inline __u64 __kpmu_rdpmc(__u32 counter)
{
	__u32 lo, hi;

	__asm__ __volatile__("rdpmc" : "=a" (lo), "=d" (hi) : "c" (counter));
	return lo | (__u64)hi << 32;
}

/**
 * kpmu_tsc_to_ns() - a time stamp counter in ns
 * @cyc: the counter
 * @mult: time_mult of the page
 * @shift: time_shift of the page
 *
 * Add time_zero (if cap_user_time_zero) to get the clock of time stamps in
 * records.
 */
static inline __u64 kpmu_tsc_to_ns(__u64 cyc, __u32 mult, __u16 shift)
{
	__u64 quot = cyc >> shift, rem = cyc & (((__u64)1 << shift) - 1);

	return quot * mult + ((rem * mult) >> shift);
}

/**
 * kpmu_read_self() - read one's own event
 * @page: its user page
 * @v: set to the count and both times.  The times are those of this moment if
 *	the page has cap_user_time, else those of its last update
 *
 * An event that waits for a counter, or is disabled, has a value too: the one it
 * had when it last counted.
 *
 * Return: 0; -1 if the value has to be had by read(2).
 */
static inline int kpmu_read_self(const struct perf_event_mmap_page *page,
				 struct kpmu_value *v)
{
	__u64 caps, cyc = 0, offset = 0, ns;
	__u32 seq, index, mult = 0;
	__u16 shift = 0, width;
	__s64 pmc;

	for (;;) {
		seq = __kpmu_load(page->lock);
		__kpmu_barrier();
		caps = __kpmu_load(page->capabilities);
		index = __kpmu_load(page->index);
		v->enabled = __kpmu_load(page->time_enabled);
		v->running = __kpmu_load(page->time_running);
		v->value = __kpmu_load(page->offset);
		/* Bits by number: bit fields cannot be loaded by themselves */
		if (caps & (1u << 3)) {
			cyc = __kpmu_rdtsc();
			mult = __kpmu_load(page->time_mult);
			shift = __kpmu_load(page->time_shift);
			offset = __kpmu_load(page->time_offset);
		}
		if (caps & (1u << 2) && index) {
			width = __kpmu_load(page->pmc_width);
			pmc = (__s64)(__kpmu_rdpmc(index - 1) << (64 - width));
			v->value += (__u64)(pmc >> (64 - width));
		}
		__kpmu_barrier();
		if (!(seq & 1) && __kpmu_load(page->lock) == seq)
			break;
		KPMU_READ_RETRY();
	}
	if (caps & (1u << 3)) {
		ns = offset + kpmu_tsc_to_ns(cyc, mult, shift);
		v->enabled += ns;
		if (index)
			v->running += ns;
	}
	return caps & (1u << 2) ? 0 : -1;
}

#endif
