// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost of operations while no event exists: on kpmu in a guest that has loaded the module, natively
 * in one that has not (see run.sh).  The least is the median here.  With an argument the program
 * exits at once: it is what the exec row executes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"

/* An open device would be copied by each fork */
const bool ev_device_late = true;

static int file;

static void op_map(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);

	if (p == MAP_FAILED || munmap(p, 4096))
		exit(1);
}

static void op_exec(void)
{
	static char *const args[] = { "bench_idle", "exit", NULL };
	pid_t pid = fork();
	int status;

	if (!pid) {
		execv("/proc/self/exe", args);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc > 1)
		return 0;
	bench_begin();
	file = open("/proc/self/exe", O_RDONLY);
	pid = partner_start();
	row("idle: task switch", divided(measure_usual(op_pingpong), 2));
	partner_end(pid);
	fault_page();
	row("idle: page fault", measure_usual(op_fault));
	row("idle: fork + exit + wait", measure_usual(op_fork));
	row("idle: fork + exec + exit + wait", measure_usual(op_exec));
	row("idle: mmap + munmap of a file", measure_usual(op_map));
	return 0;
}
