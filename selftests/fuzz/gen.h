/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generates a program from a seed.  Most programs are valid or have a single error.  All
 * random choices come from rnd(), so that a seed always gives the same program.
 */
#ifndef KPMU_FUZZ_GEN_H
#define KPMU_FUZZ_GEN_H

#include "prog.h"

struct gen {
	uint64_t state;
	struct prog *p;
	int alone;		/* for kpmu only, not to be compared with native perf */
	int execs;		/* tests the effect of exec on groups */
	int open;		/* bitmap of the slots with an event */
	int target[SLOTS], cpu[SLOTS];	/* of the event in each slot */
	int spawned;		/* bitmap of the started workers */
};

static inline uint64_t rnd(struct gen *g)
{
	uint64_t z = g->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline int below(struct gen *g, int n)
{
	return rnd(g) % n;
}

static inline int percent(struct gen *g, int p)
{
	return below(g, 100) < p;
}

#define PICK(g, ...) ({							\
	static const int64_t __pick[] = { __VA_ARGS__ };		\
	__pick[below(g, ARRAY_SIZE(__pick))]; })

static inline void emit(struct gen *g, enum opcode code, int64_t a, int64_t b, int64_t c,
			int64_t d, int64_t e)
{
	if (g->p->nr < PROG_OPS)
		g->p->op[g->p->nr++] = (struct op) { code, { a, b, c, d, e } };
}

static inline void emit_set(struct gen *g, int at, int64_t value)
{
	for (int i = 0; i < (int)ARRAY_SIZE(field); i++)
		if (field[i].at == at)
			emit(g, OP_SET, i, value, 0, 0, 0);
}

static inline void emit_flag(struct gen *g, int bit, int p)
{
	if (percent(g, p))
		emit(g, OP_FLAG, bit, 0, 0, 0, 0);
}

/* Choose the type and config of an event; returns 1 if it only occurs in the kernel */
static inline int gen_kind(struct gen *g)
{
	switch (below(g, g->alone ? 24 : 22)) {
	case 0 ... 11:
		emit(g, OP_ATTR, PERF_TYPE_HARDWARE, PICK(g, 1, 1, 1, 4, 4, 0, 5, 2, 9, 10),
		     0, 0, 0);
		break;
	case 12 ... 14:
		emit(g, OP_ATTR, PERF_TYPE_SOFTWARE,
		     PICK(g, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12), 0, 0, 0);
		break;
	case 15:
		emit(g, OP_ATTR, PERF_TYPE_HW_CACHE,
		     PICK(g, 0, 0x10000, 0x100, 1, 2, 0x10002, 3, 0x10003, 5, 7), 0, 0, 0);
		break;
	case 16 ... 17:
		emit(g, OP_ATTR, PERF_TYPE_RAW, PICK(g, 0xc4, 0xc0, 0x81d0, 0x82d0, 0x5300c0,
						     0xffff), 0, 0, 0);
		break;
	case 18:
		emit(g, OP_ATTR, PERF_TYPE_BREAKPOINT, 0, 0, 0, 0);
		emit_set(g, AT_BP_TYPE, PICK(g, 2, 3, 3, 2, 1, 4, 0));
		emit_set(g, AT_CONFIG1, PICK(g, 0, 8, 16, 64, 1));
		emit_set(g, AT_CONFIG2, PICK(g, 1, 2, 4, 8, 8, 3));
		break;
	case 19 ... 20:
		emit(g, OP_TRACE, below(g, TRACEPOINTS), 0, 0, 0, 0);
		return 1;
	case 22 ... 23:
		emit(g, OP_SOURCE, 0, 0, 0, 0, 0);
		break;
	default:
		emit(g, OP_ATTR, PICK(g, 3, 7, 99), 0, 0, 0, 0);
	}
	return 0;
}

