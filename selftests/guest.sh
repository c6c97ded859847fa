#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh PROGRAM... - run test programs in a guest, each on kpmu and on native perf.  The
# results are the kpmu column and the native column of the program.
#
# verdict.awk evaluates a run of a program.  A program that was killed, or that has fewer
# results than planned, has failed.  compare.awk compares the columns.  A test that fails
# natively must be listed in native-differs, for this kernel and with the check that fails.
# A failure that is not listed is a failure of this script, and so is a listed test that does
# not fail (except entries with "?", and all entries under KVM, where KPMU_EXACT is 0).
# The native column has up to three tries: it is not what is tested, and a busy host can
# disturb its timing.  The kpmu column has one try.  With KPMU_RETRY=1, which only CI sets, a
# program that failed on kpmu runs once more; if it passes then, it is reported as flaky.
# A native column that needed only one try is printed, so that run.sh can cache it.
# native/PROGRAM.res is a cached column.  It replaces a run as long as it agrees with
# native-differs.
# There is no native column on the slow kernels debug and gcov, which only check kpmu, and
# none with KPMU_FIRST=1, which also stops at the first program that fails.
#
# Prints the output of the programs, and lines for run.sh and conformance.sh:
#	@@@ prog seconds s
#	@@@native prog verdict		one line of verdict.awk each, tabs between the fields
#	@@@flaky prog: tests
#	@@ prog.test kpmu-result native-result
#	@@sum passed failed skipped
#
# Each program starts with perf_event_paranoid 2, upstream's value, and with kpmu's own as loaded.
#
# selftests/harness.sh tests this script on the host, with programs and folders of its own.

tests=${KPMU_TESTS:-/tests} tmp=${KPMU_TMP:-/tmp} sysctl=${KPMU_SYSCTL:-/proc/sys/kernel}
pass=0 fail=0 skip=0

# kill_session SID - kill all processes of a session; fails if there are none
kill_session()
{
	# After the name: state, parent, process group, session.  awk, because the shell reads
	# files byte by byte.
	# shellcheck disable=SC2046
	kill -9 $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v sid="$1" \
		'{ pid = $1; sub(/.*\) /, ""); if ($4 == sid) print pid }') 2>/dev/null
}

# paranoid LEVEL FILE - write the level unless the file has it or does not exist
paranoid()
{
	[ ! -e "$sysctl/$2" ] || [ "$(cat "$sysctl/$2")" = "$1" ] || echo "$1" >"$sysctl/$2"
}

# column PROGRAM ROUTE - run the program by a route; its results go to ROUTE.res.  If it
# failed, kill the remaining processes: events of a test that timed out would hold counters
# that later tests need.
column()
{
	paranoid 2 perf_event_paranoid
	paranoid "$loaded" kpmu/perf_event_paranoid
	# shellcheck disable=SC2016 # expanded by the inner shell
	KPMU_ROUTE=$2 KPMU_SESSION=$tmp/session setsid \
		sh -c 'echo $$ >"$KPMU_SESSION"; exec "$0"' "$tests/$1" \
		>"$tmp/$2.tap" 2>&1 </dev/null
	status=$?
	if [ $status != 0 ] && kill_session "$(cat "$tmp/session")"; then sleep 1; fi
	rmdir /sys/fs/cgroup/kpmu-* 2>/dev/null
	awk -f "$tests/verdict.awk" -v status=$status "$tmp/$2.tap" >"$tmp/$2.res"
}

# compare PROGRAM [NATIVE.res...] - compare both columns; output to the file compared
compare()
{
	prog=$1
	shift
	awk -f "$tests/compare.awk" -v prog="$prog" -v kernel="$kernel" \
		-v model="${KPMU_MODEL:-}" -v strict="${KPMU_EXACT:-1}" \
		"$tests/native-differs" "$tmp/kpmu.res" "$@" >"$tmp/compared"
}

# native PROGRAM - compare with the native column: the cached one if it agrees with
# native-differs, else up to three tries
native()
{
	if [ -e "$tests/native/$1.res" ]; then
		compare "$1" "$tests/native/$1.res"
		grep -qE '^@@ .* (FAIL|STALE)$' "$tmp/compared" || return 0
	fi
	column "$1" native
	mv "$tmp/native.res" "$tmp/native1.res"
	compare "$1" "$tmp/native1.res"
	tries="$tmp/native1.res"
	for try in 2 3; do
		failed=$(sed -n 's/^@@ \(.*\) [^ ]* \(FAIL\|STALE\)$/\1/p' "$tmp/compared" | tr '\n' ' ')
		if [ -z "$failed" ]; then
			[ $try != 2 ] || awk -v p="$1" '{ print "@@@native\t" p "\t" $0 }' \
				"$tmp/native1.res"
			return
		fi
		echo "# native try $try for $failed"
		grep -B8 '^not ok' "$tmp/native.tap" | sed 's/^/# native: /'
		column "$1" native
		mv "$tmp/native.res" "$tmp/native$try.res"
		tries="$tries $tmp/native$try.res"
		# shellcheck disable=SC2086
		compare "$1" $tries
	done
}

# again PROGRAM - if the program failed on kpmu, print this try and run the program once more
again()
{
	failed=$(sed -n 's/^\([^\t]*\)\tFAIL.*/\1/p' "$tmp/kpmu.res" | tr '\n' ' ')
	[ -n "$failed" ] || return 0
	echo "# first try of $1, failed: $failed"
	sed 's/^/# /' "$tmp/kpmu.tap"
	column "$1" kpmu
	grep -q '	FAIL' "$tmp/kpmu.res" || echo "@@@flaky $1: $failed"
}

# reached NAME - on the kernel gcov, print the coverage of the module since the last call
reached()
{
	[ ! -e "$tests/coverage/guest.sh" ] || sh "$tests/coverage/guest.sh" "$1"
}

slow=
[ "${KPMU_SLOW:-1}" = 1 ] || slow=1
loaded=$(cat "$sysctl/kpmu/perf_event_paranoid" 2>/dev/null)
kernel=${KPMU_KERNEL:-$(uname -r | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')}

reached load
for prog; do
	began=$(cut -d. -f1 /proc/uptime)
	column "$prog" kpmu
	[ -z "${KPMU_RETRY:-}" ] || again "$prog"
	case $slow${KPMU_FIRST:-}$prog in
	1*|fuzz_*|module_*|security_*|stress_*) compare "$prog" ;;	# no native column
	*) native "$prog" ;;
	esac
	echo "@@@ $prog $(($(cut -d. -f1 /proc/uptime) - began)) s"
	cat "$tmp/kpmu.tap"
	# The reason, if the run was incomplete
	sed -n 's/^all	FAIL	/# '"$prog"': /p' "$tmp/kpmu.res"
	cat "$tmp/compared"
	while read -r mark _ ours theirs; do
		[ "$mark" = @@ ] || continue
		case $ours in
		pass) pass=$((pass + 1)) ;;
		skip) skip=$((skip + 1)) ;;
		*) fail=$((fail + 1)) ;;
		esac
		case $theirs in FAIL|STALE) fail=$((fail + 1)) ;; esac
	done <"$tmp/compared"
	reached "$prog"
	[ -z "${KPMU_FIRST:-}" ] || [ $fail = 0 ] || break
done
reached unload
echo "@@sum $pass $fail $skip"
[ $fail -eq 0 ]
