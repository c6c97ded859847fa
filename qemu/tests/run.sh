#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [NAME...] - the tests of the PMU model itself, without kpmu.
#
#	props	properties: defaults, errors
#	bare	a guest without an operating system: registers, counts, overflow
#	modes	the same with several CPUs, -icount, replay, migration, reset
#	linux	the stock kernels' own perf as the driver
#	late	only if it is named: one test of PMIs 2,000 times, some 15 minutes (N=1000)
#
# Prints TAP: a line a boot, with the number of checks inside, and all that
# failed.  V=1 shows every check.  QEMU=folder tests another build.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../lib.sh"

tests=$KPMU_TOP/qemu/tests
passed=0 failed=0 skipped=0 nr=0 start=$SECONDS
qemu=${QEMU:-$("$KPMU_TOP/qemu/build.sh")}
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-qemu.XXXXXX")
trap 'rm -rf "$work"' EXIT
need_tools gcc make ld:binutils objcopy:binutils timeout:coreutils

# line OK NAME - one line of TAP of our own
line()
{
	nr=$((nr + 1))
	[ "$1" = 0 ] && echo "ok $nr - $2" || echo "not ok $nr - $2"
}

# judge NAME STATUS FILE - fold a TAP file into one line; STATUS 0: it ended well
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

# single OK NAME - one check of our own
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

# vm CPU TESTS [QEMU args] - run it; output to stdout, status as of QEMU
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

# p NAME VALUE - a parameter of the guest, as QEMU arguments
p() { printf '%s\n' -fw_cfg "name=opt/kpmu/$1,string=$2"; }

# bare NAME CPU TESTS [QEMU args]
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

# shellcheck disable=SC2034 # for the suites
{
	skl=Skylake-Client,pmu=on
	icx=Icelake-Server,model=106,pmu=on
	spr=SapphireRapids,pmu=on
	every="rdpmc registers listing step overflow cycles width lvtpc status together reload freeze smm kernel stats halt"
	icount=(-icount "shift=2,sleep=off" -rtc clock=vm -seed 1)
}

for t in "$tests"/suites/*.sh; do
	# shellcheck source=/dev/null
	. "$t"
done

[ $# -gt 0 ] || set -- props bare modes linux
rom_build
for suite; do
	declare -F "suite_$suite" >/dev/null || die "no tests called $suite"
	"suite_$suite"
done
echo "1..$nr"
echo "# $((SECONDS - start)) seconds"
echo "qemu: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
