// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver's PMU with two counters on each CPU, selftests/driver/kpmu-few.c: its events are assigned
 * to counters, rotate, and overflow by an interrupt, as those of the CPU's own counters do.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "driver.h"
#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define ANY	1
#define SECOND	2
#define WORK	2000000
#define MS	1000000ULL

static struct record rec;

static struct perf_event_attr few(uint64_t config)
{
	struct perf_event_attr a = driver_attr("few", config);

	a.read_format = FORMAT_TIMES;
	return a;
}

static int self(uint64_t config, int group)
{
	struct perf_event_attr a = few(config);

	a.disabled = 0;
	return ev_must(&a, 0, -1, group, 0);
}

TEST(counts)
{
	struct perf_event_attr a = few(ANY);
	int fd = ev_must(&a, 0, -1, -1, 0);

	EXPECT_TRUE(counts_cycles(fd, WORK));
	EXPECT_TRUE(always_ran(fd));
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	EXPECT_EQ(ev_times(fd).value, 0);
}

/* Work until each of @nr events has run for @ns */
static bool all_run(const int *fd, int nr, uint64_t ns)
{
	uint64_t end = patience();
	int i;

	do {
		work(WORK / 10);
		for (i = 0; i < nr && ev_times(fd[i]).running >= ns; i++)
			;
		if (i == nr)
			return true;
	} while (now_ns() < end);
	printf("# event %d ran for %lu ns\n", i, ev_times(fd[i]).running);
	return false;
}

/* Two counters, five events: all of them run, at most two at a time */
TEST(multiplexed)
{
	uint64_t running = 0, enabled = 0;
	int fd[5], i;

	for (i = 0; i < 5; i++)
		fd[i] = self(ANY, -1);
	EXPECT_TRUE(all_run(fd, 5, 20 * MS));
	for (i = 4; i >= 0; i--) {
		struct ev_times t;

		ev_disable(fd[i]);
		t = ev_times(fd[i]);
		EXPECT_LT(t.running, t.enabled);
		EXPECT_GT(t.value, 0);
		running += t.running;
		enabled = t.enabled;	/* of the event that was opened first, disabled last */
	}
	EXPECT_LE(running, 2 * enabled);
	/* No counter is idle while an event waits; the first events had less company */
	EXPECT_GE(running, enabled);
}

/* An event that can use either counter makes room for one that cannot */
TEST(constrained)
{
	int any = self(ANY, -1), second = self(SECOND, -1), other, fd[2];

	work(WORK);
	EXPECT_TRUE(always_ran(any));
	EXPECT_TRUE(always_ran(second));
	close(any);
	other = self(SECOND, -1);
	fd[0] = second;
	fd[1] = other;
	EXPECT_TRUE(all_run(fd, 2, 20 * MS));
	EXPECT_FALSE(always_ran(other));
}

TEST(groups)
{
	struct perf_event_attr a = few(ANY), soft, hard;
	int lead = self(ANY, -1), fd;

	soft = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	hard = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	a.disabled = 0;
	fd = ev_must(&a, 0, -1, lead, 0);
	/* A third one would never fit, nor would two on the second counter */
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), EINVAL);
	close(fd);
	a.config = SECOND;
	fd = ev_must(&a, 0, -1, lead, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, lead, 0), EINVAL);
	/* The counters of a group belong to one PMU */
	EXPECT_EQ(ev_errno(&hard, 0, -1, lead, 0), EINVAL);
	fd = ev_must(&hard, 0, -1, -1, 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, fd, 0), EINVAL);
	close(fd);
	/* Software events have none */
	EXPECT_GE(ev_must(&soft, 0, -1, lead, 0), 0);
	fd = ev_must(&soft, 0, -1, -1, 0);
	EXPECT_GE(ev_must(&a, 0, -1, fd, 0), 0);
	EXPECT_EQ(ev_errno(&hard, 0, -1, fd, 0), EINVAL);
}

/* Both events of a group run at the same time, or neither does */
TEST(groups_rotate)
{
	struct perf_event_attr a = few(ANY);
	int fd[4], i;

	for (i = 0; i < 4; i += 2) {
		fd[i] = ev_must(&a, 0, -1, -1, 0);
		fd[i + 1] = self(SECOND, fd[i]);
	}
	ev_enable(fd[0]);
	ev_enable(fd[2]);
	EXPECT_TRUE(all_run(fd, 4, 20 * MS));
	for (i = 0; i < 4; i += 2) {
		ev_disable(fd[i]);
		EXPECT_EQ(ev_times(fd[i]).running, ev_times(fd[i + 1]).running);
		EXPECT_LT(ev_times(fd[i]).running, ev_times(fd[i]).enabled);
	}
}

