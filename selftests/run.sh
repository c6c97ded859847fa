#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-anw] [-b BOOT] [-k KERNELS] [-j GUESTS] [PROGRAM...] - run the selftests in guests: all
# programs or those named, in all boots of the file boots or only BOOT, on their kernels or only
# those of KERNELS.  Kernels with + in that file are left out, except with -a, -b or named programs.
# The kernels of a boot that have a ~ there share its programs: each runs on one of them.  Kernels with =
# are left out, and tests of many repetitions make a quarter of them everywhere.  With -w (whole), -a, -b
# or named programs all run on each, with all repetitions on 6.12 (but for the boot quick).
# With -n it only prints what would run, as lines "BOOT KERNEL PROGRAM".  GUESTS is the number of
# concurrent guests.  The default is three for two CPUs of the host, because guests are idle at
# times.  Guests with the kernels debug and gcov are always busy, so their default is one per CPU.
# Logs go to build/log, or $LOGS.  The modules and the selftests must have been built, as by make
# test.
#
# Native columns (guest.sh) are cached under a hash of everything that they depend on, which
# does not include the module.  FRESH=1 runs them again.  FIRST=1 runs none, and a guest ends
# at the first program that fails.  RETRY=1 runs a program that fails once more; if it passes
# then, it is reported as flaky.  PART=N makes an N-th of the repetitions.  The run time of each
# program is cached, too, to distribute the programs of a boot over its guests.  MODULE=FILE loads
# this module.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

here=$KPMU_TOP/selftests
bin=$KPMU_TOP/build/selftests
log=${LOGS:-$KPMU_TOP/build/log}
only_boot='' only_kernels='' jobs='' all='' whole='' show=
while getopts anwb:k:j: opt; do
	case $opt in
	a) all=1 ;; w) whole=1 ;;
	n) show=1 ;;
	b) only_boot=$OPTARG ;; k) only_kernels=$OPTARG ;; j) jobs=$OPTARG ;;
	*) die "usage: run.sh [-anw] [-b BOOT] [-k KERNELS] [-j GUESTS] [PROGRAM...]" ;;
	esac
