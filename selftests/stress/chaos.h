/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that performs random operations on events. */
#ifndef KPMU_STRESS_CHAOS_H
#define KPMU_STRESS_CHAOS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"

#define NR_FDS	24

static struct held {
	int fd;
	uint64_t format;
	bool cpu_pinned, sibling, seen;
	pid_t pid;
	int cpu;
	uint64_t enabled, running;	/* ns, from the last read */
	struct perf_event_mmap_page *page;
	size_t mapped;		/* bytes */
} held[NR_FDS];

static void unmap(struct held *h);

static void forget(struct held *h)
{
	if (any(2))
		unmap(h);
	close(h->fd);
	unmap(h);
	if (h->cpu_pinned)
		__atomic_sub_fetch(&sh->cpu_pinned, 1, __ATOMIC_SEQ_CST);
	*h = (struct held){ .fd = -1 };
}

/* May be killed, so it must not open pinned CPU events: sh->cpu_pinned would stay incremented */
static bool mortal;

static struct held *free_slot(void)
{
	struct held *h = &held[any(NR_FDS)];

	if (h->fd >= 0) {
		forget(h);
		did(A_closed);
	}
	return h;
}

static struct perf_event_attr some_attr(void)
{
	static const struct { uint32_t type; uint64_t config; } what[] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
		{ PERF_TYPE_RAW, RAW_LOADS }, { PERF_TYPE_RAW, RAW_STORES },
		{ PERF_TYPE_RAW, 0x003c }, { PERF_TYPE_HW_CACHE, 0 },
	};
	int i = any(ARRAY_SIZE(what));
	struct perf_event_attr a = ev_attr(what[i].type, what[i].config);

	a.disabled = any(2);
	a.exclude_user = !any(6);
	a.exclude_kernel = any(2);
	a.exclude_idle = !any(8);
	a.exclusive = !any(12);
	a.enable_on_exec = a.disabled && !any(6);
	a.inherit = !any(3);
	a.inherit_stat = a.inherit && !any(4);
	a.inherit_thread = a.inherit && !any(4);
	a.remove_on_exec = !a.enable_on_exec && !any(6);
	a.read_format = any(32);	/* every combination, including PERF_FORMAT_LOST */
	return a;
}

/* Errors that an open with random arguments may return */
static bool may_fail_so(int err)
{
	return err == EINVAL || err == ESRCH || err == EBUSY || err == EACCES ||
	       err == ENODEV || err == EOPNOTSUPP || err == ENOENT ||
	       err == ENXIO || err == EBADF;
}

#include "places.h"

static pid_t some_pid(void)
{
	pid_t pid = sh->pid[any(NR_PIDS)];

	return pid > 0 && any(2) ? pid : 0;
}

static void do_open(void)
{
	struct held *h = free_slot(), *leader = &held[any(NR_FDS)];
	struct perf_event_attr a = some_attr();
	int group = -1;

	h->pid = any(3) ? some_pid() : -1;
	h->cpu = h->pid == -1 || !any(4) ? any(nr_cpus()) : -1;
	if (leader->fd >= 0 && any(2)) {
		/* Mostly use the leader's target; with another one the open is refused */
		group = leader->fd;
		if (any(8)) {
			h->pid = leader->pid;
			h->cpu = leader->cpu;
		}
	}
	/* Pin only events on this task, and few events on CPUs: witnesses need a counter */
	if (group < 0 && !any(5)) {
		if (h->pid == 0) {
			a.pinned = 1;
		} else if (h->pid == -1 && !a.exclusive && !mortal) {
			h->cpu_pinned = __atomic_add_fetch(&sh->cpu_pinned, 1,
					__ATOMIC_SEQ_CST) <= MAX_CPU_PINNED;
			a.pinned = h->cpu_pinned;
			if (!h->cpu_pinned)
				__atomic_sub_fetch(&sh->cpu_pinned, 1, __ATOMIC_SEQ_CST);
		}
	}
	h->format = a.read_format;
	h->sibling = group >= 0;
	h->fd = ev_open(&a, h->pid, h->cpu, group, any(2) ? PERF_FLAG_FD_CLOEXEC : 0);
	if (h->fd >= 0) {
		did(A_opened);
		return;
	}
	if (!may_fail_so(errno))
		wrong("open of type %u config %#llx pid %d cpu %d group %d: %s",
		      a.type, (unsigned long long)a.config, h->pid, h->cpu,
		      group, strerror(errno));
	did(A_open_refused);
	forget(h);
}

static void do_close(void)
{
	struct held *h = &held[any(NR_FDS)];

	if (h->fd < 0)
		return;
	forget(h);
	did(A_closed);
}

static void do_switch(void)
{
	static const unsigned long cmd[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET,
	};
	struct held *h = &held[any(NR_FDS)];
	unsigned long c = cmd[any(3)];

	if (h->fd < 0)
		return;
	if (ioctl(h->fd, c, any(2) ? PERF_IOC_FLAG_GROUP : 0))
		wrong("ioctl %#lx: %s", c, strerror(errno));
	did(A_switched);
}

