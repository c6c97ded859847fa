/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF program of an event that is run at its overflows: program.c. */
#ifndef KPMU_PROGRAM_H
#define KPMU_PROGRAM_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>

#include "event.h"

struct bpf_prog;

/**
 * struct kpmu_program - the program of an event, and of the events inherited from it since
 * @ref: one for each of them
 * @prog: the program; NULL once it is detached, read under RCU
 * @cookie: for bpf_get_attach_cookie()
 * @rcu: frees it after a grace period
 */
struct kpmu_program {
	refcount_t ref;
	struct bpf_prog __rcu *prog;
	u64 cookie;
	struct rcu_head rcu;
};

int kpmu_program_set(struct kpmu_event *e, struct bpf_prog *prog, u64 cookie);
void kpmu_program_unset(struct kpmu_event *e);
void kpmu_program_inherit(struct kpmu_event *child, const struct kpmu_event *from);
void kpmu_program_leave(struct kpmu_event *e);

#endif
