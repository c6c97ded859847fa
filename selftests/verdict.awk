# SPDX-License-Identifier: GPL-2.0-only
#
# awk -f verdict.awk -v status=N FILE.tap - evaluate one run of a test program with exit
# status N.  Prints a line for each test, with tabs between the fields:
#
#	name	pass|skip|FAIL	the checks that failed, separated by " ; "
#
# The last line is that of the pseudo test "all".  It passes only if the run was complete: as
# many results as planned, one for each test, and the matching exit status.  A test that is
# listed in "# tests:" but has no result has failed.

BEGIN { OFS = "\t"; plan = "no"; nr = failed = skipped = 0 }

/^1\.\.[0-9]+$/ { plan = substr($0, 4) }

/^# tests:/ {
	for (i = 3; i <= NF; i++)
		listed[++nr_listed] = $i
}

# A failed check, as printed by the harness: "# file.c:123: expected ..."
/^# [^ ]+\.[ch]:[0-9]+: / {
	sub(/^# [^ ]+:[0-9]+: /, "")
	add($0)
	next
}
/^# [^ ]+: killed by signal/ { sub(/^# [^ ]+: /, ""); add($0); next }
# Any other comment is the reason of a failure without a failed check, e.g. if ev_must() fails
/^# / && !/^# (rows|tests):/ { remark = substr($0, 3) }

/^(not )?ok / {
	bad = $1 == "not"
	name = bad ? $4 : $3
	result = bad ? "FAIL" : / # SKIP/ ? "skip" : "pass"
	if (bad && why == "")
		why = remark
	print name, result, bad ? why : ""
	nr++
	failed += bad
	skipped += result == "skip"
	if (name in seen)
		wrong = wrong " " name " has two results;"
	seen[name] = 1
	why = remark = ""
}

function add(text)
{
	gsub(/\t/, " ", text)
	why = why (why == "" ? "" : " ; ") text
}

END {
	for (i = 1; i <= nr_listed; i++)
		if (!(listed[i] in seen))
			print listed[i], "FAIL", "no result"
	if (plan != nr)
		wrong = wrong " " plan " planned, " nr " with a result;"
	expected = failed ? 1 : nr && skipped == nr ? 4 : 0
	if (status != expected)
		wrong = wrong " exit status " status ", not " expected ";"
	print "all", wrong == "" ? "pass" : "FAIL", substr(wrong, 2)
}
