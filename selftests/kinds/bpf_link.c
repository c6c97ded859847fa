// SPDX-License-Identifier: GPL-2.0-only
/* BPF links of events: bpf(2), BPF_LINK_CREATE with the fd of an event. */
#define _GNU_SOURCE
#include <linux/bpf_perf_event.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "bpf.h"
#include "event.h"
#include "harness.h"

#define PE	BPF_PROG_TYPE_PERF_EVENT
#define ROUNDS	250006		/* 1,000,027 instructions */
#define PERIOD	10000
#define DUE	(WORK_INSNS(ROUNDS) / PERIOD)
#define COOKIE	0x123456789abcdef0

static int insns(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	a.sample_period = PERIOD;
	no_throttle();
	return ev_must(&a, 0, -1, -1, 0);
}

static int counting(uint32_t type, int map)
{
	return BUILD(type, map, SET(8, 1));
}

/* Create a link: its fd, or -1 and errno */
static int attach(int prog, int fd)
{
	union bpf_attr a = {
		.link_create = { .prog_fd = prog, .target_fd = fd, .attach_type = BPF_PERF_EVENT },
	};

	return sys_bpf(BPF_LINK_CREATE, &a);
}

static int attach_errno(int prog, int fd)
{
	return fd_errno(attach(prog, fd));
}

static int set(int fd, int prog)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) ? errno : 0;
}

/* What a program has counted at least: some hits may have been lost on hardware */
static uint64_t least(uint64_t due)
{
	return exact() ? due : due * 9 / 10;
}

#define EXPECT_DUE(n) do {				\
	if (exact())					\
		EXPECT_EQ(n, DUE);			\
	else						\
		EXPECT_GT(n, DUE * 9 / 10);		\
} while (0)

