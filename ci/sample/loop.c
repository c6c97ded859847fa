// SPDX-License-Identifier: GPL-2.0-only
/*
 * loop - a program without the C library whose counts follow from its source:
 *	instructions:u	4 + 3 * 1,000,000
 *	branches:u	1 + 1,000,000: the loop's, and SYSCALL
 */

__asm__(".globl _start\n"
	"_start:	mov	$1000000, %ecx\n"
	"1:	add	$1, %edx\n"
	"	dec	%ecx\n"
	"	jnz	1b\n"
	"	xor	%edi, %edi\n"
	"	mov	$60, %eax\n"	/* exit(0) */
	"	syscall\n");
