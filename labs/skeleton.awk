# SPDX-License-Identifier: GPL-2.0-only
#
# skeleton.awk - make the skeleton of a solved source.  In it
#
#	/*
#	 * SOLUTION: what to do, in one or more lines
#	 */
#	the solution
#	/* SKELETON: return 0; */
#	/* END */
#
# becomes the comment, with TODO, and "return 0;".  There may be any number of SKELETON lines, also none;
# \t in them is a tab.

function fail(why)
{
	print FILENAME ":" FNR ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

/^[ \t]*(\/\*| \*) SOLUTION: / {
	if (open)
		fail("SOLUTION within a solution")
	open = marks = FNR
	task = 1
	sub("SOLUTION: ", "TODO: ")
}
task {
	print
	if (/\*\//)
		task = 0
	next
}
/^[ \t]*\/\* END \*\/$/ {
	if (!open)
		fail("END without SOLUTION")
	open = 0
	next
}
/^[ \t]*\/\* SKELETON: .* \*\/$/ {
	if (!open)
		fail("SKELETON without SOLUTION")
	sub("/\\* SKELETON: ", "")
	sub(" \\*/$", "")
	gsub(/\\t/, "\t")
	print
	next
}
/\* (SOLUTION|SKELETON|END)/ { fail("this mark is not understood") }
!open { print }
END {
	if (!failed && open)
		print FILENAME ":" open ": SOLUTION without END" >"/dev/stderr"
	if (!failed && !marks)
		print FILENAME ": no marks" >"/dev/stderr"
	exit failed || open || !marks
}
