# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Properties: invalid values and their messages, defaults of CPU models.

# refused CPU TEXT - QEMU must not start, and must print TEXT
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

# paused CPU [QEMU args] - start a stopped machine; print its messages and "info pmu"
paused()
{
	local cpu=$1
	shift
	printf 'info pmu\nquit\n' | timeout 30 "$qemu/qemu-system-x86_64" -L "$qemu" -M pc \
		-display none -nodefaults -cpu "$cpu" -S -monitor stdio "$@" 2>&1
}

# starts CPU TEXT [QEMU args] - QEMU must start, and must print TEXT
starts()
{
	local out rc=0 cpu=$1 text=$2
	shift 2
	out=$(paused "$cpu" "$@") || rc=1
	case $out in
	*"$text"*) ;;
	*) rc=1 ;;
	esac
	[ $rc = 0 ] || printf '# %s\n' "$out" | head -n 5
	single $rc "props: $cpu: $text"
}

# pmu=on gives every CPU model a PMU or prints the reason why not
every_model()
{
	local cpu out nr=0 bad=''

	for cpu in $("$qemu/qemu-system-x86_64" -cpu help |
		sed -n 's/^ *x86 *\([^ ]*\).*/\1/p; s/^  \([A-Za-z0-9-]*\)  .*/\1/p' |
		grep -v -e '-v[0-9]*$' -e '^host$' | sort -u); do
		nr=$((nr + 1))
		out=$(paused "$cpu,pmu=on") || bad+=" $cpu"
		grep -q -e 'pmu=on: no PMU' -e 'Intel PMU version' -e 'AMD PMU version' <<<"$out" ||
			bad+=" $cpu"
	done
	[ -z "$bad" ] || echo "# neither a PMU nor a warning:$bad"
	single $([ -z "$bad" ] && [ $nr -gt 30 ] && echo 0 || echo 1) "props: pmu=on with $nr models"
}

props_amd()
{
	local k7="AMD PMU version 1, 4 general and 0 fixed counters of 48 bits"
	local core="AMD PMU version 1, 6 general and 0 fixed counters of 48 bits"
	local cpu rc v2="AMD PMU version 2, 6 general and 0 fixed counters of 48 bits"

	starts "max,pmu=on" "$k7"
	starts "Opteron_G3,pmu=on" "$k7"
	starts "Opteron_G5,pmu=on" "$core"
	starts "EPYC,pmu=on" "$core"
	starts "EPYC-Milan,pmu=on" "$core"
	starts "EPYC-Genoa,pmu=on" "$v2"
	starts "EPYC,pmu=on,perfctr-core=off" "$k7"
	starts "EPYC,pmu=on,x-pmu-gp=4" "$k7"
	starts "Opteron_G3,pmu=on,perfctr-core=on" "$core"
	starts "EPYC,pmu=on,perfmon-v2=on" "$v2"
	starts "EPYC,pmu=on,x-pmu-version=2" "$v2"
	starts "EPYC-Genoa,pmu=on,perfmon-v2=off" "$core"
	starts "EPYC-Genoa,pmu=on,x-pmu-version=1" "$core"
	starts "EPYC-Genoa,pmu=on,x-pmu-gp=4" "$k7"
	starts "athlon,pmu=on" "$k7"
	starts "EPYC-Genoa,pmu=on" "LbrExtV2 of 16 entries, off"
	starts "EPYC,pmu=on,perfmon-v2=on,amd-lbr-v2=on" "LbrExtV2 of 16 entries, off"
	for cpu in EPYC EPYC-Genoa,amd-lbr-v2=off EPYC-Genoa,perfmon-v2=off EPYC,perfmon-v2=on; do
		rc=0
		if paused "$cpu,pmu=on" | grep -q -e LbrExtV2; then rc=1; fi
		single $rc "props: $cpu,pmu=on: no LbrExtV2"
	done
	refused "EPYC,pmu=on,amd-lbr-v2=on" "amd-lbr-v2 needs perfmon-v2"
	refused "EPYC,x-pmu-version=3" "x-pmu-version must be 1 or 2 with AMD, not 3"
	refused "EPYC,x-pmu-gp=8" "x-pmu-gp must be 4 or 6 with AMD, not 8"
	refused "EPYC,x-pmu-version=2,x-pmu-gp=4" "version 2 needs 6 general counters"
	refused "EPYC,x-pmu-fixed=3" "AMD has no fixed counters"
	refused "EPYC,x-pmu-unavail=1" "AMD has no architectural events"
	refused "EPYC,pmu=on,pebs-fmt=3" "AMD has no PEBS"
	refused "EPYC,pmu=on,lbr-fmt=0x5" "lbr-fmt is for Intel's last branch records"
	refused "EPYC,perfctr-core=on,x-pmu-gp=4" "x-pmu-gp=4 and perfctr-core contradict each other"
	refused "EPYC,perfmon-v2=on,x-pmu-version=1" \
		"x-pmu-version=1 and perfmon-v2 contradict each other"
}