/* The counters of the CPU and of the driver do not disturb each other */
TEST(beside_the_cpus_own)
{
	int fd[4], own = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1), i;

	for (i = 0; i < 4; i++)
		fd[i] = self(ANY, -1);
	work_counted(own, WORK, 0);
	if (exact())
		EXPECT_EQ(ev_count(own), WORK_INSNS(WORK));
	EXPECT_TRUE(all_run(fd, 4, 20 * MS));
}

TEST(pinned)
{
	struct perf_event_attr a = few(SECOND);
	int first, flexible, second;
	char buf[64];

	a.pinned = 1;
	a.disabled = 0;
	flexible = self(SECOND, -1);
	first = ev_must(&a, 0, -1, -1, 0);
	work(WORK);
	EXPECT_TRUE(always_ran(first));
	EXPECT_FALSE(always_ran(flexible));
	second = ev_must(&a, 0, -1, -1, 0);
	work(1000);
	EXPECT_EQ(read(second, buf, sizeof(buf)), 0);
	EXPECT_TRUE(always_ran(first));
}

/* The counters of a CPU pass from task to task; each event counts only while its task runs */
TEST(tasks)
{
	struct perf_event_attr a = few(ANY);
	uint64_t sum = 0, before, after;
	struct worker w[3];
	int fd[3], i, k;

	a.disabled = 0;
	before = __rdtsc();
	for (i = 0; i < 3; i++) {
		worker_start(&w[i]);
		worker_pin(&w[i], nr_cpus() - 1);
		fd[i] = ev_must(&a, w[i].pid, -1, -1, 0);
	}
	for (k = 0; k < 20; k++) {
		for (i = 0; i < 3; i++)
			worker_go(&w[i], WORK / 10);
		for (i = 0; i < 3; i++)
			worker_wait(&w[i]);
	}
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(always_ran(fd[i]));
		EXPECT_GT(ev_times(fd[i]).value, 0);
		sum += ev_times(fd[i]).value;
		worker_stop(&w[i]);
	}
	after = __rdtsc();
	/* They share one CPU, so together they cannot have run longer than all took */
	EXPECT_LE(sum, after - before);
}

TEST(inherited)
{
	struct perf_event_attr a = few(ANY);
	uint64_t own, *cycles, sum = 0;
	int fd, i;

	cycles = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(cycles, MAP_FAILED);
	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	a.config = SECOND;
	ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	work(WORK);
	own = ev_times(fd).value;
	for (i = 0; i < 4; i++)
		if (!fork()) {
			cycles[i] = cycles_of_work(WORK);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	for (i = 0; i < 4; i++) {
		EXPECT_GT(cycles[i], 0);
		sum += cycles[i];
	}
	/* Stopper tasks may have preempted the children */
	EXPECT_GE(ev_times(fd).value, own + sum / 4 * 3);
	EXPECT_TRUE(always_ran(fd));
}

TEST(of_a_cpu)
{
	struct perf_event_attr a = few(ANY);
	uint64_t v;
	int fd;

	a.disabled = 0;
	fd = ev_must(&a, -1, nr_cpus() - 1, -1, 0);
	usleep(10000);
	v = ev_times(fd).value;
	EXPECT_GT(v, 0);
	usleep(10000);
	EXPECT_GT(ev_times(fd).value, v);
	ev_disable(fd);
	v = ev_times(fd).value;
	usleep(10000);
	EXPECT_EQ(ev_times(fd).value, v);
}

static int sampled_few(struct ring *r, uint64_t period)
{
	struct perf_event_attr a = few(ANY);
	int fd;

	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(r, fd, &a, 64);
	return fd;
}

/* Each sample's period is a multiple of the event's */
static void check_samples(struct __test *_metadata)
{
	const uint64_t period = 1000000;
	uint64_t sum;
	struct ring r;
	int fd, n;

	throttle_at(1000000, 0);
	fd = sampled_few(&r, period);
	ev_enable(fd);
	work(40 * WORK);
	ev_disable(fd);
	n = sum_samples(&r, period, &sum);
	EXPECT_GE(n, 3);
	EXPECT_LE(sum, ev_times(fd).value);
	EXPECT_GE(sum, ev_times(fd).value / 2);
}

TEST(samples)
{
	check_samples(_metadata);
}

TEST(by_frequency)
{
	int n = samples_by_frequency(few(SECOND));

	EXPECT_GE(n, 20);
	EXPECT_LE(n, 2000);
}

/* After the last overflow that REFRESH allows, the event does not count */
static void check_refresh(struct __test *_metadata)
{
	struct ring r;
	uint64_t v;
	int fd;

	throttle_at(1000000, 0);
	fd = sampled_few(&r, 1000000);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	work(40 * WORK);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 3);
	v = ev_times(fd).value;
	EXPECT_GE(v, 3000000);
	work(WORK);
	EXPECT_EQ(ev_times(fd).value, v);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 2), 0);
	work(40 * WORK);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 2);
}

