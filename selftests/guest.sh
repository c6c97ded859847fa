#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh PROGRAM... - run test programs in the guest, each on kpmu and on the
# kernel's own perf: two columns.
#
# What a run of a program proves is verdict.awk's business; a program that was killed
# or has fewer results than it planned has failed.  The columns are compared by
# compare.awk: a test that fails natively must be listed in native-differs for this
# kernel and with what fails, else the two columns disagree and that is a failure; and so
# is an entry there whose test does not fail.  The native column may try three times: a
# busy host can upset its timing, and it is not what is tested here.  Ours has one try; with
# KPMU_RETRY=1, which only CI sets, a program that failed is run once more, and what passes
# then is reported as flaky.
# A native column that needed one try is printed, for run.sh to keep; PROGRAM.res in the
# folder native/ is such a one, and stands as long as it agrees with native-differs.
# On the kernels debug and gcov, which are slow, there is no second column: what they look
# for is in our code.  Nor is there with KPMU_FIRST=1, which also ends the run at the first program
# that fails.  Lines printed:
#	@@ prog.test kpmu-result native-result
#
# selftests/harness.sh runs it on the host, with programs and folders of its own.

tests=${KPMU_TESTS:-/tests} tmp=${KPMU_TMP:-/tmp}
pass=0 fail=0 skip=0

# kill_session SID - all its processes; true if there were any
kill_session()
{
	# Behind the name: state, parent, group, session.  (The shell reads byte by byte.)
	# shellcheck disable=SC2046
	kill -9 $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v sid="$1" \
		'{ pid = $1; sub(/.*\) /, ""); if ($4 == sid) print pid }') 2>/dev/null
}

# column PROGRAM ROUTE - run it; results to ROUTE.res.  What a test that ran out of time
# has left behind must not hold the counters, or no other test would get them.
column()
{
	# shellcheck disable=SC2016 # that shell is to expand it
	KPMU_ROUTE=$2 KPMU_SESSION=$tmp/session setsid \
		sh -c 'echo $$ >"$KPMU_SESSION"; exec "$0"' "$tests/$1" \
		>"$tmp/$2.tap" 2>&1 </dev/null
	status=$?
	if [ $status != 0 ] && kill_session "$(cat "$tmp/session")"; then sleep 1; fi
	rmdir /sys/fs/cgroup/kpmu-* 2>/dev/null
	awk -f "$tests/verdict.awk" -v status=$status "$tmp/$2.tap" >"$tmp/$2.res"
}

# compare PROGRAM [NATIVE.res...] - both columns, to compared
compare()
{
	prog=$1
	shift
	awk -f "$tests/compare.awk" -v prog="$prog" -v kernel="$kernel" \
		-v model="${KPMU_MODEL:-}" -v strict="${KPMU_EXACT:-1}" \
		"$tests/native-differs" "$tmp/kpmu.res" "$@" >"$tmp/compared"
}

# native PROGRAM - its native column: one that was kept if its verdict still stands, or
# the best of up to three
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

# again PROGRAM - once more, because it failed; both tries are printed
again()
{
	failed=$(sed -n 's/^\([^\t]*\)\tFAIL.*/\1/p' "$tmp/kpmu.res" | tr '\n' ' ')
	[ -n "$failed" ] || return 0
	echo "# first try of $1, failed: $failed"
	sed 's/^/# /' "$tmp/kpmu.tap"
	column "$1" kpmu
	grep -q '	FAIL' "$tmp/kpmu.res" || echo "@@@flaky $1: $failed"
}

# reached NAME - print what was reached of the module, where the kernel can tell
reached()
{
	[ ! -e "$tests/coverage/guest.sh" ] || sh "$tests/coverage/guest.sh" "$1"
}

slow=
[ "${KPMU_SLOW:-1}" = 1 ] || slow=1
kernel=${KPMU_KERNEL:-$(uname -r | sed 's/^\([0-9]*\.[0-9]*\).*/\1/')}

reached load
for prog; do
	began=$(cut -d. -f1 /proc/uptime)
	column "$prog" kpmu
	[ -z "${KPMU_RETRY:-}" ] || again "$prog"
	case $slow${KPMU_FIRST:-}$prog in
	1*|fuzz_*|kpmu_*|security_*|stress_*) compare "$prog" ;;	# has no other column
	*) native "$prog" ;;
	esac
	echo "@@@ $prog $(($(cut -d. -f1 /proc/uptime) - began)) s"
	cat "$tmp/kpmu.tap"
	# Why the run as a whole has failed
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
