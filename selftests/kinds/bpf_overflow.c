// SPDX-License-Identifier: GPL-2.0-only
/*
 * BPF programs that are run at overflows (BPF_PROG_TYPE_PERF_EVENT): how often, what they see, and that
 * their result decides about the sample.
 */
#define _GNU_SOURCE
#include <linux/bpf_perf_event.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "bpf.h"
#include "event.h"
#include "harness.h"
#include "ring.h"
#include "task.h"

#define PE	BPF_PROG_TYPE_PERF_EVENT
#define ROUNDS	250006		/* 1,000,027 instructions */
#define PERIOD	10000
#define DUE	(WORK_INSNS(ROUNDS) / PERIOD)
#define CTX(m)	offsetof(struct bpf_perf_event_data, m)

static struct perf_event_attr insns(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	return a;
}

/* A program that counts its runs */
static int counting(int map, int result)
{
	return BUILD(PE, map, SET(8, result));
}

static int set(int fd, int prog)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) ? errno : 0;
}

/* Overflows: exact on the model, many on real hardware */
#define EXPECT_DUE(n, due) do {				\
	if (exact())					\
		EXPECT_EQ(n, due);			\
	else						\
		EXPECT_GT(n, (due) * 9 / 10);		\
} while (0)

TEST(runs_at_each_overflow)
{
	ROWS("I-34");
	struct perf_event_attr a = insns();
	int fd, map = words_map();
	struct ring r;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	EXPECT_EQ(set(fd, counting(map, 1)), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ev_count(fd), WORK_INSNS(ROUNDS));
	EXPECT_DUE(map_word(map, 0), DUE);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), map_word(map, 0));
}

/* Run 0 has no sample, run 1 has one, and so on */
TEST(every_other)
{
	ROWS("I-34");
	struct perf_event_attr a = insns();
	int fd, map = words_map();
	struct ring r;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	EXPECT_EQ(set(fd, BUILD(PE, map, AND(8, 1))), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(ev_count(fd), WORK_INSNS(ROUNDS));
	EXPECT_DUE(map_word(map, 0), DUE);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), map_word(map, 0) / 2);
}

/* The upper half of r0 is not part of the result */
TEST(result_of_32_bits)
{
	ROWS("I-34");
	struct perf_event_attr a = insns();
	int fd, map = words_map();
	struct ring r;

	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	EXPECT_EQ(set(fd, BUILD(PE, map, SET(8, 1), INSN(BPF_ALU64 | BPF_LSH | BPF_K, 8, 0, 0, 32))), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_DUE(map_word(map, 0), DUE);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 0);
}

/* No sample, no wake-up, and a REFRESH is not used up */
TEST(zero_has_no_effects)
{
	ROWS("I-34");
	struct perf_event_attr a = insns();
	int fd, map = words_map();
	struct pollfd p;
	struct ring r;

	a.wakeup_events = 1;
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	EXPECT_EQ(set(fd, counting(map, 0)), 0);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_REFRESH, 3), 0);
	work(ROUNDS);
	ev_disable(fd);
	EXPECT_GE(ev_count(fd), WORK_INSNS(ROUNDS));
	if (exact())
		EXPECT_GE(map_word(map, 0), DUE);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 0);
	p = (struct pollfd){ .fd = fd, .events = POLLIN };
	EXPECT_EQ(poll(&p, 1, 0), 0);
}

/* Open the event, let the program decide about its overflows, and run the counted work: the last sample */
static struct parts last_sample(const struct perf_event_attr *a, int prog)
{
	static struct record rec;	/* what the result points to */
	struct parts s = { 0 };
	struct ring r;
	int fd;

	no_throttle();
	fd = ev_must(a, 0, -1, -1, 0);
	ring_map(&r, fd, a, 64);
	if (set(fd, prog))
		return s;
	work_counted(fd, ROUNDS, 0);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE))
		s = record_sample(&r, &rec);
	return s;
}

/* Registers and period are those of the sample */
TEST(context)
{
	ROWS("I-35");
	struct perf_event_attr a = insns();
	int map = words_map();
	struct parts s;

	a.sample_type |= PERF_SAMPLE_REGS_INTR;
	a.sample_regs_intr = 1 << 7;	/* PERF_REG_X86_SP */
	s = last_sample(&a, BUILD(PE, map,
				LOAD(1, 7, CTX(regs.rip)), STORE(6, 1, 8),
				LOAD(1, 7, CTX(regs.rsp)), STORE(6, 1, 16),
				LOAD(1, 7, CTX(sample_period)), STORE(6, 1, 24),
				LOAD(1, 7, CTX(addr)), STORE(6, 1, 32),
				SET(8, 1)));
	ASSERT_NE(s.ip, 0);
	EXPECT_EQ(map_word(map, 1), s.ip);
	EXPECT_EQ(map_word(map, 2), s.intr_regs[0]);
	EXPECT_EQ(map_word(map, 3), PERIOD);
	EXPECT_EQ(map_word(map, 4), 0);
}

