#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - hold dev_kpmu.txt to include/uapi/linux/kpmu.h: each ioctl of the header is
# described, with the direction and the structure that its number says; each structure has
# the fields of the header's, where the compiler has them, and no others; each constant
# exists.  The grammar itself is for syzkaller's own syz-check, which is not needed here.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
header=$here/../../include/uapi/linux/kpmu.h
text=${1:-$here/dev_kpmu.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# described - "ioctl NAME DIRECTION STRUCT", "const NAME", and "struct NAME",
# "field STRUCT NAME BYTES", "end STRUCT" of the text; BYTES may be sizeof of another
described()
{
	awk '
	function bytes(type)
	{
		if (type ~ /^ptr64\[/ || type ~ /int64/)
			return 8
		if (type ~ /^(pid|fd_[a-z_]*)(\[opt\])?$/ || type ~ /int32/)
			return 4
		if (match(type, /^array\[int8, [0-9]+\]$/)) {
			sub(/^array\[int8, /, "", type)
			sub(/\]$/, "", type)
			return type
		}
		return "sizeof(struct " type ")"
	}
	/^#|^$|^include|^resource|^read\$/ { next }
	/^ioctl\$/ {
		if (!match($0, /cmd const\[[A-Z_0-9]+\]/)) {
			print "bad", $0
			next
		}
		name = substr($0, RSTART + 10, RLENGTH - 11)
		way = "none"
		what = "none"
		if (match($0, /arg ptr\[(in|out), [a-z_]+\]/)) {
			split(substr($0, RSTART + 8, RLENGTH - 9), part, ", ")
			way = part[1]
			what = part[2]
		}
		print "ioctl", name, way, what
		next
	}
	/^openat\$/ { print "const AT_FDCWD"; print "const O_RDWR"; next }
	/^[a-z_]+ \{$/ { struct = $1; print "struct", struct; next }
	/^\}$/ { print "end", struct; struct = ""; next }
	struct != "" {
		name = $1
		sub(/^[ \t]*[a-z_]+[ \t]+/, "")
		print "field", struct, name, bytes($0)
		if (match($0, /[A-Z][A-Z_0-9]+/))
			print "const", substr($0, RSTART, RLENGTH)
		next
	}
	/^[a-z_]+ = / {
		sub(/^[a-z_]+ = /, "")
		n = split($0, part, ", ")
		for (i = 1; i <= n; i++)
			print "const", part[i]
		next
	}
	{ print "bad", $0 }' "$text"
}

# assertions - C that compiles if what is described is so.  A description with one more word
# than the header has is another use of the same structure.
assertions()
{
	local kind name way what bytes s at=0 sum=0
	declare -A of=([in]=_IOC_WRITE [out]=_IOC_READ [none]=_IOC_NONE)
	echo "#include <fcntl.h>"
	echo "#include <stddef.h>"
	echo "#include <linux/kpmu.h>"
	echo "struct kpmu_open_cgroup { struct kpmu_open open; };"
	while read -r kind name way what bytes; do
		case $kind in
		ioctl)
			echo "_Static_assert(_IOC_DIR($name) == ${of[$way]}, \"$name: direction\");"
			s="sizeof(struct $what)"
			[ "$what" != none ] || s=0
			echo "_Static_assert(_IOC_SIZE($name) == $s, \"$name: size\");" ;;
		const) echo "static const long long is_$((++sum)) __attribute__((unused)) = $name;" ;;
		struct) at=0 ;;
		field)
			# Here "way" is the field's name, the rest its size
			s=${name/%_cgroup/}
			bytes="$what${bytes:+ $bytes}"
			echo "_Static_assert(offsetof(struct $s, $way) == $at, \"$name.$way: place\");"
			echo "_Static_assert(sizeof(((struct $s *)0)->$way) == $bytes, \"$name.$way: size\");"
			at="$at + $bytes" ;;
		end) echo "_Static_assert(sizeof(struct $name) == $at, \"$name: size\");" ;;
		*) echo "#error not understood: $kind $name $way $what $bytes" ;;
		esac
	done
}

described >"$work/described"
assertions <"$work/described" >"$work/check.c"
"${CC:-cc}" -Wall -I"$here/../../include/uapi" -fsyntax-only "$work/check.c"
missing=$(grep -oE 'define KPMU_IOC_[A-Z_]+' "$header" | cut -d' ' -f2 |
	grep -vxFf <(awk '$1 == "ioctl" { print $2 }' "$work/described") || true)
[ -z "$missing" ] || { echo "not described: $missing"; exit 1; }
echo "dev_kpmu.txt: $(grep -c ^ioctl "$work/described") calls, $(grep -c ^struct "$work/described") structures as in kpmu.h"
