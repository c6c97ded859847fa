#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - do the tests build, run and install in a kernel tree?  Takes kselftest from the sources of
# 7.2 if they are in the cache, and some programs, in a temporary tree.  This host has no module, so
# each program must be skipped, with a reason.  The last line has the totals.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"
# shellcheck source=selftests/tap.sh
. "$KPMU_TOP/selftests/tap.sh"

src=$KPMU_CACHE/kernel/source
skip() { echo "# skipped: $1"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
[ -e "$src/ok" ] || skip "the sources of 7.2 are not in the cache"
[ ! -e /dev/kpmu ] || skip "this host has the module; run the tests in the tree of its kernel"
need_tools make gcc
command -v rsync >/dev/null || "$KPMU_TOP/qemu/deps.sh" rsync
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree tests=$work/tree/tools/testing/selftests
mkdir -p "$tests" "$tree/scripts" "$tree/usr/include/linux"
cp -r "$src"/tools/testing/selftests/{lib.mk,Makefile,kselftest*,run_kselftest.sh} "$tests/"
cp "$src"/scripts/{subarch.include,headers_install.sh} "$tree/scripts/"
gcc -o "$tree/scripts/unifdef" "$src/scripts/unifdef.c"

# The headers as make headers would install them; the other ones are those of this host
headers()
{
	local h
	for h in kpmu.h kpmu-read.h; do
		sh scripts/headers_install.sh "include/uapi/linux/$h" "usr/include/linux/$h" ||
			return 1
	done
}

# kselftest ARGUMENT... - make in the tree; the output goes to $work/log
kselftest()
{
	env -u MAKEFLAGS -u MAKELEVEL make -C "$tests" TARGETS=kpmu FORCE_TARGETS=1 "$@" \
		>"$work/log" 2>&1 || { tail -n 20 "$work/log"; return 1; }
}

# All programs that a whole tree has, one per line
all_programs() { env -u MAKEFLAGS -u MAKELEVEL make -s -C "$tests/kpmu" COLLECTION=kpmu emit_tests; }

"$KPMU_TOP/selftests/kselftest/into.sh" "$tree"
check "one line in the list of targets" test "$(grep -c '^TARGETS += kpmu$' "$tests/Makefile")" = 1
"$KPMU_TOP/selftests/kselftest/into.sh" "$tree"
check "still one line after a second time" \
	test "$(grep -c '^TARGETS += kpmu$' "$tests/Makefile")" = 1
check "the list is in the order of the alphabet" \
	sh -c "grep '^TARGETS += k' '$tests/Makefile' | LC_ALL=C sort -c"
check "the headers can be installed" sh -c "$(declare -f headers); cd '$tree' && headers"

all_programs >"$work/all"
has() { grep -qx "kpmu:$1" "$work/all"; }
lacks() { ! grep -q "^kpmu:$1" "$work/all"; }
check "more than 100 programs" test "$(wc -l <"$work/all")" -gt 100
for p in api_open count_basic record_full sample_branch sched_group_fit security_lsm task_exec; do
	check "$p is among them" has $p
done
for p in bench demo fuzz client unit module_load module_driver module_kpmu_stat module_libkpmu \
	module_kunit stress; do
	check "$p, which needs a guest, is not" lacks $p
done

# Only some programs from here on: one of each way to link
find "$tests/kpmu" -mindepth 2 -name '*.c' -not -path '*/lib/*' -not -path '*/count/basic.c' \
	-not -path '*/sample/branch.c' -not -path '*/module/info.c' -delete
progs="count_basic module_info sample_branch"
ran()
{
	local p
	for p in $progs; do
		grep -q "^ok .* selftests: kpmu: $p # SKIP" "$work/log" || return 1
		grep -q "^# 1..0 # SKIP /dev/kpmu: No such file" "$work/log" || return 1
	done
	[ "$(grep -cE '^(not )?ok ' "$work/log")" = 3 ] && grep -q '^# timeout set to 1800$' "$work/log"
}
installed()
{
	local p f
	for p in $progs; do
		[ -x "$1/kpmu/$p" ] && grep -qx "kpmu:$p" "$1/kselftest-list.txt" || return 1
	done
	for f in config settings; do cmp "$KPMU_TOP/selftests/$f" "$1/kpmu/$f" || return 1; done
}
no_output() { [ -z "$(find "$tests/kpmu" -name '*.o' -o -type f -perm -u+x | head -n 1)" ]; }

# With O=, make headers installs there
mkdir -p "$work/out/usr"
cp -r "$tree/usr/include" "$work/out/usr/"
check "builds and runs with O=" kselftest O="$work/out" run_tests
check "each program is skipped, with the reason" ran
check "the source folder has no output" no_output
check "installs with O=" kselftest O="$work/out" install
check "programs, list, config and settings are installed" \
	installed "$work/out/kselftest/kselftest_install"
# Through a pipe: the runner opens its output once more
(cd "$work/out/kselftest/kselftest_install" && ./run_kselftest.sh -c kpmu) 2>&1 | cat >"$work/log" || true
check "the installed ones run" ran
check "runs in the tree" kselftest run_tests
check "each program is skipped, too" ran
check "cleans" kselftest clean
check "nothing is left" no_output

# What the tests need is what the kernels of the guests have: all that can be chosen by hand
missing()
{
	sed -n 's/^\(CONFIG_[A-Z0-9_]*=y\)$/\1/p' "$KPMU_TOP/selftests/config" | while read -r c; do
		grep -qx "$c" "$KPMU_TOP/qemu/kernels/min.frag" || echo "$c is not in min.frag"
	done
}
check "each option of config is in min.frag" test -z "$(missing)"
missing
echo "kselftest: $passed passed, $failed failed"
[ $failed = 0 ]
