#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# bolt-guest.sh record - record branches of client_hot natively and by the preload library, and print
# both files, encoded, for the host
# bolt-guest.sh count - count the taken branches of client_hot and hot.bolt, on kpmu

cd /tmp || exit 1
library=/tests/libkpmu-preload.so
# An emulated NMI is slow, so the kernel would throttle
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
echo 0 >/proc/sys/kernel/kpmu/perf_cpu_time_max_percent

# print NAME - a file as text between two marks
print()
{
	echo "== begin $1"
	gzip -c "$1" | base64
	echo "== end $1"
}

case $1 in
record)
	perf record -q -c 5003 -e instructions:u -j any,u -o native.data /tests/client_hot
	LD_PRELOAD=$library perf record -q -c 5003 -e instructions:u -j any,u -o kpmu.data \
		/tests/client_hot
	print native.data
	print kpmu.data
	;;
count)
	for program in client_hot hot.bolt; do
		# BR_INST_RETIRED.NEAR_TAKEN
		LD_PRELOAD=$library perf stat -x, -e r20c4:u -o count "/tests/$program"
		echo "$program $? $(sed -n 's/^\([0-9]*\),.*/\1/p' count)"
	done
	;;
esac
