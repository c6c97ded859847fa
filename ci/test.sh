#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test.sh [-u] - test what is in ci/ (make ci-test): the arguments that qemu-pmu changes, counts of
# the sample project by run-in-guest.sh in several guests, without a network, the action's steps, and
# virtme-ng with qemu-pmu.  -u: only what needs no guest.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
# shellcheck source=selftests/tap.sh
. "$KPMU_TOP/selftests/tap.sh"

ci=$KPMU_TOP/ci
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-ci-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

# ---- qemu-pmu ----------------------------------------------------------------

mkdir "$work/qemu"
printf '#!/bin/sh\n' >"$work/qemu/qemu-system-x86_64"
chmod +x "$work/qemu/qemu-system-x86_64"
skylake=Skylake-Client,pmu=on,x-pmu-version=4

# becomes ARGUMENTS... = ARGUMENTS... - what qemu-pmu makes of them, after -L DIR
becomes()
{
	local before=()
	while [ "$1" != = ]; do before+=("$1"); shift; done
	shift
	QEMU_PMU_DIR=$work/qemu QEMU_PMU_PRINT=1 "$ci/qemu-pmu" "${before[@]}" >"$work/is" 2>&1
	printf '%s\n' "$work/qemu/qemu-system-x86_64" -L "$work/qemu" "$@" >"$work/expected"
	cmp -s "$work/is" "$work/expected" && return
	sed 's/^/# /' "$work/is"
	return 1
}

check "-cpu host" becomes -cpu host = -cpu $skylake
check "-cpu max with properties" becomes -cpu max,migratable=no,+avx2,pmu=off,host-phys-bits-limit=0x28 = -cpu $skylake,+avx2
check "its own properties of the model" becomes -cpu host,lbr-fmt=0x5,x-pmu-gp=2 = -cpu $skylake,lbr-fmt=0x5,x-pmu-gp=2
check "no -cpu" becomes -m 1G = -m 1G -cpu $skylake
check "another model is kept" becomes -cpu EPYC,pmu=on = -cpu EPYC,pmu=on
check "two dashes" becomes --cpu host --enable-kvm = -cpu $skylake
check "-enable-kvm" becomes -enable-kvm -cpu host -smp 2 = -cpu $skylake -smp 2
check "-accel kvm with a fallback" becomes -accel kvm,kernel-irqchip=on -accel tcg,thread=multi -cpu max = \
	-accel tcg,thread=multi -cpu $skylake
check "-machine accel=kvm:tcg" becomes -machine accel=kvm:tcg -M q35 -cpu host = -machine q35 -cpu $skylake
check "-M with other properties" becomes -M q35,accel=kvm,kernel_irqchip=split,hpet=off -cpu host = \
	-machine q35,hpet=off -cpu $skylake
check "a probe without a machine" becomes -M none -nographic = -machine none -nographic
check "values that look like options" becomes -append "-cpu host" -name -accel -cpu host = \
	-append "-cpu host" -name -accel -cpu $skylake
check "values with spaces and commas" becomes -device "a,b=c d" -cpu host = -device "a,b=c d" -cpu $skylake
check "KPMU_CPU" env KPMU_CPU=genoa bash -c "$(declare -f becomes); work=$work ci=$ci
	becomes -cpu host,+x = -cpu EPYC-Genoa,pmu=on,+x"
check "KPMU_ICOUNT" env KPMU_ICOUNT=1 bash -c "$(declare -f becomes); work=$work ci=$ci
	becomes -enable-kvm -cpu host = -cpu $skylake -accel tcg -icount shift=2,sleep=off \
		-rtc base=2026-01-01T00:00:00,clock=vm -seed 1"
QEMU_PMU_DIR=$work/qemu "$ci/qemu-pmu" -M microvm >"$work/is" 2>&1 && rc=0 || rc=$?
check "microvm without its firmware: what to do" grep -q "no bios-microvm.bin.*--disable-microvm" "$work/is"
check "and status 1" [ "$rc" = 1 ]
QEMU_PMU_DIR=$work/none "$ci/qemu-pmu" -version >"$work/is" 2>&1 && rc=0 || rc=$?
check "no QEMU: where it was looked for" grep -q "no $work/none/qemu-system-x86_64" "$work/is"
check "and status 1, too" [ "$rc" = 1 ]

# The models are those of qemu/run.sh, without what only its tests need
eval "$(sed -n '/^cpu_line()/,/^}/p' "$KPMU_TOP/qemu/run.sh")"
models_equal()
{
	local m a b accel=tcg props='' differ=0
	for m in skylake icelake spr alderlake opteron k7 epyc genoa generic; do
		a=$(accel=$accel props=$props cpu_line $m | sed 's/,x-pmu-ref=3,x-pmu-ref-div=1,x-pmu-always=on//')
		b=$(QEMU_PMU_DIR=$work/qemu QEMU_PMU_PRINT=1 KPMU_CPU=$m "$ci/qemu-pmu" | tail -n 1)
		[ "$a" = "$b" ] || { echo "# $m: $a in run.sh, $b in qemu-pmu"; differ=1; }
	done
	return $differ
}
check "the models of qemu/run.sh" models_equal

# ---- the action, without a guest ---------------------------------------------

