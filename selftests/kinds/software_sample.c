// SPDX-License-Identifier: GPL-2.0-only
/* Sampling software events: which occurrences are sampled, and the contents of the samples. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "event.h"
#include "harness.h"
#include "ring.h"
#include "switches.h"

#define PAGES	200
#define MS	1000000ULL

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, addr;
};

static struct record record;

static struct ring *map(int fd, const struct perf_event_attr *a, int pages)
{
	struct ring *r = calloc(1, sizeof(*r));

	ring_map(r, fd, a, pages);
	return r;
}

static struct perf_event_header *next(struct ring *r)
{
	return ring_next(r, &record) ? &record.head : NULL;
}

static struct perf_event_attr soft(uint64_t config, uint64_t period)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, config);

	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_ADDR;
	return a;
}

static char *fresh(void)
{
	char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, PAGES * 4096, MADV_NOHUGEPAGE);
	return p;
}

static __attribute__((noinline)) void touch(char *p, int pages)
{
	int i;

	for (i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096 + 8] = 1;
}

static void spin(uint64_t ns)
{
	uint64_t start = now_ns();

	while (now_ns() - start < ns)
		;
}

/* With a period of 1 there is a sample of each fault, with its IP and address */
TEST(each_fault)
{
	ROWS("T-94 S-03 S-04 S-06 O-26");
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS, 1);
	int fd = ev_must(&a, 0, -1, -1, 0), n = 0;
	struct ring *r = map(fd, &a, 16);
	struct perf_event_header *h;
	char *p = fresh();
	uint64_t last = 0;

	touch(p, 0);
	ev_enable(fd);
	touch(p, PAGES);
	ev_disable(fd);
	while ((h = next(r))) {
		struct sample *s = (void *)h;

		ASSERT_EQ(h->type, PERF_RECORD_SAMPLE);
		EXPECT_EQ(h->size, sizeof(*s));
		EXPECT_EQ(h->misc & PERF_RECORD_MISC_CPUMODE_MASK,
			  PERF_RECORD_MISC_USER);
		EXPECT_EQ(s->addr, (uintptr_t)p + n * 4096 + 8);
		EXPECT_GE(s->ip, (uintptr_t)touch);
		EXPECT_LT(s->ip, (uintptr_t)touch + 200);
		EXPECT_EQ(s->pid, getpid());
		EXPECT_EQ(s->tid, getpid());
		EXPECT_GE(s->time, last);
		last = s->time;
		n++;
	}
	EXPECT_EQ(n, PAGES);
	EXPECT_EQ(ev_count(fd), PAGES);
}

static int samples(uint64_t period, uint64_t more_fields, int rounds)
{
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS, period);
	struct ring *r;
	int fd, i, n;

	a.sample_type |= more_fields;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 64);
	for (i = 0; i < rounds; i++) {
		char *p = fresh();

		ev_enable(fd);
		touch(p, PAGES);
		ev_disable(fd);
		munmap(p, PAGES * 4096);
	}
	n = ring_count(r, PERF_RECORD_SAMPLE);
	close(fd);
	return n;
}

TEST(every_nth)
{
	ROWS("T-94 A-03");
	EXPECT_EQ(samples(10, 0, 1), PAGES / 10);
	EXPECT_EQ(samples(7, 0, 2), 2 * PAGES / 7);
	EXPECT_EQ(samples(PAGES, 0, 3), 3);
	EXPECT_EQ(samples(PAGES + 1, 0, 1), 0);
}

/* With PERF_SAMPLE_PERIOD each occurrence is sampled, whatever the period, as upstream */
TEST(period_in_the_sample)
{
	ROWS("U-42");
	EXPECT_EQ(samples(1, PERF_SAMPLE_PERIOD, 1), PAGES);
	EXPECT_EQ(samples(1000000, PERF_SAMPLE_PERIOD, 1), PAGES);
}

TEST(refresh)
{
	ROWS("V-09 V-12");
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS, 1);
	int fd = ev_must(&a, 0, -1, -1, 0);
	struct ring *r = map(fd, &a, 16);
	char *p = fresh();

	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	touch(p, 100);
	EXPECT_EQ(ring_count(r, PERF_RECORD_SAMPLE), 3);
	EXPECT_LT(ev_count(fd), 100);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2), 0);
	touch(p + 100 * 4096, 100);
	EXPECT_EQ(ring_count(r, PERF_RECORD_SAMPLE), 2);
}

