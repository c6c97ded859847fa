/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a program in a child process, on one of the two routes: kpmu or native perf.
 *
 * Results are stored unformatted and converted to text later.  Between two operations both
 * routes must retire the same number of user instructions; otherwise the counts of enabled
 * events would differ because of the fuzzer itself.
 */
#ifndef KPMU_FUZZ_EXEC_H
#define KPMU_FUZZ_EXEC_H

#include "guide.h"
#include "ours.h"
#include "tasks.h"
#include "world.h"

/* The pid argument of perf_event_open(2): a pid, or the fd of a cgroup */
static inline long what_for(const struct op *op)
{
	if ((op->arg[4] & PERF_FLAG_PID_CGROUP) && op->arg[1] >= 0 && op->arg[1] < CGROUPS)
		return world.group[op->arg[1]].fd;
	return target_pid(op->arg[1]);
}

static inline long do_open(const struct op *op)
{
	long fd;

	/* A program gives the address of a breakpoint as an offset into world.cell */
	if (world.attr.a.type == PERF_TYPE_BREAKPOINT)
		world.attr.a.config1 += (uintptr_t)world.cell;
	fd = open_event(&world.attr.a, what_for(op), real_cpu(op->arg[2]),
			op->arg[3] < 0 ? -1 : slot_fd(op->arg[3]), op->arg[4]);
	if (world.attr.a.type == PERF_TYPE_BREAKPOINT)
		world.attr.a.config1 -= (uintptr_t)world.cell;
	put_fd(op->arg[0], fd);
	return fd < 0 ? fd : 0;
}

static const char *const filter[8] = {
	"", "common_pid != 0", "nonsense ==", "0 1", "id == 110", "id != 110",
	"common_pid == 0 || id == 110", "common_pid > 0",
};

static inline long do_ioctl(const struct op *op, struct result *res)
{
	uint64_t value = op->arg[2], query[4] = { 2 };
	unsigned long arg = op->arg[2];

	switch (op->arg[1]) {
	case C_PERIOD:
		arg = (uintptr_t)&value;
		break;
	case C_ID:
		arg = (uintptr_t)res->word;
		res->words = 1;
		break;
	case C_OUTPUT:
		arg = slot_fd(op->arg[2]);
		break;
	case C_FILTER:
		arg = (uintptr_t)filter[op->arg[2] & 7];
		break;
	case C_QUERY:
		arg = (uintptr_t)query;
		break;
	case C_MODIFY:
		arg = (uintptr_t)&world.attr;
		break;
	}
	return ioctl(slot_fd(op->arg[0]), ioctl_code[op->arg[1]], arg);
}

static inline long do_read(const struct op *op, struct result *res)
{
	long len = op->arg[1] > (int)sizeof(res->word) ? sizeof(res->word) : op->arg[1];

	len = read(slot_fd(op->arg[0]), res->word, len);
	res->words = len > 0 ? len / 8 : 0;
	return len;
}

