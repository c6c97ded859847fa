// SPDX-License-Identifier: GPL-2.0-only
/* The fields of samples, one by one and together. */
#define _GNU_SOURCE
#include <asm/perf_regs.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "sampled.h"
#include "task.h"

static struct record rec;

TEST(fixed_fields)
{
	ROWS("S-01 S-02 S-03 S-04 S-05 S-06 S-07 S-08 S-09 S-10 B-01 B-03 B-11 B-12");
	struct perf_event_attr a = sampled_attr(WHOSE | PERF_SAMPLE_IP |
					PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD);
	uint64_t before, last = 0;
	struct ring r;
	int fd, n = 0;

	a.use_clockid = 1;
	a.clockid = CLOCK_MONOTONIC;
	a.sample_id_all = 1;
	pin_to(nr_cpus() - 1);
	before = now_ns();
	fd = sampled(&r, &a);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(rec.head.size, 8 + 9 * 8);
		EXPECT_EQ(rec.head.misc, PERF_RECORD_MISC_USER);
		EXPECT_EQ(s.identifier, ev_id(fd));
		EXPECT_TRUE(in_work(s.ip));
		EXPECT_EQ(s.pid, getpid());
		EXPECT_EQ(s.tid, getpid());
		EXPECT_GE(s.time, before);
		EXPECT_LE(s.time, now_ns());
		EXPECT_GT(s.time, last);
		EXPECT_EQ(s.addr, 0);
		EXPECT_EQ(s.id, ev_id(fd));
		EXPECT_EQ(s.stream_id, ev_id(fd));
		EXPECT_EQ(s.cpu, nr_cpus() - 1);
		EXPECT_EQ(s.cpu_pad, 0);
		EXPECT_EQ(s.period, PERIOD);
		last = s.time;
		n++;
	}
	EXPECT_EQ(n, 10);
}

static const struct {
	uint64_t bit;
	int size;
} fields[] = {
	{ 0, 0 },
	{ PERF_SAMPLE_IP, 8 }, { PERF_SAMPLE_TID, 8 },
	{ PERF_SAMPLE_TIME, 8 }, { PERF_SAMPLE_ADDR, 8 },
	{ PERF_SAMPLE_READ, 8 }, { PERF_SAMPLE_ID, 8 },
	{ PERF_SAMPLE_CPU, 8 }, { PERF_SAMPLE_PERIOD, 8 },
	{ PERF_SAMPLE_STREAM_ID, 8 }, { PERF_SAMPLE_RAW, 8 },
	{ PERF_SAMPLE_REGS_USER, 8 + 16 }, { PERF_SAMPLE_STACK_USER, 24 },
	{ PERF_SAMPLE_WEIGHT, 8 }, { PERF_SAMPLE_DATA_SRC, 8 },
	{ PERF_SAMPLE_IDENTIFIER, 8 }, { PERF_SAMPLE_TRANSACTION, 8 },
	{ PERF_SAMPLE_REGS_INTR, 8 + 8 }, { PERF_SAMPLE_PHYS_ADDR, 8 },
	{ PERF_SAMPLE_AUX, 8 }, { PERF_SAMPLE_CGROUP, 8 },
	{ PERF_SAMPLE_DATA_PAGE_SIZE, 8 }, { PERF_SAMPLE_CODE_PAGE_SIZE, 8 },
	{ PERF_SAMPLE_WEIGHT_STRUCT, 8 },
};

static void check_size(struct __test *_metadata, uint64_t bits, int size)
{
	struct perf_event_attr a = sampled_attr(bits);
	struct ring r;
	int fd, n;

	a.sample_regs_user = 3;
	a.sample_stack_user = 8;
	a.sample_regs_intr = 1 << PERF_REG_X86_IP;
	fd = sampled(&r, &a);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(rec.head.size, 8 + size);
		EXPECT_EQ(s.weight, 0);
		EXPECT_EQ(s.transaction, 0);
		EXPECT_EQ(s.aux_size, 0);
		if (bits & PERF_SAMPLE_RAW) {
			EXPECT_EQ(s.raw_size, 4);
			EXPECT_EQ(*(uint32_t *)s.raw, 0);
		}
	}
	EXPECT_EQ(n, 10);
	ring_unmap(&r);
	close(fd);
}

