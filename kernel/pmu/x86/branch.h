/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds of branches, as the software filter of branch records knows them.  A kind is a bit, so
 * that a set of kinds is a mask.  Uses no kernel services: also built in user space.
 */
#ifndef KPMU_X86_BRANCH_H
#define KPMU_X86_BRANCH_H

/* Where a branch ends */
#define X86_TO_USER		BIT(0)
#define X86_TO_KERNEL		BIT(1)
/* What it is; near and far calls are not told apart, nor are near and far returns */
#define X86_BRANCH_CALL		BIT(2)
#define X86_BRANCH_RET		BIT(3)
#define X86_BRANCH_SYSCALL	BIT(4)	/* SYSCALL, SYSENTER */
#define X86_BRANCH_SYSRET	BIT(5)	/* SYSRET, SYSEXIT */
#define X86_BRANCH_INT		BIT(6)	/* INT n */
#define X86_BRANCH_IRET		BIT(7)
#define X86_BRANCH_COND		BIT(8)
#define X86_BRANCH_JUMP		BIT(9)	/* direct jump */
#define X86_BRANCH_IRQ		BIT(10)	/* interrupt or exception */
#define X86_BRANCH_IND_CALL	BIT(11)
#define X86_BRANCH_ABORT	BIT(12)	/* abort of a transaction; also: cannot be decoded */
/* Whether it was in a transaction; only used if the filter asks for it */
#define X86_BRANCH_IN_TX	BIT(13)
#define X86_BRANCH_NO_TX	BIT(14)
#define X86_BRANCH_ZERO_CALL	BIT(15)	/* call of the next instruction */
#define X86_BRANCH_IND_JUMP	BIT(16)
/* Of a filter only: put the kind into the record */
#define X86_BRANCH_SAVE		BIT(17)
/* Of a filter only: the hardware keeps calls that have not returned */
#define X86_BRANCH_STACK	BIT(18)

#define X86_BRANCH_ENDS		(X86_TO_USER | X86_TO_KERNEL)
#define X86_BRANCH_TX		(X86_BRANCH_IN_TX | X86_BRANCH_NO_TX)
#define X86_BRANCH_ANY		(GENMASK(12, 2) | X86_BRANCH_ZERO_CALL | \
				 X86_BRANCH_IND_JUMP)
#define X86_BRANCH_ALL		(X86_BRANCH_ANY | X86_BRANCH_ENDS)

#define X86_MAX_INSN		15	/* SDM vol. 2, "Instruction Format" */

unsigned int x86_branch_decode(const u8 *insn, int len, bool is_64);

#endif
