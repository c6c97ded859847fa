#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh KERNEL SECONDS [SEED] - run the fuzzer for SECONDS, in one guest after the other;
# make fuzz calls it.  The module checks its invariants (check=1).
#
# Each program runs natively and on kpmu, under -icount, and the results are compared.  On
# the debug kernel, or with STRESS=1, several programs run concurrently, on kpmu only and on
# four CPUs, and nothing is compared.  On the debug kernel, programs that reach new code of
# the module are kept and mutated, also by the next run (FRESH=1: start without those of
# earlier runs).
#
# The last line is "fuzz: P programs, D differences, R reports".  A report is a guest that
# failed for a reason other than differences: its kernel log is not clean, a program or the
# guest did not end, or rmmod failed.  A guest that the kernel's own perf has stopped is none: its last
# line is then "@native", and its log says that a CPU is stuck.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

kernel=$1 seconds=$2 seed=${3:-$((RANDOM * 32768 + RANDOM))}
here=$KPMU_TOP/selftests/fuzz
bin=$KPMU_TOP/build/selftests/fuzz_run
programs=0 differences=0 reports=0 batch=60 step=10
stress=${STRESS:-}
[ "$kernel" != debug ] || stress=1
log=$KPMU_TOP/build/log/fuzz-$kernel
mkdir -p "$log"
kept=$KPMU_CACHE/fuzz-kept reached=0 blocks=0 module=()
if [ "$kernel" = debug ]; then
	OUT=$KPMU_TOP/build/kcov "$KPMU_TOP/qemu/module.sh" debug KCOV_INSTRUMENT=y
	module=(-m "$KPMU_TOP/build/kcov/kpmu.stripped.ko")
	blocks=$(readelf -rW "${module[1]}" | grep -c __sanitizer_cov_trace_pc)
	[ -z "${FRESH:-}" ] || rm -f "$kept"
fi
began=$SECONDS
live=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-fuzz.XXXXXX")
pid=
# Do not leave a guest running
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$live"' EXIT
echo "fuzz: seed $seed"

# guest NAME SEED - run one guest, with its output to the file NAME
guest()
{
	local files=(-f "$bin" -f "$here/meant") left=$((seconds - (SECONDS - began)))
	if [ -n "$stress" ]; then
		[ $left -le 300 ] || left=300
		[ ! -s "$kept" ] || files+=(-f "$kept:/tests/kept")
		TMPDIR=$live exec "$KPMU_TOP/qemu/run.sh" -k "$kernel" -P check=1 -c skylake \
			-s 4 -t $((left * 2 + 900)) "${module[@]}" "${files[@]}" \
			"/tests/fuzz_run -s $2 $left 4 /tests/kept" >"$1" 2>"$1.err"
	else
		TMPDIR=$live exec "$KPMU_TOP/qemu/run.sh" -k "$kernel" -P check=1 -c skylake \
			-i -s 1 -t 1800 -W kernel/events/core.c "${files[@]}" \
			"/tests/fuzz_run $2 $batch" >"$1" 2>"$1.err"
	fi
}

# rate PROGRAMS SECONDS - print programs per second
rate() { awk -v p="$1" -v s="$2" 'BEGIN { printf "%.1f/s", p / (s > 0 ? s : 1) }'; }

# watch PID - print the progress of the guest with this process id, until it ends
watch()
{
	local was='' now
	while kill -0 "$1" 2>/dev/null; do
		for _ in $(seq $step); do
			kill -0 "$1" 2>/dev/null || return 0
			sleep 1
		done
		# A CPU is stuck: the guest would last until its time limit
		! grep -qa 'soft lockup' "$live"/kpmu-run.*/log 2>/dev/null || [ -n "$stress" ] ||
			pkill -f -- "qemu-system.*$live/kpmu-run" || true
		now=$(cat "$live"/kpmu-run.*/out 2>/dev/null | tr -d '\r' |
			grep -E '^# .* programs' | tail -n 1) || true
		[ "$now" != "$was" ] || continue
		was=$now
		# In stress mode the guest prints the rate itself
		[ -n "$stress" ] || now+=" ($(rate "$(cut -d' ' -f2 <<<"$now")" $((SECONDS - start))))"
		echo "$((SECONDS - began)) s: $programs programs before; ${now#\# }"
	done
}

# keep FILE - from a guest's output, save the kept programs for the next guest, and set
# $reached to the most blocks reached
keep()
{
	local n
	n=$(sed -n 's/^# .* \([0-9]*\) blocks reached.*/\1/p' "$1" | tail -n 1)
	[ "${n:-0}" -le "$reached" ] || reached=$n
	if grep -q '^+ ' "$1"; then
		sed -n 's/^+ \{0,1\}//p' "$1" >"$kept.$$"
		mv "$kept.$$" "$kept"
	fi
}

# stopped_natively FILE - true if the kernel's own perf has stopped the guest with this output
stopped_natively()
{
	[ -z "$stress" ] && ! grep -q '^fuzz: ' "$1" && [ "$(grep '^@[nk]' "$1" | tail -n 1)" = @native ] &&
		grep -q 'soft lockup' "$1.err"
}

# take FILE STATUS SECONDS - add a guest's results to the sums, and print its findings
take()
{
	local p d m u took=$3
	# A guest that did not finish has no such line: its results are then 0
	read -r p d m u < <(sed -nE 's/^fuzz: ([0-9]+) programs, ([0-9]+) diff.* ([0-9]+) meant, ([0-9]+) .*/\1 \2 \3 \4/p' "$1"
		echo 0 0 0 0)
	if stopped_natively "$1"; then
		p=$(sed -n 's/^# \([0-9]*\) programs, .*/\1/p' "$1" | tail -n 1)
		d=$(sed -n 's/^# [0-9]* programs, \([0-9]*\) .*/\1/p' "$1" | tail -n 1)
		p=${p:-0} d=${d:-0}
		echo "# $(grep '^@seed' "$1" | tail -n 1 | cut -c2-): the kernel's own perf has stopped the guest"
	elif [ "$2" != 0 ] && { [ "$2" != 1 ] || [ "$d" = 0 ]; }; then
		reports=$((reports + 1))
		cat "$1.err"
	fi
	grep -vE '^(fuzz: |# .* programs|\+|@)' "$1" || true
	keep "$1"
	programs=$((programs + p)) differences=$((differences + d))
	[ "$took" -gt 0 ] || took=1
	echo "$((SECONDS - began)) s: $programs programs ($(rate "$p" "$took")), $differences differences ($m meant, $u lines unstable), $reports reports"
	# A batch of programs should take about two minutes
	if [ "$p" -gt 0 ]; then batch=$((p * 120 / took + 1)); fi
}

nr=0
while [ $((SECONDS - began)) -lt "$seconds" ]; do
	start=$SECONDS rc=0
	guest "$log/$nr" $((seed + nr * 1000000)) &
	pid=$!
	watch $pid
	wait $pid || rc=$?
	pid=
	take "$log/$nr" $rc $((SECONDS - start))
	nr=$((nr + 1))
done
[ "$blocks" = 0 ] || echo "code reached: $reached of $blocks blocks of the module"
echo "fuzz: $programs programs, $differences differences, $reports reports"
[ $differences = 0 ] && [ $reports = 0 ]
