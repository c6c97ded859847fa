// SPDX-License-Identifier: GPL-2.0-only
/* Records of precise events that wait in a buffer, and several CPUs: migration, CPUs offline. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "precise.h"

#define NEED_CPUS() do {						\
	if (nr_cpus() < 2)						\
		SKIP(return, "there is only one CPU");			\
} while (0)

/* Samples of the row in the ring, and a check that the others are of user mode, too */
static int of_row(struct ring *r)
{
	int i, n = collect(r), found = 0;

	for (i = 0; i < n; i++) {
		found += in_rising(&seen[i]);
		if ((int64_t)seen[i].ip < 0)
			return -1;
	}
	return found;
}

/*
 * The records of each CPU come before the task runs on the next one.  A record that is due at a switch
 * is one of later instructions.
 */
TEST(migration)
{
	struct perf_event_attr a;
	struct ring r;
	int fd, i;

	ROWS("A-37");
	NEED_PRECISE();
	NEED_CPUS();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_CPU);
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	for (i = 0; i < 20; i++) {
		rising();
		pin_to(!(i & 1));
	}
	ev_disable(fd);
	EXPECT_GE(of_row(&r), 20 * (N / step_of(2) - 1));
	ring_unmap(&r);
	close(fd);
}

static volatile bool *go;

/* A child on the last CPU that executes the row over and over until it is told to stop */
static pid_t start_child(int cpu)
{
	pid_t pid;

	go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (go == MAP_FAILED)
		exit(1);
	*go = true;
	pid = fork();
	if (!pid) {
		pin_to(cpu);
		while (*go)
			rising();
		_exit(0);
	}
	return pid;
}

static void stop_child(pid_t pid)
{
	int status;

	*go = false;
	waitpid(pid, &status, 0);
}

static bool toggle(int cpu)
{
	return !cpu_online(cpu, 0) && !cpu_online(cpu, 1);
}

/* An event of a task whose CPU goes offline: it goes on elsewhere, and is exact */
TEST(offline_of_a_task)
{
	struct perf_event_attr a;
	int fd, i, cpu = nr_cpus() - 1;
	uint64_t before;
	struct ring r;
	pid_t pid;

	ROWS("A-37");
	NEED_PRECISE();
	NEED_CPUS();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID);
	a.disabled = 0;
	a.sample_period = 100003;
	pid = start_child(cpu);
	fd = ev_must(&a, pid, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	for (i = 0; i < 5; i++) {
		before = ev_count(fd);
		ASSERT_TRUE(toggle(cpu));
		while (ev_count(fd) == before)
			usleep(1000);
	}
	stop_child(pid);
	EXPECT_GT(of_row(&r), 0);
	for (i = 0; i < 10 && i < MAX_SEEN && seen[i].ip; i++)
		EXPECT_EQ(seen[i].tid, pid);
	ring_unmap(&r);
	close(fd);
}

/* A CPU that was offline has its buffer again: new events are exact there */
TEST(exact_afterwards)
{
	struct perf_event_attr a;
	int i, n, held, cpu = nr_cpus() - 1;

	ROWS("A-37");
	NEED_PRECISE();
	NEED_CPUS();
	a = precise_attr(RAW_INSNS, 2, 0);
	for (held = 0; held < 2; held++) {
		/* With an event that keeps the buffers meanwhile, and without */
		int fd = held ? ev_must(&a, 0, -1, -1, 0) : -1;

		pin_to(0);
		ASSERT_TRUE(toggle(cpu));
		pin_to(cpu);
		n = of_rising(&a);
		EXPECT_EQ(n, N / step_of(2));
		for (i = 0; i < n; i++)
			EXPECT_EQ(seen[i].ip, nth_inc((i + 1) * step_of(2)));
		if (held)
			close(fd);
		pin_to(0);
	}
}

/* All samples in the ring, also more than seen[] takes; -1 if a time is before the last one */
static int in_order(struct ring *r)
{
	uint64_t last = 0;
	int i, n, all = 0;

	while ((n = collect(r)) > 0) {
		for (i = 0; i < n; i++) {
			if (seen[i].time < last)
				return -1;
			last = seen[i].time;
		}
		all += n;
	}
	return all;
}

/* An event of the CPU that goes offline, while its records wait: those before are all there */
TEST(offline_of_a_cpu)
{
	struct perf_event_attr a;
	int fd, n, cpu = nr_cpus() - 1;
	uint64_t count;
	struct ring r;
	pid_t pid;

	ROWS("A-37");
	NEED_PRECISE();
	NEED_CPUS();
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	a.sample_period = 1000003;
	fd = ev_must(&a, -1, cpu, -1, 0);
	/* A busy machine may need seconds to take the CPU offline: room for 65,000 records, 13 s */
	ring_map(&r, fd, &a, 512);
	ev_enable(fd);
	pid = start_child(cpu);
	while (ev_count(fd) < 10 * a.sample_period)
		usleep(1000);
	usleep(20000);
	ASSERT_FALSE(cpu_online(cpu, 0));
	count = ev_count(fd);
	n = in_order(&r);
	ASSERT_FALSE(cpu_online(cpu, 1));
	EXPECT_GT(n, 0);
	/* A period for each record; what follows the last one is less than another */
	EXPECT_GE(count, (uint64_t)n * a.sample_period);
	EXPECT_LE(count, (uint64_t)(n + 1) * a.sample_period + n);
	stop_child(pid);
	ev_disable(fd);
	ring_unmap(&r);
	close(fd);
}

