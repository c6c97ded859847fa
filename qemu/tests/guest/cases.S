/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User code with known counts.  The arguments of CASE after the name are the
 * numbers of retired instructions, branches, loading instructions and storing
 * instructions of the listing below it, counted by hand.  The sums have one term
 * per line or per loop.  END is an INT, which retires and is a branch; both are
 * in the sums as "+ 1".
 *
 * On entry %rdi points to a page of zeroes, %rsi to the first of 32 pages, which
 * are mapped according to the flags, and %rsp to a stack.  A faulting instruction
 * does not retire.  The trap handler maps the page, and the instruction runs
 * again, or the handler skips it.
 */
#include "layout.h"

#define CASE_FRESH	1
#define CASE_COW	2
#define CASE_NOSTEP	4
#define CASE_CODE32	8
#define CASE_WATCH	16
#define CASE_BREAK	32
#define CASE_PORT	64

#define CASE(name, insn, br, ld, st)	CASE_F(name, insn, br, ld, st, 0)
#define CASE_F(name, insn, br, ld, st, flags)				\
	.pushsection .rodata;						\
7701:	.asciz name;							\
	.popsection;							\
	.pushsection .cases, "a";					\
	.balign	8;							\
	.quad	7701b;							\
	.quad	7702f;							\
	.long	insn, br, ld, st, flags, 0;				\
	.popsection;							\
	.balign	16;							\
7702:
	.macro	END
	int	$VEC_EXIT
	.endm

	.section .cases, "a"
	.globl	cases_start
	.balign	8
cases_start:
	.text

/* ---- plain code --------------------------------------------------------- */

CASE("no memory, no branch", 10 + 1, 1, 0, 0)
	.rept	10
	nop
	.endr
	END

CASE("loop", 1 + 100 * 4 + 1, 100 + 1, 100, 100)
	movl	$100, %ecx
1:	movq	(%rdi), %rax		/* ld */
	movq	%rax, 8(%rdi)		/* st */
	decl	%ecx
	jnz	1b			/* br */
	END

CASE("conditional branches", 13 + 1, 7 + 1, 0, 0)
	xorl	%eax, %eax		/* ZF */
	jz	1f			/* br, taken */
	ud2
1:	jnz	2f			/* br, not taken */
	nop
2:	jz	3f			/* br, taken, to the next instruction */
3:	movl	$2, %ecx
4:	loop	4b			/* br, twice */
	jrcxz	5f			/* br, taken */
	ud2
5:	movl	$1, %ecx
	cmpl	%eax, %eax
	nop
	loope	5b			/* br, not taken: rcx is 0 */
	END

CASE("calls and jumps", 8 + 3 + 1, 5 + 3 + 1, 1 + 3, 4)
	call	8f			/* br st */
	leaq	8f(%rip), %rax
	call	*%rax			/* br st */
	movq	%rax, (%rdi)		/* st */
	call	*(%rdi)			/* br ld st */
	leaq	9f(%rip), %rax
	jmp	*%rax			/* br */
8:	ret				/* br ld, three times */
9:	jmp	1f			/* br */
1:	END

/* ---- instructions that load or store -------------------------------------- */

CASE("stack", 14 + 1, 1, 6, 9)
	pushq	%rax			/* st */
	pushq	(%rdi)			/* ld st */
	popq	%rcx			/* ld */
	popq	(%rdi)			/* ld st */
	pushfq				/* st */
	popfq				/* ld */
	enter	$16, $0			/* st */
	leave				/* ld */
	movq	%rsp, %rbp
	enter	$16, $2			/* st, and ld of the outer frame pointer */
	leaq	16(%rsp), %rsp
	pushq	$5			/* st */
	pushw	%ax			/* st */
	pushw	%fs			/* st */
	END

