/* SPDX-License-Identifier: GPL-2.0-only */
/* Running BPF programs for overflows (BPF_PROG_TYPE_PERF_EVENT): bpf_run.c. */
#ifndef KPMU_BPF_RUN_H
#define KPMU_BPF_RUN_H

#include <linux/types.h>

struct bpf_prog;
struct pt_regs;

/**
 * struct kpmu_bpf_sample - what a program for overflows may see
 * @type: attr.type of the event
 * @config: attr.config of the event
 * @sample_type: attr.sample_type of the event, PERF_SAMPLE_*
 * @inherit: attr.inherit of the event: its values cannot be read
 * @cookie: bpf_get_attach_cookie()
 * @id: the event's id
 * @stream_id: the event's own id, if it is inherited
 * @regs: registers at the overflow
 * @period: event count since the previous overflow
 * @addr: data address, 0 if none
 * @time: time of the sample
 * @pid: id of the process
 * @tid: id of the thread
 * @weight: PERF_SAMPLE_WEIGHT or PERF_SAMPLE_WEIGHT_STRUCT
 * @data_src: PERF_SAMPLE_DATA_SRC
 * @txn: PERF_SAMPLE_TRANSACTION
 * @chain: call chain: number of words, then the words.  NULL if there is none
 * @branches: branch stack: number of entries, index, then the entries.  NULL if there is none
 * @event: argument of @read
 * @read: gets the event's count, time enabled and time running in ns.  Called by helpers in the
 *	context of the program
 */
struct kpmu_bpf_sample {
	u32 type;
	u64 config;
	u64 sample_type;
	bool inherit;
	u64 cookie;
	u64 id;
	u64 stream_id;
	struct pt_regs *regs;
	u64 period;
	u64 addr;
	u64 time;
	u32 pid;
	u32 tid;
	u64 weight;
	u64 data_src;
	u64 txn;
	const void *chain;
	const void *branches;
	void *event;
	void (*read)(void *event, u64 values[3]);
};

int kpmu_bpf_setup(void);
void kpmu_bpf_exit(void);
bool kpmu_bpf_can_run(void);
bool kpmu_bpf_enter(void);
u32 kpmu_bpf_run(const struct bpf_prog *prog, const struct kpmu_bpf_sample *s);
void kpmu_bpf_leave(void);

#endif
