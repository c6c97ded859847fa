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

/**
 * parse_events() - parse the names of events
 * @list: the names, with commas between
 * @events: filled in, room for MAX_EVENTS
 *
 * The tool ends with a message if there are more, or if one is not known.
 *
 * Return: how many there are.
 */
int parse_events(const char *list, struct kpmu_event *events)
{
	char bad[64];
	int nr = kpmu_events_parse(list, events, MAX_EVENTS, bad);

	if (nr < 0 && errno == E2BIG)
		die("more than %d events", MAX_EVENTS);
	if (nr < 0)
		die("unknown event '%s'; kpmu-stat -l lists those known", bad);
	return nr;
}
