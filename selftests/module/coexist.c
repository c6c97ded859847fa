// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native perf and kpmu compete for the counters from all CPUs, repeatedly.  They never
 * hold them at the same time; the holder counts exactly; the other gets EBUSY; and
 * neither is locked out.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define SECONDS	4
#define FEW	10	/* minimum of successful and of failed opens for a valid result */

/* Memory shared by the processes; index 0 is kpmu, 1 is native perf */
struct ring {
	int held[2];
	long won[2];
	long lost[2];
	long both, wrong_errno, wrong_count;
};

static struct ring *ring;

static int open_by(int native, const struct perf_event_attr *a, pid_t pid, int cpu)
{
	if (native)
		return syscall(SYS_perf_event_open, a, pid, cpu, -1,
			       PERF_FLAG_FD_CLOEXEC);
	return ev_open(a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void tally(long *p)
{
	__atomic_add_fetch(p, 1, __ATOMIC_SEQ_CST);
}

/*
 * held[] is incremented after an open and decremented before the close.  So if a process has an
 * open event and the other side's held[] is not 0, both sides hold the counters.
 */
static void hold(int native, int fd, bool exact_here, unsigned int seed)
{
	uint64_t n = 100 + rand_r(&seed) % 5000, count;

	__atomic_add_fetch(&ring->held[native], 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ring->held[!native], __ATOMIC_SEQ_CST))
		tally(&ring->both);
	work_counted(fd, n, 0);
	count = ev_count(fd);
	if (exact_here && (count < WORK_INSNS(n) ||
			   count > WORK_INSNS(n) + SLACK(WORK_INSNS(n))))
		tally(&ring->wrong_count);
	if (__atomic_load_n(&ring->held[!native], __ATOMIC_SEQ_CST))
		tally(&ring->both);
	__atomic_sub_fetch(&ring->held[native], 1, __ATOMIC_SEQ_CST);
	close(fd);
}

static bool seen_too_little(void)
{
	int i;

	for (i = 0; i < 2; i++)
		if (__atomic_load_n(&ring->won[i], __ATOMIC_SEQ_CST) <= FEW ||
		    __atomic_load_n(&ring->lost[i], __ATOMIC_SEQ_CST) <= FEW)
			return true;
	return false;
}

static void contender(int native, int cpu, bool on_cpu, uint64_t end)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	unsigned int seed = cpu * 2 + native + 1;
	uint64_t late = patience();
	int fd;

	pin_to(cpu);
	while (now_ns() < end || (seen_too_little() && now_ns() < late)) {
		fd = open_by(native, &a, on_cpu ? -1 : 0, on_cpu ? cpu : -1);
		if (fd >= 0) {
			tally(&ring->won[native]);
			hold(native, fd, !on_cpu, rand_r(&seed));
		} else if (errno == EBUSY) {
			tally(&ring->lost[native]);
		} else {
			tally(&ring->wrong_errno);
		}
		/* Pause now and then: otherwise one side could hold the counters all the time */
		if (rand_r(&seed) % 4 == 0)
			usleep(rand_r(&seed) % 5000);
		else
			sched_yield();
	}
}

/* On every CPU, one process uses kpmu and one uses native perf */
static void fight(struct __test *_metadata, bool on_cpu)
{
	uint64_t end = now_ns() + SECONDS * 1000000000ULL;
	int i, n = 2 * nr_cpus(), status, fd;
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(ring, MAP_FAILED);
	for (i = 0; i < n; i++) {
		if (!fork()) {
			contender(i % 2, i / 2, on_cpu, end);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		EXPECT_EQ(status, 0);
	printf("# kpmu had them %ld times and lost %ld, native %ld and %ld\n",
	       ring->won[0], ring->lost[0], ring->won[1], ring->lost[1]);
	EXPECT_EQ(ring->both, 0);
	EXPECT_EQ(ring->wrong_errno, 0);
	EXPECT_EQ(ring->wrong_count, 0);
	for (i = 0; i < 2; i++) {
		EXPECT_GT(ring->won[i], FEW);
		EXPECT_GT(ring->lost[i], FEW);
		/* All events are closed, so the counters are free */
		fd = open_by(i, &a, 0, -1);
		EXPECT_GE(fd, 0);
		close(fd);
	}
}

TEST(tasks)
{
	fight(_metadata, false);
}

TEST(cpus)
{
	fight(_metadata, true);
}

/* A failed open logs which side holds the counters, in both directions */
TEST(refusal_is_logged)
{
	static char buf[1 << 20];
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd, len, i;

	sleep(6);		/* let the ratelimit of the messages expire */
	for (i = 0; i < 2; i++) {
		fd = open_by(i, &a, 0, -1);
		ASSERT_GE(fd, 0);
		EXPECT_LT(open_by(!i, &a, 0, -1), 0);
		EXPECT_EQ(errno, EBUSY);
		close(fd);
	}
	len = klogctl(3, buf, sizeof(buf) - 1);
	ASSERT_GT(len, 0);
	EXPECT_NE(strstr(buf, "kpmu: the kernel's perf requested the counters, but events of kpmu hold them"), NULL);
	EXPECT_NE(strstr(buf, "kpmu: the kernel's perf holds the counters"), NULL);
}

TEST_HARNESS_MAIN
