/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a program on both routes and compares the results.  A difference that matches a rule
 * of the file meant is intended.  A program with any other difference is minimised.
 */
#ifndef KPMU_FUZZ_JUDGE_H
#define KPMU_FUZZ_JUDGE_H

#include <regex.h>
#include <sys/utsname.h>

#include "show.h"

#define RULES	64

/* A rule: a line of the file meant */
struct rule {
	regex_t key, native, kpmu;
	bool less;		/* no number of the native result is larger */
	char why[200];
	long used;
};

enum { SAME, DIFFERS, MEANT };

enum broken { WORKS, BROKEN_NATIVELY, BROKEN_BY_KPMU };

struct judge {
	struct rule rule[RULES];
	int rules;
	struct outcome *out;
	struct text native, kpmu, again;
	int at;			/* first difference: index of the operation */
	long unstable;		/* lines that a route did not repeat */
	long late;		/* programs that ran out of time natively */
	int once;		/* do not look for unstable lines */
	int tells;		/* print the route before each run: the guest may not survive it */
	enum broken broken;	/* after which route's run the kernel's own perf no longer counted */
	const struct rule *met;	/* the rule that matches the difference, or NULL */
};

static struct judge judge;

static inline int of_this_kernel(const char *kernels)
{
	const char *k = getenv("KPMU_KERNEL");
	struct utsname u;
	int major, minor;
	char name[32];

	uname(&u);
	if (!k && sscanf(u.release, "%d.%d", &major, &minor) == 2) {
		snprintf(name, sizeof(name), "%d.%d", major, minor);
		k = name;
	}
	return !strcmp(kernels, "*") || (k && strstr(kernels, k));
}

static inline void rule_parse(struct rule *r, char *line)
{
	char *part[5];

	for (int i = 0; i < 5; i++) {
		part[i] = strsep(&line, "\t\n");
		if (!part[i]) {
			fprintf(stderr, "meant: five fields a line, divided by tabs\n");
			exit(1);
		}
	}
	if (!of_this_kernel(part[0]))
		return;
	r->less = *part[2] == '<';
	part[2] += r->less;
	if (regcomp(&r->key, part[1], REG_EXTENDED | REG_NOSUB) ||
	    regcomp(&r->native, part[2], REG_EXTENDED | REG_NOSUB) ||
	    regcomp(&r->kpmu, part[3], REG_EXTENDED | REG_NOSUB)) {
		fprintf(stderr, "meant: no regular expression: %s\n", part[1]);
		exit(1);
	}
	snprintf(r->why, sizeof(r->why), "%s", part[4]);
	judge.rules++;
}

/*
 * Set kpmu's limit of the time that overflows may take.  When it throttles an event depends on
 * how long they take, which differs between the routes.  The guest has disabled the native one.
 */
static inline void limit_overflows(int percent)
{
	if (write_long("/proc/sys/kernel/kpmu/perf_cpu_time_max_percent", percent)) {
		perror("perf_cpu_time_max_percent");
		exit(1);
	}
}

/*
 * At the default of 100,000 Hz native perf allows more overflows in a tick than it can handle in
 * one: events with a short period that count the kernel then stop the guest.  The file cannot be
 * written while the limit of their time is disabled.
 */
static inline void limit_rates(void)
{
	if (write_long("/proc/sys/kernel/perf_cpu_time_max_percent", 25) ||
	    write_long("/proc/sys/kernel/perf_event_max_sample_rate", THROTTLED * 250) ||
	    write_long("/proc/sys/kernel/perf_cpu_time_max_percent", 0) ||
	    write_long("/proc/sys/kernel/kpmu/perf_event_max_sample_rate", THROTTLED * 250)) {
		perror("perf_event_max_sample_rate");
		exit(1);
	}
}

/* Called once per process; without the file, every intended difference would be an error */
static inline void judge_init(const char *meant)
{
	FILE *f = fopen(meant, "r");
	char line[1024];

	limit_overflows(0);
	judge.out = outcome_new();
	if (!f) {
		perror(meant);
		exit(1);
	}
	while (judge.rules < RULES && fgets(line, sizeof(line), f))
		if (*line != '#' && *line != '\n')
			rule_parse(&judge.rule[judge.rules], line);
	fclose(f);
}

/* Does the kernel's own perf count?  Bugs of it were seen to leave a CPU without, until the next boot */
static inline bool native_counts(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	uint64_t v = 0;

	if (fd < 0)
		return true;		/* not known */
	ev_enable(fd);
	work(1000);
	ev_disable(fd);
	if (read(fd, &v, sizeof(v)) != sizeof(v))
		v = 0;
	close(fd);
	return v > 0;
}

static inline void run_route(const struct prog *p, int native, struct text *t)
{
	if (judge.tells) {
		printf("@%s\n", native ? "native" : "kpmu");
		fflush(stdout);
	}
	execute(p, native, judge.out);
	show(t, p, judge.out);
	if (!judge.broken && !native_counts())
		judge.broken = native ? BROKEN_NATIVELY : BROKEN_BY_KPMU;
}

