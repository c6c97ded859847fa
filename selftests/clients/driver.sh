#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# driver.sh - use the PMU of a driver (selftests/driver/kpmu-toy.c) with an unmodified perf: count
# and sample its events, then unload the driver.
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

insmod /tests/kpmu-toy.ko || exit 1
expect "counts" counted 1000 toy/cycles/
expect "counts with a shift" counted 10 toy/cycles,shift=4/
expect "counts in a group with a counter" grouped
expect "counts for all CPUs" system_wide
expect "samples" sampled
expect "refuses what it does not have" refused
expect "is unloaded" rmmod kpmu_toy
expect "is gone" sh -c '! perf stat -e toy/cycles/ tiny'
echo "driver: $good of $all as expected"
[ $good = $all ]
