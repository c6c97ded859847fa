#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""
terminal.py WHAT COMMAND [ARGUMENT...] - drive the shell of a guest on a pseudo terminal, for test.sh.

WHAT is "work" (job control, keys, the window, exit status) or "again" (the history of the session
before).  Prints a line "ok ..." or "not ok ..." for each test and "# prompt SECONDS".
"""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

PROMPT = rb"guest:[^\n]*# $"
LIMIT = 400


class Terminal:
    """A program on a terminal of 37 rows and 101 columns."""

    def __init__(self, command):
        self.text = b""
        self.child, self.fd = pty.fork()
        if self.child == 0:
            self.size(37, 101, 0)
            os.execvp(command[0], command)

    def size(self, rows, columns, fd=None):
        fcntl.ioctl(self.fd if fd is None else fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, keys):
        self.text = b""
        os.write(self.fd, keys)

    def wait_for(self, pattern, limit=LIMIT):
        """Read until the output ends with the pattern; return it, without escape sequences and CR."""
        end = time.monotonic() + limit
        while True:
            clean = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", self.text).replace(b"\r", b"")
            if re.search(pattern, clean):
                return clean.decode(errors="replace")
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise TimeoutError(f"no {pattern} in {clean[-400:]}")
            try:
                self.text += os.read(self.fd, 4096)
            except OSError as gone:
                raise EOFError(f"ended at {clean[-400:]}") from gone

    def run(self, line):
        self.send(line.encode() + b"\n")
        return self.wait_for(PROMPT)

    def end(self):
        """The exit status of the program."""
        while True:
            try:
                if not os.read(self.fd, 4096):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


def check(what, good, detail=""):
    print(("ok " if good else "not ok ") + what)
    if not good:
        print("# " + detail.replace("\n", "\n# "))


def work(term):
    text = term.run("stty size; echo $-")
    check("the size of the window", "\n37 101\n" in text, text)
    check("the shell has job control", re.search(r"\n\w*m\w*\n", text), text)

    term.send(b"sleep 1000\n")
    term.wait_for(rb"sleep 1000\n")
    time.sleep(2)
    term.send(b"\x1a")
    text = term.wait_for(PROMPT)
    check("^Z stops a program", "Stopped" in text, text)
    term.send(b"fg\n")
    term.wait_for(rb"sleep 1000\n")
    time.sleep(2)
    term.send(b"\x03")
    term.wait_for(PROMPT)
    text = term.run("echo status $?")
    check("fg continues it, and ^C interrupts it", "status 130" in text, text)

    term.send(b"cho one\x01e\n")        # ^A: to the start of the line
    text = term.wait_for(PROMPT)
    check("^A is the shell's", "\none\n" in text, text)

    term.size(29, 77)
    time.sleep(2)
    term.run("true")
    text = term.run("stty size")
    check("a new size of the window", "\n29 77\n" in text, text)

    text = term.run("id -un; ls -d /sys/kernel/tracing/events /sys/fs/cgroup/cgroup.procs; "
                    "stat -f -c %T /sys/fs/bpf")
    check("root, tracefs, cgroup2 and the file system of BPF",
          all(w in text for w in ("root", "tracing/events", "cgroup.procs", "bpf_fs")), text)
    text = term.run("kpmu-stat -e instructions:u ci/sample/loop")
    check("kpmu's tools are on PATH", "3000004" in text.replace(",", ""), text)

    term.run(f"echo marked-{os.getppid()}")
    term.send(b"exit 7\n")
    status = term.end()
    check("the status of the shell is that of the script", status == 7, f"is {status}")


def again(term):
    term.send(b"\x12marked-")           # ^R: search the history
    time.sleep(2)
    term.send(b"\r")                    # ^J would only end the search
    text = term.wait_for(PROMPT)
    check("the history outlives the guest", f"\nmarked-{os.getppid()}\n" in text, text)
    term.send(b"\x04")                   # ^D
    status = term.end()
    check("^D leaves", status == 0, f"is {status}")


def main():
    start = time.monotonic()
    term = Terminal(sys.argv[2:])
    try:
        term.wait_for(PROMPT)
        print(f"# prompt {time.monotonic() - start:.1f}", flush=True)
        {"work": work, "again": again}[sys.argv[1]](term)
    except (TimeoutError, EOFError) as wrong:
        check(sys.argv[1], False, str(wrong))


main()