TEST(refreshes)
{
	check_refresh(_metadata);
}

/* An event that overflows too often pauses until the next tick, and then counts again */
TEST(throttled)
{
	int fd, off = 0, on = 0, n = 0;
	struct ring r;

	throttle_at(1000, 0);
	fd = sampled_few(&r, 30000);
	ev_enable(fd);
	work(100 * WORK);
	ev_disable(fd);
	while (ring_next(&r, &rec)) {
		n += rec.head.type == PERF_RECORD_SAMPLE;
		off += rec.head.type == PERF_RECORD_THROTTLE;
		on += rec.head.type == PERF_RECORD_UNTHROTTLE;
	}
	printf("# %d samples, throttled %d times\n", n, off);
	EXPECT_GT(off, 1);
	EXPECT_GE(on, off - 1);
	EXPECT_LE(on, off);
	EXPECT_GT(n, off);
}

TEST(refuses)
{
	struct perf_event_attr a = few(ANY);

	a.config = 3;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	a.config = ANY;
	a.exclude_kernel = 1;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

static volatile bool over;

static void *churn(void *seed)
{
	unsigned int state = (uintptr_t)seed;

	while (!over) {
		struct perf_event_attr a = few(rand_r(&state) % 2 ? ANY : SECOND);
		int fd[3], i, n = 0;

		a.disabled = rand_r(&state) % 2;
		a.inherit = rand_r(&state) % 2;
		a.pinned = rand_r(&state) % 4 == 0;
		if (rand_r(&state) % 2)
			a.sample_period = 50000 + rand_r(&state) % 1000000;
		for (i = 0; i < 3; i++) {
			fd[n] = ev_open(&a, 0, -1, rand_r(&state) % 2 && n ? fd[0] : -1, 0);
			if (fd[n] >= 0)
				n++;
			a.pinned = 0;
		}
		pin_to(rand_r(&state) % nr_cpus());
		for (i = 0; i < 6 && n; i++) {
			int at = fd[rand_r(&state) % n];

			switch (rand_r(&state) % 6) {
			case 0:
				ioctl(at, PERF_EVENT_IOC_ENABLE, 0);
				break;
			case 1:
				ioctl(at, PERF_EVENT_IOC_DISABLE, 0);
				break;
			case 2:
				ioctl(at, PERF_EVENT_IOC_RESET, 0);
				break;
			case 3:
				ioctl(at, PERF_EVENT_IOC_REFRESH, 1);
				break;
			case 4:
				if (!fork())
					_exit(0);
				break;
			default:
				work(1000);
			}
		}
		while (n--)
			close(fd[n]);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	return NULL;
}

/* Random operations by several threads, beside events of the CPU and of its own counters */
static void check_churn(struct __test *_metadata)
{
	struct perf_event_attr a = few(ANY), own;
	pthread_t t[4];
	int i, fd;

	a.disabled = 0;
	a.sample_period = 1000000;
	throttle_at(100000, 0);
	for (i = 0; i < nr_cpus(); i++)
		ev_must(&a, -1, i, -1, 0);
	own = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	fd = ev_must(&own, 0, -1, -1, 0);
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churn, (void *)(uintptr_t)(i + 1));
	work_counted(fd, WORK, 0);
	sleep(2 * slow());
	over = true;
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	if (exact())
		EXPECT_EQ(ev_count(fd), WORK_INSNS(WORK));
}

TEST_TIMEOUT(churn, 200)
{
	check_churn(_metadata);
}

/* The same if the counters raise no interrupts, but are polled */
TEST(polled)
{
	int err = driver_unload_at_last("few");

	ASSERT_TRUE(!err || err == ENOENT);
	ASSERT_EQ(driver_load_with("few", "poll=1"), 0);
	check_samples(_metadata);
	check_refresh(_metadata);
}

/* IOC_PERIOD takes effect at once, on an event that runs and on one that does not */
TEST(period_changes)
{
	uint64_t period = 1000000, sum;
	struct ring r;
	int fd;

	throttle_at(1000000, 0);
	fd = sampled_few(&r, 1ULL << 60);
	ev_enable(fd);
	work(WORK);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0);
	work(40 * WORK);
	ev_disable(fd);
	EXPECT_GE(sum_samples(&r, period, &sum), 3);
	period = 1ULL << 60;
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_PERIOD, &period), 0);
	ring_consume(&r);
	ev_enable(fd);
	work(10 * WORK);
	ev_disable(fd);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 0);
}

