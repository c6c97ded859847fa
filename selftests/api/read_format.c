// SPDX-License-Identifier: GPL-2.0-only
/* read(2): every read_format, single events and groups, buffers that are too short. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "event.h"
#include "harness.h"
#include "task.h"

#define TE	PERF_FORMAT_TOTAL_TIME_ENABLED
#define TR	PERF_FORMAT_TOTAL_TIME_RUNNING
#define ID	PERF_FORMAT_ID
#define GROUP	PERF_FORMAT_GROUP
#define LOST	(1u << 4)
#define ALL	32
#define N	1000

static int words(unsigned int format, int nr)
{
	int head = !!(format & TE) + !!(format & TR);
	int each = 1 + !!(format & ID) + !!(format & LOST);

	return format & GROUP ? 1 + head + nr * each : head + each;
}

struct one {
	int fd;
	uint64_t value;		/* expected count */
};

/* Check that @v is laid out as @format says and holds the counts of these events */
static void check(struct __test *_metadata, const uint64_t *v,
		  unsigned int format, const struct one *e, int nr)
{
	uint64_t enabled = 1, running = 1;
	int i;

	if (format & GROUP) {
		EXPECT_EQ(v[0], nr);
		v++;
		if (format & TE)
			enabled = *v++;
		if (format & TR)
			running = *v++;
		for (i = 0; i < nr; i++) {
			EXPECT_GE(v[0], e[i].value);
			EXPECT_LE(v[0], e[i].value + SLACK(e[i].value));
			v++;
			if (format & ID)
				EXPECT_EQ(*v++, ev_id(e[i].fd));
			if (format & LOST)
				EXPECT_EQ(*v++, 0);
		}
	} else {
		EXPECT_GE(v[0], e->value);
		EXPECT_LE(v[0], e->value + SLACK(e->value));
		v++;
		if (format & TE)
			enabled = *v++;
		if (format & TR)
			running = *v++;
		if (format & ID)
			EXPECT_EQ(*v++, ev_id(e->fd));
		if (format & LOST)
			EXPECT_EQ(*v++, 0);
	}
	EXPECT_GT(enabled, 0);
	EXPECT_LT(enabled, 60000000000ULL);
	if (format & TE && format & TR)
		EXPECT_EQ(enabled, running);
	if (_metadata->failed) {
		printf("# in read_format %#x\n", format);
		exit(KSFT_FAIL);
	}
}

static int open_one(uint32_t type, uint64_t config, int group,
		    unsigned int format)
{
	struct perf_event_attr a = ev_attr(type, config);

	a.disabled = group < 0;
	a.read_format = format;
	return ev_must(&a, 0, -1, group, 0);
}

/* Read with every buffer length around @size, the size of the result */
static void lengths(struct __test *_metadata, int fd, size_t size)
{
	uint64_t v[512], untouched;
	size_t len;

	for (len = 0; len < size; len++) {
		memset(v, 0x5a, sizeof(v));
		errno = 0;
		EXPECT_EQ(read(fd, v, len), -1);
		EXPECT_EQ(errno, ENOSPC);
		memset(&untouched, 0x5a, 8);
		for (int i = 0; i < 64; i++)
			EXPECT_EQ(v[i], untouched);
	}
	for (len = size; len < size + 20; len++) {
		memset(v, 0x5a, sizeof(v));
		EXPECT_EQ(read(fd, v, len), size);
		memset(&untouched, 0x5a, 8);
		EXPECT_EQ(v[size / 8], untouched);
	}
	EXPECT_EQ(read(fd, v, sizeof(v)), size);
}

TEST(single_all_formats)
{
	ROWS("F-01 F-02 F-03 F-04 F-09 F-12");
	uint64_t v[64];

	for (unsigned int format = 0; format < ALL; format++) {
		struct one e = {
			open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
				 -1, format), WORK_INSNS(N)
		};

		work_counted(e.fd, N, 0);
		ASSERT_EQ(read(e.fd, v, sizeof(v)), 8 * words(format, 1));
		check(_metadata, v, format, &e, 1);
		close(e.fd);
	}
}