/* A field that is not in sample_type takes no room */
TEST(one_by_one)
{
	ROWS("S-46 S-44 S-45 S-13 S-26 S-34 S-36 S-43 R-23");
	uint64_t bits = 0;
	int i, all = 0;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		check_size(_metadata, fields[i].bit, fields[i].size);
	/* All together, without the last: WEIGHT and WEIGHT_STRUCT exclude each other */
	for (i = 0; i < ARRAY_SIZE(fields) - 1; i++) {
		bits |= fields[i].bit;
		all += fields[i].size;
	}
	check_size(_metadata, bits, all);
}

/* PERF_SAMPLE_READ: the count grows by one period per sample */
TEST(read_values)
{
	ROWS("S-11 F-01 F-05 F-09");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_READ);
	struct ring r;
	int fd, n;

	a.read_format = FORMAT_TIMES | PERF_FORMAT_ID | PERF_FORMAT_LOST;
	fd = sampled(&r, &a);
	for (n = 1; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(rec.head.size, 8 + 40);
		EXPECT_COUNT(n * PERIOD, s.read[0]);
		EXPECT_EQ(s.read[1], s.read[2]);
		EXPECT_GT(s.read[1], 0);
		EXPECT_EQ(s.read[3], ev_id(fd));
		EXPECT_EQ(s.read[4], 0);
	}
	EXPECT_EQ(n, 11);
}

/* The counts of the other group members in a sample are exact at the overflow */
TEST(read_group)
{
	ROWS("S-11 F-06 F-07");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_READ), m;
	int fd, loads, branches, n;
	struct ring r;

	a.read_format = FORMAT_TIMES | PERF_FORMAT_ID | PERF_FORMAT_GROUP;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	m = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	m.disabled = 0;
	loads = ev_must(&m, 0, -1, fd, 0);
	m.config = RAW_BRANCHES;
	branches = ev_must(&m, 0, -1, fd, 0);
	work_counted(fd, ROUNDS, PERF_IOC_FLAG_GROUP);
	for (n = 1; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		ASSERT_EQ(s.read_words, 1 + 2 + 3 * 2);
		EXPECT_EQ(s.read[0], 3);
		EXPECT_EQ(s.read[1], s.read[2]);
		EXPECT_COUNT(n * PERIOD, s.read[3]);
		EXPECT_EQ(s.read[4], ev_id(fd));
		/* A round is four instructions: a load first, a branch last */
		EXPECT_COUNT(n * PERIOD / 4, s.read[5]);
		EXPECT_EQ(s.read[6], ev_id(loads));
		EXPECT_COUNT(n * PERIOD / 4, s.read[7]);
		EXPECT_EQ(s.read[8], ev_id(branches));
	}
	EXPECT_EQ(n, 11);
}

TEST(read_in_a_member)
{
	ROWS("S-11 S-07 S-08");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_READ | PERF_SAMPLE_ID |
						PERF_SAMPLE_STREAM_ID);
	int leader = ev_self(PERF_TYPE_RAW, RAW_LOADS, -1), fd, n;
	struct ring r;

	a.disabled = 0;
	a.read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP;
	fd = ev_must(&a, 0, -1, leader, 0);
	ring_map(&r, fd, &a, 8);
	work_counted(leader, ROUNDS, 0);
	for (n = 1; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(s.id, ev_id(fd));
		EXPECT_EQ(s.stream_id, ev_id(fd));
		EXPECT_EQ(s.read[0], 2);
		EXPECT_COUNT(n * PERIOD / 4, s.read[1]);
		EXPECT_EQ(s.read[2], ev_id(leader));
		EXPECT_COUNT(n * PERIOD, s.read[3]);
		EXPECT_EQ(s.read[4], ev_id(fd));
	}
	EXPECT_EQ(n, 11);
}

TEST(addresses)
{
	ROWS("S-39 S-40 S-41 S-42");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_PHYS_ADDR |
						PERF_SAMPLE_CGROUP |
						PERF_SAMPLE_DATA_PAGE_SIZE |
						PERF_SAMPLE_CODE_PAGE_SIZE);
	struct ring r;
	int n;

	sampled(&r, &a);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		/* This event provides no data address */
		EXPECT_EQ(s.phys_addr, 0);
		EXPECT_EQ(s.data_page, 0);
		EXPECT_EQ(s.code_page, 4096);
		EXPECT_EQ(s.cgroup, 1);
	}
	EXPECT_EQ(n, 10);
}

