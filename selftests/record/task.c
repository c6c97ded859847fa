// SPDX-License-Identifier: GPL-2.0-only
/* COMM, FORK, EXIT: contents, and the events that get them; the trailer of all records. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "pair.h"
#include "task.h"

static struct record rec;

static pid_t gettid_(void)
{
	return syscall(SYS_gettid);
}

static int write_comm(const char *name)
{
	int fd = open("/proc/self/comm", O_WRONLY), n;

	n = write(fd, name, strlen(name));
	close(fd);
	return n;
}

static struct perf_event_attr comm_attr(void)
{
	struct perf_event_attr a = pair_attr();

	a.comm = 1;
	return a;
}

static struct perf_event_attr task_attr(void)
{
	struct perf_event_attr a = pair_attr();

	a.task = 1;
	return a;
}

TEST(comm)
{
	ROWS("A-28 D-16 D-17 D-01 D-02");
	static const char *const names[] = { "x", "seven77", "eight888",
		"fifteen15151515", "sixteen and more of it" };
	struct perf_event_attr a = comm_attr();
	struct pair p;
	int i, len;

	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		prctl(PR_SET_NAME, names[i]);
	write_comm("by proc");
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), ARRAY_SIZE(names) + 1);
	pair_rewind(&p);
	for (i = 0; i <= ARRAY_SIZE(names); i++) {
		const char *name = i < ARRAY_SIZE(names) ? names[i] : "by proc";

		ASSERT_TRUE(ring_next(&p.ours, &rec));
		EXPECT_EQ(rec.head.type, 3);
		EXPECT_EQ(rec.head.misc, 0);
		EXPECT_EQ(record_u32(&rec, 0), getpid());
		EXPECT_EQ(record_u32(&rec, 4), gettid_());
		EXPECT_FALSE(strncmp(record_str(&rec, 8), name, 15));
		len = strlen(name) < 15 ? strlen(name) : 15;
		EXPECT_EQ(strlen(record_str(&rec, 8)), len);
		EXPECT_EQ(record_size(&p.ours, &rec), 8 + (len + 8) / 8 * 8);
	}
}

/* Bit 13 of misc is MMAP_DATA, COMM_EXEC or SWITCH_OUT, depending on the record type */
TEST(bit_13)
{
	ROWS("B-13");
	struct perf_event_attr a = comm_attr();
	int seen[2][3] = {}, fd, set;
	struct worker w;
	struct ring r;

	a.comm_exec = 1;
	a.mmap = 1;
	a.mmap_data = 1;
	a.context_switch = 1;
	tiny_install("/tmp/kpmu-bit", 1000, 0755);
	worker_start(&w);
	fd = ev_must(&a, w.pid, -1, -1, 0);
	ring_map(&r, fd, &a, 16);
	ev_enable(fd);
	worker_run(&w, 1000);
	worker_exec(&w, "/tmp/kpmu-bit");
	fd = ev_must(&a, 0, -1, -1, 0);
	while (ring_next(&r, &rec)) {
		set = rec.head.misc >> 13 & 1;
		switch (rec.head.type) {
		case PERF_RECORD_COMM:
			seen[set][0]++;
			break;
		case PERF_RECORD_MMAP:
			seen[set][1]++;
			break;
		case PERF_RECORD_SWITCH:
			seen[set][2]++;
			break;
		}
	}
	EXPECT_EQ(seen[1][0], 1);		/* COMM_EXEC */
	EXPECT_EQ(seen[0][0], 0);
	EXPECT_GT(seen[0][1], 0);		/* executable: no MMAP_DATA */
	EXPECT_GT(seen[1][2], 0);
	EXPECT_GT(seen[0][2], 0);
	waitpid(w.pid, NULL, 0);

	ring_map(&r, fd, &a, 16);
	ev_enable(fd);
	prctl(PR_SET_NAME, "bit");
	EXPECT_TRUE(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		    MAP_FAILED);
	ev_disable(fd);
	ASSERT_TRUE(ring_find(&r, &rec, PERF_RECORD_COMM));
	EXPECT_EQ(rec.head.misc >> 13 & 1, 0);
	ASSERT_TRUE(ring_find(&r, &rec, PERF_RECORD_MMAP));
	EXPECT_EQ(rec.head.misc >> 13 & 1, 1);
}

