// SPDX-License-Identifier: GPL-2.0-only
/*
 * exclude_host and exclude_guest with a guest.  AMD's counters tell both apart, and TCG emulates SVM: KVM
 * runs a guest of three instructions, in real mode, whose instructions are known exactly.  The modules of KVM are
 * those of the kernel (kvm.files); kernels that are built without KVM have none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "event.h"
#include "harness.h"
#include "kvm.h"
#include "ring.h"

#define N	100000
/* Long enough for KVM to run between NMIs, which it counts, too */
#define PERIOD	10000
#define AT	0x1000			/* where the guest's code is */

static const uint8_t code[] = {
	0x66, 0x49,			/* 1: dec %ecx */
	0x75, 0xfc,			/* jnz 1b */
	0xf4,				/* hlt, which ends the run and does not retire */
};

/* Instructions of a run of N rounds */
#define GUEST_INSNS	(2 * N)

/* The same with a counter of the guest's own PMU, a K7, whose count is in edx and eax at the end */
static const uint8_t counting[] = {
	0x66, 0x89, 0xcb,			/* mov %ecx, %ebx */
	0x66, 0xb9, 0x00, 0x00, 0x01, 0xc0,	/* mov $PerfEvtSel0, %ecx */
	0x66, 0x31, 0xd2,			/* xor %edx, %edx */
	0x66, 0xb8, 0xc0, 0x00, 0x43, 0x00,	/* mov $0x4300c0, %eax: instructions, OS, USR, EN */
	0x0f, 0x30,				/* wrmsr */
	0x66, 0x4b,				/* 1: dec %ebx */
	0x75, 0xfc,				/* jnz 1b */
	0x66, 0xb9, 0x04, 0x00, 0x01, 0xc0,	/* mov $PerfCtr0, %ecx */
	0x0f, 0x32,				/* rdmsr */
	0xf4,					/* hlt */
};

/* What the counter may have beside the rounds: the instructions around the loop */
#define AROUND		4

struct guest {
	int kvm, vm, cpu;
	struct kvm_run *run;
};

static void set_segments(struct guest *g)
{
	struct kvm_sregs s;

	if (ioctl(g->cpu, KVM_GET_SREGS, &s))
		exit(1);
	s.cs.base = 0;
	s.cs.selector = 0;
	if (ioctl(g->cpu, KVM_SET_SREGS, &s))
		exit(1);
}

static void make_guest(struct guest *g, const uint8_t *code, size_t bytes)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region memory = {
		.guest_phys_addr = AT, .memory_size = 4096, .userspace_addr = (uintptr_t)page,
	};

	memcpy(page, code, bytes);
	g->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	g->vm = ioctl(g->kvm, KVM_CREATE_VM, 0);
	if (g->vm < 0 || ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &memory))
		exit(1);
	g->cpu = ioctl(g->vm, KVM_CREATE_VCPU, 0);
	g->run = mmap(NULL, ioctl(g->kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ | PROT_WRITE,
		      MAP_SHARED, g->cpu, 0);
	if (g->cpu < 0 || g->run == MAP_FAILED)
		exit(1);
	set_segments(g);
}

static void end_guest(struct guest *g)
{
	munmap(g->run, ioctl(g->kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
	close(g->cpu);
	close(g->vm);
	close(g->kvm);
}

/* Run the guest up to its HLT */
static void run_guest(struct guest *g, uint64_t rounds)
{
	struct kvm_regs regs = { .rip = AT, .rcx = rounds, .rflags = 2 };

	if (ioctl(g->cpu, KVM_SET_REGS, &regs))
		exit(1);
	do {
		if (ioctl(g->cpu, KVM_RUN, 0) && errno != EINTR)
			exit(1);
	} while (g->run->exit_reason == KVM_EXIT_INTR);
	if (g->run->exit_reason != KVM_EXIT_HLT) {
		printf("# the guest has ended for reason %u\n", g->run->exit_reason);
		exit(1);
	}
}

/* A guest whose page tables are set up */
static void make_ready_guest(struct guest *g)
{
	make_guest(g, code, sizeof(code));
	run_guest(g, 10);
}

#define NEED_KVM() do {							\
	if (!is_amd() || load_kvm(""))					\
		SKIP(return, "not AMD, or no KVM");			\
} while (0)

static struct perf_event_attr insns(int no_host, int no_guest)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	a.exclude_kernel = 0;		/* where the guest is, too */
	a.exclude_host = no_host;
	a.exclude_guest = no_guest;
	return a;
}

