# SPDX-License-Identifier: GPL-2.0-only
#
# awk -f verdict.awk -v status=N FILE.tap - what one run of a test program proves.
# status is the program's exit status.  A line for each test, fields divided by tabs:
#
#	name	pass|skip|FAIL	the checks that failed, divided by " ; "
#
# and one for the test "all", which passes only if the run was complete: as many results
# as planned, each once, and the exit status that belongs to them.  A test that is in the
# list of tests but has no result has failed.

BEGIN { OFS = "\t"; plan = "no"; nr = failed = skipped = 0 }

/^1\.\.[0-9]+$/ { plan = substr($0, 4) }

/^# tests:/ {
	for (i = 3; i <= NF; i++)
		listed[++nr_listed] = $i
}

# What the harness says of a check that failed: "# file.c:123: expected ..."
/^# [^ ]+\.[ch]:[0-9]+: / {
	sub(/^# [^ ]+:[0-9]+: /, "")
	add($0)
	next
}
/^# [^ ]+: killed by signal/ { sub(/^# [^ ]+: /, ""); add($0); next }
# Other remarks explain a failure that has no check, as of a call that must succeed
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