/* Is no number in @a larger than the one at the same place in @b? */
static inline bool none_larger(const char *a, const char *b)
{
	while (*a && *b) {
		if (strtoull(a, NULL, 10) > strtoull(b, NULL, 10))
			return false;
		a += strcspn(a, " ");
		b += strcspn(b, " ");
		a += strspn(a, " ");
		b += strspn(b, " ");
	}
	return true;
}

static inline struct rule *rule_for(int i)
{
	struct rule *r;

	for (r = judge.rule; r < judge.rule + judge.rules; r++)
		if (!regexec(&r->key, judge.kpmu.key[i], 0, NULL, 0) &&
		    !regexec(&r->native, judge.native.val[i], 0, NULL, 0) &&
		    !regexec(&r->kpmu, judge.kpmu.val[i], 0, NULL, 0) &&
		    (!r->less || none_larger(judge.native.val[i], judge.kpmu.val[i])))
			return r;
	return NULL;
}

/* Compare word by word; "?" matches any word */
static inline int same_text(const char *a, const char *b)
{
	size_t m, n;

	for (;;) {
		a += strspn(a, " ");
		b += strspn(b, " ");
		m = strcspn(a, " ");
		n = strcspn(b, " ");
		if (!m || !n)
			return m == n;
		if (!(m == 1 && *a == '?') && !(n == 1 && *b == '?') &&
		    (m != n || memcmp(a, b, n)))
			return 0;
		a += m;
		b += n;
	}
}

static inline int first_difference(const struct prog *p, int from)
{
	while (from <= p->nr && same_text(judge.native.val[from], judge.kpmu.val[from]))
		from++;
	return from;
}

/* Run one route again; a line that it does not repeat is excluded from the comparison */
static inline void drop_unstable(const struct prog *p, int native)
{
	struct text *one = native ? &judge.native : &judge.kpmu;
	struct text *other = native ? &judge.kpmu : &judge.native;

	run_route(p, native, &judge.again);
	for (int i = 0; i <= p->nr; i++) {
		if (!strcmp(one->val[i], judge.again.val[i]))
			continue;
		judge.unstable++;
		strcpy(one->val[i], "unstable");
		strcpy(other->val[i], "unstable");
	}
}

/* After an open whose result is not stable, nothing can be compared */
static inline int is_astray(const struct prog *p)
{
	for (int i = 0; i < judge.at && i < p->nr; i++)
		if ((p->op[i].code == OP_OPEN || p->op[i].code == OP_MANY) &&
		    !strcmp(judge.native.val[i], "unstable"))
			return 1;
	return 0;
}

/**
 * judge_prog() - run a program on both routes and compare
 * @p: the program
 *
 * After the first difference the routes are in different states, so only the first one is
 * judged; judge.at is its line.  A program that runs out of time natively is SAME, as there
 * is nothing to compare with.  If the kernel's own perf no longer counts, judge.broken is set, and what is
 * returned means nothing.
 *
 * Return: SAME, DIFFERS, or MEANT if the difference is intended.
 */
static inline int judge_prog(const struct prog *p)
{
	struct rule *r;

	run_route(p, 1, &judge.native);
	if (WIFSIGNALED(judge.out->status) && WTERMSIG(judge.out->status) == SIGALRM) {
		judge.late++;
		return SAME;
	}
	run_route(p, 0, &judge.kpmu);
	judge.at = first_difference(p, 0);
	if (judge.at > p->nr)
		return SAME;
	if (!judge.once) {
		drop_unstable(p, 1);
		drop_unstable(p, 0);
	}
	judge.at = first_difference(p, 0);
	if (judge.at > p->nr || is_astray(p))
		return SAME;
	r = rule_for(judge.at);
	judge.met = r;
	if (!r)
		return DIFFERS;
	r->used++;
	return MEANT;
}

static inline enum opcode code_at(const struct prog *p)
{
	return judge.at < p->nr ? p->op[judge.at].code : OP_NR;
}

static inline int try_without(struct prog *p, int at, int n, enum opcode code)
{
	struct prog q = *p;

	memmove(q.op + at, q.op + at + n, (q.nr - at - n) * sizeof(q.op[0]));
	q.nr -= n;
	if (judge_prog(&q) != DIFFERS || code_at(&q) != code)
		return 0;
	*p = q;
	return 1;
}

/**
 * minimise() - remove operations on which a program's difference does not depend
 * @p: the program; the last judge_prog() was for it and returned DIFFERS
 *
 * The first difference must remain at the same kind of operation.  The final judge_prog()
 * checks again that both routes repeat their results.
 *
 * Return: DIFFERS; SAME or MEANT if the difference of the short program is not stable.
 */
static inline int minimise(struct prog *p)
{
	enum opcode code = code_at(p);
	int n, at, less;

	judge.once = 1;
	if (judge.at + 1 < p->nr)
		try_without(p, judge.at + 1, p->nr - judge.at - 1, code);
	do {
		less = 0;
		for (n = p->nr / 2; n; n /= 2)
			for (at = p->nr - n; at >= 0; at -= n)
				if (at + n <= p->nr)
					less |= try_without(p, at, n, code);
	} while (less);
	judge.once = 0;
	return judge_prog(p);
}

#endif
