/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User code for last branch records.  REC lists the branches that a case takes,
 * in their order: from, to, type, instructions that retire since the record
 * before (with this branch), 1 if the model mispredicts it at first, and the
 * privilege levels.  Not in the list is the IRET that starts the case.  END
 * lists itself.
 *
 * With L_STACK the list has the calls that have not returned at the end.
 */
#include "layout.h"

/* No blanks: they separate the arguments of a macro */
#define VECTOR(n)	vectors+n*16

#define CASE_FRESH	1
#define CASE_NOSTEP	4
#define CASE_CODE32	8

	.macro	REC from, to, type, insns, miss=0, level=U2U
	.pushsection .lbr_recs, "a"
	.quad	\from, \to
	.long	\type, \insns, \miss, \level
	.popsection
	.endm

	.macro	LCASE name, flags=0, lflags=0
	.pushsection .rodata
7701:	.asciz	"\name"
	.popsection
	.pushsection .lbr_recs, "a"
	.balign	8
7703:
	.popsection
	.pushsection .lbr_cases, "a"
	.balign	8
	.quad	7701b, 7702f
	.long	0, 0, 0, 0, \flags, \lflags
	.quad	7703b
	.popsection
	.balign	16
7702:
	.endm

	.macro	END
	REC	7709f, VECTOR(VEC_EXIT), T_OTHER, 1, 0, U2K
7709:	int	$VEC_EXIT
	.endm

	.section .lbr_cases, "a"
	.globl	lbr_cases
	.balign	8
lbr_cases:
	.text

LCASE "jumps"
	REC	j1, j2, T_JCC, 2, 1
	REC	j3, j3, T_JCC, 3, 1
	REC	j4, j5, T_JCC, 3, 1		/* the LOOP that ends is in it */
	REC	j5, j6, T_REL_JMP, 1
	REC	j6a, j7, T_IND_JMP, 2, 1
	REC	j8, j9, T_IND_JMP, 3, 1
	REC	j9, j10, T_REL_JMP, 1
	REC	j10a, j11, T_JCC, 2, 1
	xorl	%eax, %eax
j1:	jz	j2
	ud2
j2:	jnz	j9				/* not taken */
	movl	$2, %ecx
j3:	loop	j3				/* taken once */
	xorl	%ecx, %ecx
j4:	jrcxz	j5
	ud2
j5:	jmp	j6
	ud2
j6:	leaq	j7(%rip), %rax
j6a:	jmp	*%rax
	ud2
j7:	leaq	j9(%rip), %rax
	movq	%rax, (%rdi)
j8:	jmp	*(%rdi)
	ud2
j9:	jmp	j10				/* to the next instruction */
j10:	cmpl	%eax, %eax
j10a:	.byte	0x0f, 0x84, 0, 0, 0, 0		/* jz to the next instruction */
j11:	END

LCASE "calls"
	REC	c1, cf1, T_REL_CALL, 1
	REC	cf1, c2, T_RET, 1
	REC	c3, cf1, T_IND_CALL, 2, 1
	REC	cf1, c3n, T_RET, 1
	REC	c4, cf1, T_IND_CALL, 2, 1
	REC	cf1, c4n, T_RET, 1
	REC	c5, cf2, T_REL_CALL, 2
	REC	cf2, c6, T_RET, 1
	REC	c6, c7, T_REL_CALL, 1
	REC	c8, c9, T_RET, 4, 1
c1:	call	cf1
c2:	leaq	cf1(%rip), %rax
c3:	call	*%rax
c3n:	movq	%rax, (%rdi)
c4:	call	*(%rdi)
c4n:	pushq	$0
c5:	call	cf2
c6:	call	c7				/* to the next instruction */
c7:	popq	%rax
	leaq	c9(%rip), %rax
	pushq	%rax
c8:	ret					/* not to its call */
cf1:	ret
cf2:	ret	$8
c9:	END

LCASE "more records than entries"
	REC	w1, w2, T_REL_JMP, 2
	REC	w3, w1, T_JCC, 2, 1
	.rept	38
	REC	w1, w2, T_REL_JMP, 1
	REC	w3, w1, T_JCC, 2
	.endr
	REC	w1, w2, T_REL_JMP, 1
	movl	$40, %ecx
w1:	jmp	w2
w2:	decl	%ecx
w3:	jnz	w1
	END

