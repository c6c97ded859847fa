/* SPDX-License-Identifier: GPL-2.0-only */
/* A strict reader of the trace event format: JSON by RFC 8259, with what the tests use of it. */
#ifndef KPMU_TEST_TRACE_H
#define KPMU_TEST_TRACE_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct trace_event - an event of a trace
 * @ph: its phase: X a slice, C a value, M a name
 * @name: its name
 * @arg: args.name
 * @pid: process
 * @tid: thread
 * @ts: time, us
 * @dur: duration, us
 * @value: args["per second"]
 */
struct trace_event {
	char ph[4], name[64], arg[64];
	int pid, tid;
	double ts, dur, value;
};

/* The text that is still to be read; NULL after an error */
static const char *trace_at;
static struct trace_event *trace;
static int trace_nr;

static inline bool json_is(char c)
{
	if (!trace_at)
		return false;
	while (*trace_at && strchr(" \t\r\n", *trace_at))
		trace_at++;
	if (*trace_at != c)
		return false;
	trace_at++;
	return true;
}

static inline void json_need(bool good)
{
	if (!good)
		trace_at = NULL;
}

/* One character of a string; what follows \u stays as it is */
static inline char json_char(void)
{
	char c = *trace_at++;

	if ((unsigned char)c < 0x20 || (unsigned char)c > 0x7e) {
		trace_at = NULL;
	} else if (c == '\\') {
		c = *trace_at++;
		if (c == 'u')
			for (int i = 0; i < 4 && trace_at; i++)
				json_need(isxdigit(*trace_at++));
		else
			json_need(c && strchr("\"\\/bfnrt", c));
	}
	return c;
}

static inline void json_string(char *to, size_t size)
{
	size_t n = 0;
	char c;

	json_need(json_is('"'));
	while (trace_at && *trace_at != '"') {
		c = json_char();
		if (to && n + 1 < size)
			to[n++] = c;
	}
	if (to && size)
		to[n] = 0;
	if (trace_at)
		trace_at++;
}

static inline double json_number(void)
{
	const char *begin = trace_at;
	char *end;
	double v;

	if (!trace_at)
		return 0;
	v = strtod(trace_at, &end);
	/* Neither 01 nor .5, 0x1, inf or nan */
	begin += *begin == '-';
	json_need(isdigit(*begin) && !(*begin == '0' && isalnum(begin[1])));
	if (trace_at)
		trace_at = end;
	return v;
}

static inline void json_value(void);

/* Calls @each for each key, which reads the value */
static inline void json_object(void (*each)(const char *key, void *data), void *data)
{
	char key[64];

	json_need(json_is('{'));
	if (json_is('}'))
		return;
	do {
		json_string(key, sizeof(key));
		json_need(json_is(':'));
		each(key, data);
	} while (json_is(','));
	json_need(json_is('}'));
}

static inline void json_skip(const char *key, void *data)
{
	json_value();
}

static inline void json_array(void (*each)(const char *key, void *data))
{
	json_need(json_is('['));
	if (json_is(']'))
		return;
	do {
		each(NULL, NULL);
	} while (json_is(','));
	json_need(json_is(']'));
}

static inline void json_value(void)
{
	json_is(' ');
	if (!trace_at)
		return;
	if (*trace_at == '{')
		json_object(json_skip, NULL);
	else if (*trace_at == '[')
		json_array(json_skip);
	else if (*trace_at == '"')
		json_string(NULL, 0);
	else
		json_number();		/* no true, false or null in our files */
}

static inline void trace_arg(const char *key, void *data)
{
	struct trace_event *e = data;

	if (!strcmp(key, "name"))
		json_string(e->arg, sizeof(e->arg));
	else if (!strcmp(key, "per second"))
		e->value = json_number();
	else
		json_value();
}

static inline void trace_field(const char *key, void *data)
{
	struct trace_event *e = data;

	if (!strcmp(key, "ph"))
		json_string(e->ph, sizeof(e->ph));
	else if (!strcmp(key, "name"))
		json_string(e->name, sizeof(e->name));
	else if (!strcmp(key, "pid"))
		e->pid = json_number();
	else if (!strcmp(key, "tid"))
		e->tid = json_number();
	else if (!strcmp(key, "ts"))
		e->ts = json_number();
	else if (!strcmp(key, "dur"))
		e->dur = json_number();
	else if (!strcmp(key, "args"))
		json_object(trace_arg, e);
	else
		json_value();
}

static inline void trace_one(const char *key, void *data)
{
	if (!(trace_nr & (trace_nr - 1)))
		trace = realloc(trace, (trace_nr ? 2 * trace_nr : 1) * sizeof(*trace));
	memset(&trace[trace_nr], 0, sizeof(*trace));
	json_object(trace_field, &trace[trace_nr++]);
}

static inline void trace_top(const char *key, void *data)
{
	if (!strcmp(key, "traceEvents"))
		json_array(trace_one);
	else
		json_value();
}

/* The contents of a file, NULL if it cannot be read */
static inline char *file_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f)
		return NULL;
	n = getdelim(&text, &size, 0, f);
	fclose(f);
	return n < 0 ? NULL : text;
}

/* Read a file; false if it is not well formed.  Its events are in trace */
static inline bool read_trace(const char *path)
{
	char *text = file_text(path);

	trace_at = text;
	trace_nr = 0;
	if (text)
		json_object(trace_top, NULL);
	json_is(' ');
	if (trace_at && *trace_at)
		trace_at = NULL;
	free(text);
	return trace_at;
}

#endif
