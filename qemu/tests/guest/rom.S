/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BIOS of the test guest: a ROM below 4 GiB that contains the program and, at
 * its end, the code that a CPU runs after reset.  That code enters protected mode,
 * copies the program to RAM and jumps to it.
 */
#include "layout.h"

	.section .text
	.globl	_start
_start:
	.incbin	PAYLOAD
	.balign	4
payload_end:

	.org	ROM_SIZE - 0x1000
	.code16
start16:
	cli
	cld
	lgdtl	%cs:0xff00		/* gdtr */
	movl	%cr0, %eax
	orl	$1, %eax
	movl	%eax, %cr0
	ljmpl	$8, $start32

	.code32
start32:
	movw	$16, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movl	$_start, %esi
	movl	$LOAD_ADDR, %edi
	movl	$(payload_end - _start) / 4, %ecx
	rep movsl
	movl	$LOAD_ADDR, %eax
	jmp	*%eax

	.balign	8
gdt:	.quad	0
	.quad	0x00cf9b000000ffff
	.quad	0x00cf93000000ffff
	.org	ROM_SIZE - 0x100
gdtr:	.word	23
	.long	gdt

	.org	ROM_SIZE - 16
	.code16
	jmp	start16
	.org	ROM_SIZE
