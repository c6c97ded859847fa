#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# repeat.sh IDLE BUSY - run "make test" IDLE times, then BUSY times beside one busy loop per
# CPU of the host, in a clean clone of HEAD, and print one line for each run, and what failed in
# it.  All runs are made, as each may find another test that is not reliable.  For the idle runs
# nothing else should run on the host.
#
# The clone is in build/repeat, with the output of each run (run-N.out).

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
[ $# = 2 ] || die "usage: repeat.sh IDLE BUSY"
dir=$KPMU_TOP/build/repeat
rm -rf "$dir"
mkdir -p "$dir"
git clone -q "$KPMU_TOP" "$dir/clone"
say "$(git -C "$dir/clone" log -1 --format='%h %s'), output in $dir"

loops=()
stop_loops() { [ ${#loops[@]} = 0 ] || kill "${loops[@]}" 2>/dev/null || true; loops=(); }
trap stop_loops EXIT

# run KIND - one run of make test
nr=0 green=0
run()
{
	local out rc=0 began=$SECONDS

	nr=$((nr + 1))
	out=$dir/run-$nr.out
	make -C "$dir/clone" test >"$out" 2>&1 || rc=$?
	echo "run $nr, $1: $(grep -E '^[0-9]+ passed, ' "$out" | tail -n1), $((SECONDS - began)) s"
	if [ $rc = 0 ]; then
		green=$((green + 1))
	else
		sed -n '/^== failures/,$p' "$out"
	fi
}

for ((i = 0; i < $1; i++)); do run idle; done
if [ "$2" -gt 0 ]; then
	for ((i = $(nproc); i > 0; i--)); do
		(while :; do :; done) &
		loops+=($!)
	done
fi
for ((i = 0; i < $2; i++)); do run busy; done
stop_loops
echo "repeat: $green of $nr runs green"
[ $green = $nr ]