TEST(comm_of_another_thread)
{
	ROWS("D-16 D-17");
	struct perf_event_attr a = comm_attr();
	struct worker w;
	struct pair p;
	char path[64];
	int fd;

	worker_start_thread(&w);
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", w.pid);
	fd = open(path, O_WRONLY);
	ASSERT_EQ(write(fd, "another", 7), 7);
	close(fd);
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 1);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	/* The body holds the ids of the renamed thread, the trailer those of the writer */
	EXPECT_EQ(record_u32(&rec, 4), w.pid);
	EXPECT_EQ(record_whose(&p.ours, &rec).tid, gettid_());
	worker_stop(&w);
}

/* The trailer consists of the sample_type fields for event, task, time and CPU */
TEST(trailer)
{
	ROWS("D-03 D-04 D-05 D-06 D-07 A-39 S-46");
	static const uint64_t types[] = {
		0, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
		PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER,
		PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
		PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
		WHOSE, WHOSE | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD,
	};
	struct perf_event_attr a = comm_attr();
	int i, fd, all;
	struct whose w;
	struct ring r;

	pin_to(0);
	for (i = 0; i < 2 * ARRAY_SIZE(types); i++) {
		all = i & 1;
		a.sample_type = types[i / 2];
		a.sample_id_all = all;
		fd = ev_must(&a, 0, -1, -1, 0);
		ring_map(&r, fd, &a, 1);
		ev_enable(fd);
		prctl(PR_SET_NAME, "x");
		ev_disable(fd);
		ASSERT_TRUE(ring_next(&r, &rec));
		EXPECT_EQ(rec.head.size, 8 + 16 + all * 8 *
			  __builtin_popcountll(types[i / 2] & WHOSE));
		w = record_whose(&r, &rec);
		if (all && types[i / 2] & PERF_SAMPLE_TID) {
			EXPECT_EQ(w.pid, getpid());
			EXPECT_EQ(w.tid, gettid_());
		}
		if (all && types[i / 2] & PERF_SAMPLE_ID)
			EXPECT_EQ(w.id, ev_id(fd));
		if (all && types[i / 2] & PERF_SAMPLE_STREAM_ID)
			EXPECT_EQ(w.stream_id, ev_id(fd));
		if (all && types[i / 2] & PERF_SAMPLE_IDENTIFIER)
			EXPECT_EQ(w.identifier, ev_id(fd));
		EXPECT_EQ(w.cpu, 0);
		EXPECT_EQ(w.cpu_pad, 0);
		EXPECT_FALSE(ring_next(&r, &rec));
		close(fd);
	}
}

/* Disabled events get no records */
TEST(disabled_event)
{
	ROWS("D-45 A-64");
	struct perf_event_attr a = comm_attr();
	struct pair p;

	a.task = 1;
	pair_open(&p, &a, 0, -1, 1);
	prctl(PR_SET_NAME, "off");
	if (!fork())
		_exit(0);
	wait(NULL);
	EXPECT_EQ(pair_compare(&p, -1), 0);
	pair_enable(&p);
	prctl(PR_SET_NAME, "on");
	pair_disable(&p);
	prctl(PR_SET_NAME, "off");
	EXPECT_EQ(pair_compare(&p, -1), 1);
}

