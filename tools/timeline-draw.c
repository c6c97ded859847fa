// SPDX-License-Identifier: GPL-2.0-only
/* kpmu-timeline: the lanes of the page, as SVG. */
#include <math.h>
#include <string.h>

#include "timeline.h"

#define LEFT		190	/* of the lanes */
#define RIGHT		80	/* for the largest rate */
#define LANE		14	/* height */
#define RATE		18
#define GAP		3	/* between lanes */
#define NARROW		0.5	/* slices that are narrower are drawn as one */
#define LETTER		6.5	/* width of one */

/* Colours of events; more of them have paler ones */
static const unsigned char palette[][3] = {
	{ 31, 119, 180 }, { 230, 85, 13 }, { 44, 140, 44 }, { 214, 39, 40 },
	{ 128, 83, 178 }, { 140, 86, 75 }, { 214, 90, 176 }, { 90, 90, 90 },
	{ 160, 160, 20 }, { 16, 170, 190 }, { 20, 40, 130 }, { 250, 176, 5 },
	{ 130, 200, 60 }, { 120, 10, 60 }, { 90, 160, 250 }, { 0, 90, 80 },
};

static double pixels;		/* for each ns */
static double duration;		/* of the longest run, ns */

/**
 * put_html() - write text so that HTML shows it as it is
 * @f: the file
 * @text: the text; bytes that are not ASCII are taken as Latin-1
 */
void put_html(FILE *f, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	for (; *c; c++) {
		if (strchr("&<>\"'", *c) || *c >= 0xa0)
			fprintf(f, "&#%d;", *c);
		else
			fputc(*c < 0x20 || *c >= 0x7f ? '?' : *c, f);
	}
}

static unsigned int colour(int event)
{
	const unsigned char *p = palette[event % ARRAY_SIZE(palette)];
	unsigned int paler = event / ARRAY_SIZE(palette), i, rgb = 0;

	for (i = 0; i < 3; i++)
		rgb = rgb << 8 | (p[i] + (255 - p[i]) * paler / 5);
	return rgb;
}

/**
 * put_style() - write the style sheet
 * @f: the file
 */
void put_style(FILE *f)
{
	int i;

	fputs("body{font:13px sans-serif;margin:12px;background:#fff;color:#222}\n"
	      "svg text{font:11px sans-serif}\n"
	      "svg .half{font:bold 14px sans-serif}\nsvg .cpu{font:bold 12px sans-serif}\n"
	      "svg .in{fill:#fff;font-size:10px;pointer-events:none}\n"
	      "svg .dark{fill:#222}\n.back{fill:#f3f3f3}\n.many{fill:#bbb}\n"
	      ".grid{stroke:#ddd;stroke-width:1}\n", f);
	for (i = 0; i < 6; i++)
		fprintf(f, ".t%d{fill:hsl(%d,55%%,%d%%)}\n", i, 30 + 60 * i, 80 + i % 2 * 5);
	for (i = 0; i < nr_events; i++)
		fprintf(f, ".e%d{fill:#%06x}\n", i, colour(i));
}

/**
 * set_scale() - set the scale of time
 * @length: of the longest run, ns
 */
void set_scale(double length)
{
	duration = length > 0 ? length : 1;
	pixels = (WIDTH - LEFT - RIGHT) / duration;
}

static double x_of(double ns)
{
	return LEFT + ns * pixels;
}

/* A number of events or of seconds with a prefix */
static const char *short_number(double n, const char *unit)
{
	static const char prefix[] = "num kMGT";
	static char text[32];
	int i = 3;

	for (; n >= 999.5 && prefix[i + 1]; i++)
		n /= 1000;
	for (; n > 0 && n < 0.9995 && i; i--)
		n *= 1000;
	snprintf(text, sizeof(text), "%.3g %.*s%s", n, prefix[i] != ' ', &prefix[i], unit);
	return text;
}

/* ---- lanes ------------------------------------------------------------------------- */

