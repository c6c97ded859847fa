/* SPDX-License-Identifier: GPL-2.0-only */
/* System sleep (S3), with an alarm to wake up. */
#ifndef KPMU_TEST_NAP_H
#define KPMU_TEST_NAP_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "harness.h"

#define ALARM	"/sys/class/rtc/rtc0/wakealarm"
#define WAKEUPS	"/sys/power/wakeup_count"

static inline bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/*
 * From here on, a wakeup event aborts the suspend.  Without that, an alarm that fires before the
 * machine sleeps would be lost, and the machine would never wake up.
 */
static inline void hold_wakeups(void)
{
	char n[32] = "";
	FILE *f = fopen(WAKEUPS, "r");

	if (!f || !fgets(n, sizeof(n), f) || !put(WAKEUPS, n))
		printf("# an early alarm goes unseen\n");
	if (f)
		fclose(f);
}

/* Suspend, with an RTC alarm to wake up.  Return: true if the machine slept. */
static inline bool nap(void)
{
	char after[16];
	int seconds;

	if (!put("/sys/power/mem_sleep", "deep"))
		SKIP(return false, "this machine has no S3");
	for (seconds = 3; seconds <= 96; seconds *= 2) {
		put(ALARM, "0");
		hold_wakeups();
		snprintf(after, sizeof(after), "+%d", seconds);
		if (!put(ALARM, after))
			SKIP(return false, "no clock that could wake the machine");
		if (put("/sys/power/state", "mem"))
			return true;
		printf("# not asleep within %d s\n", seconds);
	}
	return false;
}

#endif
