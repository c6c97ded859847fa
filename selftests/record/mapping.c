// SPDX-License-Identifier: GPL-2.0-only
/* Access to an event's mapping, changes of the mapping, and the limits on its memory. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "event.h"
#include "harness.h"

#define PAGE	4096
#define LEN	(3 * PAGE)

static int insns(void)
{
	return ev_self(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1);
}

static volatile char *map(int fd, size_t len, int prot)
{
	void *p = mmap(NULL, len, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("# mmap of %zu bytes: %s\n", len, strerror(errno));
		exit(KSFT_FAIL);
	}
	return p;
}

static sigjmp_buf back;

static void jump(int sig)
{
	siglongjmp(back, sig);
}

/* Return: the signal raised by a load or store at @p; 0 for none */
static int touch(volatile char *p, bool write)
{
	int sig;

	signal(SIGSEGV, jump);
	signal(SIGBUS, jump);
	sig = sigsetjmp(back, 1);
	if (sig)
		return sig;
	if (write)
		*p = 0;
	else
		(void)*p;
	return 0;
}

TEST(stores)
{
	ROWS("M-28");
	volatile char *p = map(insns(), LEN, PROT_READ | PROT_WRITE);
	int i;

	for (i = 0; i < 3; i++)
		EXPECT_EQ(touch(p + i * PAGE, false), 0);
	EXPECT_EQ(touch(p + 1032, true), 0);
	EXPECT_EQ(touch(p + PAGE, true), SIGBUS);
	EXPECT_EQ(touch(p + LEN - 1, true), SIGBUS);
	/* The page stays readable after a refused store */
	EXPECT_EQ(touch(p + PAGE, false), 0);
	p = map(insns(), LEN, PROT_READ);
	EXPECT_EQ(touch(p, true), SIGSEGV);
	EXPECT_EQ(touch(p + PAGE, true), SIGSEGV);
}

TEST(mprotect_whole)
{
	ROWS("M-28");
	volatile char *p = map(insns(), LEN, PROT_READ);

	EXPECT_EQ(mprotect((void *)p, LEN, PROT_READ | PROT_WRITE), 0);
	EXPECT_EQ(touch(p + 1032, true), 0);
	EXPECT_EQ(touch(p + PAGE, true), SIGBUS);
	EXPECT_EQ(mprotect((void *)p, LEN, PROT_READ), 0);
	EXPECT_EQ(touch(p + 1032, true), SIGSEGV);
}

TEST(not_copied_by_fork)
{
	ROWS("R-21");
	volatile char *p = map(insns(), LEN, PROT_READ | PROT_WRITE);
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		(void)*p;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(WTERMSIG(status), SIGSEGV);
	EXPECT_EQ(touch(p, false), 0);
	/* madvise(2) cannot make fork(2) copy the mapping */
	EXPECT_EQ(madvise((void *)p, LEN, MADV_DOFORK), -1);
	EXPECT_EQ(errno, EINVAL);
}