/* Physical address by /proc/self/pagemap; 0 if the page is not present */
static uint64_t phys_of(const volatile void *p)
{
	uint64_t entry = 0, at = (uintptr_t)p;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	if (pread(fd, &entry, sizeof(entry), at / 4096 * 8) != sizeof(entry))
		exit(1);
	close(fd);
	return entry >> 63 ? (entry & ((1ULL << 55) - 1)) * 4096 + at % 4096 : 0;
}

/* A breakpoint provides a data address; its page is present at the hit */
static void watch(struct __test *_metadata, volatile long *p, uint64_t page)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_BREAKPOINT, 0);
	struct ring r;
	int fd, n;

	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = (uintptr_t)p;
	a.bp_len = HW_BREAKPOINT_LEN_8;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR |
			PERF_SAMPLE_DATA_PAGE_SIZE;
	*p = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 8);
	ev_enable(fd);
	*p = 1;
	*p = 2;
	ev_disable(fd);
	for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_EQ(s.addr, (uintptr_t)p);
		EXPECT_NE(s.phys_addr, 0);
		EXPECT_EQ(s.phys_addr, phys_of(p));
		EXPECT_EQ(s.data_page, page);
	}
	EXPECT_EQ(n, 2);
	ring_unmap(&r);
	close(fd);
}

/* Address of a variable of the kernel, 0 if it is not known */
static unsigned long kernel_address(const char *symbol)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long addr = 0, at;
	char line[300], name[200], kind;

	while (f && !addr && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %c %199s", &at, &kind, name) == 3 && !strcmp(name, symbol))
			addr = at;
	if (f)
		fclose(f);
	return addr;
}

/* A breakpoint on a variable that the ticks of some CPU change */
TEST(kernel_data_address)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_BREAKPOINT, 0);
	int fd[64], cpus = nr_cpus(), n = 0, i;
	struct ring r[64];

	ROWS("S-39");
	a.bp_type = HW_BREAKPOINT_W;
	a.bp_addr = kernel_address("jiffies_64");
	a.bp_len = HW_BREAKPOINT_LEN_8;
	a.exclude_kernel = 0;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_PHYS_ADDR;
	if (!a.bp_addr)
		SKIP(return, "no addresses in kallsyms");
	for (i = 0; i < cpus; i++) {
		fd[i] = ev_must(&a, -1, i, -1, 0);
		ring_map(&r[i], fd[i], &a, 8);
		ev_enable(fd[i]);
	}
	usleep(100000);
	for (i = 0; i < cpus; i++) {
		ev_disable(fd[i]);
		for (; ring_find(&r[i], &rec, PERF_RECORD_SAMPLE); n++) {
			struct parts s = record_sample(&r[i], &rec);

			EXPECT_EQ(s.addr, a.bp_addr);
			EXPECT_NE(s.phys_addr, 0);
			EXPECT_EQ(s.phys_addr % 4096, a.bp_addr % 4096);
		}
	}
	EXPECT_GT(n, 0);
}

TEST(data_addresses)
{
	ROWS("S-39 S-41");
	static volatile long small;
	char *large;

	watch(_metadata, &small, 4096);
	write_long("/proc/sys/vm/nr_hugepages", 1);
	large = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (large == MAP_FAILED) {
		printf("# no huge page on this kernel\n");
		return;
	}
	watch(_metadata, (volatile long *)(large + 12345 * 8), 2 << 20);
	munmap(large, 2 << 20);
	write_long("/proc/sys/vm/nr_hugepages", 0);
}

/* Most of the kernel's text is mapped by 2 MiB pages */
TEST(kernel_pages)
{
	ROWS("S-42");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_CODE_PAGE_SIZE);
	struct ring r;
	int large = 0;

	sampled_kernel(&r, &a, 200);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);

		EXPECT_TRUE(s.code_page == 4096 || s.code_page == 2 << 20);
		large += s.code_page == 2 << 20;
	}
	EXPECT_GE(large, 1);
}

TEST(data_src)
{
	ROWS("S-28 U-20");
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_DATA_SRC);
	struct ring r;

	sampled(&r, &a);
	ASSERT_TRUE(ring_find(&r, &rec, PERF_RECORD_SAMPLE));
	EXPECT_EQ(record_sample(&r, &rec).data_src, 0x1e05080021);
}

