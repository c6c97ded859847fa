// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cost of the events of perf record: side-band records, sampled switches, call chains; and what
 * the module costs after they have ended.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cost.h"
#include "event.h"
#include "module.h"
#include "ops.h"

/* The dummy event that perf record opens for side-band records */
static void bench_cold_dummy(void)
{
	const struct trial cold = {
		.before = op_cold, .op = op_open, .per = 1, .tries = 5, .later = 8000,
	};

	op_attr = counting(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	op_attr.mmap = 1;
	op_attr.mmap2 = 1;
	op_attr.comm = 1;
	op_attr.comm_exec = 1;
	op_attr.task = 1;
	op_attr.sample_id_all = 1;
	row("cold open + close, mmap/comm/task dummy", measure_trial(&cold));
}

/* Both tasks have the event: each switch writes a sample of the outgoing task */
static void bench_sampled_switch(void)
{
	struct perf_event_attr attr = counting(PERF_TYPE_SOFTWARE,
					       PERF_COUNT_SW_CONTEXT_SWITCHES);
	pid_t pid = partner_start();
	void *ring[2];
	int fd[2], i;

	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_PERIOD;
	for (i = 0; i < 2; i++) {
		fd[i] = ev_must(&attr, i ? pid : 0, -1, -1, 0);
		ring[i] = map_ring(fd[i], RING_BYTES);
	}
	row("switch, context-switches sampled, net", net_switch());
	for (i = 0; i < 2; i++) {
		munmap(ring[i], RING_BYTES);
		close(fd[i]);
	}
	partner_end(pid);
}

/*
 * A switch between a task and its child with the event of perf record -F 4000 -g.  Some switches
 * include a sample.
 */
static void bench_recorded_switch(void)
{
	struct perf_event_attr attr = counting(PERF_TYPE_HARDWARE,
					       PERF_COUNT_HW_CPU_CYCLES);
	void *ring;
	pid_t pid;
	int fd;

	attr.freq = 1;
	attr.sample_freq = 4000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_PERIOD;
	attr.read_format = PERF_FORMAT_ID;
	attr.inherit = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.sample_id_all = 1;
	fd = ev_must(&attr, 0, 0, -1, 0);
	ring = map_ring(fd, RING_BYTES);
	pid = partner_start();
	row("perf record -F 4000 -g: switch, net", net_switch());
	partner_end(pid);
	munmap(ring, RING_BYTES);
	close(fd);
}

#define NOTHING	"nothing"	/* argument of this program: exit at once */

/* What a program executes is the same on both routes: it opens no device */
const bool ev_device_late = true;

static void op_exec(void)
{
	static char *const argv[] = { NOTHING, NULL };
	pid_t pid = vfork();

	if (!pid) {
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void op_mmap(void)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 4096);
}

/*
 * The kernel's own operations without any event.  On the native route the module is not loaded.
 * On the other it was used before, and its hooks are detached after some thousand calls.
 */
static void bench_idle(void)
{
	static const struct {
		const char *name;
		void (*op)(void);
	} ops[] = {
		{ "module without events: switch", op_pingpong },
		{ "module without events: page fault", op_fault },
		{ "module without events: fork + exit", op_fork },
		{ "module without events: exec", op_exec },
		{ "module without events: mmap + munmap", op_mmap },
	};
	bool gone = route_is_native() && !module_unload_at_last();
	pid_t pid = partner_start();
	int i, n;

	munlockall();
	fault_page();
	close(open_soft(PERF_COUNT_SW_PAGE_FAULTS, -1));
	/* It would be copied by each fork */
	if (!route_is_native())
		close(ev_device());
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		for (n = 0; n < (ops[i].op == op_exec ? 10 : 2000); n++)
			ops[i].op();
	sleep(3);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		row(ops[i].name, divided(measure_usual(ops[i].op), i ? 1 : 2));
	partner_end(pid);
	if (gone)
		module_load("");
}

int main(int argc, char **argv)
{
	if (argc && !strcmp(argv[0], NOTHING))
		return 0;
	bench_begin();
	/* A throttled event would write no samples until the next tick */
	no_throttle();
	bench_cold_dummy();
	switch_without_events();
	bench_sampled_switch();
	bench_recorded_switch();
	bench_idle();
	return 0;
}
