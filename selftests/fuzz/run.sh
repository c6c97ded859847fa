#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh KERNEL SECONDS [SEED] - the fuzzer for so long, guest after guest; make fuzz
# calls it.  Programs run natively and on kpmu under -icount and are compared.  The last
# line is "fuzz: P programs, D differences, R reports"; a report is a guest that failed
# for another reason than differences: its kernel log, its end, or rmmod.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

kernel=$1 seconds=$2 seed=${3:-$((RANDOM * 32768 + RANDOM))}
here=$KPMU_TOP/selftests/fuzz
bin=$KPMU_TOP/build/selftests/fuzz_run
programs=0 differences=0 reports=0 began=$SECONDS batch=60
log=$KPMU_TOP/build/log/fuzz
mkdir -p "$log"
echo "fuzz: seed $seed"

# guest NAME ARGUMENTS - one guest's output to the file NAME
guest()
{
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -c skylake -i -s 1 -t 1800 -f "$bin" \
		-f "$here/meant" "/tests/fuzz_run $2" >"$1" 2>"$1.err"
}

# take FILE STATUS - add up what a guest has found, show what is new
take()
{
	local p d m u took
	took=$((SECONDS - start))
	# Without its last line a guest has not come to its end
	read -r p d m u < <(sed -nE 's/^fuzz: ([0-9]+) programs, ([0-9]+) diff.* ([0-9]+) meant, ([0-9]+) .*/\1 \2 \3 \4/p' "$1"
		echo 0 0 0 0)
	if [ "$2" != 0 ] && { [ "$2" != 1 ] || [ "$d" = 0 ]; }; then
		reports=$((reports + 1))
		cat "$1.err"
	fi
	grep -vE '^(fuzz: |# [0-9]+ programs)' "$1" || true
	programs=$((programs + p)) differences=$((differences + d))
	[ "$took" -gt 0 ] || took=1
	echo "$((SECONDS - began)) s: $programs programs ($((p / took))/s), $differences differences ($m meant, $u lines unstable), $reports reports"
	# About two minutes each
	if [ "$p" -gt 0 ]; then batch=$((p * 120 / took + 1)); fi
}

nr=0
while [ $((SECONDS - began)) -lt "$seconds" ]; do
	start=$SECONDS rc=0
	guest "$log/$nr" "$((seed + nr * 1000000)) $batch" || rc=$?
	take "$log/$nr" $rc
	nr=$((nr + 1))
done
echo "fuzz: $programs programs, $differences differences, $reports reports"
[ $differences = 0 ] && [ $reports = 0 ]
