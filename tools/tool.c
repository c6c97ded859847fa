// SPDX-License-Identifier: GPL-2.0-only
/* What kpmu-stat, kpmu-record and kpmu-timeline have in common: errors and arguments. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

/**
 * die() - end with a message
 * @fmt: as of printf
 */
void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(125);
}

/**
 * need_device() - end if the device cannot be opened
 */
void need_device(void)
{
	if (kpmu_device() < 0)
		die("%s: %s%s", KPMU_DEVICE, errno == ENOENT ?
		    "not there; is the module loaded?" : strerror(errno), errno == EACCES ?
		    "; root may open it, others by the module's parameters mode and gid" : "");
}

/**
 * refused() - end because an event cannot be opened, with the reason that the module gives
 * @what: what cannot be done with it
 * @event: the event
 * @err: the errno
 */
void refused(const char *what, const struct kpmu_event *event, int err)
{
	const char *why = kpmu_why();

	die("cannot %s %s: %s%s%s", what, event->name, strerror(err), why[0] ? ": " : "", why);
}

/**
 * positive() - parse a number
 * @text: the number
 * @max: the largest that is allowed
 * @what: what it is, for the message with which the tool ends if it is not from 1 to @max
 *
 * Return: the number.
 */
uint64_t positive(const char *text, uint64_t max, const char *what)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (*end || end == text || *text == '-' || errno || !n || n > max)
		die("%s must be a number from 1 to %llu, not %s", what, (unsigned long long)max, text);
	return n;
}
