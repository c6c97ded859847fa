#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""timeline-page.py trace|lanes|picture|NAME.png EVENTS FOLDER - check what kpmu-timeline has written,
for timeline-page.sh: trace.json; dom.html, the page as the browser has it; page.png, as it shows it.
With NAME.png, write a small copy of page.png."""

import collections
import html.parser
import json
import re
import sys

WHAT, EVENTS, FOLDER = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
CPUS = (0, 1)
RUNS = ("kpmu", "native perf")
COUNTERS = [f"counter {i}" for i in range(4)]
faults = []


def need(good, text):
    if not good:
        faults.append(text)


class Page(html.parser.HTMLParser):
    """Lanes of the page, with the rectangles in each; colours of its style sheet."""

    def __init__(self):
        super().__init__()
        self.lanes, self.legend, self.style = collections.defaultdict(list), [], ""
        self.group, self.urls, self.in_style = None, [], False

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.urls += [v for k, v in attrs if k in ("src", "href", "data", "srcset")]
        self.in_style = tag == "style"
        if tag == "g":
            self.group = (a.get("data-run"), a.get("data-cpu"), a.get("data-lane"), a["class"])
            if a["class"] == "lane":
                self.lanes[self.group[:3]] = []
        elif tag in ("rect", "path") and self.group:
            if self.group[3] == "legend":
                self.legend.append(a)
            elif self.group[3] == "lane":
                self.lanes[self.group[:3]].append((tag, a))

    def handle_endtag(self, tag):
        self.in_style = False

    def handle_data(self, data):
        if self.in_style:
            self.style += data

    def colours(self):
        return {m[1]: tuple(bytes.fromhex(m[2]))
                for m in re.finditer(r"\.(e\d+)\{fill:#([0-9a-f]{6})\}", self.style)}


def read_page():
    page = Page()
    with open(f"{FOLDER}/dom.html", encoding="utf-8") as f:
        page.feed(f.read())
    return page


def check_slices(name, slices):
    """Slices of a track must not overlap."""
    end = 0.0
    for s in slices:
        need(s["dur"] > 0 and s["ts"] >= end - 0.0005, f"{name}: a slice at {s['ts']} overlaps")
        end = s["ts"] + s["dur"]


def check_process(events, name, native):
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            slices[names[e["tid"]]].append(e)
    need(("tasks" in names.values()) != native, f"{name}: tasks")
    for track in names.values():
        check_slices(f"{name}, {track}", slices[track])
    for track in COUNTERS:
        need(track in names.values(), f"{name} has no {track}")
        need(len({s["name"] for s in slices[track]}) > 1, f"{name}: {track} is not shared")
    shown = {s["name"] for t in COUNTERS for s in slices[t]}
    rates = {e["name"] for e in events if e["ph"] == "C"}
    for e in EVENTS:
        need(e in shown, f"{name}: {e} has no counter")
        need(e in rates, f"{name}: {e} has no rate")
    print(f"# {name}: {len(events)} events,", ", ".join(
        f"{len(slices[t])} slices of {t}" for t in COUNTERS))


def check_trace():
    with open(f"{FOLDER}/trace.json", encoding="utf-8") as f:
        trace = json.load(f)
    by_pid = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        by_pid[e["pid"]].append(e)
    names = {e["args"]["name"]: e["pid"] for e in trace["traceEvents"]
             if e["name"] == "process_name"}
    need(trace["otherData"]["lost"] == "0", "records were lost")
    need(len(names) == len(CPUS) * len(RUNS), f"processes: {list(names)}")
    for cpu in CPUS:
        for name in (f"CPU {cpu}", f"CPU {cpu} (native perf)"):
            check_process(by_pid[names.get(name)], name, name.endswith(")"))


def check_lanes():
    page = read_page()
    need(len(page.legend) == len(EVENTS), "the legend")
    need(not page.urls, f"the page refers to {page.urls}")
    want = {(r, str(c), lane) for r in RUNS for c in CPUS for lane in COUNTERS + EVENTS}
    want |= {("kpmu", str(c), "tasks") for c in CPUS}
    got = {lane for lane in page.lanes if not lane[2].startswith("fixed")}
    need(got == want, f"lanes: {want ^ got}")
    print(f"# {len(page.lanes)} lanes, {sum(len(v) for v in page.lanes.values())} shapes")


def check_picture():
    from PIL import Image       # only here: there may be none
    page, picture = read_page(), Image.open(f"{FOLDER}/page.png").convert("RGB")
    colours, pixel = page.colours(), picture.load()
    need(len(set(colours.values())) == len(EVENTS), "two events have one colour")
    # The legend begins at the origin of the drawing, with the first event
    top, left = next(((y, x) for y in range(picture.height) for x in range(picture.width)
                      if pixel[x, y] == colours["e0"]), (0, 0))
    seen = {r: collections.Counter() for r in RUNS}
    for (run, _, lane), shapes in page.lanes.items():
        for tag, a in shapes:
            if tag != "rect" or a["class"] not in colours or float(a["width"]) < 3:
                continue
            # In its middle, above the text
            x = left + float(a["x"]) + float(a["width"]) / 2
            y = top + float(a["y"]) + 1
            need(pixel[int(x), int(y)] == colours[a["class"]],
                 f"{run}, {lane}: {pixel[int(x), int(y)]} at {x:.0f} {y:.0f} is not {a['class']}")
            seen[run][a["class"]] += 1
    for run in RUNS:
        for c in colours:
            need(seen[run][c], f"{run}: nothing of colour {c}")
        print(f"# {run}: {seen[run].total()} slices as they must be")


def write_small():
    from PIL import Image
    Image.open(f"{FOLDER}/page.png").convert("RGB").quantize(
        48, dither=Image.Dither.NONE).save(WHAT, optimize=True)


{"trace": check_trace, "lanes": check_lanes, "picture": check_picture}.get(WHAT, write_small)()
print("".join(f"# {f}\n" for f in faults[:20]), end="")
sys.exit(bool(faults))
