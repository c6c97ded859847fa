// SPDX-License-Identifier: GPL-2.0-only
/*
 * A profiler by BPF: a program runs at each overflow and writes a record to a bpf-output event.
 *
 *	bpf ioctl|link
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../lib/bpf.h"
#include "client.h"

#define ROUNDS	250006		/* 1,000,027 instructions */
#define PERIOD	100000
#define PAGE	4096

static int open_on_cpu(struct perf_event_attr *a, int pid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, a, pid, cpu, -1, 0);

	if (fd < 0)
		perror("perf_event_open");
	return fd;
}

static int put_into(int array, uint32_t key, uint32_t fd)
{
	union bpf_attr a = {
		.map_fd = array, .key = (uintptr_t)&key, .value = (uintptr_t)&fd,
	};

	return sys_bpf(BPF_MAP_UPDATE_ELEM, &a);
}

/* The record has the number of the run */
static int load_program(int map, int array)
{
	return BUILD(BPF_PROG_TYPE_PERF_EVENT, map,
		     STORE(10, 8, -16),
		     COPY(1, 7), MAP(2, array),
		     INSN(BPF_ALU | BPF_MOV | BPF_K, 3, 0, 0, -1),	/* BPF_F_CURRENT_CPU */
		     COPY(4, 10), ADD(4, -16), SET(5, 8),
		     CALL(BPF_FUNC_perf_event_output),
		     SET(8, 0));
}

static int attach(const char *how, int prog, int fd)
{
	union bpf_attr a = {
		.link_create = { .prog_fd = prog, .target_fd = fd, .attach_type = BPF_PERF_EVENT },
	};

	if (!strcmp(how, "link"))
		return sys_bpf(BPF_LINK_CREATE, &a);
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog);
}

/* The number of records, and whether those of the runs are in order */
static int show(const char *how, struct perf_event_mmap_page *page)
{
	const char *data = (char *)page + PAGE;
	uint64_t at, n = 0, run;
	int in_order = 1;

	for (at = 0; at < page->data_head; n++) {
		const struct perf_event_header *h = (void *)(data + at);

		/* 32 bits of size, then the data of the program */
		memcpy(&run, (char *)(h + 1) + 4, sizeof(run));
		in_order &= h->type == PERF_RECORD_SAMPLE && run == n;
		at += h->size;
	}
	printf("%s: %d records%s\n", how, (int)n, in_order ? ", in order" : "");
	return 0;
}

int main(int argc, char **argv)
{
	struct perf_event_attr a = client_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	struct perf_event_attr out = client_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT);
	const char *how = argc > 1 ? argv[1] : "ioctl";
	int map = words_map(), array = new_map_of(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 1), fd, to;
	cpu_set_t one = { 0 };
	void *ring;

	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	a.sample_period = PERIOD;
	out.disabled = out.exclude_kernel = out.exclude_hv = 0;
	out.sample_type = PERF_SAMPLE_RAW;
	out.sample_period = out.wakeup_events = 1;
	fd = open_on_cpu(&a, 0, -1);
	to = open_on_cpu(&out, -1, 0);
	if (fd < 0 || to < 0)
		return 1;
	ring = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, to, 0);
	if (ring == MAP_FAILED || put_into(array, 0, to)) {
		perror("bpf-output");
		return 1;
	}
	if (attach(how, load_program(map, array), fd) < 0) {
		perror(how);
		return 1;
	}
	work_counted(fd, ROUNDS, 0);
	return show(how, ring);
}
