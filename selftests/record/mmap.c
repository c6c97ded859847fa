// SPDX-License-Identifier: GPL-2.0-only
/* MMAP and MMAP2 records. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "clone.h"
#include "event.h"
#include "harness.h"
#include "pair.h"
#include "task.h"

#define PAGE	4096
#define FILE_	"/tmp/a file to map"

static struct record rec;

static int a_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0700);

	if (fd < 0 || ftruncate(fd, 4 * PAGE)) {
		perror(path);
		exit(KSFT_FAIL);
	}
	return fd;
}

static void *map(int fd, int prot, int flags, int pages, int first)
{
	void *p = mmap(NULL, pages * PAGE, prot, flags, fd, first * PAGE);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(KSFT_FAIL);
	}
	return p;
}

static struct perf_event_attr mmap_attr(void)
{
	struct perf_event_attr a = pair_attr();

	a.mmap = 1;
	return a;
}

TEST(layout)
{
	ROWS("A-27 D-08 D-09 D-10 D-11 D-01 B-05");
	struct perf_event_attr a = mmap_attr();
	int file = a_file(FILE_);
	struct pair p;
	void *at;

	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	at = map(file, PROT_READ | PROT_EXEC, MAP_PRIVATE, 2, 1);
	map(file, PROT_READ | PROT_WRITE, MAP_SHARED, 1, 0);
	pair_disable(&p);
	/* One record: attr.mmap does not select the non-executable mapping */
	EXPECT_EQ(pair_compare(&p, -1), 1);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, 1);
	EXPECT_EQ(rec.head.misc, PERF_RECORD_MISC_USER);
	EXPECT_EQ(record_u32(&rec, 0), getpid());
	EXPECT_EQ(record_u32(&rec, 4), getpid());
	EXPECT_EQ(record_u64(&rec, 8), (uintptr_t)at);
	EXPECT_EQ(record_u64(&rec, 16), 2 * PAGE);
	EXPECT_EQ(record_u64(&rec, 24), PAGE);
	EXPECT_FALSE(strcmp(record_str(&rec, 32), FILE_));
	EXPECT_EQ(record_size(&p.ours, &rec), 32 + (sizeof(FILE_) + 7) / 8 * 8);
}

/* File names of nine consecutive lengths, so that every amount of padding occurs */
TEST(names)
{
	ROWS("D-08 D-10 R-23 U-47");
	struct perf_event_attr a = mmap_attr();
	char path[PATH_MAX] = "/tmp/";
	struct pair p;
	int i, len, fd;

	pair_open(&p, &a, 0, -1, 16);
	pair_enable(&p);
	for (i = 0; i < 9; i++) {
		strcat(path, "n");
		fd = a_file(path);
		map(fd, PROT_EXEC, MAP_PRIVATE, 1, 0);
		close(fd);
		unlink(path);
	}
	/* An anonymous mapping, and one of a deleted file with a long path */
	map(-1, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, 1, 0);
	strcpy(path, "/tmp/");
	for (i = 0; i < 10; i++) {
		len = strlen(path);
		memset(path + len, 'd', 200);
		strcpy(path + len + 200, "/");
		mkdir(path, 0700);
	}
	strcat(path, "file");
	fd = a_file(path);
	unlink(path);
	map(fd, PROT_EXEC, MAP_PRIVATE, 1, 0);
	close(fd);
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 11);
	pair_rewind(&p);
	for (i = 0; i < 9; i++) {
		ASSERT_TRUE(ring_next(&p.ours, &rec));
		EXPECT_EQ(strlen(record_str(&rec, 32)), 6 + i);
	}
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_FALSE(strcmp(record_str(&rec, 32), "//anon"));
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(strlen(record_str(&rec, 32)), strlen(path) + strlen(" (deleted)"));
}