static volatile long data[4] __attribute__((aligned(64)));

TEST(breakpoint)
{
	ROWS("I-34 I-35");
	struct perf_event_attr a = ev_attr(PERF_TYPE_BREAKPOINT, 0);
	int fd, map = words_map();
	struct ring r;

	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (uintptr_t)&data[1];
	a.bp_len = HW_BREAKPOINT_LEN_8;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_ADDR;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 1);
	EXPECT_EQ(set(fd, BUILD(PE, map, LOAD(1, 7, CTX(addr)), STORE(6, 1, 8), AND(8, 1))), 0);
	ev_enable(fd);
	data[1] = 1;
	data[1] = 2;
	data[1] = 3;
	ev_disable(fd);
	EXPECT_EQ(ev_count(fd), 3);
	EXPECT_EQ(map_word(map, 0), 3);
	EXPECT_EQ(map_word(map, 1), (uintptr_t)&data[1]);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 1);
}

/* A program for each page fault, whose address it sees */
TEST(software)
{
	ROWS("I-34 I-35");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	int fd, i, map = words_map();
	struct ring r;
	char *p;

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_ADDR;
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	p = mmap(NULL, 101 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(p != MAP_FAILED);
	madvise(p, 101 * 4096, MADV_NOHUGEPAGE);
	EXPECT_EQ(set(fd, BUILD(PE, map, LOAD(1, 7, CTX(addr)), STORE(6, 1, 8), AND(8, 1))), 0);
	ev_enable(fd);
	for (i = 0; i < 101; i++)
		p[i * 4096L] = 1;
	ev_disable(fd);
	EXPECT_EQ(map_word(map, 0), ev_count(fd));
	EXPECT_EQ(ev_count(fd), 101);
	EXPECT_EQ(map_word(map, 1), (uintptr_t)p + 100 * 4096L);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), 50);
}

/* What profilers use: a clock with a frequency, on a CPU */
TEST(clock)
{
	ROWS("I-34");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	int fd, map = words_map();
	uint64_t end = patience();
	struct ring r;

	a.freq = 1;
	a.sample_freq = 1000;
	a.sample_type = PERF_SAMPLE_IP;
	no_throttle();
	pin_to(0);
	fd = ev_must(&a, -1, 0, -1, 0);
	ring_map(&r, fd, &a, 64);
	EXPECT_EQ(set(fd, BUILD(PE, map, LOAD(1, 7, CTX(sample_period)), STORE(6, 1, 8), SET(8, 1))), 0);
	ev_enable(fd);
	while (map_word(map, 0) < 20 && now_ns() < end)
		work(1000);
	ev_disable(fd);
	EXPECT_GE(map_word(map, 0), 20);
	EXPECT_EQ(ring_count(&r, PERF_RECORD_SAMPLE), map_word(map, 0));
	EXPECT_EQ(map_word(map, 1), 1000000);
}

static uint64_t frame_of(int stacks, uint64_t id, int i)
{
	uint64_t frames[127] = { 0 };

	map_entry(stacks, id, frames);
	return frames[i];
}

/*
 * The user stack begins where the sample is.  If it is taken from the call chain of the sample, the mark of
 * that level (PERF_CONTEXT_USER) comes before.
 */
static void stacks(struct __test *_metadata, uint64_t sample_type)
{
	struct perf_event_attr a = insns();
	int map = words_map(), first = !!(sample_type & PERF_SAMPLE_CALLCHAIN);
	int ids = new_map_of(BPF_MAP_TYPE_STACK_TRACE, 127 * 8, 128);
	uint64_t ip;

	a.sample_type |= sample_type;
	ip = last_sample(&a, BUILD(PE, map,
				COPY(1, 7), MAP(2, ids), SET(3, BPF_F_USER_STACK | BPF_F_REUSE_STACKID),
				CALL(BPF_FUNC_get_stackid), STORE(6, 0, 8),
				COPY(1, 7), COPY(2, 6), ADD(2, 32), SET(3, 16), SET(4, BPF_F_USER_STACK),
				CALL(BPF_FUNC_get_stack), STORE(6, 0, 16),
				COPY(1, 7), MAP(2, ids), SET(3, 0),
				CALL(BPF_FUNC_get_stackid), STORE(6, 0, 24),
				SET(8, 1))).ip;
	ASSERT_NE(ip, 0);
	ASSERT_LT(map_word(map, 1), 128);
	EXPECT_EQ(frame_of(ids, map_word(map, 1), first), ip);
	EXPECT_GE(map_word(map, 2), 8 + 8 * first);
	EXPECT_EQ(map_word(map, 4 + first), ip);
	if (first)
		EXPECT_EQ(map_word(map, 4), PERF_CONTEXT_USER);
	/* The kernel was not interrupted: there is no stack */
	EXPECT_EQ(map_word(map, 3), -EFAULT);
}