static void begin_lane(FILE *f, const struct capture *c, const struct cpu_track *t,
		       const char *name, double y, int height)
{
	fprintf(f, "<g class=\"lane\" data-run=\"%s\" data-cpu=\"%d\" data-lane=\"", c->name, t->cpu);
	put_html(f, name);
	fprintf(f, "\"><text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">", LEFT - 6, y + height - 3);
	put_html(f, name);
	fprintf(f, "</text>\n<rect class=\"back\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"/>\n",
		LEFT, y, c->length * pixels, height);
}

static void put_from_to(FILE *f, double begin, double end)
{
	fprintf(f, ", %s", short_number((end - begin) / 1e9, "s"));
	fprintf(f, " from %.3f to %.3f ms</title></rect>", begin / 1e6, end / 1e6);
}

static void put_rect(FILE *f, double y, double begin, double end)
{
	fprintf(f, " x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"><title>", x_of(begin), y,
		fmax((end - begin) * pixels, NARROW), LANE);
}

static void put_inside(FILE *f, double y, const struct slice *s, const char *name, bool dark)
{
	if ((s->end - s->begin) * pixels > LETTER * strlen(name) + 4) {
		fprintf(f, "<text class=\"in%s\" x=\"%.1f\" y=\"%.0f\">", dark ? " dark" : "",
			x_of(s->begin) + 2, y + LANE - 3);
		put_html(f, name);
		fputs("</text>", f);
	}
	fputc('\n', f);
}

static void draw_task(FILE *f, double y, const struct slice *s)
{
	const struct task *task = task_of(s->what);
	const char *name = task->comm[0] ? task->comm : "(not in this pid namespace)";
	unsigned int h = 0;

	for (const char *c = name; *c; c++)
		h = h * 31 + (unsigned char)*c;
	fprintf(f, "<rect class=\"t%u\"", h % 6);
	put_rect(f, y, s->begin, s->end);
	put_html(f, name);
	fprintf(f, ", thread %d", task->tid);
	put_from_to(f, s->begin, s->end);
	put_inside(f, y, s, name, true);
}

static void draw_owner(FILE *f, double y, const struct slice *s)
{
	const char *name = events[s->what].name;

	fprintf(f, "<rect class=\"e%d\"", s->what);
	put_rect(f, y, s->begin, s->end);
	put_html(f, name);
	put_from_to(f, s->begin, s->end);
	put_inside(f, y, s, name, false);
}

/* Number of slices from @s on, at most @n, which are so narrow that they are drawn as one */
static int narrow_run(const struct slice *s, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		if ((s[i].end - s[i].begin) * pixels >= NARROW)
			break;
		if (i && (s[i].begin - s[i - 1].end) * pixels >= NARROW)
			break;
	}
	return i;
}

static void draw_lane(FILE *f, double y, const struct lane *lane,
		      void (*draw)(FILE *f, double y, const struct slice *s))
{
	int i, n;

	for (i = 0; i < lane->nr; i += n) {
		const struct slice *s = &lane->slice[i];

		n = narrow_run(s, lane->nr - i);
		if (n < 2) {
			draw(f, y, s);
			n = 1;
			continue;
		}
		fputs("<rect class=\"many\"", f);
		put_rect(f, y, s->begin, s[n - 1].end);
		fprintf(f, "%d short ones", n);
		put_from_to(f, s->begin, s[n - 1].end);
		fputc('\n', f);
	}
	fputs("</g>\n", f);
}

/**
 * rates_of() - the rate of an event over time
 * @c: the run
 * @t: the CPU
 * @event: the event
 * @rate: set to the rate in each of BINS parts of the longest run, events a second
 */
void rates_of(const struct capture *c, const struct cpu_track *t, int event, double *rate)
{
	double width = duration / BINS, at, before = count_at(t, event, 0), after;
	int i;

	for (i = 0; i < BINS; i++) {
		at = fmin((i + 1) * width, c->length);
		after = count_at(t, event, at);
		rate[i] = at > i * width ? (after - before) * 1e9 / (at - i * width) : 0;
		before = after;
	}
}

