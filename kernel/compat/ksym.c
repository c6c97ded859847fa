// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel symbols by name.  kallsyms_lookup_name() is not exported, but a kprobe
 * on it yields its address; functions are then called through kpmu_thunk().
 * Every symbol is optional: its callers check for it, and apply stricter rules if
 * it is missing.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/security.h>
#include <linux/static_call.h>
#include <asm/vsyscall.h>

#include "compat.h"
#include "ksym.h"

static unsigned long addr[KSYM_NR] __ro_after_init;
static unsigned long lookup __ro_after_init;

#define KPMU_KSYM_NAME(name) #name,
static const char *const names[KSYM_NR] = { KPMU_KSYMS(KPMU_KSYM_NAME) };

/*
 * The functions that each open calls.  A static call is a direct one, so IBT permits it, and it
 * costs less than kpmu_thunk().
 */
typedef int (*lsm_open_fn)(unsigned long first, unsigned long second);
typedef struct file *(*file_clone_fn)(struct file *model, int flags,
				      const struct file_operations *fops);

DEFINE_STATIC_CALL_NULL(kpmu_direct_lsm_open, *(lsm_open_fn)NULL);
DEFINE_STATIC_CALL_NULL(kpmu_direct_file_clone, *(file_clone_fn)NULL);

static int ignore_kprobe(struct kprobe *p, struct pt_regs *regs)
{
	return 0;
}

/**
 * kpmu_ksym_find() - look up the address of any symbol, in the table or not
 * @name: name of the symbol
 *
 * Context: may sleep.
 * Return: the address; 0 if it was not found, or no lookup is possible.
 */
unsigned long kpmu_ksym_find(const char *name)
{
	return lookup ? kpmu_thunk(lookup, (unsigned long)name, 0, 0, 0, 0) : 0;
}

/**
 * kpmu_ksym_init() - look up the symbols of the table
 *
 * Context: module init, may sleep.
 * Return: 0, or the error of the kprobe on kallsyms_lookup_name(); then all
 * symbols are missing, and the features that need them are off.
 */
int __init kpmu_ksym_init(void)
{
	struct kprobe kp = {
		.symbol_name = "kallsyms_lookup_name",
		.pre_handler = ignore_kprobe,
	};
	int i, err;

	err = register_kprobe(&kp);
	if (err)
		return err;
	lookup = (unsigned long)kp.addr;
	unregister_kprobe(&kp);

	for (i = 0; i < KSYM_NR; i++)
		addr[i] = kpmu_ksym_find(names[i]);
	static_call_update(kpmu_direct_lsm_open, (lsm_open_fn)addr[KSYM_security_perf_event_open]);
	static_call_update(kpmu_direct_file_clone, (file_clone_fn)addr[KSYM_alloc_file_clone]);
	return 0;
}

/**
 * kpmu_ksym_name() - name of a symbol of the table
 * @sym: the symbol
 *
 * Context: any.
 * Return: the name, as in the kernel's symbol table.
 */
const char *kpmu_ksym_name(enum kpmu_ksym sym)
{
	return names[sym];
}

/**
 * kpmu_ksym_has() - check whether a symbol was found
 * @sym: the symbol
 *
 * Context: any.
 * Return: true if it was found.
 */
bool kpmu_ksym_has(enum kpmu_ksym sym)
{
	return addr[sym];
}

/**
 * kpmu_ksym_optional() - check whether some supported kernels lack a symbol
 * @sym: the symbol
 *
 * Context: any.
 * Return: true if kpmu works without it.
 */
bool kpmu_ksym_optional(enum kpmu_ksym sym)
{
	return sym == KSYM_perf_create_mediated_pmu ||
	       sym == KSYM_nr_mediated_pmu_vms ||
	       sym == KSYM___ia32_sys_perf_event_open ||
	       sym == KSYM_perf_cpu_clock || sym == KSYM_perf_task_clock ||
	       (sym == KSYM_perf_guest_cbs && !IS_ENABLED(CONFIG_GUEST_PERF_EVENTS)) ||
	       (sym == KSYM_perf_ibs_nmi_handler && !IS_ENABLED(CONFIG_CPU_SUP_AMD)) ||
	       sym == KSYM_build_id_parse_nofault ||
	       sym == KSYM_unwind_deferred_init || sym == KSYM_unwind_deferred_request ||
	       sym == KSYM_unwind_deferred_cancel;
}

