// SPDX-License-Identifier: GPL-2.0-only
/* Software events: what each of them counts, and when. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "event.h"
#include "harness.h"
#include "switches.h"
#include "task.h"

#define PAGES	100
#define MS	1000000ULL

static struct perf_event_attr soft(uint64_t config)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, config);

	a.exclude_kernel = 0;
	a.exclude_hv = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

static int self(uint64_t config)
{
	struct perf_event_attr a = soft(config);

	return ev_must(&a, 0, -1, -1, 0);
}

static void spin(uint64_t ns)
{
	uint64_t start = now_ns();

	while (now_ns() - start < ns)
		;
}

/* CPU time used by this thread */
static uint64_t cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void nap(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static char *fresh(int pages)
{
	char *p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, pages * 4096, MADV_NOHUGEPAGE);
	return p;
}

static void touch(char *p, int pages)
{
	int i;

	for (i = 0; i < pages; i++)
		((volatile char *)p)[i * 4096] = 1;
}

TEST(task_clock)
{
	ROWS("T-02 T-22");
	int fd = self(PERF_COUNT_SW_TASK_CLOCK);
	struct ev_times t;
	uint64_t before;

	ev_enable(fd);
	spin(20 * MS);
	ev_disable(fd);
	t = ev_times(fd);
	EXPECT_GE(t.value, 1 * MS);
	EXPECT_EQ(t.running, t.enabled);
	/* The clock counts time_running; the two are not read at the same instant */
	EXPECT_LE(t.value, t.running + MS);
	EXPECT_GE(t.value + MS, t.running);
	/* The clock is stopped while the event is disabled, and while the task sleeps */
	spin(MS);
	EXPECT_EQ(ev_times(fd).value, t.value);
	ev_enable(fd);
	before = now_ns();
	nap(100 * MS);
	EXPECT_GE(now_ns() - before, 100 * MS);
	ev_disable(fd);
	EXPECT_LT(ev_times(fd).value - t.value, 50 * MS * slow());
}

TEST(cpu_clock)
{
	ROWS("T-02 T-21");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CPU_CLOCK);
	uint64_t start, took;
	int fd, own;

	ASSERT_EQ(pin_to(1), 0);
	fd = ev_must(&a, -1, 1, -1, 0);
	own = self(PERF_COUNT_SW_CPU_CLOCK);
	start = now_ns();
	ev_enable(fd);
	ev_enable(own);
	spin(5 * MS);
	nap(20 * MS);
	ev_disable(own);
	ev_disable(fd);
	took = now_ns() - start;
	/* A CPU's clock always runs; a task's clock runs while the task does */
	EXPECT_GE(ev_times(fd).value, 25 * MS);
	EXPECT_LE(ev_times(fd).value, took);
	EXPECT_LT(ev_times(own).value, ev_times(fd).value);
	EXPECT_GT(ev_times(own).value, 0);
}

TEST(clock_reset)
{
	ROWS("T-22");
	int fd = self(PERF_COUNT_SW_TASK_CLOCK);
	struct ev_times t;
	uint64_t since;

	ev_enable(fd);
	spin(20 * MS);
	since = now_ns();
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_RESET, 0), 0);
	ev_disable(fd);
	since = now_ns() - since;
	t = ev_times(fd);
	EXPECT_GE(t.enabled, MS);
	EXPECT_LE(t.value, since + MS);
	EXPECT_LT(t.value, t.enabled);
}

