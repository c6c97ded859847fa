// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native perf as the driver of the PMU model.  User-mode counts and sample IPs
 * are known from the assembly below and compared with ==.  The counts of the
 * code around a loop (system calls, this program) cancel out in the difference
 * between a run of N and a run of M iterations.
 *
 * native [hash] [log=TEXT]...: with "hash", also print values that must be the same in two
 * -icount boots.  The kernel log must contain each TEXT.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

static int perf_open(uint32_t type, uint64_t config, int group, uint64_t period, int kernel)
{
	struct perf_event_attr a = {
		.size = sizeof(a), .type = type, .config = config,
		.disabled = group < 0, .exclude_kernel = !kernel, .exclude_hv = 1,
		.sample_period = period, .sample_type = period ? PERF_SAMPLE_IP : 0,
	};
	int fd = syscall(SYS_perf_event_open, &a, 0, -1, group, 0);

	if (fd < 0)
		perror("# perf_event_open");
	return fd;
}

/* AMD's families before Zen have no events for loads and stores that the model knows */
static int amd, zen;

static void which_cpu(void)
{
	unsigned int a, b, c, d;

	__cpuid(0, a, b, c, d);
	amd = b == 0x68747541;
	__cpuid(1, a, b, c, d);
	zen = amd && (a >> 8 & 15) + (a >> 20 & 255) >= 0x17;
}

static uint64_t value(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, 8) == 8 ? v : ~0ull;
}

/* ---- loops; comments: instructions, branches, loads, stores per iteration ------ */

#define PAGES 3000

#define LOOP(name, ...)						\
	static __attribute__((noinline)) void name(char *p, long n)	\
	{ asm volatile(__VA_ARGS__ : "+r"(p), "+r"(n) ::		\
		"rax", "rbx", "rcx", "rdx", "r11", "memory", "cc"); }

/* 4 1 0 1; each iteration has a page fault */
LOOP(touch, "1: movb $1, (%0); add $4096, %0; dec %1; jnz 1b")
/* 4 1 1 1 */
LOOP(modify, "1: addl $1, (%0); add $4096, %0; dec %1; jnz 1b")
LOOP(locked, "1: lock; addl $1, (%0); add $4096, %0; dec %1; jnz 1b")
/* 4 2 0 0 */
LOOP(getpid_loop, "1: mov $39, %%eax; syscall; dec %1; jnz 1b")
/* 5 1 0 0 */
LOOP(cpuid_loop, "1: xor %%eax, %%eax; cpuid; rdtsc; dec %1; jnz 1b")
/* 5 3 1 1, with the RET */
LOOP(call_loop, "jmp 2f; 3: ret; 2: 1: call 3b; nop; dec %1; jnz 1b")
/* 4 1 0 0, and 3 1 2 1 in the handler, whose RET goes to sig_return: 2 1 0 0 with
 * the system call.  The UD2 does not retire; the handler skips it. */
LOOP(ud2_loop, "1: ud2; nop; nop; dec %1; jnz 1b")

/* The handler is in assembly so that its instructions are known: 3, and 2 of sig_return */
void on_sigill(int sig, siginfo_t *info, void *context);
asm("on_sigill:\n"
    "	addq $2, 168(%rdx)\n"		/* gregs[REG_RIP]: ld st */
    "	nop\n"
    "	ret\n"				/* ld, br */
    "sig_return:\n"
    "	mov $15, %eax\n"
    "	syscall\n");			/* br */
extern char sig_return[];

static void take_sigill(void)
{
	struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; }
		sa = { on_sigill, SA_SIGINFO | 0x04000000, sig_return, 0 };

	syscall(SYS_rt_sigaction, SIGILL, &sa, NULL, 8);
}

static const struct {
	const char *name;
	void (*run)(char *p, long n);
	int cow;		/* pages are mapped to the zero page before */
	long insn, br, ld, st;	/* per iteration */
} loops[] = {
	{ "store to fresh pages", touch, 0, 4, 1, 0, 1 },
	{ "store, copy on write", touch, 1, 4, 1, 0, 1 },
	{ "modify fresh pages", modify, 0, 4, 1, 1, 1 },
	{ "modify, copy on write", modify, 1, 4, 1, 1, 1 },
	{ "locked, copy on write", locked, 1, 4, 1, 1, 1 },
	{ "system calls", getpid_loop, 0, 4, 2, 0, 0 },
	{ "cpuid and rdtsc", cpuid_loop, 0, 5, 1, 0, 0 },
	{ "calls", call_loop, 0, 5, 3, 1, 1 },
	/* loop: 4 1 0 0, handler: 3 1 2 1, return: 2 1 0 0 */
	{ "signals", ud2_loop, 0, 4 + 3 + 2, 1 + 1 + 1, 2, 1 },
};
#define NR_LOOPS (sizeof(loops) / sizeof(*loops))

static int group[4], nr_events = 4;

