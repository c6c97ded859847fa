/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program with a known number of instructions: 2 SPIN_TIMES + 3.  It is linked at a fixed address,
 * SPIN_START of kernel.h.
 */
	.globl _start
_start:
	mov	$1000000, %ecx
loop:
	dec	%ecx
	jnz	loop
	mov	$60, %al		/* exit(0): the other registers of a new program are 0 */
	syscall
