#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# switching.sh [TIMES] - switch the redirect on and off while perf runs in a loop.  The events of
# each run of perf must be all native or all on kpmu.

times=${1:-1000}
switch=/proc/sys/kernel/kpmu/redirect
cd /tmp || exit 1
ln -sf /tests/client_tiny /bin/tiny
opens() { sed -n 's/^opens  *\([0-9]*\).*/\1/p' /sys/kernel/debug/kpmu/stats; }

# one - run perf once; set $had to the number of events that it opened on kpmu
one()
{
	before=$(opens)
	perf stat -x, -e instructions:u,branches:u,page-faults:u,task-clock tiny \
		>/dev/null 2>perf.err || { cat perf.err; echo "perf failed" >>failed; }
	had=$(($(opens) - before))
}

: >failed
echo 1 >$switch
one
all=$had
[ "$all" -ge 4 ] || { echo "a run on kpmu has $all events"; exit 1; }
(
	i=0
	while [ $i -lt "$times" ]; do
		echo $((i % 2)) >$switch
		i=$((i + 1))
		# Switch in bursts, so that some runs of perf see many switches and others none
		[ $((i % 10)) != 0 ] || sleep 0.6
	done
	: >over
) &
runs=0 native=0 ours=0
while [ ! -e over ]; do
	one
	runs=$((runs + 1))
	case $had in
	0) native=$((native + 1)) ;;
	"$all") ours=$((ours + 1)) ;;
	*) echo "a run had $had of $all events on kpmu" | tee -a failed ;;
	esac
done
wait
echo 0 >$switch
bad=$(grep -c . failed)
echo "# switched $times times; $native runs native, $ours on kpmu"
echo "switching: $((runs - bad)) of $runs whole"
[ "$bad" = 0 ] && [ "$runs" -gt 0 ] && [ "$ours" -gt 0 ] && [ "$native" -gt 0 ]
