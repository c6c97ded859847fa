/* SPDX-License-Identifier: GPL-2.0-only */
/* perf_event_attr as raw bytes: any size, and fields that the installed header lacks. */
#ifndef KPMU_TEST_ATTR_H
#define KPMU_TEST_ATTR_H

#include <stdint.h>
#include <string.h>

#include "event.h"

#define ATTR_NEWEST	PERF_ATTR_SIZE_VER9

union any_attr {
	struct perf_event_attr a;
	uint8_t byte[8192];
	uint32_t u32[2048];
	uint64_t u64[1024];
};

/* Byte offsets of the attr's fields, independent of the installed header */
enum {
	AT_TYPE = 0, AT_SIZE = 4, AT_CONFIG = 8, AT_PERIOD = 16,
	AT_SAMPLE_TYPE = 24, AT_READ_FORMAT = 32, AT_FLAGS = 40,
	AT_WAKEUP = 48, AT_BP_TYPE = 52, AT_CONFIG1 = 56, AT_CONFIG2 = 64,
	AT_BRANCH = 72, AT_REGS_USER = 80, AT_STACK_USER = 88, AT_CLOCKID = 92,
	AT_REGS_INTR = 96, AT_AUX_WATERMARK = 104, AT_MAX_STACK = 108,
	AT_RESERVED_2 = 110, AT_AUX_SAMPLE_SIZE = 112, AT_AUX_ACTION = 116,
	AT_SIG_DATA = 120, AT_CONFIG3 = 128, AT_CONFIG4 = 136,
};

/* Bit numbers in the flag word at AT_FLAGS; F_RESERVED is the first reserved bit */
enum {
	F_DISABLED = 0, F_INHERIT, F_PINNED, F_EXCLUSIVE, F_EXCLUDE_USER,
	F_EXCLUDE_KERNEL, F_EXCLUDE_HV, F_EXCLUDE_IDLE, F_MMAP, F_COMM, F_FREQ,
	F_INHERIT_STAT, F_ENABLE_ON_EXEC, F_TASK, F_WATERMARK, F_PRECISE_0,
	F_PRECISE_1, F_MMAP_DATA, F_SAMPLE_ID_ALL, F_EXCLUDE_HOST,
	F_EXCLUDE_GUEST, F_EXCLUDE_CALLCHAIN_KERNEL, F_EXCLUDE_CALLCHAIN_USER,
	F_MMAP2, F_COMM_EXEC, F_USE_CLOCKID, F_CONTEXT_SWITCH,
	F_WRITE_BACKWARD, F_NAMESPACES, F_KSYMBOL, F_BPF_EVENT, F_AUX_OUTPUT,
	F_CGROUP, F_TEXT_POKE, F_BUILD_ID, F_INHERIT_THREAD, F_REMOVE_ON_EXEC,
	F_SIGTRAP, F_DEFER_CALLCHAIN, F_DEFER_OUTPUT, F_RESERVED,
};

/* User-only instructions event that starts disabled, in an attr of the newest size */
static inline void any_init(union any_attr *x)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	memset(x, 0, sizeof(*x));
	memcpy(x, &a, sizeof(a));
	x->a.size = ATTR_NEWEST;
}

static inline void any_put(union any_attr *x, int at, int bytes, uint64_t val)
{
	memcpy(x->byte + at, &val, bytes);	/* little-endian: the low @bytes of @val */
}

static inline void any_flag(union any_attr *x, int bit)
{
	x->u64[AT_FLAGS / 8] |= 1ULL << bit;
}

/* Open @x on the calling task, any CPU: 0 (the event is closed again) or the errno */
static inline int any_errno(union any_attr *x)
{
	return ev_errno(&x->a, 0, -1, -1, 0);
}

#endif