TEST(switches)
{
	ROWS("T-94");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
	int fd = ev_must(&a, 0, -1, -1, 0), n = 0, i;
	struct ring *r = map(fd, &a, 16);
	struct timespec t = { .tv_nsec = 2 * MS };
	struct perf_event_header *h;

	ev_enable(fd);
	for (i = 0; i < 20; i++)
		nanosleep(&t, NULL);
	ev_disable(fd);
	while ((h = next(r))) {
		struct sample *s = (void *)h;

		ASSERT_EQ(h->type, PERF_RECORD_SAMPLE);
		EXPECT_EQ(h->misc & PERF_RECORD_MISC_CPUMODE_MASK,
			  PERF_RECORD_MISC_KERNEL);
		EXPECT_GT(s->ip, 1ULL << 63);
		EXPECT_EQ(s->tid, getpid());
		n++;
	}
	EXPECT_GT(n, 5);
	EXPECT_EQ(n, ev_count(fd));
}

/*
 * The ways in which callers_of_the_scheduler leaves the CPU, each several times.  The partner is a
 * process on the same CPU.
 */
#define TIMES	6

static int pipes[2][2];

static void yields(void)
{
	int i;

	for (i = 0; i < TIMES; i++)
		sched_yield();
}

static void naps(void)
{
	int i;

	for (i = 0; i < TIMES; i++)
		sleep_switched(MS);
}

static void reads_pipe(void)
{
	char c = 0;
	int i;

	for (i = 0; i < TIMES; i++)
		if (write(pipes[0][1], &c, 1) != 1 || read(pipes[1][0], &c, 1) != 1)
			exit(1);
}

