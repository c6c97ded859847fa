#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# all.sh [-a|-g|-q|-w] KERNEL... - run all tests, stage by stage, with guests of the given kernels;
# make test calls it.  It ends with a list of all failures, if there are any (failures.sh), and
# the line "N passed, N failed".
#  -a   all boots on all of their kernels (make test-all)
#  -w   whole: all programs of a boot on each of its kernels, all repetitions (make test WHOLE=1, as in CI)
#  -g   only the guests and the conformance rows that they prove (make test-debug)
#  -q   quick (make test-quick): sparse only for the given kernels, only the boot "quick", no
#       clients, no conformance rows

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
cd "$KPMU_TOP"
host=1 quick=0 boot=()
case ${1:-} in
-a) boot=(-a); shift ;;
-w) boot=(-w); shift ;;
-g) host=0; shift ;;
-q) quick=1; shift ;;
esac
[ $# -gt 0 ] || die "all.sh: which kernels?"

passed=0 failed=0 skipped=0 flaky=0 wrong=()

# stage NAME COMMAND... - run the command and add its results to the totals.  They are taken
# from its last line with "N passed, N failed[, N skipped]".  If there is none, the command
# counts as one test.
stage()
{
	local name=$1 rc=0 line p f s start=$SECONDS out
	shift
	out=$KPMU_TOP/build/log/stage-$name
	mkdir -p "$KPMU_TOP/build/log"
	echo "== $name"
	"$@" 2>&1 | tee "$out" || rc=$?
	line=$(grep -aE '[0-9]+ passed, [0-9]+ failed' "$out" | tail -n1 || true)
	if [ -n "$line" ]; then
		p=$(sed -E 's/.*[^0-9]([0-9]+) passed.*/\1/' <<<" $line")
		f=$(sed -E 's/.* ([0-9]+) failed.*/\1/' <<<"$line")
		s=$(sed -nE 's/.* ([0-9]+) skipped.*/\1/p' <<<"$line")
		[ $rc -eq 0 ] || [ "$f" != 0 ] || f=1
	else
		p=$((rc == 0)) f=$((rc != 0)) s=0
	fi
	flaky=$((flaky + $(grep -ac '^flaky on ' "$out" || true)))
	[ "$f" = 0 ] || wrong+=("$name")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
	echo "== $name: $p passed, $f failed, ${s:-0} skipped, $((SECONDS - start)) s"
}

# early NAME COMMAND... - start a command beside the stages before its own, which is
# "stage NAME result NAME"
early()
{
	local out=$KPMU_TOP/build/log/early-$1
	shift
	mkdir -p "$KPMU_TOP/build/log"
	rm -f "$out.status"
	{
		local rc=0
		"$@" >"$out" 2>&1 || rc=$?
		echo $rc >"$out.tmp"
		mv "$out.tmp" "$out.status"
	} &
}

# result NAME - wait for a command that early() has started; its output and status
result()
{
	local out=$KPMU_TOP/build/log/early-$1
	until [ -e "$out.status" ]; do sleep 0.2; done
	cat "$out"
	return "$(cat "$out.status")"
}

# conformance.sh evaluates all .tap files, so remove those of earlier runs
rm -f "$KPMU_TOP"/build/log/*.tap

if [ $host = 1 ]; then
	kernels=()
	[ $quick = 0 ] || kernels=("$@")
	# These run one process at a time, and need no file that the stages before theirs build
	early harness selftests/harness.sh
	early unit make -s -C selftests unit
	stage layers selftests/layers.sh "$1"
	stage check selftests/check.sh "${kernels[@]}"
	stage harness result harness
	stage unit result unit
	stage labs labs/check.sh
	stage qemu qemu/tests/kept.sh
fi
[ $quick = 0 ] || boot=(-b quick)
stage guests selftests/run.sh "${boot[@]}" -k "$*"
# Only commands with exactly reproducible output, on the newest kernel; make clients runs all
# lines of clients/list
if [ $host$quick != 10 ]; then
	:
elif ! selftests/clients/programs.sh >/dev/null; then
	echo "== clients: skipped, Debian's programs cannot be fetched"
	skipped=$((skipped + 1))
else
	stage clients selftests/clients/run.sh -e '^(all|xr|p|x|r) *\| *(csv|json|same) ' 7.2
	stage driver selftests/clients/run.sh -g driver.sh 7.2
fi
[ $quick = 1 ] || stage conformance selftests/conformance.sh
# Once more what failed and what was flaky, because CI shows only the end
list=$(selftests/failures.sh "${wrong[@]}" 2>&1) || list+=" (failures.sh failed)"
[ -z "$list" ] || printf '== failures and flaky programs\n%s\n' "$list"
[ -z "${RETRY:-}" ] || echo "$flaky programs flaky: they failed, and passed when run again"
[ -z "${LEFT_OUT:-}" ] || { echo "skipped: $LEFT_OUT"; skipped=$((skipped + 1)); }
echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
