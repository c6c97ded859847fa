/* SPDX-License-Identifier: GPL-2.0-only */
/* Running another program and looking at what it prints. */
#ifndef KPMU_TEST_RUN_H
#define KPMU_TEST_RUN_H

#include <stdbool.h>

/* All that a shell command prints, stderr too; *@status as of wait(2) */
const char *run(const char *command, int *status);
/* Does the text have this line? */
bool has_line(const char *text, const char *line);
/* How many events were opened on kpmu since it was loaded */
long opens(void);

#endif
