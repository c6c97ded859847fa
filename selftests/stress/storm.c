// SPDX-License-Identifier: GPL-2.0-only
/*
 * A storm of NMIs: events with periods of 1 to 100 on all CPUs.  Meanwhile their ring buffers are
 * mapped, read, redirected, paused, unmapped and closed at random.  No record may be torn, and a
 * process that counts its own work concurrently must count it exactly.
 *
 * Environment: KPMU_STRESS, duration in seconds (default 10); KPMU_SEED, seed of the random
 * numbers (the test prints it).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ACTIONS(X)							\
	X(opened) X(refused) X(closed) X(mapped) X(unmapped)		\
	X(redirected) X(redirect_refused) X(paused) X(period_set)	\
	X(refreshed) X(switched) X(forked) X(migrated) X(records)	\
	X(samples) X(lost) X(signals) X(exact_self)
#include "stress.h"

#include "end.h"
#include "harness.h"

#define NR_FDS		8
#define NR_STORMS	6
#define NR_ROLES	(NR_STORMS + 1)

/* The test unloads the module at its end, so this process must not have the device open */
const bool ev_device_late = true;

struct shared *sh;
unsigned int seed;

static struct held {
	int fd;
	struct perf_event_mmap_page *page;
	size_t mapped;
	bool readable;		/* not backward, mapped writable: walk() advances data_tail */
} held[NR_FDS];

/* Signals left until SIGIO is ignored: the handler itself causes overflows, and so more signals */
static volatile int patient;

static void on_signal(int sig)
{
	did(A_signals);
	if (--patient < 0)
		signal(SIGIO, SIG_IGN);
}

/* Check the ring: contiguous whole records up to data_head; each sample begins with an event id */
static void walk(struct held *h)
{
	struct perf_event_mmap_page *p = h->page;
	const char *data = (const char *)p + p->data_offset;
	uint64_t head = __atomic_load_n(&p->data_head, __ATOMIC_ACQUIRE);
	uint64_t pos = p->data_tail, mask = p->data_size - 1;

	while (pos < head) {
		const struct perf_event_header *r = (void *)(data + (pos & mask));
		uint64_t id = *(uint64_t *)(data + ((pos + 8) & mask));

		if (r->size < 8 || r->size % 8 || pos + r->size > head ||
		    !r->type || r->type > 22) {
			wrong("a torn record: type %u size %u at %llu of %llu",
			      r->type, r->size, (unsigned long long)pos,
			      (unsigned long long)head);
			break;
		}
		if (r->type == PERF_RECORD_SAMPLE) {
			did(A_samples);
			if (!id || id >> 40)
				wrong("a sample of event %#llx", (unsigned long long)id);
		}
		if (r->type == PERF_RECORD_LOST)
			did(A_lost);
		did(A_records);
		pos += r->size;
	}
	__atomic_store_n(&p->data_tail, head, __ATOMIC_RELEASE);
}

static void unmap(struct held *h)
{
	if (!h->page)
		return;
	if (h->readable)
		walk(h);
	munmap(h->page, h->mapped);
	h->page = NULL;
	did(A_unmapped);
}

static void forget(struct held *h)
{
	if (h->fd < 0)
		return;
	if (any(2))
		unmap(h);
	close(h->fd);
	unmap(h);
	h->fd = -1;
	did(A_closed);
}

