/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_TIMELINE_TOOL_H
#define KPMU_TIMELINE_TOOL_H

#include <stdio.h>

#include "stat.h"

#define MAX_COUNTERS	32	/* of a CPU, as struct kpmu_info_counter numbers them */
#define FIRST_FIXED	16
#define NOTHING		(-1)
#define UNKNOWN		(KPMU_SET_NONE - 1)	/* a count */

/* A task in the lane of a CPU */
struct task {
	int tid, pid, next;
	char comm[16];
};

/* What a task or an event was on from one time to another, in ns since the beginning */
struct slice {
	uint64_t begin, end;
	int what;		/* number of the task or event */
};

/* Slices that do not overlap, in order of time */
struct lane {
	struct slice *slice;
	int nr, room;
};

/**
 * struct cpu_track - what is known of a CPU
 * @cpu: its number
 * @counters: its general counters, a bit each
 * @tasks: those that ran
 * @on: for each counter the events that had it
 * @times: when the counts were taken; in ns since the beginning
 * @counts: of all events at each of @times
 * @nr: number of @times
 * @step: least distance of @times, ns
 * @last: time of the last record
 */
struct cpu_track {
	int cpu;
	uint32_t counters;
	struct lane tasks, on[MAX_COUNTERS];
	uint64_t *times, *counts;
	int nr;
	uint64_t step, last;
};

/**
 * struct capture - a run of the program
 * @name: "kpmu" or "native perf"
 * @how: how it was recorded, in words
 * @has_tasks: the lanes of tasks are known
 * @begin: CLOCK_MONOTONIC, ns
 * @length: duration, ns; UINT64_MAX until it is known
 * @cpus: the CPUs
 * @nr_cpus: their number
 * @records: number of records
 * @lost: number of lost records
 * @switches: number of switches of tasks
 * @changes: how often an event got or lost a counter
 */
struct capture {
	const char *name, *how;
	bool has_tasks;
	uint64_t begin, length;
	struct cpu_track *cpus;
	int nr_cpus;
	uint64_t records, lost, switches, changes;
};

/* What was run, and what was counted */
extern struct kpmu_event events[MAX_EVENTS];
extern int nr_events;
extern char *command;

/* timeline-capture.c */
uint64_t clock_ns(void);
void begin_capture(struct capture *c);
void end_capture(struct capture *c, uint64_t end);
uint64_t time_in(const struct capture *c, uint64_t ns);
void lane_set(struct lane *lane, uint64_t at, int what);
void track_owners(struct capture *c, struct cpu_track *t, uint64_t at, const uint8_t *where);
void track_counts(struct cpu_track *t, uint64_t at, const uint64_t *counts, bool always);
void track_moment(struct capture *c, const struct kpmu_moment *m);
double count_at(const struct cpu_track *t, int event, double at);
const struct task *task_of(int i);
const char *counter_name(int counter);
bool shows_counter(const struct cpu_track *t, int counter);

/* timeline-native.c */
bool record_native(struct capture *c, char **argv);

/* timeline-json.c */
void write_json(FILE *f, const struct capture *captures, int nr);

/* timeline-page.c */
void write_page(FILE *f, const struct capture *captures, int nr);

/* timeline-draw.c */
void put_html(FILE *f, const char *text);
void put_style(FILE *f);
double draw_capture(FILE *f, const struct capture *c, const double *most, double y);
void set_scale(double length);
double draw_legend(FILE *f, double y);
void rates_of(const struct capture *c, const struct cpu_track *t, int event, double *rate);

#define BINS		350	/* of a rate */
#define WIDTH		1240	/* of the picture */

#endif
