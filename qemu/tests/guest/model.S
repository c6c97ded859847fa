/* SPDX-License-Identifier: GPL-2.0-only */
/* More cases, for the model: see cases.S.  Only what test_model.c expects counts. */
#include "layout.h"

	.macro	CASE name
	.pushsection .rodata
7701:	.asciz	"\name"
	.popsection
	.pushsection .cases2, "a"
	.balign	8
	.quad	7701b
	.quad	7702f
	.long	0, 0, 0, 0, 0, 0
	.popsection
	.balign	64
7702:
	.endm

	.section .cases2, "a"
	.globl	model_start
	.balign	8
model_start:
	.text

CASE "64 KiB"
	movl	$1024, %ecx
1:	movq	(%rsi), %rax
	addq	$64, %rsi
	decl	%ecx
	jnz	1b
	int	$VEC_EXIT

CASE "TLB conflict"
	movl	$3, %edx
1:	movl	$5, %ecx
	movl	$DEMAND_RAM, %ebx
2:	movb	$1, (%rbx)
	addl	$16 * 4096, %ebx
	decl	%ecx
	jnz	2b
	decl	%edx
	jnz	1b
	int	$VEC_EXIT

CASE "nested calls"
	movl	$20, %ecx
	call	1f
	int	$VEC_EXIT
1:	decl	%ecx
	jz	2f
	call	1b
2:	ret

CASE "fxsave"
	fxsave	(%rdi)
	int	$VEC_EXIT

CASE "rep movs"
	movl	$4096, %ecx
	movl	$DEMAND_RAM, %esi
	movl	$DEMAND_RAM + 0x100000, %edi
	rep; movsb
	int	$VEC_EXIT

	.section .cases2, "a"
	.globl	model_end, long_case
model_end:
long_case:
CASE "long"
1:	addq	$1, %rax
	nop
	decq	%rcx
	jnz	1b
	int	$VEC_EXIT
	.section .note.GNU-stack, "", @progbits
