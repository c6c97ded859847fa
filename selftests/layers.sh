#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# layers.sh [KERNEL] - check the layers of kernel/.  Kbuild lists the files of a folder
# together.  A file uses symbols only of files that Kbuild lists before it, and headers only of
# its own folder and of folders before it.  So neither files nor folders have cyclic
# dependencies.  Symbols are those of the module built for KERNEL, headers those of the
# sources.  See "Layout" in Documentation/design.rst.

cd "$(dirname "$0")/.." || exit 1
K=${1:-6.12}
bad=0
complain() { echo "$*"; bad=1; }

mapfile -t objects < <(sed -n '/^kpmu-y/,/[^\\]$/p' Kbuild |
	grep -oE 'kernel/[a-z0-9_/]+\.o')
[ -e "build/$K/kernel/main.o" ] || { echo "layers: no module for $K: make module K=$K"; exit 1; }

# Level of a folder: its position in Kbuild.  The files of a folder must be adjacent there.
declare -A level
last=
for o in "${objects[@]}"; do
	folder=$(dirname "$o")
	[ "$folder" != "$last" ] || continue
	[ -z "${level[$folder]}" ] || complain "Kbuild: $o is not with the other files of $folder"
	level[$folder]=${#level[@]}
	last=$folder
done
while read -r c; do
	case " ${objects[*]} " in
	*" ${c%.c}.o "*) ;;
	*) complain "$c: not in Kbuild" ;;
	esac
done < <(find kernel -name "*.c")

# Functions and data: symbols of other files must be those of earlier files
order=$(printf '%s\n' "${objects[@]}")
upward=$( (cd "build/$K" && nm -A "${objects[@]}") | awk -v order="$order" '
	BEGIN { n = split(order, o, "\n"); for (i = 1; i <= n; i++) at[o[i]] = i }
	{ split($1, a, ":"); file = a[1]; type = $(NF - 1); sym = $NF }
	type == "U" { used[++m] = file " " sym; next }
	type ~ /[A-VX-Z]/ { where[sym] = file }
	END {
		for (i = 1; i <= m; i++) {
			split(used[i], u, " ")
			to = where[u[2]]
			if (to != "" && at[to] > at[u[1]])
				print u[1] " uses " u[2] "() of " to ", which is above it"
		}
	}')
[ -z "$upward" ] || complain "$upward"

# Headers: only those of the same or an earlier folder, and no cycles
includes=$(grep -rE '^#include "' --include='*.[chS]' kernel | sed 's/:#include "/ /; s/".*//')
# One realpath for all of them
targets=$(while read -r file inc; do echo "${file%/*}/$inc"; done <<<"$includes" |
	xargs realpath -m --relative-to=.)
edges=
while read -r file inc target; do
	[ -e "$target" ] || continue		# not a header of kpmu
	edges+="$file $target"$'\n'
	from=${file%/*} to=${target%/*}
	if [ -z "${level[$to]}" ]; then
		complain "$file includes $inc: unknown folder"
	elif [ "${level[$to]}" -gt "${level[$from]}" ]; then
		complain "$file includes $inc: $to is above $from"
	fi
done < <(paste -d' ' <(echo "$includes") <(echo "$targets"))
loops=$(tsort <<<"$edges" 2>&1 >/dev/null)
[ -z "$loops" ] || complain "$loops"

# Only compat/ may depend on kernel versions
while read -r file; do
	complain "$file asks for kernel versions, which only compat/ may"
done < <(grep -rlE 'LINUX_VERSION_CODE|KERNEL_VERSION' --include='*.[ch]' kernel |
	grep -v '^kernel/compat/')

[ $bad -eq 0 ] && echo "layers: ${#level[@]} folders, $(find kernel -name '*.[chS]' | wc -l) files, 0 cycles"
exit $bad
