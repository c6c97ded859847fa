// SPDX-License-Identifier: GPL-2.0-only
/* Registers, numbered by arch/x86's <asm/perf_regs.h>, and user stack in samples. */
#include <linux/kernel.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <uapi/asm/perf_regs.h>

#include "../compat/compat.h"
#include "sample.h"

#define REG(name, field) \
	[PERF_REG_X86_##name] = offsetof(struct pt_regs, field)

static const u8 offsets[] = {
	REG(AX, ax), REG(BX, bx), REG(CX, cx), REG(DX, dx), REG(SI, si),
	REG(DI, di), REG(BP, bp), REG(SP, sp), REG(IP, ip), REG(FLAGS, flags),
	REG(CS, cs), REG(SS, ss), REG(R8, r8), REG(R9, r9), REG(R10, r10),
	REG(R11, r11), REG(R12, r12), REG(R13, r13), REG(R14, r14),
	REG(R15, r15),
};

/* Has the NMI interrupted entry code that is still saving the user's registers? */
static bool being_saved(const struct pt_regs *saved, const struct pt_regs *regs)
{
	return in_nmi() && regs->sp > (unsigned long)&saved->r11 &&
	       regs->sp <= (unsigned long)(saved + 1);
}

/*
 * The kernel has no stack pointer of its own only just after SYSCALL and before SYSRET.
 * All registers are the user's there, except CX and R11, which hold the user's IP and
 * flags, and SP, which the entry code may use to switch page tables.
 */
static bool around_syscall(struct pt_regs *to, const struct pt_regs *regs)
{
	if (regs->sp >= TASK_SIZE_MAX || regs->cx >= TASK_SIZE_MAX)
		return false;
	*to = *regs;
	to->ip = regs->cx;
	to->sp = 0;
	to->flags = regs->r11;
	to->cs = __USER_CS;
	to->ss = __USER_DS;
	return true;
}

/**
 * kpmu_regs_of_user() - user-mode registers of an event's task, for a hit in the kernel
 * @to: filled in; unknown registers are 0
 * @e: the event
 * @regs: kernel registers at the overflow
 *
 * Context: any, including NMI.
 */
void kpmu_regs_of_user(struct pt_regs *to, const struct kpmu_event *e,
		       const struct pt_regs *regs)
{
	struct task_struct *task = kpmu_task_of(e);
	struct pt_regs *saved = task_pt_regs(task);
	bool user = kpmu_is_user_task(task) && user_mode(saved) &&
		    saved->ip < TASK_SIZE_MAX;

	if (task == current && around_syscall(to, regs))
		return;
	if (user && (task != current || !being_saved(saved, regs))) {
		*to = *saved;
		return;
	}
	memset(to, 0, sizeof(*to));
	to->cs = __USER_CS;
	if (user)
		to->ip = saved->ip;
}

/* Registers that the entry code may not have saved; BP is reported all the same */
#define CALLEE_SAVED	(BIT_ULL(PERF_REG_X86_BX) |			\
			 GENMASK_ULL(PERF_REG_X86_R15, PERF_REG_X86_R12))

/**
 * kpmu_regs_abi() - register ABI of the code that current runs in user mode
 *
 * Context: any.
 * Return: PERF_SAMPLE_REGS_ABI_*.
 */
u64 kpmu_regs_abi(void)
{
	return user_64bit_mode(task_pt_regs(current)) ?
		PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_32;
}

/**
 * kpmu_user_regs_find() - find the user-mode registers for a sample
 * @u: filled in
 * @e: the event
 * @regs: registers at the overflow
 *
 * In an NMI the kernel may not have saved all registers yet: then there are none, or
 * @u->partial is set.  Registers of a task other than the event's are not disclosed.
 *
 * Context: any, including NMI.
 */
void kpmu_user_regs_find(struct kpmu_user_regs *u, const struct kpmu_event *e,
			 const struct pt_regs *regs)
{
	const struct pt_regs *saved = task_pt_regs(current);

	u->regs = NULL;
	u->abi = PERF_SAMPLE_REGS_ABI_NONE;
	u->partial = false;
	if (kpmu_task_of(e) != current)
		return;
	if (user_mode((struct pt_regs *)regs)) {
		u->regs = regs;
	} else if (!kpmu_is_user_task(current)) {
		return;
	} else if (in_nmi()) {
		if (being_saved(saved, regs))
			return;
		u->partial = true;
	}
	if (!u->regs)
		u->regs = saved;
	u->abi = kpmu_regs_abi();
}

/**
 * kpmu_regs_put() - write the registers selected by a mask
 * @r: the record
 * @regs: the registers
 * @mask: a bit for each of PERF_REG_X86_*
 * @partial: callee-saved registers are unknown and written as -1
 *
 * Context: as kpmu_record_put().
 */
void kpmu_regs_put(struct kpmu_record *r, const struct pt_regs *regs, u64 mask,
		   bool partial)
{
	u64 words[ARRAY_SIZE(offsets)], *p = words;

	for (; mask; mask &= mask - 1) {
		int i = __builtin_ctzll(mask);

		if (partial && CALLEE_SAVED & BIT_ULL(i))
			*p++ = -1;
		else
			*p++ = *(u64 *)((u8 *)regs + offsets[i]);
	}
	kpmu_record_put(r, words, (p - words) * sizeof(u64));
}

/**
 * kpmu_stack_size() - size of a sample's dump of the user stack
 * @u: user-mode registers
 * @asked: attr.sample_stack_user, in bytes
 * @room: bytes left in the record for the dump and its two size words
 *
 * Context: any.
 * Return: bytes, a multiple of 8; 0 if there is no stack.
 */
u32 kpmu_stack_size(const struct kpmu_user_regs *u, u32 asked, u32 room)
{
	u64 to_end;

	if (!u->regs || !current->mm || room < 2 * sizeof(u64))
		return 0;
	if (!u->regs->sp || u->regs->sp >= TASK_SIZE)
		return 0;
	to_end = TASK_SIZE - u->regs->sp;
	room -= 2 * sizeof(u64);
	return round_down(min_t(u64, min(asked, room), to_end), sizeof(u64));
}

/**
 * kpmu_stack_put() - write a dump of the user stack
 * @r: the record
 * @u: user-mode registers
 * @size: from kpmu_stack_size(), in bytes
 *
 * Written are the size, the dump, and the number of bytes that could be copied; without
 * a dump only the size.
 *
 * Context: as kpmu_record_put().
 */
void kpmu_stack_put(struct kpmu_record *r, const struct kpmu_user_regs *u,
		    u32 size)
{
	u64 word = size, done = 0, len, failed;
	void *to;

	kpmu_record_put(r, &word, sizeof(word));
	if (!size)
		return;
	while (done < size) {
		to = kpmu_ring_span(&r->h, &len);
		len = min_t(u64, len, size - done);
		failed = copy_from_user_nmi(to, (void __user *)(u->regs->sp + done),
					    len);
		kpmu_ring_skip(&r->h, len);
		done += len;
		if (failed) {
			word = done - failed;
			break;
		}
	}
	while (done < size) {
		kpmu_ring_span(&r->h, &len);
		len = min_t(u64, len, size - done);
		kpmu_ring_skip(&r->h, len);
		done += len;
	}
	kpmu_record_put(r, &word, sizeof(word));
}
