// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparison of whole rings: a script of processes and threads causes most kinds of side-band
 * records, and kpmu's ring must equal that of native perf, record by record.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "pair.h"
#include "task.h"

static struct record rec;

static struct perf_event_attr all_attr(void)
{
	struct perf_event_attr a = pair_attr();

	a.mmap = 1;
	a.mmap2 = 1;
	a.mmap_data = 1;
	a.comm = 1;
	a.comm_exec = 1;
	a.task = 1;
	a.context_switch = 1;
	a.namespaces = 1;
	a.cgroup = 1;
	a.ksymbol = 1;
	a.bpf_event = 1;
	return a;
}

static void *thread(void *arg)
{
	prctl(PR_SET_NAME, arg);
	mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sched_yield();
	return NULL;
}

static volatile int handled;

static void handler(int sig)
{
	handled++;
}

/*
 * The script, on one CPU.  Real-time priority makes it unlikely that a task is preempted
 * between the writes of a record to the two rings.
 */
static void script(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	static char *const args[] = { "tiny", NULL };
	pthread_t t[3];
	void *p;
	int i;

	sched_setscheduler(0, SCHED_FIFO, &first);
	signal(SIGUSR1, handler);
	prctl(PR_SET_NAME, "script");
	p = mmap(NULL, 16384, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect((char *)p + 4096, 4096, PROT_READ | PROT_EXEC);
	munmap(p, 16384);
	for (i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, thread, (void *)"thread");
	for (i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 5; i++)
		kill(getpid(), SIGUSR1);
	if (!fork()) {
		prctl(PR_SET_NAME, "kid");
		if (!fork())
			execv("/tmp/tiny", args);
		wait(NULL);
		unshare(CLONE_NEWUTS);
		_exit(3);
	}
	wait(NULL);
	if (!fork()) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	wait(NULL);
	if (!vfork())
		execv("/tmp/tiny", args);
	wait(NULL);
	usleep(1000);
	_exit(0);
}

static void run_script(struct __test *_metadata, struct pair *p, bool of_cpu)
{
	struct perf_event_attr a = all_attr();
	int go[2];
	pid_t pid;
	char c;

	tiny_install("/tmp/tiny", 10, 0700);
	pin_to(nr_cpus() - 1);
	ASSERT_EQ(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &c, 1) == 1)
			script();
		_exit(1);
	}
	a.inherit = !of_cpu;
	pair_open(p, &a, of_cpu ? -1 : pid, nr_cpus() - 1, 256);
	pair_enable(p);
	if (nr_cpus() > 1)
		pin_to(0);
	ASSERT_EQ(write(go[1], "", 1), 1);
	waitpid(pid, NULL, 0);
	if (of_cpu)
		pair_disable(p);
}

#define ATTEMPTS	10
#define YIELDS		3	/* by the threads; recorded as preemption */

static int preempted(struct pair *p)
{
	int n = -YIELDS;

	pair_rewind(p);
	while (ring_next(&p->ours, &rec))
		n += rec.head.type == PERF_RECORD_SWITCH &&
		     rec.head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	return n;
}

/*
 * If a task is preempted between the writes of a record to the two rings, the rings hold its
 * SWITCH at different places.  Then the script runs again.  Real-time priority does not rule
 * this out: RT throttling reserves CPU time for other tasks.  Different rings without any
 * preemption are a failure at once.  After the last attempt SWITCH records are not compared.
 */
static bool same_rings(struct __test *_metadata, struct pair *p)
{
	int i, n;

	for (i = 0; i < ATTEMPTS; i++) {
		run_script(_metadata, p, false);
		n = preempted(p);
		pair_rewind(p);
		if (pair_compare(p, -1) >= 50)
			return true;
		printf("# preempted %d times\n", n);
		if (!n)
			return false;
	}
	pair_rewind(p);
	return pair_compare(p, ~TYPE(SWITCH)) >= 40;
}

TEST(inherited)
{
	ROWS("D-01 D-12 D-21 D-46 H-09 R-24 J-05");
	static const uint8_t types[] = {
		PERF_RECORD_COMM, PERF_RECORD_EXIT, PERF_RECORD_FORK,
		PERF_RECORD_MMAP2, PERF_RECORD_SWITCH, PERF_RECORD_NAMESPACES,
	};
	int n[RECORD_MAX_TYPE + 1] = { 0 }, i;
	struct pair p;

	EXPECT_TRUE(same_rings(_metadata, &p));
	pair_rewind(&p);
	while (ring_next(&p.ours, &rec))
		n[rec.head.type]++;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		TH_LOG("%s: %d", record_name(types[i]), n[types[i]]);
		EXPECT_GE(n[types[i]], 1);
	}
	/* Three threads, two children, a grandchild and a vfork child; EXIT of the script, too */
	EXPECT_EQ(n[PERF_RECORD_FORK], 7);
	EXPECT_EQ(n[PERF_RECORD_EXIT], 8);
}

TEST(of_a_cpu)
{
	ROWS("D-46 D-30");
	struct pair p;

	run_script(_metadata, &p, true);
	/*
	 * The two events are enabled and disabled one after the other, so the first and last
	 * switches may be in one ring only.
	 */
	EXPECT_GE(pair_compare(&p, ~TYPE(SWITCH_CPU_WIDE)), 30);
}

TEST_HARNESS_MAIN