done
shift $((OPTIND - 1))
wanted=("$@")
[ -z "$only_boot" ] && [ $# = 0 ] || all=1
whole=${all:-$whole}
[ "$only_boot" != quick ] || whole=		# it is for each commit
kept=$KPMU_CACHE/native
seconds=$KPMU_CACHE/seconds
if [ "${ACCEL:-}" = kvm ]; then
	export QEMU=${QEMU:-$("$KPMU_TOP/qemu/kvm.sh")}
fi
qemu=${QEMU:-$("$KPMU_TOP/qemu/build.sh")}
initramfs=$("$KPMU_TOP/qemu/initramfs.sh")
mkdir -p "$log" "$kept" "$seconds"
find "$kept" -type f -mtime +30 -delete
sums=$(mktemp)
trap 'rm -f "$sums"' EXIT

# programs PATTERN... - print the built test programs that match a PATTERN and no !PATTERN; if
# the command line names programs, only these
programs()
{
	local p f n not=()
	for p; do [[ $p != !* ]] || not+=("${p#!}"); done
	for p; do
		[[ $p != !* ]] || continue
		for f in "$bin"/$p; do
			[ -f "$f" ] || continue
			f=${f##*/}
			case $f in bench_*|demo_*|client_*|fuzz_run) continue ;; esac	# not tests
			for n in "${not[@]}"; do
				# shellcheck disable=SC2053
				[[ $f != $n ]] || continue 2
			done
			[ ${#wanted[@]} -eq 0 ] ||
				[[ " ${wanted[*]} " = *" $f "* ]] || continue
			echo "$f"
		done
	done | sort -u
}

# files_of PROGRAM - print the other files that the program needs in the guest.  They are listed
# in topic/name.files, one per line, as a path in the repository with %K for the kernel.  After
# "libs " a path includes the shared libraries of that file.  "modules NAME" is a folder of modules by
# qemu/kernel.sh, in the guest /tests/modules; without it the program skips its tests.
files_of()
{
	local list=$here/${1/_//}.files what file
	[ -e "$list" ] || return 0
	# shellcheck disable=SC2154	# local of boot()
	grep -v '^#' "$list" | sed "s/%K/$kernel/" | while read -r what file; do
		if [ -z "$file" ]; then
			echo "$KPMU_TOP/$what"
			continue
		fi
		if [ "$what" = modules ]; then
			if file=$("$KPMU_TOP/qemu/kernel.sh" "$file"); then
				echo "$file:/tests/modules"
			fi
			continue
		fi
		echo "$KPMU_TOP/$file"
		ldd "$KPMU_TOP/$file" | grep -oE '/[^ ]*' | sed 's|$|:/lib/|'
	done
}

# environment KERNEL OPTIONS - print what a native column depends on, except the program
environment()
{
	local kdir
	kdir=$("$KPMU_TOP/qemu/kernel.sh" "$1")
	echo "$2" "$(basename "$kdir")" "$qemu" "$initramfs"
	cat "$kdir/release" "$KPMU_TOP/qemu/run.sh" "$here"/{guest.sh,verdict.awk}
}

# loaded PROGRAM - print what a guest loads of the program: not its debug information, which changes
# with each header
loaded()
{
	local copy=$bin/.loaded/$1
	mkdir -p "$bin/.loaded"
	if [ ! "$copy" -nt "$bin/$1" ]; then
		objcopy -g -R .note.gnu.build-id "$bin/$1" "$copy.$BASHPID"
		mv "$copy.$BASHPID" "$copy"
	fi
	cat "$copy"
}

# kept_native PROGRAM ENVIRONMENT - print the path of its native column in the cache, which depends on
# the number of repetitions if the program asks for it
kept_native()
{
	local part=''
	# shellcheck disable=SC2154	# local of boot()
	! grep -q KPMU_PART "$bin/$1" || part=$(part "$kernel")
	echo "$kept/$({ echo "$1 $2 $part"; loaded "$1"
		files_of "$1" | cut -d: -f1 | xargs -rI@ find -L @ -type f -exec cat {} +
	} | sha256sum | cut -c1-32)"
}

# keep_natives ENVIRONMENT FILE - cache the native columns in the output of a guest
keep_natives()
{
	local p to
	sed -n 's/^@@@native\t\([^\t]*\)\t.*/\1/p' "$2" | sort -u | while read -r p; do
		to=$(kept_native "$p" "$1")
		sed -n "s/^@@@native\t$p\t//p" "$2" >"$to.$$"
		mv "$to.$$" "$to"
	done
}

# keep_seconds FILE KERNEL - cache the run times of the programs in the output of a guest
keep_seconds()
{
	sed -n 's/^@@@ \([^ ]*\) \([0-9]*\) s$/\1 \2/p' "$1" | while read -r p s; do
		echo "$s" >"$seconds/$2-$p"
	done
}

# part KERNEL - print the divisor for the repetitions in tests with many of them: 1 on 6.12 of a whole
# run, so that all are done there, more otherwise.  See often() in lib/harness.h.
part()
{
	case ${PART:-$1$whole} in
	[0-9]|[0-9][0-9]) echo "$PART" ;;
	6.121|given*) echo 1 ;;
	gcov*) echo 2 ;;
	debug*) echo 10 ;;	# several times slower
	*) echo 4 ;;
	esac
}