static int errno_with_clock(int clockid)
{
	struct perf_event_attr a = few(ANY);

	a.use_clockid = 1;
	a.clockid = clockid;
	return ev_errno(&a, 0, -1, -1, 0);
}

/*
 * The same if they raise NMIs, which interrupt the task switch, and changes of the events.  Clocks
 * that an NMI cannot read are refused then.
 */
TEST_TIMEOUT(nmis, 400)
{
	int err;

	EXPECT_EQ(errno_with_clock(CLOCK_REALTIME), 0);
	err = driver_unload_at_last("few");
	ASSERT_TRUE(!err || err == ENOENT);
	ASSERT_EQ(driver_load_with("few", "nmi=1"), 0);
	EXPECT_EQ(errno_with_clock(CLOCK_REALTIME), EINVAL);
	EXPECT_EQ(errno_with_clock(CLOCK_MONOTONIC), 0);
	check_samples(_metadata);
	check_refresh(_metadata);
	check_churn(_metadata);
}

/* A PMU of one CPU only has events of this CPU, and says which one it is */
TEST(of_one_cpu)
{
	ROWS("Y-15");
	const char *mask = "/sys/bus/kpmu/devices/few/cpumask";
	struct perf_event_attr a;
	int err = driver_unload_at_last("few"), fd;

	if (nr_cpus() < 2)
		SKIP(return, "only one CPU");
	ASSERT_TRUE(!err || err == ENOENT);
	ASSERT_EQ(driver_load_with("few", "only=1"), 0);
	a = few(ANY);
	a.disabled = 0;
	EXPECT_EQ(read_long(mask), 1);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, 0, 1, -1, 0), EINVAL);
	EXPECT_EQ(ev_errno(&a, -1, 0, -1, 0), EINVAL);
	fd = ev_must(&a, -1, 1, -1, 0);
	usleep(10000);
	EXPECT_GT(ev_times(fd).value, 0);
	close(fd);
	ASSERT_EQ(driver_unload_at_last("few"), 0);
	ASSERT_EQ(driver_load("few"), 0);
	EXPECT_NE(access(mask, F_OK), 0);
}

/* debugfs names the PMUs of drivers, and whose they are */
TEST(in_caps)
{
	FILE *f;
	char line[256];
	bool found = false;

	few(ANY);
	f = fopen("/sys/kernel/debug/kpmu/caps", "r");
	ASSERT_TRUE(f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, "by kpmu_few");
	fclose(f);
	EXPECT_TRUE(found);
}

/* The driver cannot be unloaded while an event exists; its slots are free again afterwards */
TEST(unloads)
{
	struct perf_event_attr a = few(ANY);
	int fd = ev_must(&a, 0, -1, -1, 0), i;

	EXPECT_EQ(driver_unload("few"), EAGAIN);
	close(fd);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(driver_unload_at_last("few"), 0);
		ASSERT_EQ(driver_load("few"), 0);
	}
	a = few(SECOND);
	a.disabled = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	work(WORK);
	EXPECT_GT(ev_times(fd).value, 0);
	close(fd);
	ASSERT_EQ(driver_unload_at_last("few"), 0);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
}

TEST_HARNESS_MAIN
