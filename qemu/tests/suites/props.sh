# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Properties: what is refused, and with which words.

# refused CPU TEXT - QEMU must not start, and say TEXT
refused()
{
	local out
	out=$(timeout 20 "$qemu/qemu-system-x86_64" -L "$qemu" -M none -S -display none \
		-nodefaults -cpu "$1" -M pc </dev/null 2>&1) && { single 1 "props: $1 is refused"; return; }
	case $out in
	*"$2"*) single 0 "props: $1: $2" ;;
	*) echo "# $out"; single 1 "props: $1: $2" ;;
	esac
}

suite_props()
{
	refused "$skl,x-pmu-version=6" "x-pmu-version must be 1 to 5, not 6"
	refused "$skl,x-pmu-gp=9" "x-pmu-gp must be 1 to 8, not 9"
	refused "$skl,x-pmu-fixed=5" "x-pmu-fixed must be 0 to 4, not 5"
	refused "$skl,x-pmu-version=1,x-pmu-fixed=3" "version 1 has no fixed counters"
	refused "$skl,x-pmu-width=31" "x-pmu-width must be 32 to 48, not 31"
	refused "$skl,x-pmu-width=49" "x-pmu-width must be 32 to 48, not 49"
	refused "$skl,x-pmu-unavail=0x80" "version 4 has 7 architectural events, bit 7 is too high"
	refused "$skl,x-pmu-cpi=0" "x-pmu-cpi / x-pmu-cpi-div must be at least 1, not 0/1"
	refused "$skl,x-pmu-cpi=2,x-pmu-cpi-div=3" "must be at least 1, not 2/3"
	refused "$skl,x-pmu-ref=0" "x-pmu-ref / x-pmu-ref-div must be positive, not 0/1"
	refused "EPYC,pmu=on" "only a model of Intel's PMU"
	refused "$skl,level=9" "needs CPUID leaf 0xa"
}
