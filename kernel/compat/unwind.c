// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's deferred unwinding of user stacks.  Linux has it since 6.17, and its perf uses it since
 * 6.19: one stack for all samples that a task has taken since it entered the kernel, unwound where page
 * faults are allowed.
 */
#include <linux/kprobes.h>
#include <linux/version.h>

#include "ksym.h"
#include "unwind.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0) && defined(CONFIG_UNWIND_USER)

#include <linux/unwind_deferred.h>

static struct unwind_work work;
static kpmu_unwind_fn callback;
static bool registered;

static void unwound(struct unwind_work *w, struct unwind_stacktrace *trace, u64 cookie)
{
	callback(trace->entries, trace->nr, cookie);
}

/**
 * kpmu_unwind_init() - register with the kernel's deferred unwinding
 * @fn: called once for each entry into the kernel in which kpmu_unwind_request() was called, with
 *	the user stack (its length may be 0) and the cookie; may sleep
 *
 * Context: module init, may sleep.
 * Return: 0; -EOPNOTSUPP if the kernel has no such thing; -EBUSY if it has too many users.
 */
int kpmu_unwind_init(kpmu_unwind_fn fn)
{
	int err;

	if (!kpmu_ksym_has(KSYM_unwind_deferred_init) ||
	    !kpmu_ksym_has(KSYM_unwind_deferred_request) ||
	    !kpmu_ksym_has(KSYM_unwind_deferred_cancel))
		return -EOPNOTSUPP;
	callback = fn;
	err = kpmu_ksym_call(KSYM_unwind_deferred_init, (unsigned long)&work,
			     (unsigned long)unwound, 0, 0);
	registered = !err;
	return err;
}

/**
 * kpmu_unwind_exit() - undo kpmu_unwind_init(), whether it has succeeded or not
 *
 * Tasks whose stack was requested but not unwound yet do not call back any more.
 *
 * Context: module exit, may sleep; no event is left that could request one.
 */
void kpmu_unwind_exit(void)
{
	if (registered)
		kpmu_ksym_call(KSYM_unwind_deferred_cancel, (unsigned long)&work, 0, 0, 0);
	registered = false;
}

/**
 * kpmu_unwind_works() - can user stacks be unwound later?
 *
 * Context: any.
 * Return: true if kpmu_unwind_init() has succeeded.
 */
bool kpmu_unwind_works(void)
{
	return registered;
}

/**
 * kpmu_unwind_request() - have the user stack of the current task unwound when it leaves the kernel
 * @cookie: set to what identifies the stack; the same until the task leaves the kernel
 *
 * Context: any, including NMI.
 * Return: false if that is not possible, as for a task that exits.
 */
bool kpmu_unwind_request(u64 *cookie)
{
	return (int)kpmu_ksym_call(KSYM_unwind_deferred_request, (unsigned long)&work,
				   (unsigned long)cookie, 0, 0) >= 0;
}
NOKPROBE_SYMBOL(kpmu_unwind_request);

#else

int kpmu_unwind_init(kpmu_unwind_fn fn)
{
	return -EOPNOTSUPP;
}

void kpmu_unwind_exit(void)
{
}

bool kpmu_unwind_works(void)
{
	return false;
}

bool kpmu_unwind_request(u64 *cookie)
{
	return false;
}

#endif
