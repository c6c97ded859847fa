#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh NAME - in a guest of the kernel gcov: print which code of the module was
# reached since the last call, as lines
#	@@@gcov NAME BASE64-OF-A-TAR
# with tabs between.  NAME is the test program that has run; "unload" removes the module
# first, so that its end is seen, too.

from=/sys/kernel/debug/gcov to=${TMPDIR:-/tmp}/gcov
[ -d $from ] || exit 0
[ "$1" != unload ] || rmmod kpmu 2>/dev/null

# These files have no size, so tar cannot read them
mkdir -p "$to"
find $from -name '*.gcda' | while read -r f; do
	path=$to/${f##*/build/gcov/}
	[ -d "${path%/*}" ] || mkdir -p "${path%/*}"
	cat "$f" >"$path"
done
echo 0 >$from/reset
tar -C "$to" -cf - . | gzip | base64 | sed "s/^/@@@gcov	$1	/"
rm -rf "$to"