static uint64_t count_run(struct guest *g, struct perf_event_attr a)
{
	int fd = ev_must(&a, 0, -1, -1, 0);
	uint64_t v;

	ev_enable(fd);
	run_guest(g, N);
	ev_disable(fd);
	v = ev_count(fd);
	close(fd);
	return v;
}

TEST(guest_only)
{
	ROWS("A-40");
	struct perf_event_attr a = insns(1, 0);
	struct guest g;
	int fd;

	NEED_KVM();
	make_ready_guest(&g);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(count_run(&g, a), GUEST_INSNS);
	/* It is in the guest's kernel mode */
	a.exclude_kernel = 1;
	EXPECT_EQ(count_run(&g, a), 0);
	a.exclude_kernel = 0;
	a.exclude_user = 1;
	EXPECT_EQ(count_run(&g, a), GUEST_INSNS);
	/* Without a guest */
	fd = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd, N, 0);
	EXPECT_EQ(ev_count(fd), 0);
	close(fd);
	end_guest(&g);
}

/* All counters start and stop together */
TEST(host_and_guest)
{
	ROWS("A-40 A-41");
	struct perf_event_attr both = insns(0, 0), guest = insns(1, 0), host = insns(0, 1);
	uint64_t v[3];
	struct guest g;
	int fd[3], i;

	NEED_KVM();
	make_ready_guest(&g);
	guest.disabled = 0;
	host.disabled = 0;
	fd[0] = ev_must(&both, 0, -1, -1, 0);
	fd[1] = ev_must(&guest, 0, -1, fd[0], 0);
	fd[2] = ev_must(&host, 0, -1, fd[0], 0);
	ev_enable(fd[0]);
	run_guest(&g, N);
	ev_disable(fd[0]);
	for (i = 0; i < 3; i++)
		v[i] = ev_count(fd[i]);
	/* In this order, as the members of a closed leader may count on */
	for (i = 2; i >= 0; i--)
		close(fd[i]);
	EXPECT_EQ(v[1], GUEST_INSNS);
	EXPECT_GT(v[2], 1000);		/* of KVM */
	EXPECT_EQ(v[0], v[1] + v[2]);
	end_guest(&g);
}

static bool is_of_guest(const struct record *rec)
{
	int mode = rec->head.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER;
}

/*
 * KVM of 6.1 tells where the guest was when it was last preempted, so mostly user mode.  There native
 * perf also takes samples of the host for the guest's, so the boot is of 6.12 only.
 */
static bool knows_mode(void)
{
	struct utsname u;

	return uname(&u) || strncmp(u.release, "6.1.", 4);
}

