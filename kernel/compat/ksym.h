/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel functions and variables that are not exported, looked up by name. */
#ifndef KPMU_KSYM_H
#define KPMU_KSYM_H

#include <linux/types.h>

struct bpf_prog;
struct cgroup_subsys_state;
struct event_filter;
struct file;
struct file_operations;
struct pt_regs;
struct perf_event;
struct task_struct;
struct tracepoint;
struct vm_area_struct;

/* One row per symbol, function or variable */
#define KPMU_KSYMS(X)				\
	X(alloc_file_clone)			\
	X(ptrace_may_access)			\
	X(security_perf_event_open)		\
	X(security_perf_event_alloc)		\
	X(security_perf_event_free)		\
	X(security_perf_event_read)		\
	X(security_perf_event_write)		\
	X(sysctl_perf_event_paranoid)	\
	X(ftrace_enabled)			\
	X(pmc_refcount)			\
	X(active_events)			\
	X(perf_event_nmi_handler)		\
	X(perf_ibs_nmi_handler)			\
	X(x86_reserve_hardware)			\
	X(perf_create_mediated_pmu)		\
	X(nr_mediated_pmu_vms)			\
	X(watchdog_enabled)			\
	X(cr4_update_pce)			\
	X(perf_clear_dirty_counters)		\
	X(rdpmc_always_available_key)		\
	X(using_native_sched_clock)		\
	X(sched_clock_stable)			\
	X(cyc2ns_read_begin)			\
	X(cyc2ns_read_end)			\
	X(__sched_clock_offset)			\
	X(css_tryget_online_from_dir)		\
	X(perf_event_cgrp_subsys)		\
	X(pmu_bus)				\
	X(perf_kprobe)				\
	X(perf_uprobe)				\
	X(perf_cpu_clock)			\
	X(perf_task_clock)			\
	X(ftrace_profile_set_filter)		\
	X(ftrace_events)			\
	X(event_mutex)			\
	X(create_event_filter)			\
	X(free_event_filter)			\
	X(_perf_event_disable)			\
	X(_perf_event_enable)			\
	X(modify_user_hw_breakpoint_check)	\
	X(register_perf_hw_breakpoint)		\
	X(release_bp_slot)			\
	X(arch_install_hw_breakpoint)		\
	X(arch_uninstall_hw_breakpoint)		\
	X(bpf_prog_get)				\
	X(bpf_prog_active)			\
	X(bpf_link_init)			\
	X(bpf_link_prime)			\
	X(bpf_link_settle)			\
	X(bpf_link_cleanup)			\
	X(security_bpf)			\
	X(perf_event_free_bpf_prog)		\
	X(perf_event_set_bpf_prog)		\
	X(perf_event_query_prog_array)		\
	X(build_id_parse)			\
	X(build_id_parse_nofault)		\
	X(nmi_uaccess_okay)			\
	X(perf_guest_cbs)			\
	X(unwind_deferred_init)			\
	X(unwind_deferred_request)		\
	X(unwind_deferred_cancel)		\
	X(kernel_text_address)			\
	X(reserve_ds_buffers)			\
	X(release_ds_buffers)			\
	X(__x64_sys_perf_event_open)		\
	X(__ia32_sys_perf_event_open)

#define KPMU_KSYM_ENUM(name) KSYM_##name,
enum kpmu_ksym { KPMU_KSYMS(KPMU_KSYM_ENUM) KSYM_NR };
#undef KPMU_KSYM_ENUM

/* thunk.S: call fn(a0 .. a4), also where IBT forbids an indirect call */
unsigned long kpmu_thunk(unsigned long fn, unsigned long a0, unsigned long a1,
			 unsigned long a2, unsigned long a3, unsigned long a4);

int kpmu_ksym_init(void);
unsigned long kpmu_ksym_find(const char *name);
const char *kpmu_ksym_name(enum kpmu_ksym sym);
bool kpmu_ksym_has(enum kpmu_ksym sym);
bool kpmu_ksym_optional(enum kpmu_ksym sym);
void *kpmu_ksym_data(enum kpmu_ksym sym);
unsigned long kpmu_ksym_call(enum kpmu_ksym sym, unsigned long a0,
			     unsigned long a1, unsigned long a2,
			     unsigned long a3);
unsigned long kpmu_ksym_call5(enum kpmu_ksym sym, unsigned long a0, unsigned long a1, unsigned long a2,
			      unsigned long a3, unsigned long a4);

/* Typed wrappers; only this directory uses kpmu_ksym_call() itself */
bool kpmu_ptrace_may_read(struct task_struct *task, bool *known);
bool kpmu_ptrace_may_attach(struct task_struct *task, bool *known);
int kpmu_lsm_open(int class, u32 type, u64 config);
int kpmu_native_paranoid(void);
void kpmu_cr4_update_pce(void);
void kpmu_native_forget(void);
struct cgroup_subsys_state *kpmu_css_of_fd(int fd);
bool kpmu_uaccess_okay(bool *known);
bool kpmu_is_kernel_text(unsigned long ip);
u32 kpmu_build_id(struct vm_area_struct *vma, u8 *id);
struct file *kpmu_file_clone(struct file *model, int flags, const struct file_operations *fops);

/**
 * struct kpmu_tracepoint - the source of the hits of a tracepoint id
 * @tp: the tracepoint; NULL for the entry or exit of one system call
 * @module: the module that defines @tp, NULL if none
 * @syscall: without @tp: the system call's number
 * @exit: without @tp: its exit, not its entry
 */
struct kpmu_tracepoint {
	struct tracepoint *tp;
	struct module *module;
	int syscall;
	bool exit;
};

/* lsm.c */
int kpmu_lsm_alloc(struct perf_event **label, u32 type, u64 config);
void kpmu_lsm_free(struct perf_event *label);
int kpmu_lsm_read(struct perf_event *label);
int kpmu_lsm_write(struct perf_event *label);
void kpmu_lsm_init(void);
void kpmu_lsm_exit(void);

/* native.c */
u32 kpmu_native_type(enum kpmu_ksym pmu);
u32 kpmu_native_named_type(const char *name);
int kpmu_native_filter(struct perf_event *event, u64 id, char *filter);
struct event_filter *kpmu_native_filter_new(struct perf_event *event, char *filter);
void kpmu_native_filter_free(struct event_filter *filter);
bool kpmu_tracepoint_is_open(u64 id);
bool kpmu_tracepoints_open(void);
bool kpmu_tracepoint_find(const struct perf_event *event,
			  struct kpmu_tracepoint *t);
struct bpf_prog *kpmu_native_program(int fd);
int kpmu_native_set_bpf(struct perf_event *event, struct bpf_prog *prog, u64 cookie);
void kpmu_native_unset_bpf(struct perf_event *event);
int kpmu_native_query_bpf(struct perf_event *event, void __user *query);

/* native_move.c */
int kpmu_native_move(struct perf_event *event, u64 addr, u32 type, u64 len);

#endif
