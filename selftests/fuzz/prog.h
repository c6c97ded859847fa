/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fuzzer program is a sequence of operations, in memory or as text with one operation per
 * line.  An attr is built by several operations, so that minimise() can remove its fields
 * one at a time.
 */
#ifndef KPMU_FUZZ_PROG_H
#define KPMU_FUZZ_PROG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attr.h"

#define PROG_OPS	96
#define SLOTS		8	/* event fds of a program */
#define WORKERS		2
#define OP_ARGS		5

enum opcode {
	OP_ATTR, OP_SET, OP_FLAG, OP_OPEN, OP_CLOSE, OP_IOCTL, OP_READ, OP_WORK, OP_SPAWN,
	OP_GO, OP_WFORK, OP_WEXEC, OP_WEXIT, OP_FORK, OP_THREAD, OP_EXEC, OP_PRCTL, OP_PIN,
	OP_MAP, OP_UNMAP, OP_RECORDS, OP_DUP, OP_PASS, OP_POLL, OP_OWN, OP_TRACE, OP_SOURCE,
	OP_AUX, OP_PAGE, OP_HIT, OP_TOUCH, OP_CGROUP, OP_MANY, OP_SWEEP,
	OP_NR,
};

struct op {
	enum opcode code;
	int64_t arg[OP_ARGS];
};

struct prog {
	int nr;
	struct op op[PROG_OPS];
};

/*
 * @args has a letter for each argument: n any number, f a field of the attr, b a flag of the
 * attr, c an ioctl; with bounds, see arg_values(): s a slot, w a worker, d a depth of forks,
 * r any other number.
 */
struct op_kind {
	const char *name, *args;
};

static const struct op_kind op_kind[OP_NR] = {
	[OP_ATTR] = { "attr", "nn" },		/* type config */
	[OP_SET] = { "set", "fn" },
	[OP_FLAG] = { "flag", "b" },
	[OP_OPEN] = { "open", "snnnn" },	/* slot target cpu group flags */
	[OP_CLOSE] = { "close", "s" },		/* slot */
	[OP_IOCTL] = { "ioctl", "scn" },	/* slot command argument */
	[OP_READ] = { "read", "sr" },		/* slot bytes */
	[OP_WORK] = { "work", "r" },		/* rounds */
	[OP_SPAWN] = { "spawn", "w" },		/* worker */
	[OP_GO] = { "go", "wr" },		/* worker rounds */
	[OP_WFORK] = { "wfork", "wr" },		/* worker rounds */
	[OP_WEXEC] = { "wexec", "w" },		/* worker */
	[OP_WEXIT] = { "wexit", "w" },		/* worker */
	[OP_FORK] = { "fork", "rd" },		/* rounds depth */
	[OP_THREAD] = { "thread", "r" },	/* rounds */
	[OP_EXEC] = { "exec", "" },
	[OP_PRCTL] = { "prctl", "n" },		/* 1 enable, 0 disable */
	[OP_PIN] = { "pin", "n" },		/* cpu */
	[OP_MAP] = { "map", "srn" },		/* slot pages writable */
	[OP_UNMAP] = { "unmap", "s" },		/* slot */
	[OP_RECORDS] = { "records", "s" },	/* slot */
	[OP_DUP] = { "dup", "ss" },		/* from to */
	[OP_PASS] = { "pass", "ss" },		/* from to */
	[OP_POLL] = { "poll", "s" },		/* slot */
	[OP_OWN] = { "own", "s" },		/* slot: request SIGIO */
	[OP_TRACE] = { "trace", "r" },		/* like attr: index in trace_name[] */
	[OP_SOURCE] = { "source", "" },		/* like attr: fault_trace, kpmu only */
	[OP_AUX] = { "aux", "sr" },		/* slot pages */
	[OP_PAGE] = { "page", "s" },		/* slot: read the user page, then the fd */
	[OP_HIT] = { "hit", "r" },		/* calls of getppid(2) */
	[OP_TOUCH] = { "touch", "r" },		/* pages to fault in */
	[OP_CGROUP] = { "cgroup", "rr" },	/* task (0 self, 1.. worker) cgroup */
	[OP_MANY] = { "many", "nnnr" },		/* siblings: target cpu group number */
	[OP_SWEEP] = { "sweep", "ssnrr" },	/* slot other first step what: see do_sweep() */
};

/* The operation during which a sweep's event overflows */
enum { SWEEP_SWITCH, SWEEP_READ, SWEEP_PRCTL, SWEEP_FORK, SWEEP_EXEC, SWEEP_PERIOD, SWEEP_RESET };

#define SWEPT_PERIOD	(1 << 28)	/* at least that of an event that does not overflow in a sweep */

