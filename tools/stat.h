/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_STAT_H
#define KPMU_STAT_H

#include <stdbool.h>
#include <sys/resource.h>

#include "lib/libkpmu.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define MAX_EVENTS	64
#define MAX_TARGETS	1024

/**
 * struct sample - what is printed of an event, of one target or of all
 * @count: in the interval, or in all; with -r the mean of the runs
 * @deviation: with -r the standard error of the mean, in percent of it; else negative
 */
struct sample {
	struct kpmu_count count;
	double deviation;
};

/**
 * struct taken - the time that a program took, with -r on average
 * @elapsed: seconds
 * @user: seconds of CPU time in user mode, of the program and of those that it waited for
 * @system: likewise in the kernel
 */
struct taken {
	double elapsed, user, system;
};

enum format { TEXT, CSV, JSON };

/* tool.c */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void need_device(void);
void refused(const char *what, const struct kpmu_event *event, int err) __attribute__((noreturn));
uint64_t positive(const char *text, uint64_t max, const char *what);
int parse_events(const char *list, struct kpmu_event *events);

/* A task, or a CPU with all tasks that run there */
struct target {
	pid_t pid;
	int cpu;
};

/* stat-targets.c */
extern struct target targets[MAX_TARGETS];
extern int nr_targets;
bool counts_tasks(void);
void add_target(pid_t pid, int cpu);
void add_threads(pid_t pid);
void add_cpus(const char *list);

/* stat-explain.c */
bool explain_events(const struct kpmu_event *events, int nr, int cpu);
bool has_no_room(int i);
const char *why_shared(const struct kpmu_event *events, int i);
int print_explained(const struct kpmu_event *events);

/* stat-holders.c */
bool print_holders(int cpu);

/* stat-print.c */
void print_begin(enum format format, bool terminal);
void print_samples(const struct kpmu_event *events, int nr, const struct sample *samples,
		   double at, int cpu, double elapsed);
void print_taken(const struct taken *taken, int runs);

/* stat-run.c */
extern volatile int stopped;
void catch_signals(void);
double seconds(void);
pid_t start_program(char **argv, int *go);
void release_program(int go);
int wait_program(pid_t child, int interval, double begin, struct rusage *usage,
		 void (*tick)(double at));

#endif
