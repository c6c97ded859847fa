// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-record: the perf.data file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record.h"

struct section {
	uint64_t offset, size;
};

struct file_header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, data, event_types;
	uint64_t features[4];
};

struct file_attr {
	struct perf_event_attr attr;
	struct section ids;
};

static FILE *out;
static uint64_t written;

/**
 * put_record() - append a record
 * @record: the record
 * @size: its size in bytes
 */
void put_record(const void *record, size_t size)
{
	if (fwrite(record, 1, size, out) != size)
		die("writing the file: %s", strerror(errno));
	written += size;
}

/**
 * file_size() - bytes of all records so far
 */
uint64_t file_size(void)
{
	return written;
}

/**
 * begin_file() - create the file
 * @path: its path
 * @attr: attr of the event
 */
void begin_file(const char *path, const struct perf_event_attr *attr)
{
	struct file_header h = {
		.magic = "PERFILE2", .size = sizeof(h), .attr_size = sizeof(struct file_attr),
		.attrs = { sizeof(h), sizeof(struct file_attr) },
		.data = { sizeof(h) + sizeof(struct file_attr), 0 },
	};
	struct file_attr a = { .attr = *attr };

	out = fopen(path, "w+");
	if (!out)
		die("%s: %s", path, strerror(errno));
	put_record(&h, sizeof(h));
	put_record(&a, sizeof(a));
	written = 0;
}

/**
 * end_file() - fill in the size of the data, which is only known now, and close the file
 */
void end_file(void)
{
	uint64_t size = written;
	struct file_header h;

	rewind(out);
	if (fread(&h, sizeof(h), 1, out) != 1)
		die("the file cannot be read back");
	h.data.size = size;
	rewind(out);
	put_record(&h, sizeof(h));
	written = size;
	if (fclose(out))
		die("writing the file: %s", strerror(errno));
}