static struct perf_event_attr some_attr(void)
{
	static const struct { uint32_t type; uint64_t config; } what[] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ PERF_TYPE_RAW, RAW_LOADS }, { PERF_TYPE_RAW, RAW_STORES },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	};
	static const uint64_t fields[] = {
		PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR,
		PERF_SAMPLE_READ, PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_CPU,
		PERF_SAMPLE_PERIOD, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER,
		PERF_SAMPLE_REGS_INTR, PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP,
		PERF_SAMPLE_BRANCH_STACK,	/* refused where no branches are recorded */
	};
	static const uint64_t branches[] = {
		PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_COND,
		PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_TYPE_SAVE,
		PERF_SAMPLE_BRANCH_CALL_STACK,
		PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_CYCLES |
			PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_HW_INDEX,
	};
	int i = any(ARRAY_SIZE(what)), n;
	struct perf_event_attr a = ev_attr(what[i].type, what[i].config);

	a.exclude_user = !any(4);
	a.exclude_kernel = any(2);
	a.sample_period = 1 + any(100);
	a.sample_type = PERF_SAMPLE_IDENTIFIER;
	for (n = any(4); n; n--)
		a.sample_type |= fields[any(ARRAY_SIZE(fields))];
	a.branch_sample_type = branches[any(ARRAY_SIZE(branches))] | any(4);
	a.sample_regs_user = 0xff;
	a.sample_regs_intr = 0xff;
	a.sample_stack_user = 8 * (1 + any(100));
	a.read_format = any(16);
	a.sample_id_all = any(2);
	a.wakeup_events = any(20);
	a.write_backward = !any(10);
	a.disabled = any(2);
	a.mmap = a.comm = a.task = !any(4);
	if (!any(8)) {
		a.freq = 1;
		a.sample_freq = 1 + any(50000);
	}
	return a;
}

static struct held *some(void)
{
	return &held[any(NR_FDS)];
}

static void do_open(void)
{
	struct held *h = some(), *leader = some();
	struct perf_event_attr a = some_attr();
	bool on_cpu = !any(3);

	forget(h);
	h->fd = ev_open(&a, on_cpu ? -1 : 0, on_cpu || !any(8) ? any(nr_cpus()) : -1,
			any(3) ? -1 : leader->fd, PERF_FLAG_FD_CLOEXEC);
	h->readable = !a.write_backward;
	did(h->fd < 0 ? A_refused : A_opened);
}

static void do_map(void)
{
	struct held *h = some();
	size_t len = (1 + (1 << any(4))) * 4096;
	bool write = any(4);
	void *p;

	if (h->fd < 0)
		return;
	if (h->page) {
		unmap(h);
		return;
	}
	p = mmap(NULL, len, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, h->fd, 0);
	if (p == MAP_FAILED)
		return;
	h->page = p;
	h->mapped = len;
	h->readable &= write;	/* for good: another mapping may keep the ring */
	did(A_mapped);
}

static void do_read(void)
{
	struct held *h = some();
	uint64_t v[256];

	if (h->fd >= 0 && read(h->fd, v, sizeof(v)) < 0)
		wrong("read");
	if (h->page && h->readable)
		walk(h);
}

/* SET_OUTPUT to another event with or without a ring, to the event itself, or to none (-1) */
static void do_redirect(void)
{
	struct held *h = some(), *to = some();
	int i;

	for (i = 0; i < NR_FDS && h->page; i++)
		h = some();
	for (i = 0; i < NR_FDS && !to->page; i++)
		to = some();
	if (h->fd < 0)
		return;
	did(ioctl(h->fd, PERF_EVENT_IOC_SET_OUTPUT, any(4) ? to->fd : -1) ?
	    A_redirect_refused : A_redirected);
}

static void do_pause(void)
{
	if (!ioctl(some()->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, any(2)))
		did(A_paused);
}

static void do_period(void)
{
	uint64_t period = 1 + any(100);

	if (!ioctl(some()->fd, PERF_EVENT_IOC_PERIOD, &period))
		did(A_period_set);
}

static void do_refresh(void)
{
	if (!ioctl(some()->fd, PERF_EVENT_IOC_REFRESH, 1 + any(5)))
		did(A_refreshed);
}

static void do_switch(void)
{
	static const unsigned long cmd[] = {
		PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_RESET,
	};

	if (!ioctl(some()->fd, cmd[any(3)], any(2) ? PERF_IOC_FLAG_GROUP : 0))
		did(A_switched);
}

