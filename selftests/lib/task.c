// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "task.h"

enum op { WORK, PIN, ROAM, DUMPABLE, END };

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

/* Read, do, answer: the same way for all, so that its cost is the same */
static void serve(int in, int out)
{
	struct command c;

	for (;;) {
		if (read(in, &c, sizeof(c)) != sizeof(c) || c.op == END)
			return;
		if (c.op == PIN)
			pin_to(c.arg);
		else if (c.op == ROAM)
			roam(c.n, c.arg);
		else if (c.op == DUMPABLE)
			prctl(PR_SET_DUMPABLE, c.arg);
		else
			work(c.n);
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
	/* Past its start-up, or that would be counted */
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

/* Does it stand still in read(2) again? */
static int sleeps(pid_t tid)
{
	char path[32], buf[256], *p;
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	len = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[len < 0 ? 0 : len] = 0;
	p = strrchr(buf, ')');
	return p && p[1] && p[2] == 'S';
}

/* The answer comes first, then some more instructions, then it sleeps */
static void settle(struct worker *w)
{
	char c;

	if (read(w->from, &c, 1) != 1)
		die("worker died");
	while (!sleeps(w->pid))
		sched_yield();
}

void worker_wait(struct worker *w)
{
	settle(w);
}

void worker_run(struct worker *w, uint64_t n)
{
	worker_go(w, n);
	worker_wait(w);
}

void worker_pin(struct worker *w, int cpu)
{
	tell(w, PIN, 0, cpu);
	settle(w);
}

void worker_roam(struct worker *w, uint64_t n, uint32_t times)
{
	tell(w, ROAM, n, times);
	settle(w);
}

void worker_dumpable(struct worker *w, int dumpable)
{
	tell(w, DUMPABLE, 0, dumpable);
	settle(w);
}

void worker_stop(struct worker *w)
{
	tell(w, END, 0, 0);
	if (w->is_thread) {
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
