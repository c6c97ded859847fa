// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-timeline: the HTML page, which needs nothing but itself. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "timeline.h"

/* The largest rate of each event on any CPU in any run, so that all have one scale */
static void largest(const struct capture *captures, int nr, double *most)
{
	double rate[BINS];
	int i, j, e, b;

	for (e = 0; e < nr_events; e++) {
		most[e] = 0;
		for (i = 0; i < nr; i++)
			for (j = 0; j < captures[i].nr_cpus; j++) {
				rates_of(&captures[i], &captures[i].cpus[j], e, rate);
				for (b = 0; b < BINS; b++)
					most[e] = fmax(most[e], rate[b]);
			}
	}
}

static const char lanes[] =
	"A lane of a counter shows which event has it, in the event's colour;\n"
	"a lane of an event its rate: what was counted, not extrapolated.\n"
	"Names are shown by pointing at a slice.</p>\n";

static const char beside_native[] =
	"<p>Native perf is sampled every millisecond, from the user pages of its events;\n"
	"counts of events on counters are read every 10 ms, and interpolated.\n"
	"kpmu writes each change. Both have the same scales. The program ran once for each.</p>\n";

static void put_head(FILE *f, const struct capture *c, int nr)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", f);
	put_html(f, command);
	fputs("</title>\n<style>\n", f);
	put_style(f);
	fputs("</style>\n</head>\n<body>\n<h2>kpmu-timeline ", f);
	put_html(f, command);
	fprintf(f, "</h2>\n<p>%.3f s, %llu records, %llu lost, ", c->length / 1e9,
		(unsigned long long)c->records, (unsigned long long)c->lost);
	fprintf(f, "%llu switches of tasks, %llu changes of counters.\n",
		(unsigned long long)c->switches, (unsigned long long)c->changes);
	fputs(lanes, f);
	if (nr > 1)
		fputs(beside_native, f);
}

/**
 * write_page() - write all that was recorded, as a page
 * @f: the file
 * @captures: the runs
 * @nr: number of runs
 */
void write_page(FILE *f, const struct capture *captures, int nr)
{
	double most[MAX_EVENTS], length = 0, y;
	size_t size;
	char *body;
	FILE *svg = open_memstream(&body, &size);
	int i;

	if (!svg)
		die("out of memory");
	for (i = 0; i < nr; i++)
		length = fmax(length, captures[i].length);
	set_scale(length);
	largest(captures, nr, most);
	y = draw_legend(svg, 0);
	for (i = 0; i < nr; i++)
		y = draw_capture(svg, &captures[i], most, y);
	if (fclose(svg))
		die("out of memory");
	put_head(f, captures, nr);
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\">\n", WIDTH, y);
	fputs(body, f);
	fputs("</svg>\n</body>\n</html>\n", f);
	free(body);
}
