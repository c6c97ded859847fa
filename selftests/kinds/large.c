// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large increments of AMD's Zen, with PerfCtrExtCore: the floating-point operations of an instruction are more than a counter
 * can be increased by at once, so their event takes two counters, an even one and the next.
 *
 * Nothing but the loops here executes such operations in user mode, so all counts are exact.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <linux/kpmu-read.h>

#include "event.h"
#include "explain.h"
#include "harness.h"
#include "ring.h"

#define FLOPS	0x0003		/* retired SSE and AVX operations, by unit mask: */
#define ADD	0x0100
#define MULTIPLY 0x0200
#define DIVIDE	0x0400
#define FUSED	0x0800		/* multiply-accumulate: two each */
#define ALL	(ADD | MULTIPLY | DIVIDE | FUSED)

#define N	1000

static bool has_pairs(void)
{
	return cpu_model() == CPU_ZEN && counters_general() > 4;
}

#define NEED_WIDE()	do { if (!has_pairs()) SKIP(return, "no pairs of counters"); } while (0)

/* @n times the instruction */
#define LOOP(insn, n) do {						\
	uint64_t left = (n);						\
									\
	asm volatile("1: " insn "; dec %0; jnz 1b"			\
		     : "+r" (left) : "r" (zeros) : "xmm0", "xmm1", "cc");	\
} while (0)

static const char zeros[32] __attribute__((aligned(32)));

/* 16 operations each, more than a counter can add at once */
static void fused(uint64_t n)
{
	LOOP("vfmadd231ps %%ymm1, %%ymm1, %%ymm0", n);
}

static int flops(uint32_t umask, int group_fd)
{
	return ev_self_times(PERF_TYPE_RAW, FLOPS | umask, group_fd);
}

static int insns(int group_fd)
{
	return ev_self_times(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, group_fd);
}

TEST(counts)
{
	ROWS("T-05 Q-13");
	NEED_WIDE();
	int all = flops(ALL, -1), add = flops(ADD, -1), mul = flops(MULTIPLY, -1);

	ev_enable(all);
	ev_enable(add);
	LOOP("addps %%xmm1, %%xmm0", N);		/* 4 */
	LOOP("vsubpd %%ymm1, %%ymm1, %%ymm0", N);	/* 4 */
	LOOP("addss (%1), %%xmm0", N);			/* 1 */
	LOOP("mulpd %%xmm1, %%xmm0", N);		/* 2 */
	ev_disable(add);
	ev_enable(mul);
	LOOP("vmulps (%1), %%ymm1, %%ymm0", N);		/* 8 */
	LOOP("sqrtsd %%xmm1, %%xmm0", N);		/* 1 */
	LOOP("movaps %%xmm1, %%xmm0", N);
	fused(N);					/* 16 */
	ev_disable(all);
	ev_disable(mul);
	EXPECT_EQ(ev_count(all), 36 * N);
	EXPECT_EQ(ev_count(add), 9 * N);
	EXPECT_EQ(ev_count(mul), 8 * N);
	EXPECT_TRUE(always_ran(all));
}

/* Before Zen the code is another event; and without PerfCtrExtCore, as in some guests, there are no pairs */
TEST(no_pairs)
{
	ROWS("Q-13");
	if (!is_amd() || has_pairs())
		SKIP(return, "not a CPU of AMD without pairs");
	int lead = flops(ALL, -1), i;

	for (i = 1; i < counters_general(); i++)
		EXPECT_GE(flops(ALL, lead), 0);
	ev_enable(lead);
	work(1);
	ev_disable(lead);
	EXPECT_TRUE(always_ran(lead));
}

/* Does a group of @wides events of two counters, and @singles others, fit?  Then all of them count. */
static bool fits(struct __test *_metadata, int wides, int singles, bool wides_first)
{
	int fd[20], n = wides + singles, i;

	for (i = 0; i < n; i++) {
		bool wide = wides_first ? i < wides : i >= singles;
		struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, wide ? FLOPS | FUSED : 0xc0);

		a.disabled = !i;
		a.read_format = FORMAT_TIMES;
		fd[i] = ev_open(&a, 0, -1, i ? fd[0] : -1, 0);
		if (fd[i] < 0)
			break;
	}
	if (i == n) {
		ev_enable(fd[0]);
		fused(N);
		ev_disable(fd[0]);
		for (int j = 0; j < n; j++) {
			bool wide = wides_first ? j < wides : j >= singles;

			EXPECT_TRUE(always_ran(fd[j]));
			if (wide)
				EXPECT_EQ(ev_count(fd[j]), 16 * N);
			else
				EXPECT_GE(ev_count(fd[j]), 3 * N);
		}
	} else {
		EXPECT_EQ(errno, EINVAL);
	}
	for (int j = 0; j < i; j++)
		close(fd[j]);
	return i == n;
}

