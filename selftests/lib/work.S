/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work whose counts follow from this listing.
 *
 * A round of work() and work_counted() consists of a load, a store, a decrement and a branch.
 * The counted region begins with the first instruction after the enabling system call.  It
 * ends with the SYSCALL that disables, which itself counts as an instruction and a branch of
 * user mode.
 */
#include <asm/unistd.h>

#define ENABLE	0x2400
#define DISABLE	0x2401

	.text
	.globl work, work_counted, spin_counted, load_counted, store_counted

work:
	lea	cell(%rip), %rax
1:	mov	(%rax), %rcx
	mov	%rcx, 8(%rax)
	dec	%rdi
	jnz	1b
	ret

/* work_counted(int fd, uint64_t n, unsigned long flag) */
work_counted:
	mov	%rsi, %r10
	lea	cell(%rip), %r8
	mov	$ENABLE, %esi
	mov	$__NR_ioctl, %eax
	syscall
	/* counted from here */
1:	mov	(%r8), %r9
	mov	%r9, 8(%r8)
	dec	%r10
	jnz	1b
	mov	$DISABLE, %esi
	mov	$__NR_ioctl, %eax
	syscall
	/* to here: 4n + 3 instructions, n + 1 branches, n loads, n stores */
	ret

/* Enable the event of fd edi, with rdx as the ioctl argument; save rsi (n) in r10 */
	.macro	counted_begin
	mov	%rsi, %r10
	mov	$ENABLE, %esi
	mov	$__NR_ioctl, %eax
	syscall			/* clobbers rcx and r11 */
	.endm

	.macro	counted_end
	mov	$DISABLE, %esi
	mov	$__NR_ioctl, %eax
	syscall
	.endm

/*
 * spin_counted(int fd, uint64_t n, unsigned long flag): 64n + 3 instructions,
 * n + 1 branches
 */
spin_counted:
	counted_begin
1:	.rept	62
	nop
	.endr
	dec	%r10
	jnz	1b
	counted_end
	ret

/*
 * load_counted(int fd, uint64_t n, void *base, uint64_t stride): n loads, stride bytes
 * apart; 4n + 3 instructions.  store_counted() does the same with stores.
 */
load_counted:
	mov	%rdx, %r8
	mov	%rcx, %r9
	xor	%edx, %edx
	counted_begin
1:	mov	(%r8), %rax
	add	%r9, %r8
	dec	%r10
	jnz	1b
	counted_end
	ret

store_counted:
	mov	%rdx, %r8
	mov	%rcx, %r9
	xor	%edx, %edx
	counted_begin
1:	mov	%r10, (%r8)
	add	%r9, %r8
	dec	%r10
	jnz	1b
	counted_end
	ret

	.bss
	.balign	64
cell:	.skip	64
	.section .note.GNU-stack, "", @progbits
