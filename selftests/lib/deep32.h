/* SPDX-License-Identifier: GPL-2.0-only */
/* Layout and instruction count of the test program client_deep32. */
#ifndef KPMU_TEST_DEEP32_H
#define KPMU_TEST_DEEP32_H

#define DEEP32		"/tests/client_deep32"
#define DEEP32_ROUNDS	100000
#define DEEP32_INSNS	(2 * DEEP32_ROUNDS + 20)
/* Addresses of its functions, set by the Makefile; no function is longer than a page */
#define DEEP32_START	0x8100000
#define DEEP32_OUTER	0x8200000
#define DEEP32_MIDDLE	0x8300000
#define DEEP32_INNER	0x8400000

#endif