static void waits_for_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		usleep(1000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void is_preempted(void)
{
	long before = switches() - voluntary_switches();
	uint64_t end = patience();

	while (switches() - voluntary_switches() < before + 2 && now_ns() < end)
		work(1000);
}

static void (*const leave[])(void) = {
	yields, naps, reads_pipe, waits_for_child, is_preempted,
};

/* Answers through the pipes, and uses the CPU in between */
static pid_t start_partner(void)
{
	pid_t pid;

	if (pipe(pipes[0]) || pipe(pipes[1]))
		exit(1);
	fcntl(pipes[0][0], F_SETFL, O_NONBLOCK);
	fflush(NULL);
	pid = fork();
	while (!pid) {
		char c;

		if (read(pipes[0][0], &c, 1) == 1 && write(pipes[1][1], &c, 1) != 1)
			_exit(1);
		work(2000);
		sched_yield();
	}
	return pid;
}

static void priority(int policy, int level)
{
	const struct sched_param param = { .sched_priority = level };

	sched_setscheduler(0, policy, &param);
}

/* Both events see the same switches: none happens between the two ioctls */
static void leave_the_cpu(int ours, int native)
{
	int i;

	priority(SCHED_FIFO, 1);
	ev_enable(ours);
	ioctl(native, PERF_EVENT_IOC_ENABLE, 0);
	priority(SCHED_OTHER, 0);
	for (i = 0; i < ARRAY_SIZE(leave); i++)
		leave[i]();
	priority(SCHED_FIFO, 1);
	ioctl(native, PERF_EVENT_IOC_DISABLE, 0);
	ev_disable(ours);
	priority(SCHED_OTHER, 0);
}

/* Number of samples in both rings that have the same address and call chain; -1 if any differ */
static int same_callers(struct ring *a, struct ring *b, int *callers)
{
	static struct record theirs;
	uint64_t seen[16];
	int n = 0, i;

	*callers = 0;
	while (ring_find(a, &record, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(a, &record), t;

		if (!ring_find(b, &theirs, PERF_RECORD_SAMPLE))
			return -1;
		t = record_sample(b, &theirs);
		if (s.ip != t.ip || s.nr != t.nr || memcmp(s.chain, t.chain, s.nr * 8)) {
			printf("# sample %d: ip %lx, native %lx; %lu frames, native %lu\n", n,
			       (long)s.ip, (long)t.ip, (long)s.nr, (long)t.nr);
			return -1;
		}
		for (i = 0; i < *callers && seen[i] != s.ip; i++)
			;
		if (i == *callers && i < ARRAY_SIZE(seen))
			seen[(*callers)++] = s.ip;
		n++;
	}
	return ring_find(b, &theirs, PERF_RECORD_SAMPLE) ? -1 : n;
}

/*
 * A switch is located in the caller of the scheduler, with the same call chain as natively, from
 * wherever the scheduler is called; also while other probes are attached to the tracepoint of
 * switches, so that kpmu's probe is called in another way.
 */
TEST(callers_of_the_scheduler)
{
	ROWS("S-06 S-12 T-94");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
	struct perf_event_attr probe = ev_attr(PERF_TYPE_TRACEPOINT, 0);
	int ours, native, turn, other, n, callers;
	struct ring *ra, *rb;
	pid_t partner;

	ASSERT_EQ(pin_to(0), 0);
	probe.config = read_long("/sys/kernel/tracing/events/sched/sched_switch/id");
	probe.disabled = 0;
	probe.exclude_kernel = 0;
	partner = start_partner();
	a.sample_type |= PERF_SAMPLE_CALLCHAIN;
	ours = ev_must(&a, 0, -1, -1, 0);
	native = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	ASSERT_GE(native, 0);
	ra = map(ours, &a, 64);
	rb = map(native, &a, 64);
	for (turn = 0; turn < 5; turn++) {
		other = turn & 1 ? syscall(SYS_perf_event_open, &probe, 0, -1, -1, 0) : -1;
		EXPECT_EQ(other >= 0, turn & 1);
		leave_the_cpu(ours, native);
		n = same_callers(ra, rb, &callers);
		printf("# %d switches, %d addresses\n", n, callers);
		EXPECT_GE(n, 2 * TIMES);
		EXPECT_GE(callers, 1);
		ring_consume(ra);
		ring_consume(rb);
		if (other >= 0)
			close(other);
	}
	kill(partner, SIGKILL);
	waitpid(partner, NULL, 0);
}

/* The period of a clock event is in ns of its running time */
static void by_time(struct __test *_metadata, uint64_t config, uint64_t period,
		    bool freq)
{
	struct perf_event_attr a = soft(config, freq ? 1000000000 / period : period);
	int fd, n, i;
	struct ring *r;
	uint64_t time;

	a.freq = freq;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 64);
	/* In several pieces: an unfinished period continues at the next enable */
	for (i = 0; i < 20; i++) {
		ev_enable(fd);
		spin(10 * MS);
		ev_disable(fd);
	}
	n = ring_count(r, PERF_RECORD_SAMPLE);
	time = ev_count(fd);
	printf("# %d samples in %llu ns\n", n, (unsigned long long)time);
	EXPECT_GE(n, 3);
	/* A busy host may delay timers so that samples are missing, but none is early */
	EXPECT_LE(n, time / period + 1);
	if (exact_time() && !freq)
		EXPECT_GE(n, time / period * 9 / 10);
}

TEST(cpu_clock)
{
	ROWS("T-95 T-94");
	by_time(_metadata, PERF_COUNT_SW_CPU_CLOCK, MS, false);
}

TEST(task_clock)
{
	ROWS("T-95 N-22");
	by_time(_metadata, PERF_COUNT_SW_TASK_CLOCK, MS, false);
}

TEST(clock_frequency)
{
	ROWS("U-43");
	by_time(_metadata, PERF_COUNT_SW_CPU_CLOCK, MS, true);
}

/* A clock sample belongs to the mode that the timer interrupted */
TEST(clock_by_mode)
{
	ROWS("A-24");
	struct perf_event_attr a = soft(PERF_COUNT_SW_TASK_CLOCK, MS / 2);
	struct perf_event_header *h;
	struct ring *r;
	int fd, n = 0;

	a.exclude_kernel = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 64);
	ev_enable(fd);
	for (uint64_t start = now_ns(); now_ns() - start < 100 * MS;) {
		work(5000);
		syscall(SYS_getppid);
	}
	ev_disable(fd);
	while ((h = next(r))) {
		if (h->type != PERF_RECORD_SAMPLE)
			continue;
		n++;
		EXPECT_EQ(h->misc & PERF_RECORD_MISC_CPUMODE_MASK,
			  PERF_RECORD_MISC_USER);
		EXPECT_LT(((struct sample *)h)->ip, 1ULL << 47);
	}
	EXPECT_GT(n, 0);
}

