#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# start.sh LAB... - prepare build/labs/LAB for a student: the skeleton, and copies of lab.h and what it
# includes to read.  A file that is there is kept.

# shellcheck source=labs/lib.sh
. "$(dirname "$0")/lib.sh"

for lab; do
	[ -d "$labs_top/$lab" ] || die "there is no lab $lab, only ${all_labs[*]}"
	dir=$KPMU_TOP/build/labs/$lab
	file=$dir/$(source_of "$lab")
	mkdir -p "$dir"
	cp "$labs_top/$lab/lab.h" "$labs_top/lib/$(in_kernel "$lab" && echo kernel || echo host).h" "$dir/"
	if [ ! -e "$file" ]; then
		skeleton "$lab" >"$file.tmp"
		mv "$file.tmp" "$file"
		echo "lab $lab: complete ${file#"$KPMU_TOP/"}; Documentation/labs/$lab.rst tells how"
	fi
done
