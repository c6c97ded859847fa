// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's own perf and kpmu want the counters at the same time, from all
 * CPUs, again and again.  Never have both of them one; who has them counts
 * exactly; who has not gets EBUSY; and neither is shut out.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "event.h"
#include "harness.h"

#define SECONDS	4
#define FEW	10	/* times to win and to lose, or it proves nothing */

/* What the processes share; [0] is kpmu's, [1] native */
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
 * held[] is raised after an open and lowered before the close, so whoever
 * sees the other's raised while it has an event itself has caught both.
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
		/* Let the other in now and then, or the counters never rest */
		if (rand_r(&seed) % 4 == 0)
			usleep(rand_r(&seed) % 5000);
		else
			sched_yield();
	}
}

/* One of each on every CPU */
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
		/* Nobody has them any more */
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

/* Who loses is told who has them, whichever way round */
TEST(loser_is_told)
{
	static char buf[1 << 20];
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd, len, i;

	sleep(6);		/* what other tests used up of the log's limit */
	for (i = 0; i < 2; i++) {
		fd = open_by(i, &a, 0, -1);
		ASSERT_GE(fd, 0);
		EXPECT_LT(open_by(!i, &a, 0, -1), 0);
		EXPECT_EQ(errno, EBUSY);
		close(fd);
	}
	len = klogctl(3, buf, sizeof(buf) - 1);
	ASSERT_GT(len, 0);
	EXPECT_NE(strstr(buf, "kpmu: the kernel's perf asked for the counters, an event of /dev/kpmu has them"), NULL);
	EXPECT_NE(strstr(buf, "kpmu: the kernel's perf holds the counters"), NULL);
}

TEST_HARNESS_MAIN
