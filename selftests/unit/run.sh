#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh PROGRAM... - run unit tests.  Logs go to build/log; the last line has the totals.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

log=$KPMU_TOP/build/log
mkdir -p "$log"
passed=0 failed=0
for prog; do
	tap=$log/unit-${prog##*/}.tap
	rc=0
	"$prog" >"$tap" 2>&1 || rc=$?
	p=$(grep -c '^ok' "$tap" || true)
	f=$(grep -c '^not ok' "$tap" || true)
	if [ $rc -ne 0 ] && [ "$f" = 0 ]; then f=1; fi
	[ "$f" = 0 ] || cat "$tap"
	passed=$((passed + p)) failed=$((failed + f))
done
echo "unit: $passed passed, $failed failed"
[ $failed -eq 0 ]
