// SPDX-License-Identifier: GPL-2.0-only
/* Events in BPF maps (BPF_MAP_TYPE_PERF_EVENT_ARRAY): programs read their values. */
#define _GNU_SOURCE
#include <linux/bpf_perf_event.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "bpf.h"
#include "event.h"
#include "harness.h"

#define TP	BPF_PROG_TYPE_TRACEPOINT
#define ROUNDS	250006
#define CPUS	16
#define THIS_CPU	(-1)	/* BPF_F_CURRENT_CPU */

/* What the program has read last: its result, and the values */
struct values {
	uint64_t result, count, enabled, running;
};

struct guest {
	int events, words;	/* maps */
	int hits;		/* event that runs the program at each getppid() */
};

/* rD = imm, of 32 bits */
#define SET32(d, i)	INSN(BPF_ALU | BPF_MOV | BPF_K, d, 0, 0, i)
/* Read the values of element @index of @events to words 2 to 4, and the result to word 1 */
#define READ(events, index)							\
	MAP(1, events), SET32(2, index), COPY(3, 6), ADD(3, 16), SET(4, 24),	\
	CALL(BPF_FUNC_perf_event_read_value), STORE(6, 0, 8)

static int put(int map, uint32_t key, uint32_t fd)
{
	union bpf_attr a = {
		.map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)&fd,
	};

	return sys_bpf(BPF_MAP_UPDATE_ELEM, &a) ? errno : 0;
}

static int drop(int map, uint32_t key)
{
	union bpf_attr a = { .map_fd = map, .key = (uintptr_t)&key };

	return sys_bpf(BPF_MAP_DELETE_ELEM, &a) ? errno : 0;
}

/* Run the program at each getppid() of this task */
static void arm(struct guest *g, uint32_t index)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT,
		read_long("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id"));

	a.exclude_kernel = 0;
	a.disabled = 0;
	g->hits = ev_must(&a, 0, -1, -1, 0);
	if (ioctl(g->hits, PERF_EVENT_IOC_SET_BPF, BUILD(TP, g->words, READ(g->events, index), SET(8, 1))))
		perror("# SET_BPF");
}

static struct guest new_guest(uint32_t index)
{
	struct guest g = {
		.events = new_map_of(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, CPUS), .words = words_map(),
	};

	arm(&g, index);
	return g;
}

static struct values values_of(const struct guest *g)
{
	uint64_t w[BPF_WORDS] = { 0 };

	map_entry(g->words, 0, w);
	return (struct values){ w[1], w[2], w[3], w[4] };
}

static struct values ask(const struct guest *g)
{
	syscall(SYS_getppid);
	return values_of(g);
}

static struct perf_event_attr insns(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	return a;
}

/* The program reads what read(2) reads just before and after it */
#define EXPECT_VALUES(g, fd, ask) do {						\
	uint64_t before[3], after[3];						\
	struct values v;							\
										\
	ASSERT_EQ(read(fd, before, 24), 24);					\
	v = ask;								\
	ASSERT_EQ(read(fd, after, 24), 24);					\
	EXPECT_EQ(v.result, 0);							\
	EXPECT_LE(before[0], v.count);						\
	EXPECT_LE(v.count, after[0]);						\
	EXPECT_LE(before[1], v.enabled);					\
	EXPECT_LE(v.enabled, after[1]);						\
	EXPECT_LE(before[2], v.running);					\
	EXPECT_LE(v.running, after[2]);						\
} while (0)

/* The program of this CPU reads the event of this CPU */
TEST(event_of_a_cpu)
{
	ROWS("I-40");
	NEED_PMU();
	struct perf_event_attr a = insns();
	struct guest g = new_guest(THIS_CPU);
	int fd;

	pin_to(0);
	fd = ev_must(&a, -1, 0, -1, 0);
	EXPECT_EQ((int)ask(&g).result, -ENOENT);
	EXPECT_EQ(put(g.events, 0, fd), 0);
	EXPECT_VALUES(&g, fd, ask(&g));
	work(ROUNDS);
	EXPECT_VALUES(&g, fd, ask(&g));
	ev_disable(fd);
	work(ROUNDS);
	EXPECT_VALUES(&g, fd, ask(&g));
}

