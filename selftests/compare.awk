# SPDX-License-Identifier: GPL-2.0-only
#
# awk -f compare.awk -v prog=P -v kernel=6.12 -v model=skylake -v strict=1
#	native-differs kpmu.res [native.res...] - the two columns of a program side by
# side.  The .res files are verdict.awk's; there may be several of the native column, a
# try each.  Lines printed:
#
#	@@ prog.test kpmu-result native-result
#
# A native result is the best of all tries, or
#	differs	it failed as native-differs says it does on this kernel and CPU
#	STALE	native-differs says so, but it does not fail (unless strict is 0)
#	-	the program has no native column
# A test that has no result in a column has failed there.  Of "all", a line is printed
# only if a column was not complete.  Why something failed natively goes before its line.

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

# Is x in this list, divided by commas?
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

# Every check that failed must be one that the entry tells of
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