/**
 * kpmu_ksym_data() - address of an unexported variable, or of a function that is only compared
 * @sym: the symbol
 *
 * Context: any.
 * Return: the address, NULL if it was not found.
 */
void *kpmu_ksym_data(enum kpmu_ksym sym)
{
	return (void *)addr[sym];
}

/**
 * kpmu_ksym_call() - call an unexported function
 * @sym: the symbol; kpmu_ksym_has() must be true
 * @a0: first argument; arguments that the function does not take are ignored
 * @a1: second argument
 * @a2: third argument
 * @a3: fourth argument
 *
 * Context: as for the function.
 * Return: its return register; narrow it to the function's return type.
 */
unsigned long kpmu_ksym_call(enum kpmu_ksym sym, unsigned long a0,
			     unsigned long a1, unsigned long a2,
			     unsigned long a3)
{
	return kpmu_thunk(addr[sym], a0, a1, a2, a3, 0);
}

/**
 * kpmu_ksym_call5() - kpmu_ksym_call() with one more argument
 * @sym: the symbol; kpmu_ksym_has() must be true
 * @a0: first argument
 * @a1: second argument
 * @a2: third argument
 * @a3: fourth argument
 * @a4: fifth argument
 *
 * Context: as for the function.
 * Return: as kpmu_ksym_call().
 */
unsigned long kpmu_ksym_call5(enum kpmu_ksym sym, unsigned long a0, unsigned long a1, unsigned long a2,
			      unsigned long a3, unsigned long a4)
{
	return kpmu_thunk(addr[sym], a0, a1, a2, a3, a4);
}

static bool may_access(struct task_struct *task, unsigned int mode, bool *known)
{
	*known = addr[KSYM_ptrace_may_access];
	return *known && (kpmu_ksym_call(KSYM_ptrace_may_access,
					 (unsigned long)task, mode, 0, 0) & 0xff);
}

/**
 * kpmu_ptrace_may_read() - check whether current may observe a task (READ_REALCREDS)
 * @task: the task
 * @known: set to false if the kernel's check was not found; the caller must
 *	then apply a stricter rule
 *
 * Context: may take task_lock(); hold signal->exec_update_lock so that the
 * result stays valid.
 * Return: false also if unknown.
 */
bool kpmu_ptrace_may_read(struct task_struct *task, bool *known)
{
	return may_access(task, PTRACE_MODE_READ_REALCREDS, known);
}

/**
 * kpmu_ptrace_may_attach() - check whether current may control a task (ATTACH_REALCREDS)
 * @task: the task
 * @known: as for kpmu_ptrace_may_read()
 *
 * Context: as for kpmu_ptrace_may_read().
 * Return: false also if unknown.
 */
bool kpmu_ptrace_may_attach(struct task_struct *task, bool *known)
{
	return may_access(task, PTRACE_MODE_ATTACH_REALCREDS, known);
}

/**
 * kpmu_lsm_open() - check whether the security modules permit to open an event
 * @class: PERF_SECURITY_OPEN, _CPU, _KERNEL or _TRACEPOINT
 * @type: attr.type of the event
 * @config: attr.config of the event
 *
 * Context: may sleep.
 * Return: 0, or a module's error; -EACCES if the kernel has security modules, but
 * its hook was not found.
 */