/* Between two programs there is the same work, and the same way to them */
TEST(event_of_a_task)
{
	ROWS("I-40");
	NEED_PMU();
	struct perf_event_attr a = insns();
	struct guest g = new_guest(0);
	uint64_t n[4];
	int fd = ev_must(&a, 0, -1, -1, 0), i;

	EXPECT_EQ(put(g.events, 0, fd), 0);
	EXPECT_VALUES(&g, fd, ask(&g));
	for (i = 0; i < 4; i++) {
		work(i < 2 ? ROUNDS : 2 * ROUNDS);
		n[i] = ask(&g).count;
	}
	EXPECT_GE(n[1] - n[0], WORK_INSNS(ROUNDS));
	EXPECT_LE(n[1] - n[0], WORK_INSNS(ROUNDS) + SLACK(WORK_INSNS(ROUNDS)) + 300);
	EXPECT_GE(n[3] - n[2], WORK_INSNS(2 * ROUNDS));
	if (exact())
		EXPECT_EQ(n[3] - n[2] - (n[2] - n[1]), 0);
}

/* Events that do not count on a counter */
TEST(software_events)
{
	ROWS("I-40");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	struct guest g = new_guest(0);
	int fd;

	a.disabled = 0;
	a.read_format = FORMAT_TIMES;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(put(g.events, 0, fd), 0);
	work(ROUNDS);
	EXPECT_VALUES(&g, fd, ask(&g));
}

/* Not those of other CPUs and tasks */
TEST(not_here)
{
	ROWS("I-40");
	NEED_PMU();
	struct perf_event_attr a = insns();
	struct guest g = new_guest(0), other = new_guest(1);
	int fd = ev_must(&a, 0, -1, -1, 0), status;

	EXPECT_EQ(put(g.events, 0, fd), 0);
	if (!fork()) {
		close(g.hits);
		arm(&g, 0);
		syscall(SYS_getppid);
		_exit(0);
	}
	wait(&status);
	EXPECT_EQ((int)values_of(&g).result, -EINVAL);
	EXPECT_EQ(values_of(&g).count, 0);
	EXPECT_EQ(ask(&g).result, 0);
	if (nr_cpus() < 2)
		return;
	pin_to(0);
	fd = ev_must(&a, -1, 1, -1, 0);
	EXPECT_EQ(put(other.events, 1, fd), 0);
	EXPECT_EQ((int)ask(&other).result, -EINVAL);
	pin_to(1);
	EXPECT_VALUES(&other, fd, ask(&other));
}

TEST(errors)
{
	ROWS("I-40");
	NEED_PMU();
	struct perf_event_attr a = insns();
	struct guest g = new_guest(0);
	int fd;

	EXPECT_EQ(put(g.events, 0, 999), EBADF);
	EXPECT_EQ(put(g.events, 0, g.words), EBADF);
	a.inherit = 1;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(put(g.events, 0, fd), EOPNOTSUPP);
	a.inherit = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	EXPECT_EQ(put(g.events, CPUS, fd), E2BIG);
	EXPECT_EQ(drop(g.events, 0), ENOENT);
	EXPECT_EQ((int)ask(&g).result, -ENOENT);
}

