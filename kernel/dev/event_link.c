// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF links of events: bpf(2), BPF_LINK_CREATE with the fd of an event as its target.
 *
 * The kernel accepts only fds of its own perf there.  So the system call is diverted, and for an fd of
 * kpmu a link is created whose operations are here.  To the kernel it is a link of the same type: it can
 * be pinned, listed and closed.  As upstream, it keeps the event's file open, and the program is detached
 * when the link ends.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/bpf.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../compat/bpf_link.h"
#include "../compat/hook.h"
#include "../life/life.h"
#include "dev.h"

/**
 * struct event_link - a link of an event
 * @link: the link
 * @file: file of the event
 * @cookie: for bpf_get_attach_cookie()
 */
struct event_link {
	struct bpf_link link;
	struct file *file;
	u64 cookie;
};

static void release_link(struct bpf_link *link)
{
	struct event_link *l = container_of(link, struct event_link, link);

	kpmu_event_detach_program(kpmu_event_of_file(l->file));
	fput(l->file);
}

static void free_link(struct bpf_link *link)
{
	kfree(container_of(link, struct event_link, link));
	/* The exit of the module waits for tasks that are still in this function */
	module_put(THIS_MODULE);
}

static int describe_link(const struct bpf_link *link, struct bpf_link_info *info)
{
	const struct event_link *l = container_of(link, struct event_link, link);
	const struct kpmu_event *e = kpmu_event_of_file(l->file);

	kpmu_bpf_link_describe(info, e->type, e->config, l->cookie);
	return 0;
}

static const struct bpf_link_ops link_ops = {
	.release = release_link,
	.dealloc = free_link,
	.fill_link_info = describe_link,
};

/* Attach a program by a link.  On success the link takes the references to program and file. */
static int attach_by_link(struct file *file, struct bpf_prog *prog, u64 cookie)
{
	struct event_link *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	struct bpf_link_primer primer;
	int err;

	if (!l)
		return -ENOMEM;
	kpmu_bpf_link_init(&l->link, &link_ops, prog);
	l->file = file;
	l->cookie = cookie;
	err = kpmu_bpf_link_prime(&l->link, &primer);
	if (err) {
		kfree(l);
		return err;
	}
	__module_get(THIS_MODULE);
	/* The event has a reference of its own */
	bpf_prog_inc(prog);
	err = kpmu_event_attach_program(kpmu_event_of_file(file), prog, cookie);
	if (err) {
		bpf_prog_put(prog);
		kpmu_bpf_link_cleanup(&primer);
		return err;
	}
	return kpmu_bpf_link_settle(&primer);
}

static bool is_for_events(const struct bpf_prog *prog)
{
	return prog->type == BPF_PROG_TYPE_PERF_EVENT || prog->type == BPF_PROG_TYPE_TRACEPOINT ||
	       prog->type == BPF_PROG_TYPE_KPROBE;
}

/* Return: the new fd, or an error.  -ENOTTY: it is not for kpmu. */
static long link_file(struct file *file, union bpf_attr *attr)
{
	struct bpf_prog *prog = kpmu_native_program(attr->link_create.prog_fd);
	long ret = -ENOTTY;

	if (IS_ERR(prog))
		return PTR_ERR(prog);
	if (is_for_events(prog))
		ret = attr->link_create.flags ? -EINVAL :
		      attach_by_link(file, prog, attr->link_create.perf_event.bpf_cookie);
	if (ret < 0)
		bpf_prog_put(prog);
	return ret;
}

/* Fields behind those of BPF_LINK_CREATE must be 0 */
static bool has_tail(const union bpf_attr *attr)
{
	size_t size = sizeof(attr->link_create);

	return memchr_inv((const char *)attr + size, 0, sizeof(*attr) - size);
}

/* Return: as link_file() */
static long create_link(const void __user *from, u32 size)
{
	union bpf_attr attr;
	struct file *file;
	long ret = -ENOTTY;

	if (size > PAGE_SIZE || copy_struct_from_user(&attr, sizeof(attr), from, size) ||
	    attr.link_create.attach_type != BPF_PERF_EVENT)
		return -ENOTTY;
	file = fget(attr.link_create.target_fd);
	if (!file)
		return -ENOTTY;
	if (kpmu_event_of_file(file)) {
		ret = has_tail(&attr) ? -EINVAL : kpmu_bpf_permit(BPF_LINK_CREATE, &attr, size);
		if (!ret)
			ret = link_file(file, &attr);
	}
	if (ret < 0)
		fput(file);
	return ret;
}

static long bpf_64(const struct pt_regs *regs);
static long bpf_32(const struct pt_regs *regs);

static struct kpmu_divert bpf_calls[] = {
	{ .func = "__x64_sys_bpf", .instead = bpf_64,
	  .feature = "BPF links of events", .pins = true },
	{ .func = "__ia32_sys_bpf", .instead = bpf_32,
	  .feature = "BPF links of events, of programs of 32 bits", .pins = true },
};

static struct kpmu_diverts bpf_set = {
	.table = bpf_calls, .n = ARRAY_SIZE(bpf_calls),
};

static long serve_bpf(struct kpmu_divert *d, const struct pt_regs *regs, int cmd,
		      const void __user *attr, u32 size)
{
	long ret = cmd == BPF_LINK_CREATE ? create_link(attr, size) : -ENOTTY;

	if (ret == -ENOTTY)
		ret = kpmu_divert_call(d, (unsigned long)regs);
	kpmu_divert_done(d);
	return ret;
}

/* Replacements of the system call, with its registers */
static long bpf_64(const struct pt_regs *regs)
{
	return serve_bpf(&bpf_calls[0], regs, regs->di, (const void __user *)regs->si, regs->dx);
}

static long bpf_32(const struct pt_regs *regs)
{
	return serve_bpf(&bpf_calls[1], regs, regs->bx, (const void __user *)(unsigned long)(u32)regs->cx,
			 regs->dx);
}

/**
 * kpmu_bpf_links_init() - serve BPF links of events
 *
 * Cannot fail: /dev/kpmu may be open already.  Without links, programs can use PERF_EVENT_IOC_SET_BPF.
 *
 * Context: module init, after everything that an open needs; may sleep.
 */
void __init kpmu_bpf_links_init(void)
{
	int err = kpmu_bpf_links_ok() ? kpmu_diverts_register(&bpf_set) : -EOPNOTSUPP;

	if (err)
		pr_notice("no BPF links of events (%d)\n", err);
}

/**
 * kpmu_bpf_links_exit() - undo kpmu_bpf_links_init()
 *
 * Context: module exit, no link left; may sleep.
 */
void kpmu_bpf_links_exit(void)
{
	kpmu_diverts_unregister(&bpf_set);
}
