# SPDX-License-Identifier: GPL-2.0-only
#
# awk -f compare.awk -v prog=P -v kernel=6.12 -v model=skylake -v strict=1
#	native-differs kpmu.res [native.res...] - compare the kpmu column and the native
# column of a program.  The .res files are those of verdict.awk.  Several native.res files
# are several tries of the native column.  Prints a line for each test:
#
#	@@ prog.test kpmu-result native-result
#
# The native result is the best of all tries, or one of these:
#	differs	the test failed as native-differs predicts for this kernel and CPU model
#	STALE	native-differs lists the test, but it does not fail (not if strict is 0)
#	-	the program has no native column
# A test without a result in a column has failed in this column.  The line of "all" is
# printed only if a column was incomplete.  If the native result is FAIL, the checks that
# failed are printed before the line.

BEGIN { FS = "\t" }

FILENAME ~ /native-differs$/ {
	if ($0 ~ /^#/ || $1 !~ "^" prog "\\.")
		next
	where = $2
	sometimes = sub(/\?$/, "", where)
	k = split(where, part, "/")
	if (!named(kernel, part[1]) || (k > 1 && !named(model, part[2])))
		next
	test = substr($1, length(prog) + 2)
	excuse[test] = $3
	maybe[test] = sometimes
	next
}

FNR == 1 { column++ }

column == 1 { note($1); kpmu[$1] = $2; next }

{
	note($1)
	result = $2
	if (result == "FAIL") {
		causes[$1] = causes[$1] "# native " prog "." $1 ": " $3 "\n"
		if (excused($1, $3))
			result = "differs"
	}
	tries[$1, result]++
}

# Is x in this comma-separated list, or is "*"?
function named(x, list,		n, i, l)
{
	n = split(list, l, ",")
	for (i = 1; i <= n; i++)
		if (l[i] == "*" || l[i] == x)
			return 1
	return 0
}

function note(test)
{
	if (!(test in known))
		order[++nr] = test
	known[test] = 1
}

# Does the pattern of the entry in native-differs match each check that failed?
function excused(test, why,	n, i, w)
{
	if (!(test in excuse))
		return 0
	n = split(why, w, / ; /)
	for (i = 1; i <= n; i++)
		if (w[i] !~ excuse[test])
			return 0
	return n > 0
}

function native(test)
{
	if (column < 2)
		return "-"
	if (tries[test, "differs"])
		return "differs"
	if (strict && (test in excuse) && !maybe[test] &&
	    (tries[test, "pass"] || tries[test, "skip"]))
		return "STALE"
	if (tries[test, "pass"])
		return "pass"
	return tries[test, "skip"] ? "skip" : "FAIL"
}

END {
	for (i = 1; i <= nr; i++) {
		test = order[i]
		ours = (test in kpmu) ? kpmu[test] : "FAIL"
		theirs = native(test)
		if (test == "all" && ours != "FAIL" && theirs != "FAIL")
			continue
		if (theirs == "FAIL")
			printf "%s", causes[test]
		print "@@ " prog "." test " " ours " " theirs
	}
}
