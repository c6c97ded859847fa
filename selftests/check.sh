#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh [KERNEL...] - what a reviewer's tools say: sparse on the module as it is built
# for these kernels (all), checkpatch on the kernel code and the tests, shellcheck on the
# scripts, the compiler on what we tell syzkaller, SPDX everywhere.  What was clean with all
# these files, tools and kernels is not looked at again; FRESH=1 does.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
cd "$KPMU_TOP"
need_tools sparse shellcheck perl make git

[ $# -gt 0 ] || set -- 6.1 6.12 7.2
depends()
{
	local k
	echo "$*"
	for k; do basename "$("$KPMU_TOP/qemu/kernel.sh" "$k")"; done
	for k; do cat "$("$KPMU_TOP/qemu/kernel.sh" "$k")/release"; done
	dpkg-query -W sparse shellcheck perl gcc-12
	{ git ls-files; find kernel include -type f; } | LC_ALL=C sort -u | while read -r f; do
		[ ! -f "$f" ] || sha256sum "$f"
	done
}
kept=$KPMU_CACHE/check/$(depends "$@" | sha256sum | cut -c1-32)
if [ -e "$kept" ] && [ -z "${FRESH:-}" ]; then
	echo "# all files are as they were found clean on $(date -r "$kept" +%F)"
	exit 0
fi

bad=0
verdict() { if [ "$2" = 0 ]; then echo "$1: clean"; else echo "$1: NOT clean"; bad=1; fi; }

# checkpatch comes with the kernel's source
checkpatch=$KPMU_CACHE/checkpatch
get_checkpatch()
{
	[ ! -e "$checkpatch/checkpatch.pl" ] || return 0
	local src
	src=$("$KPMU_TOP/qemu/kernel.sh" source)
	mkdir -p "$checkpatch"
	cp "$src"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch} "$checkpatch/"
}

rc=0
# Debian 12's sparse is older than a word that 7.2 asks it for, and does not use
for k; do
	qemu/module.sh "$k" C=2 CHECK="sparse -D__typeof_unqual__=__typeof__" \
		2>/dev/null || rc=1
	# What 7.2's MODULE_LICENSE and the like say in column 1 is beyond it too
	grep -E '(kernel|include)/.*: (warning|error):' "build/$k/build.log" |
		grep -v ':1: error: bad constant expression' && rc=1
	grep -q '^  CHECK' "build/$k/build.log" || { echo "sparse did not run for $k"; rc=1; }
done
verdict sparse $rc

get_checkpatch
# Not taken over from the kernel's rules: MAINTAINERS, the line length of data
# tables, TRACE_EVENT's own layout, kselftest macros that look like functions
ignore=FILE_PATH_CHANGES,LINUX_VERSION_CODE,CONST_STRUCT,MACRO_ARG_REUSE,COMPLEX_MACRO
ignore+=,SPDX_LICENSE_TAG,TRAILING_SEMICOLON,MULTISTATEMENT_MACRO_USE_DO_WHILE
ignore+=,PREFER_KERNEL_TYPES,NEW_TYPEDEFS,EMBEDDED_FUNCTION_NAME,MACRO_WITH_FLOW_CONTROL,CONSTANT_COMPARISON,ALLOC_WITH_SIZEOF,MACRO_ARG_UNUSED
# Nor these, in programs that are not kernel code
user=VOLATILE,ENOSYS,STRCPY,PREFER_DEFINED_ATTRIBUTE_MACRO,STATIC_CONST_CHAR_ARRAY
user+=,SSCANF_TO_KSTRTO,USE_NEGATIVE_ERRNO,AVOID_EXTERNS
rc=0
checkpatch()
{
	perl "$checkpatch/checkpatch.pl" --no-tree --terse --no-summary \
		--max-line-length=90 --ignore "$1" --file "${@:2}" |
		grep -vE 'kpmu_trace.h|CHECK: Alignment should match|CHECK: Macro argument' || true
}
mapfile -t files < <(git ls-files 'kernel/*.[ch]' 'include/*.h')
checkpatch "$ignore" "${files[@]}" >build/checkpatch.log
mapfile -t files < <(git ls-files 'selftests/*.[ch]' 'tools/*.[ch]')
checkpatch "$ignore,$user" "${files[@]}" >>build/checkpatch.log
[ ! -s build/checkpatch.log ] || { cat build/checkpatch.log; rc=1; }
verdict checkpatch $rc

rc=0
mapfile -t scripts < <(git ls-files | xargs grep -lE '^#!.*sh$' )
shellcheck -x "${scripts[@]}" || rc=1
verdict shellcheck $rc

rc=0
tools/syzkaller/check.sh >/dev/null || rc=1
verdict syzkaller $rc

rc=0
git ls-files | grep -vE '^(COPYING|.*\.md|qemu/patches/.*)$' | while read -r f; do
	grep -q SPDX-License-Identifier <<<"$(head -n 5 "$f")" || echo "no SPDX line: $f"
done >build/spdx.log
[ ! -s build/spdx.log ] || { cat build/spdx.log; rc=1; }
verdict spdx $rc
mkdir -p "${kept%/*}"
[ $bad != 0 ] || : >"$kept"
exit $bad
