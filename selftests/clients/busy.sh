#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# busy.sh [SECONDS] - perf record -F 4000 -a -g on a busy machine, natively and on kpmu by the
# preload library.  Fails if records are lost on kpmu, or if the share of one of the hottest
# symbols differs by more than 1 percentage point.

cd /tmp || exit 1
seconds=${1:-30}
library=/tests/libkpmu-preload.so
cpus=$(grep -c ^processor /proc/cpuinfo)
# An emulated NMI is slow, so the kernel would lower the maximum sample rate permanently
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
echo 0 >/proc/sys/kernel/kpmu/perf_cpu_time_max_percent

i=0
while [ $i -lt "$cpus" ]; do
	/tests/client_busy &
	i=$((i + 1))
done

# record NAME [PREFIX...] - run PREFIX perf record; write the ten hottest symbols to NAME.top as
# lines "share symbol"; print the numbers of samples and of LOST records
record()
{
	name=$1
	shift
	"$@" perf record -q -F 4000 -a -g -e instructions -o "$name.data" sleep "$seconds"
	perf report -i "$name.data" --stdio -q --no-children -g none --sort sym \
		--percent-limit 0.5 2>/dev/null | sed '/^$/d' |
		awk '{ print $1 + 0, $NF }' | head -n 10 >"$name.top"
	perf report -i "$name.data" --stats 2>/dev/null >"$name.stats"
	samples=$(sed -n 's/^ *SAMPLE events: *\([0-9]*\).*/\1/p' "$name.stats" | head -n 1)
	lost=$(sed -n 's/^ *LOST events: *\([0-9]*\).*/\1/p' "$name.stats" | head -n 1)
	echo "$name: ${samples:-0} samples, ${lost:-0} LOST records"
	[ "${lost:-0}" = 0 ] || [ "$name" = native ] || exit 1
}

record native
record kpmu env LD_PRELOAD=$library
awk 'NR == FNR { share[$2] = $1; next }
     { d = $1 - share[$2]; if (d < 0) d = -d; if (d > most) most = d
       printf "%6.2f%% %6.2f%%  %s\n", share[$2], $1, $2 }
     END { printf "busy: shares differ by at most %.2f%%\n", most; exit most > 1 }' \
	native.top kpmu.top
