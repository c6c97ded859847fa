#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-r] [PROGRAM...] - measure which code of the module the tests reach; make coverage
# calls it.  The boots of the kernel gcov run the named test programs, by default all of
# them, including the one that replays the fuzzer's corpus.
#  -r   run no guests; evaluate the output of the last run again
#
# Files in build/coverage: html/ has a page per source file, module.info is the data of
# lcov, reached/PROGRAM lists the lines that a program reaches as FILE:LINE, log/ has the
# output of the guests.  The last line of the output is "coverage: L% of lines, B% of
# branches".

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/coverage
out=$KPMU_TOP/build/coverage
built=$KPMU_TOP/build/gcov
gcov=gcov-12 tool=gcov-tool-12
rc=0

# guests [PROGRAM...] - run the guests; a failed test fails this script, but only at its end
guests()
{
	rm -rf "$out"
	LOGS=$out/log "$KPMU_TOP/selftests/run.sh" -k gcov ${J:+-j "$J"} "$@" || rc=1
}

# unpack - extract the counters from the output of the guests, to data/BOOT/PROGRAM
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
			# There are no counters if the module was not loaded
			[ -n "$(find "$to" -name '*.gcda' -print -quit)" ] || rm -rf "$to"
		done
	done
	compgen -G "$out/data/*/*" >/dev/null || die "no guest has printed counters"
}

# merge DIR... - write the sums of the counters of all directories to sum/
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

# notes - copy the compiler's notes (.gcno) to obj/, as gcov wants them next to the counters
notes()
{
	rm -rf "$out/obj"
	mkdir -p "$out/obj"
	(cd "$built" && find kernel -name '*.gcno' -exec cp --parents {} "$out/obj/" \;)
}

# counters DIR - replace the counters in obj/ by those in DIR
counters()
{
	find "$out/obj" -name '*.gcda' -delete
	cp -r "$1/kernel" "$out/obj/"
}

# reached - write the lists reached/PROGRAM; "load" and "unload" are programs here
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

# draw - write module.info, for the sources of the module only, and the pages of genhtml
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