# turns BOOT - of all programs that the kernels with ~ of this boot have, print each once, as a line "KERNEL
# PROGRAM": on each of its kernels in turn
turns()
{
	local name kernels patterns kernel
	while IFS='|' read -r name kernels _ patterns; do
		name=${name//[[:space:]]/}
		[ "${name%/*}" = "$1" ] || continue
		for kernel in $kernels; do
			[[ $kernel = '~'* ]] || continue
			chosen "${kernel#?}" || continue
			set -f
			# shellcheck disable=SC2086
			set -- "$1" $patterns
			set +f
			programs "${@:2}" | sed "s/^/${kernel#?} /"
		done
	done <"$here/boots" | sort -s -k2,2 | awk '
	function put() { if (n) print on[turn[n]++ % n], program; n = 0 }
	$2 != program { put(); program = $2 }
	{ on[n++] = $1 }
	END { put() }'
}

# boot NAME KERNEL OPTIONS PROGRAM... - run the programs in one guest and print a summary
boot()
{
	local name=$1 kernel=$2 options=$3 out p f s rc=0 start=$SECONDS env vars flags=()
	shift 3
	vars=$(grep -oE 'KPMU_[A-Z]+=[^ ]+' <<<"$options" | tr '\n' ' ' || true)
	# xargs knows quotes
	mapfile -t flags < <(sed -E 's/KPMU_[A-Z]+=[^ ]+//g' <<<"$options" | xargs -r printf '%s\n')
	env=$(environment "$kernel" "$options" | sha256sum)
	local files=(-f "$here/guest.sh" -f "$here/native-differs"
		-f "$here/verdict.awk" -f "$here/compare.awk")
	for p; do
		files+=(-f "$bin/$p")
		while read -r f; do files+=(-f "$f"); done < <(files_of "$p")
		f=$(kept_native "$p" "$env")
		[ ! -e "$f" ] || [ -n "${FRESH:-}" ] || files+=(-f "$f:/tests/native/$p.res")
	done
	[ "$kernel" != gcov ] || files+=(-f "$here/coverage/guest.sh:/tests/coverage/")
	out=$log/$name-$kernel.tap
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -t 1800 -o "$out.log" ${MODULE:+-m "$MODULE"} "${flags[@]}" "${files[@]}" \
		"$vars${FIRST:+KPMU_FIRST=1 }${RETRY:+KPMU_RETRY=1 }KPMU_PART=$(part "$kernel") sh guest.sh $*" >"$out" 2>"$out.err" || rc=$?
	if [ "$rc" = 126 ] && silent "$out.log"; then
		echo "$name on $kernel: lockdep was off at the end, without a report; why is not known:"
		grep -aiE 'lock debugging|taint' "$out.log" || true
		rc=0
		! grep -q '^rmmod:' "$out" || rc=99
	fi
	keep_natives "$env" "$out"
	[ -n "${FIRST:-}" ] || keep_seconds "$out" "$kernel"
	# A guest without a line @@sum did not finish: that is one failure
	read -r p f s < <(sed -n 's/^@@sum //p' "$out"; echo 0 1 0)
	if [ "$rc" != 0 ] && [ "$f" = 0 ]; then f=1; fi
	echo "$p $f $s" >>"$sums"
	printf '%-10s %-6s %4d passed %3d failed %3d skipped  %4d s\n' \
		"$name" "$kernel" "$p" "$f" "$s" $((SECONDS - start))
	sed -n "s/^@@@flaky /flaky on $kernel: /p" "$out"
	if [ "$f" != 0 ]; then
		grep -B12 -E '^not ok' "$out" | head -n 80 || true
		grep -E '^# [^ ]*: .*(planned|exit status)' "$out" || true
		grep -E '^# native.*: |^@@ .*(FAIL|STALE)' "$out" || true
		grep -v "doesn't support requested" "$out.err" | head -n 60 || true
		say "full log: $out"
	fi
}

# silent LOG - true if the kernel has turned lockdep off but reported nothing that qemu/run.sh looks for
silent()
{
	local bad
	bad=$(sed -n "s/^bad='\(.*\)|lockdep is off|\(.*\)'$/\1|\2/p" "$KPMU_TOP/qemu/run.sh")
	grep -aq 'lockdep is off' "$1" &&
		! sed '1,/kpmu-guest: start/d' "$1" | grep -aqE "${bad:?}"
}

# deal PART PARTS KERNEL PROGRAM... - distribute the programs over PARTS guests by their cached
# run times, and print those of guest PART, sorted by name.  The program with the longest run
# time is assigned first, each to the guest with the smallest total so far.
deal()
{
	local part=$1 parts=$2 kernel=$3 p
	shift 3
	for p; do
		echo "$(cat "$seconds/$kernel-$p" 2>/dev/null || echo 3) $p"
	done | sort -k1,1nr -k2 | awk -v part="$part" -v parts="$parts" '{
		least = 1
		for (i = 2; i <= parts; i++)
			if (sum[i] < sum[least])
				least = i
		sum[least] += $1 + 0.5
		if (least == part)
			print $2
	}' | sort
}

