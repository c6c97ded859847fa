// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading and unloading the module: repeatedly, while it is in use, with parameters.
 * The module is /kpmu.ko in the guest.  KPMU_CYCLES in the environment (a kernel argument
 * of the guest) sets the number of cycles of many_cycles.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "event.h"
#include "harness.h"
#include "module.h"
#include "task.h"

/* Do not open the device at program start: an open fd would prevent unloading */
const bool ev_device_late = true;

static int exists(const char *path)
{
	struct stat st;

	return !stat(path, &st);
}

static const char *const traces[] = {
	"/dev/kpmu", "/proc/sys/kernel/kpmu", "/sys/kernel/debug/kpmu",
	"/sys/module/kpmu", "/sys/class/kpmu",
	"/sys/kernel/tracing/events/kpmu",
};
#define NR_TRACES (ARRAY_SIZE(traces))

static void must_be_loaded(void)
{
	int err = exists("/sys/module/kpmu") ? 0 : module_load("");

	if (err) {
		printf("# cannot load: %s\n", strerror(err));
		exit(1);
	}
}

/* Count and sample; closed events are freed with a delay */
static int use_it(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	int fd = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	uint64_t v;

	work_counted(fd, 1000, 0);
	v = ev_count(fd);
	close(fd);
	a.sample_period = 1000;
	a.sample_type = PERF_SAMPLE_IP;
	fd = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd, 1000, 0);
	close(fd);
	return v == WORK_INSNS(1000) || (!exact() && v > WORK_INSNS(1000));
}

TEST(unload_leaves_no_trace)
{
	ROWS("Y-19 O-31");
	must_be_loaded();
	for (int i = 0; i < NR_TRACES; i++) {
		if (!exists(traces[i]))
			printf("# no %s\n", traces[i]);
		EXPECT_TRUE(exists(traces[i]));
	}
	ASSERT_EQ(module_unload(), 0);
	for (int i = 0; i < NR_TRACES; i++) {
		if (exists(traces[i]))
			printf("# still %s\n", traces[i]);
		EXPECT_FALSE(exists(traces[i]));
	}
	EXPECT_EQ(module_unload(), ENOENT);
	ASSERT_EQ(module_load(""), 0);
	EXPECT_EQ(module_load(""), EEXIST);
	for (int i = 0; i < NR_TRACES; i++)
		EXPECT_TRUE(exists(traces[i]));
}

TEST(refused_while_in_use)
{
	int dev, ev;

	must_be_loaded();
	dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(dev, 0);
	EXPECT_EQ(module_unload(), EAGAIN);
	{
		struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, 1);
		struct kpmu_open args = {
			.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
		};

		ev = ioctl(dev, KPMU_IOC_OPEN, &args);
	}
	ASSERT_GE(ev, 0);
	close(dev);
	/* An open event prevents unloading, even without an fd of the device */
	EXPECT_EQ(module_unload(), EAGAIN);
	work_counted(ev, 1000, 0);
	EXPECT_GE(ev_count(ev), WORK_INSNS(1000));
	close(ev);
	EXPECT_EQ(module_unload(), 0);
	EXPECT_EQ(module_load(""), 0);
}

TEST(mode_and_group)
{
	struct stat st;

	if (exists("/sys/module/kpmu"))
		ASSERT_EQ(module_unload(), 0);
	ASSERT_EQ(module_load("mode=0660 gid=1234"), 0);
	ASSERT_EQ(stat(KPMU_DEVICE, &st), 0);
	EXPECT_EQ(st.st_mode & 07777, 0660);
	EXPECT_EQ(st.st_gid, 1234);
	EXPECT_EQ(st.st_uid, 0);
	ASSERT_EQ(module_unload(), 0);
	ASSERT_EQ(module_load("mode=0666"), 0);
	ASSERT_EQ(stat(KPMU_DEVICE, &st), 0);
	EXPECT_EQ(st.st_mode & 07777, 0666);
	ASSERT_EQ(module_unload(), 0);
	EXPECT_EQ(module_load("mode=nonsense"), EINVAL);
	EXPECT_FALSE(exists("/sys/module/kpmu"));
	ASSERT_EQ(module_load(""), 0);
	ASSERT_EQ(stat(KPMU_DEVICE, &st), 0);
	EXPECT_EQ(st.st_mode & 07777, 0600);
}

/* Unload right after closing multiplexed events, while the rotation timer may still run */
TEST(unload_at_once_after_use)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int dev, fd[20], i, k, n = 2 * counters_general();

	a.disabled = 0;
	for (k = 0; k < often(10); k++) {
		must_be_loaded();
		dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_GE(dev, 0);
		for (i = 0; i < n; i++) {
			struct kpmu_open args = {
				.attr = (uintptr_t)&a, .pid = i % 2 ? 0 : -1,
				.cpu = i % 2 ? -1 : i % nr_cpus(), .group_fd = -1,
			};

			fd[i] = ioctl(dev, KPMU_IOC_OPEN, &args);
			ASSERT_GE(fd[i], 0);
		}
		work(100000);
		for (i = 0; i < n; i++)
			close(fd[i]);
		close(dev);
		ASSERT_EQ(module_unload(), 0);
	}
	ASSERT_EQ(module_load(""), 0);
}

