/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Side-band records: what tasks and the kernel do.  They are written for enabled events
 * whose attr requests them, whether or not the event is on a counter.
 *
 * All functions here are called from hooks, possibly in atomic context, except
 * kpmu_side_namespaces_setup().
 */
#ifndef KPMU_SIDE_H
#define KPMU_SIDE_H

#include "record.h"

struct bpf_prog;
struct cgroup_subsys_state;
struct kpmu_ctx;
struct vm_area_struct;

/* Any of these flags selects FORK and EXIT records; mmap2 alone does not arm the hooks */
#define KPMU_SIDE_TASK	(KPMU_ATTR_TASK | KPMU_ATTR_COMM | KPMU_ATTR_MMAP | \
			 KPMU_ATTR_MMAP2 | KPMU_ATTR_MMAP_DATA)

typedef void (*kpmu_side_fn)(struct kpmu_event *e, void *data);

/* side_band.c: delivery to events */
bool kpmu_side_wants(const struct kpmu_event *e, u64 flags);
bool kpmu_side_wanted(u64 flags);
void kpmu_side_write(u64 flags, kpmu_side_fn fn, void *data);
void kpmu_side_write_cpu(u64 flags, kpmu_side_fn fn, void *data);

/* The *_record.c of what tasks do */
void kpmu_side_comm(struct task_struct *task, bool exec);
void kpmu_side_fork(struct task_struct *task);
void kpmu_side_exit_ctx(struct kpmu_ctx *ctx);
void kpmu_side_exit_cpu(struct task_struct *task);
void kpmu_side_task(struct kpmu_event *e, u32 type, struct task_struct *task);
void kpmu_side_namespaces(struct task_struct *task);
void kpmu_side_namespaces_setup(void);
void kpmu_side_mmap(struct vm_area_struct *vma);
void kpmu_side_switch(struct task_struct *task, struct task_struct *other,
		      bool in);

/* kernel_record.c: changes of the kernel's text; cgroup_record.c: new cgroups */
void kpmu_side_ksymbol(u16 type, u64 addr, u32 len, bool unregister,
		       const char *name);
void kpmu_side_bpf(const struct bpf_prog *prog, u16 type, u16 flags);
void kpmu_side_text_poke(const void *addr, const void *old, u32 old_len,
			 const void *new, u32 new_len);
void kpmu_side_cgroup(struct cgroup_subsys_state *css);

/* deferred_record.c: user stacks of samples that were taken in the kernel */
void kpmu_side_deferred(const unsigned long *ips, u32 nr, u64 cookie);

#endif
