// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "pair.h"

struct perf_event_attr pair_attr(void)
{
	struct perf_event_attr attr = ev_attr(PERF_TYPE_HARDWARE,
					      PERF_COUNT_HW_INSTRUCTIONS);

	attr.sample_type = WHOSE;
	attr.sample_id_all = 1;
	return attr;
}

void pair_open(struct pair *p, const struct perf_event_attr *attr, pid_t pid,
	       int cpu, int pages)
{
	/* Both records name the CPU: the task must not migrate between their writes */
	if (!pid)
		pin_to(sched_getcpu());
	else if (pid > 0 && cpu < 0)
		pin_task(pid, 0);
	p->fd = ev_must(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	p->native_fd = native_dummy(attr, pid, cpu);
	ring_map(&p->ours, p->fd, attr, pages);
	ring_map(&p->native, p->native_fd, attr, pages);
	p->id = ev_id(p->fd);
	p->native_id = ev_id(p->native_fd);
}

void pair_close(struct pair *p)
{
	ring_unmap(&p->ours);
	ring_unmap(&p->native);
	close(p->fd);
	close(p->native_fd);
}

/* For the two ioctls: a preemption between them would leave records in one ring only */
static void set_policy(int policy, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, policy, &param))
		printf("# sched_setscheduler: %m\n");
}

void pair_enable(struct pair *p)
{
	set_policy(SCHED_FIFO, 1);
	ev_enable(p->fd);
	ev_enable(p->native_fd);
	set_policy(SCHED_OTHER, 0);
}

void pair_disable(struct pair *p)
{
	set_policy(SCHED_FIFO, 1);
	ev_disable(p->native_fd);
	ev_disable(p->fd);
	set_policy(SCHED_OTHER, 0);
}

void pair_rewind(struct pair *p)
{
	p->ours.pos = p->ours.page->data_tail;
	p->native.pos = p->native.page->data_tail;
}

static bool next_of(struct ring *r, struct record *rec, uint64_t types)
{
	while (ring_next(r, rec))
		if (types >> rec->head.type & 1)
			return true;
	return false;
}

static void show(const char *whose, const struct record *rec)
{
	int i;

	printf("# %s: %s misc %#x size %u:", whose, record_name(rec->head.type),
	       rec->head.misc, rec->head.size);
	for (i = 0; i < rec->head.size - 8 && i < 160; i += 8)
		printf(" %llx", (unsigned long long)record_u64(rec, i));
	printf("\n");
}

/* FORK and EXIT carry a timestamp in the body, too */
static void clear_times(struct record *rec)
{
	if (rec->head.type == PERF_RECORD_FORK ||
	    rec->head.type == PERF_RECORD_EXIT)
		memset(rec->body + 16, 0, 8);
}

static bool same_whose(const struct whose *a, const struct whose *b)
{
	return a->bytes == b->bytes && a->pid == b->pid && a->tid == b->tid &&
	       a->cpu == b->cpu && !a->cpu_pad && a->identifier == a->id &&
	       b->identifier == b->id;
}

static bool same(struct pair *p, struct record *a, struct record *b)
{
	struct whose wa = record_whose(&p->ours, a);
	struct whose wb = record_whose(&p->native, b);

	clear_times(a);
	clear_times(b);
	return !memcmp(&a->head, &b->head, sizeof(a->head)) &&
	       !memcmp(a->body, b->body, record_size(&p->ours, a)) &&
	       same_whose(&wa, &wb) && wa.id == p->id && wb.id == p->native_id;
}

int pair_compare(struct pair *p, uint64_t types)
{
	static struct record a, b;
	uint64_t last = 0;
	int n = 0;

	for (;;) {
		bool more = next_of(&p->ours, &a, types);

		if (more != next_of(&p->native, &b, types)) {
			show(more ? "only ours" : "only native", more ? &a : &b);
			return -1;
		}
		if (!more)
			return n;
		if (!same(p, &a, &b)) {
			printf("# record %d differs\n", n);
			show("ours", &a);
			show("native", &b);
			return -1;
		}
		/* The records of one task or one CPU are in time order */
		if (record_whose(&p->ours, &a).time < last) {
			show("goes back in time", &a);
			return -1;
		}
		last = record_whose(&p->ours, &a).time;
		n++;
	}
}
