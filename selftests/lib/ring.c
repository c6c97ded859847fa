// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"
#include "ring.h"

#define PAGE	4096

static void fail(const char *what, uint64_t a, uint64_t b)
{
	printf("# ring: %s (%#llx, %#llx)\n", what, (unsigned long long)a,
	       (unsigned long long)b);
	exit(1);
}

static void map(struct ring *r, int fd, const struct perf_event_attr *attr,
		int pages, int prot)
{
	void *p = mmap(NULL, (pages + 1) * PAGE, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		printf("# mmap of the ring: %s\n", strerror(errno));
		exit(1);
	}
	*r = (struct ring) {
		.attr = *attr, .page = p, .data = (uint8_t *)p + PAGE,
		.size = pages * PAGE, .read_only = !(prot & PROT_WRITE),
	};
	ring_skip(r);
}

void ring_map(struct ring *r, int fd, const struct perf_event_attr *attr,
	      int pages)
{
	map(r, fd, attr, pages, PROT_READ | PROT_WRITE);
}

void ring_map_read_only(struct ring *r, int fd,
			const struct perf_event_attr *attr, int pages)
{
	map(r, fd, attr, pages, PROT_READ);
}

void ring_unmap(struct ring *r)
{
	munmap(r->page, r->size + PAGE);
}

static uint64_t head(struct ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

static void copy(struct ring *r, void *to, uint64_t pos, uint64_t len)
{
	uint64_t at = pos % r->size;
	uint64_t n = at + len > r->size ? r->size - at : len;

	memcpy(to, r->data + at, n);
	memcpy((uint8_t *)to + n, r->data, len - n);
}

bool ring_next(struct ring *r, struct record *rec)
{
	uint64_t left = head(r) - r->pos;

	if (!left)
		return false;
	if (left < sizeof(rec->head) || left > r->size)
		fail("head is off", r->pos, r->pos + left);
	copy(r, &rec->head, r->pos, sizeof(rec->head));
	if (rec->head.size < sizeof(rec->head) || rec->head.size % 8 ||
	    rec->head.size > left)
		fail("size of a record", rec->head.type, rec->head.size);
	if (!rec->head.type || rec->head.type > RECORD_MAX_TYPE)
		fail("type of a record", rec->head.type, rec->head.size);
	copy(r, rec->body, r->pos + sizeof(rec->head),
	     rec->head.size - sizeof(rec->head));
	r->pos += rec->head.size;
	return true;
}

bool ring_find(struct ring *r, struct record *rec, uint32_t type)
{
	while (ring_next(r, rec))
		if (rec->head.type == type)
			return true;
	return false;
}

int ring_count(struct ring *r, uint32_t type)
{
	static struct record rec;
	int n = 0;

	while (ring_find(r, &rec, type))
		n++;
	return n;
}

void ring_consume(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->pos, __ATOMIC_RELEASE);
}

void ring_skip(struct ring *r)
{
	r->pos = head(r);
	if (!r->read_only)
		ring_consume(r);
}

struct whose record_whose(const struct ring *r, const struct record *rec)
{
	const uint64_t *p = (const void *)((const uint8_t *)rec + rec->head.size);
	uint64_t type = r->attr.sample_type;
	struct whose w = { 0 };
	const uint64_t *end = p;

	if (!r->attr.sample_id_all)
		return w;
	if (type & PERF_SAMPLE_IDENTIFIER)
		w.identifier = *--p;
	if (type & PERF_SAMPLE_CPU) {
		w.cpu = *--p;
		w.cpu_pad = *p >> 32;
	}
	if (type & PERF_SAMPLE_STREAM_ID)
		w.stream_id = *--p;
	if (type & PERF_SAMPLE_ID)
		w.id = *--p;
	if (type & PERF_SAMPLE_TIME)
		w.time = *--p;
	if (type & PERF_SAMPLE_TID) {
		w.pid = *--p;
		w.tid = *p >> 32;
	}
	w.bytes = (end - p) * 8;
	return w;
}

int record_size(const struct ring *r, const struct record *rec)
{
	return rec->head.size - sizeof(rec->head) - record_whose(r, rec).bytes;
}

uint64_t record_u64(const struct record *rec, int at)
{
	uint64_t v;

	memcpy(&v, rec->body + at, sizeof(v));
	return v;
}

uint32_t record_u32(const struct record *rec, int at)
{
	uint32_t v;

	memcpy(&v, rec->body + at, sizeof(v));
	return v;
}

uint16_t record_u16(const struct record *rec, int at)
{
	uint16_t v;

	memcpy(&v, rec->body + at, sizeof(v));
	return v;
}

const char *record_str(const struct record *rec, int at)
{
	return (const char *)rec->body + at;
}

