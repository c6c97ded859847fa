#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""names.py KERNEL - check names and sizes in kernel/, for make check.

A file has at most 500 lines, a function 60.  A name in a backtrace or in lockdep's report must lead to one place, so names of functions,
files and locks are unique.  The module must have been built for KERNEL: what other files use
is read from its objects.
"""

import collections
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path("build", sys.argv[1])
KBUILD = pathlib.Path("Kbuild").read_text()
OBJECTS = re.findall(r"kernel/\S+\.o", KBUILD)
SOURCES = {f: pathlib.Path(f).read_text() for f in subprocess.check_output(
    ["git", "ls-files", "kernel/*.[ch]", "include/uapi/*.h"], text=True).split()
    if pathlib.Path(f).exists()}

# A definition at the start of a line: storage, type, name, arguments, body
DEFINITION = re.compile(
    r"^(?!typedef|struct \w+ \{|union|enum \w+ \{|extern|DEFINE|DECLARE|EXPORT|MODULE)"
    r"((?:[\w\*]+[ \n\*]+)+)(\w+)\(([^;{}]*?)\)\s*\n\{", re.M)
DOCUMENTED = re.compile(r"^ \* (\w+)\(\) - ", re.M)
LOCK = re.compile(r"DEFINE_(?:MUTEX|SPINLOCK|RAW_SPINLOCK|RWLOCK)\((\w+)\)"
                  r"|(?:spinlock_t|struct mutex|rwlock_t)\s+(\w+)[;\[]")
# Called by the kernel's loader
ENTRIES = {"init_module", "cleanup_module", "__this_module"}


def symbols():
    """For each object, names that it defines for others, and those that it takes from others."""
    table = {obj: (set(), set()) for obj in OBJECTS}
    for line in subprocess.check_output(["nm", "-A", *OBJECTS], text=True, cwd=BUILD).splitlines():
        obj, rest = line.split(":", 1)
        kind, name = rest[17:].split(None, 1)
        defined, used = table[obj]
        (used if kind == "U" else defined if kind in "TDBR" else set()).add(name)
    return table


def duplicate_files():
    seen = collections.Counter(pathlib.Path(f).name for f in SOURCES)
    return [f"{n} files are named {f}" for f, n in seen.items() if n > 1]


def duplicate_statics():
    seen = collections.defaultdict(set)
    for f, text in SOURCES.items():
        for m in DEFINITION.finditer(text):
            if re.match(r"static\b", m.group(1)):
                seen[m.group(2)].add(f)
    return [f"{name}() is in {' and '.join(sorted(files))}"
            for name, files in seen.items() if len(files) > 1]


def unused_exports():
    table = symbols()
    used = set().union(*(u for _, u in table.values()), ENTRIES)
    # The unit tests call functions of files that they build for user space
    for test in pathlib.Path("selftests/unit").glob("*.[ch]"):
        used.update(re.findall(r"\w+", test.read_text()))
    used.update(re.findall(r"EXPORT_SYMBOL_GPL\((\w+)\)", "".join(SOURCES.values())))
    own = re.compile(r"^(kpmu|x86)_")
    return [f"{name} of {obj[:-2]}.c is used by no other file: make it static"
            for obj, (defined, _) in table.items()
            for name in sorted(defined - used) if own.match(name)]


def unnamed_locks():
    return [f"{f}: the lock {name} is not named *_lock"
            for f, text in SOURCES.items()
            for name in (a or b for a, b in LOCK.findall(text))
            if not re.search(r"_locks?$", name)]


def without_doc():
    documented = set(DOCUMENTED.findall("".join(SOURCES.values())))
    return [f"{f}: {m.group(2)}() has no kernel-doc"
            for f, text in SOURCES.items() for m in DEFINITION.finditer(text)
            if (f.endswith(".h") or not m.group(1).startswith("static"))
            and m.group(2) not in documented and text[m.end():m.end() + 2] != "\n}"]


def too_long():
    for f, text in SOURCES.items():
        lines = text.count("\n")
        if f.startswith("kernel/") and lines > 500:
            yield f"{f} has {lines} lines"
        for m in DEFINITION.finditer(text):
            body = text[m.end():text.find("\n}", m.end())].count("\n")
            if body > 60:
                yield f"{f}: {m.group(2)}() has {body} lines"


faults = [fault for check in (duplicate_files, duplicate_statics, unused_exports,
                              unnamed_locks, without_doc, too_long) for fault in check()]
print(*faults, sep="\n", end="\n" * bool(faults))
sys.exit(bool(faults))