/* Does this operation create tasks? */
static inline int sweep_is_of_tasks(int what)
{
	return what == SWEEP_FORK || what == SWEEP_EXEC;
}

/* Possible targets of an open with PERF_FLAG_PID_CGROUP; 0 is the root cgroup */
#define CGROUPS		3

#define TRACEPOINTS	7
static const char *const trace_name[TRACEPOINTS] = {
	"syscalls/sys_enter_getppid", "syscalls/sys_exit_getppid", "raw_syscalls/sys_enter",
	"sched/sched_process_fork", "sched/sched_process_exec", "task/task_newtask",
	"sched/sched_switch",
};

/* Tracepoint ids on this kernel, 0 if it has no such tracepoint; attr.type of fault_trace */
static uint64_t trace_id[TRACEPOINTS];
static uint32_t fault_trace_type;

struct field {
	const char *name;
	int at, bytes;
};

static const struct field field[] = {
	{ "size", AT_SIZE, 4 },
	{ "sample_period", AT_PERIOD, 8 },
	{ "sample_type", AT_SAMPLE_TYPE, 8 },
	{ "read_format", AT_READ_FORMAT, 8 },
	{ "wakeup", AT_WAKEUP, 4 },
	{ "bp_type", AT_BP_TYPE, 4 },
	{ "config1", AT_CONFIG1, 8 },
	{ "config2", AT_CONFIG2, 8 },
	{ "branch_sample_type", AT_BRANCH, 8 },
	{ "sample_regs_user", AT_REGS_USER, 8 },
	{ "sample_stack_user", AT_STACK_USER, 4 },
	{ "clockid", AT_CLOCKID, 4 },
	{ "sample_regs_intr", AT_REGS_INTR, 8 },
	{ "aux_watermark", AT_AUX_WATERMARK, 4 },
	{ "sample_max_stack", AT_MAX_STACK, 2 },
	{ "reserved_2", AT_RESERVED_2, 2 },
	{ "aux_sample_size", AT_AUX_SAMPLE_SIZE, 4 },
	{ "aux_action", AT_AUX_ACTION, 4 },
	{ "sig_data", AT_SIG_DATA, 8 },
	{ "config3", AT_CONFIG3, 8 },
};

static const char *const flag_name[] = {
	"disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel",
	"exclude_hv", "exclude_idle", "mmap", "comm", "freq", "inherit_stat",
	"enable_on_exec", "task", "watermark", "precise_0", "precise_1", "mmap_data",
	"sample_id_all", "exclude_host", "exclude_guest", "exclude_callchain_kernel",
	"exclude_callchain_user", "mmap2", "comm_exec", "use_clockid", "context_switch",
	"write_backward", "namespaces", "ksymbol", "bpf_event", "aux_output", "cgroup",
	"text_poke", "build_id", "inherit_thread", "remove_on_exec", "sigtrap",
	"defer_callchain", "defer_output", "reserved",
};

enum { C_ENABLE, C_DISABLE, C_REFRESH, C_RESET, C_PERIOD, C_OUTPUT, C_FILTER, C_ID, C_BPF,
	C_PAUSE, C_QUERY, C_MODIFY, C_BAD, C_NR };
static const char *const ioctl_name[C_NR] = {
	"ENABLE", "DISABLE", "REFRESH", "RESET", "PERIOD", "SET_OUTPUT", "SET_FILTER", "ID",
	"SET_BPF", "PAUSE_OUTPUT", "QUERY_BPF", "MODIFY_ATTRIBUTES", "UNKNOWN",
};

static const unsigned long ioctl_code[C_NR] = {
	PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_REFRESH,
	PERF_EVENT_IOC_RESET, PERF_EVENT_IOC_PERIOD, PERF_EVENT_IOC_SET_OUTPUT,
	PERF_EVENT_IOC_SET_FILTER, PERF_EVENT_IOC_ID, PERF_EVENT_IOC_SET_BPF,
	PERF_EVENT_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_QUERY_BPF,
	PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 0x2499,
};

/* The name of argument @i if its kind has names, else NULL */
static inline const char *arg_name(const struct op *op, int i)
{
	int64_t v = op->arg[i];

	switch (op_kind[op->code].args[i]) {
	case 'f':
		return field[v].name;
	case 'b':
		return flag_name[v];
	case 'c':
		return ioctl_name[v];
	}
	return NULL;
}

/**
 * op_print() - format an operation as a line of text, without the newline
 * @buf: output; 128 bytes are enough
 * @op: the operation
 *
 * Return: number of characters written.
 */
