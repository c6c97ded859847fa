#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# conformance.sh [-v] - print which rows of Documentation/conformance.md the last test run
# proved.  The tests of a row are those that name it in ROWS().  A row is proved if at least one
# of its tests passed, and none failed or has no result on any kernel.  A row whose tests were
# all skipped on some kernel is printed with that kernel.  -v prints every row with its
# tests and its promise.
# The file impossible lists the rows that cannot be proved here, with the reasons.  LOGS=folder
# evaluates the logs in that folder.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
verbose=0
[ "${1:-}" != -v ] || verbose=1
cd "$KPMU_TOP"
shopt -s nullglob
logs=("${LOGS:-build/log}"/*.tap)
[ ${#logs[@]} -gt 0 ] || die "no test results; run make test first"

awk -v verbose=$verbose '
# The specification: the first field of a table row is its ID
FILENAME ~ /conformance.md$/ {
	if ($1 == "|" && $2 ~ /^[A-Z]+-[0-9]+$/ && $2 !~ /^DIFF/) {
		order[++n] = $2
		known[$2] = 1
		split($0, cell, / \| /)
		promise[$2] = cell[2]
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
# First line of a log: BOOT-KERNEL.tap of a guest, or unit-PROGRAM.tap of the host
FNR == 1 {
	ended()
	log_name = FILENAME
	sub(/.*\//, "", log_name)
	prog = log_name
	kernel = log_name
	sub(/\.tap$/, "", kernel)
	sub(/.*-/, "", kernel)
	if (log_name ~ /^unit-/)
		kernel = "the host"
	summed = log_name ~ /^unit-/
	rows = ""
}
/^@@@ / { prog = $2; rows = "" }
/^@@sum / { summed = 1 }
# The rows of a test are printed before its result
/^# rows:/ { rows = substr($0, 9) }
/^(not )?ok / {
	bad = $1 == "not"
	name = prog "." $(bad ? 4 : 3)
	result(name, bad ? "fail" : / # SKIP/ ? "skip" : "pass")
	rows = ""
}
# Tests that failed according to guest.sh.  These include tests without a result, whose rows
# are known only from other logs.
/^@@ [^ ]+ FAIL / { without[$2] = without[$2] " " kernel }

function ended()
{
	if (log_name != "" && !summed) {
		print log_name ": the guest did not come to its end"
		wrong = 1
	}
}

function result(name, what,	k, i, r)
{
	k = split(rows, r, " ")
	for (i = 1; i <= k; i++) {
		if (!(r[i] in known)) {
			print "no such row: " r[i] " (" name ")"
			wrong = 1
			continue
		}
		if (!((r[i], name) in seen))
			named[r[i]] = named[r[i]] " " name
		seen[r[i], name] = 1
		got[name, what] = 1
		on[r[i], what, kernel] = 1
		if (!(kernel in is_kernel))
			kernels[++nr_kernels] = kernel
		is_kernel[kernel] = 1
	}
}

# The tests of a row with this result; "fail" includes tests without a result
function tests(row, what,	k, i, t, list)
{
	k = split(named[row], t, " ")
	for (i = 1; i <= k; i++)
		if (got[t[i], what] || (what == "fail" && t[i] in without))
			list = list " " t[i]
	return list
}

# The kernels on which tests of the row were skipped and none passed
function skipped_on(row,	i, list)
{
	for (i = 1; i <= nr_kernels; i++)
		if (on[row, "skip", kernels[i]] && !on[row, "pass", kernels[i]])
			list = list " " kernels[i]
	return list
}

END {
	ended()
	for (i = 1; i <= n; i++) {
		id = order[i]
		bad = tests(id, "fail")
		good = tests(id, "pass")
		skips = good == "" ? "" : skipped_on(id)
		if (bad != "") {
			failed++
			print id " FAILED by" bad
			print "\t" promise[id]
		} else if (good != "") {
			proved++
			partly += skips != ""
			if (verbose || skips != "")
				print id " proved by" good (skips == "" ? "" : ", skipped on" skips)
			if (verbose) print "\t" promise[id]
		} else if (id in cannot) {
			impossible++
			untested++
			if (verbose) print id " impossible: " cannot[id] "\n\t" promise[id]
		} else {
			untested++
			if (verbose) print id " untested\n\t" promise[id]
		}
	}
	printf "of those proved, %d were skipped on some kernel\n", partly
	printf "of those untested, %d are impossible here (selftests/impossible)\n",
		impossible
	printf "conformance: %d proved, %d failed, %d untested\n",
		proved, failed, untested
	exit failed > 0 || wrong
}' Documentation/conformance.md selftests/impossible "${logs[@]}"
