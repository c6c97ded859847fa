/* SPDX-License-Identifier: GPL-2.0-only */
/* Random actions of chaos.h that map events or use cgroups. */
#ifndef KPMU_STRESS_PLACES_H
#define KPMU_STRESS_PLACES_H

#include <sys/mman.h>

#include <linux/kpmu-read.h>

#include "cgroup.h"

/* The cgroups that processes move between; created before the processes start */
static struct cgroup top, groups[2];

static void make_groups(void)
{
	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&groups[0], &top, "kpmu-stress-a");
	cgroup_make(&groups[1], &groups[0], "kpmu-stress-b");
}

static void unmap(struct held *h)
{
	if (!h->page)
		return;
	munmap(h->page, h->mapped);
	h->page = NULL;
}

static void do_map(void)
{
	struct held *h = &held[any(NR_FDS)];
	size_t pages = any(2) ? 1 : 1 + (1 << any(3));
	void *p;

	if (h->fd < 0)
		return;
	if (h->page) {
		unmap(h);
		did(A_unmapped);
		return;
	}
	p = mmap(NULL, pages * 4096, PROT_READ | (any(2) ? PROT_WRITE : 0),
		 MAP_SHARED, h->fd, 0);
	if (p == MAP_FAILED) {
		if (errno != EINVAL && errno != EPERM && errno != EACCES)
			wrong("mmap of %zu pages: %s", pages, strerror(errno));
		return;
	}
	h->page = p;
	h->mapped = pages * 4096;
	did(A_mapped);
}

/* Only events on this task with cpu == -1: the user pages of others are not valid for it */
static void do_read_page(void)
{
	struct held *h = &held[any(NR_FDS)];
	struct kpmu_value v;

	if (!h->page || h->pid || h->cpu != -1 || kpmu_read_self(h->page, &v))
		return;
	if (v.running > v.enabled)
		wrong("the page says that it ran %llu of %llu ns",
		      (unsigned long long)v.running,
		      (unsigned long long)v.enabled);
	did(A_read_itself);
}

static void do_open_group(void)
{
	struct held *h = free_slot();
	struct perf_event_attr a = some_attr();

	a.inherit = 0;
	a.inherit_stat = 0;
	a.inherit_thread = 0;
	h->pid = -2;
	h->cpu = any(nr_cpus());
	h->format = a.read_format;
	h->fd = ev_open(&a, groups[any(2)].fd, h->cpu, -1,
			PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
	if (h->fd >= 0) {
		did(A_cgroup_opened);
		return;
	}
	if (!may_fail_so(errno))
		wrong("open on a cgroup: %s", strerror(errno));
	forget(h);
}

/* Move this process to another cgroup */
static void do_move(void)
{
	int to = any(3);

	cgroup_add(to == 2 ? &top : &groups[to], getpid());
	did(A_cgroup_moved);
}

#endif
