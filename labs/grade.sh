#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# grade.sh LAB|all - grade build/labs/LAB, the student's own file; make grade calls it.  The first call
# writes the skeleton.  "all" ends with "labs: N of N".

# shellcheck source=labs/lib.sh
. "$(dirname "$0")/lib.sh"

labs=("${1:?which lab?}")
[ "$1" != all ] || labs=("${all_labs[@]}")
"$labs_top/start.sh" "${labs[@]}"

entries=()
for lab in "${labs[@]}"; do
	entries+=("student_$lab:$lab:$KPMU_TOP/build/labs/$lab/$(source_of "$lab")")
done
grade_all "${entries[@]}"

passed=0
for lab in "${labs[@]}"; do
	tag=student_$lab word=failed
	counts=$(verdict "$tag") && { word=passed passed=$((passed + 1)); }
	if [ "$1" != all ] || [ $word = failed ]; then
		grep -E '^((not )?ok|#) ' "$labs_work/$tag.result" | sed "s/^/lab $lab: /" || true
		[ ! -s "$labs_work/$tag.why" ] || sed "s/^/lab $lab: /" "$labs_work/$tag.why"
	fi
	echo "lab $lab: $word, ${counts% *} of ${counts#* } checks"
done
[ "$1" != all ] || echo "labs: $passed of ${#labs[@]}"
[ $passed = ${#labs[@]} ]
