#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# harness.sh - on the host, test how the selftests evaluate results.  guest.sh runs programs
# that are killed, stop early or print contradictory results, and must not count them as
# passed.  conformance.sh, failures.sh and the table of the bench evaluate made-up logs.  The
# entries of native-differs are checked, and that make test leaves out no boot.

# Variables in single quotes are expanded by the fake programs
# shellcheck disable=SC2016
# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

here=$KPMU_TOP/selftests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests" "$work/tmp" "$work/sysctl/kpmu"
cp "$here"/*.awk "$work/tests/"
passed=0 failed=0

# program NAME [COMMAND...] - create a fake program with the tests a, b and c that runs the
# commands
program()
{
	local name=$1
	shift
	{
		echo '#!/bin/sh'
		echo 'ok() { n=$((n + 1)); echo "ok $n $1$2"; }'
		echo 'bad() { n=$((n + 1)); echo "not ok $n $1"; }'
		echo 'why() { echo "# /x/$1.c:12: $2"; }'
		echo 'native() { [ "$KPMU_ROUTE" = native ]; }'
		echo 'n=0; echo 1..3; echo "# tests: a b c"'
		printf '%s\n' "$@"
	} >"$work/tests/$name"
	chmod +x "$work/tests/$name"
}

# judged NAME LINE... - run program NAME with guest.sh.  Its verdicts must be exactly these
# lines "TEST KPMU-RESULT NATIVE-RESULT", and the sum and the exit status must match them.
judged()
{
	local name=$1 rc=0 sum want
	shift
	touch "$work/tests/native-differs"
	KPMU_TESTS=$work/tests KPMU_TMP=$work/tmp KPMU_SYSCTL=$work/sysctl KPMU_MODEL=skylake KPMU_KERNEL=6.12 \
		KPMU_SLOW=1 KPMU_EXACT=1 \
		sh "$here/guest.sh" "$name" >"$work/out" 2>&1 || rc=$?
	want=0
	# Not grep -q: it exits at the first match, and a SIGPIPE of printf would fail the pipe
	printf '%s\n' "$@" | grep -E 'FAIL|STALE' >/dev/null && want=1
	sum=$(printf '%s\n' "$@" | awk '{
			p += $2 == "pass"; s += $2 == "skip"
			f += ($2 == "FAIL") + ($3 ~ /^(FAIL|STALE)$/)
		} END { print p + 0, f + 0, s + 0 }')
	{
		printf "@@ $name.%s\n" "$@"
		echo "@@sum $sum"
	} >"$work/want"
	if grep '^@@' "$work/out" | grep -v '^@@@' | diff "$work/want" - >"$work/diff" &&
	   [ $rc = $want ]; then
		verdict 1 "$name"
	else
		sed 's/^/# /' "$work/diff"
		verdict 0 "$name (status $rc, expected $want)"
	fi
}

verdict()
{
	if [ "$1" = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
	[ "$1" = 1 ] && echo "ok $((passed + failed)) $2" || echo "not ok $((passed + failed)) $2"
}

program complete 'ok a; ok b " # SKIP"; ok c'
judged complete 'a pass pass' 'b skip skip' 'c pass pass'

program all_skipped 'for t in a b c; do ok $t " # SKIP"; done; exit 4'
judged all_skipped 'a skip skip' 'b skip skip' 'c skip skip'

program module_killed 'ok a; kill -9 $$'
judged module_killed 'a pass -' 'b FAIL -' 'c FAIL -' 'all FAIL -'

program module_killed_at_the_end 'ok a; ok b; ok c; kill -11 $$'
judged module_killed_at_the_end 'a pass -' 'b pass -' 'c pass -' 'all FAIL -'

program module_short 'ok a; ok b'
judged module_short 'a pass -' 'b pass -' 'c FAIL -' 'all FAIL -'

program module_twice 'ok a; ok b; ok c; ok c'
judged module_twice 'a pass -' 'b pass -' 'c pass -' 'all FAIL -'

program module_status 'ok a; ok b; ok c; exit 1'
judged module_status 'a pass -' 'b pass -' 'c pass -' 'all FAIL -'

program module_no_status 'ok a; bad b; ok c; exit 0'
judged module_no_status 'a pass -' 'b FAIL -' 'c pass -' 'all FAIL -'

program module_skip_status 'ok a; ok b; ok c; exit 4'
judged module_skip_status 'a pass -' 'b pass -' 'c pass -' 'all FAIL -'

# A program that prints nothing, and one that does not exist
printf '#!/bin/sh\nexit 0\n' >"$work/tests/module_silent"
chmod +x "$work/tests/module_silent"
judged module_silent 'all FAIL -'
judged module_missing 'all FAIL -'

program native_killed 'ok a; native && kill -9 $$; ok b; ok c'
judged native_killed 'a pass pass' 'b pass FAIL' 'c pass FAIL' 'all pass FAIL'

program native_fails 'ok a; native && why b x && bad b && ok c && exit 1; ok b; ok c'
judged native_fails 'a pass pass' 'b pass FAIL' 'c pass pass'

# A program changes the levels; the next run of a program finds those of before
echo 3 >"$work/sysctl/perf_event_paranoid"
echo 1 >"$work/sysctl/kpmu/perf_event_paranoid"
levels="$work/sysctl/perf_event_paranoid $work/sysctl/kpmu/perf_event_paranoid"
program levels "cat $levels | tr '\n' ' ' | grep -qx '2 1 ' && ok a || bad a
	for f in $levels; do echo 0 >\$f; done; ok b; ok c"
judged levels 'a pass pass' 'b pass pass' 'c pass pass'
rm "$work/sysctl/perf_event_paranoid" "$work/sysctl/kpmu/perf_event_paranoid"

# The kpmu column has a second try only with KPMU_RETRY=1
rm -f "$work/second"
upset="ok a; [ ! -e $work/second ] && touch $work/second && { bad b; ok c; exit 1; }; ok b; ok c"
program module_upset "$upset"
judged module_upset 'a pass -' 'b FAIL -' 'c pass -'
rm -f "$work/second"
export KPMU_RETRY=1
judged module_upset 'a pass -' 'b pass -' 'c pass -'
flaky=$(grep -c '^@@@flaky module_upset: b $' "$work/out" || true)
verdict "$flaky" "module_upset is flaky"
program module_twice_upset 'ok a; bad b; ok c; exit 1'
judged module_twice_upset 'a pass -' 'b FAIL -' 'c pass -'
unset KPMU_RETRY

# The second native try passes
program native_upset "ok a; native && [ ! -e $work/second ] && touch $work/second && {
	bad b; ok c; exit 1; }; ok b; ok c"
judged native_upset 'a pass pass' 'b pass pass' 'c pass pass'

# entry KERNELS PATTERN - write a native-differs with one entry, for test b of program differs
# differs KERNELS PATTERN RESULT - with this entry, the native result of b must be RESULT
entry() { printf 'differs.b\t%s\t%s\tfor some reason\n' "$1" "$2" >"$work/tests/native-differs"; }
differs()
{
	entry "$1" "$2"
	judged differs 'a pass pass' "b pass $3" 'c pass pass'
}

program differs 'ok a; native && why b "expected x == 1, got 2" && why b "expected y == 1, got 3" &&
	bad b && ok c && exit 1; ok b; ok c'
differs '*' 'expected [xy] == 1' differs
differs '6.1,6.12' 'expected' differs
differs '6.12/skylake,spr' 'expected' differs
differs '6.12/*?' 'expected' differs
differs '6.1,7.2' 'expected' FAIL		# for other kernels
differs '6.12/icelake' 'expected' FAIL		# for another CPU model
differs '*' 'expected x == 1' FAIL		# a second check failed
differs '*' 'got 4' FAIL			# other checks failed

program differs 'ok a; ok b; ok c'
differs '*' 'expected' STALE
differs '6.12' 'expected' STALE
differs '6.12?' 'expected' pass			# "?": it need not fail
differs '6.1' 'expected' pass
differs '*/icelake' 'expected' pass
program differs 'ok a; ok b; native && kill -9 $$; ok c'
entry '*' 'expected'
judged differs 'a pass pass' 'b pass STALE' 'c pass FAIL' 'all pass FAIL'
rm "$work/tests/native-differs"