static void draw_rate(FILE *f, const struct capture *c, const struct cpu_track *t, int event,
		      double most, double y)
{
	double rate[BINS], bottom = y + RATE, step = duration / BINS, last = 0, high;
	int i;

	rates_of(c, t, event, rate);
	begin_lane(f, c, t, events[event].name, y, RATE);
	fprintf(f, "<path class=\"e%d\" d=\"M%d %.1f", event, LEFT, bottom);
	for (i = 0; i < BINS; i++) {
		high = most > 0 ? round(rate[i] / most * RATE * 10) / 10 : 0;
		if (high == last)
			continue;
		fprintf(f, "H%.1fV%.1f", x_of(i * step), bottom - high);
		last = high;
	}
	fprintf(f, "H%.1fV%.1fZ\"><title>", x_of(c->length), bottom);
	put_html(f, events[event].name);
	fprintf(f, ": %.0f counted</title></path>",
		count_at(t, event, c->length) - count_at(t, event, 0));
	fprintf(f, "<text x=\"%d\" y=\"%.0f\">%s</text></g>\n", WIDTH - RIGHT + 4, y + RATE - 3,
		short_number(most, "/s"));
}

/* ---- a run ------------------------------------------------------------------------- */

/* A round distance of marks, ns: some ten of them */
static double mark_step(void)
{
	double step = pow(10, floor(log10(duration / 5)));

	return duration / step > 25 ? 5 * step : duration / step > 12 ? 2 * step : step;
}

static void draw_axis(FILE *f, double y, double bottom)
{
	double at, step = mark_step();

	fputs("<g class=\"axis\">\n", f);
	for (at = 0; at <= duration; at += step) {
		fprintf(f, "<path class=\"grid\" d=\"M%.1f %.0fV%.0f\"/>", x_of(at), y, bottom);
		fprintf(f, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n", x_of(at),
			y - 3, short_number(at / 1e9, "s"));
	}
	fputs("</g>\n", f);
}

static double draw_cpu(FILE *f, const struct capture *c, const struct cpu_track *t,
		       const double *most, double y)
{
	int i;

	fprintf(f, "<text class=\"cpu\" x=\"0\" y=\"%.0f\">CPU %d</text>\n", y + LANE - 3, t->cpu);
	if (c->has_tasks) {
		begin_lane(f, c, t, "tasks", y, LANE);
		draw_lane(f, y, &t->tasks, draw_task);
		y += LANE + GAP;
	}
	for (i = 0; i < MAX_COUNTERS; i++) {
		if (!shows_counter(t, i))
			continue;
		begin_lane(f, c, t, counter_name(i), y, LANE);
		draw_lane(f, y, &t->on[i], draw_owner);
		y += LANE + GAP;
	}
	for (i = 0; i < nr_events; i++) {
		draw_rate(f, c, t, i, most[i], y);
		y += RATE + GAP;
	}
	return y + 8;
}

static double cpu_height(const struct capture *c, const struct cpu_track *t)
{
	int i, lanes = c->has_tasks;

	for (i = 0; i < MAX_COUNTERS; i++)
		lanes += shows_counter(t, i);
	return lanes * (LANE + GAP) + nr_events * (RATE + GAP) + 8;
}

/**
 * draw_capture() - draw the lanes of a run
 * @f: the file
 * @c: the run
 * @most: the largest rate of each event
 * @y: top
 *
 * Return: bottom.
 */
double draw_capture(FILE *f, const struct capture *c, const double *most, double y)
{
	double height = 0;
	int i;

	for (i = 0; i < c->nr_cpus; i++)
		height += cpu_height(c, &c->cpus[i]);
	fprintf(f, "<text class=\"half\" x=\"0\" y=\"%.0f\">%s: %s</text>\n", y + 16, c->name, c->how);
	y += 44;
	draw_axis(f, y, y + height);
	for (i = 0; i < c->nr_cpus; i++)
		y = draw_cpu(f, c, &c->cpus[i], most, y);
	return y + 6;
}

/**
 * draw_legend() - draw the colour of each event
 * @f: the file
 * @y: top
 *
 * Return: bottom.
 */
double draw_legend(FILE *f, double y)
{
	double x = 0, width;
	int i;

	fputs("<g class=\"legend\">\n", f);
	for (i = 0; i < nr_events; i++) {
		width = 24 + LETTER * strlen(events[i].name);
		if (x + width > WIDTH) {
			x = 0;
			y += 18;
		}
		fprintf(f, "<rect class=\"e%d\" x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\"/>", i, x, y);
		fprintf(f, "<text x=\"%.0f\" y=\"%.0f\">", x + 16, y + 10);
		put_html(f, events[i].name);
		fputs("</text>\n", f);
		x += width;
	}
	fputs("</g>\n", f);
	return y + 22;
}
