// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "event.h"

#define UNIFIED	"/sys/fs/cgroup"
#define OWN	"/tmp/kpmu-cgroup-v1"

static const char *root = UNIFIED;
static char made[512][160];
static int nr_made;
static pid_t maker;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int is_mounted(const char *dir)
{
	char procs[64];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	return !access(procs, F_OK);
}

/*
 * perf_event is an implicit controller.  Even so, new cgroups get it only after some controller
 * was enabled in the root's subtree_control, as every init does.  Do not enable cpuset: before
 * 6.2 it resets the CPU affinity of a task that moves to another cgroup.
 */
static void hand_down_a_controller(void)
{
	char name[32], chosen[32] = "";
	FILE *f = fopen(UNIFIED "/cgroup.controllers", "r");

	while (f && fscanf(f, "%31s", name) == 1)
		if (strcmp(name, "cpuset"))
			strcpy(chosen, name);
	if (f)
		fclose(f);
	f = fopen(UNIFIED "/cgroup.subtree_control", "w");
	if (!f || !chosen[0] || fprintf(f, "+%s\n", chosen) < 0 || fclose(f))
		die("cgroup.subtree_control");
}

void cgroup_v2(void)
{
	root = UNIFIED;
	umount2(OWN, MNT_DETACH);
	mkdir(UNIFIED, 0755);
	if (!is_mounted(UNIFIED) && mount("cgroup2", UNIFIED, "cgroup2", 0, NULL))
		die(UNIFIED);
	hand_down_a_controller();
}

int cgroup_v1(void)
{
	mkdir(OWN, 0755);
	if (!is_mounted(OWN) && mount("perf", OWN, "cgroup", 0, "perf_event"))
		return 0;
	root = OWN;
	return 1;
}

/* Number of the hierarchy of the perf_event controller; 0 is the unified hierarchy */
static int hierarchy(void)
{
	char name[32];
	int number = -1;
	FILE *f = fopen("/proc/cgroups", "r");

	while (f && fscanf(f, "%31s %d%*[^\n]", name, &number) >= 1)
		if (!strcmp(name, "perf_event"))
			break;
	if (f)
		fclose(f);
	return number;
}

/*
 * The kernel destroys a v1 hierarchy only if no cgroup is left in it at the time of an unmount.
 * A removed cgroup stays for a while, at least as long as an fd or an event refers to it.
 * perf_event is unavailable in the unified hierarchy until the v1 hierarchy is destroyed.  So
 * mount and unmount it until it is.
 */
void cgroup_v1_end(void)
{
	uint64_t until = now_ns() + 10000000000ULL;

	close_range(3, ~0U, 0);
	umount2(OWN, MNT_DETACH);
	for (;;) {
		usleep(100000);
		if (hierarchy() <= 0 || now_ns() > until)
			break;
		if (!mount("perf", OWN, "cgroup", 0, "perf_event"))
			umount2(OWN, 0);
	}
	cgroup_v2();
}

static void open_dir(struct cgroup *c)
{
	c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->fd < 0)
		die(c->path);
}

void cgroup_root(struct cgroup *c)
{
	snprintf(c->path, sizeof(c->path), "%s", root);
	open_dir(c);
}

/* Move the remaining processes to the root.  Ignore failures: a process may be exiting. */
static void evacuate(const char *path)
{
	char procs[192], top[64], pid[32];
	FILE *f;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	snprintf(top, sizeof(top), "%s/cgroup.procs", root);
	f = fopen(procs, "r");
	while (f && fgets(pid, sizeof(pid), f))
		write_long(top, atoi(pid));
	if (f)
		fclose(f);
}

static void remove_all(void)
{
	if (getpid() != maker)
		return;
	while (nr_made--) {
		evacuate(made[nr_made]);
		rmdir(made[nr_made]);
	}
}

void cgroup_make(struct cgroup *c, const struct cgroup *parent, const char *name)
{
	if (!maker) {
		maker = getpid();
		atexit(remove_all);
	}
	if (nr_made == ARRAY_SIZE(made))
		exit(1);
	snprintf(c->path, sizeof(c->path), "%.100s/%.40s", parent->path, name);
	rmdir(c->path);		/* left by a test that was killed */
	if (mkdir(c->path, 0755))
		die(c->path);
	strcpy(made[nr_made++], c->path);
	open_dir(c);
}

static void put(const struct cgroup *c, const char *file, pid_t pid)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", c->path, file);
	if (write_long(path, pid))
		die(path);
}

void cgroup_add(const struct cgroup *c, pid_t pid)
{
	put(c, "cgroup.procs", pid);
}

void cgroup_add_thread(const struct cgroup *c, pid_t tid)
{
	put(c, "tasks", tid);
}

void cgroup_remove(struct cgroup *c)
{
	if (rmdir(c->path))
		die(c->path);
}
