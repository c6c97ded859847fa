#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-r] [PROGRAM...] - which code of the module the tests reach; make coverage calls
# it.  The boots of the kernel gcov run all test programs, the fuzzer's corpus among them,
# or those named.
#  -r   only report again what the guests of the last run have printed
#
# In build/coverage: html/ has a page per file, module.info is lcov's, reached/PROGRAM
# has the lines FILE:LINE that a program reaches, log/ what the guests have printed.
# The last line is "coverage: L% of lines, B% of branches".

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/coverage
out=$KPMU_TOP/build/coverage
built=$KPMU_TOP/build/gcov
gcov=gcov-12 tool=gcov-tool-12
rc=0

# guests [PROGRAM...] - run them; a test that fails does not keep the rest from being drawn
guests()
{
	rm -rf "$out"
	LOGS=$out/log "$KPMU_TOP/selftests/run.sh" -k gcov ${J:+-j "$J"} "$@" || rc=1
}

# unpack - counters of BOOT and PROGRAM to data/BOOT/PROGRAM
unpack()
{
	local tap program to
	rm -rf "$out/data"
	for tap in "$out"/log/*.tap; do
		sed -n 's/^@@@gcov\t\([^\t]*\)\t.*/\1/p' "$tap" | uniq | while read -r program; do
			to=$out/data/$(basename "$tap" -gcov.tap)/$program
			mkdir -p "$to"
			sed -n "s/^@@@gcov\t$program\t//p" "$tap" | base64 -d |
				tar -C "$to" -xz || die "$tap: the counters of $program are damaged"
			# Nothing, if the module was not there
			[ -n "$(find "$to" -name '*.gcda' -print -quit)" ] || rm -rf "$to"
		done
	done
	compgen -G "$out/data/*/*" >/dev/null || die "no guest has printed counters"
}

# merge DIR... - the sums of all these, to sum/
merge()
{
	rm -rf "$out/sum" "$out/next"
	cp -r "$1" "$out/sum"
	shift
	for d; do
		$tool merge -o "$out/next" "$out/sum" "$d" 2>>"$out/merge.log" ||
			die "$tool failed; see $out/merge.log"
		rm -rf "$out/sum"
		mv "$out/next" "$out/sum"
	done
}

# notes - where gcov finds the compiler's notes beside the counters
notes()
{
	rm -rf "$out/obj"
	mkdir -p "$out/obj"
	(cd "$built" && find kernel -name '*.gcno' -exec cp --parents {} "$out/obj/" \;)
}

# counters DIR - put these beside the notes
counters()
{
	find "$out/obj" -name '*.gcda' -delete
	cp -r "$1/kernel" "$out/obj/"
}

# reached - FILE:LINE of each program, "load" and "unload" among them
reached()
{
	local program
	mkdir -p "$out/reached"
	find "$out/data" -mindepth 2 -maxdepth 2 -printf '%f\n' | sort -u |
	while read -r program; do
		for d in "$out"/data/*/"$program"; do
			counters "$d"
			(cd "$built" && find "$out/obj" -name '*.gcda' -print0 |
				xargs -0 $gcov -t) 2>/dev/null | awk -f "$here/reached.awk"
		done | sort -u >"$out/reached/$program"
	done
}

# draw - lcov's file of our own lines, and genhtml's pages
draw()
{
	local lcov=(lcov -q --gcov-tool "$gcov" --rc lcov_branch_coverage=1)
	counters "$out/sum"
	{
		"${lcov[@]}" -c -d "$out/obj" -b "$built" -o "$out/all.info" &&
		"${lcov[@]}" -e "$out/all.info" "$built/kernel/*" -o "$out/built.info" &&
		sed "s|^SF:$built/|SF:$KPMU_TOP/|" "$out/built.info" >"$out/module.info" &&
		genhtml -q --branch-coverage --legend -t kpmu -p "$KPMU_TOP" \
			-o "$out/html" "$out/module.info"
	} >"$out/lcov.log" 2>&1 || { tail "$out/lcov.log" >&2; die "lcov failed"; }
}

[ "${1:-}" = -r ] || {
	"$KPMU_TOP/qemu/module.sh" gcov
	guests "$@"
}
need_tools lcov $gcov:gcc-12 $tool:gcc-12
unpack
merge "$out"/data/*/*
notes
reached
draw
awk -v top="$KPMU_TOP/" -f "$here/table.awk" "$KPMU_TOP/selftests/unreached" "$out/module.info" || rc=1
exit $rc