/* A sample in the guest is where the guest was, in kernel mode, with a chain of no frames */
static bool is_good(const struct record *rec, const struct parts *p)
{
	if (knows_mode() &&
	    (rec->head.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_GUEST_KERNEL)
		return false;
	if (p->ip < AT || p->ip >= AT + sizeof(code))
		return false;
	for (uint64_t i = 0; i < p->nr; i++)
		if (p->chain[i] < PERF_CONTEXT_MAX)
			return false;
	return true;
}

static struct record rec;

/* Samples of a run: those of the guest, and all */
static int sample_run(struct guest *g, struct perf_event_attr a, int *good, int *all)
{
	int fd, of_guest = 0;
	struct ring r;
	struct parts p;

	a.sample_period = PERIOD;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	fd = ev_must(&a, 0, -1, -1, 0);
	ring_map(&r, fd, &a, 64);
	ev_enable(fd);
	run_guest(g, N);
	work(PERIOD);	/* of the host: the kernel alone may take less than a period */
	ev_disable(fd);
	*good = *all = 0;
	while (ring_find(&r, &rec, PERF_RECORD_SAMPLE)) {
		p = record_sample(&r, &rec);
		(*all)++;
		if (!is_of_guest(&rec))
			continue;
		of_guest++;
		*good += is_good(&rec, &p);
	}
	ring_unmap(&r);
	close(fd);
	return of_guest;
}

TEST(samples)
{
	ROWS("B-04");
	int good, all, of_guest;
	struct guest g;

	NEED_KVM();
	make_ready_guest(&g);
	no_throttle();
	of_guest = sample_run(&g, insns(1, 0), &good, &all);
	EXPECT_EQ(all, GUEST_INSNS / PERIOD);
	EXPECT_EQ(of_guest, all);
	EXPECT_EQ(good, all);
	of_guest = sample_run(&g, insns(0, 0), &good, &all);
	EXPECT_GT(of_guest, 0);
	EXPECT_EQ(good, of_guest);
	EXPECT_GT(all, of_guest);
	of_guest = sample_run(&g, insns(0, 1), &good, &all);
	EXPECT_EQ(of_guest, 0);
	EXPECT_GT(all, 0);
	end_guest(&g);
}

/* A run of the guest that counts itself: its count */
static uint64_t own_count(struct guest *g)
{
	struct kvm_regs regs;

	run_guest(g, N);
	if (ioctl(g->cpu, KVM_GET_REGS, &regs))
		exit(1);
	return regs.rdx << 32 | (uint32_t)regs.rax;
}

/* Does an open of kpmu succeed?  The events of a guest that has ended are freed with a delay */
static bool opens_at_last(void)
{
	struct perf_event_attr a = insns(0, 0);
	uint64_t end = patience();
	int err;

	while ((err = ev_errno(&a, 0, -1, -1, 0)) && now_ns() < end)
		usleep(10000);
	return !err;
}

/* The counters of a vPMU are events of the kernel's own perf: while they exist, kpmu has no counters */
TEST(vmm_has_the_counters)
{
	ROWS("E-11");
	struct perf_event_attr a = insns(0, 0);
	struct guest g;
	uint64_t v;

	if (route_is_native())
		SKIP(return, "native perf shares the counters with KVM");
	NEED_KVM();
	make_guest(&g, counting, sizeof(counting));
	v = own_count(&g);
	EXPECT_GE(v, GUEST_INSNS);
	EXPECT_LE(v, GUEST_INSNS + AROUND);
	EXPECT_EQ(ev_errno(&a, 0, -1, -1, 0), EBUSY);
	/* What needs no counter is not refused */
	EXPECT_EQ(fd_errno(ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, -1)), 0);
	end_guest(&g);
	EXPECT_TRUE(opens_at_last());
}

/* The counters stay kpmu's while one of its events has one: the guest's counter then does not count */
TEST(vmm_comes_second)
{
	ROWS("E-11");
	struct perf_event_attr a = insns(1, 0);
	struct guest g;
	uint64_t v[3];
	int fd;

	if (route_is_native())
		SKIP(return, "native perf shares the counters with KVM");
	NEED_KVM();
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	fd = ev_must(&a, 0, -1, -1, 0);
	make_guest(&g, counting, sizeof(counting));
	ev_enable(fd);
	/* KVM itself adds the instructions that it emulates */
	EXPECT_LE(own_count(&g), AROUND);
	ev_disable(fd);
	ASSERT_EQ(read(fd, v, sizeof(v)), sizeof(v));
	EXPECT_GE(v[0], GUEST_INSNS);
	EXPECT_EQ(v[1], v[2]);
	end_guest(&g);
	close(fd);
	/* The next guest has them */
	make_guest(&g, counting, sizeof(counting));
	EXPECT_GE(own_count(&g), GUEST_INSNS);
	end_guest(&g);
}

TEST_HARNESS_MAIN
