/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions whose branches are at known addresses, for tests of branch stacks.  Each enables the
 * event of its file descriptor and disables it at the end.  C prototypes: branch.h
 */

/* A row of @listed: a branch at the label from, and where it goes */
.macro is from, to, type
	.pushsection .data.rel.local, "aw"
	.quad \from, \to, \type
	.popsection
.endm

	.pushsection .data.rel.local, "aw"
	.balign	8
	.globl	listed
listed:
	.popsection

#include "control.inc"

	.text

	.globl	branches_counted
branches_counted:
	push %rbx
	control ENABLE
/* counted from here */
1:	jmp 2f
	is 1b, 2f, 2
2:	xor %eax, %eax
3:	jz 4f
	is 3b, 4f, 1
4:	jnz 1b		/* not taken: no record */
	lea 6f(%rip), %rax
5:	jmp *%rax
	is 5b, 6f, 3
6:	call leaf
	is 6b, leaf, 4
	is leaf, 7f, 6
7:	lea leaf(%rip), %rax
8:	call *%rax
	is 8b, leaf, 5
	is leaf, 9f, 6
9:	mov $3, %ebx
10:	dec %ebx
11:	jnz 10b
	is 11b, 10b, 1
	is 11b, 10b, 1
	.byte 0xe8, 0, 0, 0, 0	/* call of the next instruction */
12:	pop %rbx
	is 12b-5, 12b, 4
13:	jmp sled_before
	is 13b, sled_before, 2
	.globl	sled_before
sled_before:
	.rept 200
	nop
	.endr
	.globl	sled_after
sled_after:
	control DISABLE
	pop %rbx
	ret
leaf:	ret

	.pushsection .data.rel.local, "aw"
	.globl	listed_end
listed_end:
	.popsection

/* 40 jumps in a row, then the sled's length of nops */
	.globl	jumps_counted
jumps_counted:
	control ENABLE
	.rept 40
	jmp 1f
1:
	.endr
	.rept 200
	nop
	.endr
	control DISABLE
	ret

/*
 * calls_counted(fd, depth, inside): enable, nest @depth calls, call @inside in the
 * innermost one and then execute nops there
 */
	.globl	calls_counted
calls_counted:
	push %rbx
	push %rbp
	push %r12
	mov %rsi, %rbx
	mov %rdx, %rbp
	mov %rdi, %r12
	control ENABLE
	call nest
	.globl	calls_returned
calls_returned:
	mov %r12, %rdi
	control DISABLE
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.globl	nest
nest:
	dec %rbx
	jz 1f
	.globl	nested_call
nested_call:
	call nest
	ret
1:	push %rbx
	call *%rbp
	pop %rbx
	.rept 4000
	nop
	.endr
	ret

	.section .note.GNU-stack, "", @progbits
