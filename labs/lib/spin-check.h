/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the program spin is after a number of its instructions */
#ifndef LABS_SPIN_CHECK_H
#define LABS_SPIN_CHECK_H

#include "kernel.h"

/* The address of the next instruction after the first @done ones */
static inline u64 spin_ip(u64 done)
{
	/* MOV; then DEC has 2 bytes and JNZ 2 */
	if (!done)
		return SPIN_START;
	return SPIN_LOOP + (done - 1) % 2 * 2;
}

/* RCX then: each DEC has done its work */
static inline u64 spin_cx(u64 done)
{
	return SPIN_TIMES - done / 2;
}

#endif