# kept NAME RESULT... - create a cached native column: the results of a, b and c
mkdir "$work/tests/native"
kept() { printf '%s\t%s\t\n' a "$2" b "$3" c "$4" all pass >"$work/tests/native/$1.res"; }
# asked NAME N - the last run must have printed N lines of a native column to be cached: one
# for each test and for "all", or none
asked()
{
	local n
	n=$(grep -c "^@@@native	$1	" "$work/out" || true)
	verdict $((n == $2)) "$1 prints $2 lines to keep"
}
program keeps 'ok a; ok b; ok c'
judged keeps 'a pass pass' 'b pass pass' 'c pass pass'
asked keeps 4
program keeps_no_failure 'ok a; native && why b x && bad b && ok c && exit 1; ok b; ok c'
judged keeps_no_failure 'a pass pass' 'b pass FAIL' 'c pass pass'
asked keeps_no_failure 0
program kept_stands 'ok a; native && exit 1; ok b; ok c'
kept kept_stands pass skip pass
judged kept_stands 'a pass pass' 'b pass skip' 'c pass pass'
asked kept_stands 0
kept kept_stands pass FAIL pass		# FAIL is not in native-differs: it runs again
judged kept_stands 'a pass pass' 'b pass FAIL' 'c pass FAIL' 'all pass FAIL'
program kept_is_of_native 'ok a; ok b; native || exit 1; ok c'
kept kept_is_of_native pass pass pass
judged kept_is_of_native 'a pass pass' 'b pass pass' 'c FAIL pass' 'all FAIL pass'

