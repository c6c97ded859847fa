#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-k KERNEL] [-j GUESTS] [PART...] - measure, natively and on kpmu: the cost of
# operations, from the exact counts of the PMU model; how costs grow with the number of
# other events; how many samples per second a reader can process.  Runs the named parts (default:
# all), with at most GUESTS guests at a time (default: the number of host CPUs, at most 4).
#
# Each part runs once per route, each time in its own guest.  The table includes all lines that
# a part printed, also those of a part that failed.  The bench fails if a part fails.  A timed
# part (sustain*) may exceed its time limit, and no measured value is a failure.  See
# Documentation/testing.rst, "The bench".

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/bench
kernel=6.1 jobs=$(nproc)
[ "$jobs" -le 4 ] || jobs=4
while getopts k:j: opt; do
	case $opt in
	k) kernel=$OPTARG ;; j) jobs=$OPTARG ;;
	*) die "usage: run.sh [-k KERNEL] [-j GUESTS] [PART...]" ;;
	esac
done
shift $((OPTIND - 1))

# name | options of qemu/run.sh | time limit in seconds | program and its arguments
# The limit is many times the duration on an idle machine.  Option -i is -icount: without it the
# times of interrupts are not exact.
parts()
{
	cat <<-END
	growth   | -i -s 1 | 900 | bench_growth
	rotation | -i -s 1 | 600 | bench_growth rotation
	calls    | -i -s 1 | 600 | bench_calls
	switches | -i -s 1 | 600 | bench_switches
	soft     | -i -s 1 | 600 | bench_soft
	samples  | -i -s 1 | 600 | bench_samples
	stat     | -i -s 1 | 600 | bench_stat
	record   | -i -s 1 | 600 | bench_record
	many     | -i -s 1 | 600 | bench_many
	cpus     | -i -s 4 | 600 | bench_cpus
	sustain1 | -s 1    | 120 | bench_sustain 1
	sustain4 | -s 4    | 120 | bench_sustain 4
	END
}

log=$KPMU_TOP/build/log/bench-$kernel
rm -rf "$log"
mkdir -p "$log"

# part NAME ROUTE OPTIONS LIMIT COMMAND - run a guest; its rows go to $log/NAME-ROUTE
part()
{
	local out=$log/$1-$2 start=$SECONDS rc=0 program=${5%% *} rows

	# shellcheck disable=SC2086
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" $3 -t "$4" \
		-f "$KPMU_TOP/build/selftests/$program" \
		"KPMU_ROUTE=$2 $5" >"$out.out" 2>"$out.err" || rc=$?
	# Drop an incomplete last line: it has fewer fields
	awk -F ' [|] ' -v route="$2" '
		BEGIN { fields["row"] = 6; fields["curve"] = 4; fields["sustain"] = 5 }
		NF && NF == fields[$1] { print route " | " $0 }' "$out.out" >"$out"
	rows=$(wc -l <"$out")
	echo "$2 | part | $1 | $rc | $((SECONDS - start))" >>"$out"
	say "bench: $1, $2: $rows rows in $((SECONDS - start)) s$([ $rc = 0 ] ||
		echo "; FAILED with status $rc, see $out.err")"
}

# wait_for_one - wait until a running guest ends; print a message every 30 s meanwhile
wait_for_one()
{
	local last=$SECONDS n=$running
	while n=$(jobs -rp | wc -l); [ "$n" -ge "$running" ]; do
		sleep 0.2
		if [ $((SECONDS - last)) -ge 30 ]; then
			last=$SECONDS
			say "bench: $SECONDS s, still running: $(cd "$log" && waiting)"
		fi
	done
	running=$n
}

# waiting - print the parts that have started but have no result yet
waiting()
{
	local f
	for f in *.out; do
		[ -e "${f%.out}" ] || printf '%s ' "${f%.out}"
	done
}

running=0 known=' '
while IFS='|' read -r name guest limit program; do
	name=${name// /}
	known="$known$name "
	[ $# -eq 0 ] || [[ " $* " = *" $name "* ]] || continue
	# A timed part runs alone
	at_a_time=$jobs
	case $name in sustain*) at_a_time=1 ;; esac
	for route in kpmu native; do
		while [ "$running" -ge "$at_a_time" ]; do wait_for_one; done
		part "$name" $route "$guest" "${limit// /}" "${program# }" </dev/null &
		running=$((running + 1))
	done
done < <(parts)
while [ "$running" -gt 0 ]; do wait_for_one; done
for name; do
	[[ $known = *" $name "* ]] || die "no part $name; there are$known"
done

echo "Kernel $kernel"
cat "$log"/*-kpmu "$log"/*-native >"$log/all"
awk -f "$here/table.awk" "$here/targets" "$log/all" | tee "$log/table"
awk -F ' [|] ' '
	$2 == "part" && $4 != 0 && !($3 ~ /^sustain/ && $4 == 124) { bad = 1 }
	END { exit bad }' "$log/all"
