// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program without a C library.  It executes the same number of instructions in any environment.
 * With an argument it first forks four children, which do the same work, and waits for them.
 */
#include <asm/unistd.h>

#define STR_(x)	#x
#define STR(x)	STR_(x)

__asm__(
"	.text\n"
"	.globl	_start\n"
"_start:\n"
"	cmpl	$2, (%rsp)\n"
"	jb	work\n"
"	mov	$4, %ebx\n"
"1:	mov	$" STR(__NR_fork) ", %eax\n"
"	syscall\n"
"	test	%eax, %eax\n"
"	jz	work\n"
"	dec	%ebx\n"
"	jnz	1b\n"
/* Reap all children */
"2:	mov	$-1, %rdi\n"
"	xor	%esi, %esi\n"
"	xor	%edx, %edx\n"
"	xor	%r10d, %r10d\n"
"	mov	$" STR(__NR_wait4) ", %eax\n"
"	syscall\n"
"	test	%rax, %rax\n"
"	jg	2b\n"
"work:	mov	$100000, %ecx\n"
"	lea	cell(%rip), %rsi\n"
"3:	mov	(%rsi), %rax\n"
"	mov	%rax, 8(%rsi)\n"
"	dec	%ecx\n"
"	jnz	3b\n"
"	xor	%edi, %edi\n"
"	mov	$" STR(__NR_exit_group) ", %eax\n"
"	syscall\n"
"	.data\n"
"	.balign	64\n"
"cell:	.quad	0, 0\n"
"	.previous\n");