static inline void gen_sampling(struct gen *g)
{
	emit_set(g, AT_PERIOD, PICK(g, 100, 1000, 1000, 777, 5000, 1, 0));
	emit_flag(g, F_FREQ, 5);
	emit_set(g, AT_SAMPLE_TYPE, percent(g, 50) ?
		 PICK(g, 0, 1, 2, 3, 7, 0x100, 0x10000, 0x40, 0x10047, 0x13) :
		 1LL << below(g, 26) | (rnd(g) & 0x1ffffff & rnd(g) & rnd(g)));
	emit_flag(g, F_SAMPLE_ID_ALL, 30);
	emit_flag(g, F_WATERMARK, 10);
	if (percent(g, 40))
		emit_set(g, AT_WAKEUP, PICK(g, 1, 2, 10, 1000, 100000));
	emit_flag(g, F_WRITE_BACKWARD, 8);
	if (percent(g, 10)) {
		emit_flag(g, F_SIGTRAP, 100);
		emit_flag(g, F_REMOVE_ON_EXEC, 90);
		emit_set(g, AT_SIG_DATA, 7);
	}
	if (percent(g, 5))
		emit_set(g, AT_REGS_USER, PICK(g, 1, 0xff, 0xff0fff, -1));
	if (percent(g, 5))
		emit_set(g, AT_STACK_USER, PICK(g, 8, 256, 7, 65528));
	if (percent(g, 3))
		emit_set(g, AT_REGS_INTR, PICK(g, 1, 0xff0fff));
}

static inline void gen_rare(struct gen *g)
{
	switch (below(g, 10)) {
	case 0:
		emit_set(g, AT_SIZE, PICK(g, 64, 72, 80, 96, 104, 112, 120, 63, 0, 4096, 4097,
					  136));
		break;
	case 1:
		emit_flag(g, F_USE_CLOCKID, 80);
		emit_set(g, AT_CLOCKID, below(g, 13));
		break;
	case 2:
		emit_flag(g, PICK(g, F_RESERVED, F_DEFER_CALLCHAIN), 100);
		break;
	case 3:
		emit_set(g, AT_BRANCH, 1 << below(g, 20));
		break;
	case 4:
		emit_set(g, AT_AUX_WATERMARK, 4096);
		break;
	case 5:
		emit_set(g, AT_MAX_STACK, PICK(g, 1, 127, 128, 10000));
		break;
	case 6:
		emit_set(g, AT_RESERVED_2, 1);
		break;
	case 7:
		emit_set(g, AT_AUX_SAMPLE_SIZE, PICK(g, 8, 4096, 65536));
		break;
	case 8:
		emit_set(g, AT_READ_FORMAT, rnd(g) & 0x3f);
		break;
	case 9:
		emit_flag(g, F_PRECISE_0 + below(g, 2), 100);
		break;
	}
}

static inline void gen_attr(struct gen *g, int leader)
{
	static const int records[] = { F_MMAP, F_COMM, F_TASK, F_MMAP2, F_CONTEXT_SWITCH,
		F_NAMESPACES, F_KSYMBOL, F_BPF_EVENT, F_CGROUP, F_TEXT_POKE, F_BUILD_ID,
		F_MMAP_DATA, F_COMM_EXEC, F_INHERIT_STAT, F_AUX_OUTPUT };

	int in_kernel = gen_kind(g);

	emit_flag(g, F_EXCLUDE_KERNEL, in_kernel ? 10 : 92);
	emit_flag(g, F_EXCLUDE_HV, 50);
	emit_flag(g, F_DISABLED, leader ? 60 : 20);
	emit_flag(g, F_INHERIT, 30);
	emit_flag(g, F_INHERIT_THREAD, 5);
	emit_flag(g, F_PINNED, 8);
	emit_flag(g, F_EXCLUSIVE, 6);
	emit_flag(g, F_ENABLE_ON_EXEC, g->execs ? 40 : 10);
	emit_flag(g, F_REMOVE_ON_EXEC, g->execs ? 35 : 5);
	emit_flag(g, F_EXCLUDE_USER, 3);
	emit_flag(g, F_EXCLUDE_IDLE, 4);
	emit_flag(g, F_EXCLUDE_HOST, 2);
	emit_flag(g, F_EXCLUDE_GUEST, 5);
	emit_set(g, AT_READ_FORMAT, PICK(g, 3, 3, 3, 7, 11, 15, 0, 4, 8, 12, 19, 31, 1, 2));
	if (percent(g, 35))
		gen_sampling(g);
	if (percent(g, 15))
		emit_flag(g, records[below(g, ARRAY_SIZE(records))], 100);
	if (percent(g, 10))
		gen_rare(g);
}

/* Usually a slot with an event */
static inline int any_slot(struct gen *g)
{
	int slot = below(g, SLOTS), i;

	for (i = 0; i < SLOTS && !percent(g, 3); i++, slot = (slot + 1) % SLOTS)
		if (g->open >> slot & 1)
			break;
	return slot;
}