# share KERNEL - print the weight of a guest: 1 with -j GUESTS, else in thirds of a host CPU
share()
{
	case $jobs$1 in
	debug|gcov) echo 3 ;;
	*) [ -z "$jobs" ] && echo 2 || echo 1 ;;
	esac
}

# launch NAME KERNEL OPTIONS PROGRAM... - start a guest concurrently with others, as soon as the
# sum of their weights allows it.  When it ends, its whole summary is printed in one piece.
launch()
{
	local mine ended=
	[ $# -gt 3 ] || return 0
	mine=$(share "$2")
	while [ "$taken" != 0 ] && [ $((taken + mine)) -gt "$room" ]; do
		wait -n -p ended || true
		taken=$((taken - ${shares[$ended]}))
	done
	{
		report=$(boot "$@" 2>&1) || true
		printf '%s\n' "$report"
	} &
	shares[$!]=$mine
	taken=$((taken + mine)) launched=$((launched + 1))
}

# chosen KERNEL - is it one of -k?
chosen() { [ -z "$only_kernels" ] || [[ " $only_kernels " = *" $1 "* ]]; }

# Limit of the sum of weights of concurrent guests.  It is at most 12: six guests by default (four
# with debug or gcov), or -j 12.
room=${jobs:-$((3 * $(nproc)))}
[ "$room" -le 12 ] || room=12
taken=0 launched=0 shares=()
while IFS='|' read -r name kernels options patterns; do
	name=${name//[[:space:]]/}
	case $name in ''|'#'*) continue ;; esac
	parts=1
	case $name in */*) parts=${name#*/} name=${name%/*} ;; esac
	[ "${only_boot:-${name#+}}" = "$name" ] || [ "+$only_boot" = "$name" ] || continue
	name=${name#+}
	for kernel in $kernels; do
		[ -n "$all" ] || [[ $kernel != +* ]] || continue
		[ -n "$whole" ] || [[ $kernel != =* ]] || continue
		in_turn=
		[[ $kernel != '~'* ]] || in_turn=${whole:-yes}
		kernel=${kernel#[+=~]}
		chosen "$kernel" || continue
		set -f
		# shellcheck disable=SC2086
		set -- $patterns
		set +f
		mapfile -t progs < <(programs "$@")
		[ "$in_turn" != yes ] ||
			mapfile -t progs < <(turns "$name" | sed -n "s/^$kernel //p")
		if [ -n "$show" ]; then
			[ ${#progs[@]} = 0 ] || printf "$name $kernel %s\n" "${progs[@]}"
			continue
		fi
		for ((i = 1; i <= parts; i++)); do
			mapfile -t part < <(deal $i "$parts" "$kernel" "${progs[@]}")
			label=$name
			[ "$parts" = 1 ] || label=$name$i
			launch "$label" "$kernel" "$options" "${part[@]}"
		done
	done
done <"$here/boots"
[ -z "$show" ] || exit 0
wait

# Each guest writes a line of sums; a missing one is a failure
awk -v launched=$launched '{ p += $1; f += $2; s += $3 }
END { if (NR < launched) f += launched - NR; printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }' "$sums"
