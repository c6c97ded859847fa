// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several processes perform random operations on events concurrently for a limited time, see
 * chaos.h.  Meanwhile witnesses, pinned events that always get a counter, must count exactly.
 * At the end no event may be left.
 *
 * Environment: KPMU_STRESS, duration in seconds (default 20); KPMU_SEED, seed of the random
 * numbers (the test prints it).
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/prctl.h>

#include "chaos.h"
#include "end.h"
#include "harness.h"
#include "task.h"

#define NR_CHAOS	6
#define NR_MORTAL	3	/* of these, the processes that are killed at random */
#define NR_WITNESS	4

/* The test unloads the module at its end, so this process must not have the device open */
const bool ev_device_late = true;

struct shared *sh;
unsigned int seed;

/* Open a witness; retry while native perf uses the counters, which is brief */
static int witness_open(pid_t pid)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd;

	a.disabled = 0;
	a.pinned = 1;
	a.read_format = FORMAT_TIMES;
	while ((fd = ev_open(&a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)) < 0) {
		if (errno != EBUSY) {
			wrong("witness: %s", strerror(errno));
			_exit(1);
		}
		did(A_waited_for_native);
		usleep(1000);
	}
	return fd;
}

static uint64_t must_have_run(int fd)
{
	struct ev_times t;

	if (read(fd, &t, sizeof(t)) != sizeof(t)) {
		wrong("a pinned witness lost its counter");
		return 0;
	}
	if (t.running != t.enabled)
		wrong("a pinned witness ran %llu of %llu ns",
		      (unsigned long long)t.running, (unsigned long long)t.enabled);
	return t.value;
}

/* Instructions between two reads: 4 per round, and a constant number for the reads */
static uint64_t between_reads(int fd, uint64_t rounds)
{
	struct ev_times one, two;

	if (read(fd, &one, sizeof(one)) < 0)
		return 0;
	work(rounds);
	if (read(fd, &two, sizeof(two)) < 0)
		return 0;
	return two.value - one.value;
}

/* Count this process itself, on any CPU */
static void witness_self(void)
{
	uint64_t rounds, got, bare;
	int fd = -1;

	while (!sh->stop) {
		if (fd < 0)
			fd = witness_open(0);
		bare = between_reads(fd, 1);
		rounds = 1 + any(100000);
		got = between_reads(fd, rounds);
		if (exact() && got - bare != 4 * (rounds - 1))
			wrong("%llu rounds of own work counted as %lld instructions",
			      (unsigned long long)rounds, (long long)(got - bare));
		must_have_run(fd);
		did(A_exact_self);
		if (!any(4))
			pin_to(any(nr_cpus()));
		usleep(any(10000));	/* let other processes run */
		if (!any(8)) {
			close(fd);
			fd = -1;
		}
	}
}

/* Count a worker's instructions exactly while the worker migrates between CPUs */
static void witness_other(int slot)
{
	uint64_t rounds, one, bare;
	struct worker w;
	cpu_set_t set;
	int fd, i;

	while (!sh->stop) {
		worker_start(&w);
		sh->pid[slot] = w.pid;
		fd = witness_open(w.pid);
		for (i = 0; i < 10 && !sh->stop; i++) {
			one = must_have_run(fd);
			worker_run(&w, 1);
			bare = must_have_run(fd) - one;
			rounds = 1 + any(200000);
			one = must_have_run(fd);
			worker_go(&w, rounds);
			for (int k = any(20); k; k--) {
				CPU_ZERO(&set);
				CPU_SET(any(nr_cpus()), &set);
				sched_setaffinity(w.pid, sizeof(set), &set);
				sched_yield();
			}
			worker_wait(&w);
			one = must_have_run(fd) - one - bare;
			if (exact() && one != 4 * (rounds - 1))
				wrong("%llu rounds of another's work counted as %lld instructions",
				      (unsigned long long)rounds, (long long)one);
			did(A_exact_other);
			usleep(any(10000));
		}
		close(fd);
		worker_stop(&w);
	}
}

static void hotplug(void)
{
	int cpu = nr_cpus() - 1, on = 1;

	while (!sh->stop) {
		usleep(50000 + any(300000));
		on = !on;
		if (!cpu_online(cpu, on))
			did(A_hotplugged);
	}
	cpu_online(cpu, 1);
}

static void role(int n)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (n < NR_CHAOS)
		chaos(n < NR_MORTAL);
	else if (n == NR_CHAOS + NR_WITNESS)
		hotplug();
	else if (n % 2)
		witness_self();
	else
		witness_other(n);
	_exit(0);
}

#define NR_ROLES	(NR_CHAOS + NR_WITNESS + 1)

static pid_t start(int n)
{
	pid_t pid;

	seed++;
	pid = fork();
	if (!pid) {
		seed = seed * 1000 + n;
		role(n);
	}
	sh->pid[n] = pid;
	return pid;
}

/* Actions that may not occur in a run, as they depend on timing */
static bool by_chance(int action)
{
	return action == A_native_won || action == A_waited_for_native ||
	       action == A_read_itself;
}

static bool all_done(void)
{
	int i;

	for (i = 0; i < NR_ACTIONS; i++)
		if (!sh->done[i] && !by_chance(i))
			return false;
	return true;
}

static void run(struct __test *_metadata, int seconds)
{
	uint64_t end = now_ns() + seconds * 1000000000ULL, late = late_end();
	int i, status, dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	pid_t pid[NR_ROLES];

	ASSERT_GE(dev, 0);
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sh->pass), 0);
	for (i = 0; i < NR_ROLES; i++)
		pid[i] = start(i);
	while (now_ns() < end || (!all_done() && now_ns() < late)) {
		usleep(any(200000));
		i = any(NR_MORTAL);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		did(A_killed);
		pid[i] = start(i);
	}
	sh->stop = 1;
	for (i = 0; i < NR_ROLES; i++) {
		EXPECT_EQ(waitpid(pid[i], &status, 0), pid[i]);
		EXPECT_EQ(status, 0);
	}
	close(sh->pass[0]);
	close(sh->pass[1]);
	close(dev);
}

TEST_TIMEOUT(random, 7200)
{
#define NAME(x) #x,
	static const char *const names[] = { ACTIONS(NAME) };
	const char *t = getenv("KPMU_STRESS"), *s = getenv("KPMU_SEED");
	int seconds = t ? atoi(t) : 20, i;

	seed = s && *s ? strtoul(s, NULL, 0) : now_ns() / 1000 % 1000000;
	printf("# %d seconds, seed %u\n", seconds, seed);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(sh, MAP_FAILED);
	make_groups();
	run(_metadata, seconds);
	for (i = 0; i < NR_ACTIONS; i++) {
		printf("# %10ld %s\n", sh->done[i], names[i]);
		if (!by_chance(i))
			EXPECT_GT(sh->done[i], 0);
	}
	EXPECT_EQ(sh->wrong, 0);
	nothing_left(_metadata);
}

/* Runs in the program executed by do_fork(): fds from 3 on may be inherited events */
static void after_exec(void)
{
	uint64_t v[512];
	int fd;

	work(10000);
	for (fd = 3; fd < 40; fd++)
		if (read(fd, v, sizeof(v)) < 0)
			continue;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "exec")) {
		after_exec();
		return 0;
	}
	return test_harness_run(argc, argv);
}