TEST(group_all_formats)
{
	ROWS("F-01 F-05 F-06 F-07 F-13 F-15");
	uint64_t v[64];
	int i;

	for (unsigned int format = 0; format < ALL; format++) {
		struct one e[4] = {
			{ .value = WORK_BRANCHES(N) }, { .value = WORK_INSNS(N) },
			{ .value = WORK_LOADS(N) }, { .value = WORK_STORES(N) },
		};

		e[0].fd = open_one(PERF_TYPE_RAW, RAW_BRANCHES, -1, format);
		e[1].fd = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
				   e[0].fd, format);
		e[2].fd = open_one(PERF_TYPE_RAW, RAW_LOADS, e[0].fd, format);
		e[3].fd = open_one(PERF_TYPE_RAW, RAW_STORES, e[0].fd, format);
		work_counted(e[0].fd, N, 0);
		ASSERT_EQ(read(e[0].fd, v, sizeof(v)), 8 * words(format, 4));
		check(_metadata, v, format, e, 4);
		for (i = 1; i < 4; i++) {
			/* Through a member: the group with FORMAT_GROUP, else the member alone */
			ASSERT_EQ(read(e[i].fd, v, sizeof(v)), 8 * words(format, 4));
			check(_metadata, v, format,
			      format & GROUP ? e : &e[i], format & GROUP ? 4 : 1);
		}
		for (i = 0; i < 4; i++)
			close(e[i].fd);
	}
}

/* A disabled event reads the values of its last disable, or 0 if it was never enabled */
TEST(disabled_events)
{
	ROWS("F-20 F-08");
	uint64_t v[3], w[3];
	int fd = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1,
			  FORMAT_TIMES), i;

	ASSERT_EQ(read(fd, v, sizeof(v)), sizeof(v));
	EXPECT_EQ(v[0] | v[1] | v[2], 0);
	for (i = 1; i <= 3; i++) {
		work_counted(fd, 1000, 0);
		ASSERT_EQ(read(fd, v, sizeof(v)), sizeof(v));
		work(1000);
		ASSERT_EQ(read(fd, w, sizeof(w)), sizeof(w));
		EXPECT_EQ(memcmp(v, w, sizeof(v)), 0);
		EXPECT_GE(v[0], i * WORK_INSNS(1000));
		EXPECT_LE(v[0], i * (WORK_INSNS(1000) + SLACK(WORK_INSNS(1000))));
		EXPECT_GT(v[1], 0);
		EXPECT_EQ(v[1], v[2]);
	}
}

TEST(short_buffers)
{
	ROWS("F-16 F-17 E-31");
	for (unsigned int format = 0; format < ALL; format++) {
		int fd = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
				  -1, format);
		int member;

		lengths(_metadata, fd, 8 * words(format, 1));
		member = open_one(PERF_TYPE_RAW, RAW_LOADS, fd, format);
		lengths(_metadata, fd, 8 * words(format, 2));
		lengths(_metadata, member, 8 * words(format, 2));
		close(member);
		lengths(_metadata, fd, 8 * words(format, 1));
		close(fd);
	}
}

/* No ioctl changes the layout selected at open, whether the event accepts or refuses it */
TEST(format_is_fixed)
{
	ROWS("F-21");
	static const unsigned int formats[] = { 0, TE | TR | ID, GROUP | TE | ID };
	struct perf_event_attr other = ev_attr(PERF_TYPE_HARDWARE,
					       PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t v[16], id, period = 1000;
	uint32_t query[4] = { 2 };
	const struct {
		unsigned long request;
		const void *arg;
	} calls[] = {
		{ PERF_EVENT_IOC_ENABLE, NULL }, { PERF_EVENT_IOC_DISABLE, NULL },
		{ PERF_EVENT_IOC_RESET, NULL }, { PERF_EVENT_IOC_REFRESH, (void *)1 },
		{ PERF_EVENT_IOC_PERIOD, &period }, { PERF_EVENT_IOC_ID, &id },
		{ PERF_EVENT_IOC_SET_OUTPUT, (void *)-1 },
		{ PERF_EVENT_IOC_SET_FILTER, "pid == 1" },
		{ PERF_EVENT_IOC_SET_BPF, (void *)-1 },
		{ PERF_EVENT_IOC_PAUSE_OUTPUT, (void *)1 },
		{ PERF_EVENT_IOC_QUERY_BPF, query },
		{ PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &other },
	};
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	for (int f = 0; f < ARRAY_SIZE(formats); f++) {
		int fd, len = 8 * words(formats[f], 1);

		a.read_format = formats[f];
		other.read_format = ~formats[f] & (TE | TR | ID | GROUP);
		a.sample_period = 1000003;
		fd = ev_must(&a, 0, -1, -1, 0);
		for (int i = 0; i < ARRAY_SIZE(calls); i++) {
			ioctl(fd, calls[i].request, calls[i].arg);
			EXPECT_EQ(read(fd, v, sizeof(v)), len);
			if (formats[f] & ID)
				EXPECT_EQ(v[len / 8 - 1], ev_id(fd));
			if (formats[f] & GROUP)
				EXPECT_EQ(v[0], 1);
		}
		close(fd);
	}
}

/* An event is read in its own read_format, even if the leader's differs */
TEST(formats_differ_within_a_group)
{
	ROWS("F-22");
	uint64_t v[64];
	int lead = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, 0);
	int member = open_one(PERF_TYPE_RAW, RAW_LOADS, lead, GROUP | ID | TE);
	int other = open_one(PERF_TYPE_RAW, RAW_STORES, lead, TR | ID);

	work_counted(lead, N, 0);
	ASSERT_EQ(read(lead, v, sizeof(v)), 8);
	EXPECT_GE(v[0], WORK_INSNS(N));
	ASSERT_EQ(read(member, v, sizeof(v)), 8 * (2 + 3 * 2));
	EXPECT_EQ(v[0], 3);
	EXPECT_GT(v[1], 0);
	EXPECT_GE(v[2], WORK_INSNS(N));
	EXPECT_EQ(v[3], ev_id(lead));
	EXPECT_GE(v[4], WORK_LOADS(N));
	EXPECT_EQ(v[5], ev_id(member));
	EXPECT_EQ(v[7], ev_id(other));
	ASSERT_EQ(read(other, v, sizeof(v)), 24);
	EXPECT_GE(v[0], WORK_STORES(N));
	EXPECT_GT(v[1], 0);
	EXPECT_EQ(v[2], ev_id(other));
}