static inline long do_pin(int64_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(real_cpu(cpu), &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static inline long do_map(const struct op *op)
{
	int slot = op->arg[0];
	void *p;

	if (world.page[slot])
		return 2;
	p = mmap(NULL, (op->arg[1] + 1) * 4096, PROT_READ | (op->arg[2] ? PROT_WRITE : 0),
		 MAP_SHARED, slot_fd(slot), 0);
	if (p == MAP_FAILED)
		return -1;
	world.page[slot] = p;
	world.pages[slot] = op->arg[1];
	world.writable[slot] = op->arg[2];
	return 0;
}

static inline long do_unmap(int slot)
{
	long ret;

	if (!world.page[slot])
		return 2;
	if (world.aux[slot])
		munmap(world.aux[slot], world.aux_pages[slot] * 4096);
	world.aux[slot] = NULL;
	ret = munmap(world.page[slot], (world.pages[slot] + 1) * 4096);
	world.page[slot] = NULL;
	return ret;
}

/* Map an AUX area; aux_offset and aux_size in the user page place it behind the data pages */
static inline long do_aux(const struct op *op)
{
	int slot = op->arg[0];
	struct perf_event_mmap_page *page = world.page[slot];
	void *p;

	if (!page || !world.writable[slot] || world.aux[slot])
		return 2;
	page->aux_offset = (world.pages[slot] + 1) * 4096;
	page->aux_size = op->arg[1] * 4096;
	p = mmap(NULL, page->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, slot_fd(slot),
		 page->aux_offset);
	if (p == MAP_FAILED)
		return -1;
	world.aux[slot] = p;
	world.aux_pages[slot] = op->arg[1];
	return 0;
}

/*
 * The count in a user page; the return value is as of kpmu_read_self().  Times are not read: whether
 * the page has them differs (abi.rst), and events that count user mode would count another path.
 */
static inline int read_count(const struct perf_event_mmap_page *page, uint64_t *count)
{
	uint32_t seq, index;
	uint64_t caps;
	int64_t pmc;

	do {
		seq = __kpmu_load(page->lock);
		__kpmu_barrier();
		caps = __kpmu_load(page->capabilities);
		index = __kpmu_load(page->index);
		*count = __kpmu_load(page->offset);
		if (caps & (1 << 2) && index) {
			pmc = __kpmu_rdpmc(index - 1) << (64 - page->pmc_width);
			*count += pmc >> (64 - page->pmc_width);
		}
		__kpmu_barrier();
	} while (seq & 1 || __kpmu_load(page->lock) != seq);
	return caps & (1 << 2) ? 0 : -1;
}

/* Read an event through its user page, and immediately afterwards by read(2) */
static inline long do_page(int slot, struct result *res)
{
	struct perf_event_mmap_page *page = world.page[slot];
	long len;

	if (!page)
		return 2;
	res->word[0] = read_count(page, &res->word[1]);
	res->word[2] = !!page->index;
	res->word[3] = page->pmc_width;
	len = read(slot_fd(slot), res->word + 4, sizeof(res->word) - 32);
	res->words = 4 + (len > 0 ? len / 8 : 0);
	return len < 0 ? -1 : 0;
}

/*
 * Copy the records of a ring with write_backward.  The head starts at 0 and moves down, and
 * the newest record is at the head.  Nothing is consumed.
 */
static inline void backward_records(const uint8_t *data, uint64_t head, uint64_t size,
				    struct result *res)
{
	uint64_t len = -head < size ? -head : size;

	for (; len && res->bytes < RES_DATA; len--, head++)
		res->data[res->bytes++] = data[head & (size - 1)];
}

/*
 * Consume the records of a ring; those beyond RES_DATA bytes are dropped.  For a read-only
 * mapping only the head is stored.
 */
static inline long do_records(int slot, struct result *res)
{
	struct perf_event_mmap_page *page = world.page[slot];
	uint64_t head, tail, size = world.pages[slot] * 4096;
	const uint8_t *data = (uint8_t *)page + 4096;

	if (!page || !size)
		return 2;
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	tail = page->data_tail;
	res->word[0] = head;
	res->words = 1;
	if (!world.writable[slot])
		return 0;
	if ((int64_t)head < 0) {
		backward_records(data, head, size, res);
		return 0;
	}
	if (world.aux[slot])
		__atomic_store_n(&page->aux_tail, page->aux_head, __ATOMIC_RELEASE);
	for (; tail < head && res->bytes < RES_DATA; tail++)
		res->data[res->bytes++] = data[tail & (size - 1)];
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return 0;
}

static inline long do_pass(long fd)
{
	char space[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
		.msg_controllen = sizeof(space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int pair[2], got = fd, err = 0;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &got, sizeof(got));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	if (sendmsg(pair[0], &msg, 0) < 0 || recvmsg(pair[1], &msg, 0) < 0)
		err = errno;
	else
		memcpy(&got, CMSG_DATA(c), sizeof(got));
	close(pair[0]);
	close(pair[1]);
	errno = err;
	return err ? -1 : got;
}

static inline long do_poll(long fd, struct result *res)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long ret = poll(&p, 1, 0);

	res->word[0] = p.revents;
	res->words = 1;
	return ret;
}

static inline long do_own(long fd)
{
	if (fcntl(fd, F_SETOWN, syscall(SYS_getpid)))
		return -1;
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

static inline long do_hit(int64_t n)
{
	while (n-- > 0)
		syscall(SYS_getppid);
	return 0;
}

static inline long do_touch(int64_t n)
{
	volatile char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	for (int64_t i = 0; i < n; i++)
		p[i * 4096] = 1;
	return munmap((void *)p, n * 4096);
}

/* Move a task to a cgroup; the width of the pid is fixed, so both routes have the same cost */
static inline long do_cgroup(int task, int group)
{
	char pid[16];
	long ret;

	if (task && (task > WORKERS || !world.order[task - 1].pid))
		return 2;
	snprintf(pid, sizeof(pid), "%8d", task ? world.order[task - 1].pid : 0);
	ret = write(world.procs[group % CGROUPS], pid, strlen(pid));
	return ret < 0 ? ret : 0;
}

static inline long copy_fd(int to, long fd)
{
	put_fd(to, fd);
	return fd < 0 ? fd : 0;
}

static inline long do_close(int slot)
{
	long ret = close(world.fd[slot]);

	world.fd[slot] = -1;
	return ret;
}

/*
 * Add up to a[3] siblings to a group.  Their fds stay open until the program ends.  The
 * result is the number of siblings, and the error if there are fewer.
 */
static inline long do_many(const int64_t *a, struct result *res)
{
	const struct rlimit room = { MANY_FDS, MANY_FDS };
	long n, limit = world.crowd && a[3] > CROWD_MANY ? CROWD_MANY : a[3];

	setrlimit(RLIMIT_NOFILE, &room);
	for (n = 0; n < limit; n++)
		if (open_event(&world.attr.a, target_pid(a[0]), real_cpu(a[1]), slot_fd(a[2]),
			       PERF_FLAG_FD_CLOEXEC) < 0)
			break;
	res->word[0] = n;
	return n < limit ? -1 : 0;
}

static inline long meanwhile(int what, int fd, int round)
{
	uint64_t v[RES_WORDS], period = SWEPT_PERIOD << (round & 1);

	switch (what) {
	case SWEEP_SWITCH:
		return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ?:
		       ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	case SWEEP_READ:
		return read(fd, v, sizeof(v)) < 0;
	case SWEEP_PRCTL:
		return prctl(PR_TASK_PERF_EVENTS_DISABLE) ?: prctl(PR_TASK_PERF_EVENTS_ENABLE);
	case SWEEP_FORK:
		return do_child(do_work, 1);
	case SWEEP_PERIOD:
		return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
	case SWEEP_RESET:
		return ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	}
	return do_child(run_tiny, 0);
}

/*
 * Each round lets an event overflow once, which disables it (REFRESH 1), during an operation
 * on another event or on its task.  The period grows from round to round, so the overflow
 * moves through the operation.  An event that is throttled would stop its group, natively only
 * on new kernels: the work keeps it below the limit of overflows per tick.
 */
static inline long do_sweep(const int64_t *a)
{
	int fd = slot_fd(a[0]), rounds = sweep_is_of_tasks(a[4]) ? SWEEP_FORKS : SWEEP_ROUNDS;
	uint64_t period = a[2];
	long ret = 0;

	for (int i = 0; i < rounds && !ret; i++, period += a[3]) {
		ret = ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
		ret = ret ?: ioctl(fd, PERF_EVENT_IOC_REFRESH, 1);
		ret = ret ?: meanwhile(a[4], slot_fd(a[1]), i);
		ret = ret ?: ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (a[4] >= SWEEP_PERIOD)
			do_work(2000);
	}
	return ret;
}

static inline long do_op(const struct op *op, struct result *res)
{
	const int64_t *a = op->arg;

	switch (op->code) {
	case OP_OPEN:
		return do_open(op);
	case OP_CLOSE:
		return do_close(a[0]);
	case OP_IOCTL:
		return do_ioctl(op, res);
	case OP_READ:
		return do_read(op, res);
	case OP_WORK:
		do_work(a[0]);
		return 0;
	case OP_SPAWN:
		return do_spawn(a[0]);
	case OP_GO:
		return do_order(a[0], W_WORK, a[1]);
	case OP_WFORK:
		return do_order(a[0], W_FORK, a[1]);
	case OP_WEXEC:
		return do_order(a[0], W_EXEC, 0);
	case OP_WEXIT:
		return do_order(a[0], W_EXIT, 0);
	case OP_FORK:
		return do_child(family, a[0] | a[1] << 16);
	case OP_THREAD:
		return world.crowd ? do_loose_thread(a[0]) : do_thread(a[0]);
	case OP_EXEC:
		return do_child(run_tiny, 0);
	case OP_PRCTL:
		return prctl(a[0] ? PR_TASK_PERF_EVENTS_ENABLE :
				    PR_TASK_PERF_EVENTS_DISABLE);
	case OP_PIN:
		return do_pin(a[0]);
	case OP_MAP:
		return do_map(op);
	case OP_UNMAP:
		return do_unmap(a[0]);
	case OP_RECORDS:
		return do_records(a[0], res);
	case OP_DUP:
		return copy_fd(a[1], dup(slot_fd(a[0])));
	case OP_PASS:
		return copy_fd(a[1], do_pass(slot_fd(a[0])));
	case OP_POLL:
		return do_poll(slot_fd(a[0]), res);
	case OP_OWN:
		return do_own(slot_fd(a[0]));
	case OP_AUX:
		return do_aux(op);
	case OP_PAGE:
		return do_page(a[0], res);
	case OP_HIT:
		return do_hit(a[0]);
	case OP_TOUCH:
		return do_touch(a[0]);
	case OP_CGROUP:
		return do_cgroup(a[0], a[1]);
	case OP_MANY:
		return do_many(a, res);
	case OP_SWEEP:
		return do_sweep(a);
	default:
		attr_op(&world.attr, op);
		return 0;
	}
}

static inline unsigned int slowness(void)
{
	const char *s = getenv("KPMU_SLOW");

	return s ? atoi(s) : 1;
}

/* Have a timer kill this process at an arbitrary point */
static inline void die_after(unsigned int us)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value.tv_nsec = us * 1000L };
	timer_t timer;

	if (!timer_create(CLOCK_MONOTONIC, &ev, &timer))
		timer_settime(timer, 0, &when, NULL);
}

/* Stress mode: choose a CPU, and kill one program in eight after at most 50 ms */
static inline void run_in_crowd(void)
{
	world.crowd->pid[world.runner][0] = getpid();
	if (world.turn % 8 == 0)
		die_after(1 + world.turn / 8 % 50000);
	do_pin(world.turn % 3 == 0);
}

static inline void run_child(const struct prog *p, struct outcome *out)
{
	struct result *res;

	setpgid(0, 0);
	alarm((world.crowd ? CROWD_SECONDS : world.native ? NATIVE_SECONDS : KPMU_SECONDS) *
	      slowness());
	world.order = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	memset(world.fd, 0xff, sizeof(world.fd));
	world.set = -1;
	world.strict = -1;
	world.reserved = -1;
	world.histogram = -1;
	memset(out->res, 0, p->nr * sizeof(out->res[0]));
	world.now = out->res;
	catch_signals();
	if (world.crowd)
		run_in_crowd();
	else
		do_pin(0);
	guide_start();
	for (int i = 0; i < p->nr; i++) {
		res = world.now = &out->res[i];
		errno = 0;
		res->ret = do_op(&p->op[i], res);
		res->err = res->ret < 0 ? errno : 0;
		res->done = 1;
		guide_op(p->op[i].code);
		if (world.crowd)
			ours_in_crowd(i);
	}
	_exit(0);
}

/* The tasks of the previous program may not have released the counters yet */
static inline void wait_for_counters(void)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_HARDWARE,
					      PERF_COUNT_HW_INSTRUCTIONS);
	long fd, tries;

	for (tries = 0; tries < 2000; tries++) {
		fd = open_event(&attr, 0, -1, -1, 0);
		if (fd >= 0) {
			close(fd);
			return;
		}
		usleep(1000);
	}
}

