// SPDX-License-Identifier: GPL-2.0-only
/* KPMU_IOC_RESERVE: setting counters aside, and the fd that holds them. */
#include <linux/anon_inodes.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include <uapi/linux/kpmu.h>

#include "../event/event.h"
#include "../sched/sched.h"
#include "../source/drivers.h"
#include "dev.h"

#define MAX_ID		(KPMU_ATTR_RESERVED >> KPMU_ATTR_RESERVED_SHIFT)

/**
 * struct reservation - counters that are set aside
 * @ref: references: that of the fd, and those of the events that name it, so that its id is not used
 *	again before they are closed
 * @rcu: frees it; kpmu_reservation_name() may have found it
 * @id: its id
 * @counters: the counters, on each of @cpus
 * @name: for messages
 * @cpus: the CPUs
 */
struct reservation {
	refcount_t ref;
	struct rcu_head rcu;
	u16 id;
	u32 counters;
	char name[16];
	struct cpumask cpus;
};

static DEFINE_XARRAY_ALLOC1(reservations);

/* ---- references ----------------------------------------------------------------- */

static void drop_ref(struct reservation *r)
{
	if (!refcount_dec_and_test(&r->ref))
		return;
	xa_erase(&reservations, r->id);
	kfree_rcu(r, rcu);
}

static struct reservation *reservation_of(u64 flags)
{
	return xa_load(&reservations,
		       (flags & KPMU_ATTR_RESERVED) >> KPMU_ATTR_RESERVED_SHIFT);
}

/**
 * kpmu_reservation_get() - an event names a reservation
 * @flags: flags of the event; nothing is done if it names none
 *
 * Context: any; the reservation is referenced, e.g. by its file.
 */
void kpmu_reservation_get(u64 flags)
{
	if (unlikely(flags & KPMU_ATTR_RESERVED))
		refcount_inc(&reservation_of(flags)->ref);
}

/**
 * kpmu_reservation_put() - undo kpmu_reservation_get()
 * @flags: as there
 *
 * Context: task.
 */
void kpmu_reservation_put(u64 flags)
{
	if (unlikely(flags & KPMU_ATTR_RESERVED))
		drop_ref(reservation_of(flags));
}

/**
 * kpmu_reservation_name() - the name of a reservation
 * @id: its id
 * @name: set to the name, if the reservation still exists
 *
 * Context: any.
 */
void kpmu_reservation_name(u16 id, char name[16])
{
	const struct reservation *r;

	rcu_read_lock();
	r = xa_load(&reservations, id);
	if (r)
		memcpy(name, r->name, sizeof(r->name));
	rcu_read_unlock();
}

/* ---- the fd --------------------------------------------------------------------- */

static int release_reservation(struct inode *inode, struct file *file)
{
	struct reservation *r = file->private_data;

	kpmu_counters_give_back(&r->cpus, r->counters);
	drop_ref(r);
	return 0;
}

static void show_reservation(struct seq_file *m, struct file *file)
{
	const struct reservation *r = file->private_data;

	seq_printf(m, "name:\t%s\ncpus:\t%*pbl\ncounters:\t%#x\n", r->name,
		   cpumask_pr_args(&r->cpus), r->counters);
}

static const struct file_operations reservation_fops = {
	.owner = THIS_MODULE,
	.release = release_reservation,
	.show_fdinfo = show_reservation,
};

/**
 * kpmu_reservation_of_file() - the reservation that an open names
 * @file: the file
 * @counters: set to its counters
 *
 * Context: task, may sleep.
 * Return: KPMU_ATTR_RESERVED of an event that names it; 0 if @file is not one of a reservation.
 */
u64 kpmu_reservation_of_file(const struct file *file, u32 *counters)
{
	const struct reservation *r = file->private_data;

	if (file->f_op != &reservation_fops)
		return 0;
	*counters = r->counters;
	return (u64)r->id << KPMU_ATTR_RESERVED_SHIFT;
}

/* ---- the call ------------------------------------------------------------------- */