TEST(groups)
{
	ROWS("Q-13 E-22");
	NEED_WIDE();
	int gp = counters_general();

	for (int wides = 0; wides <= gp / 2 + 1; wides++)
		for (int singles = !wides; singles <= gp + 1; singles++)
			for (int order = 0; order < 2; order++)
				EXPECT_EQ(fits(_metadata, wides, singles, order),
					  2 * wides + singles <= gp);
}

/* Single events are on every second counter: they move, and go on counting */
TEST(others_move)
{
	ROWS("Q-13 Q-12");
	NEED_WIDE();
	int gp = counters_general(), fd[8], wide, i;

	for (i = 0; i < gp; i++) {
		fd[i] = insns(-1);
		ev_enable(fd[i]);
	}
	for (i = 0; i < gp; i += 2)
		close(fd[i]);
	wide = flops(FUSED, -1);
	ev_enable(wide);
	fused(N);
	ev_disable(wide);
	EXPECT_EQ(ev_count(wide), 16 * N);
	EXPECT_TRUE(always_ran(wide));
	for (i = 1; i < gp; i += 2) {
		ev_disable(fd[i]);
		EXPECT_TRUE(always_ran(fd[i]));
		EXPECT_GE(ev_count(fd[i]), 3 * N);
	}
}

/* Single events that are enabled one by one beside a pair do not take its upper counter */
TEST(others_join)
{
	ROWS("Q-13 Q-12");
	NEED_WIDE();
	int gp = counters_general(), wide = flops(FUSED | DIVIDE, -1), fd[8], i;

	ev_enable(wide);
	for (i = 0; i < gp - 2; i++) {
		/* No counter has counted either before, so the highest that are free are chosen */
		fd[i] = ev_self_times(PERF_TYPE_RAW, RAW_STORES, -1);
		ev_enable(fd[i]);
		fused(N);
	}
	ev_disable(wide);
	EXPECT_EQ(ev_count(wide), (gp - 2) * 16 * N);
	EXPECT_TRUE(always_ran(wide));
	for (i = 0; i < gp - 2; i++)
		EXPECT_TRUE(always_ran(fd[i]));
}

/* One more than there are pairs, and a single event: all get their turns, and none counts too much */
TEST(turns)
{
	ROWS("Q-13");
	NEED_WIDE();
	int n = counters_general() / 2 + 1, fd[5], single = insns(-1), i, done = 0;
	uint64_t end = patience(), rounds = 0;

	for (i = 0; i < n; i++) {
		fd[i] = flops(FUSED, -1);
		ev_enable(fd[i]);
	}
	ev_enable(single);
	while (done < n + 1 && now_ns() < end) {
		fused(10 * N);
		rounds++;
		for (i = done = 0; i < n; i++) {
			struct ev_times t = ev_times(fd[i]);

			done += t.value > 0 && t.running < t.enabled;
		}
		done += ev_times(single).value > 0;
	}
	EXPECT_EQ(done, n + 1);
	for (i = 0; i < n; i++)
		EXPECT_LE(ev_count(fd[i]), rounds * 160 * N);
}

static int samples_of(struct ring *r)
{
	int n = ring_count(r, PERF_RECORD_SAMPLE);

	ring_consume(r);
	return n;
}

static int sampled(struct ring *r, uint32_t type, uint64_t config, uint64_t period, int group_fd)
{
	struct perf_event_attr a = ev_attr(type, config);
	int fd;

	a.sample_period = period;
	a.sample_type = PERF_SAMPLE_IP;
	a.disabled = group_fd < 0;
	fd = ev_must(&a, 0, -1, group_fd, 0);
	ring_map(r, fd, &a, 8);
	return fd;
}

/* After each overflow the pair overflows again, and only there */
TEST(samples)
{
	ROWS("O-26 Q-13");
	NEED_WIDE();
	static const uint64_t periods[] = { 16, 160, 1601, 65536 };
	struct ring r;

	no_throttle();
	for (int i = 0; i < ARRAY_SIZE(periods); i++) {
		uint64_t n = periods[i] * 3, flops = 16 * n;
		int fd = sampled(&r, PERF_TYPE_RAW, FLOPS | FUSED, periods[i], -1);

		ev_enable(fd);
		fused(n);
		ev_disable(fd);
		EXPECT_EQ(ev_count(fd), flops);
		EXPECT_EQ(samples_of(&r), flops / periods[i]);
		ring_unmap(&r);
		close(fd);
	}
}

