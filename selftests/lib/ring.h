/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reader of ring buffers: copies records one by one, and checks that they follow each other
 * without gaps up to data_head.
 */
#ifndef KPMU_TEST_RING_H
#define KPMU_TEST_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/kpmu.h>

/* PERF_RECORD_CALLCHAIN_DEFERRED, which the headers of Debian 12 lack */
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
	uint8_t body[65536 - 8];	/* everything after the header */
} __attribute__((aligned(8)));

/* struct sample_id, the trailer of a side-band record; absent fields are 0 */
struct whose {
	uint32_t pid, tid;
	uint64_t time, id, stream_id;
	uint32_t cpu, cpu_pad;
	uint64_t identifier;
	int bytes;
};

/* Map the ring buffer of an event opened with @attr: @pages data pages; skip old records */
void ring_map(struct ring *r, int fd, const struct perf_event_attr *attr,
	      int pages);
/* Map the ring buffer read-only: new records overwrite old ones */
void ring_map_read_only(struct ring *r, int fd,
			const struct perf_event_attr *attr, int pages);
void ring_unmap(struct ring *r);
/* Copy the next record; false if there is none.  Exits if the record is malformed. */
bool ring_next(struct ring *r, struct record *rec);
/* The next record of @type; skips all others */
bool ring_find(struct ring *r, struct record *rec, uint32_t type);
/* Number of records of @type from the read position on; advances it to the end */
int ring_count(struct ring *r, uint32_t type);
/* Set data_tail: the kernel may overwrite the records that were read */
void ring_consume(struct ring *r);
/* Skip all present records */
void ring_skip(struct ring *r);

/* The parts of a sample; those not in sample_type are 0 */
struct parts {
	uint64_t identifier, ip;
	uint32_t pid, tid;
	uint64_t time, addr, id, stream_id;
	uint32_t cpu, cpu_pad;
	uint64_t period;
	const uint64_t *read;		/* in the layout of read(2) */
	int read_words;
	uint64_t nr;			/* entries of @chain */
	const uint64_t *chain;
	uint32_t raw_size;
	const uint8_t *raw;
	uint64_t nr_branches, branch_index;
	const void *branches;		/* entries of three words */
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

/* Parse a sample; exits if the length of the parts differs from the size of the record */
struct parts record_sample(const struct ring *r, const struct record *rec);

/* Number of bytes between header and trailer; the trailer */
int record_size(const struct ring *r, const struct record *rec);
struct whose record_whose(const struct ring *r, const struct record *rec);

uint64_t record_u64(const struct record *rec, int at);
uint32_t record_u32(const struct record *rec, int at);
uint16_t record_u16(const struct record *rec, int at);
const char *record_str(const struct record *rec, int at);
const char *record_name(uint32_t type);

/*
 * Open a native dummy event, whatever the route is.  It counts nothing, but writes the
 * side-band records that @attr requests.
 */
int native_dummy(const struct perf_event_attr *attr, pid_t pid, int cpu);

#endif