static int check_reserve_args(const struct kpmu_reserve *a)
{
	if (a->flags & ~KPMU_RESERVE_CLOEXEC || a->reserved)
		return -EINVAL;
	if (!a->nr_cpus || a->nr_cpus > nr_cpu_ids || !a->counters)
		return -EINVAL;
	return strnlen(a->name, sizeof(a->name)) == sizeof(a->name) ? -EINVAL : 0;
}

static int note_cpu(struct reservation *r, s32 cpu, const char **why)
{
	if ((u32)cpu >= nr_cpu_ids || !cpu_possible(cpu)) {
		*why = "no such CPU";
		return -EINVAL;
	}
	if (cpumask_test_and_set_cpu(cpu, &r->cpus)) {
		*why = "a CPU is in the list twice";
		return -EINVAL;
	}
	if (r->counters & ~kpmu_core.slots(kpmu_kind_of_cpu(cpu))) {
		*why = "a CPU does not have these counters";
		return -EINVAL;
	}
	return 0;
}

static int take_cpus(struct reservation *r, const struct kpmu_reserve *a, const char **why)
{
	s32 *cpus = vmemdup_user(u64_to_user_ptr(a->cpus), a->nr_cpus * sizeof(*cpus));
	int err = 0;
	u32 i;

	if (IS_ERR(cpus))
		return PTR_ERR(cpus);
	for (i = 0; i < a->nr_cpus && !err; i++)
		err = note_cpu(r, cpus[i], why);
	kvfree(cpus);
	return err;
}

static int get_id(struct reservation *r, const char **why)
{
	u32 id;
	int err;

	refcount_set(&r->ref, 1);
	err = xa_alloc(&reservations, &id, r, XA_LIMIT(1, MAX_ID), GFP_KERNEL_ACCOUNT);
	if (err == -EBUSY) {
		*why = "too many reservations";
		return -ENOSPC;
	}
	r->id = id;
	return err;
}

static int take_counters(struct reservation *r, int fd, const char **why)
{
	struct file *file;
	int err = kpmu_counters_set_aside(&r->cpus, r->counters, r->id, why);

	if (err)
		return err;
	file = anon_inode_getfile("[kpmu_reservation]", &reservation_fops, r, O_RDWR);
	if (IS_ERR(file)) {
		kpmu_counters_give_back(&r->cpus, r->counters);
		return PTR_ERR(file);
	}
	fd_install(fd, file);
	return fd;
}

static int reservation_fd(struct reservation *r, u32 flags, const char **why)
{
	int ret, fd = get_unused_fd_flags(O_RDWR | (flags & KPMU_RESERVE_CLOEXEC ? O_CLOEXEC : 0));

	if (fd < 0)
		return fd;
	ret = take_counters(r, fd, why);
	if (ret < 0)
		put_unused_fd(fd);
	return ret;
}

static int make_reservation(struct reservation *r, const struct kpmu_reserve *a, const char **why)
{
	int ret;

	r->counters = a->counters;
	memcpy(r->name, a->name, sizeof(r->name));
	ret = take_cpus(r, a, why) ?: get_id(r, why);
	if (ret) {
		kfree(r);
		return ret;
	}
	ret = reservation_fd(r, a->flags, why);
	if (ret < 0)
		drop_ref(r);
	return ret;
}

/**
 * kpmu_dev_reserve() - KPMU_IOC_RESERVE
 * @arg: struct kpmu_reserve in user memory
 * @why: set to the reason for an error, a string literal
 *
 * Context: task, may sleep.
 * Return: the new fd; -EFAULT, -EINVAL, -EACCES, -EBUSY, -EMFILE, -ENOMEM; -ENOSPC if there are too many
 * reservations; -EINTR if a fatal signal is pending.
 */
long kpmu_dev_reserve(void __user *arg, const char **why)
{
	struct reservation *r;
	struct kpmu_reserve args;
	int ret;

	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	ret = check_reserve_args(&args) ?: kpmu_permit(KPMU_PERMIT_RESERVE, NULL, NULL, why);
	if (ret)
		return ret;
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	return r ? make_reservation(r, &args, why) : -ENOMEM;
}
