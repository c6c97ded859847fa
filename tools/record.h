/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KPMU_RECORD_TOOL_H
#define KPMU_RECORD_TOOL_H

#include "stat.h"

/* record-file.c */
void begin_file(const char *path, const struct perf_event_attr *attr);
void put_record(const void *record, size_t size);
uint64_t file_size(void);
void end_file(void);

/* record-maps.c */
void put_kernel(void);
void put_process(pid_t pid);
void put_all_processes(void);

#endif