static uint64_t words[N] __attribute__((aligned(64)));

#define LINES		(N * 8 / 64)
#define RAW_HITM	0x04d2		/* loads of lines that another CPU has modified */
#define SLOW		79		/* cycles; such a load takes longer */
#define EVERY		7

static int modify_there_read_here(const struct perf_event_attr *a, uint64_t *count)
{
	/* The model of caches knows of stores that an event counts */
	struct perf_event_attr stores = ev_attr(PERF_TYPE_RAW, RAW_HITM);
	int fd, n, other = ev_must(&stores, 0, -1, -1, 0);
	struct ring r;

	pin_to(1);
	stores_counted(other, words);
	close(other);
	pin_to(0);
	fd = ev_must(a, 0, -1, -1, 0);
	ring_map(&r, fd, a, 64);
	loads_counted(fd, words);
	n = collect(&r);
	*count = ev_count(fd);
	ring_unmap(&r);
	close(fd);
	return n;
}

/* The first load of each line finds it modified by the other CPU, as in false sharing */
TEST(modified_lines)
{
	struct perf_event_attr a;
	union perf_mem_data_src src;
	uint64_t count;
	int i, n;

	ROWS("S-29 S-30 S-31");
	NEED_PRECISE();
	NEED_CPUS();
	if (cpu_model() == CPU_SPR)
		SKIP(return, "load latencies need an auxiliary event");
	a = precise_attr(RAW_LATENCY, 2, PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT);
	a.config1 = SLOW;
	a.sample_period = EVERY;
	n = modify_there_read_here(&a, &count);
	EXPECT_EQ(n, LINES / (EVERY + 1));
	for (i = 0; i < n; i++) {
		EXPECT_EQ(seen[i].addr, (uintptr_t)&words[((i + 1) * (EVERY + 1) - 1) * 8]);
		EXPECT_GT(seen[i].weight, SLOW);
		src.val = seen[i].data_src;
		EXPECT_EQ((int)src.mem_op, PERF_MEM_OP_LOAD);
		EXPECT_EQ((int)src.mem_lvl, PERF_MEM_LVL_L3 | PERF_MEM_LVL_HIT);
		EXPECT_EQ((int)src.mem_snoop, PERF_MEM_SNOOP_HITM);
	}
	a = ev_attr(PERF_TYPE_RAW, RAW_HITM);
	modify_there_read_here(&a, &count);
	EXPECT_EQ(count, LINES);
}

static long free_kb(void)
{
	struct sysinfo i;

	return sysinfo(&i) ? 0 : i.freeram * i.mem_unit / 1024;
}

#define MANY	200

/* The buffers are for all events together: however many somebody opens, there is one for each CPU */
TEST(memory)
{
	struct perf_event_attr a;
	int fds[MANY], i;
	long before;

	ROWS("A-37");
	NEED_PRECISE();
	a = precise_attr(RAW_INSNS, 2, 0);
	fds[0] = ev_must(&a, 0, -1, -1, 0);
	before = free_kb();
	for (i = 1; i < MANY; i++)
		fds[i] = ev_must(&a, 0, -1, -1, 0);
	/* A buffer has 64 kB for each CPU */
	EXPECT_LT(before - free_kb(), MANY * 32);
	for (i = 0; i < MANY; i++)
		close(fds[i]);
}

static int open_native(struct perf_event_attr *a)
{
	return syscall(SYS_perf_event_open, a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Are the samples that native perf takes now those of the row? */
static bool native_is_exact(struct perf_event_attr *a)
{
	int i, n, fd, try = 0;
	struct ring r;
	long before;

	do {
		/* The counters of closed events are released with a delay */
		while ((fd = open_native(a)) < 0 && errno == EBUSY)
			usleep(10000);
		if (fd < 0)
			return false;
		ring_map(&r, fd, a, 64);
		before = switches();
		rising_counted(fd);
		n = collect(&r);
		ring_unmap(&r);
		close(fd);
	} while (switches() != before && ++try < TRIES);
	for (i = 0; i < n; i++)
		if (seen[i].ip != nth_inc((i + 1) * step_of(2)))
			return false;
	return n == N / step_of(2);
}

/*
 * Native perf has the same registers, and buffers at the same place: it and kpmu never have precise
 * events at the same time, and each finds its own buffers after the other
 */
TEST(beside_native)
{
	struct perf_event_attr a;
	int i, fd;

	ROWS("A-37");
	NEED_PRECISE();
	if (route_is_native())
		SKIP(return, "native perf itself");
	pin_to(0);
	a = precise_attr(RAW_INSNS, 2, 0);
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(native_is_exact(&a));
		fd = open_native(&a);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EBUSY);
		close(fd);
		EXPECT_EQ(of_rising(&a), N / step_of(2));
		fd = ev_must(&a, 0, -1, -1, 0);
		EXPECT_EQ(open_native(&a), -1);
		EXPECT_EQ(errno, EBUSY);
		close(fd);
	}
	EXPECT_TRUE(native_is_exact(&a));
}

TEST_HARNESS_MAIN