CASE("read-modify-write", 15 + 1, 1, 13, 11)
	addl	$1, (%rdi)		/* ld st */
	notl	(%rdi)			/* ld st */
	negb	(%rdi)			/* ld st */
	xchgl	%eax, (%rdi)		/* ld st, locked */
	lock; addl $1, (%rdi)		/* ld st */
	lock; xaddq %rax, (%rdi)	/* ld st */
	cmpxchgl %eax, (%rdi)		/* ld st */
	lock; cmpxchgl %eax, (%rdi)	/* ld st */
	lock; cmpxchg16b (%rdi)		/* ld st */
	btsl	$3, (%rdi)		/* ld st */
	shll	$3, (%rdi)		/* ld st */
	btl	$3, (%rdi)		/* ld */
	testl	$1, (%rdi)		/* ld */
	movl	$0, %eax
	movl	$0, %edx
	END

CASE("one way or none", 13 + 1, 1, 5, 4)
	cmovzq	(%rdi), %rax		/* ld, regardless of the condition */
	setz	(%rdi)			/* st */
	cmpl	$1, (%rdi)		/* ld */
	imull	$3, (%rdi), %eax	/* ld */
	leaq	8(%rdi), %rax
	nopl	(%rdi)			/* no access */
	prefetcht0 (%rdi)		/* a hint: no access in this model */
	movnti	%rax, (%rdi)		/* st */
	movbe	(%rdi), %rax		/* ld */
	movabsq	%rax, DEMAND_RAM + 0x300000	/* st */
	movabsq	DEMAND_RAM + 0x300000, %rax	/* ld */
	sidt	(%rdi)			/* st */
	clflush	(%rdi)
	END

CASE("string, without REP", 8 + 1, 1, 5, 3)
	movq	%rdi, %rsi
	movsb				/* ld st */
	stosb				/* st */
	lodsb				/* ld */
	cmpsb				/* ld (two) */
	scasb				/* ld */
	xlatb				/* ld */
	movb	%al, 8(%rdi)		/* st */
	END

CASE("x87", 19 + 1, 1, 8, 8)
	fldt	(%rdi)			/* ld */
	fstpt	(%rdi)			/* st */
	fldl	(%rdi)			/* ld */
	fistpll	(%rdi)			/* st */
	fildll	(%rdi)			/* ld */
	fbstp	(%rdi)			/* st */
	fbld	(%rdi)			/* ld */
	fadds	(%rdi)			/* ld */
	fnstcw	(%rdi)			/* st */
	fldcw	(%rdi)			/* ld */
	fnstsw	%ax
	fnstsw	(%rdi)			/* st */
	fninit
	fnstenv	(%rdi)			/* st */
	fldenv	(%rdi)			/* ld */
	fnsave	(%rdi)			/* st */
	frstor	(%rdi)			/* ld */
	fld1
	fsts	(%rdi)			/* st */
	END

CASE("state", 9 + 1, 1, 3, 4)
	fxsave	(%rdi)			/* st */
	fxrstor	(%rdi)			/* ld */
	movl	$7, %eax
	xorl	%edx, %edx
	xsave	1024(%rdi)		/* st */
	xrstor	1024(%rdi)		/* ld */
	xsaveopt 1024(%rdi)		/* st */
	stmxcsr	(%rdi)			/* st */
	ldmxcsr	(%rdi)			/* ld */
	END

CASE("vectors", 18 + 1, 1, 8, 7)
	movups	(%rdi), %xmm0		/* ld */
	movaps	%xmm0, (%rdi)		/* st */
	movntdq	%xmm0, (%rdi)		/* st */
	maskmovdqu %xmm0, %xmm0		/* st, even with an empty mask */
	movq	(%rdi), %mm0		/* ld */
	movhps	(%rdi), %xmm0		/* ld */
	movhps	%xmm0, (%rdi)		/* st */
	paddd	(%rdi), %xmm0		/* ld */
	emms
	vmovups	(%rdi), %ymm0		/* ld */
	vmovups	%ymm0, (%rdi)		/* st */
	vpcmpeqd %ymm1, %ymm1, %ymm1
	vpmaskmovd (%rdi), %ymm1, %ymm2	/* ld */
	vpmaskmovd %ymm2, %ymm1, (%rdi)	/* st */
	vpxor	%ymm3, %ymm3, %ymm3
	vpgatherdd %ymm1, (%rdi,%ymm3,4), %ymm4	/* ld */
	vbroadcastss (%rdi), %ymm5	/* ld */
	vextractf128 $1, %ymm5, (%rdi)	/* st */
	END