/* Programs write to bpf-output events only */
TEST(no_output)
{
	ROWS("I-40");
	NEED_PMU();
	struct perf_event_attr a = insns();
	struct guest g = new_guest(0);
	int fd = ev_must(&a, 0, -1, -1, 0), hits;
	struct perf_event_attr tp = ev_attr(PERF_TYPE_TRACEPOINT,
		read_long("/sys/kernel/tracing/events/syscalls/sys_enter_getuid/id"));

	tp.exclude_kernel = 0;
	tp.disabled = 0;
	hits = ev_must(&tp, 0, -1, -1, 0);
	EXPECT_EQ(put(g.events, 0, fd), 0);
	ASSERT_EQ(ioctl(hits, PERF_EVENT_IOC_SET_BPF,
			BUILD(TP, g.words, COPY(1, 7), MAP(2, g.events), SET32(3, 0), COPY(4, 6),
			      ADD(4, 64), SET(5, 8), CALL(BPF_FUNC_perf_event_output), STORE(6, 0, 8),
			      SET(8, 1))), 0);
	syscall(SYS_getuid);
	EXPECT_EQ((int)map_word(g.words, 1), -EINVAL);
}

/* An element keeps its event; it ends with the element, or with the map */
TEST(outlives_the_fd)
{
	ROWS("I-40");
	NEED_PMU();
	struct perf_event_attr a = insns();
	struct guest g = new_guest(0);
	int fd = ev_must(&a, 0, -1, -1, 0);
	uint64_t n;

	EXPECT_EQ(put(g.events, 0, fd), 0);
	EXPECT_EQ(put(g.events, 1, fd), 0);
	EXPECT_EQ(put(g.events, 0, fd), 0);
	close(fd);
	n = ask(&g).count;
	work(ROUNDS);
	EXPECT_GE(ask(&g).count - n, WORK_INSNS(ROUNDS));
	EXPECT_EQ(drop(g.events, 0), 0);
	EXPECT_EQ((int)ask(&g).result, -ENOENT);
}

/* An overflow's program reads another event, in the NMI */
TEST(at_an_overflow)
{
	ROWS("I-40");
	NEED_PMU();
	struct perf_event_attr a = insns(), b = ev_attr(PERF_TYPE_RAW, RAW_BRANCHES);
	int events = new_map_of(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, CPUS), words = words_map();
	int fd = ev_must(&a, 0, -1, -1, 0), over;

	no_throttle();
	b.sample_period = 10000;
	over = ev_must(&b, 0, -1, -1, 0);
	EXPECT_EQ(put(events, 0, fd), 0);
	ASSERT_EQ(ioctl(over, PERF_EVENT_IOC_SET_BPF,
			BUILD(BPF_PROG_TYPE_PERF_EVENT, words, READ(events, 0), SET(8, 1))), 0);
	work_counted(over, ROUNDS, 0);
	EXPECT_GE(map_word(words, 0), 20);
	EXPECT_EQ(map_word(words, 1), 0);
	/* The last overflow is in the last period: a round has four instructions and a branch */
	EXPECT_GE(map_word(words, 2), 4 * 10000 * (map_word(words, 0) - 1));
	EXPECT_LE(map_word(words, 2), ev_count(fd));
}

/* The module can be unloaded when the elements are gone */
TEST(holds_the_module)
{
	ROWS("I-40");
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	uint64_t end = patience();
	struct guest g;
	long users;
	int fd;

	if (route_is_native())
		SKIP(return, "this is about the module");
	g = new_guest(0);
	fd = ev_must(&a, 0, -1, -1, 0);
	users = read_long("/sys/module/kpmu/refcnt");
	EXPECT_EQ(put(g.events, 0, fd), 0);
	EXPECT_EQ(read_long("/sys/module/kpmu/refcnt"), users + 1);
	close(fd);
	EXPECT_EQ(read_long("/sys/module/kpmu/refcnt"), users + 1);
	EXPECT_EQ(drop(g.events, 0), 0);
	/* The element and the event */
	while (read_long("/sys/module/kpmu/refcnt") != users - 1 && now_ns() < end)
		usleep(1000);
	EXPECT_EQ(read_long("/sys/module/kpmu/refcnt"), users - 1);
}

TEST_HARNESS_MAIN