TEST(members_added_and_closed)
{
	ROWS("F-06 F-07");
	int lead = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1,
			    GROUP | ID);
	int m[3];
	uint64_t v[16];

	for (int i = 0; i < 3; i++) {
		m[i] = open_one(PERF_TYPE_RAW, RAW_BRANCHES, lead, 0);
		ASSERT_EQ(read(lead, v, sizeof(v)), 8 * (1 + 2 * (i + 2)));
		EXPECT_EQ(v[0], i + 2);
	}
	EXPECT_EQ(v[2], ev_id(lead));
	EXPECT_EQ(v[4], ev_id(m[0]));
	EXPECT_EQ(v[6], ev_id(m[1]));
	EXPECT_EQ(v[8], ev_id(m[2]));
	close(m[1]);
	ASSERT_EQ(read(lead, v, sizeof(v)), 8 * 7);
	EXPECT_EQ(v[0], 3);
	EXPECT_EQ(v[4], ev_id(m[0]));
	EXPECT_EQ(v[6], ev_id(m[2]));
	/* A new member is added at the end */
	m[1] = open_one(PERF_TYPE_RAW, RAW_BRANCHES, lead, 0);
	ASSERT_EQ(read(lead, v, sizeof(v)), 8 * 9);
	EXPECT_EQ(v[6], ev_id(m[2]));
	EXPECT_EQ(v[8], ev_id(m[1]));
}

TEST(bad_buffers)
{
	int fd = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, 0);
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t bad[] = { 0, 8, 0xffffffff81000000UL, 0x800000000000UL };

	ASSERT_EQ(munmap(page + 4096, 4096), 0);
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(read(fd, (void *)bad[i], 64), -1);
		EXPECT_EQ(errno, EFAULT);
	}
	EXPECT_EQ(read(fd, page + 4096 - 8, 8), 8);
	EXPECT_EQ(read(fd, page + 4096 - 8, 64), 8);
	EXPECT_EQ(read(fd, page + 4096 - 4, 8), -1);
	EXPECT_EQ(errno, EFAULT);
	ASSERT_EQ(mprotect(page, 4096, PROT_READ), 0);
	EXPECT_EQ(read(fd, page, 8), -1);
	EXPECT_EQ(errno, EFAULT);
	work_counted(fd, N, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(N));
}

/* readv(2) reads the event once per segment, as for any file without read_iter */
TEST(readv_parts)
{
	int fd = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, 0);
	uint64_t a = 1, b = 1;
	struct iovec iov[2] = { { &a, 8 }, { &b, 8 } };

	work_counted(fd, N, 0);
	EXPECT_EQ(readv(fd, iov, 2), 16);
	EXPECT_GE(a, WORK_INSNS(N));
	EXPECT_EQ(a, b);
}

TEST(reading_changes_nothing)
{
	ROWS("F-19 F-08");
	int fd = open_one(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1,
			  TE | TR);
	struct ev_times last = { 0 }, t;

	ev_enable(fd);
	for (int i = 0; i < 1000; i++) {
		t = ev_times(fd);
		EXPECT_GT(t.value, last.value);
		EXPECT_GE(t.enabled, last.enabled);
		EXPECT_EQ(t.enabled, t.running);
		last = t;
	}
	ev_disable(fd);
	last = ev_times(fd);
	for (int i = 0; i < 10; i++) {
		t = ev_times(fd);
		EXPECT_EQ(memcmp(&t, &last, sizeof(t)), 0);
	}
}