/* The counters that were pairs are single ones again, and overflow as such */
TEST(singles_after_pairs)
{
	ROWS("O-26 Q-13");
	NEED_WIDE();
	int gp = counters_general(), lead = flops(FUSED, -1), fd[6] = { 0 }, i;
	struct ring r[6];

	no_throttle();
	for (i = 1; i < gp / 2; i++)
		flops(FUSED, lead);
	ev_enable(lead);
	fused(N);
	ev_disable(lead);
	for (i = 0; i < gp; i++)
		fd[i] = sampled(&r[i], PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, N,
				i ? fd[0] : -1);
	work_counted(fd[0], 10 * N, 0);
	for (i = 0; i < gp; i++) {
		EXPECT_EQ(samples_of(&r[i]), WORK_INSNS(10 * N) / N);
		EXPECT_EQ(ev_count(fd[i]), WORK_INSNS(10 * N));
	}
}

/*
 * A program reads its event by RDPMC, while another program with such an event takes turns with it.  What is
 * not the program's own is hidden from it at each switch; the pair overflows nevertheless.
 */
TEST(read_in_user_space)
{
	ROWS("M-27 O-26 Q-13");
	NEED_WIDE();
	struct kpmu_value v;
	struct ring r;
	int fd, i, status;
	pid_t kid;

	no_throttle();
	ASSERT_EQ(pin_to(0), 0);
	kid = fork();
	if (!kid) {
		int own = sampled(&r, PERF_TYPE_RAW, FLOPS | FUSED, 1600, -1);

		ev_enable(own);
		for (i = 0; i < 50; i++) {
			fused(N);
			sched_yield();
		}
		ev_disable(own);
		_exit(ev_count(own) != 50 * 16 * N || samples_of(&r) != 500);
	}
	fd = sampled(&r, PERF_TYPE_RAW, FLOPS | FUSED, 1600, -1);
	ev_enable(fd);
	for (i = 1; i <= 50; i++) {
		fused(N);
		sched_yield();
		ASSERT_EQ(kpmu_read_self(r.page, &v), 0);
		ASSERT_EQ(v.value, i * 16 * N);
		ASSERT_EQ(ev_count(fd), i * 16 * N);
	}
	EXPECT_EQ(samples_of(&r), 500);
	ASSERT_EQ(waitpid(kid, &status, 0), kid);
	EXPECT_EQ(status, 0);
}

TEST(inherited)
{
	ROWS("H-01 Q-13");
	NEED_WIDE();
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, FLOPS | FUSED);
	int fd, i;

	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	ev_enable(fd);
	for (i = 0; i < 4; i++)
		if (!fork()) {
			/* Not put on the upper counter of the copy's pair */
			int own = insns(-1);

			ev_enable(own);
			for (int j = 0; j < 20; j++) {
				fused(N);
				sched_yield();
			}
			_exit(!ev_count(own));
		}
	fused(N);
	while (wait(&i) > 0)
		EXPECT_EQ(i, 0);
	EXPECT_EQ(ev_count(fd), 81 * 16 * N);
}

/* An event of a CPU beside one of a task, each a pair, and a task that moves */
TEST(of_cpus)
{
	ROWS("Q-13");
	NEED_WIDE();
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, FLOPS | FUSED);
	int cpus = nr_cpus(), own = flops(FUSED, -1), fd[8], i, j;
	uint64_t sum = 0;

	for (i = 0; i < cpus && i < 8; i++) {
		fd[i] = ev_must(&a, -1, i, -1, 0);
		ev_enable(fd[i]);
	}
	ev_enable(own);
	for (j = 0; j < 10; j++) {
		ASSERT_EQ(pin_to(j % cpus), 0);
		fused(N);
	}
	ev_disable(own);
	EXPECT_EQ(ev_count(own), 10 * 16 * N);
	for (i = 0; i < cpus && i < 8; i++)
		sum += ev_count(fd[i]);
	/* Other programs may use floating point as well */
	EXPECT_GE(sum, 10 * 16 * N);
}

