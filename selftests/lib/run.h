/* SPDX-License-Identifier: GPL-2.0-only */
/* Run another program and check its output. */
#ifndef KPMU_TEST_RUN_H
#define KPMU_TEST_RUN_H

#include <stdbool.h>

/*
 * Run a shell command.  Returns its stdout and stderr, valid until the next call; *@status
 * is in the format of wait(2), or -1.
 */
const char *run(const char *command, int *status);
/* Does @text contain @line as a whole line?  Prints @text if not. */
bool has_line(const char *text, const char *line);
/* Number of events opened by kpmu since it was loaded; -1 if unknown */
long opens(void);

#endif
