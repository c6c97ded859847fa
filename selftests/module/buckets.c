// SPDX-License-Identifier: GPL-2.0-only
/* Sets with buckets: what the events of CPUs count by cgroup or by task. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buckets.h"
#include "cgroup.h"
#include "harness.h"
#include "task.h"

#define N	100001

/* The id of a cgroup: its inode's number */
static uint64_t id_of(const struct cgroup *c)
{
	struct stat st = { };

	fstat(c->fd, &st);
	return st.st_ino;
}

/* A worker on the last CPU in a new cgroup */
static void start_in(struct worker *w, struct cgroup *c, const struct cgroup *root, const char *name)
{
	cgroup_make(c, root, name);
	worker_start(w);
	worker_pin(w, far_cpu());
	cgroup_add(c, w->pid);
	worker_run(w, 1);
}

/* User instructions of workers in two cgroups, to the instruction */
TEST(by_cgroup)
{
	ROWS("W-30");
	NEED_PMU();
	struct cgroup root, c[2];
	struct worker w[2];
	uint64_t base[2];
	int fd, n;

	cgroup_v2();
	cgroup_root(&root);
	pin_to(0);
	start_in(&w[0], &c[0], &root, "one");
	start_in(&w[1], &c[1], &root, "two");
	plan_buckets(1, nr_cpus(), KPMU_SET_BY_CGROUP, 100);
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 2; i++)
		worker_run(&w[i], 1);
	n = get_buckets(fd);
	ASSERT_GE(n, 2);
	EXPECT_EQ(read_out.head.seq, 1);
	EXPECT_EQ(read_out.head.overflows, 0);
	EXPECT_EQ(wrong_sums(), 0);
	for (int i = 0; i < 2; i++)
		base[i] = bucket_value(id_of(&c[i]), 0);
	for (int round = 1; round < 10; round++) {
		for (int i = 0; i < 2; i++)
			worker_run(&w[i], (i + 1) * N);
		EXPECT_GE(get_buckets(fd), 2);
		EXPECT_EQ(wrong_sums(), 0);
		for (int i = 0; i < 2; i++) {
			uint64_t got = bucket_value(id_of(&c[i]), 0) - base[i];
			/* A command is as in the first round but for its length */
			uint64_t want = round * (base[i] + worker_insns((i + 1) * N, 1));

			EXPECT_GE(got, want);
			EXPECT_LE(got, want + SLACK(want));
		}
	}
	EXPECT_EQ(read_out.head.seq, 10);
	for (int i = 0; i < 2; i++)
		worker_stop(&w[i]);
}

/* Kernel and user, all CPUs, tasks that move between CPUs and cgroups: nothing is lost */
TEST(sums)
{
	ROWS("W-30");
	NEED_PMU();
	struct cgroup root, c[4];
	struct worker w[4];
	char name[16];
	uint64_t last = 0;
	int fd;

	cgroup_v2();
	cgroup_root(&root);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "sum%d", i);
		cgroup_make(&c[i], &root, name);
		worker_start(&w[i]);
		cgroup_add(&c[i], w[i].pid);
	}
	plan_buckets(4, nr_cpus(), KPMU_SET_BY_CGROUP | KPMU_SET_TIMES, 100);
	attr[1].exclude_user = 1;
	attr[0].exclude_kernel = attr[1].exclude_kernel = 0;
	attr[2].config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr[3].type = PERF_TYPE_SOFTWARE;
	attr[3].config = PERF_COUNT_SW_CPU_CLOCK;
	for (int i = 0; i < 4; i++)
		attr[i].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < 4; i++)
			worker_roam(&w[i], 2000, 20);
		cgroup_add(&c[round % 4], w[(round / 2) % 4].pid);
		EXPECT_GE(get_buckets(fd), 4);
		EXPECT_EQ(wrong_sums(), 0);
		EXPECT_EQ(read_out.head.overflows, 0);
		EXPECT_GT(bucket_value(KPMU_BUCKET_ALL, 0), last);
		EXPECT_GT(bucket_value(KPMU_BUCKET_ALL, 0), bucket_value(KPMU_BUCKET_ALL, 3));
		/* Counters are not multiplexed here */
		EXPECT_EQ(bucket_value(KPMU_BUCKET_ALL, 1), bucket_value(KPMU_BUCKET_ALL, 2));
		last = bucket_value(KPMU_BUCKET_ALL, 0);
	}
	for (int i = 0; i < 4; i++)
		worker_stop(&w[i]);
}