inputs() { grep -o 'INPUT_[A-Z_]*' "$1" | sort -u; }
declared() { sed -n '/^inputs:/,/^outputs:/s/^  \([a-z-]*\):$/\1/p' "$ci/action.yml" | sort -u; }
# shellcheck disable=SC2016 # GitHub's syntax
used() { grep -o '\${{ inputs\.[a-z-]*' "$ci/action.yml" | sed 's/.*\.//' | sort -u; }
check "action.sh reads the inputs of action.yml" diff <(inputs "$ci/action.yml") <(inputs "$ci/action.sh" | grep -v 'INPUT_$')
check "each input is declared, and used" diff <(declared) <(used)
GITHUB_OUTPUT=$work/key "$ci/action.sh" key
check "the cache has a key" grep -qE '^key=kpmu-6.12-host-[0-9a-f]{12}$' "$work/key"

# in_guest [VARIABLE=VALUE...] OPTIONS... - in the sample project: output in $work/out, its status in
# $status.  Without a network, if this may be (as root).
offline=()
[ "$(id -u)" != 0 ] || ! unshare -n true 2>/dev/null || offline=(unshare -n)
in_guest()
{
	local set=()
	while [[ $1 == *=* && $1 != -* ]]; do set+=("$1"); shift; done
	status=0
	(cd "$work/sample" && env "${set[@]}" "${offline[@]}" "$@") >"$work/out" 2>&1 </dev/null || status=$?
}
has() { grep -qxF -- "$1" "$work/out" || { sed 's/^/# /' "$work/out"; false; }; }

cp -r "$ci/sample" "$work/sample"
in_guest "$ci/run-in-guest.sh" -x 'instructions:u = 5' ./loop
check "an expectation that is none: status 125" [ $status = 125 ]
check "and its form" grep -q "is not like 'instructions:u == 3000004'" "$work/out"
in_guest "$ci/action.sh" run
check "no command: what is missing" grep -q 'run: which command' "$work/out"
in_guest INPUT_RUN=./loop INPUT_ICOUNT=true INPUT_KPMU=yes "$ci/action.sh" run
check "an input that is neither true nor false" grep -q "true or false, not 'yes'" "$work/out"

if [ "${1:-}" = -u ]; then
	echo "$passed passed, $failed failed"
	exit $((failed > 0))
fi

# ---- counts of the sample project --------------------------------------------

make -s -C "$work/sample"
"$KPMU_TOP/qemu/userland.sh" >/dev/null
[ ${#offline[@]} = 0 ] || echo "# without a network"
in_guest "$ci/run-in-guest.sh" -n 2 -x 'instructions:u == 3_000_004' -x 'branches:u == 1,000,001' \
	-x 'cycles:u >= 1' -x 'cycles:u <= 900000000' ./loop
check "counts that follow from the source: status 0" [ $status = 0 ]
check "their lines" has "ok instructions:u == 3000004"
check "branches" has "ok branches:u == 1000001"
check "two runs in one guest" has "ok run 2 has the counts of run 1"
in_guest GITHUB_ACTIONS=true "$ci/run-in-guest.sh" -x $'# a comment\ninstructions:u == 3000003\ncycles:u >= 1' ./loop
check "one instruction more than expected: status 1" [ $status = 1 ]
check "how far it is off" has "not ok instructions:u == 3000003: is 3000004 (+1)"
check "as an annotation" has "::error::instructions:u == 3000003: is 3000004 (+1)"

in_guest "$ci/run-in-guest.sh" -e instructions:u,branches:u -u counts ./test
check "a test with exact counts passes" [ $status = 0 ]
check "it says so" has "ok the cost is linear: 12288, expected 12288"
sed 's/^/# /' "$work/sample/counts" || true
in_guest "$ci/run-in-guest.sh" -X counts ./test
check "in another guest it has the same counts, with libraries and all" [ $status = 0 ]
check "two were compared" [ "$(grep -c '^ok .*:u ==' "$work/out")" = 2 ]

in_guest "$ci/run-in-guest.sh" -K -x 'instructions:u == 3000004' ./loop
check "counted on kpmu" has "ok instructions:u == 3000004"
in_guest GITHUB_OUTPUT="$work/outputs" GITHUB_STEP_SUMMARY="$work/summary" INPUT_RUN='./loop' \
	INPUT_EXPECT=$'instructions:u == 3000004\n' INPUT_USERLAND=debian INPUT_ICOUNT=false INPUT_CPU=genoa \
	"$ci/action.sh" run
check "the action's run on another CPU" [ $status = 0 ]
check "its output" grep -qxF "instructions:u 3000004" "$work/outputs"
check "its summary" grep -qF "| instructions:u | 3000004 |" "$work/summary"
in_guest "$ci/run-in-guest.sh" -x 'instructions:u >= 1' "sh -c 'exit 9'"
check "the status of the command" [ $status = 9 ]

# ---- virtme-ng ----------------------------------------------------------------

if [ "${VNG:-0}" = 1 ] && vng=$("$ci/vng.sh" fetch 2>/dev/null); then
	in_guest "$ci/vng.sh" run "$vng" "$work/sample/test"
	three() { [ "$(grep -c '^ok ' "$work/out")" = 3 ] || { tail -n 20 "$work/out" | sed 's/^/# /'; false; }; }
	check "virtme-ng with qemu-pmu: a test that counts exactly" three
else
	echo "# skipped: virtme-ng (VNG=1 runs it)"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
