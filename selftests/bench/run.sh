#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-k KERNELS] [-c MODEL] [-j GUESTS] [PART...] - measure, natively and on kpmu: the cost of
# operations, from the exact counts of the PMU model; how costs grow with the number of
# other events; how many samples per second a reader can process; the cost of events in whole
# commands.  Runs the named parts (default: all) on each of the kernels (default: 6.1 7.2), with
# at most GUESTS guests at a time (default: the number of host CPUs, at most 4).
#
# Each part runs once per route, each time in its own guest.  The table includes all lines that
# a part printed, also those of a part that failed.  MODEL is a CPU of qemu/run.sh: without it each
# part has its own (Skylake, except of the parts for others), with it the parts run that need no other.
# Its logs are in build/log/bench-KERNEL-MODEL.  The bench fails if a part fails.  A timed
# part (sustain*) may exceed its time limit, and no measured value is a failure.  The last line
# has the sums of all kernels.  See Documentation/performance.rst.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/bench
bin=$KPMU_TOP/build/selftests
kernels='6.1 7.2' jobs=$(nproc) model=''
[ "$jobs" -le 4 ] || jobs=4
while getopts k:c:j: opt; do
	case $opt in
	k) kernels=$OPTARG ;; c) model=$OPTARG ;; j) jobs=$OPTARG ;;
	*) die "usage: run.sh [-k KERNELS] [-c MODEL] [-j GUESTS] [PART...]" ;;
	esac
done
shift $((OPTIND - 1))

# name | options of qemu/run.sh | time limit in seconds | program and its arguments
# The limit is many times the duration on an idle machine.  Option -i is -icount: without it the
# times of interrupts are not exact.
all_parts()
{
	cat <<-END
	growth   | -i -s 1 | 900 | bench_growth
	rotation | -i -s 1 | 600 | bench_growth rotation
	whole    | -i -s 2 | 1800 | bench_whole
	calls    | -i -s 1 | 600 | bench_calls
	preload  | -i -s 1 | 600 | bench_preload
	switches | -i -s 1 | 600 | bench_switches
	cgroups  | -i -s 1 | 600 | bench_cgroups
	soft     | -i -s 1 | 600 | bench_soft
	samples  | -i -s 1 | 600 | bench_samples
	branches | -i -s 1 -L | 600 | bench_branches
	archbranches | -i -s 1 -c spr -L | 600 | bench_branches arch-
	amdbranches | -i -s 1 -c genoa | 600 | bench_branches amd-
	precise  | -i -s 1 -p pebs-fmt=3 | 600 | bench_precise
	precise4 | -i -s 1 -c spr -p pebs-fmt=4 | 600 | bench_precise fmt4-
	rate1    | -i -s 1 -p pebs-fmt=3 | 600 | bench_precise_rate 1
	rate4    | -i -s 4 -p pebs-fmt=3 | 900 | bench_precise_rate 4
	stat     | -i -s 1 | 600 | bench_stat
	record   | -i -s 1 | 600 | bench_record
	many     | -i -s 1 | 900 | bench_many
	tasks    | -i -s 1 | 600 | bench_tasks
	rings    | -i -s 1 | 600 | bench_rings
	idle     | -i -s 1 | 600 | bench_idle
	sets     | -i -s 4 | 600 | bench_sets
	cpus     | -i -s 4 | 600 | bench_cpus 4 4
	cpus8    | -i -s 8 | 900 | bench_cpus 8 8
	sustain1 | -s 1    | 120 | bench_sustain 1
	sustain4 | -s 4    | 120 | bench_sustain 4
	END
}

# parts - print those for the CPU: without properties of another one
parts()
{
	if [ -z "$model" ]; then
		all_parts
		return
	fi
	all_parts | sed "s/ -c $model / /" | grep -v -e ' -c ' -e ' -p ' -e ' -L ' |
		sed "s/| -/| -c $model -/"
}

known=" $(parts | awk '{ printf "%s ", $1 }')"
for name; do
	[[ $known = *" $name "* ]] || die "no part $name; there are$known"
done

# more_files NAME - print the other files that a part needs in the guest, one per line
more_files()
{
	local f
	case $1 in
	preload) echo "$KPMU_TOP/build/tools/libkpmu-preload.so" ;;
	esac
	case $1 in
	preload)
		ldd "$bin/bench_preload" | grep -oE '/[^ ]*' | sed 's|$|:/lib/|'
		;;
	whole)
		echo "$clients/.:/"
		for f in "$bin/client_papi" "$bin/client_tiny" "$bin/stub/libnoevents.so" "$here/build.sh"; do echo "$f"; done
		;;
	esac
}

# part NAME ROUTE OPTIONS LIMIT COMMAND - run a guest; its rows go to $log/NAME-ROUTE
part()
{
	local out=$log/$1-$2 start=$SECONDS rc=0 program=${5%% *} options=$3 rows f files=()

	# The idle cost of the module is measured by comparison with a guest that has none
	[ "$1-$2" != idle-native ] || options="$options -m none"
	while read -r f; do files+=(-f "$f"); done < <(more_files "$1")
	# shellcheck disable=SC2086
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -a norandmaps $options -t "$4" -f "$bin/$program" "${files[@]}" \
		"KPMU_ROUTE=$2 $5" >"$out.out" 2>"$out.err" || rc=$?
	# Drop an incomplete last line: it has fewer fields
	awk -F ' [|] ' -v route="$2" '
		BEGIN { fields["row"] = 6; fields["curve"] = 4; fields["sustain"] = 5
			fields["whole"] = 5 }
		NF && NF == fields[$1] { print route " | " $0 }' "$out.out" >"$out"
	rows=$(wc -l <"$out")
	echo "$2 | part | $1 | $rc | $((SECONDS - start))" >>"$out"
	say "bench: $kernel, $1, $2: $rows rows in $((SECONDS - start)) s$([ $rc = 0 ] ||
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

# bench KERNEL [PART...] - run the parts on a kernel and print its tables
bench()
{
	local kernel=$1 log=$KPMU_TOP/build/log/bench-$1${model:+-$model} running=0 name guest limit program route
	local at_a_time start=$SECONDS
	shift
	rm -rf "$log"
	mkdir -p "$log"
	while IFS='|' read -r name guest limit program; do
		name=${name// /}
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

	echo "Kernel $kernel${model:+, $model}, $(date +%F), $((SECONDS - start)) s"
	cat "$log"/*-kpmu "$log"/*-native >"$log/all"
	awk -v kernel="$kernel" -f "$here/table.awk" "$here/targets" "$log/all" | tee "$log/table"
	echo
	awk -F ' [|] ' '
		$2 == "part" && $4 != 0 && !($3 ~ /^sustain/ && $4 == 124) { bad = 1 }
		END { exit bad }' "$log/all"
}

clients=''
if [ $# -eq 0 ] || [[ " $* " = *" whole "* ]]; then
	clients=$("$KPMU_TOP/selftests/clients/programs.sh")
fi
bad=0 tables=()
for kernel in $kernels; do
	tables+=("$KPMU_TOP/build/log/bench-$kernel${model:+-$model}/table")
	# As a background job, because set -e is off in a command whose status is tested
	bench "$kernel" "$@" &
	wait $! || bad=1
done
awk '/rows at target/ { hit += $2; all += $4; dearer += $8 } END {
	printf "bench: %d of %d rows at target, %d dearer than native\n", hit, all, dearer
}' "${tables[@]}"
exit $bad