static void open_group(void)
{
	group[0] = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, 0, 0);
	group[1] = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, group[0], 0, 0);
	if (amd && !zen)
		nr_events = 2;
	for (int i = 2; i < nr_events; i++)
		group[i] = perf_open(PERF_TYPE_RAW, (amd ? 0x0029 : 0x80d0) + 0x100 * (i - 1),
				     group[0], 0, 0);
}

static __attribute__((noinline)) void measure(unsigned int i, long n, uint64_t *v)
{
	char *p = mmap(NULL, PAGES * 4096ul, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, PAGES * 4096ul, MADV_NOHUGEPAGE);
	if (loops[i].cow)
		for (int k = 0; k < PAGES; k++)
			(void)*(volatile char *)(p + k * 4096ul);
	ioctl(group[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	ioctl(group[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	loops[i].run(p, n);
	ioctl(group[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	for (int e = 0; e < nr_events; e++)
		v[e] = value(group[e]);
	munmap(p, PAGES * 4096ul);
}

static void test_counts(void)
{
	uint64_t a[4] = { 0 }, b[4] = { 0 }, c[4] = { 0 };

	open_group();
	take_sigill();
	for (unsigned int i = 0; i < NR_LOOPS; i++) {
		const long want[4] = { loops[i].insn, loops[i].br, loops[i].ld, loops[i].st };
		int ok = 1;

		measure(i, 1000, a);
		measure(i, PAGES, b);
		measure(i, PAGES, c);
		for (int e = 0; e < nr_events; e++)
			ok &= b[e] == c[e] && (long)(b[e] - a[e]) == (PAGES - 1000) * want[e];
		check(ok, "linux: %s: %ld %ld %ld %ld a round, twice the same", loops[i].name,
		      (long)(b[0] - a[0]) / (PAGES - 1000), (long)(b[1] - a[1]) / (PAGES - 1000),
		      (long)(b[2] - a[2]) / (PAGES - 1000), (long)(b[3] - a[3]) / (PAGES - 1000));
	}
	for (int e = 0; e < nr_events; e++)
		close(group[e]);
}

/* ---- sampling ------------------------------------------------------------------- */

/* 10 instructions per iteration; offset[] has the offset of each */
void work_loop(long n);
asm("work_loop:\n"
    "1:	addq $1, %rax\n"	/* 0 */
    "	addq $2, %rdx\n"	/* 4 */
    "	xorl %ecx, %ecx\n"	/* 8 */
    "	leal 1(%rcx), %ecx\n"	/* 10 */
    "	nop\n"			/* 13 */
    "	nop\n"			/* 14 */
    "	nop\n"			/* 15 */
    "	imulq $3, %rcx, %rcx\n"	/* 16 */
    "	decq %rdi\n"		/* 20 */
    "	jnz 1b\n"		/* 23 */
    "	ret\n");
static const int offset[10] = { 0, 4, 8, 10, 13, 14, 15, 16, 20, 23 };

#define RING 256

static uint64_t hash;

/*
 * Read the samples.  pos[] gets the number of the instruction of each IP in the loop, or -1
 * if it is not in the loop.  Returns the number of samples, max + 1 for other records.
 */
static int samples(char *ring, int *pos, int max)
{
	struct perf_event_mmap_page *page = (void *)ring;
	uint64_t tail = page->data_tail, head = page->data_head;
	char *data = ring + 4096;
	int n = 0;

	while (tail < head) {
		struct perf_event_header *h = (void *)(data + tail % (RING * 4096));

		if (h->type == PERF_RECORD_SAMPLE && n < max) {
			uint64_t ip = *(uint64_t *)(h + 1);

			hash = hash * 31 + ip;
			pos[n] = -1;
			for (int i = 0; i < 10; i++)
				if (ip == (uint64_t)work_loop + offset[i])
					pos[n] = i;
			n++;
		} else if (h->type != PERF_RECORD_SAMPLE) {
			n = max + 1;		/* lost or throttled */
		}
		tail += h->size;
	}
	page->data_tail = tail;
	return n;
}

static int pos[40000];

static void sample(const char *name, uint32_t type, uint64_t config, uint64_t period,
		   int step)
{
	int fd = perf_open(type, config, -1, period, 0);
	char *ring = mmap(NULL, (RING + 1) * 4096ul, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	int n, bad = 0, first = -1;
	uint64_t total;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	work_loop(500000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	total = value(fd);
	n = samples(ring, pos, 40000);
	/* Between two samples, the IP advances by the period modulo the loop length */
	for (int i = 0; i < n && i < 40000; i++) {
		if (pos[i] < 0)
			bad++;
		else if (first < 0)
			first = pos[i];
		else if (step >= 0 && pos[i] != (pos[i - 1] + step) % 10)
			bad++;
		else if (step < 0 && pos[i] != 0)
			bad++;
	}
	check(n == (int)(total / period) && !bad,
	      "linux: %s, period %lu: %d samples of %lu events, %d with another IP", name,
	      (unsigned long)period, n, (unsigned long)total, bad);
	munmap(ring, (RING + 1) * 4096ul);
	close(fd);
}

/* ---- RDPMC in user mode, several CPUs ---------------------------------------------- */

static void test_rdpmc(void)
{
	int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, 0, 0);
	volatile struct perf_event_mmap_page *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	uint32_t a, d;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	check(page->cap_user_rdpmc && page->index, "linux: rdpmc is offered");
	if (page->index) {
		/* RDPMC itself, mov, 3 nops */
		asm volatile("rdpmc; mov %%eax, %%esi; nop; nop; nop; rdpmc; sub %%esi, %%eax"
			     : "=a"(a), "=d"(d) : "c"(page->index - 1) : "rsi");
		check(a == 5, "linux: rdpmc to rdpmc: %u", a);
	}
	close(fd);
}

static void *on_cpu(void *arg)
{
	long me = (long)arg, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, 0, 0);
	uint64_t v[2] = { 0 };
	cpu_set_t set;

	for (int i = 0; i < 20; i++) {
		CPU_ZERO(&set);
		CPU_SET((me + i) % cpus, &set);
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		work_loop(i % 2 ? 20000 : 10000);
		sched_setaffinity(0, sizeof(set), &set);
		work_loop(10000);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (v[i % 2] && v[i % 2] != value(fd))
			return (void *)1;
		v[i % 2] = value(fd);
	}
	close(fd);
	return (void *)(long)(v[1] - v[0] != 100000);
}

static void test_threads(void)
{
	long bad = 0;
	pthread_t t[8];
	void *r;

	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, on_cpu, (void *)i);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		bad += (long)r;
	}
	check(!bad, "linux: 4 threads, moving between CPUs: %ld wrong", bad);
}

static void test_model(void)
{
	static const struct { const char *name; uint32_t type; uint64_t config; } ev[] = {
		{ "cycles", 0, PERF_COUNT_HW_CPU_CYCLES },
		{ "branch-misses", 0, PERF_COUNT_HW_BRANCH_MISSES },
		{ "cache-references", 0, PERF_COUNT_HW_CACHE_REFERENCES },
		{ "cache-misses", 0, PERF_COUNT_HW_CACHE_MISSES },
		{ "L1-dcache-loads", 3, 0x00000 }, { "L1-dcache-load-misses", 3, 0x10000 },
		{ "dTLB-load-misses", 3, 0x10003 },
		/* Not on AMD */
		{ "ref-cycles", 0, PERF_COUNT_HW_REF_CPU_CYCLES },
		{ "LLC-loads", 3, 0x00002 }, { "LLC-load-misses", 3, 0x10002 },
	};
	unsigned int nr = sizeof(ev) / sizeof(*ev) - (amd ? 3 : 0);
	static char big[4 << 20] __attribute__((aligned(4096)));

	for (unsigned int i = 0; i < nr; i++) {
		int fd = perf_open(ev[i].type, ev[i].config, -1, 0, 0);
		uint64_t v[2] = { 0 };

		for (int run = 0; fd >= 0 && run < 2; run++) {
			ioctl(fd, PERF_EVENT_IOC_RESET, 0);
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
			for (int k = 0; k < 65536; k++)
				((volatile char *)big)[k * 64]++;
			ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
			v[run] = value(fd);
		}
		check(v[1] > 0, "linux: %s counts: %lu", ev[i].name, (unsigned long)v[1]);
		close(fd);
	}
}

static void test_log(const char *text)
{
	static char log[1 << 20];

	klogctl(3, log, sizeof(log) - 1);
	check(strstr(log, text) != NULL, "linux: the kernel says: %s", text);
}

static void write_sysctl(const char *name, const char *val)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "w");
	if (f) {
		fputs(val, f);
		fclose(f);
	}
}

int main(int argc, char **argv)
{
	int hashed = 0;
	/* The cache model depends on the address of the stack, and its random offset on the date */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		execv("/proc/self/exe", argv);
	}
	/* Disable throttling, which depends on the speed of the host.  A 0 fixes the rate. */
	write_sysctl("perf_cpu_time_max_percent", "25");
	write_sysctl("perf_event_max_sample_rate", "10000000");
	write_sysctl("perf_cpu_time_max_percent", "0");
	setvbuf(stdout, NULL, _IOLBF, 0);
	which_cpu();
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "log=", 4))
			hashed = 1;
		else
			test_log(argv[i] + 4);
	test_counts();
	sample("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 10007, 7);
	sample("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000, 0);
	/* The PMI of a branch is taken at its target */
	sample("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1009, -1);
	/* 2 cycles per instruction */
	sample("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 2002, 1);
	test_rdpmc();
	test_threads();
	test_model();
	if (hashed) {
		int fd = perf_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, -1, 0, 1);

		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		for (int i = 0; i < 1000; i++)
			syscall(SYS_getppid);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		printf("# hash of all IPs %lx, with the kernel %lu\n", (unsigned long)hash,
		       (unsigned long)value(fd));
	}
	printf("1..%d\n", tests);
	return failed != 0;
}