/* NOSTEP: a MOV to SS inhibits the single-step trap after it */
CASE_F("segments", 8 + 1, 1, 5, 1, CASE_NOSTEP)
	movl	$SEL_UDATA, %eax
	movw	%ax, %ss		/* ld: the descriptor */
	nop
	lar	%ax, %ecx		/* ld */
	lsl	%ax, %ecx		/* ld */
	verr	%ax			/* ld */
	movl	$SEL_UDATA, (%rdi)	/* st */
	movw	(%rdi), %ds		/* ld: data and descriptor */
	END

/* ---- faults --------------------------------------------------------------- */

CASE_F("store to fresh pages", 1 + 8 * 4 + 1, 8 + 1, 0, 8, CASE_FRESH)
	movl	$8, %ecx
1:	movb	$1, (%rsi)		/* st */
	addq	$4096, %rsi
	decl	%ecx
	jnz	1b			/* br */
	END

CASE_F("load and store of fresh pages", 1 + 8 * 4 + 1, 8 + 1, 8, 8, CASE_FRESH)
	movl	$8, %ecx
1:	addb	$1, (%rsi)		/* ld st */
	addq	$4096, %rsi
	decl	%ecx
	jnz	1b			/* br */
	END

CASE_F("copy on write", 1 + 8 * 4 + 1, 8 + 1, 8, 8, CASE_COW)
	movl	$8, %ecx
1:	addb	$1, (%rsi)		/* ld st: the store faults */
	addq	$4096, %rsi
	decl	%ecx
	jnz	1b			/* br */
	END

CASE_F("locked, copy on write", 1 + 8 * 4 + 1, 8 + 1, 8, 8, CASE_COW)
	movl	$8, %ecx
1:	lock; addl $1, (%rsi)		/* ld st */
	addq	$4096, %rsi
	decl	%ecx
	jnz	1b			/* br */
	END

CASE_F("across two fresh pages", 4 + 1, 1, 2, 1, CASE_FRESH)
	movq	4092(%rsi), %rax	/* ld */
	nop
	movq	%rax, 12284(%rsi)	/* st */
	movups	20472(%rsi), %xmm0	/* ld */
	END

CASE_F("fault in the middle of a call", 3 + 1, 1 + 1, 1, 1, CASE_FRESH)
	leaq	4096(%rsi), %rsp
	call	1f			/* br st: faults on the stack */
	ud2
1:	popq	%rax			/* ld */
	END

CASE_F("fetch of a fresh page", 4 + 1, 2 + 1, 1, 1, CASE_FRESH)
	nop
	call	*%rsi			/* br st; the handler writes a RET there */
	nop				/* RET: br ld */
	END

CASE("divide errors", 6 + 1, 1, 1, 0)
	xorl	%ecx, %ecx
	div	%ecx			/* #DE */
	nop
	divl	(%rdi)			/* #DE after its load: counts nothing */
	movl	$1, %eax
	xorl	%edx, %edx
	incl	%eax
	cmpb	$0, (%rdi)		/* ld */
	END

CASE("invalid and privileged", 3 + 1, 1, 0, 0)
	ud2				/* #UD */
	nop
	hlt				/* #GP */
	nop
	int	$VEC_PRIV		/* #GP during its delivery */
	rdmsr				/* #GP */
	wrmsr				/* #GP */
	nop
	END

CASE("returns that fail", 5 + 3 + 1, 1, 0, 5)
	.rept	5
	pushq	$8			/* st */
	.endr
	iretq				/* #GP: to kernel code */
	lretq				/* #GP */
	sysretl				/* #GP */
	nop
	movl	$SEL_KDATA, %ecx
	movw	%cx, %ss		/* #GP */
	leaq	40(%rsp), %rsp
	END