TEST(stacks_of_registers)
{
	ROWS("I-36");
	stacks(_metadata, 0);
}

TEST(stacks_of_the_sample)
{
	ROWS("I-36");
	stacks(_metadata, PERF_SAMPLE_CALLCHAIN);
}

/* What the program reads is what the sample contains */
TEST(values)
{
	ROWS("I-36");
	struct perf_event_attr a = insns();
	int map = words_map();
	struct parts s;

	a.sample_type |= PERF_SAMPLE_READ;
	a.read_format = FORMAT_TIMES;
	s = last_sample(&a, BUILD(PE, map,
				COPY(1, 7), COPY(2, 6), ADD(2, 16), SET(3, 24),
				CALL(BPF_FUNC_perf_prog_read_value), STORE(6, 0, 8), SET(8, 1)));
	ASSERT_NE(s.ip, 0);
	EXPECT_EQ(map_word(map, 1), 0);
	EXPECT_EQ(map_word(map, 2), s.read[0]);
	EXPECT_GE(map_word(map, 2), DUE * PERIOD);
	EXPECT_GT(map_word(map, 3), 0);
	EXPECT_LE(map_word(map, 3), s.read[1]);
	EXPECT_EQ(map_word(map, 3), map_word(map, 4));
}

/* The values of inherited events cannot be summed up at an overflow */
TEST(values_of_a_family)
{
	ROWS("I-36");
	struct perf_event_attr a = insns();
	int fd, map = words_map();

	no_throttle();
	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(set(fd, BUILD(PE, map,
				COPY(1, 7), COPY(2, 6), ADD(2, 16), SET(3, 24),
				CALL(BPF_FUNC_perf_prog_read_value), STORE(6, 0, 8), SET(8, 1))), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_GT(map_word(map, 0), 0);
	EXPECT_EQ(map_word(map, 1), -EOPNOTSUPP);
	EXPECT_EQ(map_word(map, 2), 0);
}

TEST(errors)
{
	ROWS("I-23 I-37");
	struct perf_event_attr a = insns();
	int fd = ev_must(&a, 0, -1, -1, 0), map = words_map();
	int counter = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);

	EXPECT_EQ(set(fd, 999), EBADF);
	EXPECT_EQ(set(fd, eventfd(0, 0)), EINVAL);
	EXPECT_EQ(set(fd, map), EINVAL);
	EXPECT_EQ(set(fd, BUILD(BPF_PROG_TYPE_KPROBE, map, SET(8, 1))), EINVAL);
	EXPECT_EQ(set(fd, counting(map, 1)), 0);
	EXPECT_EQ(set(fd, counting(map, 1)), EEXIST);
	EXPECT_EQ(set(fd, BUILD(BPF_PROG_TYPE_KPROBE, map, SET(8, 1))), EEXIST);
	EXPECT_EQ(set(fd, 999), EBADF);
	/* An event that only counts accepts a program, which never runs */
	EXPECT_EQ(set(counter, counting(map, 1)), 0);
	EXPECT_EQ(set(counter, counting(map, 1)), EEXIST);
	work_counted(counter, ROUNDS, 0);
	EXPECT_EQ(map_word(map, 0), 0);
}