/* A member gets records while it is enabled, whether or not its leader is */
TEST(member)
{
	ROWS("D-45");
	struct perf_event_attr a = comm_attr();
	int leader = ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
	struct ring r;
	int fd;

	fd = ev_must(&a, 0, -1, leader, 0);
	ring_map(&r, fd, &a, 1);
	ev_enable(leader);
	prctl(PR_SET_NAME, "off");
	EXPECT_FALSE(ring_next(&r, &rec));
	ev_enable(fd);
	prctl(PR_SET_NAME, "on");
	EXPECT_EQ(ring_count(&r, PERF_RECORD_COMM), 1);
	ev_disable(leader);
	prctl(PR_SET_NAME, "leader off");
	EXPECT_EQ(ring_count(&r, PERF_RECORD_COMM), 1);
	ev_disable(fd);
	prctl(PR_SET_NAME, "both");
	EXPECT_EQ(ring_count(&r, PERF_RECORD_COMM), 0);
}

static void *nothing(void *arg)
{
	return arg;
}

TEST(fork_and_exit)
{
	ROWS("A-33 D-18 D-19 D-20 U-34");
	struct perf_event_attr a = task_attr();
	struct pair p;
	pthread_t t;
	pid_t pid;

	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	pair_disable(&p);
	/* FORK only: the children's EXIT would need inherit, or a CPU event */
	EXPECT_EQ(pair_compare(&p, -1), 2);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, 7);
	/* MISC_FORK_EXEC is set by perf tools only, never by the kernel */
	EXPECT_EQ(rec.head.misc, 0);
	EXPECT_EQ(record_size(&p.ours, &rec), 24);
	EXPECT_EQ(record_u32(&rec, 0), pid);
	EXPECT_EQ(record_u32(&rec, 4), getpid());
	EXPECT_EQ(record_u32(&rec, 8), pid);
	EXPECT_EQ(record_u32(&rec, 12), gettid_());
	EXPECT_LE(record_u64(&rec, 16), record_whose(&p.ours, &rec).time + 1000000);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, 7);
	EXPECT_EQ(record_u32(&rec, 0), getpid());
	EXPECT_EQ(record_u32(&rec, 4), getpid());
	EXPECT_NE(record_u32(&rec, 8), getpid());
}

/* EXIT of the task that the event is attached to */
TEST(exit_of_the_task)
{
	ROWS("D-18 A-33");
	struct perf_event_attr a = task_attr();
	struct worker w;
	struct pair p;

	worker_start(&w);
	pair_open(&p, &a, w.pid, -1, 8);
	pair_enable(&p);
	worker_stop(&w);
	EXPECT_EQ(pair_compare(&p, -1), 1);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, 4);
	EXPECT_EQ(record_u32(&rec, 0), w.pid);
	EXPECT_EQ(record_u32(&rec, 4), getpid());
	EXPECT_EQ(record_u32(&rec, 8), w.pid);
	EXPECT_EQ(record_u32(&rec, 12), getpid());
	EXPECT_EQ(record_whose(&p.ours, &rec).tid, w.pid);
}

/* Events with comm, mmap or mmap_data get FORK records without attr.task, too */
TEST(fork_recipients)
{
	ROWS("A-33 D-19");
	int i;

	for (i = 0; i < 5; i++) {
		struct perf_event_attr a = pair_attr();
		struct pair p;

		a.comm = i == 0;
		a.mmap = i == 1;
		a.mmap_data = i == 2;
		a.mmap2 = i == 3;
		a.ksymbol = i == 4;
		/* mmap2 alone gets FORK only while another event requests records of mappings */
		pair_open(&p, &a, 0, -1, 8);
		pair_enable(&p);
		if (!fork())
			_exit(0);
		wait(NULL);
		pair_disable(&p);
		EXPECT_EQ(pair_compare(&p, TYPE(FORK)), i < 3);
		pair_close(&p);
	}
}

/* exec(2) sets PERF_RECORD_MISC_COMM_EXEC in its COMM record */
TEST(exec)
{
	ROWS("B-06 A-46 J-05 A-28 D-17");
	struct perf_event_attr a = comm_attr();
	struct worker w;
	struct pair p;

	a.comm_exec = 1;
	tiny_install("/tmp/tiny", 10, 0700);
	worker_start(&w);
	pair_open(&p, &a, w.pid, -1, 8);
	pair_enable(&p);
	worker_exec(&w, "/tmp/tiny");
	waitpid(w.pid, NULL, 0);
	EXPECT_EQ(pair_compare(&p, -1), 2);	/* COMM and EXIT */
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_COMM);
	EXPECT_EQ(rec.head.misc, 0x2000);
	EXPECT_FALSE(strcmp(record_str(&rec, 8), "tiny"));
}