/* Empty contexts are retired with a delay.  With so many, some share a hash bucket. */
TEST(unload_with_many_contexts)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	static struct worker w[150];
	int fd[150], dev, i;

	must_be_loaded();
	dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(dev, 0);
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		struct kpmu_open args = {
			.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
		};

		worker_start_thread(&w[i]);
		args.pid = w[i].pid;
		fd[i] = ioctl(dev, KPMU_IOC_OPEN, &args);
		ASSERT_GE(fd[i], 0);
	}
	for (i = 0; i < ARRAY_SIZE(w); i++)
		close(fd[i]);
	close(dev);
	/* If a context is left, kmem_cache_destroy() logs a warning, which fails the run */
	ASSERT_EQ(module_unload(), 0);
	for (i = 0; i < ARRAY_SIZE(w); i++)
		worker_stop(&w[i]);
	ASSERT_EQ(module_load(""), 0);
}

/* Native perf can use the counters after the module is unloaded */
TEST(native_after_unload)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, 1);
	int fd, dev;

	must_be_loaded();
	dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	{
		struct kpmu_open args = {
			.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
		};

		fd = ioctl(dev, KPMU_IOC_OPEN, &args);
	}
	ASSERT_GE(fd, 0);
	work_counted(fd, 1000, 0);
	close(fd);
	close(dev);
	ASSERT_EQ(module_unload(), 0);
	fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	ASSERT_GE(fd, 0);
	work_counted(fd, 1000, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(1000));
	EXPECT_LE(ev_count(fd), WORK_INSNS(1000) + SLACK(WORK_INSNS(1000)));
	close(fd);
	ASSERT_EQ(module_load(""), 0);
}

/* Probes that outlive their events do not delay or prevent unloading */
TEST(unload_with_unused_probes)
{
	static const char *const points[] = {
		"syscalls/sys_enter_getppid", "sched/sched_switch", "kpmu/kpmu_open",
	};
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	int dev, fd, i, k;

	for (k = 0; k < often(5); k++) {
		must_be_loaded();
		dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
		ASSERT_GE(dev, 0);
		for (i = -1; i < (int)ARRAY_SIZE(points); i++) {
			struct kpmu_open args = {
				.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
			};
			char path[128];

			if (i >= 0) {
				snprintf(path, sizeof(path),
					 "/sys/kernel/tracing/events/%s/id", points[i]);
				a = ev_attr(PERF_TYPE_TRACEPOINT, read_long(path));
			}
			a.inherit = 1;
			fd = ioctl(dev, KPMU_IOC_OPEN, &args);
			ASSERT_GE(fd, 0);
			close(fd);
		}
		close(dev);
		/* The probe of kpmu's own tracepoint is gone after a grace period */
		ASSERT_EQ(module_unload_at_last(), 0);
	}
	ASSERT_EQ(module_load(""), 0);
}

/* Number of what is attached without users, from a line of the caps file; -1 if unknown */
static int unused_of(const char *what)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/caps", "r");
	int all, unused = -1;
	char line[256];
	char *at;

	while (f && fgets(line, sizeof(line), f)) {
		at = strncmp(line, what, strlen(what)) ? NULL : strpbrk(line, "0123456789");
		if (at && sscanf(at, "%d attached, %d of", &all, &unused) != 2)
			unused = -1;
	}
	if (f)
		fclose(f);
	return unused;
}

static int unused_probes(void)
{
	return unused_of("tracepoint probes ");
}

static int unused_taps(void)
{
	return unused_of("taps on all CPUs ");
}

/* With detach=2: what was @unused since @closed is still there, and goes after two seconds */
static void must_stay_two_seconds(struct __test *_metadata, int (*unused)(void), uint64_t closed)
{
	uint64_t end = patience();

	if (unused() == 0)	/* then that took long */
		EXPECT_GT(now_ns() - closed, 1900000000ull);
	while (unused() && now_ns() < end)
		usleep(100000);
	EXPECT_EQ(unused(), 0);
	EXPECT_GT(now_ns() - closed, 1900000000ull);
}

/* What counts migrations is not called without need, so it stays for the time that detach= sets */
TEST(unused_taps_are_released)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS);
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
	};
	uint64_t closed = 0;
	int dev, fd, i;

	must_be_loaded();
	ASSERT_EQ(module_unload_at_last(), 0);
	ASSERT_EQ(module_load("detach=2"), 0);
	dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(dev, 0);
	/* Used again in between: the time begins anew */
	for (i = 0; i < 3; i++) {
		fd = ioctl(dev, KPMU_IOC_OPEN, &args);
		ASSERT_GE(fd, 0);
		EXPECT_EQ(unused_taps(), 0);
		closed = now_ns();
		close(fd);
		usleep(700000);
	}
	must_stay_two_seconds(_metadata, unused_taps, closed);
	/* Without users at unload */
	fd = ioctl(dev, KPMU_IOC_OPEN, &args);
	ASSERT_GE(fd, 0);
	close(fd);
	close(dev);
	ASSERT_EQ(module_unload_at_last(), 0);
	ASSERT_EQ(module_load(""), 0);
}

