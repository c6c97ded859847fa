/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by all tests: opening events by either route, exactly counted work, helpers. */
#ifndef KPMU_TEST_EVENT_H
#define KPMU_TEST_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/kpmu.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* Missing in the headers of Debian 12 */
#ifndef PERF_ATTR_SIZE_VER8
#define PERF_ATTR_SIZE_VER8	136
#endif
#ifndef PERF_ATTR_SIZE_VER9
#define PERF_ATTR_SIZE_VER9	144
#endif

/*
 * Raw event encodings valid on Skylake, Icelake and Sapphire Rapids.  On AMD, ev_open() replaces
 * them by those of Zen, in the low bits of a raw config.
 */
#define RAW_LOADS	0x81d0
#define RAW_STORES	0x82d0
#define RAW_BRANCHES	0x00c4

/*
 * The route is how events are opened.  By default that is the kpmu device; with
 * KPMU_ROUTE=native in the environment it is perf_event_open(2), i.e. native perf.  The
 * same program runs by both routes in the same guest, and the results are compared.
 */
bool route_is_native(void);
/* The fd of the device, which is opened once; exits if that fails */
int ev_device(void);
int ev_open(const struct perf_event_attr *attr, pid_t pid, int cpu,
	    int group_fd, unsigned long flags);

/* Attr of a user-only event that starts disabled */
struct perf_event_attr ev_attr(uint32_t type, uint64_t config);
/*
 * Open an event with ev_attr() on the calling task, any CPU.  A sibling (@group_fd >= 0)
 * starts enabled.  This function and ev_must() exit with failure if the open fails.
 */
int ev_self(uint32_t type, uint64_t config, int group_fd);
int ev_must(const struct perf_event_attr *attr, pid_t pid, int cpu,
	    int group_fd, unsigned long flags);
uint64_t ev_count(int fd);
uint64_t ev_id(int fd);

/* Layout of a read with read_format = FORMAT_TIMES */
#define FORMAT_TIMES	(PERF_FORMAT_TOTAL_TIME_ENABLED | \
			 PERF_FORMAT_TOTAL_TIME_RUNNING)
struct ev_times {
	uint64_t value, enabled, running;
};
struct ev_times ev_times(int fd);
/* ev_self() with read_format = FORMAT_TIMES */
int ev_self_times(uint32_t type, uint64_t config, int group_fd);
/* Did the event run all the time it was enabled?  Prints the times if not. */
bool always_ran(int fd);
void ev_enable(int fd);
void ev_disable(int fd);

/* The result of a call that opens something: its errno, or 0 if it gave an fd, which is closed */
int fd_errno(int fd);
/* Try to open an event: the errno, or 0 if that succeeds (the event is closed again) */
int ev_errno(const struct perf_event_attr *attr, pid_t pid, int cpu,
	     int group_fd, unsigned long flags);

/*
 * Exactly counted work, in work.S.  work_counted() enables @fd, runs @n rounds and
 * disables @fd; @flag is the argument of both ioctls.  The macros give the user-mode
 * counts of @fd for one call.
 */
void work(uint64_t n);		/* @n must not be 0 */
void work_counted(int fd, uint64_t n, unsigned long flag);
#define WORK_INSNS(n)		(4 * (n) + 3)
#define WORK_BRANCHES(n)	((n) + 1)
#define WORK_LOADS(n)		(n)
#define WORK_STORES(n)		(n)

/* Rounds of 64 instructions: many instructions in little time */
void spin_counted(int fd, uint64_t n, unsigned long flag);
#define SPIN_INSNS(n)		(64 * (n) + 3)
#define SPIN_BRANCHES(n)	((n) + 1)

/* @n loads or @n stores, @stride bytes apart, starting at @base */
void load_counted(int fd, uint64_t n, void *base, uint64_t stride);
void store_counted(int fd, uint64_t n, void *base, uint64_t stride);
#define STRIDE_INSNS(n)		(4 * (n) + 3)

/* True on the PMU model, which counts exactly; real hardware adds a little per interrupt */
bool exact(void);
#define SLACK(expected)	(exact() ? 0 : (expected) / 100 + 100)

bool is_amd(void);
int pin_to(int cpu);
int pin_task(pid_t pid, int cpu);
int nr_cpus(void);
bool has_pmu(void);
/* At the begin of a test that needs counters; of harness.h */
#define NEED_PMU()	do { if (!has_pmu()) SKIP(return, "no PMU"); } while (0)
/* On AMD 2 with PerfMonV2, else 1 */
int pmu_version(void);
/* Zen 4 or later.  A guest of KVM may have this CPU, but no PerfMonV2 */
bool is_zen4(void);
int counters_general(void);
int counters_fixed(void);
int counter_width(void);
/* Value of a -cpu property that this boot sets (qemu/run.sh -p), else @otherwise */
unsigned int model_property(const char *name, unsigned int otherwise);
/* CPUID.0AH:EBX: a set bit means that this CPU lacks an architectural event */
unsigned int events_missing(void);
bool has_ref_cycles(void);
/* Model numbers of Intel family 6, or AMD's Zen; all other CPUs are CPU_OTHER */
enum cpu { CPU_OTHER, CPU_SKYLAKE = 0x5e, CPU_ICELAKE = 0x6a, CPU_SPR = 0x8f, CPU_ZEN = 0x100 };
enum cpu cpu_model(void);
/* Does the guest run under -icount?  Then times are as exact as counts. */
bool exact_time(void);
/* Take @cpu online or offline; -1 if that fails, as it usually does for CPU 0 */
int cpu_online(int cpu, int online);
/* A thread that takes the last CPU offline and online again, until the volatile int at @stop is not 0 */
void *toggle_last_cpu(void *stop);
int open_fds(void);
/* Become user nobody without capabilities; irreversible for the calling process */
void drop_privilege(void);
/* The result of @fn in a child process without privilege, -1 if that does not exit */
int try_unprivileged(int (*fn)(void));
/* Become user nobody with no capability but @cap (CAP_*); irreversible, too */
void drop_to(int cap);
uint64_t now_ns(void);
/* Deadline, in now_ns() time, for something that must happen; long enough for a busy host */
uint64_t patience(void);
/*
 * Read or write a number in a file of /proc or /sys.  -1 and errno if the file cannot be
 * opened or written; a failed read yields 0.
 */
long read_long(const char *path);
int write_long(const char *path, long val);
/* attr.type of a PMU, from the sysfs folder of the route in use; exits if there is none */
uint32_t pmu_type(const char *pmu);
/* Offset of a function or object in the program's file, for uprobes */
uint64_t file_offset(const void *addr);
/* Path of a sysctl of the route in use, valid until the next call; its perf_event_paranoid */
const char *sysctl_file(const char *name);
const char *paranoid_file(void);
void set_paranoid(int level);
/*
 * Limit sampling by the route in use: overflows per second, and their share of CPU time in
 * percent.  no_throttle() lifts both limits.
 */
void throttle_at(long rate, int percent);
void no_throttle(void);

#endif