/* Records of children go to the ring of an inherited event that is bound to a CPU */
TEST(inherited)
{
	ROWS("H-09 D-46 D-20 S-08");
	struct perf_event_attr a = task_attr();
	struct worker w, kid;
	struct pair p;
	struct whose who;

	a.comm = 1;
	a.inherit = 1;
	worker_start(&w);
	worker_pin(&w, 0);
	pair_open(&p, &a, w.pid, 0, 8);
	pair_enable(&p);
	worker_fork(&w, &kid);
	worker_prctl(&kid, PR_SET_NAME);
	worker_stop(&kid);
	worker_reap(&w);
	worker_stop(&w);
	EXPECT_GE(pair_compare(&p, -1), 3);
	pair_rewind(&p);
	ASSERT_TRUE(ring_find(&p.ours, &rec, PERF_RECORD_EXIT));
	who = record_whose(&p.ours, &rec);
	EXPECT_EQ(who.tid, kid.pid);
	EXPECT_EQ(who.id, p.id);
	EXPECT_EQ(who.identifier, p.id);
	EXPECT_NE(who.stream_id, p.id);
	ASSERT_TRUE(ring_find(&p.ours, &rec, PERF_RECORD_EXIT));
	EXPECT_EQ(record_whose(&p.ours, &rec).stream_id, p.id);
}

TEST(of_a_cpu)
{
	ROWS("D-46 O-10");
	struct perf_event_attr a = comm_attr();
	struct pair p, other;
	pid_t pid;

	a.task = 1;
	pin_to(0);
	pair_open(&p, &a, -1, 0, 16);
	if (nr_cpus() > 1) {
		pair_open(&other, &a, -1, 1, 16);
		pair_enable(&other);
	}
	pair_enable(&p);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "of a CPU");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pair_disable(&p);
	EXPECT_GE(pair_compare(&p, -1), 3);
	pair_rewind(&p);
	while (ring_find(&p.ours, &rec, PERF_RECORD_COMM))
		if (!strcmp(record_str(&rec, 8), "of a CPU"))
			break;
	EXPECT_EQ(record_u32(&rec, 0), pid);
	while (ring_find(&p.ours, &rec, PERF_RECORD_EXIT))
		if (record_u32(&rec, 0) == pid)
			break;
	EXPECT_EQ(record_u32(&rec, 0), pid);
	EXPECT_EQ(record_u32(&rec, 4), getpid());
	if (nr_cpus() > 1) {
		pair_disable(&other);
		while (ring_next(&other.ours, &rec))
			EXPECT_EQ(record_whose(&other.ours, &rec).cpu, 1);
	}
}

/* Pids in records are those of the PID namespace that the event was opened in */
TEST(pid_namespace)
{
	ROWS("O-12 D-19");
	struct perf_event_attr a = task_attr();
	int status;
	pid_t pid;

	a.comm = 1;
	ASSERT_EQ(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (!pid) {
		struct pair p;

		pair_open(&p, &a, 0, -1, 8);
		pair_enable(&p);
		prctl(PR_SET_NAME, "inside");
		if (!fork())
			_exit(0);
		wait(NULL);
		pair_disable(&p);
		if (pair_compare(&p, -1) != 2)
			_exit(1);
		pair_rewind(&p);
		if (!ring_find(&p.ours, &rec, PERF_RECORD_FORK) ||
		    record_u32(&rec, 0) != 2 || record_u32(&rec, 4) != 1 ||
		    record_whose(&p.ours, &rec).pid != 1)
			_exit(2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
}

TEST_HARNESS_MAIN
