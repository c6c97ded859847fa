#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# perftest.sh - perf's own tests, natively and on kpmu by the preload: no test that
# passes natively may fail on kpmu.  Ends with "perf test: N of M pass as natively".

cd /tmp || exit 1
library=/tests/libkpmu-preload.so

# perf kills what it does not like, the shell that started it too
one() { timeout 60 setsid "$@" 2>&1 </dev/null; }

# Lines "number name: verdict", of a test and what it consists of
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
		# Once more before it is called a failure: some of them are a matter of luck
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