const char *record_name(uint32_t type)
{
	static const char *const names[RECORD_MAX_TYPE + 1] = {
		"0", "MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE",
		"FORK", "READ", "SAMPLE", "MMAP2", "AUX", "ITRACE_START",
		"LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES",
		"KSYMBOL", "BPF_EVENT", "CGROUP", "TEXT_POKE",
		"AUX_OUTPUT_HW_ID", "CALLCHAIN_DEFERRED",
	};

	return type <= RECORD_MAX_TYPE ? names[type] : "?";
}

/* Number of u64 words at @p, which are in the layout of read(2) with this read_format */
static int read_words(const struct perf_event_attr *a, const uint64_t *p)
{
	uint64_t f = a->read_format;
	int times = !!(f & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(f & PERF_FORMAT_TOTAL_TIME_RUNNING);
	int each = 1 + !!(f & PERF_FORMAT_ID) + !!(f & PERF_FORMAT_LOST);

	return f & PERF_FORMAT_GROUP ? 1 + times + *p * each : times + each;
}

static const uint64_t *take_front(struct parts *s, uint64_t type,
				  const uint64_t *p)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		s->identifier = *p++;
	if (type & PERF_SAMPLE_IP)
		s->ip = *p++;
	if (type & PERF_SAMPLE_TID) {
		s->pid = *p;
		s->tid = *p++ >> 32;
	}
	if (type & PERF_SAMPLE_TIME)
		s->time = *p++;
	if (type & PERF_SAMPLE_ADDR)
		s->addr = *p++;
	if (type & PERF_SAMPLE_ID)
		s->id = *p++;
	if (type & PERF_SAMPLE_STREAM_ID)
		s->stream_id = *p++;
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = *p;
		s->cpu_pad = *p++ >> 32;
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = *p++;
	return p;
}

static const uint64_t *take_stack(struct parts *s, const uint64_t *p)
{
	s->stack_size = *p++;
	if (!s->stack_size)
		return p;
	s->stack = (const uint8_t *)p;
	p += s->stack_size / 8;
	s->stack_dyn = *p++;
	return p;
}

static const uint64_t *take_variable(struct parts *s,
				     const struct perf_event_attr *a,
				     const uint64_t *p)
{
	uint64_t type = a->sample_type;

	if (type & PERF_SAMPLE_READ) {
		s->read = p;
		s->read_words = read_words(a, p);
		p += s->read_words;
	}
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->nr = *p++;
		s->chain = p;
		p += s->nr;
	}
	if (type & PERF_SAMPLE_RAW) {
		s->raw_size = *p;
		s->raw = (const uint8_t *)p + 4;
		p += (s->raw_size + 4 + 7) / 8;
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		s->nr_branches = *p++;
		if (a->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			s->branch_index = *p++;
		s->branches = p;
		p += s->nr_branches * 3;
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		s->user_abi = *p++;
		s->user_regs = p;
		if (s->user_abi)
			p += __builtin_popcountll(a->sample_regs_user);
	}
	if (type & PERF_SAMPLE_STACK_USER)
		p = take_stack(s, p);
	return p;
}

static const uint64_t *take_rest(struct parts *s,
				 const struct perf_event_attr *a,
				 const uint64_t *p)
{
	uint64_t type = a->sample_type;

	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		s->weight = *p++;
	if (type & PERF_SAMPLE_DATA_SRC)
		s->data_src = *p++;
	if (type & PERF_SAMPLE_TRANSACTION)
		s->transaction = *p++;
	if (type & PERF_SAMPLE_REGS_INTR) {
		s->intr_abi = *p++;
		s->intr_regs = p;
		if (s->intr_abi)
			p += __builtin_popcountll(a->sample_regs_intr);
	}
	if (type & PERF_SAMPLE_PHYS_ADDR)
		s->phys_addr = *p++;
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = *p++;
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		s->data_page = *p++;
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		s->code_page = *p++;
	if (type & PERF_SAMPLE_AUX) {
		s->aux_size = *p++;
		s->aux = p;
		p += s->aux_size / 8;
	}
	return p;
}

struct parts record_sample(const struct ring *r, const struct record *rec)
{
	const uint64_t *p = (const void *)rec->body;
	const uint8_t *end = (const uint8_t *)rec + rec->head.size;
	struct parts s = { 0 };

	if (rec->head.type != PERF_RECORD_SAMPLE)
		fail("not a sample", rec->head.type, rec->head.size);
	p = take_front(&s, r->attr.sample_type, p);
	p = take_variable(&s, &r->attr, p);
	p = take_rest(&s, &r->attr, p);
	if ((const uint8_t *)p != end)
		fail("a sample is not as long as its parts",
		     (const uint8_t *)p - (const uint8_t *)rec, rec->head.size);
	return s;
}

int native_dummy(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	struct perf_event_attr a = *attr;
	int fd;

	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	fd = syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		printf("# native dummy: %s\n", strerror(errno));
		exit(1);
	}
	return fd;
}
