#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-k KERNEL] - what operations cost, native beside kpmu, from the model's
# exact counts, against the figures we want to reach.  Does not fail on a
# figure that is missed; the last line says how many are reached.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/bench
kernel=6.1
while getopts k: opt; do
	case $opt in k) kernel=$OPTARG ;; *) exit 2 ;; esac
done
out=$KPMU_TOP/build/log/bench-$kernel
mkdir -p "$(dirname "$out")"
"$KPMU_TOP/qemu/run.sh" -k "$kernel" -s 1 -t 300 \
	-f "$KPMU_TOP/build/selftests/bench_bench" \
	'bench_bench | sed "s/^/kpmu | /"; KPMU_ROUTE=native bench_bench | sed "s/^/native | /"' \
	>"$out" || die "the bench did not run; see $out"

echo "Kernel $kernel; kernel instructions (register writes/reads) an operation,"
echo "net of a bare system call or of a switch without events:"
awk -F' *[|] *' '
function cell(i, w, r) { return sprintf("%7d %5s", i, "(" w+0 "/" r+0 ")") }
FILENAME ~ /targets$/ {
	if ($0 !~ /^#/) { order[++n] = $1; ti[$1] = $2; tw[$1] = $3; tr[$1] = $4 }
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
	printf "bench: %d of %d rows at target\n", hit, n
}' "$here/targets" "$out"
