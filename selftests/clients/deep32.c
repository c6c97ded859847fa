// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program of 32 bits without a C library, for call chains: each function has a section
 * of its own, at an address that the Makefile gives it, and a frame pointer.  The
 * innermost goes DEEP32_ROUNDS times round.
 */
#include "deep32.h"

#define STR_(x)	#x
#define STR(x)	STR_(x)

__asm__(
"	.text\n"
"	.globl	_start\n"
"_start:\n"
"	xor	%ebp, %ebp\n"
"	call	outer\n"
"	xor	%ebx, %ebx\n"
"	mov	$1, %eax\n"		/* exit */
"	int	$0x80\n"
"	.section .outer, \"ax\"\n"
"outer:\n"
"	push	%ebp\n"
"	mov	%esp, %ebp\n"
"	call	middle\n"
"	pop	%ebp\n"
"	ret\n"
"	.section .middle, \"ax\"\n"
"middle:\n"
"	push	%ebp\n"
"	mov	%esp, %ebp\n"
"	call	inner\n"
"	pop	%ebp\n"
"	ret\n"
"	.section .inner, \"ax\"\n"
"inner:\n"
"	push	%ebp\n"
"	mov	%esp, %ebp\n"
"	mov	$" STR(DEEP32_ROUNDS) ", %ecx\n"
"1:	dec	%ecx\n"
"	jnz	1b\n"
"	pop	%ebp\n"
"	ret\n"
"	.section .note.GNU-stack, \"\"\n"
);