TEST(data)
{
	ROWS("A-38 B-05 D-11");
	struct perf_event_attr a = pair_attr();
	struct pair p;
	int file = a_file(FILE_), shm;

	a.mmap_data = 1;
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	map(file, PROT_READ | PROT_WRITE, MAP_SHARED, 1, 0);
	map(-1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 3, 0);
	map(file, PROT_EXEC, MAP_PRIVATE, 1, 0);
	shm = shmget(IPC_PRIVATE, PAGE, 0600);
	if (shm >= 0) {
		shmat(shm, NULL, 0);
		shmctl(shm, IPC_RMID, NULL);
	}
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), shm < 0 ? 2 : 3);
	pair_rewind(&p);
	while (ring_next(&p.ours, &rec))
		EXPECT_EQ(rec.head.misc, 0x2002);
}

/* New brk() memory is named [heap] if it is merged with the existing heap mapping */
TEST(heap)
{
	ROWS("D-11");
	struct perf_event_attr a = pair_attr();
	struct pair p;

	a.mmap_data = 1;
	pair_open(&p, &a, 0, -1, 8);
	sbrk(64 * PAGE);
	pair_enable(&p);
	sbrk(64 * PAGE);
	pair_disable(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.misc, 0x2002);
	EXPECT_FALSE(strcmp(record_str(&rec, 32), "[heap]"));
	EXPECT_FALSE(ring_next(&p.ours, &rec));
}

/* mprotect(2) to executable writes a record */
TEST(mprotected)
{
	ROWS("D-11 A-27");
	struct perf_event_attr a = mmap_attr();
	struct pair p;
	void *at = map(-1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 4, 0);

	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	mprotect((char *)at + PAGE, PAGE, PROT_READ | PROT_EXEC);
	pair_disable(&p);
	EXPECT_GE(pair_compare(&p, -1), 1);
}

TEST(mmap2)
{
	ROWS("A-45 D-40 D-41 D-44");
	struct perf_event_attr a = mmap_attr();
	int file = a_file(FILE_);
	struct stat st;
	struct pair p;
	void *at;

	a.mmap2 = 1;
	fstat(file, &st);
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	at = map(file, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, 1, 1);
	map(-1, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, 1, 0);
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 2);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, 10);
	EXPECT_EQ(rec.head.misc, PERF_RECORD_MISC_USER);
	EXPECT_EQ(record_u64(&rec, 8), (uintptr_t)at);
	EXPECT_EQ(record_u64(&rec, 16), PAGE);
	EXPECT_EQ(record_u64(&rec, 24), PAGE);
	EXPECT_EQ(record_u32(&rec, 32), major(st.st_dev));
	EXPECT_EQ(record_u32(&rec, 36), minor(st.st_dev));
	EXPECT_EQ(record_u64(&rec, 40), st.st_ino);
	EXPECT_EQ(record_u32(&rec, 56), PROT_READ | PROT_WRITE | PROT_EXEC);
	EXPECT_EQ(record_u32(&rec, 60), MAP_SHARED);
	EXPECT_FALSE(strcmp(record_str(&rec, 64), FILE_));
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(record_u32(&rec, 56), PROT_EXEC);
	EXPECT_EQ(record_u32(&rec, 60), MAP_PRIVATE | MAP_LOCKED);
	EXPECT_EQ(record_u64(&rec, 40), 0);
}

/* MAP_SHARED is reported although VM_SHARED is cleared for a file opened read-only */
TEST(shared_read_only)
{
	struct perf_event_attr a = mmap_attr();
	struct pair p;
	int file;

	close(a_file(FILE_));
	file = open(FILE_, O_RDONLY);
	ASSERT_GE(file, 0);
	a.mmap2 = 1;
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	map(file, PROT_READ | PROT_EXEC, MAP_SHARED, 1, 0);
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 1);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(record_u32(&rec, 56), PROT_READ | PROT_EXEC);
	EXPECT_EQ(record_u32(&rec, 60), MAP_SHARED);
	EXPECT_FALSE(strcmp(record_str(&rec, 64), FILE_));
}

