/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's functions for BPF links, which it does not export. */
#ifndef KPMU_BPF_LINK_H
#define KPMU_BPF_LINK_H

#include <linux/bpf.h>
#include <linux/types.h>

#include "ksym.h"

bool kpmu_bpf_links_ok(void);
int kpmu_bpf_permit(int cmd, union bpf_attr *attr, u32 size);
void kpmu_bpf_link_init(struct bpf_link *link, const struct bpf_link_ops *ops, struct bpf_prog *prog);
int kpmu_bpf_link_prime(struct bpf_link *link, struct bpf_link_primer *primer);
int kpmu_bpf_link_settle(struct bpf_link_primer *primer);
void kpmu_bpf_link_cleanup(struct bpf_link_primer *primer);
void kpmu_bpf_link_describe(struct bpf_link_info *info, u32 type, u64 config, u64 cookie);

#endif
