/* SPDX-License-Identifier: GPL-2.0-only */
/* Switch from protected mode without paging to long mode and call cpu_main(); trap entries. */
#include "layout.h"

	.section .text.boot, "ax"
	.code32
	.globl	_start
_start:
	movl	$0, %ebx			/* CPU 0 */
	/* Identity map of 4 GiB with user access; 4 KiB pages at DEMAND */
	movl	$PAGE_TABLES, %edi
	xorl	%eax, %eax
	movl	$0x7000 / 4, %ecx
	rep stosl
	movl	$PAGE_TABLES + 0x1007, PAGE_TABLES
	movl	$PAGE_TABLES + 0x2007, PAGE_TABLES + 0x1000
	movl	$PAGE_TABLES + 0x3007, PAGE_TABLES + 0x1008
	movl	$PAGE_TABLES + 0x4007, PAGE_TABLES + 0x1010
	movl	$PAGE_TABLES + 0x5007, PAGE_TABLES + 0x1018
	movl	$0x87, %eax
	movl	$PAGE_TABLES + 0x2000, %edi
	movl	$2048, %ecx
1:	movl	%eax, (%edi)
	addl	$0x200000, %eax
	addl	$8, %edi
	loop	1b
	movl	$PAGE_TABLES + 0x6007, PAGE_TABLES + 0x2000 + (DEMAND >> 21) * 8
	movl	$__bss_start, %edi
	movl	$__bss_end, %ecx
	subl	%edi, %ecx
	xorl	%eax, %eax
	rep stosb

	.globl	start32_all
start32_all:					/* %ebx: CPU number */
	movl	%cr4, %eax
	orl	$0x40620, %eax			/* PAE, OSFXSR, OSXMMEXCPT, OSXSAVE */
	movl	%eax, %cr4
	movl	$PAGE_TABLES, %eax
	movl	%eax, %cr3
	movl	$0xc0000080, %ecx
	rdmsr
	orl	$0x101, %eax			/* LME, SCE */
	wrmsr
	movl	%cr0, %eax
	andl	$~0x4, %eax			/* no EM; MP, NE, WP, PG */
	orl	$0x80010022, %eax
	movl	%eax, %cr0
	lgdt	gdt64r
ap_far3:
	ljmp	$SEL_KCODE, $ap_far3_to
	.code64
ap_far3_to:
	movw	$SEL_KDATA, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movl	%ebx, %edi
	leal	1(%rbx), %eax
	imull	$STACK_SIZE, %eax
	leaq	stacks(%rax), %rsp
	xorl	%ecx, %ecx			/* XCR0: x87, SSE, AVX */
	xorl	%edx, %edx
	movl	$7, %eax
	xsetbv
	fninit
	call	cpu_main
2:	hlt
	jmp	2b

	.balign	16
gdt64:	.quad	0
	.quad	0x00af9b000000ffff		/* 08 kernel code */
	.quad	0x00cf93000000ffff		/* 10 kernel data */
	.quad	0x00cffb000000ffff		/* 18 user code, 32-bit */
	.quad	0x00cff3000000ffff		/* 20 user data */
	.quad	0x00affb000000ffff		/* 28 user code, 64-bit */
	.quad	0x00cff3000000ffff		/* 30 user data, for SYSEXIT */
	.globl	gdt_tss
gdt_tss:
	.fill	MAX_CPUS * 2, 8, 0
	.quad	0x00cffb010000ffff		/* user code, 32-bit, at BASED */
	.globl	gdt_gates
gdt_gates:					/* call gates, see cpu.c */
	.fill	4, 8, 0
gdt64r:	.word	. - gdt64 - 1
	.quad	gdt64

/* Start-up code of the other CPUs; it is copied to TRAMPOLINE */
	.section .text
	.globl	ap_start, ap_end
	.code16
ap_start:
	cli
	.globl	ap_far, ap_far_to, ap_far2, ap_far2_to, ap_far3, ap_far3_to
	.globl	ap_task, ap_task_to, ap_call, ap_nested, ap_back
ap_far:	ljmp	$TRAMPOLINE >> 4, $ap_far_to - ap_start
ap_far_to:
	xorw	%ax, %ax
	movw	%ax, %ds
	lgdtl	TRAMPOLINE + ap_gdtr - ap_start
	movl	%cr0, %eax
	orl	$1, %eax
	movl	%eax, %cr0
ap_far2:
	ljmpl	$8, $TRAMPOLINE + ap_far2_to - ap_start
	.code32
