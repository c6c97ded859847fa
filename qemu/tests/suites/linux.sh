# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Native perf of the stock kernels drives the model.

# guest NAME [run.sh options] -- ARGS - run $prog (default: native) in a guest
guest()
{
	local name=$1 rc=0 opts=()
	shift
	while [ "$1" != -- ]; do opts+=("$1"); shift; done
	shift
	QEMU=$qemu "$KPMU_TOP/qemu/run.sh" -m none -t 600 "${opts[@]}" \
		-f "$work/${prog:-native}" "/tests/${prog:-native} $*" >"$work/out" 2>"$work/err" || rc=$?
	[ $rc = 0 ] || sed 's/^/# /' "$work/err" | tail -n 30
	judge "$name" $rc "$work/out"
}

build_programs()
{
	local prog

	for prog; do
		gcc -O2 -Wall -Wextra -Werror -mno-red-zone -static -pthread -o "$work/$prog" \
			"$tests/linux/$prog.c" || die "$prog.c does not build"
	done
}

native_amd()
{
	local prog=native kernel
	local core="'log=Fam17h+ core perfctr, AMD PMU driver'" v2
	guest "linux: 6.1, K7" -k 6.1 -c k7 -- "'log=AMD PMU driver'" "'log=generic registers:      4'"
	guest "linux: 6.1, Opteron" -k 6.1 -c opteron -- "'log=AMD PMU driver'"
	guest "linux: 6.12, K7, 4 CPUs" -k 6.12 -c k7 -s 4 -- "'log=generic registers:      4'"
	guest "linux: 6.1, EPYC" -k 6.1 -c epyc -- "$core" "'log=generic registers:      6'"
	guest "linux: 7.2, EPYC" -k 7.2 -c epyc -- "$core"
	guest "linux: 6.12, EPYC, -icount" -k 6.12 -c epyc -i -- hash "$core"
	core="'log=Fam17h+ 16-deep LBR, core perfctr, AMD PMU driver'"
	for kernel in 6.1 6.12 7.2; do
		v2="'log=version:                2'"
		[ $kernel != 7.2 ] || v2="'log=version:                   2'"
		guest "linux: $kernel, EPYC-Genoa" -k $kernel -c genoa -- "$core" "$v2"
	done
}

lbr_amd()
{
	local prog=lbr kernel

	for kernel in 6.1 6.12 7.2; do
		guest "linux: $kernel, EPYC-Genoa, LbrExtV2" -k $kernel -c genoa -- amd
	done
	guest "linux: 6.12, LbrExtV2, -icount" -k 6.12 -c genoa -i -- amd
	prog=irperf
	guest "linux: 6.12, EPYC-Genoa, IRPERF" -k 6.12 -c genoa -p irperf=on --
	guest "linux: 6.12, EPYC-Genoa, no IRPERF" -k 6.12 -c genoa -- none
}

suite_linux_amd()
{
	build_programs native lbr irperf
	native_amd
	lbr_amd
}

native_hybrid()
{
	local prog=hybrid kernel
	for kernel in 6.1 6.12 7.2; do
		guest "linux: $kernel, Alder Lake, hybrid" -k $kernel -c alderlake --
	done
	guest "linux: 6.12, Alder Lake, hybrid, -icount" -k 6.12 -c alderlake -i --
}

suite_linux_hybrid()
{
	build_programs hybrid
	native_hybrid
}

suite_linux()
{
	local rc prog

	build_programs native lbr irperf pebs hybrid
	prog=native
	guest "linux: 6.1, Skylake, 2 CPUs" -k 6.1 -c skylake --
	guest "linux: 6.12, Sapphire Rapids, 4 CPUs" -k 6.12 -c spr -s 4 --
	guest "linux: 6.12, Icelake, 1 CPU" -k 6.12 -c icelake -s 1 --
	guest "linux: 6.12, version 2, no statistics" -k 6.12 -c skylake -p x-pmu-version=2,x-pmu-always=off --
	guest "linux: 6.12, -icount" -k 6.12 -c skylake -i -- hash
	cp "$work/out" "$work/first"
	guest "linux: 6.12, -icount, again" -k 6.12 -c skylake -i -- hash
	cmp -s "$work/first" "$work/out" || diff "$work/first" "$work/out" | sed 's/^/# /' || true
	cmp -s "$work/first" "$work/out" && rc=0 || rc=1
	single $rc "linux: two boots with -icount are the same"
	native_amd
	native_hybrid
	lbr_amd
	prog=lbr
	guest "linux: 6.1, Skylake, legacy LBR" -k 6.1 -c skylake -L --
	guest "linux: 6.12, Skylake, legacy LBR" -k 6.12 -c skylake -L --
	guest "linux: 6.12, Icelake, legacy LBR" -k 6.12 -c icelake -L --
	guest "linux: 6.1, Sapphire Rapids, architectural LBR" -k 6.1 -c spr -L --
	guest "linux: 6.12, Sapphire Rapids, architectural LBR" -k 6.12 -c spr -L --
	guest "linux: 6.12, architectural LBR, -icount" -k 6.12 -c spr -L -i --
	prog=pebs
	guest "linux: 6.1, Skylake, PEBS format 3" -k 6.1 -c skylake -p pebs-fmt=3 -- 3
	guest "linux: 6.12, Skylake, PEBS format 3" -k 6.12 -c skylake -p pebs-fmt=3 -- 3
	guest "linux: 6.12, Icelake, PEBS format 4" -k 6.12 -c icelake -p pebs-fmt=4 -- 4
	guest "linux: 6.12, Sapphire Rapids, PEBS format 4" -k 6.12 -c spr -p pebs-fmt=4 -- 4 aux
}