/* A probe that is not called is detached after the time that the parameter detach= sets */
TEST(unused_probes_are_detached)
{
	const char *const name = "/sys/kernel/tracing/events/sched/sched_process_exec/id";
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT, read_long(name));
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .cpu = -1, .group_fd = -1,
	};
	uint64_t closed;
	int dev, fd;

	must_be_loaded();
	ASSERT_EQ(module_unload_at_last(), 0);
	ASSERT_EQ(module_load("detach=2"), 0);
	EXPECT_EQ(read_long("/sys/module/kpmu/parameters/detach"), 2);
	dev = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_GE(dev, 0);
	fd = ioctl(dev, KPMU_IOC_OPEN, &args);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(unused_probes(), 0);
	closed = now_ns();
	close(fd);
	must_stay_two_seconds(_metadata, unused_probes, closed);
	close(dev);
	ASSERT_EQ(module_unload_at_last(), 0);
	ASSERT_EQ(module_load(""), 0);
}

static long meminfo(const char *what)
{
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			kb = strtol(line + strlen(what) + 1, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

static int directory(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

struct world {
	long slab, unreclaimable, vmalloc, percpu, available;
	int modules, slabs, debugfs, devices, sysctls;
};

static void look(struct world *w)
{
	sync();
	write_long("/proc/sys/vm/drop_caches", 3);
	usleep(200000);		/* for RCU callbacks and work items that free memory */
	w->slab = meminfo("Slab:");
	w->unreclaimable = meminfo("SUnreclaim:");
	w->vmalloc = meminfo("VmallocUsed:");
	w->percpu = meminfo("Percpu:");
	w->available = meminfo("MemAvailable:");
	w->modules = directory("/sys/module");
	w->slabs = directory("/sys/kernel/slab");
	w->debugfs = directory("/sys/kernel/debug");
	w->devices = directory("/sys/class");
	w->sysctls = directory("/proc/sys/kernel");
}

static void cycle(struct __test *_metadata, bool use)
{
	int status;
	pid_t pid;

	ASSERT_EQ(module_load(""), 0);
	if (use) {
		pid = fork();
		if (!pid)
			_exit(!use_it());
		waitpid(pid, &status, 0);
		ASSERT_EQ(status, 0);
	}
	ASSERT_EQ(module_unload(), 0);
}

/*
 * The limits, in kB, are a constant for noise plus a growth per cycle: 1/50 for vmalloc and percpu,
 * 1/2 for slab, 1 for available memory.  Leaks below the constant show only over many cycles.
 */
static bool has_grown(const struct world *before, const struct world *after,
		      int cycles)
{
	printf("# %d cycles; before, after: unreclaimable slab %ld %ld, vmalloc %ld %ld, percpu %ld %ld, available %ld %ld kB\n",
	       cycles, before->unreclaimable, after->unreclaimable,
	       before->vmalloc, after->vmalloc, before->percpu, after->percpu,
	       before->available, after->available);
	return after->vmalloc > before->vmalloc + 64 + cycles / 50 ||
	       after->percpu > before->percpu + 64 + cycles / 50 ||
	       after->unreclaimable > before->unreclaimable + 1024 + cycles / 2 ||
	       after->available < before->available - 4096 - cycles;
}

/* Another task calls prctl(2) while the hook is attached at module init and detached at exit */
TEST(called_while_loading)
{
	int i, status;
	pid_t pid;

	must_be_loaded();
	pid = fork();
	if (!pid)
		for (;;) {
			prctl(PR_TASK_PERF_EVENTS_DISABLE);
			prctl(PR_TASK_PERF_EVENTS_ENABLE);
		}
	for (i = 0; i < often(8); i++) {
		EXPECT_EQ(module_unload_at_last(), 0);
		EXPECT_EQ(module_load(""), 0);
	}
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_TIMEOUT(many_cycles, 500)
{
	const char *env = getenv("KPMU_CYCLES");
	int cycles = env ? atoi(env) : often(12), i, tries = 0;
	struct world before, after;
	bool grown;

	/* The first cycles warm up kernel caches */
	for (i = 0; i < 5; i++) {
		must_be_loaded();
		ASSERT_EQ(module_unload(), 0);
	}
	/*
	 * The kernel may allocate memory once, e.g. for stacks of new kworkers.  A leak
	 * shows in every round.
	 */
	look(&after);
	do {
		before = after;
		for (i = 0; i < cycles; i++)
			cycle(_metadata, i % 5 == 0);
		look(&after);
		grown = has_grown(&before, &after, cycles);
		EXPECT_EQ(after.modules, before.modules);
		EXPECT_EQ(after.slabs, before.slabs);
		EXPECT_EQ(after.debugfs, before.debugfs);
		EXPECT_EQ(after.devices, before.devices);
		EXPECT_EQ(after.sysctls, before.sysctls);
	} while (grown && ++tries < 3);
	EXPECT_FALSE(grown);
	ASSERT_EQ(module_load(""), 0);
}

TEST_HARNESS_MAIN
