/* SPDX-License-Identifier: GPL-2.0-only */
/* More cases (see cases.S), without counts: test_model.c has the expected values. */
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

CASE "locked"
	movl	$5, (%rdi)
	movl	$1, %eax
	xchgl	%eax, (%rdi)		/* eax = 5 */
	movl	$7, %ecx
	lock; addl %ecx, (%rdi)
	movl	$2, %edx
	lock; xaddl %edx, (%rdi)	/* edx = 8 */
	movl	(%rdi), %ecx		/* ecx = 10 */
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
	.text
CASE "long"
1:	addq	$1, %rax
	nop
	decq	%rcx
	jnz	1b
	int	$VEC_EXIT
/* Instructions that inhibit an NMI, and one (STI) that does not */
	.section .cases2, "a"
	.globl	shadow_cases, mov_ss_at, mov_ss_twice_at, sti_at
shadow_cases:
	.text
CASE "MOV SS"
	nop
	movl	%ss, %eax
mov_ss_at:
	movl	%eax, %ss
	nop
	nop
	int	$VEC_EXIT
CASE "MOV SS and a fault"
	nop
	movl	%ss, %eax
	movl	%eax, %ss
	ud2
	int	$VEC_EXIT
CASE "MOV SS twice"
	nop
	movl	%ss, %eax
mov_ss_twice_at:
	movl	%eax, %ss
	movl	%eax, %ss
	nop
	int	$VEC_EXIT
CASE "STI"
	nop
sti_at:
	sti
	nop
	int	$VEC_EXIT

/*
 * Loops for cost.sh, with %rcx iterations each.  The speed of a loop depends on
 * the address of its generated code, so there are 24 copies of it, with code of
 * different lengths between them.
 */
	.section .cases2, "a"
	.globl	bench_cases
bench_cases:
	.text

	.macro	COPIES loop
	.set	copy, 0
	.rept	24
	movq	%rcx, %r8
	jmp	1f
1:
	.rept	copy * 7 % 24
	leal	7(%rdx), %r9d
	.endr
	jmp	2f
2:	\loop
	movq	%r8, %rcx
	jmp	3f
3:	.set	copy, copy + 1
	.endr
	int	$VEC_EXIT
	.endm

	.macro	loop_registers
9:	addq	$1, %rax
	addq	$2, %rdx
	xorl	%ebx, %ebx
	leal	1(%rbx), %ebx
	nop
	nop
	nop
	imulq	$3, %rbx, %rbx
	decq	%rcx
	jnz	9b
	.endm
	.macro	loop_memory
9:	movq	(%rdi), %rax
	movq	%rax, 8(%rdi)
	decq	%rcx
	jnz	9b
	.endm
	.macro	loop_syscall
	shrq	$6, %rcx
	movq	%rcx, %rbx
9:	syscall
	decq	%rbx
	jnz	9b
	.endm

CASE "registers, 10 a round"
	COPIES	loop_registers
CASE "load and store, 4 a round"
	COPIES	loop_memory
CASE "system calls"
	COPIES	loop_syscall

	.section .note.GNU-stack, "", @progbits
