#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test.sh [KERNEL] - test make shell and make run (make shell-test): the time of a start, status and
# output of commands, exact counts, what the guest changes, a terminal, errors.  It fetches the userland
# if it is not there, so CI does not run it.  WARM=seconds is the limit for a start (default 10; more on
# a busy machine).

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=selftests/tap.sh
. "$KPMU_TOP/selftests/tap.sh"
cd "$KPMU_TOP"

k=${1:-6.12}
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
make -s -C ci/sample
mkdir "$work/project folder"		# with a space
cp ci/sample/* "$work/project folder/"
root=$(qemu/userland.sh)
# As Debian's root is read-only to the guest, nothing in it may change
marks() { find "$root" -newer "$work/start" | head -n 3; }
: >"$work/start"

# run COMMAND... - in the guest: output in $work/out, its status in $status, seconds in $took
run()
{
	local start=$EPOCHREALTIME

	status=0
	qemu/shell.sh -k "$k" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	took=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
	[ $status -lt 124 ] || sed 's/^/# /' "$work/err"
}
output_is() { [ "$(cat "$work/out")" = "$1" ] || { sed 's/^/# /' "$work/out"; false; }; }
says() { grep -q "$1" "$work/err" || { sed 's/^/# /' "$work/err"; false; }; }
under() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

run true	# reads kernel and userland into the page cache
run true
echo "# shell.sh true: $took s"
check "a command of no work takes less than ${WARM:-10} s" under "$took" "${WARM:-10}"
check "its status is 0" [ $status = 0 ]

# One guest for what one can do: each costs seconds
cat >"$work/project folder/all" <<'END'
pwd -P
perf stat -x, -o n -e instructions:u,branches:u ./loop; cut -d, -f1,3 n | grep :u
kpmu-exec perf stat -x, -o n -e instructions:u ./loop; cut -d, -f1,3 n | grep :u
LD_PRELOAD=libkpmu-preload.so perf stat -x, -o n -e instructions:u ./loop; cut -d, -f1,3 n | grep :u
./test | grep -c ^ok
gcc -o built dot.c -shared && echo new >written && touch /usr/bin/touched
for t in gdb strace trace-cmd bpftrace make kpmu-record; do command -v $t >/dev/null || echo no $t; done
[ -t 1 ] || echo no terminal
echo $VALUE
perf record -q -o recorded ./loop 2>&1
exit 37
END
here=$PWD
cd "$work/project folder"
status=0
VALUE="two  words" "$here/qemu/shell.sh" -k "$k" -e VALUE bash ./all >"$work/out" 2>"$work/err" || status=$?
cd "$here"
check "the status of a command" [ $status = 37 ]
check "exact counts, natively and on kpmu; tools; the environment" output_is "$work/project folder
3000004,instructions:u
1000001,branches:u
3000004,instructions:u
3000004,instructions:u
3
no terminal
two words"
check "what the guest wrote is there" test -s "$work/project folder/built" -a \
	-s "$work/project folder/written" -a -s "$work/project folder/recorded"
check "the userland has not changed" [ -z "$(marks)" ]
# shellcheck disable=SC2016 # for the guest's shell
run -R -d ci/sample 'echo x >changed; cat changed; kill -9 $$'
check "the status of a command that was killed" [ $status = 137 ]
check "with -R it writes, and nothing of it is kept" [ "$(head -n 1 "$work/out")" = x -a ! -e ci/sample/changed ]
run -t $((${WARM:-10} * 2)) 'echo begins; sleep 1000'
check "a command without end: status 124" [ $status = 124 ]
check "its output until then" grep -qx begins "$work/out"
run -i -s 1 -d ci/sample 'perf stat -x, -e instructions:u,instructions:k ./test 2>&1 | grep :u'
one=$(cat "$work/out")
run -i -s 1 -d ci/sample 'perf stat -x, -e instructions:u,instructions:k ./test 2>&1 | grep :u'
same() { [[ $1 =~ ^[1-9] ]] && [ "${1%%,*}" = "${2%%,*}" ] && return; echo "# $1, $2"; return 1; }
check "with -i, a program with libraries has the same count in each run" same "$one" "$(cat "$work/out")"
run -r / -d ci/sample 'cat /etc/debian_version; ./test | grep -c ^ok'
check "this machine's userland" output_is "$(cat /etc/debian_version)
3"

# A terminal
tally() { passed=$((passed + $(grep -c '^ok ' "$1" || true))) failed=$((failed + $(grep -c '^not ok ' "$1" || true))); }
python3 qemu/userland/terminal.py work qemu/shell.sh -k "$k" | tee "$work/pty"
tally "$work/pty"
took=$(sed -n 's/^# prompt //p' "$work/pty")
check "a prompt in less than ${WARM:-10} s" under "${took:-1000}" "${WARM:-10}"
python3 qemu/userland/terminal.py again qemu/shell.sh -k "$k" | tee "$work/pty"
tally "$work/pty"

# Errors: status 125, and what to do about it
err() { check "$1: status 125" [ $status = 125 ]; check "$1: a reason" says "$2"; }
run -k 5.0 true
err "an unknown kernel" "not '5.0'"
run
err "a shell without a terminal" "give a command"
run -d / true
err "the root as the shared folder" "the guest's own"
run -r "$work" true
err "a userland without a shell" "no userland"
status=0
KPMU_CACHE=$work/cache MIRROR=http://127.0.0.1:9/debian qemu/shell.sh true 2>"$work/err" || status=$?
err "no mirror, no userland yet" "cannot build the userland from http://127.0.0.1:9.*BUSYBOX=1"
status=0
make -s run 2>"$work/err" || status=$?
check "make run without a command: a reason" says "CMD="
# shellcheck disable=SC2016 # for the guest's shell
make -s run K="$k" CMD='echo "$HOME"; exit 3' >"$work/out" 2>"$work/err" || true
check "make run passes its command on as it is" output_is /home/guest
check "make names the status" says "Error 3"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
