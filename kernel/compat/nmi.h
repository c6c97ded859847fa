/* SPDX-License-Identifier: GPL-2.0-only */
/* The place of a PMU's handler among the kernel's NMI handlers. */
#ifndef KPMU_COMPAT_NMI_H
#define KPMU_COMPAT_NMI_H

#include <linux/atomic.h>
#include <asm/nmi.h>

#include "ksym.h"

/**
 * struct kpmu_nmi - a handler of local NMIs
 * @native: native perf's handler for the same PMU, whose place it takes
 * @events: not 0 if native perf may have events that its handler is for; NULL: not known
 * @own: its action in the kernel's list of handlers, if native perf's is not there
 * @place: native perf's action; NULL if @own is in the list
 * @before: the handler that @place had before
 */
struct kpmu_nmi {
	enum kpmu_ksym native;
	const atomic_t *events;
	struct nmiaction own;
	struct nmiaction *place;
	nmi_handler_t before;
};

int kpmu_nmi_init(struct kpmu_nmi *n, nmi_handler_t handler);
void kpmu_nmi_exit(struct kpmu_nmi *n);

/**
 * kpmu_nmi_native() - call the handler whose place kpmu's has taken
 * @n: kpmu's handler, whose last act this is
 * @regs: the registers
 *
 * Native perf may have events while kpmu has the counters: those of intel_pt and intel_bts reserve none.
 *
 * Context: NMI.
 * Return: number of overflows that native perf has handled; 0 if the kernel calls its handler itself.
 */
static __always_inline int kpmu_nmi_native(const struct kpmu_nmi *n, struct pt_regs *regs)
{
	return unlikely(atomic_read(n->events)) && n->before ? n->before(NMI_LOCAL, regs) : NMI_DONE;
}

#endif
