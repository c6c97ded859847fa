/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reader of rings: takes records out one by one, whole, and checks that they
 * lie end to end up to data_head.
 */
#ifndef KPMU_TEST_RING_H
#define KPMU_TEST_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/kpmu.h>

/* From newer headers than Debian 12's */
#define RECORD_MAX_TYPE	22

struct ring {
	struct perf_event_attr attr;
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t size;
	uint64_t pos;
	bool read_only;
};

struct record {
	struct perf_event_header head;
	uint8_t body[65536 - 8];	/* what follows the header */
} __attribute__((aligned(8)));

/* The trailer of a record, what of it there is */
struct whose {
	uint32_t pid, tid;
	uint64_t time, id, stream_id;
	uint32_t cpu, cpu_pad;
	uint64_t identifier;
	int bytes;
};

/* Map the ring of an event opened with @attr: so many pages of records */
void ring_map(struct ring *r, int fd, const struct perf_event_attr *attr,
	      int pages);
/* The same, read-only: old records give way to new ones */
void ring_map_read_only(struct ring *r, int fd,
			const struct perf_event_attr *attr, int pages);
void ring_unmap(struct ring *r);
/* The next record; false when there is none.  Ends the test if it is malformed. */
bool ring_next(struct ring *r, struct record *rec);
/* The next of a type, others are skipped */
bool ring_find(struct ring *r, struct record *rec, uint32_t type);
/* How many of a type there are from here on */
int ring_count(struct ring *r, uint32_t type);
/* What was read may be overwritten */
void ring_consume(struct ring *r);
/* Skip what is there */
void ring_skip(struct ring *r);

/* The parts of a sample; what was not asked for is 0 */
struct parts {
	uint64_t identifier, ip;
	uint32_t pid, tid;
	uint64_t time, addr, id, stream_id;
	uint32_t cpu, cpu_pad;
	uint64_t period;
	const uint64_t *read;		/* the words of a read(2) */
	int read_words;
	uint64_t nr;			/* of the call chain */
	const uint64_t *chain;
	uint32_t raw_size;
	const uint8_t *raw;
	uint64_t user_abi;
	const uint64_t *user_regs;
	uint64_t stack_size, stack_dyn;
	const uint8_t *stack;
	uint64_t weight, data_src, transaction;
	uint64_t intr_abi;
	const uint64_t *intr_regs;
	uint64_t phys_addr, cgroup, data_page, code_page, aux_size;
	const uint64_t *aux;
};

/* Take it apart; ends the test if the parts are not as long as the whole */
struct parts record_sample(const struct ring *r, const struct record *rec);

/* Bytes between header and trailer; the trailer itself */
int record_size(const struct ring *r, const struct record *rec);
struct whose record_whose(const struct ring *r, const struct record *rec);

uint64_t record_u64(const struct record *rec, int at);
uint32_t record_u32(const struct record *rec, int at);
uint16_t record_u16(const struct record *rec, int at);
const char *record_str(const struct record *rec, int at);
const char *record_name(uint32_t type);

/*
 * The same on the kernel's own perf, beside whatever the route is: an event that
 * counts nothing but has the side-band that @attr asks for.
 */
int native_dummy(const struct perf_event_attr *attr, pid_t pid, int cpu);

#endif