LCASE "many cycles", CASE_NOSTEP
	REC	m2, m1, T_JCC, 3, 1
	.rept	2
	REC	m2, m1, T_JCC, 2
	.endr
	REC	m6, m7, T_REL_JMP, 33005	/* more than FFFFH cycles */
	movl	$4, %ecx
m1:	decl	%ecx
m2:	jnz	m1
	movl	$5, %ecx
	xorl	%eax, %eax
	.rept	33000
	nop
	.endr
m6:	jmp	m7
m7:	END

LCASE "repetitions", CASE_NOSTEP
	REC	x1, x2, T_REL_JMP, 4
	REC	x3, x4, T_REL_JMP, 3
	movl	$131073, %ecx			/* more than a burst */
	movl	$DEMAND_RAM + 0x200000, %edi
	rep; stosb
x1:	jmp	x2
x2:	xorl	%ecx, %ecx
	rep; stosb
x3:	jmp	x4
x4:	END

LCASE "system calls", CASE_NOSTEP
	REC	s1, syscall_entry, T_OTHER, 2, 0, U2K
	REC	syscall_entry, s2, T_OTHER, 0, 0, K2U
	REC	s3, s1, T_JCC, 2, 1
	REC	s1, syscall_entry, T_OTHER, 1, 0, U2K
	REC	syscall_entry, s2, T_OTHER, 0, 0, K2U
	movl	$2, %ebx
s1:	syscall
s2:	decl	%ebx
s3:	jnz	s1
	END

LCASE "sysenter", CASE_NOSTEP
	REC	y1, sysenter_entry, T_OTHER, 3, 0, U2K
	REC	sysenter_entry, y2, T_OTHER, 0, 0, K2U
	movq	%rsp, %rcx
	leaq	y2(%rip), %rdx
y1:	sysenter
y2:	nop
	END

LCASE "page faults", CASE_FRESH, L_CPU0
	REC	p1, VECTOR(14), T_OTHER, 1, 0, U2K
	REC	trap_iret, p1, T_OTHER, 0, 0, K2U
	REC	p2, DEMAND, T_IND_CALL, 3, 1
	REC	DEMAND, VECTOR(14), T_OTHER, 0, 0, U2K
	REC	trap_iret, DEMAND, T_OTHER, 0, 0, K2U
	REC	DEMAND, p3, T_RET, 1
	nop
p1:	movb	$1, 4096(%rsi)
	nop
p2:	call	*%rsi				/* a RET: the handler writes it */
p3:	END

LCASE "traps and faults", CASE_NOSTEP
	REC	t1, VECTOR(3), T_OTHER, 1, 0, U2K
	REC	trap_iret, t2, T_OTHER, 0, 0, K2U
	REC	t3, VECTOR(6), T_OTHER, 1, 0, U2K
	REC	trap_iret, t4, T_OTHER, 0, 0, K2U
	REC	t5, VECTOR(0), T_OTHER, 1, 0, U2K
	REC	trap_iret, t6, T_OTHER, 0, 0, K2U
	REC	t7, VECTOR(13), T_OTHER, 1, 0, U2K
	REC	trap_iret, t8, T_OTHER, 0, 0, K2U
t1:	int3
t2:	nop
t3:	ud2					/* the handler skips it, */
t4:	xorl	%ecx, %ecx
t5:	div	%ecx				/* and this, */
t6:	nop
t7:	int	$VEC_PRIV			/* and this: #GP */
t8:	END

LCASE "far branches", CASE_NOSTEP
	REC	f1, f3, T_OTHER, 3
	REC	f3, f2, T_OTHER, 1
	REC	f2a, f4, T_OTHER, 2
	REC	f5, f6, T_OTHER, 7
	movl	$f3, (%rdi)
	movl	$SEL_UCODE, 4(%rdi)
f1:	lcall	*(%rdi)
f2:	movl	$f4, (%rdi)
f2a:	ljmp	*(%rdi)
f3:	lretl
f4:	movq	%rsp, %rax
	pushq	$SEL_UDATA
	pushq	%rax
	pushq	$0x3002
	pushq	$SEL_UCODE
	pushq	$f6
f5:	iretq
f6:	END

LCASE "call gates", CASE_NOSTEP
	REC	g1, gate_user, T_OTHER, 2
	REC	gate_user, g2, T_OTHER, 1
	REC	g3, gate_kernel, T_OTHER, 2, 0, U2K
	REC	gate_kernel, g4, T_OTHER, 0, 0, K2U
	movl	$SEL_GATE_USER, 4(%rdi)