int kpmu_lsm_open(int class, u32 type, u64 config)
{
	/* Before 6.16 modules get an attr, of which only these fields are provided */
	struct perf_event_attr attr = {
		.type = type, .size = sizeof(attr), .config = config,
	};

	if (!IS_ENABLED(CONFIG_SECURITY))
		return 0;
	if (!addr[KSYM_security_perf_event_open])
		return -EACCES;
	if (KPMU_LSM_OPEN_TAKES_ATTR)
		return static_call(kpmu_direct_lsm_open)((unsigned long)&attr, class);
	return static_call(kpmu_direct_lsm_open)(class, 0);
}

/* Above all of upstream's levels: everything requires CAP_SYS_ADMIN */
#define STRICTEST	3

/**
 * kpmu_native_paranoid() - current value of sysctl kernel.perf_event_paranoid
 *
 * Context: any.
 * Return: the level; the strictest one if it was not found.
 */
int kpmu_native_paranoid(void)
{
	const int *p = kpmu_ksym_data(KSYM_sysctl_perf_event_paranoid);

	return p ? READ_ONCE(*p) : STRICTEST;
}

/**
 * kpmu_cr4_update_pce() - set CR4.PCE of this CPU as its current mm permits
 *
 * If the kernel's function was not found, CR4 is updated at the next switch of mm.
 *
 * Context: IRQs off.
 */
void kpmu_cr4_update_pce(void)
{
	if (addr[KSYM_cr4_update_pce])
		kpmu_ksym_call(KSYM_cr4_update_pce, 0, 0, 0, 0);
}

/**
 * kpmu_native_forget() - make the kernel's own perf clear its dirty counters now
 *
 * The kernel's perf remembers the counters in which its events left a value, and
 * zeroes them at the next switch to an mm that may execute RDPMC.  By then kpmu may
 * be using them.
 *
 * Context: on the CPU, IRQs off, no kpmu event on a counter.
 */
void kpmu_native_forget(void)
{
	if (addr[KSYM_perf_clear_dirty_counters])
		kpmu_ksym_call(KSYM_perf_clear_dirty_counters, 0, 0, 0, 0);
}

/**
 * kpmu_uaccess_okay() - may user memory of current be accessed now?
 * @known: set to false if the kernel's check was not found
 *
 * It must not while the page tables of another mm are loaded: an NMI may interrupt a switch of
 * them.  The result is valid until the caller's context ends.
 *
 * Context: any, including NMI; preemption off.
 * Return: false also if unknown.
 */
bool kpmu_uaccess_okay(bool *known)
{
	*known = addr[KSYM_nmi_uaccess_okay];
	return *known && (kpmu_ksym_call(KSYM_nmi_uaccess_okay, 0, 0, 0, 0) & 0xff);
}

/**
 * kpmu_is_kernel_text() - does an address belong to code of the kernel or of a module?
 * @ip: the address
 *
 * The vsyscall page, which the kernel counts as its own, is code of user space.
 *
 * Context: any, including NMI.
 * Return: false also if it cannot be found out.
 */
bool kpmu_is_kernel_text(unsigned long ip)
{
	if ((ip & PAGE_MASK) == VSYSCALL_ADDR || !addr[KSYM_kernel_text_address])
		return false;
	return (int)kpmu_ksym_call(KSYM_kernel_text_address, ip, 0, 0, 0);
}

/**
 * kpmu_build_id() - read the build ID of a mapped file
 * @vma: the mapping
 * @id: buffer of 20 bytes, filled in if there is a build ID
 *
 * Only pages in memory are read; from 6.12 on the kernel has a separate function
 * for that.
 *
 * Context: any; the mapping must not go away.
 * Return: bytes of the ID; 0 if there is none, or it cannot be read.
 */
u32 kpmu_build_id(struct vm_area_struct *vma, u8 *id)
{
	enum kpmu_ksym sym = addr[KSYM_build_id_parse_nofault] ?
		KSYM_build_id_parse_nofault : KSYM_build_id_parse;
	u32 size = 0;

	if (!addr[sym] || !vma->vm_file)
		return 0;
	if ((int)kpmu_ksym_call(sym, (unsigned long)vma, (unsigned long)id,
				(unsigned long)&size, 0))
		return 0;
	return size;
}

