// SPDX-License-Identifier: GPL-2.0-only
/* Events as sysfs describes them: attrs built from format/ and events/ can be opened, and count. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"

#define N	100000

static const char *cpu(const char *file)
{
	static char path[200];

	snprintf(path, sizeof(path), "/sys/bus/%s/devices/cpu/%s",
		 route_is_native() ? "event_source" : "kpmu", file);
	return path;
}

static bool file(const char *dir, const char *name, char *buf, size_t size)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(cpu(path), "r");
	if (!f)
		return false;
	if (!fgets(buf, size, f))
		buf[0] = 0;
	fclose(f);
	buf[strcspn(buf, "\n")] = 0;
	return true;
}

/*
 * Set @field of @a to @val.  The file format/FIELD contains configN:RANGE[,RANGE...].  A range is
 * a bit or first-last; the first range takes the low bits of @val.
 * Return: false if the file is missing or malformed, or if @val does not fit.
 */
static bool put(struct perf_event_attr *a, const char *field, uint64_t val)
{
	__u64 *to[] = { (__u64 *)&a->config, (__u64 *)&a->config1,
			(__u64 *)&a->config2 };
	unsigned int which = 0, first, last;
	char buf[128], *p = buf;
	int n, bits;

	if (!file("format", field, buf, sizeof(buf)))
		return false;
	if (sscanf(p, "config%1u:%n", &which, &n) != 1) {
		which = 0;
		n = 7;
		if (strncmp(p, "config:", 7))
			return false;
	}
	if (which > 2)
		return false;
	for (p += n; *p; p += *p == ',') {
		if (sscanf(p, "%u%n", &first, &n) != 1)
			return false;
		p += n;
		last = first;
		if (*p == '-') {
			if (sscanf(p, "-%u%n", &last, &n) != 1)
				return false;
			p += n;
		}
		if (last < first || last > 63)
			return false;
		bits = last - first + 1;
		*to[which] |= (bits == 64 ? val : val & ((1ULL << bits) - 1)) << first;
		val = bits == 64 ? 0 : val >> bits;
	}
	return !val;	/* bits left over do not fit */
}

/* Set @a by the file events/NAME: TERM[=VALUE][,TERM...]; a term without a value is 1 */
static bool encode(struct perf_event_attr *a, const char *name)
{
	char buf[256], *term, *eq, *end, *save;
	uint64_t val;

	if (!file("events", name, buf, sizeof(buf)))
		return false;
	*a = ev_attr(read_long(cpu("type")), 0);
	for (term = strtok_r(buf, ",", &save); term; term = strtok_r(NULL, ",", &save)) {
		val = 1;
		eq = strchr(term, '=');
		if (eq) {
			*eq++ = 0;
			val = strtoull(eq, &end, 0);
			if (end == eq || *end)
				return false;
		}
		if (!put(a, term, val))
			return false;
	}
	return true;
}

TEST(type)
{
	ROWS("T-07 T-08");
	struct perf_event_attr a = ev_attr(read_long(cpu("type")), 0xc0);
	int fd;

	EXPECT_EQ(a.type, PERF_TYPE_RAW);
	fd = ev_must(&a, 0, -1, -1, 0);
	work_counted(fd, N, 0);
	EXPECT_GE(ev_count(fd), WORK_INSNS(N));
	EXPECT_LE(ev_count(fd), WORK_INSNS(N) + SLACK(WORK_INSNS(N)));
}

/* The files in format/ name the bits of PERFEVTSEL that a raw event uses */
TEST(formats)
{
	ROWS("Y-11");
	static const struct {
		const char *name;
		uint64_t val, config;
	} fields[] = {
		{ "event", 0xff, 0xff }, { "umask", 0xff, 0xff00 },
		{ "edge", 1, 1 << 18 }, { "inv", 1, 1 << 23 },
		{ "cmask", 0xff, 0xff000000 },
	};
	struct dirent *d;
	DIR *dir;
	int i, n = 0;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		struct perf_event_attr a = { 0 };

		EXPECT_TRUE(put(&a, fields[i].name, fields[i].val));
		EXPECT_EQ(a.config, fields[i].config);
	}
	/* Every file in format/ can be parsed */
	dir = opendir(cpu("format"));
	ASSERT_TRUE(dir);
	while ((d = readdir(dir))) {
		struct perf_event_attr a = { 0 };

		if (d->d_name[0] == '.')
			continue;
		n++;
		if (!put(&a, d->d_name, 1))
			printf("# format/%s\n", d->d_name);
		EXPECT_TRUE(put(&a, d->d_name, 1));
		EXPECT_TRUE(a.config || a.config1 || a.config2);
	}
	EXPECT_GE(n, 5);
}

TEST(events)
{
	ROWS("Y-12 T-07");
	static const struct {
		const char *name;
		uint64_t want;
	} known[] = {
		{ "instructions", WORK_INSNS(N) },
		{ "branch-instructions", WORK_BRANCHES(N) },
	};
	struct perf_event_attr a;
	struct dirent *d;
	DIR *dir;
	int i, fd, n = 0;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		ASSERT_TRUE(encode(&a, known[i].name));
		fd = ev_must(&a, 0, -1, -1, 0);
		work_counted(fd, N, 0);
		EXPECT_GE(ev_count(fd), known[i].want);
		EXPECT_LE(ev_count(fd), known[i].want + SLACK(known[i].want));
		close(fd);
	}
	/* Every event in events/ can be parsed and opened; files like NAME.scale are not events */
	dir = opendir(cpu("events"));
	ASSERT_TRUE(dir);
	while ((d = readdir(dir))) {
		if (strchr(d->d_name, '.'))
			continue;
		/* mem-loads, mem-stores and the like require PEBS */
		if (!strncmp(d->d_name, "mem-", 4))
			continue;
		n++;
		ASSERT_TRUE(encode(&a, d->d_name));
		fd = ev_errno(&a, 0, -1, -1, 0);
		if (fd)
			printf("# events/%s: %s\n", d->d_name, strerror(fd));
		EXPECT_EQ(fd, 0);
	}
	EXPECT_GE(n, 2);
}

TEST_HARNESS_MAIN
