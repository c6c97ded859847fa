// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-exec PROGRAM [ARGUMENT...] - run a program with its perf_event_open(2) served
 * by kpmu, however it makes the system call: static binaries, Go programs, inline
 * SYSCALL instructions, and all processes that it starts.
 *
 * The kernel suspends each such call and notifies kpmu-exec (seccomp user
 * notification), which opens the event on behalf of the task and installs the fd in
 * it.  This file starts the program and waits for it; exec-serve.c answers the calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kpmu.h>

#include "exec.h"

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "kpmu-exec: %s: %s\n", what, strerror(errno));
	exit(125);
}

#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS,		\
				 offsetof(struct seccomp_data, field))
#define IF(val, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, val, yes, no)
#define RETURN(val)	BPF_STMT(BPF_RET | BPF_K, val)

/* Match perf_event_open(2), 64-bit, x32 and 32-bit, and allow all else */
static struct sock_filter filter[] = {
	LOAD(arch),
	IF(AUDIT_ARCH_X86_64, 0, 3),
	LOAD(nr),
	IF(NR_PERF_64, 4, 0),
	IF(NR_PERF_X32, 3, 4),
	IF(AUDIT_ARCH_I386, 0, 3),
	LOAD(nr),
	IF(NR_PERF_32, 0, 1),
	RETURN(SECCOMP_RET_USER_NOTIF),
	RETURN(SECCOMP_RET_ALLOW),
};

/* Without this flag a signal could restart a call that is being answered */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV	(1UL << 5)
#endif

static int listen_to_calls(void)
{
	struct sock_fprog prog = {
		.len = ARRAY_SIZE(filter), .filter = filter,
	};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       SECCOMP_FILTER_FLAG_NEW_LISTENER |
		       SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &prog);
}

static int install_filter(void)
{
	int fd = listen_to_calls();

	if (fd >= 0 || errno != EACCES)
		return fd;
	/* Required if not root; set-uid programs then get no privileges */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return listen_to_calls();
}

union fd_room {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int sock, int fd)
{
	union fd_room u = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(sock, &msg, 0) != 1)
		die("cannot pass the listener on");
}

static int receive_fd(int sock)
{
	union fd_room u = { 0 };
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &u, .msg_controllen = sizeof(u),
	};
	struct cmsghdr *c;
	int fd;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void __attribute__((noreturn)) be_program(int sock, char **argv)
{
	int fd = install_filter();

	if (fd < 0)
		die("seccomp");
	send_fd(sock, fd);
	close(fd);
	close(sock);
	execvp(argv[0], argv);
	fprintf(stderr, "kpmu-exec: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static pid_t program;

static void pass_on(int sig)
{
	kill(program, sig);
}

/* Signals of the terminal reach the program as well; others are passed on */
static void set_signals(void)
{
	static const int passed[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT };
	unsigned int i;

	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < ARRAY_SIZE(passed); i++)
		signal(passed[i], pass_on);
}

/* Exit with the program's status or signal */
static void __attribute__((noreturn)) end_as(int status)
{
	if (WIFSIGNALED(status)) {
		prctl(PR_SET_DUMPABLE, 0);	/* no second core dump */
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void usage(FILE *f)
{
	fputs("usage: kpmu-exec [-v] PROGRAM [ARGUMENT...]\n"
	      "Run PROGRAM with its perf_event_open(2) served by kpmu.\n"
	      "  -v  a line on stderr for each open\n", f);
}

int main(int argc, char **argv)
{
	struct server server = { .device = -1, .listener = -1 };
	int socks[2], opt, status;

	while ((opt = getopt(argc, argv, "+vh")) != -1) {
		switch (opt) {
		case 'v':
			server.verbose = true;
			break;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 125;
		}
	}
	if (optind == argc) {
		usage(stderr);
		return 125;
	}
	server.device = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	if (server.device < 0)
		die(KPMU_DEVICE);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		die("socketpair");
	program = fork();
	if (program < 0)
		die("fork");
	if (!program)
		be_program(socks[1], argv + optind);
	set_signals();
	close(socks[1]);
	server.listener = receive_fd(socks[0]);
	close(socks[0]);
	server.program = program;
	if (server.listener >= 0)
		serve(&server);
	/* The program may be ending, and SIGCHLD still come */
	while (waitpid(program, &status, 0) != program)
		if (errno != EINTR)
			die("waitpid");
	/* Processes that the program left running are served by a separate process */
	if (server.listener >= 0 && server_has_clients(&server) && !fork()) {
		setsid();
		server.program = 0;
		serve(&server);
		_exit(0);
	}
	end_as(status);
}
