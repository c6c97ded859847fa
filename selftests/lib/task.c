// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "task.h"

enum op { WORK, PIN, ROAM, DUMPABLE, FORK, THREAD, REAP, LEAVE, EXEC, AGAIN,
	  OPEN, PRCTL, END };

#define SHARER_STACK	65536

struct command {
	uint64_t n;
	uint32_t op, arg;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void roam(uint64_t n, uint32_t times)
{
	uint32_t i, cpus = nr_cpus();

	for (i = 0; i < times; i++) {
		pin_to(i % cpus);
		work(n);
	}
}

static void serve(int in, int out);

/* The pipe ends of a new worker, as fd numbers of the process @owner */
struct kid {
	pid_t owner;
	int in, out;
};

static int take(pid_t owner, int fd, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", owner, fd);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

/* Report the tid, then serve commands */
static void *kid_main(void *arg)
{
	struct kid k = *(struct kid *)arg;
	pid_t tid = syscall(SYS_gettid);
	int in = take(k.owner, k.in, O_RDONLY);
	int out = take(k.owner, k.out, O_WRONLY);

	free(arg);
	if (write(out, &tid, sizeof(tid)) == sizeof(tid))
		serve(in, out);
	return NULL;
}

static void bear(const struct command *c)
{
	struct kid *k = malloc(sizeof(*k));
	pthread_t t;
	pid_t pid;

	if (!k)
		die("malloc");
	*k = (struct kid) { c->arg, c->n, c->n >> 32 };
	if (c->op == THREAD) {
		if (pthread_create(&t, NULL, kid_main, k) || pthread_detach(t))
			die("pthread_create");
		return;
	}
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		kid_main(k);
		_exit(0);
	}
	free(k);
}

/* Open an event on the caller, and report its fd */
static void open_event(int out)
{
	int fd = ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);

	if (write(out, &fd, sizeof(fd)) != sizeof(fd))
		_exit(1);
}

/*
 * Execute this program again; its serve_again() takes over the pipes.  KPMU_ROUTE=native prevents
 * an open of the kpmu device at startup.
 */
static void again(int in, int out)
{
	char fds[64], *const args[] = { "worker", NULL };
	char *const env[] = { fds, "KPMU_ROUTE=native", NULL };

	snprintf(fds, sizeof(fds), "KPMU_TEST_SERVE=%d,%d", in, out);
	fcntl(in, F_SETFD, 0);
	fcntl(out, F_SETFD, 0);
	execve("/proc/self/exe", args, env);
	die("/proc/self/exe");
}

static void __attribute__((constructor)) serve_again(void)
{
	const char *fds = getenv("KPMU_TEST_SERVE");
	int in, out;

	if (!fds || sscanf(fds, "%d,%d", &in, &out) != 2)
		return;
	if (write(out, "", 1) == 1)
		serve(in, out);
	_exit(0);
}

/* All commands except WORK, AGAIN, OPEN and END */
static void odd_job(const struct command *c)
{
	switch (c->op) {
	case PIN:
		pin_to(c->arg);
		break;
	case ROAM:
		roam(c->n, c->arg);
		break;
	case DUMPABLE:
		prctl(PR_SET_DUMPABLE, c->arg);
		break;
	case FORK:
	case THREAD:
		bear(c);
		break;
	case REAP:
		waitpid(-1, NULL, 0);
		break;
	case PRCTL:
		prctl(c->arg);
		break;
	case LEAVE:
		syscall(SYS_exit, 0);
		break;
	case EXEC:
		execl((const char *)c->n, "exec", NULL);
		break;
	}
}

/* Read a command, execute it, answer.  The instruction count around a command is constant. */
static void serve(int in, int out)
{
	struct command c;

	for (;;) {
		if (read(in, &c, sizeof(c)) != sizeof(c) || c.op == END)
			return;
		if (c.op == WORK)
			work(c.n);
		else if (c.op == AGAIN)
			again(in, out);
		else if (c.op == OPEN)
			open_event(out);
		else
			odd_job(&c);
		if (write(out, "", 1) != 1)
			return;
	}
}

