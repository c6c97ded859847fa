#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# perftest.sh - run perf test natively and on kpmu by the preload library.  A test that passes
# natively must pass on kpmu.  The last line is "perf test: N of M pass as natively".

cd /tmp || exit 1
library=/tests/libkpmu-preload.so

# setsid, because perf test may kill its process group, which would include this shell
one() { timeout 60 setsid "$@" 2>&1 </dev/null; }

# Extract the lines "number name: verdict" of a test and its subtests
verdicts() { grep -E ': (Ok|FAILED!|Skip)' | sed -E 's/ *\((.*)\)$//; s/ +/ /g; s/^ //'; }

perf test list 2>&1 | sed -n 's/^ *\([0-9]*\): .*/\1/p' >numbers
pass=0 all=0
while read -r n; do
	one perf test -v "$n" >native.log
	verdicts <native.log >native
	one env LD_PRELOAD=$library perf test -v "$n" >kpmu.log
	verdicts <kpmu.log >kpmu
	while read -r line; do
		case $line in *': Ok') ;; *) continue ;; esac
		all=$((all + 1))
		# Some tests are flaky: a failure needs two failing runs
		if ! grep -qxF "$line" kpmu; then
			one env LD_PRELOAD=$library perf test -v "$n" >kpmu.log
			verdicts <kpmu.log >kpmu
		fi
		if grep -qxF "$line" kpmu; then
			pass=$((pass + 1))
		else
			echo "FAILS on kpmu: $line"
			sed 's/^/      /' kpmu.log | tail -n 40
		fi
	done <native
	grep -E ': (FAILED!|Skip)' native | sed 's/^/# natively: /'
done <numbers
echo "perf test: $pass of $all pass as natively"
[ "$pass" = "$all" ] && [ "$all" -gt 20 ]
