// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-record: contents of the perf.data files that it writes for perf report. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event.h"
#include "harness.h"
#include "run.h"

#define RECORD	"/tests/kpmu-record "
#define TINY	"/tests/client_tiny"
#define DATA	"/tmp/kpmu-record.data"

/* The client executes 400,007 user instructions; the period is 10,000 */
#define SAMPLES	40

/* Fields of the perf.data header: offsets in the file, in 64-bit words */
enum { MAGIC = 0, HEADER_SIZE = 1, ATTRS = 3, DATA_AT = 5, DATA_SIZE = 6 };

struct found {
	bool sound;		/* records fill the data section from end to end */
	int n[32];
	uint64_t first_ip;
	bool one_ip;
};

static struct found look(void)
{
	struct found f = { .one_ip = true };
	int fd = open(DATA, O_RDONLY);
	const uint64_t *file;
	const uint8_t *at, *end;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_size < 104)
		return f;
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (memcmp(&file[MAGIC], "PERFILE2", 8) || file[HEADER_SIZE] != 104 ||
	    file[DATA_AT] + file[DATA_SIZE] > (uint64_t)st.st_size)
		return f;
	at = (uint8_t *)file + file[DATA_AT];
	end = at + file[DATA_SIZE];
	while (at < end) {
		const struct perf_event_header *h = (void *)at;
		uint64_t ip;

		if (h->size < sizeof(*h) || h->size > end - at || h->type >= 32)
			return f;
		if (h->type == PERF_RECORD_SAMPLE) {
			memcpy(&ip, h + 1, sizeof(ip));
			if (f.n[h->type] && ip != f.first_ip)
				f.one_ip = false;
			f.first_ip = ip;
		}
		f.n[h->type]++;
		at += h->size;
	}
	f.sound = at == end;
	return f;
}

TEST(fixed_period)
{
	struct found f;
	const char *got;
	int status;

	no_throttle();
	/* With one event per CPU, a migration would leave an unfinished period behind */
	ASSERT_EQ(pin_to(0), 0);
	got = run(RECORD "-e instructions:u -c 10000 -o " DATA " " TINY, &status);
	EXPECT_EQ(status, 0);
	EXPECT_NE(strstr(got, "40 samples, 0 lost, throttled 0 times"), NULL);
	f = look();
	EXPECT_TRUE(f.sound);
	EXPECT_EQ(f.n[PERF_RECORD_SAMPLE], SAMPLES);
	/* The loop has 4 instructions, the period is a multiple of 4: all IPs are the same */
	if (exact())
		EXPECT_TRUE(f.one_ip);
	EXPECT_GE(f.n[PERF_RECORD_MMAP], 1);
	EXPECT_GE(f.n[PERF_RECORD_COMM], 1);
	EXPECT_EQ(f.n[PERF_RECORD_EXIT], 1);
	EXPECT_EQ(f.n[PERF_RECORD_LOST], 0);
}

TEST(with_children)
{
	struct found f;
	int status;

	no_throttle();
	run(RECORD "-e instructions:u -c 10000 -g -o " DATA " " TINY " forking",
	    &status);
	EXPECT_EQ(status, 0);
	f = look();
	EXPECT_TRUE(f.sound);
	/* The program and its four children each run the loop */
	EXPECT_GE(f.n[PERF_RECORD_SAMPLE], 5 * SAMPLES - 5);
	EXPECT_GE(f.n[PERF_RECORD_FORK], 4);
}

TEST(by_frequency)
{
	struct found f;
	int status;

	no_throttle();
	run(RECORD "-F 2000 -o " DATA " sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'",
	    &status);
	EXPECT_EQ(status, 0);
	f = look();
	EXPECT_TRUE(f.sound);
	EXPECT_GT(f.n[PERF_RECORD_SAMPLE], 20);
	EXPECT_FALSE(f.one_ip);
}

/* A process that runs already: its name and mappings are in the file, as records */
TEST(of_a_process)
{
	struct found f;
	const char *got;
	int status;

	no_throttle();
	got = run("sh -c 'while :; do :; done' & " RECORD "-p $! -e instructions:u -c 100000 -o " DATA
		  " sleep 0.5; kill $!", &status);
	EXPECT_NE(strstr(got, " samples, 0 lost"), NULL);
	f = look();
	EXPECT_TRUE(f.sound);
	EXPECT_GT(f.n[PERF_RECORD_SAMPLE], 0);
	/* The kernel, and the shell */
	EXPECT_GE(f.n[PERF_RECORD_MMAP], 2);
	EXPECT_GE(f.n[PERF_RECORD_COMM], 1);
	/* It ends by itself when the process does */
	run(slow() > 1 ? "sleep 8 & " RECORD "--pid=$! --freq=100 --output=" DATA :
	    "sleep 1 & " RECORD "--pid=$! --freq=100 --output=" DATA, &status);
	EXPECT_EQ(status, 0);
	EXPECT_TRUE(look().sound);
	run(RECORD "-p 999999 " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
}

/* Everything that runs, in the kernel too */
TEST(of_all)
{
	struct found f;
	int status;

	no_throttle();
	run(RECORD "-a -e instructions -c 1000000 -o " DATA " sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'",
	    &status);
	EXPECT_EQ(status, 0);
	f = look();
	EXPECT_TRUE(f.sound);
	EXPECT_GT(f.n[PERF_RECORD_SAMPLE], 0);
	EXPECT_GE(f.n[PERF_RECORD_COMM], 2);
	run(RECORD "-c 0 " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
}

TEST(errors)
{
	const char *got;
	int status;

	run(RECORD "-o " DATA " sh -c 'exit 7'", &status);
	EXPECT_EQ(WEXITSTATUS(status), 7);
	run(RECORD "-o " DATA " /nowhere", &status);
	EXPECT_EQ(WEXITSTATUS(status), 127);
	got = run(RECORD "-e nosuch " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	EXPECT_NE(strstr(got, "nosuch"), NULL);
	run(RECORD, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
	run(RECORD "-o /nowhere/data " TINY, &status);
	EXPECT_EQ(WEXITSTATUS(status), 125);
}

TEST_HARNESS_MAIN