/**
 * kpmu_native_filter_new() - make a filter for the records of a tracepoint
 * @event: an event of the kernel's perf for the tracepoint, held during the call
 * @filter: in ftrace's filter syntax
 *
 * Context: task, may sleep.
 * Return: the filter, for filter_match_preds(), to be freed by
 * kpmu_native_filter_free(); -EINVAL for a bad filter, -ENOMEM; -EOPNOTSUPP if the
 * kernel's functions were not found.
 */
struct event_filter *kpmu_native_filter_new(struct perf_event *event, char *filter)
{
	struct mutex *lock = kpmu_ksym_data(KSYM_event_mutex);
	struct event_filter *made = NULL;
	int err;

	if (!lock || !addr[KSYM_create_event_filter] ||
	    !addr[KSYM_free_event_filter])
		return ERR_PTR(-EOPNOTSUPP);
	mutex_lock(lock);
	err = kpmu_thunk(addr[KSYM_create_event_filter], 0,
			 (unsigned long)event->tp_event, (unsigned long)filter,
			 false, (unsigned long)&made);
	mutex_unlock(lock);
	if (!err)
		return made;
	/* After a syntax error there is an empty filter, which holds the message */
	if (made)
		kpmu_native_filter_free(made);
	return ERR_PTR(err);
}

/**
 * kpmu_native_filter_free() - free a filter
 * @filter: from kpmu_native_filter_new(), no longer in use
 *
 * Context: any but NMI and hard IRQ.
 */
void kpmu_native_filter_free(struct event_filter *filter)
{
	kpmu_ksym_call(KSYM_free_event_filter, (unsigned long)filter, 0, 0, 0);
}

/**
 * kpmu_css_of_fd() - look up the cgroup of an fd
 * @fd: fd of the cgroup's directory
 *
 * Context: task, may sleep.
 * Return: the cgroup in the hierarchy of the perf_event controller, held; -EBADF if
 * the fd is not open or not a cgroup's; -ENOENT if the cgroup was removed;
 * -EOPNOTSUPP if the kernel's function was not found.
 */
struct cgroup_subsys_state *kpmu_css_of_fd(int fd)
{
	void *subsys = kpmu_ksym_data(KSYM_perf_event_cgrp_subsys);
	struct file *file = fget(fd);
	unsigned long css;

	if (!file)
		return ERR_PTR(-EBADF);
	if (subsys && addr[KSYM_css_tryget_online_from_dir])
		css = kpmu_ksym_call(KSYM_css_tryget_online_from_dir,
				     (unsigned long)file->f_path.dentry,
				     (unsigned long)subsys, 0, 0);
	else
		css = -EOPNOTSUPP;
	fput(file);
	return (void *)css;
}

/* Whether events of inotify and fanotify are reported: as for the model */
static void copy_notify_mode(struct file *file, const struct file *model)
{
#ifdef FMODE_FSNOTIFY_MASK
	file->f_mode = (file->f_mode & ~FMODE_FSNOTIFY_MASK) |
		       (model->f_mode & FMODE_FSNOTIFY_MASK);
#endif
}

/**
 * kpmu_file_clone() - create a file at the same place as another one
 * @model: the other file
 * @flags: O_RDONLY, O_WRONLY or O_RDWR
 * @fops: operations of the new file; takes no reference to their module
 *
 * Both files have the same directory entry, name and inode.
 *
 * Context: task, may sleep.
 * Return: the file; -ENFILE, -ENOMEM, an error of a security module; -EOPNOTSUPP if the
 * kernel's function was not found.
 */
struct file *kpmu_file_clone(struct file *model, int flags, const struct file_operations *fops)
{
	struct file *file;

	if (!addr[KSYM_alloc_file_clone])
		return ERR_PTR(-EOPNOTSUPP);
	file = static_call(kpmu_direct_file_clone)(model, flags, fops);
	if (!IS_ERR(file))
		copy_notify_mode(file, model);
	return file;
}