static void pipes(struct worker *w)
{
	int a[2], b[2];

	memset(w, 0, sizeof(*w));
	if (pipe2(a, O_CLOEXEC) || pipe2(b, O_CLOEXEC))
		die("pipe");
	w->to = a[1];
	w->far_from = a[0];
	w->from = b[0];
	w->far_to = b[1];
}

static void start(struct worker *w, uid_t uid)
{
	pipes(w);
	w->pid = fork();
	if (w->pid < 0)
		die("fork");
	if (!w->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(w->to);
		close(w->from);
		if (uid) {
			if (setgroups(0, NULL) || setgid(uid) || setuid(uid))
				die("setuid");
			prctl(PR_SET_DUMPABLE, 1);
		}
		serve(w->far_from, w->far_to);
		_exit(0);
	}
	close(w->far_to);
	close(w->far_from);
	/* Complete the startup code now, so that no event of a test counts it */
	worker_run(w, 1);
	worker_run(w, 1);
}

void worker_start(struct worker *w)
{
	start(w, 0);
}

void worker_start_as(struct worker *w, uid_t uid)
{
	start(w, uid);
}

static int sharer_main(void *arg)
{
	struct worker *w = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(w->to);
	close(w->from);
	serve(w->far_from, w->far_to);
	_exit(0);
}

void worker_start_sharing(struct worker *w)
{
	char *stack = malloc(SHARER_STACK);

	pipes(w);
	if (!stack)
		die("malloc");
	w->pid = clone(sharer_main, stack + SHARER_STACK, CLONE_VM | SIGCHLD, w);
	if (w->pid < 0)
		die("clone");
	close(w->far_to);
	close(w->far_from);
	worker_run(w, 1);
	worker_run(w, 1);
}

static void *thread_main(void *arg)
{
	struct worker *w = arg;

	w->pid = syscall(SYS_gettid);
	serve(w->far_from, w->far_to);
	return NULL;
}

void worker_start_thread(struct worker *w)
{
	pipes(w);
	w->is_thread = 1;
	if (pthread_create(&w->thread, NULL, thread_main, w))
		die("pthread_create");
	worker_run(w, 1);
	worker_run(w, 1);
}

static void tell(struct worker *w, uint32_t op, uint64_t n, uint32_t arg)
{
	struct command c = { .op = op, .n = n, .arg = arg };

	if (write(w->to, &c, sizeof(c)) != sizeof(c))
		die("worker is gone");
}

void worker_go(struct worker *w, uint64_t n)
{
	tell(w, WORK, n, 0);
}

/* Task state letter of /proc/PID/stat; 0 if there is no such task */
static char state(pid_t tid)
{
	char path[32], buf[256], *p;
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[len < 0 ? 0 : len] = 0;
	p = strrchr(buf, ')');
	return p && p[1] ? p[2] : 0;
}

/*
 * Has a task in state S been scheduled out?  /proc/PID/syscall reports "running" unless the
 * kernel could wait until the task was off its CPU.  Without permission to read that file,
 * rely on the state.
 */
static bool off_cpu(pid_t tid)
{
	char path[32], buf[16];
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	len = read(fd, buf, sizeof(buf));
	close(fd);
	return len <= 0 || buf[0] != 'r';	/* "running" */
}

/* After its answer, the worker executes a few more instructions before it blocks */
static void wait_for_read(struct worker *w)
{
	char c;

	if (read(w->from, &c, 1) != 1)
		die("worker died");
	/* Wait until it blocks in read(2) again */
	while ((c = state(w->pid)) != 'S' || !off_cpu(w->pid))
		if (c)
			sched_yield();
		else
			die("worker is gone");
}

