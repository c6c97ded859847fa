// SPDX-License-Identifier: GPL-2.0-only
/* NAMESPACES records.  perf_event_open(2), PERF_RECORD_NAMESPACES. */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/ipc_namespace.h>
#include <linux/kdev_t.h>
#include <linux/namei.h>
#include <linux/nsproxy.h>
#include <linux/path.h>
#include <linux/pid_namespace.h>
#include <linux/user_namespace.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "side_band.h"

/* Device number of nsfs, the file system of all namespaces; 0 while unknown */
static u64 nsfs;

/**
 * kpmu_side_namespaces_setup() - find nsfs, for an event with NAMESPACES records
 *
 * Context: task, may sleep.
 */
void kpmu_side_namespaces_setup(void)
{
	struct path path;

	if (READ_ONCE(nsfs) || kern_path("/proc/self/ns/uts", LOOKUP_FOLLOW, &path))
		return;
	WRITE_ONCE(nsfs, new_encode_dev(path.dentry->d_sb->s_dev));
	path_put(&path);
}

struct link {
	u64 dev;
	u64 ino;
};

struct namespaces {
	struct task_struct *task;
	struct link links[NR_NAMESPACES];
};

static void set_link(struct link *link, const struct ns_common *ns)
{
	link->dev = READ_ONCE(nsfs);
	link->ino = ns->inum;
}

static void find_links(struct link *links, struct task_struct *task)
{
	const struct nsproxy *ns = task->nsproxy;

	set_link(&links[NET_NS_INDEX], &ns->net_ns->ns);
	set_link(&links[UTS_NS_INDEX], &ns->uts_ns->ns);
	set_link(&links[IPC_NS_INDEX], &ns->ipc_ns->ns);
	set_link(&links[PID_NS_INDEX], &task_active_pid_ns(task)->ns);
	rcu_read_lock();
	set_link(&links[USER_NS_INDEX], &__task_cred(task)->user_ns->ns);
	rcu_read_unlock();
	/* struct mnt_namespace is hidden from modules, but begins with its ns_common */
	set_link(&links[MNT_NS_INDEX], (struct ns_common *)ns->mnt_ns);
	set_link(&links[CGROUP_NS_INDEX], &ns->cgroup_ns->ns);
}

static void namespaces_record(struct kpmu_event *e, void *data)
{
	struct namespaces *n = data;
	u64 words[2] = { kpmu_record_ids(e, n->task), NR_NAMESPACES };
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, PERF_RECORD_NAMESPACES, 0,
			       sizeof(words) + sizeof(n->links)))
		return;
	kpmu_record_put(&r, words, sizeof(words));
	kpmu_record_put(&r, n->links, sizeof(n->links));
	kpmu_record_end(&r);
}

/**
 * kpmu_side_namespaces() - write NAMESPACES records for a new task or changed namespaces
 * @task: a new task, or current; not exiting
 *
 * Context: task, may be atomic.
 */
void kpmu_side_namespaces(struct task_struct *task)
{
	struct namespaces n = { .task = task };

	if (!task->nsproxy || !kpmu_side_wanted(KPMU_ATTR_NAMESPACES))
		return;
	find_links(n.links, task);
	kpmu_side_write(KPMU_ATTR_NAMESPACES, namespaces_record, &n);
}
