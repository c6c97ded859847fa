/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel definitions for the module's files that are also built in user space */
#ifndef KPMU_UNIT_SHIM_H
#define KPMU_UNIT_SHIM_H

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int32_t s32;
typedef int64_t s64;

#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define GENMASK(h, l)	GENMASK_ULL(h, l)
#define GENMASK_ULL(h, l) (~0ULL >> (63 - (h)) & ~0ULL << (l))
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define S64_MAX		INT64_MAX
#define NSEC_PER_SEC	1000000000L
#define min(a, b)	((a) < (b) ? (a) : (b))
#define max(a, b)	((a) > (b) ? (a) : (b))
#define clamp(x, lo, hi) min(max(x, lo), hi)
#define clamp_t(type, x, lo, hi) clamp((type)(x), (type)(lo), (type)(hi))
#define barrier()	__asm__ volatile("" ::: "memory")

/* Position of the highest bit, counted from 1; 0 for 0 */
static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

/* Not atomic: there is one CPU, and tests emulate an interrupt by a function call */
typedef struct { u64 v; } local64_t;

#define local64_read(l)		((l)->v)
#define local64_set(l, n)	((l)->v = (n))
#define local64_add(n, l)	((l)->v += (n))
#define local64_sub(n, l)	((l)->v -= (n))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, val)	(*(volatile __typeof__(x) *)&(x) = (val))
/* Pairs with the load at the reader, as in the kernel */
#define smp_store_release(p, val) __atomic_store_n(p, val, __ATOMIC_RELEASE)
#define unlikely(x)		__builtin_expect(!!(x), 0)

static inline u64 local64_xchg(local64_t *l, u64 val)
{
	u64 old = l->v;

	l->v = val;
	return old;
}

static inline u64 local64_cmpxchg(local64_t *l, u64 old, u64 val)
{
	u64 now = l->v;

	if (now == old)
		l->v = val;
	return now;
}

/* The fields of the module's struct that kernel/source/period.h uses */
struct kpmu_hw {
	local64_t count;
	u64 period;
	u64 next;
};

/* If a test sets it, called wherever a writer of the ring can be interrupted */
__attribute__((weak)) void (*unit_ring_point)(void);
#define RING_POINT() do {						\
	if (unit_ring_point)						\
		unit_ring_point();					\
} while (0)

#endif
