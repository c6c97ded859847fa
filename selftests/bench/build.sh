#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh N - a load like that of a build: N times some short-lived programs that read and write
# files in a pipeline, then one that joins the results

dir=/tmp/build.$$
mkdir "$dir" || exit 1
i=0
while [ $i -lt "${1:-8}" ]; do
	i=$((i + 1))
	sed 's/a/b/g' "$0" | sort >"$dir/$i.i"
	awk '{ for (i = 0; i < 40; i++) s += length($0) * i } END { print s }' "$dir/$i.i" >"$dir/$i.s"
	gzip -c "$dir/$i.i" >"$dir/$i.o"
	grep -c b "$dir/$i.i" >>"$dir/$i.s"
done
cat "$dir"/*.o | md5sum >"$dir/sum"
cat "$dir/sum" "$dir"/*.s
rm -r "$dir"