/* The stack of a precise event has changed since: only its own call chain can be used */
TEST(stacks_of_a_precise_event)
{
	ROWS("I-37");
	struct perf_event_attr a = insns();
	int map = words_map(), prog;

	a.type = PERF_TYPE_RAW;
	a.config = 0x00c0;
	a.precise_ip = 2;
	if (ev_errno(&a, 0, -1, -1, 0))
		SKIP(return, "this CPU has no precise events");
	prog = BUILD(PE, map, COPY(1, 7), COPY(2, 6), ADD(2, 8), SET(3, 8), SET(4, BPF_F_USER_STACK),
		     CALL(BPF_FUNC_get_stack), SET(8, 1));
	EXPECT_EQ(set(ev_must(&a, 0, -1, -1, 0), counting(map, 1)), 0);
	EXPECT_EQ(set(ev_must(&a, 0, -1, -1, 0), prog), EPROTO);
	a.sample_type |= PERF_SAMPLE_CALLCHAIN;
	EXPECT_EQ(set(ev_must(&a, 0, -1, -1, 0), prog), 0);
	a.exclude_callchain_kernel = 1;
	EXPECT_EQ(set(ev_must(&a, 0, -1, -1, 0), prog), EPROTO);
}

/* A program needs a capability when it is loaded.  Its fd and the event's can be passed on. */
TEST(permission)
{
	ROWS("I-37 C-13");
	struct perf_event_attr a = insns();
	int fd = ev_must(&a, 0, -1, -1, 0), map = words_map(), prog = counting(map, 1);
	const struct bpf_insn nothing[] = { SET(0, 1), EXIT() };

	drop_privilege();
	EXPECT_EQ(try_load(PE, nothing, 2), -1);
	EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(set(fd, prog), 0);
}

/* Inherited events run the program of their parent */
TEST(inherited)
{
	ROWS("I-38 H-01");
	struct perf_event_attr a = insns();
	struct worker w, kid;
	int fd, map = words_map();
	uint64_t all;

	no_throttle();
	a.inherit = 1;
	a.disabled = 0;
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	EXPECT_EQ(set(fd, counting(map, 1)), 0);
	worker_fork(&w, &kid);
	worker_run(&kid, ROUNDS);
	worker_run(&w, ROUNDS);
	worker_stop(&kid);
	worker_reap(&w);
	worker_stop(&w);
	all = ev_count(fd);
	EXPECT_GT(all, 2 * WORK_INSNS(ROUNDS));
	/* Both have a rest that is less than a period */
	if (exact())
		EXPECT_EQ(all / PERIOD - map_word(map, 0) <= 1, 1);
	EXPECT_GE(map_word(map, 0), 2 * DUE - 1 - SLACK(2 * DUE));
}

/* The program ends with the event, not with its own fd */
TEST(ends_with_the_event)
{
	ROWS("I-38");
	struct perf_event_attr a = insns();
	int fd = ev_must(&a, 0, -1, -1, 0), map = words_map(), prog = counting(map, 1);
	uint64_t end = patience();
	uint32_t id = program_id(prog);

	no_throttle();
	EXPECT_EQ(set(fd, prog), 0);
	close(prog);
	work_counted(fd, ROUNDS, 0);
	EXPECT_GT(map_word(map, 0), 0);
	EXPECT_EQ(program_exists(id), 1);
	close(fd);
	while (program_exists(id) && now_ns() < end)
		usleep(1000);
	EXPECT_EQ(program_exists(id), 0);
}

struct storm {
	pthread_t thread;
	volatile int stop;
};

static void *run_hot(void *arg)
{
	struct storm *s = arg;

	while (!s->stop)
		work(1000);
	return NULL;
}

/* Programs come and go while events overflow on all CPUs */
TEST(storm)
{
	ROWS("I-38");
	struct perf_event_attr a = insns();
	struct storm s[2] = { 0 };
	int i, fd[4], map = words_map(), prog = counting(map, 0), rounds = often(60);
	uint32_t id = program_id(prog);
	uint64_t end;

	a.sample_period = 2000;
	a.disabled = 0;
	a.inherit = 1;
	for (i = 0; i < 2; i++)
		pthread_create(&s[i].thread, NULL, run_hot, &s[i]);
	while (rounds--) {
		for (i = 0; i < 4; i++) {
			fd[i] = i & 1 ? ev_must(&a, -1, (i >> 1) % nr_cpus(), -1, 0) :
					ev_must(&a, 0, -1, -1, 0);
			EXPECT_EQ(set(fd[i], prog), 0);
		}
		work(2000);
		if (!fork())
			_exit(0);
		for (i = 0; i < 4; i++)
			close(fd[i]);
		wait(NULL);
	}
	for (i = 0; i < 2; i++)
		s[i].stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(s[i].thread, NULL);
	EXPECT_GT(map_word(map, 0), 0);
	close(prog);
	for (end = patience(); program_exists(id) && now_ns() < end; )
		usleep(1000);
	EXPECT_EQ(program_exists(id), 0);
}

TEST_HARNESS_MAIN
