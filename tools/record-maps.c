// SPDX-License-Identifier: GPL-2.0-only
/*
 * kpmu-record: names and mappings that exist already when sampling begins, as the records that the
 * kernel would have written.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

/* The trailer of the event's records: TID and TIME */
struct whose {
	uint32_t pid, tid;
	uint64_t time;
};

static size_t padded(size_t len)
{
	return (len + 8) & ~7ul;	/* with at least one 0 */
}

/* Put a record whose last field is a name */
static void put_named(void *record, size_t fixed, const char *name, pid_t pid)
{
	char buffer[sizeof(struct perf_event_header) + 4096 + 256] = { 0 };
	struct whose whose = { .pid = pid, .tid = pid };
	size_t len = padded(strnlen(name, 4000));
	struct perf_event_header *h = (void *)buffer;

	memcpy(buffer, record, fixed);
	memcpy(buffer + fixed, name, strnlen(name, 4000));
	memcpy(buffer + fixed + len, &whose, sizeof(whose));
	h->size = fixed + len + sizeof(whose);
	put_record(buffer, h->size);
}

struct mmap_head {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, offset;
};

static void put_mmap(uint16_t misc, pid_t pid, uint64_t addr, uint64_t len, uint64_t offset,
		     const char *name)
{
	struct mmap_head m = {
		.header = { .type = PERF_RECORD_MMAP, .misc = misc },
		.pid = pid, .tid = pid, .addr = addr, .len = len, .offset = offset,
	};

	put_named(&m, sizeof(m), name, pid);
}

/**
 * put_kernel() - the kernel's text; perf report gets the symbols from /proc/kallsyms
 */
void put_kernel(void)
{
	unsigned long long addr, text = 0;
	char line[256], name[128];
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !text && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %127s", &addr, name) == 2 && !strcmp(name, "_text"))
			text = addr;
	if (f)
		fclose(f);
	if (text)
		put_mmap(PERF_RECORD_MISC_KERNEL, -1, text, 0xffffffffff000000ULL - text, text,
			 "[kernel.kallsyms]_text");
}

static void put_comm(pid_t pid)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
	} c = { .header = { .type = PERF_RECORD_COMM }, .pid = pid, .tid = pid };
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "r");
	if (!f)
		return;
	if (fgets(name, 16, f)) {
		name[strcspn(name, "\n")] = 0;
		put_named(&c, sizeof(c), name, pid);
	}
	fclose(f);
}

/**
 * put_process() - the name and the executable mappings of a process
 * @pid: the process; nothing is put if it has ended
 */
void put_process(pid_t pid)
{
	unsigned long long from, to, offset;
	char path[64], line[4600], mode[8];
	FILE *f;
	int at;

	put_comm(pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		at = 0;
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &from, &to, mode, &offset,
			   &at) < 4 || mode[2] != 'x')
			continue;
		put_mmap(PERF_RECORD_MISC_USER, pid, from, to - from, offset,
			 at && line[at] ? line + at : "//anon");
	}
	fclose(f);
}

/**
 * put_all_processes() - put_process() of all that exist
 */
void put_all_processes(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			put_process(atoi(entry->d_name));
	if (dir)
		closedir(dir);
}