# entries FILE - check a file in the format of native-differs; print a line for each error
entries()
{
	local IFS=$'\t' test where pattern reason rest name prog
	while read -r test where pattern reason rest; do
		case $test in '#'*) continue ;; esac
		if [ -z "$reason" ] || [ -n "$rest" ]; then
			echo "$test: needs four fields"
		fi
		[[ $where =~ ^(\*|$kernel(,$kernel)*)(/[a-z][a-z0-9]*(,[a-z][a-z0-9]*)*)?\??$ ]] ||
			echo "$test: no kernels: $where"
		[[ ! x =~ $pattern ]] || [ "${where: -1}" = '?' ] ||
			echo "$test: any failure matches $pattern"
		prog=${test%%.*} name=${test#*.}
		if [ ! -x "$KPMU_TOP/build/selftests/$prog" ]; then
			echo "$test: no program $prog in build/selftests"
		elif ! KPMU_ROUTE=native "$KPMU_TOP/build/selftests/$prog" -l |
				grep -x "$name" >/dev/null; then
			echo "$test: $prog has no such test"
		fi
	done <"$1"
}

kernel='(6\.1|6\.12|7\.2)'
printf '%s\n' $'api_fd.none_of_this_name\t*\texpected\tr' $'api_nothing.x\t*\texpected\tr' \
	$'api_attr.config3\t6.3\texpected\tr' $'api_attr.config3\t6.1\t.\tr' \
	$'api_attr.config3\t6.1\texpected' $'api_attr.config3\t6.1,7.2/skylake?\texpected\tr' \
	>"$work/bad"
entries "$work/bad" >"$work/out"
if [ "$(cut -d: -f1 "$work/out" | tr '\n' ' ')" = "api_fd.none_of_this_name api_nothing.x \
api_attr.config3 api_attr.config3 api_attr.config3 " ]; then
	verdict 1 entries_that_are_wrong
else
	sed 's/^/# /' "$work/out"
	verdict 0 entries_that_are_wrong
fi

