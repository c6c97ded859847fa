/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A complete ELF executable: 2n + 4 instructions from its entry to the SYSCALL of exit, where n
 * is the value at tiny_rounds.
 */
#include <asm/unistd.h>

#define BASE	0x400000

	.section .rodata
	.globl	tiny, tiny_end, tiny_rounds
	.balign	8
tiny:
	.byte	0x7f, 'E', 'L', 'F', 2, 1, 1, 0
	.quad	0
	.short	2, 62			/* ET_EXEC, EM_X86_64 */
	.long	1
	.quad	BASE + start - tiny
	.quad	phdr - tiny, 0
	.long	0
	.short	phdr - tiny, 56, 1, 0, 0, 0
phdr:
	.long	1, 5			/* PT_LOAD, read and execute */
	.quad	0, BASE, BASE
	.quad	tiny_end - tiny, tiny_end - tiny
	.quad	0x1000
start:
	.byte	0xb9			/* mov $rounds, %ecx */
tiny_rounds:
	.long	1
1:	dec	%ecx
	jnz	1b
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall
tiny_end:
	.section .note.GNU-stack, "", @progbits
