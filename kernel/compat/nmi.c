// SPDX-License-Identifier: GPL-2.0-only
/*
 * NMI handlers.  The kernel calls each local handler for each NMI, and reads the clock before and after it,
 * which costs more than what native perf's handler does while kpmu has the counters.  So kpmu's handler takes
 * the place of native perf's, and calls it only while native perf may have events.  Without native perf's
 * handler (no native PMU driver), kpmu's is registered as one more.
 */
#include <linux/rculist.h>

#include "nmi.h"

/* As long as it is not known how many events native perf has */
static const atomic_t unknown = ATOMIC_INIT(1);

/*
 * Native perf's action: it is never unregistered.  The walk also passes the list's head, which is in no
 * action: what is read as its handler lies in the kernel's array of lists, and is the address of none.
 */
static struct nmiaction *find_native(const struct kpmu_nmi *n)
{
	unsigned long handler = (unsigned long)kpmu_ksym_data(n->native);
	struct nmiaction *a, *found = NULL;

	if (!handler)
		return NULL;
	rcu_read_lock();
	list_for_each_entry_rcu(a, &n->own.list, list)
		if ((unsigned long)READ_ONCE(a->handler) == handler)
			found = a;
	rcu_read_unlock();
	return found;
}

/**
 * kpmu_nmi_init() - have a handler called for local NMIs
 * @n: @n->native and the name and flags of @n->own are set
 * @handler: the handler; it calls kpmu_nmi_native()
 *
 * Context: module init.
 * Return: 0 or an error.
 */
int kpmu_nmi_init(struct kpmu_nmi *n, nmi_handler_t handler)
{
	int err;

	if (!n->events)
		n->events = &unknown;
	n->own.handler = handler;
	INIT_LIST_HEAD(&n->own.list);
	err = __register_nmi_handler(NMI_LOCAL, &n->own);
	if (err)
		return err;
	n->place = find_native(n);
	if (!n->place)
		return 0;
	unregister_nmi_handler(NMI_LOCAL, n->own.name);
	n->before = n->place->handler;
	smp_store_release(&n->place->handler, handler);	/* after n->before */
	return 0;
}

/**
 * kpmu_nmi_exit() - have a handler called no more
 * @n: the handler
 *
 * Context: task, may sleep.
 */
void kpmu_nmi_exit(struct kpmu_nmi *n)
{
	if (!n->place) {
		unregister_nmi_handler(NMI_LOCAL, n->own.name);
		return;
	}
	WRITE_ONCE(n->place->handler, n->before);
	/* Handlers are called under RCU */
	synchronize_rcu();
	n->before = NULL;
	n->place = NULL;
}
