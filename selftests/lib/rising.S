/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work for tests of precise events: rows of equal instructions, between the ioctls that enable and
 * disable an event.  See precise.h.
 */
#include "control.inc"

#define N 4000

	.text
	.globl rising_counted, rising, rising_start, loads_counted, loads_start, stores_counted
	.globl locked_counted, pages_counted

/* N times inc %r8, of three bytes each: r8 is the number of instructions */
rising_counted:
	xor %r8d, %r8d
	control ENABLE
rising_start:
	.rept N
	inc %r8
	.endr
	control DISABLE
	ret

/* The same without ioctls */
rising:
	xor %r8d, %r8d
	.rept N
	inc %r8
	.endr
	ret

/* N loads of three bytes each, of consecutive words */
loads_counted:
	mov %rsi, %r8
	control ENABLE
	mov $N, %r10d
loads_start:
	mov (%r8), %r9
	lea 8(%r8), %r8
	dec %r10d
	jnz loads_start
	control DISABLE
	ret

/* N locked additions of consecutive words */
locked_counted:
	mov %rsi, %r8
	control ENABLE
	mov $N, %r10d
1:	lock addq $1, (%r8)
	lea 8(%r8), %r8
	dec %r10d
	jnz 1b
	control DISABLE
	ret

/* N loads, a page apart */
pages_counted:
	mov %rsi, %r8
	control ENABLE
	mov $N, %r10d
1:	mov (%r8), %r9
	lea 4096(%r8), %r8
	dec %r10d
	jnz 1b
	control DISABLE
	ret

stores_counted:
	mov %rsi, %r8
	control ENABLE
	mov $N, %r10d
1:	mov %r9, (%r8)
	lea 8(%r8), %r8
	dec %r10d
	jnz 1b
	control DISABLE
	ret

	.section .note.GNU-stack, "", @progbits