static inline void emit_open(struct gen *g, int slot, int target, int cpu, int group, int flags)
{
	emit(g, OP_OPEN, slot, target, cpu, group, flags);
	g->open |= 1 << slot;
	g->target[slot] = target;
	g->cpu[slot] = cpu;
}

static inline void gen_open(struct gen *g)
{
	int slot = below(g, SLOTS), group = -1, target = 0, cpu = -1, flags;

	if (g->open && percent(g, g->execs ? 75 : 45))
		group = any_slot(g);
	if (g->spawned && percent(g, g->execs ? 80 : 35))
		target = 1 + below(g, WORKERS);
	if (percent(g, 8))
		cpu = PICK(g, 0, 0, 0, 0, 4000, -2);
	if (percent(g, cpu >= 0 ? 50 : 2))
		target = PICK(g, -1, -1, -1, -2, 9);
	/* Usually a new attr, sometimes that of the previous open again */
	if (!g->p->nr || percent(g, 85))
		gen_attr(g, group < 0);
	flags = percent(g, 90) ? 0 : PICK(g, 8, 8, 1, 2, 3, 3, 4, 16, 9);
	if (percent(g, 6)) {
		flags |= PERF_FLAG_PID_CGROUP;
		target = below(g, CGROUPS);
		cpu = percent(g, 95) ? 0 : -1;
	}
	if (g->alone && percent(g, 15))
		target = 9;
	/* An open fails if the event has another target or CPU than its group */
	if (group >= 0 && percent(g, 90)) {
		target = g->target[group];
		cpu = g->cpu[group];
	}
	emit_open(g, slot, target, cpu, group, flags);
}

/* Add siblings to a group, in some cases beyond the limit on the size of a group's read */
static inline void gen_many(struct gen *g)
{
	int slot = any_slot(g);

	emit(g, OP_ATTR, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0, 0, 0);
	emit_set(g, AT_READ_FORMAT, PICK(g, 28, 28, 12, 8));
	emit(g, OP_MANY, g->target[slot], g->cpu[slot], slot,
	     PICK(g, 3, 20, 700, 700, 1100), 0);
}

static inline void gen_ioctl(struct gen *g)
{
	int cmd = PICK(g, C_ENABLE, C_ENABLE, C_ENABLE, C_DISABLE, C_DISABLE, C_RESET, C_RESET,
		       C_REFRESH, C_PERIOD, C_OUTPUT, C_OUTPUT, C_FILTER, C_ID, C_BPF, C_PAUSE,
		       C_QUERY, C_MODIFY, C_BAD);
	int64_t arg = 0;

	switch (cmd) {
	case C_ENABLE:
	case C_DISABLE:
	case C_RESET:
		arg = percent(g, 30) ? PICK(g, 1, 1, 1, 2, 3) : 0;
		break;
	case C_REFRESH:
		arg = PICK(g, 0, 1, 2, 3, 100);
		break;
	case C_PERIOD:
		arg = PICK(g, 1000, 777, 100, 1, 0, -1);
		break;
	case C_OUTPUT:
		arg = percent(g, 80) ? any_slot(g) : -1;
		break;
	case C_FILTER:
		arg = below(g, 8);
		break;
	case C_BPF:
		arg = -1;
		break;
	case C_PAUSE:
		arg = below(g, 2);
		break;
	}
	emit(g, OP_IOCTL, any_slot(g), cmd, arg, 0, 0);
}

static inline void gen_worker(struct gen *g)
{
	int w = below(g, WORKERS);

	/* Usually a worker that has been started */
	if (!(g->spawned >> w & 1) && g->spawned && percent(g, 80))
		w = !w;
	if (!(g->spawned >> w & 1) || percent(g, 5)) {
		emit(g, OP_SPAWN, w, 0, 0, 0, 0);
		g->spawned |= 1 << w;
		return;
	}
	switch (below(g, 10)) {
	case 0 ... 4:
		emit(g, OP_GO, w, 1 + below(g, 3000), 0, 0, 0);
		break;
	case 5 ... 6:
		emit(g, OP_WFORK, w, 1 + below(g, 1000), 0, 0, 0);
		break;
	case 7 ... 8:
		emit(g, OP_WEXEC, w, 0, 0, 0, 0);
		break;
	case 9:
		emit(g, OP_WEXIT, w, 0, 0, 0, 0);
		break;
	}
}

