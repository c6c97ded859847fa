// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native perf as the driver of the model's precise events: the instruction pointers and
 * registers of samples are compared with the assembly below.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

/* ---- the program: 8 instructions a round, one load, one store, one branch ------------ */

#define ROUND 8

void work(long n, void *data);
extern char w_loop[], w_load[], w_store[], w_add[], w_nop[], w_inc[], w_nop2[], w_dec[], w_jnz[];
asm("work:\n"
    "	xorl %eax, %eax\n"
    "w_loop:\n"
    "w_load: movq (%rsi), %rdx\n"
    "w_store: movq %rax, 8(%rsi)\n"
    "w_add: addq $3, %rax\n"
    "w_nop: nop\n"
    "w_inc: incq %r8\n"
    "w_nop2: nopw (%rax)\n"
    "w_dec: decq %rdi\n"
    "w_jnz: jnz w_loop\n"
    "	ret\n");

static char *const insns[ROUND] = { w_load, w_store, w_add, w_nop, w_inc, w_nop2, w_dec, w_jnz };
static uint64_t data[8] __attribute__((aligned(64)));

/* ---- perf ------------------------------------------------------------------------------ */

#define PAGES 64

struct ring {
	int fd, leader;			/* leader: -1 or an event to group with */
	struct perf_event_mmap_page *p;
};

static int open_event(struct ring *r, struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->exclude_kernel = 1;
	r->fd = syscall(SYS_perf_event_open, attr, 0, -1, r->leader, 0);
	if (r->fd < 0)
		return 0;
	r->p = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	return r->p != MAP_FAILED;
}

static void close_event(struct ring *r)
{
	munmap(r->p, (1 + PAGES) * 4096);
	close(r->fd);
}

/* Copy the next record; returns 0 at the end */
static int next(struct ring *r, void *buf)
{
	uint64_t tail = r->p->data_tail, head = __atomic_load_n(&r->p->data_head, __ATOMIC_ACQUIRE);
	const char *base = (char *)r->p + 4096;
	struct perf_event_header h;
	uint64_t i;

	if (tail == head)
		return 0;
	for (i = 0; i < sizeof(h); i++)
		((char *)&h)[i] = base[(tail + i) % (PAGES * 4096)];
	for (i = 0; i < h.size; i++)
		((char *)buf)[i] = base[(tail + i) % (PAGES * 4096)];
	__atomic_store_n(&r->p->data_tail, tail + h.size, __ATOMIC_RELEASE);
	return 1;
}