/* ---- REP ------------------------------------------------------------------ */

CASE_F("rep stos, fresh pages", 4 + 1, 1, 0, 1, CASE_FRESH | CASE_NOSTEP)
	movl	$10000, %ecx
	xorl	%eax, %eax
	movq	%rsi, %rdi
	rep; stosb			/* st */
	END

CASE_F("rep movs, copy on write", 4 + 1, 1, 1, 1, CASE_COW | CASE_NOSTEP)
	movl	$700, %ecx
	leaq	0x8000(%rsi), %rdi
	addq	$3, %rdi
	rep; movsq			/* ld st */
	END

CASE_F("rep, longer than a burst", 3 + 1, 1, 0, 1, CASE_NOSTEP)
	movl	$131073, %ecx
	movl	$DEMAND_RAM + 0x200000, %edi
	rep; stosb			/* st */
	END

CASE("rep with a count of 0", 6 + 1, 1, 0, 0)
	xorl	%ecx, %ecx
	rep; stosb
	rep; movsb
	repe; cmpsb
	repne; scasb
	rep; lodsb
	END

CASE_F("repe and repne", 9 + 1, 1, 3, 1, CASE_NOSTEP)
	movb	$1, 5(%rdi)		/* st */
	movq	%rdi, %rsi
	movl	$100, %ecx
	addq	$1, %rsi
	repe; cmpsb			/* ld, ends at the 1 */
	movl	$1, %ecx
	repne; scasb			/* ld; stops after one byte */
	movl	$5, %ecx
	rep; lodsb			/* ld */
	END

CASE_F("ports", 8 + 1, 1, 2, 1, CASE_NOSTEP)
	movl	$0x80, %edx
	inb	%dx, %al
	outb	%al, %dx
	movq	%rdi, %rsi
	outsb				/* ld */
	insb				/* st */
	movl	$3, %ecx
	rep; outsb			/* ld */
	END

CASE("device memory", 9 + 1, 1, 4, 0)
	movl	$0xfee00000, %eax
	nop
	movl	0x30(%rax), %ecx	/* ld */
	nop
	movl	0x30(%rax), %ecx	/* ld */
	movl	0x20(%rax), %ecx	/* ld */
	nop
	addl	0x30(%rax), %ecx	/* ld */
	nop
	END

/* ---- code that changes ---------------------------------------------------- */

CASE("code that patches its own block", 2 + 5 * 5 + 1, 5 + 1, 0, 5)
	movl	$5, %ecx
	xorl	%eax, %eax
1:	movb	$0x90, 2f(%rip)		/* st, to code of the same block */
	nop
2:	nop
	decl	%ecx
	jnz	1b			/* br */
	END

CASE("code that patches other code", 3 + 4 * 5 + 1, 4 * 3 + 1, 4, 2 * 4 + 1)
	movb	$0xc3, (%rsi)		/* st: a RET */
	movl	$4, %ecx
	nop
1:	movb	$0xc3, (%rsi)		/* st */
	call	*%rsi			/* br st */
	decl	%ecx			/* RET: br ld */
	jnz	1b			/* br */
	END

	.balign	4096
	.fill	4096 - 16 - 10, 1, 0x90
CASE("instruction across pages", 7 + 1, 1, 0, 0)
	.rept	4
	.byte	0x66, 0x90
	.endr
	.byte	0x66, 0x66, 0x90
	.byte	0x0f, 0x1f, 0x80, 0, 0, 0, 0
	.byte	0x0f, 0x1f, 0x80, 0, 0, 0, 0
	END

/* ---- control transfers ----------------------------------------------------- */

CASE_F("system calls", 1 + 3 * 3 + 1, 3 * 2 + 1, 0, 0, CASE_NOSTEP)
	movl	$3, %ebx
1:	syscall				/* br */
	decl	%ebx
	jnz	1b			/* br */
	END

