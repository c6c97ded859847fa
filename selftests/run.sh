#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-b BOOT] [-k KERNEL] [PROGRAM...] - run the selftests in all the
# guests of the file boots, or in the one named; all programs, or those named.
# Logs go to build/log.  Needs modules and selftests built (make test does it).

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

here=$KPMU_TOP/selftests
bin=$KPMU_TOP/build/selftests
log=$KPMU_TOP/build/log
only_boot='' only_kernel=''
while getopts b:k: opt; do
	case $opt in
	b) only_boot=$OPTARG ;; k) only_kernel=$OPTARG ;;
	*) die "usage: run.sh [-b BOOT] [-k KERNEL] [PROGRAM...]" ;;
	esac
done
shift $((OPTIND - 1))
wanted=("$@")
mkdir -p "$log"

passed=0 failed=0 skipped=0

# programs PATTERN... - names of the built programs that match, less those that
# were not asked for
programs()
{
	local p f
	for p; do
		for f in "$bin"/$p; do
			[ -f "$f" ] || continue
			f=${f##*/}
			case $f in bench_*|demo_*) continue ;; esac	# no tests
			[ ${#wanted[@]} -eq 0 ] ||
				[[ " ${wanted[*]} " = *" $f "* ]] || continue
			echo "$f"
		done
	done | sort -u
}

# boot NAME KERNEL OPTIONS PROGRAM... - one guest
boot()
{
	local name=$1 kernel=$2 options=$3 out p f s rc=0 start=$SECONDS
	shift 3
	local files=(-f "$here/guest.sh" -f "$here/native-differs")
	for p; do files+=(-f "$bin/$p"); done
	out=$log/$name-$kernel.tap
	# shellcheck disable=SC2086
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -t 600 $options "${files[@]}" \
		"sh guest.sh $*" >"$out" 2>"$out.err" || rc=$?
	read -r p f s < <(sed -n 's/^@@sum //p' "$out"; echo 0 0 0)
	if [ "$rc" != 0 ] && [ "$f" = 0 ]; then f=1; fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-10s %-6s %4d passed %3d failed %3d skipped  %4d s\n' \
		"$name" "$kernel" "$p" "$f" "$s" $((SECONDS - start))
	if [ "$f" != 0 ]; then
		grep -B12 -E '^not ok' "$out" | head -n 80 || true
		grep -E '^@@ .*FAIL' "$out" || true
		grep -v "doesn't support requested" "$out.err" | head -n 60
		say "full log: $out"
	fi
}

while IFS='|' read -r name kernels options patterns; do
	name=${name//[[:space:]]/}
	case $name in ''|'#'*) continue ;; esac
	[ -z "$only_boot" ] || [ "$only_boot" = "$name" ] || continue
	for kernel in $kernels; do
		[ -z "$only_kernel" ] || [ "$only_kernel" = "$kernel" ] || continue
		set -f
		# shellcheck disable=SC2086
		set -- $patterns
		set +f
		mapfile -t progs < <(programs "$@")
		[ ${#progs[@]} -eq 0 ] || boot "$name" "$kernel" "$options" "${progs[@]}"
	done
done <"$here/boots"

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