static void do_signal(void)
{
	struct held *h = some();

	if (h->fd < 0)
		return;
	patient = 100;
	signal(SIGIO, on_signal);
	fcntl(h->fd, F_SETOWN, getpid());
	fcntl(h->fd, F_SETFL, any(2) ? O_ASYNC : 0);
}

static void do_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		toil(20000);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	did(A_forked);
}

static void do_migrate(void)
{
	pin_to(any(nr_cpus() + 1));
	toil(5000);
	did(A_migrated);
}

static void storm(void)
{
	static const struct choice what[] = {
		{ 20, do_open }, { 14, do_map }, { 16, do_read }, { 10, do_redirect },
		{ 6, do_pause }, { 6, do_period }, { 5, do_refresh }, { 12, do_switch },
		{ 3, do_signal }, { 2, do_fork }, { 6, do_migrate },
	};
	int i;

	signal(SIGIO, SIG_IGN);
	for (i = 0; i < NR_FDS; i++)
		held[i].fd = -1;
	while (!sh->stop) {
		do_any(what);
		toil(2000);
	}
}

/* Count this process itself, on any CPU; the result is checked only if the event always ran */
static void witness(void)
{
	uint64_t rounds, got;
	struct ev_times t;
	int fd;

	while (!sh->stop) {
		struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
						   PERF_COUNT_HW_INSTRUCTIONS);

		a.pinned = 1;
		a.read_format = FORMAT_TIMES;
		fd = ev_must(&a, 0, -1, -1, 0);
		rounds = 1 + any(50000);
		work_counted(fd, rounds, 0);
		if (read(fd, &t, sizeof(t)) == sizeof(t) && t.running == t.enabled) {
			got = t.value;
			if (exact() && got != WORK_INSNS(rounds))
				wrong("%llu rounds of work counted as %llu instructions",
				      (unsigned long long)rounds,
				      (unsigned long long)got);
			did(A_exact_self);
		}
		close(fd);
		usleep(any(3000));
		if (!any(4))
			pin_to(any(nr_cpus()));
	}
}

static pid_t start(int n)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		seed = seed * 1000 + n;
		if (n < NR_STORMS)
			storm();
		else
			witness();
		_exit(0);
	}
	return pid;
}

static bool all_done(void)
{
	int i;

	for (i = 0; i < NR_ACTIONS; i++)
		if (!sh->done[i])
			return false;
	return true;
}

static void run(struct __test *_metadata, int seconds)
{
	uint64_t end = now_ns() + seconds * 1000000000ULL, late = late_end();
	pid_t pid[NR_ROLES];
	int i, status;

	for (i = 0; i < NR_ROLES; i++)
		pid[i] = start(i);
	while (now_ns() < end || (!all_done() && now_ns() < late))
		usleep(200000);
	sh->stop = 1;
	for (i = 0; i < NR_ROLES; i++) {
		EXPECT_EQ(waitpid(pid[i], &status, 0), pid[i]);
		EXPECT_EQ(status, 0);
	}
}

TEST_TIMEOUT(storm, 7200)
{
#define NAME(x) #x,
	static const char *const names[] = { ACTIONS(NAME) };
	const char *t = getenv("KPMU_STRESS"), *s = getenv("KPMU_SEED");
	int seconds = t ? atoi(t) : 10, i;

	seed = s && *s ? strtoul(s, NULL, 0) : now_ns() / 1000 % 1000000;
	printf("# %d seconds, seed %u\n", seconds, seed);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(sh, MAP_FAILED);
	/* Limit the time for overflows, or the storm's NMIs leave no time for anything else */
	write_long("/proc/sys/kernel/kpmu/perf_cpu_time_max_percent", 25);
	run(_metadata, seconds);
	for (i = 0; i < NR_ACTIONS; i++) {
		printf("# %10ld %s\n", sh->done[i], names[i]);
		EXPECT_GT(sh->done[i], 0);
	}
	EXPECT_EQ(sh->wrong, 0);
	nothing_left(_metadata);
}

TEST_HARNESS_MAIN