TEST(page_faults)
{
	ROWS("T-23 T-26 T-28 O-26");
	int fd[3] = { self(PERF_COUNT_SW_PAGE_FAULTS),
		      self(PERF_COUNT_SW_PAGE_FAULTS_MIN),
		      self(PERF_COUNT_SW_PAGE_FAULTS_MAJ) };
	char *p = fresh(PAGES);
	int i;

	touch(p, 0);
	for (i = 0; i < 3; i++)
		ev_enable(fd[i]);
	touch(p, PAGES);
	for (i = 0; i < 3; i++)
		ev_disable(fd[i]);
	EXPECT_EQ(ev_times(fd[0]).value, PAGES);
	EXPECT_EQ(ev_times(fd[1]).value, PAGES);
	EXPECT_EQ(ev_times(fd[2]).value, 0);
	EXPECT_TRUE(always_ran(fd[0]));
	/* The pages are mapped by now: no more faults */
	for (i = 0; i < 3; i++)
		ev_enable(fd[i]);
	touch(p, PAGES);
	for (i = 0; i < 3; i++)
		ev_disable(fd[i]);
	EXPECT_EQ(ev_times(fd[0]).value, PAGES);
}

static sigjmp_buf back;

static void escape(int sig)
{
	siglongjmp(back, 1);
}

/* Read an address that cannot be read; escape() returns here from the signal */
static void probe(uintptr_t addr)
{
	if (!sigsetjmp(back, 1))
		*(volatile char *)addr;
}

/* Faults of all kinds: raised in the kernel, on invalid addresses, on kernel addresses */
static void all_faults(char *p, char *gone, int zero)
{
	if (read(zero, p, PAGES * 4096) != PAGES * 4096)
		exit(1);
	probe((uintptr_t)gone);
	probe(0);
	probe(0xffffffff81000000);
	probe(0xffffffffff600000);
	probe(0x8000000000000000);
	/* The kernel returns EFAULT, for a user address and for a kernel address */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, gone, NULL, 8);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0xffffffff81000000, NULL, 8);
	/* The kernel reads a futex with page faults disabled */
	syscall(SYS_futex, fresh(1), 0, 1, NULL, NULL, 0);
}

/* The event counts as many faults as an event of native perf */
TEST(faults_of_all_kinds)
{
	ROWS("T-23");
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS);
	char *p = fresh(PAGES), *gone = fresh(1);
	int fd, twin, zero = open("/dev/zero", O_RDONLY), i;
	uint64_t both;

	ASSERT_GE(zero, 0);
	mprotect(gone, 4096, PROT_NONE);
	signal(SIGSEGV, escape);
	signal(SIGBUS, escape);
	/* Run once before, to fault in what the signal handling needs */
	all_faults(fresh(PAGES), gone, zero);
	for (i = 0; i < 4; i++) {
		a.exclude_user = i & 1;
		a.exclude_kernel = i >> 1;
		fd = ev_must(&a, 0, -1, -1, 0);
		twin = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
		ASSERT_GE(twin, 0);
		p = fresh(PAGES);
		ev_enable(fd);
		ev_enable(twin);
		all_faults(p, gone, zero);
		ev_disable(twin);
		ev_disable(fd);
		both = ev_times(twin).value;
		EXPECT_EQ(ev_times(fd).value, both);
		if (i == 0)
			EXPECT_GT(both, PAGES + 2);
		close(fd);
		close(twin);
	}
}

/* The argument of fill() */
struct filler {
	int uffd, pages;
	char *from;
};

/*
 * Resolve each page at its second userfaultfd message.  Since Linux 6.4 the first attempt holds
 * only the VMA lock, and waiting in that attempt does not make the fault major.
 */
static void *fill(void *arg)
{
	struct filler *f = arg;
	struct uffd_msg msg;
	int n;

	for (n = 0; n < 2 * f->pages; n++) {
		struct uffdio_range again = { .len = 4096 };
		struct uffdio_copy copy = { .len = 4096 };

		if (read(f->uffd, &msg, sizeof(msg)) != sizeof(msg))
			break;
		copy.dst = again.start = msg.arg.pagefault.address & ~4095ULL;
		copy.src = (uintptr_t)f->from;
		if (n % 2 == 0 ? ioctl(f->uffd, UFFDIO_WAKE, &again) :
				 ioctl(f->uffd, UFFDIO_COPY, &copy))
			break;
	}
	return NULL;
}