static uint64_t clock_now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

TEST(clocks)
{
	ROWS("A-47 S-05");
	static const clockid_t ids[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW };
	struct perf_event_attr a = sampled_attr(PERF_SAMPLE_TIME);
	uint64_t before;
	struct ring r;
	int i;

	a.use_clockid = 1;
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		a.clockid = ids[i];
		before = clock_now(ids[i]);
		sampled(&r, &a);
		ASSERT_TRUE(ring_find(&r, &rec, PERF_RECORD_SAMPLE));
		EXPECT_GE(record_sample(&r, &rec).time, before);
		EXPECT_LE(record_sample(&r, &rec).time, clock_now(ids[i]));
	}
}

/* Software events take no samples in NMIs, so clocks that are not NMI-safe are accepted */
TEST(software_clocks)
{
	ROWS("A-48");
	static const clockid_t ids[] = {
		CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME,
		CLOCK_BOOTTIME, CLOCK_TAI,
	};
	struct perf_event_attr a = ev_attr(PERF_TYPE_SOFTWARE,
					   PERF_COUNT_SW_PAGE_FAULTS);
	const int pages = 8;
	uint64_t before, after;
	struct ring r;
	int i, fd, n;
	char *p;

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_TIME;
	a.use_clockid = 1;
	for (i = 0; i < ARRAY_SIZE(ids); i++) {
		a.clockid = ids[i];
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 8);
		p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(p, MAP_FAILED);
		before = clock_now(ids[i]);
		ev_enable(fd);
		for (n = 0; n < pages; n++)
			p[n * 4096] = 1;
		ev_disable(fd);
		after = clock_now(ids[i]);
		for (n = 0; ring_find(&r, &rec, PERF_RECORD_SAMPLE); n++) {
			EXPECT_GE(record_u64(&rec, 0), before);
			EXPECT_LE(record_u64(&rec, 0), after);
		}
		EXPECT_GE(n, pages);
		close(fd);
	}
	a.clockid = CLOCK_PROCESS_CPUTIME_ID;
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EINVAL);
}

/* A child's samples carry the parent's id, and a stream_id and pid of their own */
TEST(inherited)
{
	ROWS("S-07 S-08 H-09 U-12");
	struct perf_event_attr a = sampled_attr(WHOSE | PERF_SAMPLE_READ);
	uint64_t streams[2] = { 0 }, late = 0;
	int fd, n[2] = { 0 };
	struct worker w, kid;
	struct ring r;

	a.inherit = 1;
	worker_start(&w);
	worker_pin(&w, 0);
	fd = ev_open(&a, w.pid, 0, -1, 0);
	if (fd < 0) {
		/* Native perf before 6.13 refuses SAMPLE_READ with inherit */
		ASSERT_TRUE(route_is_native());
		a.sample_type &= ~PERF_SAMPLE_READ;
		fd = ev_must(&a, w.pid, 0, -1, 0);
	}
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	worker_run(&w, ROUNDS);
	worker_fork(&w, &kid);
	worker_run(&kid, ROUNDS);
	worker_stop(&kid);
	worker_reap(&w);
	ev_disable(fd);
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		struct parts s = record_sample(&r, &rec);
		int i = s.pid != w.pid;

		EXPECT_EQ(s.id, ev_id(fd));
		EXPECT_EQ(s.identifier, ev_id(fd));
		EXPECT_EQ(s.pid, i ? kid.pid : w.pid);
		streams[i] = s.stream_id;
		n[i]++;
		/*
		 * Parent and child count separately.  If a task switch leaves one event to the
		 * overflow, the counter is set to two events before it: the sample is one late.
		 */
		if (s.read) {
			EXPECT_GE(s.read[0], n[i] * PERIOD);
			late += s.read[0] - n[i] * PERIOD;
		}
	}
	EXPECT_LE(late, 1 + (n[0] + n[1]) * SLACK(PERIOD));
	EXPECT_GE(n[0], 10);
	EXPECT_GE(n[1], 10);
	EXPECT_EQ(streams[0], ev_id(fd));
	EXPECT_NE(streams[1], ev_id(fd));
	worker_stop(&w);
}

TEST_HARNESS_MAIN
