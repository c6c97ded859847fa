/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Reading an event from user space without a system call.
 *
 * Map the event's fd (one page with PROT_READ is enough), then call
 * kpmu_read_self() in the task that is counted, or on the CPU that is.  User
 * pages of the kernel's own perf work as well.  C11 and C++, x86-64.
 *
 *	struct perf_event_mmap_page *page =
 *		mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
 *	struct kpmu_value v;
 *
 *	if (kpmu_read_self(page, &v) < 0)
 *		... use read(fd, ...)
 */
#ifndef _UAPI_LINUX_KPMU_READ_H
#define _UAPI_LINUX_KPMU_READ_H

#include <linux/perf_event.h>
#include <linux/types.h>

/* Executed at each retry of the read loop; may be defined before the include */
#ifndef KPMU_READ_RETRY
#define KPMU_READ_RETRY()
#endif

/**
 * struct kpmu_value - the values that read(2) would return
 * @value: the count
 * @enabled: time that the event was enabled, ns
 * @running: time that it was on a counter, ns
 */
struct kpmu_value {
	__u64 value;
	__u64 enabled;
	__u64 running;
};

/* A compiler barrier suffices: x86 does not reorder loads */
#define __kpmu_barrier()	__asm__ __volatile__("" : : : "memory")
#define __kpmu_load(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)

/**
 * __kpmu_rdtsc() - read the time stamp counter
 *
 * SDM vol. 2, RDTSC.
 *
 * Context: user space, not under PR_TSC_SIGSEGV.
 * Return: the counter, in TSC cycles.
 */
static inline __u64 __kpmu_rdtsc(void)
{
	__u32 lo, hi;

	__asm__ __volatile__("rdtsc" : "=a" (lo), "=d" (hi));
	return lo | (__u64)hi << 32;
}

/**
 * __kpmu_rdpmc() - read a counter
 * @counter: index of the counter as RDPMC takes it, i.e. index - 1 of the user page
 *
 * Requires cap_user_rdpmc of the user page; else the CPU raises #GP, which is a SIGSEGV.
 * SDM vol. 2, RDPMC.
 *
 * Context: user space, on the CPU where the event counts.
 * Return: the counter's value in the low pmc_width bits.
 */
static inline __u64 __kpmu_rdpmc(__u32 counter)
{
	__u32 lo, hi;

	__asm__ __volatile__("rdpmc" : "=a" (lo), "=d" (hi) : "c" (counter));
	return lo | (__u64)hi << 32;
}

/**
 * kpmu_tsc_to_ns() - convert a time stamp counter to ns
 * @cyc: value of the counter
 * @mult: time_mult of the page
 * @shift: time_shift of the page
 *
 * Add time_zero (with cap_user_time_zero) to get the clock of the time stamps in
 * records.
 *
 * Return: the time in ns.
 */
static inline __u64 kpmu_tsc_to_ns(__u64 cyc, __u32 mult, __u16 shift)
{
	__u64 quot = cyc >> shift, rem = cyc & (((__u64)1 << shift) - 1);

	return quot * mult + ((rem * mult) >> shift);
}

/**
 * kpmu_read_self() - read an event of the calling task or of this CPU
 * @page: user page of the event
 * @v: set to the count and both times.  With cap_user_time the times are current,
 *	else they are those of the page's last update
 *
 * A disabled event, and one that waits for a counter, can be read too: the value
 * is the one from when it last counted.
 *
 * Return: 0; -1 if read(2) must be used.
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
		/* Bits are tested by number: a bit field has no address to load from */
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
