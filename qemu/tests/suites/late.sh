# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2046
# The test "late" (no PMI is late), N times (default 1,000) with a thread per CPU and N
# times with one thread for all CPUs.  Its result depends on how the host schedules them.

suite_late()
{
	local thread i

	for thread in single multi; do
		for ((i = 0; i < ${N:-1000}; i++)); do
			bare "late: thread=$thread, run $((i + 1))" "$skl" late -smp 2 \
				$(p cpus 2) -accel "tcg,thread=$thread" >"$work/line"
			nr=$((nr - 1))
			grep '^ok' "$work/line" >/dev/null || cat "$work/line"
		done
		line $((failed != 0)) "late: thread=$thread, ${N:-1000} runs"
	done
}
