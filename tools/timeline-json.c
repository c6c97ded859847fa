// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-timeline: the trace event format in JSON, which Perfetto reads: a process for each CPU, with a
 * thread for its tasks, one for each counter, and a counter track for each event.
 */
#include "timeline.h"

#define TASKS_TID	1
#define COUNTER_TID	100

static FILE *out;
static const char *separator;

/* Bytes that are not ASCII may be of any encoding: as Latin-1 they are always well formed */
static void put_json(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	fputc('"', out);
	for (; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20 || *c >= 0x7f)
			fprintf(out, "\\u%04x", *c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static void next_event(const char *phase, int pid)
{
	fprintf(out, "%s\n{\"ph\":\"%s\",\"pid\":%d", separator, phase, pid);
	separator = ",";
}

/* A time in us */
static void put_time(const char *key, uint64_t ns)
{
	fprintf(out, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000),
		(unsigned int)(ns % 1000));
}

static void put_names(int pid, int tid, const char *what, const char *name, const char *more)
{
	char text[96];

	snprintf(text, sizeof(text), "%s%s", name, more);
	next_event("M", pid);
	fprintf(out, ",\"tid\":%d,\"name\":\"%s_name\",\"args\":{\"name\":", tid, what);
	put_json(text);
	fputs("}}", out);
	next_event("M", pid);
	fprintf(out, ",\"tid\":%d,\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%d}}", tid,
		what, tid ? tid : pid);
}

static void begin_slice(int pid, int tid, const struct slice *s, const char *name)
{
	next_event("X", pid);
	fprintf(out, ",\"tid\":%d", tid);
	put_time("ts", s->begin);
	put_time("dur", s->end - s->begin);
	fputs(",\"name\":", out);
	put_json(name);
}

static void put_tasks(int pid, const struct lane *lane)
{
	int i;

	put_names(pid, TASKS_TID, "thread", "tasks", "");
	for (i = 0; i < lane->nr; i++) {
		const struct task *task = task_of(lane->slice[i].what);

		begin_slice(pid, TASKS_TID, &lane->slice[i],
			    task->comm[0] ? task->comm : "(not in this pid namespace)");
		fprintf(out, ",\"args\":{\"tid\":%d,\"pid\":%d}}", task->tid, task->pid);
	}
}

static void put_counter(int pid, int counter, const struct lane *lane)
{
	int i, tid = COUNTER_TID + counter;

	put_names(pid, tid, "thread", counter_name(counter), "");
	for (i = 0; i < lane->nr; i++) {
		begin_slice(pid, tid, &lane->slice[i], events[lane->slice[i].what].name);
		fputc('}', out);
	}
}

static void put_rate(int pid, uint64_t at, int event, double rate)
{
	next_event("C", pid);
	put_time("ts", at);
	fputs(",\"name\":", out);
	put_json(events[event].name);
	fprintf(out, ",\"args\":{\"per second\":%.0f}}", rate);
}

/* The rate from one time to the next, where it changes */
static void put_rates(int pid, const struct cpu_track *t, int event)
{
	double rate, last = -1;
	uint64_t before, after;
	int i;

	for (i = 0; i + 1 < t->nr; i++) {
		before = t->counts[i * nr_events + event];
		after = t->counts[(i + 1) * nr_events + event];
		rate = after > before ?
		       (after - before) * 1e9 / (t->times[i + 1] - t->times[i]) : 0;
		if (rate != last)
			put_rate(pid, t->times[i], event, rate);
		last = rate;
	}
	put_rate(pid, t->nr ? t->times[t->nr - 1] : 0, event, 0);
}

static void put_cpu(const struct capture *c, int pid, const struct cpu_track *t)
{
	char name[32];
	int i;

	snprintf(name, sizeof(name), "CPU %d", t->cpu);
	put_names(pid, 0, "process", name, c->has_tasks ? "" : " (native perf)");
	if (c->has_tasks)
		put_tasks(pid, &t->tasks);
	for (i = 0; i < MAX_COUNTERS; i++)
		if (shows_counter(t, i))
			put_counter(pid, i, &t->on[i]);
	for (i = 0; i < nr_events; i++)
		put_rates(pid, t, i);
}

/**
 * write_json() - write all that was recorded
 * @f: the file
 * @captures: the runs
 * @nr: number of runs
 */
void write_json(FILE *f, const struct capture *captures, int nr)
{
	int i, j, pid = 1;

	out = f;
	separator = "";
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"command\":", f);
	put_json(command);
	fprintf(f, ",\"begin\":\"%llu\",\"records\":\"%llu\",\"lost\":\"%llu\"},\"traceEvents\":[",
		(unsigned long long)captures->begin, (unsigned long long)captures->records,
		(unsigned long long)captures->lost);
	for (i = 0; i < nr; i++)
		for (j = 0; j < captures[i].nr_cpus; j++)
			put_cpu(&captures[i], pid++, &captures[i].cpus[j]);
	fputs("\n]}\n", f);
}