props_hybrid()
{
	starts "$adl,x-pmu-atom-from=1" "PMU version 5, 8 general and 4 fixed counters of 48 bits"
	starts "$adl,x-pmu-atom-from=0" "PMU version 5, 6 general and 3 fixed counters of 48 bits"
	refused "$adl,x-pmu-atom-from=1,x-pmu-gp=4" "x-pmu-gp and x-pmu-fixed are those of the kinds of cores"
	refused "$adl,x-pmu-atom-from=1,x-pmu-version=4" "x-pmu-atom-from needs x-pmu-version=5, not 4"
	refused "$adl,x-pmu-atom-from=1,pebs-fmt=4" "no PEBS and no LBR on a hybrid machine"
	refused "$adl,x-pmu-atom-from=1,arch-lbr=on,lbr-fmt=0x3f" "no PEBS and no LBR on a hybrid machine"
	refused "$icx,x-pmu-atom-from=1" "CPUID has no leaf 0x1a"
	refused "SapphireRapids,x-pmu-atom-from=1" "x-pmu-atom-from needs pmu=on"
	refused "EPYC,x-pmu-atom-from=1" "AMD has no kinds of cores"
}

suite_props()
{
	local cpu rc

	refused "$skl,x-pmu-version=6" "x-pmu-version must be 1 to 5, not 6"
	refused "$skl,x-pmu-gp=9" "x-pmu-gp must be 1 to 8, not 9"
	refused "$skl,x-pmu-fixed=5" "x-pmu-fixed must be 0 to 4, not 5"
	refused "$skl,x-pmu-version=1,x-pmu-fixed=3" "version 1 has no fixed counters"
	refused "$skl,x-pmu-width=31" "x-pmu-width must be 32 to 48, not 31"
	refused "$skl,x-pmu-width=49" "x-pmu-width must be 32 to 48, not 49"
	refused "$skl,x-pmu-unavail=0x80" "version 4 has 7 architectural events, bit 7 is too high"
	refused "$skl,x-pmu-cpi=0" "x-pmu-cpi / x-pmu-cpi-div must be at least 1, not 0/1"
	refused "$skl,x-pmu-cpi=2,x-pmu-cpi-div=3" "must be at least 1, not 2/3"
	refused "$skl,x-pmu-ref=0" "x-pmu-ref / x-pmu-ref-div must be positive, not 0/2"
	refused "Skylake-Client,x-pmu-gp=9" "x-pmu-gp must be 1 to 8, not 9"
	refused "EPYC,x-pmu-width=49" "x-pmu-width must be 32 to 48, not 49"
	starts "YongFeng,pmu=on" "only models of Intel's and AMD's"
	starts "$skl,level=9" "no leaf 0xa"
	starts "kvm64,pmu=on" "no architectural one"
	starts "kvm64,pmu=on,x-pmu-version=2" "PMU version 2, 4 general and 3 fixed counters of 48 bits"
	starts "max,vendor=GenuineIntel" "PMU version 4, 4 general and 3 fixed counters of 48 bits"
	starts "Skylake-Client,x-pmu-gp=2" "x-pmu-*, pebs-fmt: ignored" -accel qtest
	starts "coreduo,pmu=on" "PMU version 1, 2 general and 0 fixed counters of 40 bits"
	starts "Conroe,pmu=on" "PMU version 2, 2 general and 3 fixed counters of 40 bits"
	starts "n270,pmu=on" "PMU version 3, 2 general and 3 fixed counters of 40 bits"
	starts "Nehalem,pmu=on" "PMU version 3, 4 general and 3 fixed counters of 48 bits"
	starts "Haswell,pmu=on" "PMU version 3, 4 general and 3 fixed counters of 48 bits"
	starts "$skl" "PMU version 4, 4 general and 3 fixed counters of 48 bits"
	starts "Snowridge,pmu=on" "PMU version 5, 4 general and 3 fixed counters of 48 bits"
	starts "$icx" "PMU version 5, 8 general and 4 fixed counters of 48 bits"
	every_model
	refused "$skl,lbr-fmt=0x4" "lbr-fmt must be 0x5 or 0x3f with TCG, not 0x4"
	refused "$skl,lbr-fmt=0x3f" "arch-lbr=on and lbr-fmt=0x3f need each other"
	refused "$spr,arch-lbr=on" "arch-lbr=on and lbr-fmt=0x3f need each other"
	refused "$spr,arch-lbr=on,lbr-fmt=0x5" "arch-lbr=on and lbr-fmt=0x3f need each other"
	refused "$spr,arch-lbr=on,lbr-fmt=0x3f,level=0x1b" "CPUID has no leaf 0x1c"
	refused "Skylake-Client,lbr-fmt=0x5" "lbr-fmt needs pmu=on"
	refused "$skl,lbr-fmt=0x5,-pdcm" "lbr-fmt needs pdcm"
	starts "$skl,lbr-fmt=0x5" "legacy LBR of 32 entries, off"
	starts "$icx,lbr-fmt=0x5" "legacy LBR of 32 entries, off"
	starts "$spr,+arch-lbr,lbr-fmt=0x3f" "architectural LBR of 32 entries, off"
	refused "$skl,pebs-fmt=1" "pebs-fmt must be 0, 2, 3 or 4, not 1"
	starts "$skl,pebs-fmt=2" "PEBS format 2"
	refused "$icx,pebs-fmt=2" "pebs-fmt=2 needs version 2 to 4 of the PMU, not 5"
	refused "Skylake-Client,pebs-fmt=3" "pebs-fmt needs pmu=on"
	refused "$skl,pebs-fmt=3,-pdcm" "pebs-fmt needs pdcm"
	refused "$skl,pebs-fmt=4" "pebs-fmt=4 needs version 5 of the PMU, not 4"
	refused "$icx,pebs-fmt=3" "pebs-fmt=3 needs version 2 to 4 of the PMU, not 5"
	refused "$skl,pebs-fmt=3,x-pmu-version=1" "pebs-fmt=3 needs version 2 to 4 of the PMU, not 1"
	refused "$skl,pebs-fmt=3,-lm" "pebs-fmt needs a CPU of 64 bits"
	starts "$skl,pebs-fmt=3" "PEBS format 3"
	starts "$icx,pebs-fmt=4" "PEBS format 4"
	props_amd
	props_hybrid
	for cpu in "$skl" "$spr" "max,vendor=GenuineIntel" "max,vendor=GenuineIntel,pmu=off"; do
		rc=0
		if paused "$cpu" | grep -q -e LBR -e lbr -e PEBS -e pebs; then rc=1; fi
		single $rc "props: $cpu: no LBR, no PEBS"
	done
}