static inline int op_print(char *buf, const struct op *op)
{
	const struct op_kind *k = &op_kind[op->code];
	int len = sprintf(buf, "%s", k->name), i;
	const char *name;

	for (i = 0; k->args[i]; i++) {
		name = arg_name(op, i);
		if (name)
			len += sprintf(buf + len, " %s", name);
		else if (op->arg[i] > 4096)
			len += sprintf(buf + len, " %#llx", (long long)op->arg[i]);
		else
			len += sprintf(buf + len, " %lld", (long long)op->arg[i]);
	}
	return len;
}

static inline void prog_print(FILE *f, const struct prog *p)
{
	char line[160];
	int i;

	for (i = 0; i < p->nr; i++) {
		op_print(line, &p->op[i]);
		fprintf(f, "%s\n", line);
	}
}

#define ARG_DEEP	3
#define ARG_FAR		0xffff

/* Number of valid values of a kind of argument, starting at 0; 0 if any value is valid */
static inline int64_t arg_values(char kind)
{
	switch (kind) {
	case 's':
		return SLOTS;
	case 'w':
		return WORKERS;
	case 'd':
		return ARG_DEEP + 1;
	case 'r':
		return ARG_FAR + 1;
	case 'f':
		return ARRAY_SIZE(field);
	case 'b':
		return ARRAY_SIZE(flag_name);
	case 'c':
		return C_NR;
	}
	return 0;
}

static inline int arg_good(char kind, int64_t v)
{
	return !arg_values(kind) || (v >= 0 && v < arg_values(kind));
}

static inline int name_index(const char *const *names, int nr, const char *what)
{
	for (int i = 0; i < nr; i++)
		if (!strcmp(names[i], what))
			return i;
	return -1;
}

static inline int64_t arg_parse(char kind, const char *word)
{
	switch (kind) {
	case 'f':
		for (int i = 0; i < (int)ARRAY_SIZE(field); i++)
			if (!strcmp(field[i].name, word))
				return i;
		return -1;
	case 'b':
		return name_index(flag_name, ARRAY_SIZE(flag_name), word);
	case 'c':
		return name_index(ioctl_name, C_NR, word);
	}
	return strtoull(word, NULL, 0);
}

/**
 * op_parse() - parse a line of text
 * @op: output
 * @line: the text; modified
 *
 * Return: 0; 1 for an empty line or a comment (#); -1 for an invalid line.
 */
static inline int op_parse(struct op *op, char *line)
{
	char *save, *word = strtok_r(line, "\n ", &save);
	const char *args;
	int i;

	memset(op, 0, sizeof(*op));
	if (!word || *word == '#')
		return 1;
	for (i = 0; i < OP_NR && strcmp(op_kind[i].name, word); i++)
		;
	if (i == OP_NR)
		return -1;
	op->code = i;
	args = op_kind[i].args;
	for (i = 0; args[i]; i++) {
		word = strtok_r(NULL, "\n ", &save);
		if (!word)
			return -1;
		op->arg[i] = arg_parse(args[i], word);
		if (!arg_good(args[i], op->arg[i]))
			return -1;
	}
	return 0;
}

/**
 * prog_load() - read a program from a file of text
 * @p: output
 * @path: the file
 *
 * Return: 0, or -1 if the file cannot be opened or has an invalid line.
 */
static inline int prog_load(struct prog *p, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];
	int err = 0;

	p->nr = 0;
	if (!f)
		return -1;
	while (err >= 0 && p->nr < PROG_OPS && fgets(line, sizeof(line), f)) {
		err = op_parse(&p->op[p->nr], line);
		if (!err)
			p->nr++;
	}
	fclose(f);
	return err < 0 ? -1 : 0;
}

/* Apply an operation to the attr; operations that do not concern the attr are ignored */
static inline void attr_op(union any_attr *x, const struct op *op)
{
	switch (op->code) {
	case OP_ATTR:
		memset(x, 0, sizeof(*x));
		x->a.type = op->arg[0];
		x->a.config = op->arg[1];
		x->a.size = PERF_ATTR_SIZE_VER7;
		break;
	case OP_TRACE:
		memset(x, 0, sizeof(*x));
		x->a.type = PERF_TYPE_TRACEPOINT;
		x->a.config = trace_id[op->arg[0] % TRACEPOINTS];
		x->a.size = PERF_ATTR_SIZE_VER7;
		break;
	case OP_SOURCE:
		memset(x, 0, sizeof(*x));
		x->a.type = fault_trace_type;
		x->a.size = PERF_ATTR_SIZE_VER7;
		break;
	case OP_SET:
		any_put(x, field[op->arg[0]].at, field[op->arg[0]].bytes, op->arg[1]);
		break;
	case OP_FLAG:
		any_flag(x, op->arg[0]);
		break;
	default:
		break;
	}
}

#endif