static void run(struct ring *r, long rounds)
{
	ioctl(r->fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(r->fd, PERF_EVENT_IOC_ENABLE, 0);
	work(rounds, data);
	ioctl(r->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static int index_of(uint64_t ip)
{
	for (int i = 0; i < ROUND; i++)
		if (ip == (uint64_t)insns[i])
			return i;
	return -1;
}

static long read_long(const char *path)
{
	FILE *f = fopen(path, "r");
	long v = -1;

	if (f) {
		if (fscanf(f, "%ld", &v) != 1)
			v = -1;
		fclose(f);
	}
	return v;
}

/* ---- tests --------------------------------------------------------------------------------- */

static void offered(int fmt)
{
	static char log[1 << 18];
	char want[32];
	int n = klogctl(3, log, sizeof(log) - 1);

	snprintf(want, sizeof(want), fmt == 4 ? "PEBS fmt4+-baseline" : "PEBS fmt%d+", fmt);
	check(n > 0 && strstr(log, want), "the kernel says %s", want);
	check(read_long("/sys/bus/event_source/devices/cpu/caps/max_precise") == 3,
	      "max_precise is %ld", read_long("/sys/bus/event_source/devices/cpu/caps/max_precise"));
}

/*
 * Samples of an event at each precise_ip: all must be at @at (NULL: anywhere in the loop),
 * and be marked as exact.
 */
static void samples(const char *name, uint64_t config, int type, int precise, long period,
		    long want, const char *at)
{
	struct perf_event_attr attr = {
		.type = type, .config = config, .sample_period = period,
		.precise_ip = precise, .sample_type = PERF_SAMPLE_IP,
	};
	struct { struct perf_event_header h; uint64_t ip, more[64]; } s;
	long nr = 0, bad = 0, lost = 0;
	struct ring r = { .leader = -1 };

	if (!open_event(&r, &attr)) {
		check(0, "%s, precise_ip %d: cannot be opened", name, precise);
		return;
	}
	run(&r, 100000);
	while (next(&r, &s)) {
		if (s.h.type != PERF_RECORD_SAMPLE) {
			lost++;
			continue;
		}
		nr++;
		if ((index_of(s.ip) < 0 || (at && s.ip != (uint64_t)at) ||
		     !(s.h.misc & PERF_RECORD_MISC_EXACT_IP)) && bad++ < 3)
			printf("# ip %lx, work is at %lx\n", (long)s.ip, (long)work);
	}
	close_event(&r);
	/* the last samples of a large buffer arrive when the event is disabled */
	check(nr >= want - 2 && nr <= want + 2 && bad <= 1 && !lost,
	      "%s, precise_ip %d: %ld samples (%ld), %ld elsewhere, %ld lost", name, precise, nr,
	      want, bad, lost);
}

/* The registers of a sample are those after its instruction */
static void registers(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .config = 0xc0, .sample_period = 1009, .precise_ip = 2,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_INTR,
		/* ax bx cx dx si di bp sp ip flags: bits 0 to 9 */
		.sample_regs_intr = 1 << 0 | 1 << 4 | 1 << 5,
	};
	struct { struct perf_event_header h; uint64_t ip, abi, ax, si, di, more[64]; } s;
	long nr = 0, bad = 0, n = 100000;
	struct ring r = { .leader = -1 };

	if (!open_event(&r, &attr)) {
		check(0, "registers: cannot be opened");
		return;
	}
	run(&r, n);
	while (next(&r, &s)) {
		int i = index_of(s.ip);
		/* %rdi rounds are left before DEC; %rax is 3 for each ADD */
		long left = s.di + (i >= 6), adds = n - left + (i >= 2);

		if (s.h.type != PERF_RECORD_SAMPLE || i < 0)
			continue;
		nr++;
		if (s.ax != 3 * (uint64_t)adds || s.si != (uint64_t)data) {
			if (bad++ < 3)
				printf("# insn %d: ax %lu di %lu\n", i, (long)s.ax, (long)s.di);
		}
	}
	close_event(&r);
	check(nr > 700 && !bad, "registers: %ld samples, %ld with other registers", nr, bad);
}

static int src_wrong(union perf_mem_data_src src, int store, int latency)
{
	if (!(src.mem_op & (store ? PERF_MEM_OP_STORE : PERF_MEM_OP_LOAD)))
		return 1;
	/* Linux shows no level of loads without a latency */
	return (store || latency) &&
	       (src.mem_lvl & (PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1)) !=
	       (PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1);
}

/* Addresses and sources of loads and stores; @leader: see struct ring */
static void memory(const char *name, uint64_t config, uint64_t config1, const char *at,
		   uint64_t addr, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .config = config, .config1 = config1, .sample_period = 101,
		.precise_ip = 2,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT |
			       PERF_SAMPLE_DATA_SRC,
	};
	struct {
		struct perf_event_header h;
		uint64_t ip, addr, weight;
		union perf_mem_data_src src;
		uint64_t more[64];
	} s;
	struct ring r = { .leader = leader };
	long nr = 0, bad = 0;

	if (!open_event(&r, &attr)) {
		check(0, "%s: cannot be opened", name);
		return;
	}
	run(&r, 20000);
	while (next(&r, &s)) {
		if (s.h.type != PERF_RECORD_SAMPLE || index_of(s.ip) < 0)
			continue;
		nr++;
		bad += s.ip != (uint64_t)at || s.addr != addr ||
		       (config1 && s.weight != 4) ||
		       src_wrong(s.src, at == w_store, config1 != 0);
		if (bad == 1)
			printf("# ip %lx addr %lx weight %lu source %lx\n", (long)s.ip, (long)s.addr,
			       (long)s.weight, (long)s.src.val);
	}
	close_event(&r);
	check(nr > 190 && !bad, "%s: %ld samples, %ld wrong", name, nr, bad);
}

/* On Sapphire Rapids Linux wants latencies in a group with this event */
static int aux_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .config = 0x8203, .size = sizeof(attr),
		.exclude_kernel = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Arguments: the format, "aux" for Sapphire Rapids */
int main(int argc, char **argv)
{
	int fmt = argc > 1 ? atoi(argv[1]) : 3, aux = argc > 2;
	long n = 100000 * ROUND;

	offered(fmt);
	for (int p = 2; p <= 3; p++) {
		samples("instructions", PERF_COUNT_HW_INSTRUCTIONS, PERF_TYPE_HARDWARE, p, 1009,
			n / (p == 3 ? 1009 : 1010), NULL);
		samples("cycles", PERF_COUNT_HW_CPU_CYCLES, PERF_TYPE_HARDWARE, p, 10007,
			n * 2 / 10007, NULL);
	}
	/* 800 is a multiple of a round: always the same instruction */
	samples("branches", 0xc4, PERF_TYPE_RAW, 2, 100, n / ROUND / 101, w_jnz);
	samples("loads", 0x81d0, PERF_TYPE_RAW, 2, 100, n / ROUND / 101, w_load);
	samples("stores", 0x82d0, PERF_TYPE_RAW, 2, 100, n / ROUND / 101, w_store);
	registers();
	memory("loads", 0x81d0, 0, w_load, (uint64_t)data, -1);
	memory("stores", 0x82d0, 0, w_store, (uint64_t)data + 8, -1);
	memory("latency of loads", 0x1cd, 3, w_load, (uint64_t)data, aux ? aux_event() : -1);
	printf("1..%d\n", tests);
	return failed != 0;
}
