// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-stat: the tasks or CPUs that are counted. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat.h"

struct target targets[MAX_TARGETS];
int nr_targets;

/**
 * counts_tasks() - are the targets tasks?
 */
bool counts_tasks(void)
{
	return targets[0].pid >= 0;
}

/**
 * add_target() - count a task, or a CPU
 * @pid: thread id, -1 for a CPU
 * @cpu: the CPU, -1 for a task
 */
void add_target(pid_t pid, int cpu)
{
	if (nr_targets == MAX_TARGETS)
		die("more than %d threads or CPUs", MAX_TARGETS);
	targets[nr_targets++] = (struct target) { pid, cpu };
}

/**
 * add_threads() - count all threads of a process
 * @pid: the process
 */
void add_threads(pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		die("no process %d", pid);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_target(atoi(entry->d_name), -1);
	closedir(dir);
}

/**
 * add_cpus() - count CPUs
 * @list: such as "0-3,5"; NULL for all that are online
 */
void add_cpus(const char *list)
{
	char line[256] = "";
	FILE *f;
	int a, b, n;

	if (!list) {
		f = fopen("/sys/devices/system/cpu/online", "r");
		if (!f || !fgets(line, sizeof(line), f))
			die("cannot tell which CPUs are online");
		fclose(f);
		list = line;
	}
	for (;; list += n + 1) {
		if (sscanf(list, "%d%n-%d%n", &a, &n, &b, &n) < 2 &&
		    sscanf(list, "%d%n", &b, &n) < 1)
			die("not a list of CPUs: %s", list);
		for (; a <= b; a++)
			add_target(-1, a);
		if (list[n] != ',')
			return;
	}
}