# log NAME LINE... - create a log for conformance.sh
log() { mkdir -p "$work/log"; printf '%s\n' "${@:2}" >"$work/log/$1.tap"; }
# row ID TEXT - the line of conformance.sh -v that starts with ID must continue with TEXT
row()
{
	local line
	LOGS=$work/log "$here/conformance.sh" -v >"$work/out" || true
	line=$(grep -E "^$1" "$work/out" || true)
	if [ "$line" = "$1$2" ]; then
		verdict 1 "row $1"
	else
		echo "# $line"
		verdict 0 "row $1$2"
	fi
}
pass=$'# rows: F-05 F-06\nok 1 a' skip=$'# rows: F-05 F-06\nok 1 a # SKIP'
log main1-6.1 '@@@ p 1 s' "$pass" '@@sum 1 0 0'
log main1-6.12 '@@@ p 1 s' "$pass" '@@sum 1 0 0'
row F-05 ' proved by p.a'
log main1-6.12 '@@@ p 1 s' "$skip" '@@sum 0 0 1'
row F-05 ' proved by p.a, skipped on 6.12'
log spr-6.12 '@@@ p 1 s' "$pass" '@@sum 1 0 0'
row F-05 ' proved by p.a'
log main1-7.2 '@@@ p 1 s' "${pass/ok/not ok}" '@@sum 0 1 0'
row F-05 ' FAILED by p.a'
log main1-7.2 '@@@ p 1 s' '@@ p.a FAIL -' '@@sum 0 1 0'
row F-05 ' FAILED by p.a'
log main1-7.2 '@@@ p 1 s'
row main1-7.2.tap ': the guest did not come to its end'

# The list of failures at the end of all.sh, from made-up logs.  listed STAGES LINE... - the list
# for these failed stages must be exactly these lines.
rm -rf "$work/log"
listed()
{
	local stages=$1
	shift
	# shellcheck disable=SC2086
	LOGS=$work/log "$here/failures.sh" $stages 2>&1 | sed "s|$work/log/||" >"$work/out" || true
	printf '%s\n' "$@" | sed '/^$/d' >"$work/want"
	if diff "$work/want" "$work/out" >"$work/diff"; then
		verdict 1 "list of failures ${stages:-of none}"
	else
		sed 's/^/# /' "$work/diff"
		verdict 0 "list of failures ${stages:-of none}"
	fi
}
# A log with one program p, and tests that passed, failed on kpmu, failed natively, passed though
# they are in native-differs
log main1-6.12 '@@@ p 1 s' 'ok 1 a' '# /x/p.c:3: expected x == 1, got 2' 'not ok 2 b' 'ok 3 c' \
	'@@ p.a pass pass' '@@ p.b FAIL pass' '@@ p.c pass STALE' '@@ p.d pass FAIL' '@@sum 3 3 0'
log main2-6.12 '@@@ q 1 s' 'ok 1 a' '@@@flaky q: b c ' '@@ q.a pass pass' '@@sum 3 0 0'
echo 'qemu: noise' | tee "$work/log/main1-6.12.tap.err" >"$work/log/main2-6.12.tap.err"
listed '' '  FAILED  p.b: /x/p.c:3: expected x == 1, got 2  [main1-6.12.tap]' \
	'  FAILED  p.c: native-differs lists it, but it passes natively  [main1-6.12.tap]' \
	'  FAILED  p.d, natively  [main1-6.12.tap]' '  flaky   q: b c  [main2-6.12.tap]'
rm "$work/log/main1-6.12.tap"*
# The tests passed, but the kernel has reported something; one guest did not end; rmmod failed
printf '%s\n' 'qemu: noise' 'kpmu: the kernel log is not clean:' 'BUG: KASAN: x' 1 2 3 4 5 \
	>"$work/log/main2-6.12.tap.err"
log sleep-7.2 '@@@ p 1 s' 'ok 1 a'
echo 'kpmu: no end within 1800 s' >"$work/log/sleep-7.2.tap.err"
log spr-6.1 '@@@ p 1 s' 'ok 1 a' '@@ p.a pass -' '@@sum 1 0 0'
echo 'kpmu: guest command failed with status 99; end of the kernel log:' \
	>"$work/log/spr-6.1.tap.err"
