#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-k KERNEL] - what operations cost, native beside kpmu, from the model's
# exact counts, against the figures we want to reach; and how costs grow with what
# is not running.  Does not fail on a figure that is missed; the last line says
# how many are reached.
#
# A curve is reached if its highest point is at most a quarter above its lowest, and
# 500 instructions: a sorted tree of 1,000 is ten steps deep, and four groups
# leave and join one at each rotation; and where only one group waits, only
# one counter changes hands.
#
# One curve is not flat by nature: each of a task's own mapped events has a user page,
# which is right at every moment, so it is written when the task comes and goes.
# That may cost 100 an event; native, where the pages of events that wait are not
# kept, 430.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/bench
kernel=6.1
while getopts k: opt; do
	case $opt in k) kernel=$OPTARG ;; *) exit 2 ;; esac
done
out=$KPMU_TOP/build/log/bench-$kernel
mkdir -p "$(dirname "$out")"
both()
{
	echo "$1 | sed 's/^/kpmu | $2/'; KPMU_ROUTE=native $1 | sed 's/^/native | $2/'"
}
guest()
{
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -s 1 -t 580 \
		-f "$KPMU_TOP/build/selftests/bench_bench" \
		-f "$KPMU_TOP/build/selftests/bench_growth" "$@" ||
		die "the bench did not run; see $out"
}
guest "$(both bench_bench ''); $(both bench_growth 'curve | ')" >"$out"
# Interrupts come at exact times only with -icount
guest -i "$(both 'bench_growth rotation' 'curve | ')" >>"$out"
# Samples a second, which nobody is held to: that depends on the machine
"$KPMU_TOP/qemu/run.sh" -k "$kernel" -s 4 -t 300 -f "$KPMU_TOP/build/selftests/bench_sustain" \
	"bench_sustain | sed 's/^/kpmu | sustain | /'; KPMU_ROUTE=native bench_sustain | sed 's/^/native | sustain | /'" \
	>>"$out" || die "the bench of samples did not run; see $out"

echo "Kernel $kernel; kernel instructions (register writes/reads) an operation,"
echo "net of a bare system call or of a switch without events:"
awk -F' *[|] *' '
function cell(i, w, r) { return sprintf("%7d %5s", i, "(" w+0 "/" r+0 ")") }
function most(c, k, m) { for (k = 1; k <= np[c]; k++) m = m > pt[c, k] ? m : pt[c, k]; return m }
function least(c, k, m) { m = pt[c, 1]; for (k = 1; k <= np[c]; k++) m = m < pt[c, k] ? m : pt[c, k]; return m }
FILENAME ~ /targets$/ {
	if ($0 !~ /^#/) { order[++n] = $1; ti[$1] = $2; tw[$1] = $3; tr[$1] = $4 }
	next
}
$2 == "sustain" {
	s = $3 SUBSEP $4
	if (!(s in kpmu_rate) && !(s in native_rate)) asked[++ns] = s
	if ($1 == "kpmu") { kpmu_rate[s] = $5; kpmu_lost[s] = $6 }
	else { native_rate[s] = $5; native_lost[s] = $6 }
	next
}
$2 == "curve" {
	c = $1 SUBSEP $3
	if ($1 == "kpmu" && !np[c]) curves[++nc] = $3
	at[c, ++np[c]] = $4; pt[c, np[c]] = $5
	next
}
$1 == "kpmu" || $1 == "native" { i[$1, $2] = $3; w[$1, $2] = $4; r[$1, $2] = $5 }
END {
	printf "%-46s %15s %15s %15s\n", "", "native", "kpmu", "at most"
	for (k = 1; k <= n; k++) {
		o = order[k]
		ok = (("kpmu", o) in i) && i["kpmu", o] <= ti[o] &&
		     (tw[o] == "-" || w["kpmu", o] <= tw[o]) &&
		     (tr[o] == "-" || r["kpmu", o] <= tr[o])
		hit += ok
		printf "%-46s %15s %15s %15s%s\n", o,
			cell(i["native", o], w["native", o], r["native", o]),
			cell(i["kpmu", o], w["kpmu", o], r["kpmu", o]),
			sprintf("%7d (%s/%s)", ti[o], tw[o], tr[o]), ok ? "" : "  <-"
	}
	print "\nHow costs grow, in kernel instructions:"
	for (k = 1; k <= nc; k++) {
		o = "kpmu" SUBSEP curves[k]
		nat = "native" SUBSEP curves[k]
		ok = curves[k] ~ /by its mapped/ ?
			pt[o, np[o]] - pt[o, 1] <= 100 * (at[o, np[o]] - at[o, 1]) :
			most(o) <= 1.25 * least(o) + 500
		hit += ok
		printf "%s%s\n", curves[k], ok ? "" : "  <-"
		printf "%10s", ""
		for (j = 1; j <= np[o]; j++) printf "%9d", at[o, j]
		printf "\n%10s", "native"
		for (j = 1; j <= np[nat]; j++) printf "%9d", pt[nat, j]
		printf "\n%10s", "kpmu"
		for (j = 1; j <= np[o]; j++) printf "%9d", pt[o, j]
		print ""
	}
	print "\nSamples a second while somebody reads them (lost), of all CPUs:"
	printf "%6s %12s %18s %18s\n", "CPUs", "asked a CPU", "native", "kpmu"
	for (k = 1; k <= ns; k++) {
		split(asked[k], of, SUBSEP)
		printf "%6d %12d %10d (%5d) %10d (%5d)\n", of[1], of[2],
			native_rate[asked[k]], native_lost[asked[k]],
			kpmu_rate[asked[k]], kpmu_lost[asked[k]]
	}
	printf "bench: %d of %d rows at target\n", hit, n + nc
}' "$here/targets" "$out"