g1:	lcall	*(%rdi)				/* the gate has the offset */
g2:	movl	$SEL_GATE_KERNEL, 4(%rdi)
g3:	lcall	*(%rdi)
g4:	END

	.globl	gate_user, gate_kernel
gate_user:
	lretq
gate_kernel:
	lretq

LCASE "a code segment with a base", CASE_CODE32
	REC	b0, b1, T_OTHER, 3
	REC	b1, b3, T_REL_CALL, 1
	REC	b3, b2, T_RET, 1
	REC	b2, b4, T_REL_JMP, 1
	REC	b5, b6, T_JCC, 2, 1
	REC	b7, b8, T_IND_JMP, 2, 1
	REC	b8, b9, T_OTHER, 1
	pushq	$SEL_BASED
	pushq	$b1 - BASED
b0:	lretq
	.code32
b1:	call	b3
b2:	jmp	b4
b3:	ret
b4:	xorl	%eax, %eax
b5:	jz	b6
	ud2
b6:	movl	$b8 - BASED, %eax
b7:	jmp	*%eax
	ud2
b8:	ljmp	$SEL_BASED, $b9 - BASED
b9:	END
	.code64

LCASE "an interrupt", CASE_NOSTEP, L_IRQ
	REC	q1, VECTOR(VEC_TIMER), T_OTHER, 0, 0, U2K
	REC	trap_iret, q1, T_OTHER, 0, 0, K2U
q1:	nop
	END

/* void lbr_int3(void): far branches in supervisor mode */
	.globl	lbr_int3, lbr_int3_next
lbr_int3:
	int3
lbr_int3_next:
	ret

/* ---- call-stack mode ------------------------------------------------------- */

LCASE "stack: nested calls", 0, L_STACK
	REC	ka, kb, T_REL_CALL, 0
	REC	kd, ke, T_IND_CALL, 0, 1
	REC	kf, kg, T_REL_CALL, 0
ka:	call	kb
	ud2
kb:	call	kr				/* returns */
	leaq	ke(%rip), %rax
kd:	call	*%rax
	ud2
ke:	jmp	kf
kr:	ret
kf:	call	kg
kg2:	ud2
	nop
kg:	END

LCASE "stack: all have returned", 0, L_STACK
	call	1f
	call	2f
	END
1:	call	2f
2:	ret

LCASE "stack: call to the next instruction", 0, L_STACK
	REC	la, lb, T_REL_CALL, 0
la:	call	lb
	ud2
lb:	call	1f
1:	popq	%rax
	END

LCASE "stack: returns without a call", 0, L_STACK
	REC	na, nb, T_REL_CALL, 0
	.rept	3
	leaq	9f(%rip), %rax
	pushq	%rax
	ret
9:
	.endr
na:	call	nb
	ud2
nb:	END

LCASE "stack: deeper than it is", 0, L_STACK
	REC	da, db, T_REL_CALL, 0
	.rept	39
	REC	dc, db, T_REL_CALL, 0
	.endr
	movl	$40, %ecx
da:	call	db
	ud2
db:	decl	%ecx
	jz	dd
dc:	call	db
	ret
dd:	END

LCASE "stack: deeper than it is, and back", 0, L_STACK
	REC	gd, ge, T_REL_CALL, 0
	movl	$40, %ecx
	call	gb
	jmp	gd
gb:	decl	%ecx
	jz	gc
	call	gb
gc:	ret
gd:	call	ge
	ud2
ge:	END

LCASE "stack: a long jump", 0, L_STACK
	REC	ha, hb, T_REL_CALL, 0
	REC	hc, hd, T_REL_CALL, 0
	REC	hx, hy, T_REL_CALL, 0
	movq	%rsp, %rbx
ha:	call	hb
	ud2
hb:	nop
hc:	call	hd
	ud2
hd:	movq	%rbx, %rsp
	jmp	hx
hx:	call	hy
	ud2
hy:	END

	.pushsection .lbr_recs, "a"
7703:
	.popsection
	.section .lbr_cases, "a"
	.balign	8
	.quad	0, 0
	.long	0, 0, 0, 0, 0, 0
	.quad	7703b
	.section .note.GNU-stack, "", @progbits
