#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# conformance.sh [-v] - which rows of Documentation/conformance.md the last test
# run proved: a row is proved when a test that names it passed somewhere and
# none that names it failed anywhere.  -v lists every row with its tests.  The file
# impossible says which rows cannot be proved here, and why.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
verbose=0
[ "${1:-}" != -v ] || verbose=1
cd "$KPMU_TOP"
shopt -s nullglob
logs=(build/log/*.tap)
[ ${#logs[@]} -gt 0 ] || die "no test results; run make test first"

awk -v verbose=$verbose '
# The specification: rows of its tables, by ID
FILENAME ~ /conformance.md$/ {
	if ($1 == "|" && $2 ~ /^[A-Z]+-[0-9]+$/ && $2 !~ /^DIFF/) {
		order[++n] = $2
		known[$2] = 1
	}
	next
}
FILENAME ~ /impossible$/ {
	if ($0 ~ /^#/)
		next
	why = $0
	sub(/^[^\t]*\t/, "", why)
	k = split(substr($0, 1, index($0, "\t") - 1), r, " ")
	for (i = 1; i <= k; i++) {
		if (!(r[i] in known)) {
			print "no such row: " r[i] " (impossible)"
			wrong = 1
		}
		cannot[r[i]] = why
	}
	next
}
# Results: the rows come before the verdict
/^@@@ / { prog = $2 }
FNR == 1 { prog = FILENAME; sub(/.*\//, "", prog); rows = "" }
/^# rows:/ { rows = substr($0, 9) }
/^(not )?ok / {
	bad = $1 == "not"
	skip = / # SKIP/
	name = prog "." $(bad ? 4 : 3)
	k = split(rows, r, " ")
	for (i = 1; i <= k; i++) {
		if (!(r[i] in known)) {
			print "no such row: " r[i] " (" name ")"
			wrong = 1
		} else if (bad) {
			fail[r[i]] = fail[r[i]] " " name
		} else if (!skip) {
			if (!((r[i], name) in seen))
				pass[r[i]] = pass[r[i]] " " name
			seen[r[i], name] = 1
		}
	}
	rows = ""
}
END {
	for (i = 1; i <= n; i++) {
		id = order[i]
		if (id in fail) {
			failed++
			print id " FAILED by" fail[id]
		} else if (id in pass) {
			proved++
			if (verbose) print id " proved by" pass[id]
		} else if (id in cannot) {
			impossible++
			untested++
			if (verbose) print id " impossible: " cannot[id]
		} else {
			untested++
			if (verbose) print id " untested"
		}
	}
	printf "of those untested, %d are impossible here (selftests/impossible)\n",
		impossible
	printf "conformance: %d proved, %d failed, %d untested\n",
		proved, failed, untested
	exit failed > 0 || wrong
}' Documentation/conformance.md selftests/impossible "${logs[@]}"