/**
 * execute() - run a program on a route
 * @p: the program
 * @native: 1 for native perf, 0 for kpmu
 * @out: shared memory for the results
 */
static inline void execute(const struct prog *p, int native, struct outcome *out)
{
	pid_t pid;

	world.native = native;
	if (!world.crowd)
		wait_for_counters();
	fflush(NULL);
	pid = fork();
	if (!pid)
		run_child(p, out);
	waitpid(pid, &out->status, 0);
	kill(-pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static inline struct outcome *outcome_new(void)
{
	return mmap(NULL, sizeof(struct outcome), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static inline void find_sources(void)
{
	char path[128];
	long v;

	for (int i = 0; i < TRACEPOINTS; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id",
			 trace_name[i]);
		v = read_long(path);
		trace_id[i] = v < 0 ? 0 : v;
	}
	v = read_long("/sys/bus/kpmu/devices/fault_trace/type");
	fault_trace_type = v < 0 ? 0x7fffffff : v;
}

/*
 * The root and two children of it.  Tasks are moved through fds that stay open, so that each
 * move costs the same.
 */
static inline void make_cgroups(void)
{
	char path[192];

	cgroup_v2();
	cgroup_root(&world.group[0]);
	cgroup_make(&world.group[1], &world.group[0], "kpmu-fuzz");
	cgroup_make(&world.group[2], &world.group[0], "kpmu-fuzz2");
	for (int i = 0; i < CGROUPS; i++) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", world.group[i].path);
		world.procs[i] = open(path, O_WRONLY | O_CLOEXEC);
	}
}

/* Called once in each process that uses execute(): it reaps the orphans of the programs */
static inline void exec_runner(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Called once, before the first execute() */
static inline void exec_init(void)
{
	int fd = open(KPMU_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		perror(KPMU_DEVICE);
		exit(1);
	}
	world.device = fcntl(fd, F_DUPFD_CLOEXEC, 250);
	close(fd);
	world.cpus = nr_cpus();
	find_sources();
	make_cgroups();
	exec_runner();
	tiny_install(TINY, TINY_ROUNDS, 0755);
}

#endif
