// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit program without a C library, for call chains.  Each function is in its own section, at
 * an address that the Makefile sets, and has a frame pointer.  The innermost function runs a loop
 * of DEEP32_ROUNDS rounds.
 */
#include "deep32.h"

#define STR_(x)	#x
#define STR(x)	STR_(x)

__asm__(
"	.text\n"
"	.globl	_start\n"
"_start:\n"
"	lea	0xc000(%esp), %ebp\n"	/* a frame that is near the stack, but not mapped */
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
