// SPDX-License-Identifier: GPL-2.0-only
/* KSYMBOL, BPF_EVENT, TEXT_POKE, CGROUP, NAMESPACES: contents, and that each hook fires. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cgroup.h"
#include "event.h"
#include "harness.h"
#include "pair.h"
#include "task.h"

static struct record rec;

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND), n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

/* Load the program "r0 = 0; exit" and fill in its @info.  Return: its fd, or -1 */
static int load_program(struct bpf_prog_info *info)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = 2, .insns = (uintptr_t)insns,
		.license = (uintptr_t)"GPL", .prog_name = "kpmu_test",
	}, i;
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));

	if (fd < 0)
		return fd;
	memset(info, 0, sizeof(*info));
	memset(&i, 0, sizeof(i));
	i.info.bpf_fd = fd;
	i.info.info_len = sizeof(*info);
	i.info.info = (uintptr_t)info;
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &i, sizeof(i))) {
		close(fd);
		return -1;
	}
	return fd;
}

TEST(bpf)
{
	ROWS("A-55 A-56 D-34 D-35 D-36");
	struct perf_event_attr a = pair_attr();
	struct bpf_prog_info info;
	struct pair p;
	char name[64];
	int fd, i;

	a.ksymbol = 1;
	a.bpf_event = 1;
	put("/proc/sys/net/core/bpf_jit_enable", "1");
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	fd = load_program(&info);
	if (fd < 0)
		SKIP(return, "this kernel loads no BPF programs");
	close(fd);
	usleep(100000);
	pair_disable(&p);
	/* Only the load is certain: another task may do the unload */
	EXPECT_GE(pair_compare(&p, TYPE(KSYMBOL) | TYPE(BPF_EVENT)), 2);
	pair_rewind(&p);
	snprintf(name, sizeof(name), "bpf_prog_");
	for (i = 0; i < 8; i++)
		sprintf(name + strlen(name), "%02x", info.tag[i]);
	strcat(name, "_kpmu_test");
	ASSERT_TRUE(ring_find(&p.ours, &rec, PERF_RECORD_KSYMBOL));
	EXPECT_EQ(record_u32(&rec, 8), info.jited_prog_len);
	EXPECT_EQ(record_u16(&rec, 12), 1);
	EXPECT_EQ(record_u16(&rec, 14), 0);
	EXPECT_FALSE(strcmp(record_str(&rec, 16), name));
	ASSERT_TRUE(ring_find(&p.ours, &rec, PERF_RECORD_BPF_EVENT));
	EXPECT_EQ(record_size(&p.ours, &rec), 16);
	EXPECT_EQ(record_u16(&rec, 0), 1);
	EXPECT_EQ(record_u16(&rec, 2), 0);
	EXPECT_EQ(record_u32(&rec, 4), info.id);
	EXPECT_FALSE(memcmp(rec.body + 8, info.tag, 8));
}

/* Without ksymbol there are no records of symbols */
TEST(bpf_event_alone)
{
	ROWS("A-55 A-56 D-36");
	struct perf_event_attr a = pair_attr();
	struct bpf_prog_info info;
	struct pair p;
	int fd;

	a.bpf_event = 1;
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	fd = load_program(&info);
	if (fd < 0)
		SKIP(return, "this kernel loads no BPF programs");
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 1);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, PERF_RECORD_BPF_EVENT);
	EXPECT_EQ(record_u32(&rec, 4), info.id);
}

/* A program of two functions: main calls "r0 = 0; exit" */
static int load_functions(uint64_t addr[2])
{
	struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_prog_info info = { .nr_jited_ksyms = 2, .jited_ksyms = (uintptr_t)addr };
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 4,
		.insns = (uintptr_t)insns, .license = (uintptr_t)"GPL",
	}, i = { .info = { .info_len = sizeof(info), .info = (uintptr_t)&info } };
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));

	i.info.bpf_fd = fd;
	if (fd >= 0 && (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &i, sizeof(i)) ||
			info.nr_jited_ksyms != 2))
		return -1;
	return fd;
}

/* Two symbols, as natively: the next records are theirs */
#define EXPECT_TWO_SYMBOLS(p) do {		\
	pair_disable(p);			\
	EXPECT_EQ(pair_compare(p, -1), 2);	\
	pair_rewind(p);				\
} while (0)

#define ASSERT_SYMBOL(p) do {				\
	ASSERT_TRUE(ring_next(&(p)->ours, &rec));	\
	EXPECT_EQ(rec.head.type, PERF_RECORD_KSYMBOL);	\
} while (0)

/* A record for each function of a program */
TEST(bpf_functions)
{
	ROWS("A-55 D-34 D-35");
	struct perf_event_attr a = pair_attr();
	uint64_t addr[2] = { };
	struct pair p;
	int i;

	a.ksymbol = 1;
	put("/proc/sys/net/core/bpf_jit_enable", "1");
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	if (load_functions(addr) < 0)
		SKIP(return, "this kernel loads no BPF programs, or does not compile them");
	EXPECT_TWO_SYMBOLS(&p);
	for (i = 0; i < 2; i++) {
		ASSERT_SYMBOL(&p);
		EXPECT_EQ(record_u64(&rec, 0), addr[i]);
	}
}

#define INSTANCE	"/sys/kernel/tracing/instances/kpmu_kernel"