static inline void gen_family(struct gen *g)
{
	switch (below(g, 4)) {
	case 0:
		emit(g, OP_FORK, 1 + below(g, 1000), 0, 0, 0, 0);
		break;
	case 1:
		emit(g, OP_FORK, 1 + below(g, 1000), below(g, 4), 0, 0, 0);
		break;
	case 2:
		emit(g, OP_THREAD, 1 + below(g, 1000), 0, 0, 0, 0);
		break;
	case 3:
		emit(g, OP_EXEC, 0, 0, 0, 0, 0);
		break;
	}
}

static inline void gen_fd(struct gen *g)
{
	int from = any_slot(g), to = below(g, SLOTS);

	switch (below(g, 6)) {
	case 0:
		emit(g, OP_DUP, from, to, 0, 0, 0);
		break;
	case 1:
		emit(g, OP_PASS, from, to, 0, 0, 0);
		break;
	default:
		emit(g, OP_CLOSE, from, 0, 0, 0, 0);
		g->open &= ~(1 << from);
		return;
	}
	g->open |= 1 << to;
}

static inline void gen_ring(struct gen *g)
{
	int slot = any_slot(g);

	switch (below(g, 10)) {
	case 0 ... 2:
		emit(g, OP_MAP, slot, PICK(g, 1, 2, 4, 8, 8, 0, 3), percent(g, 90), 0, 0);
		break;
	case 3 ... 5:
		emit(g, OP_RECORDS, slot, 0, 0, 0, 0);
		break;
	case 6:
		emit(g, OP_UNMAP, slot, 0, 0, 0, 0);
		break;
	case 7:
		emit(g, percent(g, 50) ? OP_POLL : OP_OWN, slot, 0, 0, 0, 0);
		break;
	case 8:
		if (g->alone || percent(g, 20))
			emit(g, OP_AUX, slot, PICK(g, 1, 2, 4, 16, 3, 0), 0, 0, 0);
		break;
	case 9:
		emit(g, OP_PAGE, slot, 0, 0, 0, 0);
		break;
	}
}

/* System calls, page faults, and moves between cgroups */
static inline void gen_kernel(struct gen *g)
{
	switch (below(g, 3)) {
	case 0:
		emit(g, OP_HIT, 1 + below(g, 50), 0, 0, 0, 0);
		break;
	case 1:
		emit(g, OP_TOUCH, 1 + below(g, 20), 0, 0, 0, 0);
		break;
	case 2:
		emit(g, OP_CGROUP, g->spawned ? below(g, 1 + WORKERS) : 0,
		     below(g, CGROUPS), 0, 0, 0);
		break;
	}
}

static inline void gen_step(struct gen *g)
{
	switch (below(g, 100)) {
	case 0 ... 24:
		gen_open(g);
		break;
	case 25 ... 39:
		gen_ioctl(g);
		break;
	case 40 ... 54:
		emit(g, OP_READ, any_slot(g),
			     percent(g, 90) ? 384 : PICK(g, 0, 8, 16, 24, 32), 0, 0, 0);
		break;
	case 55 ... 58:
		gen_kernel(g);
		break;
	case 59 ... 66:
		emit(g, OP_WORK, 1 + below(g, 5000), 0, 0, 0, 0);
		break;
	case 67 ... 76:
		gen_worker(g);
		break;
	case 77 ... 82:
		gen_family(g);
		break;
	case 83 ... 87:
		gen_fd(g);
		break;
	case 88 ... 95:
		gen_ring(g);
		break;
	case 96 ... 98:
		emit(g, OP_PRCTL, below(g, 2), 0, 0, 0, 0);
		break;
	case 99:
		if (percent(g, 60))
			emit(g, OP_PIN, below(g, 2), 0, 0, 0, 0);
		else
			gen_many(g);
		break;
	}
}

/*
 * The event in slot 0 reads its group whenever it overflows, at each point of an operation that sets
 * the counter of the leader, in slot 1.
 */
static inline void gen_group_sweep(struct gen *g, int what)
{
	for (int slot = 1; slot >= 0; slot--) {
		emit(g, OP_ATTR, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 0);
		emit_flag(g, F_DISABLED, 100);
		emit_flag(g, F_EXCLUDE_KERNEL, 100 * slot);
		emit_set(g, AT_PERIOD, SWEPT_PERIOD);
		if (!slot) {
			emit_set(g, AT_SAMPLE_TYPE, PERF_SAMPLE_READ);
			emit_set(g, AT_READ_FORMAT, PERF_FORMAT_GROUP);
		}
		emit_open(g, slot, 0, -1, slot ? -1 : 1, 0);
	}
	emit(g, OP_MAP, 0, 1, 0, 0, 0);	/* read-only: never full */
	emit(g, OP_IOCTL, 1, C_ENABLE, 0, 0, 0);
	emit(g, OP_SWEEP, 0, 1, 100 + below(g, 15000), 1 + below(g, 2), what);
	emit(g, OP_READ, 1, 384, 0, 0, 0);
	emit(g, OP_UNMAP, 0, 0, 0, 0, 0);
}