/* All values of one read are taken at the same time, so two equal events read the same */
TEST(group_values_belong_together)
{
	ROWS("O-16");
	int lead = open_one(PERF_TYPE_RAW, RAW_BRANCHES, -1, GROUP);
	int same = open_one(PERF_TYPE_RAW, RAW_BRANCHES, lead, GROUP);
	uint64_t v[3];

	ev_enable(lead);
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(read(i % 2 ? lead : same, v, sizeof(v)), 24);
		EXPECT_EQ(v[1], v[2]);
	}
	work(N);
	ev_disable(lead);
	ASSERT_EQ(read(lead, v, sizeof(v)), 24);
	EXPECT_EQ(v[1], v[2]);
	EXPECT_GE(v[1], N);
}

TEST(group_of_another_process)
{
	ROWS("F-23");
	struct perf_event_attr a = ev_attr(PERF_TYPE_RAW, RAW_LOADS);
	uint64_t before[8], after[8];
	struct worker w;
	int lead, member;

	worker_start(&w);
	a.read_format = GROUP | TE | TR;
	lead = ev_must(&a, w.pid, -1, -1, 0);
	a.config = RAW_STORES;
	a.disabled = 0;
	member = ev_must(&a, w.pid, -1, lead, 0);
	ev_enable(lead);
	worker_run(&w, 1);
	ASSERT_EQ(read(member, before, sizeof(before)), 40);
	worker_run(&w, 100001);
	ASSERT_EQ(read(member, after, sizeof(after)), 40);
	EXPECT_EQ(after[0], 2);
	EXPECT_EQ(after[1], after[2]);
	EXPECT_GT(after[1], before[1]);
	if (exact()) {
		uint64_t loads = after[3] - before[3], stores = after[4] - before[4];

		ASSERT_EQ(ioctl(lead, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP), 0);
		worker_run(&w, 1);
		ASSERT_EQ(read(lead, after, sizeof(after)), 40);
		EXPECT_EQ(loads - after[3], 100000);
		EXPECT_EQ(stores - after[4], 100000);
	}
	worker_stop(&w);
}

TEST(task_times_stop_in_sleep)
{
	ROWS("F-10");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct ev_times one, two;
	struct worker w;
	int fd;

	worker_start(&w);
	a.read_format = FORMAT_TIMES;
	a.disabled = 0;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, N);
	one = ev_times(fd);
	EXPECT_GT(one.enabled, 0);
	EXPECT_EQ(one.enabled, one.running);
	usleep(20000);
	two = ev_times(fd);
	EXPECT_EQ(two.value, one.value);
	EXPECT_EQ(two.enabled, one.enabled);
	EXPECT_EQ(two.running, one.running);
	worker_run(&w, N);
	two = ev_times(fd);
	EXPECT_GT(two.enabled, one.enabled);
	worker_stop(&w);
}

/* Unlike a task event's times, a CPU event's times advance all the time, idle included */
TEST(cpu_times_advance_when_idle)
{
	ROWS("F-09");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct ev_times one, two;
	int fd;

	a.read_format = FORMAT_TIMES;
	a.disabled = 0;
	fd = ev_must(&a, -1, nr_cpus() - 1, -1, 0);
	one = ev_times(fd);
	usleep(20000);
	two = ev_times(fd);
	EXPECT_GE(two.enabled - one.enabled, 20000000);
	EXPECT_EQ(two.enabled, two.running);
}

TEST(after_task_exit)
{
	ROWS("F-24");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);
	struct ev_times one, two;
	struct worker w;
	int fd, i;

	worker_start(&w);
	a.read_format = FORMAT_TIMES;
	a.disabled = 0;
	fd = ev_must(&a, w.pid, -1, -1, 0);
	worker_run(&w, N);
	one = ev_times(fd);
	worker_stop(&w);
	two = ev_times(fd);
	EXPECT_GT(two.value, one.value);
	EXPECT_GE(two.enabled, one.enabled);
	EXPECT_EQ(two.enabled, two.running);
	usleep(5000);
	for (i = 0; i < 3; i++) {
		one = ev_times(fd);
		EXPECT_EQ(memcmp(&one, &two, sizeof(two)), 0);
	}
}

TEST_HARNESS_MAIN