/* A tracer gets code of its own, a symbol that is no BPF program, and gives it back */
TEST(trampoline)
{
	ROWS("A-55 D-34");
	struct perf_event_attr a = pair_attr();
	struct pair p;
	int i;

	a.ksymbol = 1;
	rmdir(INSTANCE);
	if (mkdir(INSTANCE, 0700) || put(INSTANCE "/set_ftrace_filter", "do_sys_openat2\n"))
		SKIP(return, "this kernel has no instances of tracers");
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	EXPECT_EQ(put(INSTANCE "/current_tracer", "function\n"), 0);
	EXPECT_EQ(put(INSTANCE "/current_tracer", "nop\n"), 0);
	EXPECT_EQ(rmdir(INSTANCE), 0);
	EXPECT_TWO_SYMBOLS(&p);
	for (i = 0; i < 2; i++) {
		ASSERT_SYMBOL(&p);
		EXPECT_EQ(record_u16(&rec, 12), 2);
		EXPECT_EQ(record_u16(&rec, 14), i);
		EXPECT_FALSE(strcmp(record_str(&rec, 16), "ftrace_trampoline"));
	}
}

/* A kprobe patches kernel text, and gets an executable page for its instruction slot */
TEST(text_poke)
{
	ROWS("A-59 D-38 D-39 U-33");
	struct perf_event_attr a = pair_attr();
	int pokes = 0, changed = 0;
	struct pair p;

	a.text_poke = 1;
	a.ksymbol = 1;
	a.exclude_kernel = 0;
	pin_to(0);
	pair_open(&p, &a, -1, 0, 64);
	pair_enable(&p);
	if (put("/sys/kernel/tracing/kprobe_events", "p:kpmu_test do_sys_openat2\n"))
		SKIP(return, "this kernel has no probes");
	put("/sys/kernel/tracing/events/kprobes/kpmu_test/enable", "1");
	put("/sys/kernel/tracing/events/kprobes/kpmu_test/enable", "0");
	put("/sys/kernel/tracing/kprobe_events", "-:kpmu_test\n");
	pair_disable(&p);
	EXPECT_GE(pair_compare(&p, TYPE(TEXT_POKE) | TYPE(KSYMBOL)), 1);
	pair_rewind(&p);
	while (ring_find(&p.ours, &rec, PERF_RECORD_TEXT_POKE)) {
		int old = record_u16(&rec, 8), new = record_u16(&rec, 10);

		EXPECT_EQ(rec.head.misc, PERF_RECORD_MISC_KERNEL);
		EXPECT_EQ(record_size(&p.ours, &rec),
			  (12 + old + new + 7) / 8 * 8);
		EXPECT_LT((int64_t)record_u64(&rec, 0), 0);
		pokes++;
		changed += old == new &&
			   memcmp(rec.body + 12, rec.body + 12 + old, new);
	}
	EXPECT_GE(pokes, 1);
	EXPECT_GE(changed, 1);
}

TEST(cgroup)
{
	ROWS("A-58 D-37 G-09");
	struct perf_event_attr a = pair_attr();
	struct cgroup root, c;
	struct {
		struct file_handle h;
		uint64_t id;
	} handle = { .h = { .handle_bytes = 8 } };
	struct pair p;
	int mount;

	a.cgroup = 1;
	a.comm = 1;	/* natively a CPU event with cgroup alone gets no records: is_sb_event() */
	cgroup_v2();
	cgroup_root(&root);
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	cgroup_make(&c, &root, "kpmu_record");
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, TYPE(CGROUP)), 1);
	pair_rewind(&p);
	ASSERT_TRUE(ring_find(&p.ours, &rec, PERF_RECORD_CGROUP));
	ASSERT_EQ(name_to_handle_at(AT_FDCWD, c.path, &handle.h, &mount, 0), 0);
	EXPECT_EQ(record_u64(&rec, 0), handle.id);
	EXPECT_FALSE(strcmp(record_str(&rec, 8), "/kpmu_record"));
	EXPECT_EQ(record_size(&p.ours, &rec), 8 + 16);
	cgroup_remove(&c);
}

static uint64_t inode(const char *ns)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", ns);
	return stat(path, &st) ? 0 : st.st_ino;
}

static void check_links(struct __test *_metadata, const struct record *r)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user",
					     "mnt", "cgroup" };
	struct stat st;
	int i;

	stat("/proc/self/ns/uts", &st);
	EXPECT_EQ(record_u64(r, 8), 7);
	for (i = 0; i < 7; i++) {
		if (!inode(names[i]))
			continue;	/* this kernel lacks the namespace */
		EXPECT_EQ(record_u64(r, 16 + 16 * i), st.st_dev);
		EXPECT_EQ(record_u64(r, 24 + 16 * i), inode(names[i]));
	}
}

TEST(namespaces)
{
	ROWS("A-54 D-32 D-33");
	struct perf_event_attr a = pair_attr();
	struct pair p;

	a.namespaces = 1;
	pair_open(&p, &a, 0, -1, 8);
	pair_enable(&p);
	ASSERT_EQ(unshare(CLONE_NEWUTS), 0);
	ASSERT_EQ(unshare(CLONE_NEWNS), 0);
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 2);
	pair_rewind(&p);
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	ASSERT_TRUE(ring_next(&p.ours, &rec));
	EXPECT_EQ(rec.head.type, 16);
	EXPECT_EQ(rec.head.misc, 0);
	EXPECT_EQ(record_size(&p.ours, &rec), 16 + 7 * 16);
	EXPECT_EQ(record_u32(&rec, 0), getpid());
	check_links(_metadata, &rec);
	/* fork(2) writes a NAMESPACES record, too */
	ring_skip(&p.native);
	pair_enable(&p);
	if (!fork())
		_exit(0);
	wait(NULL);
	pair_disable(&p);
	EXPECT_EQ(pair_compare(&p, -1), 1);
}

TEST_HARNESS_MAIN
