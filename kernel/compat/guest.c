// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guests of KVM.  A PMI ends a guest's run: the NMI interrupts the host, in KVM.  While KVM lets such an
 * NMI in, it tells the kernel's own perf where the guest was, by functions that it has registered.
 */
#include <linux/perf_event.h>
#include <linux/rcupdate.h>

#include "guest.h"
#include "ksym.h"

#ifdef CONFIG_GUEST_PERF_EVENTS
/**
 * kpmu_guest_find() - has the current interrupt or NMI ended the run of a guest?
 * @g: set to where the guest was
 *
 * Context: any, including NMI.
 * Return: true if it has.
 */
bool kpmu_guest_find(struct kpmu_guest *g)
{
	struct perf_guest_info_callbacks __rcu **registered = kpmu_ksym_data(KSYM_perf_guest_cbs);
	struct perf_guest_info_callbacks *kvm;
	unsigned int state = 0;

	if (!registered || likely(!rcu_access_pointer(*registered)))
		return false;
	rcu_read_lock();	/* KVM waits for it when it is unloaded */
	kvm = rcu_dereference(*registered);
	if (kvm)
		state = kvm->state();
	if (state) {
		g->mode = state & PERF_GUEST_USER ? PERF_RECORD_MISC_GUEST_USER :
						    PERF_RECORD_MISC_GUEST_KERNEL;
		g->ip = kvm->get_ip();
	}
	rcu_read_unlock();
	return state;
}
#else
bool kpmu_guest_find(struct kpmu_guest *g)
{
	return false;	/* a kernel without KVM */
}
#endif