static void check_read(struct held *h, const uint64_t *v, int words)
{
	bool te = h->format & PERF_FORMAT_TOTAL_TIME_ENABLED;
	bool tr = h->format & PERF_FORMAT_TOTAL_TIME_RUNNING;
	uint64_t enabled = te ? v[1] : 0, running = tr ? v[1 + te] : 0;

	if (h->format & PERF_FORMAT_GROUP && (v[0] < 1 || v[0] > 2 * NR_FDS))
		wrong("a group of %llu", (unsigned long long)v[0]);
	if (te && tr && running > enabled)
		wrong("ran %llu of %llu ns", (unsigned long long)running,
		      (unsigned long long)enabled);
	/* A sibling with PERF_FORMAT_GROUP reads its leader's times, or its own without one */
	if (h->sibling && h->format & PERF_FORMAT_GROUP)
		return;
	if (h->seen && (enabled < h->enabled || running < h->running))
		wrong("times went back: %llu %llu after %llu %llu",
		      (unsigned long long)enabled, (unsigned long long)running,
		      (unsigned long long)h->enabled, (unsigned long long)h->running);
	h->seen = true;
	h->enabled = enabled;
	h->running = running;
}

static void do_read(void)
{
	struct held *h = &held[any(NR_FDS)];
	uint64_t v[512];
	int len;

	if (h->fd < 0)
		return;
	len = read(h->fd, v, any(8) ? sizeof(v) : any(64));
	/* ECHILD: inherited groups do not have the same members as this one */
	if (len < 0 && errno != ENOSPC && errno != ECHILD)
		wrong("read: %s", strerror(errno));
	if (len > 0)
		check_read(h, v, len / 8);
	did(A_was_read);
}

/* Pass an event's fd to another process, or receive one */
static void do_pass(void)
{
	struct held *h = &held[any(NR_FDS)];
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (h->fd >= 0 && !h->cpu_pinned && any(2)) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &h->fd, sizeof(int));
		if (sendmsg(sh->pass[0], &m, MSG_DONTWAIT) == 1)
			did(A_passed);
		return;
	}
	if (recvmsg(sh->pass[1], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return;
	h = free_slot();
	memcpy(&h->fd, CMSG_DATA(c), sizeof(int));
	h->pid = -2;		/* target unknown, so opening a member may fail */
	did(A_received);
}

static void do_migrate(void)
{
	pin_to(any(nr_cpus() + 1));
	did(A_migrated);
	toil(5000);
}

/* Fork a child, which shares all fds; some children are killed before they exit */
static void do_fork(void)
{
	static const char *const args[] = { "stress_random", "exec", NULL };
	bool exec = any(2), die = any(2);
	pid_t pid = fork();

	if (!pid) {
		seed ^= getpid();
		do_read();
		do_switch();
		if (exec)
			execv("/proc/self/exe", (char *const *)args);
		toil(200000);
		do_read();
		_exit(0);
	}
	if (pid < 0)
		return;
	did(exec ? A_execed : A_forked);
	sh->pid[NR_PIDS - 1 - any(8)] = pid;
	if (die) {
		usleep(any(2000));
		kill(pid, SIGKILL);
	}
	waitpid(pid, NULL, 0);
}

static void *thread(void *arg)
{
	work((uintptr_t)arg);
	return NULL;
}

static void do_thread(void)
{
	uintptr_t rounds = 1 + any(100000);
	pthread_t t;

	if (pthread_create(&t, NULL, thread, (void *)rounds))
		return;
	do_switch();
	do_open();
	pthread_join(t, NULL);
	did(A_threads);
}

static void do_unload(void)
{
	if (!syscall(SYS_delete_module, "kpmu", O_NONBLOCK))
		wrong("the module went while it was in use");
	else if (errno != EAGAIN && errno != EBUSY)
		wrong("delete_module: %s", strerror(errno));
	did(A_unload_refused);
}

/* Enable or disable all events that this process has opened, by prctl(2) or the device's ioctl */
static void do_switch_all(void)
{
	static int dev = -1;
	bool on = any(2);

	if (any(2)) {
		prctl(on ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE);
	} else {
		if (dev < 0)
			dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
		if (ioctl(dev, on ? KPMU_IOC_TASK_ENABLE : KPMU_IOC_TASK_DISABLE))
			wrong("switching all: %s", strerror(errno));
	}
	did(A_switched_all);
}

static void do_native(void)
{
	bool soft = !any(4);
	struct perf_event_attr a = soft ?
		ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK) :
		ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	a.disabled = 0;
	fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && (soft || errno != EBUSY))
		wrong("native open: %s", strerror(errno));
	did(soft ? A_native_software : fd < 0 ? A_native_refused : A_native_won);
	if (fd < 0)
		return;
	work(1000);
	close(fd);
}

static void chaos(bool may_be_killed)
{
	static const struct choice what[] = {
		{ 24, do_open }, { 12, do_close }, { 20, do_switch },
		{ 19, do_read }, { 4, do_pass }, { 4, do_migrate },
		{ 4, do_map }, { 3, do_read_page }, { 3, do_open_group },
		{ 1, do_move },
		{ 2, do_fork }, { 1, do_thread }, { 1, do_unload },
		{ 1, do_native }, { 1, do_switch_all },
	};
	int i;

	mortal = may_be_killed;
	for (i = 0; i < NR_FDS; i++)
		held[i].fd = -1;
	while (!sh->stop)
		do_any(what);
}

#endif