CASE_F("int3, iret", 9 + 1, 2 + 1, 1, 5, CASE_NOSTEP)
	int3				/* br */
	nop
	movq	%rsp, %rax
	pushq	$SEL_UDATA		/* st */
	pushq	%rax			/* st */
	pushq	$0x3002			/* st */
	pushq	$SEL_UCODE		/* st */
	pushq	$1f			/* st */
	iretq				/* br ld */
1:	END

CASE_F("32-bit code", 3 + 15 + 2 + 1, 1 + 4 + 2 + 1, 1 + 4 + 2, 2 + 8, CASE_CODE32)
	pushq	$SEL_UCODE32		/* st */
	pushq	$1f			/* st */
	lretq				/* br ld */
	.code32
1:	pushal				/* st */
	popal				/* ld */
	pushl	%eax			/* st */
	popl	%ecx			/* ld */
	call	2f			/* br st */
	into				/* br: OF is 0, no trap */
	pushl	%cs			/* st */
	call	3f			/* br st */
	movl	(%edi), %eax		/* ld */
	movl	%eax, 4(%edi)		/* st */
	aaa
	movl	$0, 8(%edi)		/* st */
	movl	$0x7fffffff, 12(%edi)	/* st */
	jmp	4f			/* br */
2:	ret				/* br ld */
3:	lret				/* br ld */
4:	boundl	%ecx, 8(%edi)		/* ld */
	END
	.code64

CASE_F("sysenter", 4 + 1, 1 + 1, 0, 0, CASE_NOSTEP)
	movq	%rsp, %rcx
	leaq	1f(%rip), %rdx
	sysenter			/* br */
1:	nop
	END

CASE("far call, return and jump", 7 + 1, 3 + 1, 3, 4)
	movl	$1f, (%rdi)		/* st */
	movl	$SEL_UCODE, 4(%rdi)	/* st */
	lcall	*(%rdi)			/* br ld st */
	nop
	movl	$2f, (%rdi)		/* st */
	ljmp	*(%rdi)			/* br ld */
1:	lret				/* br ld */
2:	END

CASE_F("into, taken", 3 + 4 + 1, 2 + 1, 1, 2, CASE_NOSTEP)
	pushq	$SEL_UCODE32		/* st */
	pushq	$1f			/* st */
	lretq				/* br ld */
	.code32
1:	movl	$0x7fffffff, %ecx
	incl	%ecx			/* OF */
	into				/* br: #OF, a trap */
	nop
	END
	.code64

/* ---- debug and power -------------------------------------------------------- */

CASE_F("single step, by itself", 6 + 1, 1, 2, 3, CASE_NOSTEP)
	pushfq				/* st */
	orl	$0x100, (%rsp)		/* ld st */
	popfq				/* ld */
	nop				/* #DB after it */
	pushq	%rax			/* st */
	nop
	END

CASE_F("watchpoint", 1 + 10 * 4 + 1, 10 + 1, 10, 10, CASE_WATCH | CASE_NOSTEP)
	movl	$10, %ecx
1:	movq	(%rdi), %rax		/* ld */
	movq	%rax, 8(%rdi)		/* st, and a hit */
	decl	%ecx
	jnz	1b			/* br */
	END

CASE_F("breakpoint on a port", 6 + 1, 1, 0, 0, CASE_PORT | CASE_NOSTEP)
	movl	$0x80, %edx
	outb	%al, %dx		/* a hit after it */
	nop
	inb	%dx, %al		/* a hit after it */
	nop
	nop
	END

	.globl	case_breakpoint
CASE_F("breakpoint", 1 + 10 * 3 + 1, 10 + 1, 0, 0, CASE_BREAK | CASE_NOSTEP)
	movl	$10, %ecx
1:	nop
case_breakpoint:
	decl	%ecx			/* a hit before it */
	jnz	1b			/* br */
	END

CASE("pause, cpuid, rdtsc", 10 + 1, 1, 0, 0)
	pause
	nop
	pause
	xorl	%eax, %eax
	cpuid
	nop
	rdtsc
	xorl	%ecx, %ecx
	xgetbv
	nop
	END

	.section .cases, "a"
	.globl	cases_end
cases_end:
	.section .note.GNU-stack, "", @progbits