/* The sum is what an event of the CPU counts; its user instructions stay the same while it idles */
TEST(as_an_event)
{
	ROWS("W-30");
	NEED_PMU();
	int cpu = far_cpu(), fd, other;
	uint64_t before, offset = 0;
	struct worker w;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, cpu);
	plan_buckets(1, 1, KPMU_SET_BY_TASK, 1000);
	target[0] = cpu;
	attr[0].disabled = 0;
	attr[0].pinned = 1;
	other = ev_must(&attr[0], -1, cpu, -1, 0);
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int round = 0; round < 20; round++) {
		worker_run(&w, 1 + round * 100);
		usleep(1000);
		before = ev_count(other);
		ASSERT_GE(get_buckets(fd), 1);
		EXPECT_EQ(wrong_sums(), 0);
		/* With one CPU, the same instructions are between the two reads in each round */
		if (!round)
			offset = before - bucket_value(KPMU_BUCKET_ALL, 0);
		else if (nr_cpus() == 1 || exact())
			EXPECT_EQ(before - bucket_value(KPMU_BUCKET_ALL, 0), offset);
	}
	worker_stop(&w);
}

#define MANY	200

/* A task visits many cgroups; each has what it did there */
TEST(many)
{
	ROWS("W-30 W-31");
	NEED_PMU();
	static struct cgroup root, c[MANY];
	char name[16];
	struct worker w;
	uint64_t first;
	int fd, wrong = 0;

	cgroup_v2();
	cgroup_root(&root);
	pin_to(0);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		cgroup_make(&c[i], &root, name);
	}
	worker_start(&w);
	worker_pin(&w, far_cpu());
	plan_buckets(1, 1, KPMU_SET_BY_CGROUP, 1000);
	target[0] = far_cpu();
	fd = open_set();
	ASSERT_GE(fd, 0);
	worker_run(&w, 1);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	for (int i = 0; i < MANY; i++) {
		cgroup_add(&c[i], w.pid);
		worker_run(&w, 1 + 10 * i);
	}
	ASSERT_GE(get_buckets(fd), MANY);
	EXPECT_EQ(wrong_sums(), 0);
	EXPECT_EQ(read_out.head.overflows, 0);
	first = bucket_value(id_of(&c[1]), 0) - worker_insns(1 + 10, 1);
	for (int i = 1; i < MANY; i++) {
		uint64_t got = bucket_value(id_of(&c[i]), 0);
		uint64_t want = first + worker_insns(1 + 10 * i, 1);

		wrong += got < want || got > want + SLACK(want);
	}
	EXPECT_EQ(wrong, 0);
	worker_stop(&w);
	for (int i = 0; i < MANY; i++)
		close(c[i].fd);
}

/* Ticks of the start of a task, field 22 of its stat */
static uint64_t start_ticks(pid_t pid)
{
	char path[64], text[1024], *p;
	uint64_t ticks = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (f && fgets(text, sizeof(text), f)) {
		p = strrchr(text, ')');
		for (int i = 0; p && i < 20; i++)
			p = strchr(p + 1, ' ');
		if (p)
			ticks = strtoull(p, NULL, 10);
	}
	if (f)
		fclose(f);
	return ticks;
}

static uint64_t start_of(uint64_t id)
{
	for (unsigned int i = 2; i < read_out.head.nr_buckets; i++)
		if (read_out.word[i * bucket_words()] == id)
			return read_out.word[i * bucket_words() + 1];
	return 0;
}

TEST(by_task)
{
	ROWS("W-30 W-31");
	NEED_PMU();
	struct worker w[4];
	uint64_t base[4], want, got;
	int fd;

	pin_to(0);
	for (int i = 0; i < 4; i++) {
		if (i & 1)
			worker_start_thread(&w[i]);
		else
			worker_start(&w[i]);
		worker_pin(&w[i], i % nr_cpus());
		worker_run(&w[i], 1);
	}
	plan_buckets(1, nr_cpus(), KPMU_SET_BY_TASK, 1000);
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 4; i++)
		worker_run(&w[i], 1);
	ASSERT_GE(get_buckets(fd), 4);
	for (int i = 0; i < 4; i++) {
		uint64_t start = start_of(w[i].pid);

		base[i] = bucket_value(w[i].pid, 0);
		EXPECT_EQ(start / (1000000000 / sysconf(_SC_CLK_TCK)), start_ticks(w[i].pid));
	}
	for (int i = 0; i < 4; i++)
		worker_run(&w[i], (i + 1) * N);
	ASSERT_GE(get_buckets(fd), 4);
	EXPECT_EQ(wrong_sums(), 0);
	for (int i = 0; i < 4; i++) {
		want = base[i] + worker_insns((i + 1) * N, 1);
		got = bucket_value(w[i].pid, 0) - base[i];
		EXPECT_GE(got, want);
		EXPECT_LE(got, want + SLACK(want));
	}
	/* This task: its bucket grows by what it does */
	got = bucket_value(getpid(), 0);
	work(N);
	get_buckets(fd);
	EXPECT_GE(bucket_value(getpid(), 0), got + WORK_INSNS(N));
	/* Buckets of tasks that have exited stay */
	for (int i = 0; i < 4; i++) {
		base[i] = bucket_value(w[i].pid, 0);
		worker_stop(&w[i]);
	}
	get_buckets(fd);
	for (int i = 0; i < 4; i++)
		EXPECT_GE(bucket_value(w[i].pid, 0), base[i]);
	EXPECT_EQ(wrong_sums(), 0);
}

