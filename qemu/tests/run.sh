#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [NAME...] - run the tests of the PMU model, without kpmu.
#
#	props	properties: defaults, errors
#	bare	a guest without an operating system: registers, counts, overflow
#	amd	the same, and the modes, for AMD's PMUs
#	modes	the same with several CPUs, -icount, replay, migration, reset
#	linux	native perf of the stock kernels
#	linux_amd	the part of it for AMD's PMUs
#	linux_hybrid	the part of it for hybrid machines
#	late	only if named: one test of PMI delivery, 2,000 times, about 15 minutes
#		(N=1000 times each with one thread and with a thread per CPU)
#
# Print TAP: a line per boot with its number of checks, and all checks that failed.
# V=1 prints every check.  QEMU=folder tests another build.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../lib.sh"

tests=$KPMU_TOP/qemu/tests
passed=0 failed=0 skipped=0 nr=0 start=$SECONDS
qemu=${QEMU:-$("$KPMU_TOP/qemu/build.sh")}
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-qemu.XXXXXX")
trap 'rm -rf "$work"' EXIT
need_tools gcc make ld:binutils objcopy:binutils timeout:coreutils

# line STATUS NAME - print a TAP line; STATUS 0 is success
line()
{
	nr=$((nr + 1))
	[ "$1" = 0 ] && echo "ok $nr - $2" || echo "not ok $nr - $2"
}

# judge NAME STATUS FILE - summarize the TAP output of a guest in one line; STATUS 0: the
# guest ended without an error
judge()
{
	local name=$1 status=$2 file=$3 p f s plan

	p=$(grep -c '^ok ' "$file") || true
	f=$(grep -c '^not ok ' "$file") || true
	s=$(grep -c '^ok .*# SKIP' "$file") || true
	plan=$(sed -n 's/^1\.\.//p' "$file" | tail -n1)
	if [ "${plan:-none}" != $((p + f)) ] || grep -q '^Bail out' "$file"; then
		f=$((f + 1))
		status=1
		echo "# $name: no proper end (${plan:-no} planned, $((p + f - 1)) run)"
	fi
	passed=$((passed + p - s)) failed=$((failed + f)) skipped=$((skipped + s))
	[ "$f" = 0 ] || status=1
	[ "$status" = 0 ] || { [ "$f" != 0 ] || failed=$((failed + 1)); }
	if [ -n "${V:-}" ]; then sed 's/^/    /' "$file"
	elif [ "$status" != 0 ]; then grep -aE '^(not ok|#|Bail)' "$file" | head -n 40 || true
	fi
	line "$status" "$name ($p checks)"
}

# single STATUS NAME - count and print a check of the host; STATUS 0 is success
single()
{
	if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
	line "$1" "$2"
}

# ---- the guest without an operating system -----------------------------------

rom=$work/rom
rom_build()
{
	mkdir -p "$rom"
	make -s -C "$tests/guest" O="$rom" >"$work/make.log" 2>&1 ||
		{ cat "$work/make.log" >&2; die "the test guest does not build"; }
}

# vm CPU TESTS [QEMU args] - run the guest; stdout has its output; returns the status of QEMU
vm()
{
	local cpu=$1 list=$2
	shift 2
	timeout -k 5 "${LIMIT:-300}" "$qemu/qemu-system-x86_64" -L "$qemu" -M pc -m 64 \
		-display none -nodefaults -no-user-config -bios "$rom/pmu.rom" \
		-cpu "$cpu" -debugcon stdio -device isa-debug-exit,iobase=0xf4,iosize=1 \
		-fw_cfg "name=opt/kpmu/tests,string=$list" "$@" \
		</dev/null 2>>"$work/err"
}

# p NAME VALUE - print the QEMU arguments for a parameter of the guest
p() { printf '%s\n' -fw_cfg "name=opt/kpmu/$1,string=$2"; }

# bare NAME CPU TESTS [QEMU args] - run the guest and judge its output
bare()
{
	local name=$1 rc=0
	shift
	: >"$work/err"
	vm "$@" >"$work/out" || rc=$?
	# isa-debug-exit: 1 is success, 3 a failed check
	[ $rc = 1 ] || grep -v 'TCG doesn.t support' "$work/err" | sed 's/^/# /' || true
	judge "$name" $((rc == 1 ? 0 : 1)) "$work/out"
}

# shellcheck disable=SC2034 # used by the suites
{
	skl=Skylake-Client,pmu=on
	icx=Icelake-Server,model=106,pmu=on
	spr=SapphireRapids,pmu=on
	adl=SapphireRapids,model=151,pmu=on
	skl_lbr=$skl,lbr-fmt=0x5
	spr_lbr=$spr,arch-lbr=on,lbr-fmt=0x3f
	skl_pebs=$skl,pebs-fmt=3
	icx_pebs=$icx,pebs-fmt=4,lbr-fmt=0x5
	spr_pebs=$spr_lbr,pebs-fmt=4
	lbr="lbr_registers lbr lbr_freeze lbr_ler lbr_smm lbr_slow"
	pebs="pebs_registers pebs pebs_ds pebs_together pebs_armed pebs_levels pebs_memory pebs_events pebs_groups"
	k7=EPYC,family=16,model=2,pmu=on	# the guest needs XSAVE
	zen=EPYC,pmu=on
	genoa=EPYC-Genoa,pmu=on
	amd_lbr="lbr_registers lbr lbr_freeze lbr_slow"
	amd="amd_cpuid amd_registers amd_rdpmc amd_lvtpc amd_width amd_freeze amd_events amd_only amd_svm amd_svm_pmi"
	ibs="ibs_registers ibs_op ibs_data ibs_filter ibs_fetch"
	amd_every="step cycles together reload status kernel halt"
	zen_every="amd_flops amd_pairs listing overflow cmask interrupts shadow $amd_every"
	every="rdpmc registers listing step overflow cycles width lvtpc status together reload freeze smm kernel stats halt"
	icount=(-icount "shift=2,sleep=off" -rtc clock=vm -seed 1)
}

for t in "$tests"/suites/*.sh; do
	# shellcheck source=/dev/null
	. "$t"
done

[ $# -gt 0 ] || set -- props bare amd modes linux
rom_build
for suite; do
	declare -F "suite_$suite" >/dev/null || die "no tests called $suite"
	"suite_$suite"
done
echo "1..$nr"
echo "# $((SECONDS - start)) seconds"
echo "qemu: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
