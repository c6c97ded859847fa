/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests share: opening events by either route, exact work, helpers. */
#ifndef KPMU_TEST_EVENT_H
#define KPMU_TEST_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/kpmu.h>

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

/* The errno of an open that must fail; 0 if it succeeded (and is closed) */
int ev_errno(const struct perf_event_attr *attr, pid_t pid, int cpu,
	     int group_fd, unsigned long flags);

/*
 * Exact work, in work.S.  work_counted() enables @fd (with @flag), goes @n
 * times round, disables it.  Between the two, in user mode:
 */
void work(uint64_t n);
void work_counted(int fd, uint64_t n, unsigned long flag);
#define WORK_INSNS(n)		(4 * (n) + 3)
#define WORK_BRANCHES(n)	((n) + 1)
#define WORK_LOADS(n)		(n)
#define WORK_STORES(n)		(n)

/* The model counts exactly; real hardware adds a little per interrupt */
bool exact(void);
#define SLACK(expected)	(exact() ? 0 : (expected) / 100 + 100)

int pin_to(int cpu);
int nr_cpus(void);
bool has_pmu(void);
int counters_general(void);
int open_fds(void);
/* Become nobody, without any capability; in a child of the test */
void drop_privilege(void);
/* Files of /proc and /sys; -1 and errno on failure */
long read_long(const char *path);
int write_long(const char *path, long val);
/* The paranoid file of the route in use */
const char *paranoid_file(void);
void set_paranoid(int level);

#endif
