#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh PROGRAM... - run test programs in the guest, each on kpmu and on the
# kernel's own perf: two columns.
#
# A test that fails natively must be listed in native-differs with the reason,
# else the two columns disagree and that is a failure.  The native column may try three
# times: a busy host can upset its timing, and it is not what is tested here.  Ours has
# one try.  On the debug kernel, which is slow, there is no second column: what it looks
# for is in our code.  Lines printed:
#	@@ prog.test kpmu-result native-result

pass=0 fail=0 skip=0

# results FILE - "test result" lines of a TAP file
results()
{
	sed -n -e 's/^ok [0-9]* \([^ ]*\) # SKIP.*/\1 skip/p' \
	       -e 's/^ok [0-9]* \([^ ]*\)$/\1 pass/p' \
	       -e 's/^not ok [0-9]* \([^ ]*\)$/\1 FAIL/p' "$1"
}

# kill_session SID - all its processes; true if there were any
kill_session()
{
	# Behind the name: state, parent, group, session.  (The shell reads byte by byte.)
	# shellcheck disable=SC2046
	kill -9 $(cat /proc/[0-9]*/stat 2>/dev/null | awk -v sid="$1" \
		'{ pid = $1; sub(/.*\) /, ""); if ($4 == sid) print pid }') 2>/dev/null
}

# column PROGRAM ROUTE - run it; what a test that ran out of time has left behind must
# not hold the counters, or no other test would get them
column()
{
	# shellcheck disable=SC2016 # that shell is to expand it
	KPMU_ROUTE=$2 setsid sh -c 'echo $$ >/tmp/session; exec "$0"' "/tests/$1" \
		>"/tmp/$2.tap" 2>&1
	status=$?
	echo $status >"/tmp/$2.status"
	if [ $status != 0 ] && kill_session "$(cat /tmp/session)"; then sleep 1; fi
	rmdir /sys/fs/cgroup/kpmu-* 2>/dev/null
	results "/tmp/$2.tap" >"/tmp/$2.res"
}

# unlisted PROGRAM - its tests that failed natively, which nobody said they would
unlisted()
{
	while read -r test res; do
		[ "$res" != FAIL ] || grep -q "^$1\.$test\b" /tests/native-differs ||
			echo "$test"
	done </tmp/native.res
}

# native PROGRAM - its native column: the best of up to three
native()
{
	column "$1" native
	for try in 2 3; do
		failed=$(unlisted "$1" | tr '\n' ' ')
		[ -n "$failed" ] || return
		echo "# native $1, try $try for $failed"
		mv /tmp/native.res /tmp/native.old
		column "$1" native
		cat /tmp/native.old >>/tmp/native.res
		sort -k1,1 -k2,2r /tmp/native.res | awk '!seen[$1]++' >/tmp/native.best
		mv /tmp/native.best /tmp/native.res
	done
}

slow=
[ ! -e /sys/kernel/debug/kmemleak ] || slow=1

for prog; do
	began=$(cut -d. -f1 /proc/uptime)
	column "$prog" kpmu
	case $slow$prog in
	1*|kpmu_*|security_*|stress_*)	# has no other column
		: >/tmp/native.res; : >/tmp/native.tap ;;
	*) native "$prog" ;;
	esac
	echo "@@@ $prog $(($(cut -d. -f1 /proc/uptime) - began)) s"
	cat /tmp/kpmu.tap
	case $(cat /tmp/kpmu.status) in
	0|4) ;;
	*) [ -s /tmp/kpmu.res ] || { echo "@@ $prog.all FAIL -"; fail=$((fail + 1)); } ;;
	esac
	while read -r test res; do
		native=$(sed -n "s/^$test //p" /tmp/native.res)
		if [ "$native" = FAIL ]; then
			native=differs
			if ! grep -q "^$prog\.$test\b" /tests/native-differs; then
				native=FAIL
				echo "# native $prog.$test:"
				grep -B8 "^not ok [0-9]* $test\$" /tmp/native.tap
			fi
		fi
		echo "@@ $prog.$test $res ${native:--}"
		case $res in
		pass) pass=$((pass + 1)) ;;
		skip) skip=$((skip + 1)) ;;
		*) fail=$((fail + 1)) ;;
		esac
		[ "$native" != FAIL ] || fail=$((fail + 1))
	done </tmp/kpmu.res
done
echo "@@sum $pass $fail $skip"
[ $fail -eq 0 ]
