/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Families whose counts are known from this listing, from the child's first
 * instruction on: the one after its parent's SYSCALL.  Nobody here uses the stack, so
 * that children may share the memory.
 *
 * The counted region of the first parent begins after the enabling system call and
 * ends with the SYSCALL that disables; a child's ends with the SYSCALL of exit.
 */
#include <asm/unistd.h>

#define ENABLE	0x2400
#define DISABLE	0x2401

/* struct clone_work of clone.h */
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

	.macro	finish		/* 5 */
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

	.macro	clone word=%rsi	/* 6 */
	mov	CLONE(%rbx), %rdi
	xor	%esi, %esi
	mov	\word, %rdx
	mov	\word, %r10
	mov	$__NR_clone, %eax
	syscall
	.endm

	.macro	wait		/* 6 */
	mov	$-1, %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_wait4, %eax
	syscall
	.endm

/* 4n + 5: work and exit */
child:
	mov	N(%rbx), %r10
	lea	cell(%rip), %r8
1:	mov	(%r8), %r9
	mov	%r9, 8(%r8)
	dec	%r10
	jnz	1b
exit:				/* 3 */
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall
	hlt

/* All children at once: 18k + 6 here, 4n + 7 in each of them */
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
 * Threads, k at once: 21k + 8 here, 4n + 7 in each.  A thread's end clears its word
 * and wakes who waits there; one call of futex is enough in any order of events.
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
 * A child, its child, and so on, each waiting for its own; the last one works.
 * 21 here, 23 in each between, 4n + 10 in the last.
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
 * The same, but those between leave without waiting; the first, a subreaper,
 * waits for all: 8k + 13 here, 16 in each between, 4n + 9 in the last.
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
 * prctl_counted(uint64_t n): by PR_TASK_PERF_EVENTS_ENABLE and _DISABLE; counts as
 * work_counted() does
 */
prctl_counted:
	mov	%rdi, %r9
	lea	cell(%rip), %r8
	mov	$32, %edi
	mov	$__NR_prctl, %eax
	syscall
	/* counted from here: 4n + 3 */
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