/* With exclude_idle there are no samples of the idle task */
TEST(exclude_idle)
{
	ROWS("A-26");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CPU_CLOCK, MS);
	struct timespec t = { .tv_nsec = 200 * MS };
	struct perf_event_header *h;
	int all, busy, idle = 0, of_all = 0;
	uint64_t end = patience();
	struct ring *ra, *rb;

	if (nr_cpus() < 2)
		SKIP(return, "needs another CPU");
	ASSERT_EQ(pin_to(0), 0);
	all = ev_must(&a, -1, 1, -1, 0);
	a.exclude_idle = 1;
	busy = ev_must(&a, -1, 1, -1, 0);
	ra = map(all, &a, 64);
	rb = map(busy, &a, 64);
	ev_enable(all);
	ev_enable(busy);
	while (of_all <= 5 && now_ns() < end) {
		nanosleep(&t, NULL);
		while ((h = next(rb)))
			if (h->type == PERF_RECORD_SAMPLE)
				idle += !((struct sample *)h)->tid;
		while ((h = next(ra)))
			if (h->type == PERF_RECORD_SAMPLE)
				of_all += !((struct sample *)h)->tid;
	}
	ev_disable(all);
	ev_disable(busy);
	EXPECT_EQ(idle, 0);
	EXPECT_GT(of_all, 5);
}

TEST(clock_period_changes)
{
	ROWS("U-43");
	struct perf_event_attr a = soft(PERF_COUNT_SW_TASK_CLOCK, 1000 * MS);
	uint64_t period = MS, end = patience();
	struct ring *r;
	int fd, n = 0;

	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 64);
	ev_enable(fd);
	spin(20 * MS);
	EXPECT_EQ(ring_count(r, PERF_RECORD_SAMPLE), 0);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0);
	while (n < 2 && now_ns() < end) {
		spin(50 * MS);
		n += ring_count(r, PERF_RECORD_SAMPLE);
	}
	EXPECT_GE(n, 2);
}

/* With a frequency some page faults are sampled, but not all */
TEST(fault_frequency)
{
	ROWS("T-94");
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS, 0);
	struct ring *r;
	int fd, i, n;

	a.freq = 1;
	a.sample_freq = 1000;
	fd = ev_must(&a, 0, -1, -1, 0);
	r = map(fd, &a, 64);
	ev_enable(fd);
	for (i = 0; i < 50; i++) {
		char *p = fresh();

		touch(p, PAGES);
		munmap(p, PAGES * 4096);
	}
	ev_disable(fd);
	n = ring_count(r, PERF_RECORD_SAMPLE);
	EXPECT_GT(n, 3);
	EXPECT_LT(n, 50 * PAGES);
}

/* Each sample of a software leader contains the count of its hardware member */
TEST(group_values)
{
	ROWS("S-11 Q-15");
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS, 1);
	struct perf_event_attr m = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_header *h;
	struct {
		struct perf_event_header header;
		uint64_t nr, faults, insns;
	} *s;
	uint64_t last = 0;
	struct ring *r;
	int fd, n = 0;
	char *p = fresh();

	a.sample_type = PERF_SAMPLE_READ;
	a.read_format = PERF_FORMAT_GROUP;
	fd = ev_must(&a, 0, -1, -1, 0);
	m.disabled = 0;
	ev_must(&m, 0, -1, fd, 0);
	r = map(fd, &a, 16);
	ev_enable(fd);
	touch(p, 50);
	ev_disable(fd);
	while ((h = next(r))) {
		s = (void *)h;
		ASSERT_EQ(h->size, sizeof(*s));
		EXPECT_EQ(s->nr, 2);
		EXPECT_EQ(s->faults, n + 1);
		EXPECT_GT(s->insns, last);
		last = s->insns;
		n++;
	}
	EXPECT_EQ(n, 50);
}

TEST_HARNESS_MAIN
