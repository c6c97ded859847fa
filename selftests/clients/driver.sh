#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# driver.sh - use the PMUs of drivers (selftests/driver) with an unmodified perf: count and sample
# events of kpmu-toy.ko and of kpmu-few.ko, which has two counters; then unload the drivers.
# The last line is "driver: N of M as expected".

cd /tmp || exit 1
ln -sf /tests/client_tiny /bin/tiny
export LD_PRELOAD=/tests/libkpmu-preload.so
good=0 all=0

# expect TEXT COMMAND... - run COMMAND, print TEXT and whether COMMAND succeeded
expect()
{
	what=$1
	shift
	all=$((all + 1))
	if "$@" >out 2>&1; then
		good=$((good + 1))
		echo "ok      $what"
	else
		echo "NOT OK  $what: $*"
		sed 's/^/        /' out
	fi
}

# counted MINIMUM EVENT - succeed if the count is greater than MINIMUM
counted() { perf stat -x, -e "$2" tiny 2>&1 | awk -F, -v n="$1" '/toy/ { print; ok = $1 + 0 > n } END { exit !ok }'; }
grouped() { perf stat -x, -e '{instructions:u,toy/cycles/}' tiny 2>&1 | awk -F, '/toy|instr/ { print; n += $1 + 0 > 0 } END { exit n != 2 }'; }
system_wide() { perf stat -x, -a -e toy/cycles/ tiny 2>&1 | awk -F, '/toy/ { print; ok = $1 + 0 > 0 } END { exit !ok }'; }
sampled() { perf record -q -c 200000 -e toy/cycles/ -o data tiny deep && perf script -i data -F comm,period,event | tee /dev/stderr | grep -q 'tiny.* toy/cycles'; }
refused() { perf stat -e toy/event=9/ tiny 2>&1 | tee /dev/stderr | grep -q 'not supported'; }

# shares FROM TO OPTION... - succeed if all events have run for FROM to TO percent of the time
shares()
{
	from=$1 to=$2
	shift 2
	# shellcheck disable=SC2016	# for the inner shell
	perf stat -x, "$@" sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done' 2>&1 | tee /dev/stderr |
		awk -F, -v from="$from" -v to="$to" '/few/ { n++; if ($1 + 0 == 0 || $5 < from || $5 > to) bad++ }
			END { exit bad > 0 || n < 2 }'
}
sampled_few() { perf record -q -c 200000 -e few/second/ -o data tiny deep && perf script -i data -F comm,period,event | tee /dev/stderr | grep -q 'tiny.* few/second/'; }
refused_few() { perf stat -x, -e '{few/second/,few/second/}' tiny 2>&1 | tee /dev/stderr | grep -Eq '^<not (counted|supported)>|Invalid argument'; }

insmod /tests/kpmu-toy.ko || exit 1
expect "counts" counted 1000 toy/cycles/
expect "counts with a shift" counted 10 toy/cycles,shift=4/
expect "counts in a group with a counter" grouped
expect "counts for all CPUs" system_wide
expect "samples" sampled
expect "refuses what it does not have" refused
expect "is unloaded" rmmod kpmu_toy
expect "is gone" sh -c '! perf stat -e toy/cycles/ tiny'

insmod /tests/kpmu-few.ko || exit 1
expect "two events have a counter each" shares 100 100 -e few/any/ -e few/second/
expect "five events rotate" shares 1 99 -e few/any/ -e few/any/ -e few/any/ -e few/any/ -e few/any/
expect "groups rotate" shares 1 99 -e '{few/any/,few/second/}' -e '{few/any/,few/any/}'
expect "samples by interrupt" sampled_few
expect "refuses a group that does not fit" refused_few
expect "with counters is unloaded" rmmod kpmu_few
echo "driver: $good of $all as expected"
[ $good = $all ]