bool worker_done(struct worker *w)
{
	struct pollfd p = { .fd = w->from, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

void worker_wait(struct worker *w)
{
	wait_for_read(w);
}

void worker_run(struct worker *w, uint64_t n)
{
	worker_go(w, n);
	worker_wait(w);
}

void worker_pin(struct worker *w, int cpu)
{
	tell(w, PIN, 0, cpu);
	wait_for_read(w);
}

void worker_roam(struct worker *w, uint64_t n, uint32_t times)
{
	tell(w, ROAM, n, times);
	wait_for_read(w);
}

void worker_dumpable(struct worker *w, int dumpable)
{
	tell(w, DUMPABLE, 0, dumpable);
	wait_for_read(w);
}

/*
 * The kid opens its pipe ends through /proc/PID/fd of this process, which closes its own ones
 * only after the kid has reported its tid.  The worker does not inherit them, so they do not
 * accumulate in a worker that forks many kids.
 */
static void bear_by(struct worker *w, struct worker *kid, enum op how)
{
	pipes(kid);
	kid->is_kid = 1;
	tell(w, how, (uint32_t)kid->far_from | (uint64_t)kid->far_to << 32, getpid());
	wait_for_read(w);
	if (read(kid->from, &kid->pid, sizeof(kid->pid)) != sizeof(kid->pid))
		die("no kid");
	close(kid->far_to);
	close(kid->far_from);
	worker_run(kid, 1);
	worker_run(kid, 1);
}

void worker_fork(struct worker *w, struct worker *kid)
{
	bear_by(w, kid, FORK);
}

void worker_add_thread(struct worker *w, struct worker *kid)
{
	bear_by(w, kid, THREAD);
}

void worker_reap(struct worker *w)
{
	tell(w, REAP, 0, 0);
	wait_for_read(w);
}

void worker_prctl(struct worker *w, int option)
{
	tell(w, PRCTL, 0, option);
	wait_for_read(w);
}

/* Wait until the worker is a zombie or reaped: by then its events have processed the exit */
static void gone(const struct worker *w)
{
	char c;

	do {
		sched_yield();
		c = state(w->pid);
	} while (c != 'Z' && c != 'X' && c);
}

void worker_leave(struct worker *w)
{
	tell(w, LEAVE, 0, 0);
	gone(w);
}

void worker_exec_only(struct worker *w, const char *path)
{
	tell(w, EXEC, (uintptr_t)path, 0);
}

void worker_exec(struct worker *w, const char *path)
{
	worker_exec_only(w, path);
	gone(w);
}

int worker_opens(struct worker *w)
{
	int fd, pidfd = syscall(SYS_pidfd_open, w->pid, 0);

	tell(w, OPEN, 0, 0);
	if (read(w->from, &fd, sizeof(fd)) != sizeof(fd))
		die("worker died");
	wait_for_read(w);
	fd = syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (fd < 0)
		die("pidfd_getfd");
	close(pidfd);
	return fd;
}

bool worker_fails_exec(struct worker *w, const char *path)
{
	char c;

	tell(w, EXEC, (uintptr_t)path, 0);
	return read(w->from, &c, 1) == 1;
}

void worker_exec_self(struct worker *w)
{
	tell(w, AGAIN, 0, 0);
	wait_for_read(w);
}

void worker_stop(struct worker *w)
{
	tell(w, END, 0, 0);
	if (w->is_kid) {
		gone(w);
	} else if (w->is_thread) {
		pthread_join(w->thread, NULL);
		close(w->far_to);
		close(w->far_from);
	} else {
		waitpid(w->pid, NULL, 0);
	}
	close(w->to);
	close(w->from);
}

void worker_zombie(struct worker *w)
{
	siginfo_t info;

	tell(w, END, 0, 0);
	waitid(P_PID, w->pid, &info, WEXITED | WNOWAIT);
	close(w->to);
	close(w->from);
}