ap_far2_to:
	movw	$16, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movw	$0x18, %ax
	ltr	%ax
ap_task:
	ljmp	$0x20, $0			/* to another task */
ap_task_to:
ap_call:
	lcall	$0x28, $0			/* to a third one, which returns */
ap_back:
	clts					/* each switch has set TS */
	movl	TRAMPOLINE + ap_cpu - ap_start, %ebx
	movl	$start32_all, %eax
	jmp	*%eax
ap_nested:
	iret

/* A 32-bit TSS at TRAMPOLINE; the task starts at \eip */
	.macro	TASK name, eip
\name:	.fill	8, 4, 0
	.long	TRAMPOLINE + \eip - ap_start, 2, 0, 0, 0, 0
	.long	TRAMPOLINE + 0x800		/* ESP */
	.long	0, 0, 0
	.long	16, 8, 16, 16, 0, 0		/* ES, CS, SS, DS, FS, GS */
	.long	0, 104 << 16
	.endm

	.macro	TSS_DESC name
	.word	103, TRAMPOLINE + \name - ap_start
	.long	0x8900
	.endm

	.balign	8
	TASK	ap_tss1, ap_task
	TASK	ap_tss2, ap_task_to
	TASK	ap_tss3, ap_nested
ap_gdt:	.quad	0
	.quad	0x00cf9b000000ffff
	.quad	0x00cf93000000ffff
	TSS_DESC ap_tss1
	TSS_DESC ap_tss2
	TSS_DESC ap_tss3
ap_gdtr:
	.word	. - ap_gdt - 1
	.long	TRAMPOLINE + ap_gdt - ap_start
	.globl	ap_cpu
ap_cpu:	.long	0
ap_end:

/* Traps: all vectors push the same frame and call trap(frame) */
	.code64
	.globl	vectors
	.balign	16
vectors:
	.set	n, 0
	.rept	256
	.balign	16
	.if !(n == 8 || (n >= 10 && n <= 14) || n == 17)
	pushq	$0
	.endif
	pushq	$n
	jmp	common
	.set	n, n + 1
	.endr

common:
	pushq	%rax
	pushq	%rbx
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	pushq	%rdi
	pushq	%rbp
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	cld
	movw	$SEL_KDATA, %ax			/* 32-bit user code may have set them */
	movw	%ax, %ds
	movw	%ax, %es
	movq	%rsp, %rdi
	call	trap
	.globl	trap_return
trap_return:
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rbp
	popq	%rdi
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rbx
	popq	%rax
	addq	$16, %rsp
	.globl	trap_iret
trap_iret:
	iretq

/* enter_user(struct frame *): run user code from the frame; returns when the case ends */
	.globl	enter_user, leave_user
enter_user:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, %gs:8			/* this CPU's kernel stack ... */
	movq	%gs:16, %rax
	movq	%rsp, 4(%rax)			/* ... also for traps: TSS.RSP0 */
	movq	%rdi, %rsp
	jmp	trap_return
leave_user:
	cli
	movq	%gs:8, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret

/* SYSCALL: return at once */
	.globl	syscall_entry
syscall_entry:
	sysretq

/* SYSENTER: return at once, to %rdx with stack pointer %rcx */
	.globl	sysenter_entry
sysenter_entry:
	sysexitq

/* int probe_msr(u32 msr, u64 *val, int write): 1 if it raised #GP */
	.globl	probe_msr, probe_fault, probe_rdpmc
probe_msr:
	movq	%rsi, %r8
	movl	%edi, %ecx
	testl	%edx, %edx
	jnz	1f
	xorl	%eax, %eax
	xorl	%edx, %edx
	rdmsr
	movl	%eax, (%r8)
	movl	%edx, 4(%r8)
	xorl	%eax, %eax
	ret
1:	movl	(%r8), %eax
	movl	4(%r8), %edx
	wrmsr
	xorl	%eax, %eax
	ret
/* int probe_rdpmc(u32 index, u64 *val): 1 if it raised #GP */
probe_rdpmc:
	movq	%rsi, %r8
	movl	%edi, %ecx
	rdpmc
	movl	%eax, (%r8)
	movl	%edx, 4(%r8)
	xorl	%eax, %eax
	ret
probe_fault:					/* trap() resumes here after #GP */
	movl	$1, %eax
	ret

	.bss
	.balign	16
	.globl	stacks
stacks:	.skip	STACK_SIZE * MAX_CPUS
	.section .note.GNU-stack, "", @progbits
