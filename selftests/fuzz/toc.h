/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a program as C code that uses lib/event.h, for the report of a difference. */
#ifndef KPMU_FUZZ_TOC_H
#define KPMU_FUZZ_TOC_H

#include "exec.h"

static inline void c_attr(FILE *f, const struct op *op)
{
	const struct field *d = &field[op->code == OP_SET ? op->arg[0] : 0];

	switch (op->code) {
	case OP_ATTR:
		fprintf(f, "\tmemset(&x, 0, sizeof(x));\n\tx.a.type = %lld;\n",
			(long long)op->arg[0]);
		fprintf(f, "\tx.a.config = %#llx;\n\tx.a.size = PERF_ATTR_SIZE_VER7;\n",
			(long long)op->arg[1]);
		break;
	case OP_TRACE:
		fprintf(f, "\tmemset(&x, 0, sizeof(x));\n\tx.a.type = PERF_TYPE_TRACEPOINT;\n");
		fprintf(f, "\tx.a.config = read_long(\"/sys/kernel/tracing/events/%s/id\");\n",
			trace_name[op->arg[0] % TRACEPOINTS]);
		fprintf(f, "\tx.a.size = PERF_ATTR_SIZE_VER7;\n");
		break;
	case OP_SET:
		fprintf(f, "\tany_put(&x, %d, %d, %#llx);\t/* %s */\n", d->at, d->bytes,
			(long long)op->arg[1], d->name);
		break;
	default:
		fprintf(f, "\tany_flag(&x, %lld);\t/* %s */\n", (long long)op->arg[0],
			flag_name[op->arg[0]]);
	}
}

static inline void c_open(FILE *f, const int64_t *a)
{
	fprintf(f, "\tPUT(%lld, ev_open(&x.a, ", (long long)a[0]);
	if (a[4] & PERF_FLAG_PID_CGROUP)
		fprintf(f, "group[%lld].fd, ", (long long)a[1]);
	else if (a[1] >= 1 && a[1] <= WORKERS)
		fprintf(f, "w[%lld].pid, ", (long long)a[1] - 1);
	else
		fprintf(f, "%lld, ", (long long)a[1]);
	if (a[3] < 0)
		fprintf(f, "%lld, -1, %lld));\n", (long long)a[2], (long long)a[4]);
	else
		fprintf(f, "%lld, fd[%lld], %lld));\n", (long long)a[2], (long long)a[3],
			(long long)a[4]);
}

static inline void c_ioctl(FILE *f, const int64_t *a)
{
	fprintf(f, "\tioctl(fd[%lld], PERF_EVENT_IOC_%s, ", (long long)a[0],
		ioctl_name[a[1]]);
	switch (a[1]) {
	case C_PERIOD:
		fprintf(f, "&(uint64_t){ %#llx });\n", (long long)a[2]);
		break;
	case C_ID:
		fprintf(f, "v);\n");
		break;
	case C_MODIFY:
		fprintf(f, "&x);\n");
		break;
	case C_FILTER:
		fprintf(f, "\"%s\");\n", filter[a[2] & 7]);
		break;
	case C_OUTPUT:
		if (a[2] >= 0) {
			fprintf(f, "fd[%lld]);\n", (long long)a[2]);
			break;
		}
		/* fall through */
	default:
		fprintf(f, "%lld);\n", (long long)a[2]);
	}
}

static inline void c_op(FILE *f, const struct op *op)
{
	const int64_t *a = op->arg;
	char line[160];

	switch (op->code) {
	case OP_ATTR:
	case OP_TRACE:
	case OP_SET:
	case OP_FLAG:
		c_attr(f, op);
		break;
	case OP_OPEN:
		c_open(f, a);
		break;
	case OP_IOCTL:
		c_ioctl(f, a);
		break;
	case OP_CLOSE:
		fprintf(f, "\tclose(fd[%lld]);\n\tfd[%lld] = -1;\n", (long long)a[0],
			(long long)a[0]);
		break;
	case OP_READ:
		fprintf(f, "\tread(fd[%lld], v, %lld);\n", (long long)a[0], (long long)a[1]);
		break;
	case OP_WORK:
		fprintf(f, "\twork(%lld);\n", (long long)a[0]);
		break;
	case OP_SPAWN:
		fprintf(f, "\tworker_start(&w[%lld]);\n", (long long)a[0]);
		break;
	case OP_GO:
		fprintf(f, "\tworker_run(&w[%lld], %lld);\n", (long long)a[0],
			(long long)a[1]);
		break;
	case OP_DUP:
		fprintf(f, "\tPUT(%lld, dup(fd[%lld]));\n", (long long)a[1],
			(long long)a[0]);
		break;
	case OP_HIT:
		fprintf(f, "\tfor (int i = 0; i < %lld; i++)\n\t\tgetppid();\n",
			(long long)a[0]);
		break;
	case OP_PRCTL:
		fprintf(f, "\tprctl(PR_TASK_PERF_EVENTS_%s);\n", a[0] ? "ENABLE" : "DISABLE");
		break;
	default:
		op_print(line, op);
		fprintf(f, "\t/* %s: see exec.h */\n", line);
	}
}

/**
 * to_c() - print a program as the body of a test
 * @f: output
 * @p: the program
 */
static inline void to_c(FILE *f, const struct prog *p)
{
	fprintf(f, "/* An fd that takes the place of another one closes it */\n"
		"#define PUT(n, new) do { int got = (new); if (got >= 0) { close(fd[n]); fd[n] = got; } } while (0)\n"
		"\tunion any_attr x;\n\tstruct worker w[%d];\n\tuint64_t v[48];\n"
		"\tint fd[%d];\n\n\tmemset(&x, 0, sizeof(x));\n\tmemset(fd, 0xff, sizeof(fd));\n",
		WORKERS, SLOTS);
	for (int i = 0; i < p->nr; i++)
		c_op(f, &p->op[i]);
	fprintf(f, "\n");
	fflush(f);
}

#endif
