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

/* Not atomic: there is one CPU, and tests emulate an interrupt by a function call */
typedef struct { u64 v; } local64_t;

#define local64_read(l)		((l)->v)
#define local64_add(n, l)	((l)->v += (n))
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

/* If a test sets it, called wherever a writer of the ring can be interrupted */
extern void (*unit_ring_point)(void) __attribute__((weak));
#define RING_POINT() do {						\
	if (&unit_ring_point && unit_ring_point)			\
		unit_ring_point();					\
} while (0)

/* xorshift64: the same numbers on every machine */
static inline u64 unit_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
