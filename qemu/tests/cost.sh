#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# cost.sh [RUNS] - what the PMU model costs: medians of RUNS (default 9) runs,
# interleaved, against QEMU without our patches.
#
# Three loops in user mode of the test guest, each in 24 places, in ticks of the
# host's clock (TSC) a round, and the host's CPU time for booting Linux 6.12.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../lib.sh"

runs=${1:-9}
tests=$KPMU_TOP/qemu/tests
millions=1
# shellcheck disable=SC2034 # by their names, see configs
{
	base=${QEMU_BASE:-$("$KPMU_TOP/qemu/build.sh" --unpatched)}
	new=${QEMU:-$("$KPMU_TOP/qemu/build.sh")}
}
kdir=$("$KPMU_TOP/qemu/kernel.sh" 6.12)
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-cost.XXXXXX")
trap 'rm -rf "$work"' EXIT
make -s -C "$tests/guest" O="$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "no test guest"; }

# name | build | CPU properties | events: 1 instructions 2 branches 4 loads
# 8 stores 16 branch misses 32 cache misses
configs='unpatched|base||0
patched, pmu=off|new||0
pmu=on, idle|new|,pmu=on|0
instructions:u|new|,pmu=on|1
instructions, branches:u|new|,pmu=on|3
loads, stores:u|new|,pmu=on|12
all four:u|new|,pmu=on|15
branch misses:u|new|,pmu=on|16
cache misses:u|new|,pmu=on|32
always (statistics)|new|,pmu=on,x-pmu-always=on|0'

loops()
{
	local q=${!1}
	"$q/qemu-system-x86_64" -L "$q" -M pc -m 64 -display none -nodefaults \
		-no-user-config -bios "$work/pmu.rom" -cpu "Skylake-Client$2" \
		-debugcon stdio -device isa-debug-exit,iobase=0xf4,iosize=1 \
		-fw_cfg name=opt/kpmu/tests,string=bench \
		-fw_cfg "name=opt/kpmu/count,string=$3" \
		-fw_cfg "name=opt/kpmu/millions,string=$millions" \
		</dev/null 2>/dev/null | head -n1 || true
}

# boot BUILD PROPS - CPU seconds of the host, user mode
boot()
{
	local q=${!1} TIMEFORMAT=%U

	{ time timeout 120 "$q/qemu-system-x86_64" -L "$q" -M pc -m 512 -smp 1 -display none \
		-nodefaults -no-reboot -cpu "Skylake-Client$2" -kernel "$kdir/vmlinuz" \
		-append "console=ttyS0 panic=-1 nmi_watchdog=0 no_timer_check tsc=reliable rdinit=/nothing quiet" \
		-serial null </dev/null >/dev/null 2>&1; } 2>&1
}

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

for ((r = 0; r < runs; r++)); do
	i=0
	while IFS='|' read -r _ build props events; do
		i=$((i + 1))
		loops "$build" "$props" "$events" >>"$work/$i.loops"
		[ $r -ge 3 ] || [ "$events" != 0 ] || boot "$build" "$props" >>"$work/$i.boot"
	done <<<"$configs"
done

echo "ticks a round (and against unpatched), median of $runs; boot: CPU seconds, median of 3"
printf '%-26s %16s %16s %16s %14s\n' "" "registers (10)" "ld+st (4)" "syscall" "boot"
i=0
while IFS='|' read -r name _ _ events; do
	i=$((i + 1))
	row=$(printf '%-26s' "$name")
	for c in 1 2 3; do
		v=$(awk -v c=$c '{print $c}' "$work/$i.loops" | median)
		div=$((millions * 1000000 * 24))
		[ $c != 3 ] || div=$((div / 64))
		[ $i != 1 ] || eval "base$c=$v"
		b=base$c
		row+=$(awk -v v="$v" -v d=$div -v b="${!b}" \
			'BEGIN {printf " %9.2f %+5.1f%%", v / d, (v / b - 1) * 100}')
	done
	if [ "$events" = 0 ]; then
		v=$(median <"$work/$i.boot")
		[ $i != 1 ] || bootbase=$v
		row+=$(awk -v v="$v" -v b="$bootbase" 'BEGIN {printf " %7.2f %+5.1f%%", v, (v / b - 1) * 100}')
	fi
	echo "$row"
done <<<"$configs"