echo 'no such kernel' >"$work/log/stage-guests"
listed guests '  flaky   q: b c  [main2-6.12.tap]' \
	'  FAILED  kpmu: the kernel log is not clean:  [main2-6.12.tap.err]' \
	"$(printf '          %s  [main2-6.12.tap.err]\n' 'BUG: KASAN: x' 1 2 3 4)" \
	'  FAILED  the guest did not come to its end  [sleep-7.2.tap]' \
	'  FAILED  kpmu: no end within 1800 s  [sleep-7.2.tap.err]' \
	'  FAILED  kpmu: guest command failed with status 99; end of the kernel log:  [spr-6.1.tap.err]' \
	'  FAILED  guests: no such kernel  [stage-guests]'
rm "$work/log"/*.tap*
# A failure of unknown kind, many failures, stages that ran no guests or printed nothing known
log main-7.2 '@@@ p 1 s' 'ok 1 a' '@@ p.a pass -' '@@sum 1 0 0'
printf '%-10s %-6s %4d passed %3d failed %3d skipped  %4d s\n' main 7.2 1 1 0 3 spr 6.1 1 0 0 3 \
	>"$work/log/stage-guests"
log spr-6.1 '@@@ p 1 s' "$(seq -f '@@ p.t%g FAIL -' 42)" '@@sum 0 42 0'
printf '%s\n' 'sparse: clean' 'names: NOT clean' >"$work/log/stage-check"
printf '%s\n' 1 2 3 4 5 6 >"$work/log/stage-layers"
printf '%s\n' 'ok 1 a' 'not ok 2 b' '1..2' >"$work/log/stage-unit"
listed 'check layers unit qemu' '  FAILED  the guest  [main-7.2.tap]' \
	"$(seq -f '  FAILED  p.t%g  [spr-6.1.tap]' 40)" '  and 2 more  [spr-6.1.tap]' \
	'  FAILED  check: names: NOT clean  [stage-check]' \
	"$(seq -f '  FAILED  layers: %g  [stage-layers]' 2 6)" \
	'  FAILED  unit: not ok 2 b  [stage-unit]' '  FAILED  stage qemu'
rm -rf "$work/log"
log main-7.2 '@@@ p 1 s' 'ok 1 a' '@@ p.a pass -' '@@sum 1 0 0'
listed '' ''

# all.sh -g with fake stages, one of which fails: its last lines must say what failed
mkdir -p "$work/top/selftests" "$work/top/qemu"
cp "$here"/{all,failures}.sh "$work/top/selftests/"
cp "$KPMU_TOP/qemu/lib.sh" "$work/top/qemu/"
printf '%s\n' '#!/bin/sh' 'echo "@@ p.a FAIL pass" >build/log/main-6.12.tap' \
	'echo "@@sum 0 1 0" >>build/log/main-6.12.tap' \
	'seq 100; echo "0 passed, 1 failed, 0 skipped"; exit 1' >"$work/top/selftests/run.sh"
printf '%s\n' '#!/bin/sh' 'echo "F-05 FAILED by p.a"; exit 1' >"$work/top/selftests/conformance.sh"
chmod +x "$work"/top/selftests/*.sh
rc=0
env -u RETRY "$work/top/selftests/all.sh" -g 6.12 >"$work/out" 2>&1 || rc=$?
printf '%s\n' '== failures and flaky programs' '  FAILED  p.a  [build/log/main-6.12.tap]' \
	'  FAILED  conformance: F-05 FAILED by p.a  [build/log/stage-conformance]' '0 skipped' \
	'0 passed, 2 failed' >"$work/want"
if tail -n 5 "$work/out" | diff "$work/want" - >"$work/diff" && [ $rc = 1 ]; then
	verdict 1 "last lines of all.sh"
else
	sed 's/^/# /' "$work/diff"
	verdict 0 "last lines of all.sh (status $rc, expected 1)"
fi

# The tables of the bench, from made-up results.  bench_table LINE... - print the lines of the
# table for these results.
printf '%s\n' '= p | section' 'cheap | 100 | 1 | 0' 'mean | 100 | - | -' 'writes | 100 | 1 | 0' \
	'dearer | 500 | - | -' 'native | - | - | -' 'noise | - | - | -' 'share | native*1.01 | - | -' \
	'more | native+3 | - | -' 'lost | - | - | -' 'own | 200 | - | - | kpmu' \
	'same | native+0 | - | - | least' >"$work/targets"
bench_table()
{
	printf '%s\n' "$@" >"$work/rows"
	awk -v kernel=6.1 -f "$here/bench/table.awk" "$work/targets" "$work/rows" >"$work/out"
}
# table_has PATTERN... - the table must have a line that matches each pattern
table_has()
{
	local p
	for p; do
		if grep -qE "$p" "$work/out"; then
			verdict 1 "bench table: $p"
		else
			sed 's/^/# /' "$work/out"
			verdict 0 "bench table: $p"
		fi
	done
}
# both NAME NATIVE-MEAN KPMU-MEAN [WRMSR] - the lines of a row; the minimum is always 1
both()
{
	echo "native | row | $1 | 1 | 0.0 | 0.0 | $2"
	echo "kpmu | row | $1 | 1 | ${4:-0.0} | 0.0 | $3"
}
bench_table 'kpmu | part | p | 0 | 5' 'native | part | p | 1 | 5' "$(both cheap 1000 100 1.0
	both mean 1000 101
	both writes 1000 50 2.0
	both dearer 100 300
	both native 1000 900
	both noise 1000 1015
	both share 1000 1011
	both more 1000 1004
	both same 1000 1009)" 'native | row | lost | 1 | 0 | 0 | 1' 'kpmu | row | own | 1 | 0 | 0 | 200' \
	'kpmu | row | unknown | 1 | 0 | 0 | 1' 'native | part | whole | 0 | 5' 'native | whole | a | 50000 | 100000 | 200000' \
	'kpmu | whole | a | 50000 | 100000 | 170000' 'native | whole | b | 50000 | 100000 | 200000' \
	'kpmu | whole | b | 50000 | 100000 | 171000' 'native | whole | c | 50000 | 100000 | 200000' \
	'kpmu | whole | c | 50000 | 100000 | 202000'
table_has '^cheap .* 100 \(1/0\) *$' '^mean .* 100  <-$' '^writes .* 100 \(1/0\)  <-$' \
	'^dearer .* 500  dearer  <-$' '^native .* 0\.90 [^<]*$' '^noise .* 1\.01 *[0-9/]* *$' \
	'^share .*  <-$' '^more .*  <-$' '^lost .*  no result  <-$' '^own .* 200 *$' \
	'^same .* native\+0 *$' \
	'^  !! part p, native: failed with status 1$' '^a +50 +150 +120 +0\.80 +100 +70 +0\.70$' \
	'^b .* 0\.71  <-$' '^c .* 1\.02  dearer  <-$' \
	'^  unknown$' '^6\.1: 1 without result; FAILED: p native \(1 of 3 parts\)$' \
	'^6\.1: 6 of 14 rows at target, 2 dearer than native$'

# What make test-all runs on the stock kernels, CI runs on one of them or more
stock() { "$here/run.sh" "$@" -n -k '6.1 6.12 7.2' | cut -d' ' -f1,3 | sort -u; }
stock -a >"$work/all"
stock -w | comm -23 "$work/all" - >"$work/out"
sed 's/^/# only make test-all runs: /' "$work/out"
verdict "$([ -s "$work/all" ] && [ ! -s "$work/out" ]; echo $((!$?)))" boots

entries "$here/native-differs" >"$work/out"
sed 's/^/# /' "$work/out"
verdict "$([ -s "$work/out" ]; echo $?)" native_differs

echo "1..$((passed + failed))"
echo "harness: $passed passed, $failed failed"
[ $failed = 0 ]