TEST(explained)
{
	ROWS("W-01");
	NEED_WIDE();
	int gp = counters_general(), i;

	if (route_is_native())
		return;

	start(gp / 2 + 1);
	for (i = 0; i <= gp / 2; i++)
		dry(i, FLOPS | ALL, -1);
	ASSERT_EQ(ask(), 0);
	for (i = 0; i < gp / 2; i++) {
		EXPECT_EQ(ev[i].fits, 1);
		EXPECT_EQ(ev[i].allowed, 0x55 & ((1u << gp) - 1));
		EXPECT_EQ(ev[i].rules, KPMU_RULE_TABLE | KPMU_RULE_PAIR);
		EXPECT_EQ(ev[i].counter % 2, 0);
	}
	EXPECT_EQ(ev[gp / 2].fits, 0);
}

/* Both counters are shown as in use by the event */
TEST(shown)
{
	ROWS("W-07 W-08");
	NEED_WIDE();
	struct kpmu_info info;
	struct kpmu_info_counter counter[16];
	struct kpmu_ask_info ask = {
		.cpu = 0, .size = sizeof(info), .info = (uintptr_t)&info,
		.counter_size = sizeof(counter[0]), .nr = 16, .counters = (uintptr_t)counter,
	};
	uint32_t i, found = 0;
	int fd;

	if (route_is_native())
		return;
	ASSERT_EQ(pin_to(0), 0);
	fd = flops(FUSED, -1);
	ev_enable(fd);
	ASSERT_EQ(ioctl(ev_device(), KPMU_IOC_INFO, &ask), 0);
	EXPECT_EQ(__builtin_popcount(info.free & 0x3f), 4);
	for (i = 0; i < info.nr_counters; i++)
		if (counter[i].id == ev_id(fd))
			found |= 1u << counter[i].counter;
	EXPECT_TRUE(found == 3 || found == 3 << 2 || found == 3 << 4);
}

/* Reserve @counters of CPU 0 */
static int set_aside(uint32_t counters)
{
	static int32_t cpu;
	struct kpmu_reserve reserve = {
		.cpus = (uintptr_t)&cpu, .nr_cpus = 1, .counters = counters, .name = "mine",
	};

	return ioctl(ev_device(), KPMU_IOC_RESERVE, &reserve);
}

/* Open an event that names reservation @by, if that is not -1 */
static int open_by(int by, int group_fd)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, FLOPS | FUSED);
	struct kpmu_open args = {
		.attr = (uintptr_t)&a, .cpu = -1, .reserved = by < 0 ? 0 : by, .group_fd = group_fd,
		.flags = by < 0 ? 0 : KPMU_OPEN_RESERVED,
	};

	a.disabled = group_fd < 0;
	a.read_format = FORMAT_TIMES;
	return ioctl(ev_device(), KPMU_IOC_OPEN, &args);
}

/* A group of @n events that name reservation @by, if that is not -1: does it run? */
static bool runs(struct __test *_metadata, int n, int by)
{
	int fd[4] = { 0 }, i;
	bool ran;

	for (i = 0; i < n; i++) {
		fd[i] = open_by(by, i ? fd[0] : -1);
		EXPECT_GE(fd[i], 0);
	}
	ev_enable(fd[0]);
	fused(N);
	ev_disable(fd[0]);
	ran = ev_times(fd[0]).running;
	for (i = 0; i < n; i++) {
		EXPECT_EQ(ev_count(fd[i]), ran ? 16 * N : 0);
		close(fd[i]);
	}
	return ran;
}

/* A pair needs both of its counters */
TEST(reserved)
{
	ROWS("W-20 W-22 Q-13");
	NEED_WIDE();
	int gp = counters_general(), by;

	if (route_is_native())
		return;
	ASSERT_EQ(pin_to(0), 0);
	by = set_aside(2);
	ASSERT_GE(by, 0);
	EXPECT_FALSE(runs(_metadata, gp / 2, -1));
	EXPECT_TRUE(runs(_metadata, gp / 2 - 1, -1));
	EXPECT_EQ(fd_errno(open_by(by, -1)), EINVAL);
	close(by);
	EXPECT_TRUE(runs(_metadata, gp / 2, -1));
	/* No pair, but two counters of different pairs */
	by = set_aside(6);
	EXPECT_EQ(fd_errno(open_by(by, -1)), EINVAL);
	close(by);
	by = set_aside(12);
	EXPECT_TRUE(runs(_metadata, 1, by));
	EXPECT_FALSE(runs(_metadata, 2, by));
}
TEST_HARNESS_MAIN
