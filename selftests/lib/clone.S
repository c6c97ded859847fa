/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Families of tasks whose instruction counts follow from this listing.  Children do not use
 * the stack, so that they can share the parent's memory.
 *
 * The counted region of the first parent begins after the enabling system call and ends with
 * the SYSCALL that disables.  That of a child begins with its first instruction, the one after
 * the parent's SYSCALL of clone, and ends with the SYSCALL of exit.
 *
 * In the counts below, n is clone_work.n and k is clone_work.kids.
 */
#include <asm/unistd.h>

#define ENABLE	0x2400
#define DISABLE	0x2401

/* Offsets in struct clone_work, see clone.h */
#define FLAG	0
#define CLONE	8
#define N	16
#define KIDS	24
#define WORDS	32

	.text
	.globl clone_counted, threads_counted, chain_counted, orphans_counted
	.globl prctl_counted

	.macro	begin
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	mov	%edi, %ebp
	mov	%rsi, %rbx
	mov	KIDS(%rbx), %r12
	mov	%r12, %r13
	mov	$ENABLE, %esi
	mov	FLAG(%rbx), %rdx
	mov	$__NR_ioctl, %eax
	syscall
	.endm

	.macro	finish		/* 5 counted instructions */
	mov	%ebp, %edi
	mov	$DISABLE, %esi
	mov	FLAG(%rbx), %rdx
	mov	$__NR_ioctl, %eax
	syscall
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.endm

	.macro	clone word=%rsi	/* 6 instructions */
	mov	CLONE(%rbx), %rdi
	xor	%esi, %esi
	mov	\word, %rdx
	mov	\word, %r10
	mov	$__NR_clone, %eax
	syscall
	.endm

	.macro	wait		/* 6 instructions */
	mov	$-1, %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_wait4, %eax
	syscall
	.endm

/* Work, then exit: 4n + 5 instructions */
child:
	mov	N(%rbx), %r10
	lea	cell(%rip), %r8
1:	mov	(%r8), %r9
	mov	%r9, 8(%r8)
	dec	%r10
	jnz	1b
exit:				/* 3 instructions */
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall
	hlt

/* k concurrent children: 18k + 6 instructions in the parent, 4n + 7 in each child */
clone_counted:
	begin
1:	clone
	test	%eax, %eax
	jz	child
	dec	%r12
	jnz	1b
	mov	%r13, %r12
2:	wait
	dec	%r12
	jnz	2b
	finish

/*
 * k concurrent threads: 21k + 8 instructions in the caller, 4n + 7 in each thread.  The
 * exit of a thread clears the tid in its word and wakes a futex waiter there.  If the exit
 * precedes FUTEX_WAIT, the value differs and the call returns at once.  So one futex call per
 * thread is enough.
 */
threads_counted:
	begin
	mov	WORDS(%rbx), %r13
1:	clone	%r13
	test	%eax, %eax
	jz	child
	mov	%eax, 4(%r13)
	add	$8, %r13
	dec	%r12
	jnz	1b
	mov	KIDS(%rbx), %r12
	mov	WORDS(%rbx), %r13
2:	mov	%r13, %rdi
	xor	%esi, %esi		/* FUTEX_WAIT */
	mov	4(%r13), %edx
	xor	%r10d, %r10d
	mov	$__NR_futex, %eax
	syscall
	add	$8, %r13
	dec	%r12
	jnz	2b
	finish

/*
 * A chain of k descendants: each one but the last creates a child and waits for it.  The
 * last one works.  21 instructions in the first parent, 23 in each intermediate task, 4n + 10
 * in the last.
 */
chain_counted:
	begin
1:	clone
	test	%eax, %eax
	jnz	2f
	dec	%r12
	jnz	1b
	jmp	child
2:	wait
	cmp	%r12, %r13
	jne	exit
	finish

/*
 * A chain of k descendants whose intermediate tasks exit without waiting for their child.  The
 * first parent is a subreaper and waits for all: 8k + 13 instructions there, 16 in each
 * intermediate task, 4n + 9 in the last.
 */
orphans_counted:
	begin
	clone
	test	%eax, %eax
	jnz	2f
1:	dec	%r12
	jz	child
	clone
	test	%eax, %eax
	jz	1b
	jmp	exit
2:	wait
	dec	%r12
	jnz	2b
	finish

/*
 * prctl_counted(uint64_t n): enables and disables with PR_TASK_PERF_EVENTS_ENABLE (32) and
 * PR_TASK_PERF_EVENTS_DISABLE (31); same counts as work_counted()
 */
prctl_counted:
	mov	%rdi, %r9
	lea	cell(%rip), %r8
	mov	$32, %edi
	mov	$__NR_prctl, %eax
	syscall
	/* counted from here: 4n + 3 instructions */
1:	mov	(%r8), %rcx
	mov	%rcx, 8(%r8)
	dec	%r9
	jnz	1b
	mov	$31, %edi
	mov	$__NR_prctl, %eax
	syscall
	ret

	.bss
	.balign	64
cell:	.skip	64
	.section .note.GNU-stack, "", @progbits
