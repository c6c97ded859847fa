#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh [KERNEL...] - static checks: sparse on the module as built for the kernels (default:
# 6.1, 6.12 and 7.2), checkpatch on the C code, shellcheck on the scripts, the syzkaller
# description against the uapi header, the tests in a kernel tree (kselftest/check.sh), the table
# in README.md, and the SPDX line of each file.  Clean results are cached:
# of all checks under a hash of all files, tools and kernels, of sparse under one of what it sees, of
# checkpatch and shellcheck under one of the file.  FRESH=1 ignores the cache.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
cd "$KPMU_TOP"
need_tools sparse shellcheck perl python3 make git

# In a developer's loop, for one kernel, sparse has a build of its own, and sees only files that have changed
loop=$#
[ $# -gt 0 ] || set -- 6.1 6.12 7.2
# hashes - of the files that are named on stdin, those that exist
hashes() { while read -r f; do [ ! -f "$f" ] || echo "$f"; done | xargs sha256sum; }
depends()
{
	local k
	echo "$*"
	for k; do basename "$("$KPMU_TOP/qemu/kernel.sh" "$k")"; done
	for k; do cat "$("$KPMU_TOP/qemu/kernel.sh" "$k")/release"; done
	dpkg-query -W sparse shellcheck perl gcc-12
	{ git ls-files; find kernel include -type f; } | LC_ALL=C sort -u | hashes
}
kept=$KPMU_CACHE/check/$(depends "$@" | sha256sum | cut -c1-32)
if [ -e "$kept" ] && [ -z "${FRESH:-}" ]; then
	echo "# all files are as they were found clean on $(date -r "$kept" +%F)"
	exit 0
fi

bad=0
verdict() { if [ "$2" = 0 ]; then echo "$1: clean"; else echo "$1: NOT clean"; bad=1; fi; }

# Cache checkpatch.pl and its data files, which are part of the kernel source
checkpatch=$KPMU_CACHE/checkpatch
get_checkpatch()
{
	[ ! -e "$checkpatch/checkpatch.pl" ] || return 0
	local src
	src=$("$KPMU_TOP/qemu/kernel.sh" source)
	mkdir -p "$checkpatch"
	cp "$src"/scripts/{checkpatch.pl,spelling.txt,const_structs.checkpatch} "$checkpatch/"
}

find "$KPMU_CACHE/check" -type f -mtime +30 -delete 2>/dev/null || true
# clean KEY - true if what has this key was found clean; is_clean KEY: it was
clean() { [ -e "$KPMU_CACHE/check/$1" ] && [ -z "${FRESH:-}" ]; }
is_clean() { mkdir -p "$KPMU_CACHE/check"; : >"$KPMU_CACHE/check/$1"; }
key_of() { echo "$1-$(sha256sum | cut -c1-32)"; }

# sparse_on KERNEL - the build of 7.2 refuses a sparse that does not support __typeof_unqual__,
# such as that of Debian 12.  The checked code does not need it, so a macro replaces it.
sparse_on()
{
	local k=$1 rc=0 key out=$KPMU_TOP/build/$1 all=2
	key=$({ echo "$k"; dpkg-query -W sparse gcc-12
		basename "$("$KPMU_TOP/qemu/kernel.sh" "$k")"
		find kernel include Kbuild qemu/module.sh -type f | LC_ALL=C sort | xargs sha256sum; } |
		key_of sparse)
	! clean "$key" || return 0
	if [ "$loop" = 1 ]; then
		out=$KPMU_TOP/build/sparse-$k
		# Only if all files of the last build were found clean, and it was not interrupted
		if [ -e "$out.clean" ]; then all=1; else rm -rf "$out"; fi
		rm -f "$out.clean"
	fi
	OUT=$out qemu/module.sh "$k" C=$all CHECK="sparse -D__typeof_unqual__=__typeof__" \
		2>/dev/null || rc=1
	# This sparse also reports MODULE_LICENSE() and similar macros of 7.2 as errors, always
	# in column 1: ignore these
	grep -E '(kernel|include)/.*: (warning|error):' "$out/build.log" |
		grep -v ':1: error: bad constant expression' && rc=1
	[ $all = 1 ] || grep -q '^  CHECK' "$out/build.log" || { echo "sparse did not run for $k"; rc=1; }
	if [ $rc = 0 ]; then
		is_clean "$key"
		[ "$loop" != 1 ] || : >"$out.clean"
	fi
	return $rc
}
rc=0
for k; do
	sparse_on "$k" || rc=1
done
verdict sparse $rc

get_checkpatch
# Rules that are not used: those for files of the kernel tree (MAINTAINERS, kernel versions),
# those that misread the macros of tracepoints and tests, and some of style.  The SPDX check
# below replaces checkpatch's.
ignore=FILE_PATH_CHANGES,LINUX_VERSION_CODE,CONST_STRUCT,MACRO_ARG_REUSE,COMPLEX_MACRO
ignore+=,SPDX_LICENSE_TAG,TRAILING_SEMICOLON,MULTISTATEMENT_MACRO_USE_DO_WHILE
ignore+=,PREFER_KERNEL_TYPES,NEW_TYPEDEFS,EMBEDDED_FUNCTION_NAME,MACRO_WITH_FLOW_CONTROL,CONSTANT_COMPARISON,ALLOC_WITH_SIZEOF,MACRO_ARG_UNUSED
# Further rules that do not apply to user space programs
user=VOLATILE,ENOSYS,STRCPY,PREFER_DEFINED_ATTRIBUTE_MACRO,STATIC_CONST_CHAR_ARRAY
user+=,SSCANF_TO_KSTRTO,USE_NEGATIVE_ERRNO,AVOID_EXTERNS
rc=0
# checkpatch IGNORE FILE... - several at a time; a file with a report is checked again next time
checkpatch()
{
	local ignore=$1 rules f key
	shift
	rm -rf build/checkpatch
	mkdir -p build/checkpatch
	rules=$({ echo "$ignore"; cat "$checkpatch/checkpatch.pl"; } | sha256sum | cut -c1-16)
	# A key has the file's name, as some rules depend on it
	# shellcheck disable=SC2016
	printf '%s\n' "$@" | hashes | while read -r key f; do
		key=patch-$rules-${key:0:32}-${f//\//_}
		clean "$key" || echo "$key $f"
	done | xargs -r -P "$(nproc)" -L 1 sh -c '
		perl "$0/checkpatch.pl" --no-tree --terse --no-summary --max-line-length=90 \
			--ignore "$1" --file "$3" |
			grep -vE "kpmu_trace.h|CHECK: Alignment should match|CHECK: Macro argument" \
			>"build/checkpatch/$2" || true' "$checkpatch" "$ignore"
	for f in build/checkpatch/*; do
		[ -e "$f" ] || continue
		[ -s "$f" ] || is_clean "${f##*/}"
		cat "$f"
	done
}
mapfile -t files < <(git ls-files 'kernel/*.[ch]' 'include/*.h')
checkpatch "$ignore" "${files[@]}" >build/checkpatch.log
mapfile -t files < <(git ls-files 'selftests/*.[ch]' 'tools/*.[ch]' 'labs/*.[ch]')
checkpatch "$ignore,$user" "${files[@]}" >>build/checkpatch.log
[ ! -s build/checkpatch.log ] || { cat build/checkpatch.log; rc=1; }
verdict checkpatch $rc

rc=0
mapfile -t scripts < <(git ls-files | xargs grep -lE '^#!.*sh$' )
key=$({ dpkg-query -W shellcheck; sha256sum "${scripts[@]}" qemu/lib.sh; } | key_of shell)
if ! clean "$key"; then
	printf '%s\n' "${scripts[@]}" | xargs -P "$(nproc)" -n 8 shellcheck -x || rc=1
	[ $rc != 0 ] || is_clean "$key"
fi
verdict shellcheck $rc

rc=0
python3 selftests/names.py "$1" || rc=1
verdict names $rc

rc=0
tools/syzkaller/check.sh >/dev/null || rc=1
verdict syzkaller $rc

rc=0
tools/lib/check.sh || rc=1
verdict library $rc

rc=0
selftests/clients/table.sh -c || rc=1
verdict readme $rc

rc=0
key=$({ uname -r; gcc --version
	find selftests include tools/lib -type f | LC_ALL=C sort | hashes; } | key_of kselftest)
if ! clean "$key"; then
	mkdir -p build/log
	selftests/kselftest/check.sh >build/log/kselftest ||
		{ grep -a '^not ok' build/log/kselftest || true; rc=1; }
	grep -a '^# skipped' build/log/kselftest || [ $rc != 0 ] || is_clean "$key"
fi
verdict kselftest $rc

rc=0
git ls-files | grep -vE '^(COPYING|.*\.md|.*\.png|qemu/patches/.*)$' | while read -r f; do
	[ ! -e "$f" ] || echo "$f"
done | xargs awk '
	BEGIN { for (i = 1; i < ARGC; i++) lacks[ARGV[i]] }
	FNR <= 5 && /SPDX-License-Identifier/ { delete lacks[FILENAME] }
	END { for (f in lacks) print "no SPDX line: " f }' >build/spdx.log
[ ! -s build/spdx.log ] || { cat build/spdx.log; rc=1; }
verdict spdx $rc
mkdir -p "${kept%/*}"
[ $bad != 0 ] || : >"$kept"
exit $bad
