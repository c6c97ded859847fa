// SPDX-License-Identifier: GPL-2.0-only
/* Cost of the default events of perf stat: with inherit, read with their times. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "ops.h"
#include "set.h"

static void op_set(void)
{
	open_set(0);
	close_set(0);
}

static void op_read_set(void)
{
	uint64_t buf[3];
	int i;

	for (i = 0; i < SET_NR; i++)
		if (read(fds[i], buf, sizeof(buf)) != sizeof(buf))
			exit(1);
}

/* Call the probes of the switch and of page faults until they are detached (kernel/compat/detach.h) */
static void op_detached(void)
{
	int i;

	for (i = 0; i < 1500; i++) {
		usleep(1);
		op_fault();
	}
	op_cold();
}

static void bench_open(void)
{
	const struct trial cold = {
		.before = op_cold, .op = op_set, .per = 1, .tries = 5, .later = 8000,
	};
	const struct trial detached = {
		.before = op_detached, .op = op_set, .per = 1, .tries = 5, .later = 8000,
	};

	row("open + close, perf stat's 4 sw + 4 hw", measure(op_set));
	row("the same cold", measure_trial(&cold));
	fault_page();
	row("the same, unused probes detached", measure_trial(&detached));
}

#define KIDS	16

/* Fork children that sleep, so that their events are not scheduled in */
static void start_kids(pid_t *kids, int n)
{
	while (n--) {
		kids[n] = fork();
		if (!kids[n]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	usleep(10000);
}

static void end_kids(pid_t *kids, int n)
{
	while (n--) {
		kill(kids[n], SIGKILL);
		waitpid(kids[n], NULL, 0);
	}
}

/* read() of all events, of one event, and the additional cost per child */
static void bench_reads(void)
{
	struct cost few, many;
	pid_t kids[1 + KIDS];

	open_set(0);
	row("read() of those 8, inherited", measure(op_read_set));
	close_set(0);

	open_set(SET_NR - 1);
	op_fd = fds[SET_NR - 1];
	row("read() one inherited, without children", measure(op_read));
	start_kids(kids, 1);
	few = measure(op_read);
	start_kids(kids + 1, KIDS);
	many = measure(op_read);
	row("per live child in that read()", divided(minus(many, few), KIDS));
	end_kids(kids, 1 + KIDS);
	close_set(SET_NR - 1);
}

/* A switch between a task and its child, which inherits all events of the task */
static void bench_switch(const char *name, int first)
{
	pid_t pid;

	open_set(first);
	pid = partner_start();
	row(name, net_switch());
	partner_end(pid);
	close_set(first);
}

/* What the inherited events add to a clone, the exit of the child, and the switches between */
static void bench_fork(void)
{
	struct cost without = measure(op_vfork);

	open_set(NR_SW);
	row("clone + exit (vfork), 4 hw inherited, net", minus(measure(op_vfork), without));
	close_set(NR_SW);
}

int main(void)
{
	bench_begin();
	switch_without_events();
	bench_open();
	bench_reads();
	bench_switch("switch, 4 hw inherited, net", NR_SW);
	bench_switch("switch, perf stat's 4 sw + 4 hw, net", 0);
	bench_fork();
	return 0;
}
