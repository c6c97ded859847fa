/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests share: opening events by either route, exact work, helpers. */
#ifndef KPMU_TEST_EVENT_H
#define KPMU_TEST_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/kpmu.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* From newer headers than Debian 12's */
#ifndef PERF_ATTR_SIZE_VER8
#define PERF_ATTR_SIZE_VER8	136
#endif
#ifndef PERF_ATTR_SIZE_VER9
#define PERF_ATTR_SIZE_VER9	144
#endif

/* Encodings that Skylake, Icelake and Sapphire Rapids share */
#define RAW_LOADS	0x81d0
#define RAW_STORES	0x82d0
#define RAW_BRANCHES	0x00c4

/*
 * KPMU_ROUTE=native makes a test program use the kernel's own perf: the same
 * program, the same guest, the other column.
 */
bool route_is_native(void);
int ev_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
	    int group_fd, unsigned long flags);

/* An attr for a user-only event that starts disabled */
struct perf_event_attr ev_attr(uint32_t type, uint64_t config);
/* Open one of those on the caller, any CPU; exits as failed if it cannot */
int ev_self(uint32_t type, uint64_t config, int group_fd);
int ev_must(const struct perf_event_attr *attr, pid_t pid, int cpu,
	    int group_fd, unsigned long flags);
uint64_t ev_count(int fd);
uint64_t ev_id(int fd);

/* What an event opened with read_format = FORMAT_TIMES reads as */
#define FORMAT_TIMES	(PERF_FORMAT_TOTAL_TIME_ENABLED | \
			 PERF_FORMAT_TOTAL_TIME_RUNNING)
struct ev_times {
	uint64_t value, enabled, running;
};
struct ev_times ev_times(int fd);
/* As ev_self(), with FORMAT_TIMES */
int ev_self_times(uint32_t type, uint64_t config, int group_fd);
/* Was it on a counter all the time it was enabled? */
bool always_ran(int fd);
void ev_enable(int fd);
void ev_disable(int fd);

/* The errno of an open that must fail; 0 if it succeeded (and is closed) */
int ev_errno(const struct perf_event_attr *attr, pid_t pid, int cpu,
	     int group_fd, unsigned long flags);

/*
 * Exact work, in work.S.  work_counted() enables @fd (with @flag), goes @n
 * times round, disables it.  Between the two, in user mode:
 */
void work(uint64_t n);		/* not 0 */
void work_counted(int fd, uint64_t n, unsigned long flag);
#define WORK_INSNS(n)		(4 * (n) + 3)
#define WORK_BRANCHES(n)	((n) + 1)
#define WORK_LOADS(n)		(n)
#define WORK_STORES(n)		(n)

/* Many instructions in little time */
void spin_counted(int fd, uint64_t n, unsigned long flag);
#define SPIN_INSNS(n)		(64 * (n) + 3)
#define SPIN_BRANCHES(n)	((n) + 1)

/* @n accesses, @stride bytes apart */
void load_counted(int fd, uint64_t n, void *base, uint64_t stride);
void store_counted(int fd, uint64_t n, void *base, uint64_t stride);
#define STRIDE_INSNS(n)		(4 * (n) + 3)

/* The model counts exactly; real hardware adds a little per interrupt */
bool exact(void);
#define SLACK(expected)	(exact() ? 0 : (expected) / 100 + 100)

int pin_to(int cpu);
int pin_task(pid_t pid, int cpu);
int nr_cpus(void);
bool has_pmu(void);
int pmu_version(void);
int counters_general(void);
int counters_fixed(void);
int counter_width(void);
/* A property of the model that this boot has set, or what it is otherwise */
unsigned int model_property(const char *name, unsigned int otherwise);
/* Bits of CPUID.0AH:EBX: architectural events that this CPU lacks */
unsigned int events_missing(void);
/* The model number of a CPU of Intel's family 6, else 0 */
enum cpu { CPU_OTHER, CPU_SKYLAKE = 0x5e, CPU_ICELAKE = 0x6a, CPU_SPR = 0x8f };
enum cpu cpu_model(void);
/* -icount: times are as exact as counts */
bool exact_time(void);
/* Can a CPU be taken offline, other than 0? */
int cpu_online(int cpu, int online);
int open_fds(void);
/* Become nobody, without any capability; in a child of the test */
void drop_privilege(void);
/* The same with one capability left, CAP_* */
void drop_to(int cap);
uint64_t now_ns(void);
/* When to give up waiting for what must happen, on a busy machine as well */
uint64_t patience(void);
/* Files of /proc and /sys; -1 and errno on failure */
long read_long(const char *path);
int write_long(const char *path, long val);
/* attr.type of a PMU, by its folder of the route in use; ends the test without one */
uint32_t pmu_type(const char *pmu);
/* Where a function or an object is in the program's file, for uprobes */
uint64_t file_offset(const void *addr);
/* The sysctl of the route in use, until the next call; its paranoid file */
const char *sysctl_file(const char *name);
const char *paranoid_file(void);
void set_paranoid(int level);
/*
 * How many overflows a second, and what share of the time they may take, by the
 * route in use; no limits on either
 */
void throttle_at(long rate, int percent);
void no_throttle(void);

#endif