/* A fault that waits for its page counts as major: here a thread supplies the page */
TEST(major_faults)
{
	ROWS("T-27 T-26");
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	char *p = fresh(PAGES), *from = fresh(1);
	struct filler f = { .pages = PAGES, .from = from };
	int major, minor;
	pthread_t t;

	f.uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (f.uffd < 0)
		SKIP(return, "no userfaultfd on this kernel");
	range.range.start = (uintptr_t)p;
	range.range.len = PAGES * 4096;
	ASSERT_EQ(ioctl(f.uffd, UFFDIO_API, &api), 0);
	ASSERT_EQ(ioctl(f.uffd, UFFDIO_REGISTER, &range), 0);
	touch(from, 1);
	pthread_create(&t, NULL, fill, &f);
	major = self(PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	minor = self(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	ev_enable(major);
	ev_enable(minor);
	touch(p, PAGES);
	ev_disable(minor);
	ev_disable(major);
	pthread_join(t, NULL);
	EXPECT_EQ(ev_times(major).value, PAGES);
	EXPECT_LT(ev_times(minor).value, PAGES);
}

/* Faults in user mode, and four in the kernel when read(2) writes to new pages */
static int both_modes(char *p, int from)
{
	int i, n = 0;

	touch(p, PAGES);
	for (i = 0; i < 4; i++)
		n += read(from, p + (PAGES + i) * 4096, 1);
	return n;
}

TEST(page_faults_by_mode)
{
	ROWS("A-23");
	struct perf_event_attr a = soft(PERF_COUNT_SW_PAGE_FAULTS);
	int user, kernel, pipes[2];
	char *p = fresh(2 * PAGES);

	a.exclude_user = 1;
	kernel = ev_must(&a, 0, -1, -1, 0);
	a.exclude_user = 0;
	a.exclude_kernel = 1;
	user = ev_must(&a, 0, -1, -1, 0);
	ASSERT_EQ(pipe(pipes), 0);
	ASSERT_EQ(write(pipes[1], "some bit", 8), 8);
	/* Run once before, to fault in the code */
	ASSERT_EQ(both_modes(fresh(2 * PAGES), pipes[0]), 4);
	ev_enable(user);
	ev_enable(kernel);
	both_modes(p, pipes[0]);
	ev_disable(kernel);
	ev_disable(user);
	EXPECT_EQ(ev_times(user).value, PAGES);
	EXPECT_EQ(ev_times(kernel).value, 4);
}

/* Let the worker run and sleep again @times times */
static void be_switched(struct worker *w, int times)
{
	while (times--) {
		worker_run(w, 1);
		nap(5 * MS);
	}
}

TEST(context_switches)
{
	ROWS("T-24 N-10");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CONTEXT_SWITCHES);
	int fd = self(PERF_COUNT_SW_CONTEXT_SWITCHES), user, kernel, i;

	/* Context switches count as kernel mode */
	a.exclude_kernel = 1;
	user = ev_must(&a, 0, -1, -1, 0);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	kernel = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	ev_enable(user);
	ev_enable(kernel);
	/* A nap whose timer expires before the task sleeps is no switch: expect only half */
	for (i = 0; i < 10; i++)
		nap(5 * MS);
	ev_disable(kernel);
	ev_disable(user);
	ev_disable(fd);
	EXPECT_GE(ev_times(fd).value, 5);
	EXPECT_LE(ev_times(fd).value, 30);
	EXPECT_EQ(ev_times(user).value, 0);
	EXPECT_GE(ev_times(kernel).value, 5);
	EXPECT_LE(ev_times(kernel).value, ev_times(fd).value);
}

/* The event of a CPU counts the switches of all tasks */
TEST(context_switches_of_a_cpu)
{
	ROWS("T-24");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CONTEXT_SWITCHES);
	int fd, other, i;
	uint64_t n;

	ASSERT_EQ(pin_to(1), 0);
	fd = ev_must(&a, -1, 1, -1, 0);
	other = self(PERF_COUNT_SW_CONTEXT_SWITCHES);
	ev_enable(fd);
	ev_enable(other);
	/* A nap whose timer expires before the task sleeps is no switch: expect only half */
	for (i = 0; i < 10; i++)
		nap(5 * MS);
	ev_disable(other);
	n = ev_times(other).value;
	ev_disable(fd);
	/* The CPU switches away from this task and back: about twice the task's count */
	EXPECT_GE(n, 5);
	EXPECT_GE(ev_times(fd).value, 2 * n - 1);
}

