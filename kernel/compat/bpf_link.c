// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's functions for BPF links, which it does not export. */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/version.h>

#include "bpf_link.h"
#include "ksym.h"

/**
 * kpmu_bpf_links_ok() - were the kernel's functions for links found?
 *
 * Context: any.
 * Return: true if all of them were.
 */
bool kpmu_bpf_links_ok(void)
{
	return kpmu_ksym_has(KSYM_bpf_prog_get) && kpmu_ksym_has(KSYM_bpf_link_init) &&
	       kpmu_ksym_has(KSYM_bpf_link_prime) && kpmu_ksym_has(KSYM_bpf_link_settle) &&
	       kpmu_ksym_has(KSYM_bpf_link_cleanup) && kpmu_ksym_has(KSYM_perf_event_free_bpf_prog) &&
	       (kpmu_ksym_has(KSYM_security_bpf) || !IS_ENABLED(CONFIG_SECURITY));
}

/**
 * kpmu_bpf_permit() - check whether the security modules permit a command of bpf(2)
 * @cmd: the command
 * @attr: its argument
 * @size: size of the argument in user memory, in bytes
 *
 * Context: task, may sleep; kpmu_bpf_links_ok().
 * Return: 0, or a module's error.
 */
int kpmu_bpf_permit(int cmd, union bpf_attr *attr, u32 size)
{
	if (!kpmu_ksym_has(KSYM_security_bpf))
		return 0;
	size = min_t(u32, size, sizeof(*attr));
	return kpmu_ksym_call(KSYM_security_bpf, cmd, (unsigned long)attr, size, 0);
}

/**
 * kpmu_bpf_link_init() - set up a link
 * @link: the link, zeroed
 * @ops: its operations
 * @prog: its program, which has a reference for the link
 *
 * From 6.18 on a link has the type of its attachment.
 *
 * Context: task; kpmu_bpf_links_ok().
 */
void kpmu_bpf_link_init(struct bpf_link *link, const struct bpf_link_ops *ops, struct bpf_prog *prog)
{
	kpmu_ksym_call5(KSYM_bpf_link_init, (unsigned long)link, BPF_LINK_TYPE_PERF_EVENT,
			(unsigned long)ops, (unsigned long)prog, BPF_PERF_EVENT);
}

/**
 * kpmu_bpf_link_prime() - prepare the id, the file and the fd of a link
 * @link: the link
 * @primer: set to them
 *
 * Context: task, may sleep; kpmu_bpf_links_ok().
 * Return: 0 or an error.
 */
int kpmu_bpf_link_prime(struct bpf_link *link, struct bpf_link_primer *primer)
{
	return kpmu_ksym_call(KSYM_bpf_link_prime, (unsigned long)link, (unsigned long)primer, 0, 0);
}

/**
 * kpmu_bpf_link_settle() - publish the id and the fd of a link
 * @primer: from kpmu_bpf_link_prime()
 *
 * Context: task; kpmu_bpf_links_ok().
 * Return: the fd.
 */
int kpmu_bpf_link_settle(struct bpf_link_primer *primer)
{
	return kpmu_ksym_call(KSYM_bpf_link_settle, (unsigned long)primer, 0, 0, 0);
}

/**
 * kpmu_bpf_link_cleanup() - undo kpmu_bpf_link_prime()
 * @primer: from kpmu_bpf_link_prime()
 *
 * The link is freed by its operation dealloc; its operation release is not called.
 *
 * Context: task, may sleep; kpmu_bpf_links_ok().
 */
void kpmu_bpf_link_cleanup(struct bpf_link_primer *primer)
{
	kpmu_ksym_call(KSYM_bpf_link_cleanup, (unsigned long)primer, 0, 0, 0);
}

/**
 * kpmu_bpf_link_describe() - describe a link to user space, where the kernel can
 * @info: set to the description
 * @type: attr.type of the link's event
 * @config: attr.config of the event
 * @cookie: of the link
 *
 * Links of perf events have a description from 6.6 on.
 *
 * Context: task.
 */
void kpmu_bpf_link_describe(struct bpf_link_info *info, u32 type, u64 config, u64 cookie)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	info->perf_event.type = BPF_PERF_EVENT_EVENT;
	info->perf_event.event.type = type;
	info->perf_event.event.config = config;
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	info->perf_event.event.cookie = cookie;
#endif
}
