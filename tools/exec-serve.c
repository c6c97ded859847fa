// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answering perf_event_open(2) for other tasks.  A task is blocked until its call is
 * answered, but it may be killed and its id reused; so what was read from the task is
 * used only if the call is still pending afterwards.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kpmu.h>

#include "exec.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL
#endif

/* A call: its arguments, and copies of what they point to */
struct call {
	const struct server *s;
	struct seccomp_notif req;
	uint64_t attr;
	struct kpmu_open_for args;
	int group_fd, cgroup_fd;
};

static bool still_waits(const struct call *c)
{
	return !ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->req.id);
}

static pid_t process_of(pid_t tid)
{
	char path[64], line[256];
	pid_t tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	return tgid;
}

/* Duplicate an fd of the task; -2, which is never valid, if it is not open */
static int fetch_fd(pid_t tid, int fd)
{
	int pidfd, ret;

	if (fd < 0)
		return -2;
	/* By a pidfd of the thread if possible, as it may not share the process's fds */
	pidfd = syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
	if (pidfd < 0)
		pidfd = syscall(SYS_pidfd_open, process_of(tid), 0);
	if (pidfd < 0)
		return -2;
	ret = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	close(pidfd);
	return ret < 0 ? -2 : ret;
}

static void take_arguments(struct call *c)
{
	const __u64 *a = c->req.data.args;
	uint64_t mask = c->req.data.arch == AUDIT_ARCH_I386 ? UINT32_MAX : UINT64_MAX;

	c->attr = a[0] & mask;
	c->args = (struct kpmu_open_for) {
		.open.attr = (uintptr_t)copy_attr(c->req.pid, c->attr),
		.open.pid = a[1], .open.cpu = a[2], .open.group_fd = a[3],
		.open.flags = a[4] & mask, .tid = c->req.pid,
	};
	c->group_fd = c->cgroup_fd = -1;
	if (c->args.open.group_fd != -1)
		c->args.open.group_fd = c->group_fd = fetch_fd(c->req.pid, a[3]);
	if (c->args.open.flags & PERF_FLAG_PID_CGROUP && c->args.open.pid != -1)
		c->args.open.pid = c->cgroup_fd = fetch_fd(c->req.pid, a[1]);
}

/* Install the fd in the task as the call's result.  Returns 0, or an errno for the call */
static int inject(const struct call *c, int fd)
{
	struct seccomp_notif_addfd add = {
		.id = c->req.id, .srcfd = fd, .flags = SECCOMP_ADDFD_FLAG_SEND,
	};

	if (c->args.open.flags & PERF_FLAG_FD_CLOEXEC)
		add.newfd_flags = O_CLOEXEC;
	return ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? errno : 0;
}

static void fail(const struct call *c, int err)
{
	struct seccomp_notif_resp resp = { .id = c->req.id, .error = -err };

	/* This only fails if the task is gone, which needs no answer then */
	ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* Let the kernel continue with the call itself */
static void pass(const struct call *c)
{
	struct seccomp_notif_resp resp = {
		.id = c->req.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* BPF programs write to such an event, which the kernel permits only for those of its own perf */
static bool is_bpf_output(const struct call *c)
{
	uint32_t head[4];	/* type, size, config */

	return copy_in(c->req.pid, c->attr, head, sizeof(head)) == sizeof(head) &&
	       head[0] == PERF_TYPE_SOFTWARE && head[2] == PERF_COUNT_SW_BPF_OUTPUT && !head[3] &&
	       (int)c->req.data.args[3] == -1;
}

static void report(const struct call *c, int err)
{
	const struct kpmu_open *o = &c->args.open;
	uint32_t head[4] = { 0 };

	if (!c->s->verbose)
		return;
	copy_in(c->req.pid, c->attr, head, sizeof(head));
	fprintf(stderr, "kpmu-exec: %d: perf_event_open(type %u config %#llx, pid %d, cpu %d, group %d, flags %#llx): %s\n",
		c->req.pid, head[0], head[2] | (unsigned long long)head[3] << 32,
		(int)c->req.data.args[1], o->cpu, (int)c->req.data.args[3],
		(unsigned long long)o->flags, err ? strerror(err) : "ok");
}

/* E2BIG says in the attr which size is known */
static void write_size(const struct call *c)
{
	const struct perf_event_attr *a = (void *)(uintptr_t)c->args.open.attr;
	int fd = open_memory(c->req.pid, O_WRONLY);

	/* Where it cannot be written, the kernel could not either */
	if (fd < 0)
		return;
	/* The thread id may be another task's by now: then this would be that task's memory */
	if (still_waits(c) && pwrite(fd, &a->size, sizeof(a->size), c->attr + 4) < 0)
		errno = 0;
	close(fd);
}

static void answer(struct call *c)
{
	int fd, err;

	take_arguments(c);
	if (!still_waits(c))
		goto out;
	if (is_bpf_output(c)) {
		pass(c);
		goto out;
	}
	fd = ioctl(c->s->device, KPMU_IOC_OPEN_FOR, &c->args);
	err = fd < 0 ? errno : 0;
	if (err == E2BIG)
		write_size(c);
	if (err == EPERM)	/* tracing the task is not permitted */
		err = EACCES;
	report(c, err);
	if (!err)
		err = inject(c, fd);
	if (err)
		fail(c, err);
	if (fd >= 0)
		close(fd);
out:
	if (c->group_fd >= 0)
		close(c->group_fd);
	if (c->cgroup_fd >= 0)
		close(c->cgroup_fd);
}

static int state_of_listener(const struct server *s, int timeout)
{
	struct pollfd p = { .fd = s->listener, .events = POLLIN };

	return poll(&p, 1, timeout) < 0 ? -1 : p.revents;
}

/**
 * server_has_clients() - check whether any process with the seccomp filter is left
 * @s: the server
 */
bool server_has_clients(struct server *s)
{
	return !(state_of_listener(s, 0) & POLLHUP);
}

static bool program_ended(const struct server *s)
{
	siginfo_t info = { 0 };

	return s->program &&
	       !waitid(P_PID, s->program, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid;
}

/* The only purpose of the signal is to interrupt ppoll() */
static void child_ended(int sig)
{
	(void)sig;
}

/**
 * serve() - answer calls until s->program has ended, or no process can make any
 * @s: the server
 *
 * The program is left to be reaped by waitpid(2).
 */
void serve(struct server *s)
{
	struct sigaction sa = { .sa_handler = child_ended };
	sigset_t chld, old;
	struct call c;

	sigaction(SIGCHLD, &sa, NULL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);
	while (!program_ended(s)) {
		struct pollfd p = { .fd = s->listener, .events = POLLIN };

		if (ppoll(&p, 1, NULL, &old) < 0)
			continue;
		if (p.revents & POLLHUP)
			break;
		memset(&c, 0, sizeof(c));
		c.s = s;
		if (!ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, &c.req))
			answer(&c);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
}