/* All other tasks on the CPU are in the root cgroup: a worker there causes no cgroup switch */
TEST(cgroup_switches)
{
	ROWS("T-33 G-10");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CONTEXT_SWITCHES);
	struct cgroup top, away;
	uint64_t crossed, all;
	struct worker w;
	int fd, every;

	cgroup_v2();
	cgroup_root(&top);
	cgroup_make(&away, &top, "kpmu-switches");
	cgroup_add(&top, getpid());
	worker_start(&w);
	worker_pin(&w, 1);
	a.disabled = 0;
	every = ev_must(&a, w.pid, -1, -1, 0);
	a.config = PERF_COUNT_SW_CGROUP_SWITCHES;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	be_switched(&w, 20);
	EXPECT_GE(ev_times(every).value, 20);
	EXPECT_EQ(ev_times(fd).value, 0);
	cgroup_add(&away, w.pid);
	be_switched(&w, 1);
	crossed = ev_times(fd).value;
	all = ev_times(every).value;
	be_switched(&w, 20);
	crossed = ev_times(fd).value - crossed;
	all = ev_times(every).value - all;
	EXPECT_GE(all, 20);
	EXPECT_EQ(crossed, all);
	worker_stop(&w);
}

TEST(migrations)
{
	ROWS("T-25");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CPU_MIGRATIONS);
	int fd, there, i;

	ASSERT_EQ(pin_to(0), 0);
	fd = ev_must(&a, 0, -1, -1, 0);
	there = ev_must(&a, -1, 1, -1, 0);
	ev_enable(fd);
	ev_enable(there);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(pin_to(1), 0);
		ASSERT_EQ(pin_to(0), 0);
	}
	ev_disable(there);
	ev_disable(fd);
	EXPECT_EQ(ev_times(fd).value, 10);
	/* Migrations are counted on the destination CPU; other tasks may migrate there too */
	EXPECT_GE(ev_times(there).value, 5);
}

/* What counts migrations stays for a while without users, also when a CPU goes and comes meanwhile */
TEST(migrations_again)
{
	ROWS("T-25");
	struct perf_event_attr a = soft(PERF_COUNT_SW_CPU_MIGRATIONS);
	int round, fd, i;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(pin_to(0), 0);
		fd = ev_must(&a, 0, -1, -1, 0);
		ev_enable(fd);
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(pin_to(1), 0);
			ASSERT_EQ(pin_to(0), 0);
		}
		EXPECT_EQ(ev_times(fd).value, 6);
		if (!round)
			close(fd);	/* without users; then with one */
		ASSERT_EQ(cpu_online(1, 0), 0);
		ASSERT_EQ(cpu_online(1, 1), 0);
		usleep(200000);		/* the new CPU is followed by a work item */
		if (round) {
			ASSERT_EQ(pin_to(1), 0);
			EXPECT_EQ(ev_times(fd).value, 7);
			close(fd);
		}
	}
}

/* Only events of the CPU; then a task gets its first context, which ends again */
TEST(first_task_of_a_busy_cpu)
{
	ROWS("T-23 T-24");
	struct perf_event_attr faults = soft(PERF_COUNT_SW_PAGE_FAULTS),
		switches = soft(PERF_COUNT_SW_CONTEXT_SWITCHES);
	uint64_t before, away;
	int all, own, round;
	struct worker w;

	worker_start(&w);
	worker_pin(&w, 0);
	ASSERT_EQ(pin_to(0), 0);
	ev_enable(ev_must(&faults, -1, 0, -1, 0));
	all = ev_must(&switches, -1, 0, -1, 0);
	ev_enable(all);
	for (round = 0; round < 3; round++) {
		before = ev_times(all).value;
		be_switched(&w, 20);
		EXPECT_GE(ev_times(all).value - before, 40);
		own = ev_must(&switches, 0, -1, -1, 0);
		ev_enable(own);
		be_switched(&w, 20);
		EXPECT_GE(ev_times(own).value, 20);
		away = ev_times(own).enabled;
		nap(50 * MS);
		EXPECT_LT(ev_times(own).enabled - away, 50 * MS);
		close(own);
		sleep(3);	/* its context is retired */
	}
	worker_stop(&w);
}

