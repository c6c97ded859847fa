#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cost.sh [-p] [RUNS] - measure the overhead of the PMU model: user CPU time of the host,
# minimum of RUNS (default 5) interleaved runs.
#
#	-p	compare with pmu=off of the same build, not with unpatched QEMU
#
# Three loops run in user mode of the test guest, in 24 copies each, with different
# counters, and with a PMI every 10,000 instructions.  Results are in nanoseconds per
# iteration; the time of a run without a loop is subtracted.  The time of a boot of
# Linux 6.12 is in seconds.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../lib.sh"

plain=0
[ "${1:-}" != -p ] || { plain=1; shift; }
runs=${1:-5}
tests=$KPMU_TOP/qemu/tests
millions=4
period=10000
# shellcheck disable=SC2034 # used by name, see configs
{
	new=${QEMU:-$("$KPMU_TOP/qemu/build.sh")}
	[ $plain = 1 ] || base=${QEMU_BASE:-$("$KPMU_TOP/qemu/build.sh" --unpatched)}
}
kdir=$("$KPMU_TOP/qemu/kernel.sh" 6.12)
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-cost.XXXXXX")
trap 'rm -rf "$work"' EXIT
make -s -C "$tests/guest" O="$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "no test guest"; }

# name | build | CPU properties | events: 1 instructions 2 branches 4 loads
# 8 stores 16 branch misses 32 cache misses | period | 1: LBR of user mode,
# 2: PEBS with the period
configs='patched, pmu=off|new||0|0
pmu=on, idle|new|,pmu=on|0|0
instructions:u|new|,pmu=on|1|0
instructions, branches:u|new|,pmu=on|3|0
loads, stores:u|new|,pmu=on|12|0
all four:u|new|,pmu=on|15|0
branch misses:u|new|,pmu=on|16|0
cache misses:u|new|,pmu=on|32|0
LBR:u|new|,pmu=on,lbr-fmt=0x5|0|0|1
LBR, instructions:u|new|,pmu=on,lbr-fmt=0x5|1|0|1
PEBS, offered|new|,pmu=on,pebs-fmt=3|0|0
PEBS every 10,000|new|,pmu=on,pebs-fmt=3|0|'$period'|2
PMI every 10,000|new|,pmu=on|0|'$period'
always (statistics)|new|,pmu=on,x-pmu-always=on|0|0'
[ $plain = 1 ] || configs="unpatched|base||0|0
$configs"

# loop BUILD PROPS EVENTS PERIOD LBR LOOP - print the user CPU seconds of the host
loop()
{
	local q=${!1} TIMEFORMAT=%U

	{ time "$q/qemu-system-x86_64" -L "$q" -M pc -m 64 -display none -nodefaults \
		-no-user-config -bios "$work/pmu.rom" -cpu "Skylake-Client$2" \
		-debugcon file:"$work/said" -device isa-debug-exit,iobase=0xf4,iosize=1 \
		-fw_cfg name=opt/kpmu/tests,string=bench \
		-fw_cfg "name=opt/kpmu/count,string=$3" \
		-fw_cfg "name=opt/kpmu/period,string=$4" \
		-fw_cfg "name=opt/kpmu/lbr,string=$(($5 == 1))" \
		-fw_cfg "name=opt/kpmu/pebs,string=$(($5 == 2))" \
		-fw_cfg "name=opt/kpmu/loop,string=$6" \
		-fw_cfg "name=opt/kpmu/millions,string=$millions" \
		</dev/null >/dev/null 2>&1; } 2>&1 || true
	grep -q '^done' "$work/said" || die "the test guest did not end: $(cat "$work/said")"
}

# boot BUILD PROPS - print the same for a boot of Linux
boot()
{
	local q=${!1} TIMEFORMAT=%U

	{ time timeout 120 "$q/qemu-system-x86_64" -L "$q" -M pc -m 512 -smp 1 -display none \
		-nodefaults -no-reboot -cpu "Skylake-Client$2" -kernel "$kdir/vmlinuz" \
		-append "console=ttyS0 panic=-1 nmi_watchdog=0 no_timer_check tsc=reliable rdinit=/nothing quiet" \
		-serial null </dev/null >/dev/null 2>&1; } 2>&1
}

least() { sort -n "$1" | head -n1; }

for ((r = 0; r < runs; r++)); do
	i=0
	while IFS='|' read -r _ build props events per lbr; do
		i=$((i + 1))
		for c in 0 1 2 3; do
			loop "$build" "$props" "$events" "$per" "${lbr:-0}" $c >>"$work/$i.$c"
		done
		[ $r -ge 3 ] || [ "$events$per$lbr" != 00 ] || boot "$build" "$props" >>"$work/$i.boot"
	done <<<"$configs"
done

echo "ns a round (against the first line); boot: seconds.  User time, minimum of $runs runs"
printf '%-26s %17s %17s %17s %14s\n' "" "registers (10)" "ld+st (4)" "syscall" "boot"
rounds=$((millions * 24))	# millions
i=0
while IFS='|' read -r name _ _ events per _; do
	i=$((i + 1))
	row=$(printf '%-26s' "$name")
	for c in 1 2 3; do
		v=$(awk -v a="$(least "$work/$i.$c")" -v b="$(least "$work/$i.0")" \
			-v n=$rounds -v div=$((c == 3 ? 64 : 1)) \
			'BEGIN {print (a - b) * 1000 / n * div}')
		[ $i != 1 ] || eval "first$c=$v"
		b=first$c
		row+=$(awk -v v="$v" -v b="${!b}" 'BEGIN {printf " %9.2f %+6.0f%%", v, (v / b - 1) * 100}')
		[ "$c$per" != 1$period ] || pmi=$(awk -v v="$v" -v b="${!b}" -v n=$period \
			'BEGIN {printf "%.1f", (v - b) * n / 10 / 1000}')
	done
	if [ -e "$work/$i.boot" ]; then
		v=$(least "$work/$i.boot")
		[ $i != 1 ] || boot=$v
		row+=$(awk -v v="$v" -v b="$boot" 'BEGIN {printf " %7.2f %+4.0f%%", v, (v / b - 1) * 100}')
	fi
	echo "$row"
done <<<"$configs"
echo "one PMI: $pmi us, the guest's handler of some 60 instructions included"
