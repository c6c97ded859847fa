/* SPDX-License-Identifier: GPL-2.0-only */
/* PERF_RECORD_SAMPLE.  perf_event_open(2), "MMAP layout", PERF_SAMPLE_*. */
#ifndef KPMU_SAMPLE_H
#define KPMU_SAMPLE_H

#include <linux/ptrace.h>

#include "../compat/guest.h"
#include "record.h"

/* Data source word without information: every field is "not available" */
#define KPMU_NO_DATA_SRC	0x1e05080021ULL

bool kpmu_sample_write(struct kpmu_event *e, const struct kpmu_hit *s);
bool kpmu_sample_count(struct kpmu_event *e, const struct kpmu_hit *hit);
const struct kpmu_branches *kpmu_sample_branches(const struct kpmu_event *e, const struct kpmu_hit *s);
u64 kpmu_sample_time(const struct kpmu_event *e, const struct kpmu_hit *s);
u64 kpmu_sample_cgroup(const struct kpmu_event *e);
void kpmu_sample_write_batch(struct kpmu_event *e, const struct kpmu_hit *s,
			     struct kpmu_batch *batch);

/**
 * struct kpmu_frames - a call chain
 * @nr: words in @ip
 * @ip: addresses, innermost first, with context markers (PERF_CONTEXT_*) between them
 */
struct kpmu_frames {
	u64 nr;
	u64 ip[];
};

/**
 * struct kpmu_user_regs - user-mode registers for a sample
 * @regs: the registers; NULL if unknown
 * @abi: PERF_SAMPLE_REGS_ABI_*
 * @partial: callee-saved registers are not valid
 */
struct kpmu_user_regs {
	const struct pt_regs *regs;
	u64 abi;
	bool partial;
};

/**
 * struct kpmu_filling - a sample being written
 * @e: the event
 * @s: details of the hit, from the event's source
 * @r: the record
 * @room: bytes left until the record has its largest size
 * @chain: the call chain, NULL if there is none
 * @branches: the branch stack, NULL if there is none
 * @nr_branches: entries of it in the sample
 * @user: user-mode registers
 * @stack: bytes of the user stack in the sample
 * @aux: the AUX area of its group, or NULL
 * @aux_end: aux->written when the sample was measured
 * @aux_size: bytes of trace data in the sample
 */
struct kpmu_filling {
	struct kpmu_event *e;
	const struct kpmu_hit *s;
	struct kpmu_record r;
	u32 room;
	const struct kpmu_frames *chain;
	const struct kpmu_branches *branches;
	u32 nr_branches;
	struct kpmu_user_regs user;
	u32 stack;
	const struct kpmu_aux *aux;
	u64 aux_end;
	u32 aux_size;
};

/**
 * kpmu_hit_ip() - where a hit was
 * @s: details of the hit, from the event's source
 *
 * Context: any.
 * Return: the instruction pointer, of the guest if it has ended the run of one.
 */
static inline u64 kpmu_hit_ip(const struct kpmu_hit *s)
{
	return unlikely(s->guest) ? s->guest->ip : instruction_pointer(s->regs);
}

/**
 * kpmu_fill_word() - append a word to a sample
 * @f: the sample, with room reserved by kpmu_record_room()
 * @word: the word
 *
 * Context: as kpmu_record_room(), before kpmu_record_done().
 */
static inline void kpmu_fill_word(struct kpmu_filling *f, u64 word)
{
	kpmu_ring_put(&f->r.h, &word, sizeof(word));
}

/* read_format.c */
u32 kpmu_values_size(const struct kpmu_event *e);
void kpmu_values_put(struct kpmu_record *r, struct kpmu_event *e);
void kpmu_values_get(struct kpmu_event *e, u64 *count, struct kpmu_times *times);

/* chain.c */
int kpmu_chains_get(void);
void kpmu_chains_put(void);
int kpmu_chains_limit(int *limit, int value);
void kpmu_chains_exit(void);
bool kpmu_is_unmapped(unsigned long addr);
const struct kpmu_frames *kpmu_chain_take(const struct kpmu_event *e,
					  const struct kpmu_hit *hit);
void kpmu_chain_done(void);

/* regs.c */
void kpmu_regs_of_user(struct pt_regs *to, const struct kpmu_event *e,
		       const struct pt_regs *regs);
void kpmu_user_regs_find(struct kpmu_user_regs *u, const struct kpmu_event *e,
			 const struct pt_regs *regs);
u64 kpmu_regs_abi(void);
void kpmu_regs_put(struct kpmu_record *r, const struct pt_regs *regs, u64 mask,
		   bool partial);
u32 kpmu_stack_size(const struct kpmu_user_regs *u, u32 asked, u32 room);
void kpmu_stack_put(struct kpmu_record *r, const struct kpmu_user_regs *u,
		    u32 size);

/* aux_record.c */
void kpmu_aux_trace(struct kpmu_event *e, struct kpmu_hit *hit);
void kpmu_aux_output(struct kpmu_event *e, const struct kpmu_hit *hit);
void kpmu_aux_follow(struct kpmu_event *e, bool running);
u32 kpmu_branches_size(struct kpmu_filling *f);
void kpmu_branches_put(struct kpmu_filling *f);
u32 kpmu_aux_size(struct kpmu_filling *f);
void kpmu_aux_field(struct kpmu_filling *f);

/* addr.c */
u64 kpmu_phys_of(u64 addr);
u64 kpmu_page_size_of(u64 addr);

#endif