/* The program runs as long as the link exists */
TEST(runs)
{
	ROWS("I-39");
	int fd = insns(), map = words_map(), link = attach(counting(PE, map), fd);

	ASSERT_GE(link, 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_DUE(map_word(map, 0));
	close(link);
	work_counted(fd, ROUNDS, 0);
	EXPECT_DUE(map_word(map, 0));
	/* Now there is room for another one */
	link = attach(counting(PE, map), fd);
	EXPECT_GE(link, 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_GE(map_word(map, 0), least(2 * DUE));
}

/* The link keeps the event open, and a program's id */
TEST(outlives_the_event)
{
	ROWS("I-39");
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd, map = words_map(), prog = counting(PE, map), link;
	uint64_t end = patience(), n;
	uint32_t id = program_id(prog);

	a.sample_period = PERIOD;
	a.disabled = 0;
	no_throttle();
	fd = ev_must(&a, 0, -1, -1, 0);
	link = attach(prog, fd);
	ASSERT_GE(link, 0);
	close(fd);
	close(prog);
	n = map_word(map, 0);
	work(ROUNDS);
	EXPECT_GE(map_word(map, 0) - n, least(DUE));
	close(link);
	while (program_exists(id) && now_ns() < end)
		usleep(1000);
	EXPECT_EQ(program_exists(id), 0);
	n = map_word(map, 0);
	work(ROUNDS);
	EXPECT_EQ(map_word(map, 0), n);
}

TEST(cookie)
{
	ROWS("I-36 I-39");
	int fd = insns(), map = words_map(), link;
	int prog = BUILD(PE, map, COPY(1, 7), CALL(BPF_FUNC_get_attach_cookie), STORE(6, 0, 8),
			 SET(8, 1));
	union bpf_attr a = {
		.link_create = { .prog_fd = prog, .target_fd = fd, .attach_type = BPF_PERF_EVENT,
				 .perf_event = { .bpf_cookie = COOKIE } },
	};

	link = sys_bpf(BPF_LINK_CREATE, &a);
	ASSERT_GE(link, 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(map_word(map, 1), COOKIE);
	close(link);
	/* The cookie of SET_BPF is 0 */
	EXPECT_EQ(set(fd, prog), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(map_word(map, 1), 0);
}

TEST(one_program)
{
	ROWS("I-23 I-39");
	int fd = insns(), map = words_map(), prog = counting(PE, map);
	int link = attach(prog, fd);

	ASSERT_GE(link, 0);
	EXPECT_EQ(attach_errno(prog, fd), EEXIST);
	EXPECT_EQ(set(fd, prog), EEXIST);
	close(link);
	EXPECT_EQ(set(fd, prog), 0);
	EXPECT_EQ(attach_errno(prog, fd), EEXIST);
	work_counted(fd, ROUNDS, 0);
	EXPECT_DUE(map_word(map, 0));
}

/* Tracepoints and probes have links, too */
TEST(hits)
{
	ROWS("I-39");
	struct perf_event_attr a = ev_attr(PERF_TYPE_TRACEPOINT,
		read_long("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id"));
	struct perf_event_attr k = ev_attr(pmu_type("kprobe"), 0);
	int fd, map = words_map(), link, i;

	a.exclude_kernel = k.exclude_kernel = 0;
	a.disabled = k.disabled = 0;
	fd = ev_must(&a, 0, -1, -1, 0);
	link = attach(counting(BPF_PROG_TYPE_TRACEPOINT, map), fd);
	ASSERT_GE(link, 0);
	EXPECT_EQ(attach_errno(counting(BPF_PROG_TYPE_TRACEPOINT, map), fd), EEXIST);
	EXPECT_EQ(attach_errno(counting(PE, map), fd), EINVAL);
	for (i = 0; i < 5; i++)
		syscall(SYS_getppid);
	EXPECT_EQ(map_word(map, 0), 5);
	close(link);
	syscall(SYS_getppid);
	EXPECT_EQ(map_word(map, 0), 5);
	EXPECT_EQ(ev_count(fd), 6);

	k.kprobe_func = (uintptr_t)"__x64_sys_getppid";
	fd = ev_must(&k, 0, -1, -1, 0);
	link = attach(counting(BPF_PROG_TYPE_KPROBE, map), fd);
	ASSERT_GE(link, 0);
	for (i = 0; i < 5; i++)
		syscall(SYS_getppid);
	EXPECT_EQ(map_word(map, 0), 10);
	close(link);
	syscall(SYS_getppid);
	EXPECT_EQ(map_word(map, 0), 10);
}

TEST(errors)
{
	ROWS("I-39");
	int fd = insns(), map = words_map(), prog = counting(PE, map);
	struct {
		union bpf_attr attr;
		uint64_t more;
	} x = { .attr = { .link_create = { .prog_fd = prog, .target_fd = fd,
					   .attach_type = BPF_PERF_EVENT } } };

	EXPECT_EQ(attach_errno(999, fd), EBADF);
	EXPECT_EQ(attach_errno(map, fd), EINVAL);
	EXPECT_EQ(attach_errno(prog, 999), EBADF);
	EXPECT_EQ(attach_errno(prog, eventfd(0, 0)), EBADF);
	EXPECT_EQ(attach_errno(counting(BPF_PROG_TYPE_KPROBE, map), fd), EINVAL);
	x.attr.link_create.flags = 1;
	EXPECT_EQ(fd_errno(sys_bpf(BPF_LINK_CREATE, &x.attr)), EINVAL);
	x.attr.link_create.flags = 0;
	((char *)&x.attr)[sizeof(x.attr) - 1] = 1;
	EXPECT_EQ(fd_errno(sys_bpf(BPF_LINK_CREATE, &x.attr)), EINVAL);
	((char *)&x.attr)[sizeof(x.attr) - 1] = 0;
	EXPECT_EQ(fd_errno(syscall(SYS_bpf, BPF_LINK_CREATE, &x, 1 << 20)), E2BIG);
	EXPECT_EQ(fd_errno(syscall(SYS_bpf, BPF_LINK_CREATE, NULL, sizeof(x.attr))), EFAULT);
	/* None of them has attached the program */
	EXPECT_EQ(attach_errno(prog, fd), 0);
}

/* No file can be opened: the program is not attached */
TEST(no_fd)
{
	ROWS("I-39");
	int fd = insns(), map = words_map(), prog = counting(PE, map);
	struct rlimit limit = { 0, 64 };

	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	EXPECT_EQ(attach_errno(prog, fd), EMFILE);
	limit.rlim_cur = 64;
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	work_counted(fd, ROUNDS, 0);
	EXPECT_EQ(map_word(map, 0), 0);
	EXPECT_EQ(attach_errno(prog, fd), 0);
}

#define BPF_32	357	/* bpf(2) of programs of 32 bits */

/* The system call of programs of 32 bits, which those of 64 bits can execute as well */
static int bpf_32(int cmd, const union bpf_attr *attr, unsigned int size)
{
	long ret = BPF_32;

	__asm__ volatile("int $0x80" : "+a"(ret) : "b"(cmd), "c"(attr), "d"(size)
			 : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

TEST(program_of_32_bits)
{
	ROWS("I-39");
	int fd = insns(), map = words_map(), prog = counting(PE, map), link;
	union bpf_attr *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	ASSERT_TRUE(a != MAP_FAILED);
	a->link_create.prog_fd = prog;
	a->link_create.target_fd = 999;
	a->link_create.attach_type = BPF_PERF_EVENT;
	EXPECT_EQ(bpf_32(BPF_LINK_CREATE, a, sizeof(*a)), -EBADF);
	a->link_create.target_fd = fd;
	link = bpf_32(BPF_LINK_CREATE, a, sizeof(*a));
	ASSERT_GE(link, 0);
	EXPECT_EQ(bpf_32(BPF_LINK_CREATE, a, sizeof(*a)), -EEXIST);
	work_counted(fd, ROUNDS, 0);
	EXPECT_DUE(map_word(map, 0));
	close(link);
	work_counted(fd, ROUNDS, 0);
	EXPECT_DUE(map_word(map, 0));
	/* Another command */
	memset(a, 0, sizeof(*a));
	a->map_type = BPF_MAP_TYPE_ARRAY;
	a->key_size = a->value_size = 4;
	a->max_entries = 1;
	EXPECT_GE(bpf_32(BPF_MAP_CREATE, a, sizeof(*a)), 0);
}

/* struct bpf_link_info as it is since 6.6, of a link of an event */
struct link_info {
	uint32_t type, id, prog_id, pad;
	uint32_t kind, pad2;
	uint64_t config;
	uint32_t event_type, pad3;
	uint64_t cookie;
};

#define KIND_EVENT	6	/* BPF_PERF_EVENT_EVENT */

static bool kernel_describes_events(void)
{
	int major = 0, minor = 0;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       major * 100 + minor >= 606;
}

/* A link is listed as one of a perf event, with its program and what the event counts */
TEST(info)
{
	ROWS("I-39");
	int fd = insns(), map = words_map(), prog = counting(PE, map), link = attach(prog, fd);
	struct link_info info = { 0 };
	union bpf_attr a = {
		.info = { .bpf_fd = link, .info = (uintptr_t)&info, .info_len = sizeof(info) },
	};

	ASSERT_GE(link, 0);
	EXPECT_EQ(sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &a), 0);
	EXPECT_EQ(info.type, BPF_LINK_TYPE_PERF_EVENT);
	EXPECT_EQ(info.prog_id, program_id(prog));
	EXPECT_NE(info.id, 0);
	if (!kernel_describes_events())
		return;
	EXPECT_EQ(info.kind, KIND_EVENT);
	EXPECT_EQ(info.event_type, PERF_TYPE_HARDWARE);
	EXPECT_EQ(info.config, PERF_COUNT_HW_INSTRUCTIONS);
}

/* References to the module, once those of files that were closed before are gone */
static long references(void)
{
	long n = read_long("/sys/module/kpmu/refcnt"), i;

	for (i = 0; i < 30; i++) {
		usleep(10000);
		if (read_long("/sys/module/kpmu/refcnt") != n) {
			n = read_long("/sys/module/kpmu/refcnt");
			i = 0;
		}
	}
	return n;
}

/* The module can be unloaded only when the link is gone */
TEST(holds_the_module)
{
	ROWS("I-39");
	int fd, map = words_map(), link;
	long users;

	if (route_is_native())
		SKIP(return, "this is about the module");
	fd = insns();
	users = references();
	link = attach(counting(PE, map), fd);
	ASSERT_GE(link, 0);
	/* The link has one, and the event still has the one of its file */
	EXPECT_EQ(references(), users + 1);
	close(fd);
	EXPECT_EQ(references(), users + 1);
	close(link);
	EXPECT_EQ(references(), users - 1);
}

TEST_HARNESS_MAIN
