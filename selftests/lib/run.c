// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "run.h"

const char *run(const char *command, int *status)
{
	static char text[65536];
	char line[1024];
	size_t n;
	FILE *p;

	fflush(NULL);
	/* Close fd 3, inherited from the guest's init: fd numbers are then as in a usual shell */
	snprintf(line, sizeof(line), "{ %s; } 2>&1 3>&-", command);
	p = popen(line, "r");
	n = p ? fread(text, 1, sizeof(text) - 1, p) : 0;
	text[n] = 0;
	*status = p ? pclose(p) : -1;
	return text;
}

bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);
	const char *s;

	for (s = text; s; s = strchr(s, '\n')) {
		s += *s == '\n';
		if (!strncmp(s, line, len) && (s[len] == '\n' || !s[len]))
			return true;
	}
	printf("# no line '%s' in:\n", line);
	for (s = text; *s; s++) {
		if (s == text || s[-1] == '\n')
			printf("#   ");
		putchar(*s);
	}
	return false;
}

long opens(void)
{
	FILE *f = fopen("/sys/kernel/debug/kpmu/stats", "r");
	char line[128];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "opens %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}