/* mmap2 alone only selects the record format */
TEST(mmap2_alone)
{
	ROWS("A-45");
	struct perf_event_attr a = pair_attr();
	struct pair p, other;

	a.mmap2 = 1;
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	map(-1, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, 1, 0);
	EXPECT_EQ(pair_compare(&p, -1), 0);
	/*
	 * Once another event requests records of mappings, the mmap2 event gets those of
	 * executable ones.
	 */
	a.mmap_data = 1;
	pair_open(&other, &a, 0, -1, 8);
	map(-1, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, 1, 0);
	EXPECT_EQ(pair_compare(&p, TYPE(MMAP2)), 1);
}

/* Create an ELF file with a build ID as its only note */
static int with_build_id(const char *path)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
		Elf64_Nhdr nh;
		char name[4];
		uint8_t id[20];
	} f = {
		.eh = {
			.e_ident = ELFMAG, .e_type = ET_DYN,
			.e_machine = EM_X86_64, .e_version = 1,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		},
		.ph = {
			.p_type = PT_NOTE, .p_align = 4,
			.p_offset = sizeof(f.eh) + sizeof(f.ph),
			.p_filesz = sizeof(f.nh) + sizeof(f.name) + sizeof(f.id),
			.p_memsz = sizeof(f.nh) + sizeof(f.name) + sizeof(f.id),
		},
		.nh = { 4, 20, NT_GNU_BUILD_ID },
		.name = "GNU",
	};
	int fd = a_file(path), i;

	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.eh.e_ident[EI_VERSION] = EV_CURRENT;
	for (i = 0; i < 20; i++)
		f.id[i] = 0xa0 + i;
	if (pwrite(fd, &f, sizeof(f), 0) != sizeof(f))
		exit(KSFT_FAIL);
	return fd;
}

TEST(build_id)
{
	ROWS("A-60 D-42 D-43 B-10");
	struct perf_event_attr a = mmap_attr();
	int file = with_build_id("/tmp/with_id"), i;
	struct pair p;

	a.mmap2 = 1;
	a.build_id = 1;
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	map(file, PROT_READ | PROT_EXEC, MAP_PRIVATE, 1, 0);
	map(a_file(FILE_), PROT_READ | PROT_EXEC, MAP_PRIVATE, 1, 0);
	map(-1, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, 1, 0);
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 3);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.misc, 0x4002);
	EXPECT_EQ(rec.body[32], 20);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(rec.body[33 + i], 0);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(rec.body[36 + i], 0xa0 + i);
	EXPECT_EQ(record_u32(&rec, 56), PROT_READ | PROT_EXEC);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.misc, 0x0002);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.misc, 0x0002);
}

/* exec(2) writes a record per mapping of the new image; they outlive the process */
TEST(exec)
{
	ROWS("D-12 D-13 J-05 A-27 D-40 U-47");
	struct perf_event_attr a = mmap_attr();
	bool image = false, vdso = false, stack = false;
	struct worker w;
	struct pair p;

	a.mmap2 = 1;
	a.mmap_data = 1;
	tiny_install("/tmp/tiny", 10, 0700);
	worker_start(&w);
	pair_open(&p, &a, w.pid, -1, 8);
	pair_enable(&p);
	worker_exec(&w, "/tmp/tiny");
	waitpid(w.pid, NULL, 0);
	EXPECT_GE(pair_compare(&p, -1), 3);
	pair_rewind(&p);
	while (ring_find(&p.ours, &rec, PERF_RECORD_MMAP2)) {
		EXPECT_EQ(record_u32(&rec, 0), w.pid);
		image |= !strcmp(record_str(&rec, 64), "/tmp/tiny");
		vdso |= !strcmp(record_str(&rec, 64), "[vdso]");
		stack |= !strcmp(record_str(&rec, 64), "[stack]");
	}
	EXPECT_TRUE(image);
	EXPECT_TRUE(vdso);
	EXPECT_TRUE(stack);
}

TEST_HARNESS_MAIN
