#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh NAME - in a guest with the kernel gcov: print the module's gcov counters, and reset
# them.  The output is a compressed tar archive in base64, in lines
#	@@@gcov NAME BASE64
# with tabs between the fields.  NAME is the test program that has run since the last call,
# or "load".  With "unload" the module is removed first, so that its exit code is included.

from=/sys/kernel/debug/gcov to=${TMPDIR:-/tmp}/gcov
[ -d $from ] || exit 0
[ "$1" != unload ] || rmmod kpmu 2>/dev/null

# These files report a size of 0, so tar cannot read them: copy them first
mkdir -p "$to"
find $from -name '*.gcda' | while read -r f; do
	path=$to/${f##*/build/gcov/}
	[ -d "${path%/*}" ] || mkdir -p "${path%/*}"
	cat "$f" >"$path"
done
echo 0 >$from/reset
tar -C "$to" -cf - . | gzip | base64 | sed "s/^/@@@gcov	$1	/"
rm -rf "$to"
