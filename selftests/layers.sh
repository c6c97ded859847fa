#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# layers.sh - check that folders of kernel/ include only downward: a folder uses
# folders of a lower number.  Documentation/design.rst, "Layout".

cd "$(dirname "$0")/../kernel" || exit 1

declare -A level=(
	[compat]=0 [abi]=0 [trace]=0 [ring]=1 [assign]=1 [pmu]=2
	[sched]=3 [event]=4 [record]=5 [sampling]=6 [life]=7 [check]=7 [hooks]=8 [dev]=9
	[.]=10
)

folder() { local p=${1#./}; case $p in */*) echo "${p%%/*}" ;; *) echo . ;; esac; }

bad=0
complain() { echo "$1: includes $2: $3"; bad=1; }

while IFS=: read -r file line; do
	inc=${line#*\"} inc=${inc%%\"*}
	target=$(realpath -m --relative-to=. "$(dirname "$file")/$inc")
	[ -e "$target" ] || continue		# not ours
	from=$(folder "$file") to=$(folder "$target")
	[ "$from" != "$to" ] || continue
	[ -n "${level[$to]}" ] || { complain "$file" "$inc" "unknown folder"; continue; }
	if [ "${level[$from]}" -eq "${level[$to]}" ]; then
		complain "$file" "$inc" "$from and $to are on one level"
	elif [ "${level[$from]}" -lt "${level[$to]}" ]; then
		complain "$file" "$inc" "$from is below $to"
	fi
done < <(grep -rnE '^#include "' --include='*.[chS]' . | sed 's/:[0-9]*:/:/')

# Kernel versions are known in compat/ only
while IFS=: read -r file _; do
	complain "$file" "LINUX_VERSION_CODE" "only compat/ may ask for versions"
done < <(grep -rlE 'LINUX_VERSION_CODE|KERNEL_VERSION' --include='*.[ch]' . |
	grep -v '^\./compat/')

[ $bad -eq 0 ] && echo "layers: clean"
exit $bad