/*
 * The event in slot 0 also counts in the kernel, and overflows at varying points of an
 * operation on the event in slot 1 or on its task; see do_sweep().
 */
static inline void gen_sweep(struct gen *g)
{
	int what = PICK(g, SWEEP_SWITCH, SWEEP_SWITCH, SWEEP_READ, SWEEP_PRCTL, SWEEP_FORK,
			SWEEP_EXEC, SWEEP_PERIOD, SWEEP_RESET);
	int in_tasks = sweep_is_of_tasks(what);

	if (what >= SWEEP_PERIOD) {
		gen_group_sweep(g, what);
		return;
	}
	for (int slot = 0; slot < 2; slot++) {
		emit(g, OP_ATTR, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 0);
		emit_flag(g, F_DISABLED, 100);
		if (slot) {
			emit_flag(g, F_EXCLUDE_KERNEL, 100);
			emit_flag(g, F_INHERIT, in_tasks ? 90 : 20);
		} else {
			emit_set(g, AT_PERIOD, 1000);
			emit_flag(g, F_INHERIT, 20);
		}
		emit_open(g, slot, 0, -1, -1, 0);
	}
	if (what != SWEEP_SWITCH)
		emit(g, OP_IOCTL, 1, C_ENABLE, 0, 0, 0);
	emit(g, OP_SWEEP, 0, 1, 100 + below(g, in_tasks ? 100000 : 10000),
	     1 + below(g, in_tasks ? 300 : 8), what);
	emit(g, OP_READ, 1, 384, 0, 0, 0);
}

#define STORM	12	/* times that a storm starts and stops its event */

/*
 * The event in slot 0 also counts in the kernel, and overflows every few hundred instructions of what
 * starts and stops it.  Such an event stops native perf.
 */
static inline void gen_storm(struct gen *g)
{
	emit(g, OP_ATTR, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, 0, 0);
	emit_flag(g, F_DISABLED, 100);
	emit_set(g, AT_PERIOD, 150 + below(g, percent(g, 50) ? 300 : 2000));
	emit_open(g, 0, 0, -1, -1, 0);
	for (int i = 0; i < STORM; i++) {
		emit(g, OP_IOCTL, 0, C_ENABLE, 0, 0, 0);
		emit(g, OP_IOCTL, 0, C_DISABLE, 0, 0, 0);
	}
}

/* Let all workers and a child call execve(2), then close an event */
static inline void gen_execs(struct gen *g)
{
	for (int w = 0; w < WORKERS; w++)
		if (g->spawned >> w & 1)
			emit(g, OP_WEXEC, w, 0, 0, 0, 0);
	emit(g, OP_EXEC, 0, 0, 0, 0, 0);
	emit(g, OP_CLOSE, any_slot(g), 0, 0, 0, 0);
	emit(g, OP_WORK, 1000, 0, 0, 0, 0);
}

/**
 * prog_random() - generate the program of a seed
 * @p: output
 * @seed: the seed
 * @alone: the program is for kpmu only, and may use what native perf does not have
 *
 * All events are read at the end, so that their counts are compared.  Some programs have a
 * subject, sweeps, storms or exec, because uniform random choices almost never give a combination
 * of several rare operations.
 */
static inline void prog_random(struct prog *p, uint64_t seed, int alone)
{
	struct gen g = { .state = seed * 0x2545f4914f6cdd1dULL, .p = p, .alone = alone };
	int steps = 4 + below(&g, 24), i;

	p->nr = 0;
	if (percent(&g, 8))
		gen_sweep(&g);
	else if (alone && percent(&g, 4))
		gen_storm(&g);
	g.execs = percent(&g, 15);
	if (g.execs)
		gen_worker(&g);
	gen_open(&g);
	for (i = 0; i < steps && p->nr < PROG_OPS - 24 - 2 * SLOTS; i++)
		gen_step(&g);
	if (g.execs)
		gen_execs(&g);
	for (i = 0; i < SLOTS; i++)
		if (g.open >> i & 1)
			emit(&g, OP_READ, i, 384, 0, 0, 0);
}

#endif