TEST(never_on_x86)
{
	ROWS("T-29 T-30 T-31 T-32");
	static const uint64_t configs[] = {
		PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS,
		PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_BPF_OUTPUT,
	};
	char buf[16] = { 0 };
	int fd[ARRAY_SIZE(configs)], i;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		fd[i] = self(configs[i]);
		ev_enable(fd[i]);
	}
	*(volatile long *)(buf + 1) += 1;
	spin(MS);
	nap(MS);
	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		EXPECT_EQ(ev_times(fd[i]).value, 0);
		EXPECT_TRUE(always_ran(fd[i]));
	}
}

TEST(unknown_configs)
{
	ROWS("T-34");
	static const uint64_t bad[] = { 12, 13, 100, 1ULL << 32, ~0ULL };
	struct perf_event_attr a;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		a = soft(bad[i]);
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	}
}

TEST(unsupported_attrs)
{
	ROWS("E-36 E-33 A-25");
	struct perf_event_attr a;
	int i;

	for (i = 0; i < 12; i++) {
		a = soft(i);
		a.sample_type = PERF_SAMPLE_BRANCH_STACK;
		a.branch_sample_type = PERF_SAMPLE_BRANCH_ANY |
				       PERF_SAMPLE_BRANCH_USER;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EOPNOTSUPP);
		a = soft(i);
		a.precise_ip = 3;
		a.exclude_hv = 1;
		a.exclude_idle = 1;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	}
}

/*
 * Compare a clock event with the thread's CPU time (@used) over 2 ms.  This works only without a
 * context switch, at which the CPU time runs on longer than the event.
 * Return: true if there was none.
 */
static int undisturbed(struct perf_event_attr *a, struct ev_times *t, uint64_t *used)
{
	int fd = ev_must(a, 0, -1, -1, 0);
	long left = switches();

	ev_enable(fd);
	*used = cpu_time_ns();
	spin(2 * MS);
	*used = cpu_time_ns() - *used;
	ev_disable(fd);
	left -= switches();
	*t = ev_times(fd);
	close(fd);
	return !left;
}

/* In newer kernels the clocks have types of their own (6 and 7), without a sysfs directory */
TEST(types_of_the_clocks)
{
	ROWS("U-50");
	struct perf_event_attr a = soft(0);
	struct ev_times t;
	uint64_t used;
	int i, tries;

	a.type = ~0U;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	if (read_long("/sys/bus/event_source/devices/kprobe/type") < 8)
		SKIP(return, "on this kernel 6 and 7 are others' types");
	for (i = 0; i < 2; i++) {
		a.type = 6 + i;
		a.config = i;
		for (tries = 0; !undisturbed(&a, &t, &used); tries++)
			ASSERT_LT(tries, 200);
		EXPECT_GE(t.value, used);
		EXPECT_LE(t.value, t.running + MS);
		a.config = !i;
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), ENOENT);
	}
}

TEST(clocks_for_time_stamps)
{
	ROWS("A-50");
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC,
				      CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME, CLOCK_TAI };
	struct perf_event_attr a = soft(PERF_COUNT_SW_DUMMY);
	int i;

	a.use_clockid = 1;
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		a.clockid = clocks[i];
		EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), 0);
	}
	a.clockid = CLOCK_PROCESS_CPUTIME_ID;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

TEST_HARNESS_MAIN