/* In a namespace of pids: its tasks have the pids there, and all others have none */
static int own_bucket_only(void)
{
	uint64_t id;
	int fd;

	plan_buckets(1, 1, KPMU_SET_BY_TASK, 1000);
	attr[0].disabled = attr[0].exclude_kernel = 0;
	fd = open_set();
	if (fd < 0 || getpid() != 1)
		return 2;
	/* Others run, at least the idle task */
	usleep(20000);
	work(N);
	if (get_buckets(fd) < 2 || wrong_sums())
		return 3;
	for (unsigned int i = 2; i < read_out.head.nr_buckets; i++) {
		id = read_out.word[i * bucket_words()];
		if (id > 1)
			return 4;
	}
	return bucket_value(1, 0) >= WORK_INSNS(N) ? 0 : 5;
}

TEST(pid_namespace)
{
	ROWS("W-30");
	NEED_PMU();
	int status = -1;
	pid_t pid;

	pin_to(0);
	ev_device();
	ASSERT_EQ(unshare(CLONE_NEWPID), 0);
	pid = fork();
	if (!pid)
		_exit(own_bucket_only());
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

/* A running task that is moved counts for its new cgroup when the write returns */
TEST(move)
{
	ROWS("W-30");
	NEED_PMU();
	struct cgroup root, c[2];
	uint64_t left, base, end = patience();
	struct worker w;
	int fd;

	if (nr_cpus() == 1)
		SKIP(return, "needs two CPUs");
	cgroup_v2();
	cgroup_root(&root);
	pin_to(0);
	start_in(&w, &c[0], &root, "from");
	cgroup_make(&c[1], &root, "to");
	plan_buckets(1, 1, KPMU_SET_BY_CGROUP, 100);
	target[0] = far_cpu();
	attr[0].disabled = 0;
	fd = open_set();
	ASSERT_GE(fd, 0);
	worker_run(&w, 1);
	get_buckets(fd);
	base = bucket_value(KPMU_BUCKET_ALL, 0);
	worker_go(&w, 200 * N);
	do {
		get_buckets(fd);
	} while (bucket_value(id_of(&c[0]), 0) < base + 4 * N && now_ns() < end);
	cgroup_add(&c[1], w.pid);
	EXPECT_FALSE(worker_done(&w));
	get_buckets(fd);
	left = bucket_value(id_of(&c[0]), 0);
	worker_wait(&w);
	get_buckets(fd);
	EXPECT_EQ(wrong_sums(), 0);
	EXPECT_EQ(bucket_value(id_of(&c[0]), 0), left);
	EXPECT_GT(bucket_value(id_of(&c[1]), 0), 0);
	/* Both together have all of it */
	uint64_t got = left + bucket_value(id_of(&c[1]), 0), want = 2 * base + worker_insns(200 * N, 1);

	EXPECT_GE(got, want);
	EXPECT_LE(got, want + SLACK(want));
	/* A cgroup that is removed keeps its bucket; another one gets another */
	uint64_t id = id_of(&c[0]);

	close(c[0].fd);
	cgroup_remove(&c[0]);
	cgroup_make(&c[0], &root, "from");
	EXPECT_NE(id_of(&c[0]), id);
	cgroup_add(&c[0], w.pid);
	worker_run(&w, N);
	get_buckets(fd);
	EXPECT_EQ(bucket_value(id, 0), left);
	EXPECT_GE(bucket_value(id_of(&c[0]), 0), 4 * N);
	worker_stop(&w);
}

/* More events than counters: each bucket has its own times */
TEST(times)
{
	ROWS("W-30");
	NEED_PMU();
	int gp = counters_general(), fd, part = 0;
	uint64_t end = patience();
	struct worker w;

	pin_to(0);
	worker_start(&w);
	worker_pin(&w, far_cpu());
	plan_buckets(gp + 2, 1, KPMU_SET_BY_TASK | KPMU_SET_TIMES, 100);
	target[0] = far_cpu();
	for (int i = 0; i < gp + 2; i++) {
		attr[i].type = PERF_TYPE_RAW;
		attr[i].config = RAW_BRANCHES;
	}
	fd = open_set();
	ASSERT_GE(fd, 0);
	ASSERT_EQ(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	do {
		worker_run(&w, 10 * N);
		ASSERT_GE(get_buckets(fd), 1);
		ASSERT_EQ(wrong_sums(), 0);
	} while (bucket_value(w.pid, 1) < 100000000 && now_ns() < end);
	for (int i = 0; i < gp + 2; i++) {
		uint64_t enabled = bucket_value(w.pid, 3 * i + 1);
		uint64_t running = bucket_value(w.pid, 3 * i + 2);

		EXPECT_EQ(enabled, bucket_value(w.pid, 1));
		EXPECT_LE(running, enabled);
		part += running < enabled;
		EXPECT_LE(enabled, bucket_value(KPMU_BUCKET_ALL, 1));
		/* It is counted only while it runs */
		EXPECT_TRUE(running || !bucket_value(w.pid, 3 * i));
	}
	EXPECT_GE(part, 2);
	worker_stop(&w);
}

TEST_HARNESS_MAIN
