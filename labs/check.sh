#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - test the course: each lab's solution passes, its skeleton fails without a warning of the
# compiler, and solutions with a mistake fail at the check that is about it.  The grader reports a crash,
# a loop without end, and what does not compile.  A clean result of these is kept under a hash of what it
# depends on; FRESH=1 ignores it.  The pages name files and functions that exist.  The last line has the totals.

# shellcheck source=labs/lib.sh
. "$(dirname "$0")/lib.sh"
labs_work=$KPMU_TOP/build/labs-check
cd "$KPMU_TOP"

depends()
{
	find labs Documentation/labs -type f -exec sha256sum {} + | LC_ALL=C sort
	qemu/build.sh
	hash_of qemu/run.sh qemu/init "$(qemu/kernel.sh "$K")/release"
	gcc --version
}
kept=$KPMU_CACHE/labs/$(depends | sha256sum | cut -c1-32)

passed=0 failed=0
# result RC NAME - one test
result()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "not ok - $2"
	fi
}

# total - the last line, and the end
total()
{
	echo "labs: $passed passed, $failed failed"
	[ $failed = 0 ]
	exit
}

# Where the pages say that kpmu does it: "``function()`` in kernel/file.c".  Always run, as kernel/ changes
# much more often than the labs do.
rc=0 places=$KPMU_TOP/build/labs-places
mkdir -p build
for page in Documentation/labs/*.rst; do
	# shellcheck disable=SC2016 # backquotes of reStructuredText
	tr '\n' ' ' <"$page" | grep -oE '``\w+\(\)`` in +kernel/[a-z0-9_/]+\.[ch]' |
	while read -r fn _ file; do
		fn=${fn//[\`()]/}
		grep -qE "\b$fn\(" "$file" || echo "$page: no $fn() in $file"
	done || true	# a page without such a place
done >"$places"
[ ! -s "$places" ] || { cat "$places"; rc=1; }
result $rc "the pages name functions that exist"

if [ -e "$kept" ] && [ -z "${FRESH:-}" ]; then
	echo "# the labs: nothing has changed since $(date -r "$kept" +%F)"
	passed=$((passed + $(cat "$kept")))
	total
fi

rm -rf "$labs_work"
mkdir -p "$labs_work/src"
entries=() wrong=()

# wrong LAB CHECK SED - a solution that the script changes must fail the check
wrong()
{
	local tag="wrong_${1}_${#wrong[@]}" from
	from=$labs_top/$1/$(source_of "$1")
	sed -z -E "$3" "$from" >"$labs_work/src/$tag.c"
	if cmp -s "$from" "$labs_work/src/$tag.c"; then
		result 1 "wrong solution of lab $1, '$3': nothing to change"
		return 0
	fi
	entries+=("$tag:$1:$labs_work/src/$tag.c")
	wrong+=("$tag:$2")
}

for lab in "${all_labs[@]}"; do
	entries+=("solution_$lab:$lab:$labs_top/$lab/$(source_of "$lab")")
	skeleton "$lab" >"$labs_work/src/skeleton_$lab.c"
	entries+=("skeleton_$lab:$lab:$labs_work/src/skeleton_$lab.c")
done
# shellcheck source=labs/wrong.sh
. "$labs_top/wrong.sh"
grade_all "${entries[@]}" >"$labs_work/warnings"

for lab in "${all_labs[@]}"; do
	rc=0
	verdict "solution_$lab" >/dev/null || rc=1
	result $rc "the solution of lab $lab passes"
	[ $rc = 0 ] || cat "$labs_work/solution_$lab".{result,why} 2>/dev/null || true
	rc=0
	verdict "skeleton_$lab" >/dev/null && rc=1
	[ -s "$labs_work/skeleton_$lab.result" ] || rc=1
	result $rc "the skeleton of lab $lab fails, by a check"
done
for entry in "${wrong[@]}"; do
	tag=${entry%%:*} rc=0
	grep -q "^not ok - ${entry#*:}" "$labs_work/$tag.result" || rc=1
	verdict "$tag" >/dev/null && rc=1
	result $rc "$tag fails '${entry#*:}'"
	[ $rc = 0 ] || cat "$labs_work/$tag".{result,why} 2>/dev/null || true
done
rc=0
[ ! -s "$labs_work/warnings" ] || { cat "$labs_work/warnings"; rc=1; }
result $rc "nothing compiles with a warning"

rc=0
grep -hE '^# the first failure: interrupted at ring.c:[0-9]+' "$labs_work"/wrong_7_*.result >"$labs_work/where" || rc=1
result $rc "a failure in lab 7 has a line"

# Accidents: what the grader says of them.  Each needs a guest, and they end by themselves.

# accident TAG LAB CODE TEXT - with CODE at the start of a function, the grader must say TEXT
accidents=()
accident()
{
	local from
	from=$labs_top/$2/$(source_of "$2")
	sed -z -E "s/\n\{\n/\n{\n\t$3\n/" "$from" >"$labs_work/src/$1.c"
	accidents+=("$1:$2:$labs_work/src/$1.c")
	wanted+=("$1:$4")
}
wanted=()
accident crash 1 '*(volatile int *)8 = 0;' 'BUG: kernel NULL pointer dereference'
accident hang 1 'for (;;) barrier();' 'a loop without end'
accident no_compile 2 'nonsense;' 'nonsense.*undeclared'
accident crash_host 4 '*(volatile int *)8 = 0;' 'ERROR: AddressSanitizer: SEGV'
accident hang_host 6 'for (volatile int i = 0; !i;) ;' 'no end within 2 s'
labs_run_limit=2
grade_all "${accidents[@]}" >"$labs_work/accidents"
for entry in "${wanted[@]}"; do
	tag=${entry%%:*} rc=0
	verdict "$tag" >/dev/null && rc=1
	grep -q "${entry#*:}" "$labs_work/$tag.why" || { cat "$labs_work/$tag.why"; rc=1; }
	result $rc "$tag is reported"
done

# skeleton.awk refuses marks that do not match
for text in '/* SOLUTION: a */\n/* SOLUTION: b */' '/* END */' '/* SKELETON: x */' '/* SOLUTION: a */\nx' \
	'int x;' '/* SOLUTION: a */\n/* SKELETON */\n/* END */'; do
	rc=0
	printf '%b\n' "$text" | awk -f "$labs_top/skeleton.awk" >/dev/null 2>&1 && rc=1
	result $rc "skeleton.awk refuses $text"
done

# The student's work is kept
mkdir -p "$labs_work/top/build/labs/4"
echo mine >"$labs_work/top/build/labs/4/assign.c"
ln -s "$KPMU_TOP"/{labs,qemu,Documentation} "$labs_work/top/"
rc=0
(cd "$labs_work/top" && labs/start.sh 4 >/dev/null) || rc=1
[ "$(cat "$labs_work/top/build/labs/4/assign.c" 2>/dev/null)" = mine ] || rc=1
result $rc "start.sh keeps the student's file"

if [ $failed = 0 ]; then
	mkdir -p "${kept%/*}"
	echo $((passed - 1)) >"$kept"	# without that of the pages
fi
total