TEST(no_partial_unmap)
{
	ROWS("R-22");
	volatile char *p = map(insns(), LEN, PROT_READ | PROT_WRITE);

	EXPECT_EQ(munmap((void *)(p + PAGE), PAGE), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(munmap((void *)p, PAGE), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(mprotect((void *)(p + PAGE), PAGE, PROT_READ), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(touch(p + PAGE, false), 0);
	EXPECT_EQ(munmap((void *)p, LEN), 0);
}

TEST(no_growth)
{
	ROWS("R-22");
	volatile char *p = map(insns(), LEN, PROT_READ | PROT_WRITE);

	EXPECT_TRUE(mremap((void *)p, LEN, LEN + 2 * PAGE, MREMAP_MAYMOVE) ==
		    MAP_FAILED);
	EXPECT_EQ(errno, EFAULT);
	EXPECT_EQ(touch(p, false), 0);
}

/* The whole mapping can be moved; its access rights and contents stay the same */
TEST(moved)
{
	ROWS("R-22");
	int fd = insns();
	volatile char *p = map(fd, LEN, PROT_READ | PROT_WRITE), *q;
	void *to = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_mmap_page *page;

	q = mremap((void *)p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT_TRUE(q == to);
	EXPECT_EQ(touch(p, false), SIGSEGV);
	EXPECT_EQ(touch(q + 1032, true), 0);
	EXPECT_EQ(touch(q + PAGE, true), SIGBUS);
	page = (void *)q;
	work_counted(fd, 1000, 0);
	EXPECT_EQ(page->offset, WORK_INSNS(1000));
	EXPECT_EQ(munmap((void *)q, LEN), 0);
	/* No mapping is left after the move and the unmap, so another size is accepted */
	p = map(fd, PAGE, PROT_READ);
	page = (void *)p;
	EXPECT_EQ(page->offset, WORK_INSNS(1000));
}

static const char *mlock_file(void)
{
	return sysctl_file("perf_event_mlock_kb");
}

/* Map 1 + 2^n pages and unmap them again.  Return: 0 or the errno */
static int can_map(int fd, int n)
{
	size_t len = (1 + (1UL << n)) * PAGE;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return errno;
	munmap(p, len);
	return 0;
}

TEST(locked_memory)
{
	ROWS("R-17 C-16 Y-06 Y-07 E-31");
	struct rlimit none = { 0, 0 };
	int cpus = nr_cpus(), fd[8], i, n = 0;

	EXPECT_EQ(read_long(mlock_file()), 516);
	set_paranoid(2);
	for (i = 0; i < 8; i++)
		fd[i] = insns();
	drop_privilege();
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	/* 516 KiB per CPU, for all mappings of the user together */
	for (i = 0; i < 8; i++)
		if (mmap(NULL, 129 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			 fd[i], 0) != MAP_FAILED)
			n++;
		else
			EXPECT_EQ(errno, EPERM);
	EXPECT_EQ(n, cpus < 8 ? cpus : 8);
}

/*
 * The user page is charged like data pages: with a limit of two pages per CPU, one ring of
 * 1 + 1 pages fits per CPU, and after that not even a single user page.
 */
TEST(user_page_is_charged)
{
	ROWS("R-17");
	struct rlimit none = { 0, 0 };
	int fd[64], i, n = 0, status;
	int cpus = nr_cpus(), old = read_long(mlock_file());

	ASSERT_LE(cpus, 32);
	set_paranoid(2);
	for (i = 0; i < 2 * cpus; i++)
		fd[i] = insns();
	ASSERT_EQ(write_long(mlock_file(), 8), 0);
	fflush(NULL);
	if (!fork()) {
		void *p[64];

		drop_privilege();
		setrlimit(RLIMIT_MEMLOCK, &none);
		for (i = 0; i < 2 * cpus; i++) {
			p[i] = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				    MAP_SHARED, fd[i], 0);
			if (p[i] == MAP_FAILED)
				break;
		}
		n = i;
		EXPECT_EQ(n, cpus);
		EXPECT_EQ(errno, EPERM);
		EXPECT_TRUE(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd[n], 0) ==
			    MAP_FAILED);
		/* Unmapping frees two pages: two user pages fit, a third does not */
		munmap(p[0], 2 * PAGE);
		for (i = 0; i < 3 && n + i < 2 * cpus; i++)
			EXPECT_EQ(mmap(NULL, PAGE, PROT_READ, MAP_SHARED,
				       fd[n + i], 0) != MAP_FAILED, i < 2);
		_exit(_metadata->failed);
	}
	wait(&status);
	ASSERT_EQ(write_long(mlock_file(), old), 0);
	EXPECT_EQ(status, 0);
}

TEST(rlimit_memlock)
{
	ROWS("R-17");
	int fd = insns(), cpus = nr_cpus(), fits = 0;
	struct rlimit some = { 64 * PAGE, 64 * PAGE };

	set_paranoid(2);
	while ((1 << (fits + 1)) + 1 <= 129 * cpus)
		fits++;
	drop_privilege();
	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &some), 0);
	EXPECT_EQ(can_map(fd, fits), 0);
	/* The next size exceeds the user's limit plus the 64 pages of RLIMIT_MEMLOCK */
	EXPECT_EQ(can_map(fd, fits + 1), EPERM);
	/* Each unmap returns all pages to both limits */
	EXPECT_EQ(can_map(fd, fits), 0);
	EXPECT_EQ(can_map(fd, 0), 0);
}

TEST(privileged_memory)
{
	ROWS("R-17 C-16");
	struct rlimit none = { 0, 0 };
	int fd = insns();

	ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
	/* 64 MiB: with CAP_IPC_LOCK there is no limit */
	EXPECT_EQ(can_map(fd, 14), 0);
	EXPECT_EQ(can_map(fd, 14), 0);
}

TEST(smaller_limit)
{
	ROWS("Y-06 Y-07");
	struct rlimit none = { 0, 0 };
	int fd = insns();
	int old = read_long(mlock_file());

	set_paranoid(2);
	ASSERT_EQ(write_long(mlock_file(), 8), 0);
	fflush(NULL);
	if (!fork()) {
		drop_privilege();
		setrlimit(RLIMIT_MEMLOCK, &none);
		_exit(can_map(fd, 8) == EPERM && can_map(fd, 0) == 0 ? 0 : 1);
	}
	int status;

	wait(&status);
	ASSERT_EQ(write_long(mlock_file(), old), 0);
	EXPECT_EQ(status, 0);
}

TEST(no_limit_at_paranoid_minus_one)
{
	ROWS("R-17");
	struct rlimit none = { 0, 0 };
	int fd = insns(), err;

	set_paranoid(-1);
	fflush(NULL);
	if (!fork()) {
		drop_privilege();
		setrlimit(RLIMIT_MEMLOCK, &none);
		_exit(can_map(fd, 12));
	}
	wait(&err);
	set_paranoid(2);
	EXPECT_EQ(err, 0);
}

TEST_HARNESS_MAIN
