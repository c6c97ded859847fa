/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call a function that the kernel does not export.
 *
 * On kernels built with IBT the landing pads of functions that are never
 * called indirectly are sealed, so an ordinary indirect call to an address
 * found by name would raise #CP.  IBT does not track returns, so the target
 * replaces a return address.  The code has the form of a retpoline, which
 * objtool and the unwinder support.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/unwind_hints.h>
#include <asm/nospec-branch.h>

/* unsigned long kpmu_thunk(fn, a0, a1, a2, a3, a4): fn(a0 .. a4) */
SYM_FUNC_START(kpmu_thunk)
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %rcx
	mov	%r9, %r8
	ANNOTATE_INTRA_FUNCTION_CALL
	call	.Ltarget
	int3
.Ltarget:
	mov	%rax, (%rsp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(kpmu_thunk)
	.section .note.GNU-stack,"",@progbits
