# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2046
# AMD's PMUs: four counters of K7, six of PerfCtrExtCore, PerfMonV2.

suite_amd()
{
	local v2

	mapfile -t v2 < <(p version 2; p lbr 1)
	bare "amd: K7, family 10h" "$k7" "$amd $amd_every amd_no_lbr amd_flops" $(p gp 4)
	bare "amd: K7's counters of Zen" "$zen,perfctr-core=off" "$amd $zen_every model_overflow" $(p gp 4)
	bare "amd: PerfCtrExtCore, Zen" "$zen" "$amd $zen_every"
	bare "amd: PerfMonV2, Zen 4" "$genoa" "$amd $zen_every" "${v2[@]}"
	bare "amd: PerfMonV2 of Zen" "$zen,perfmon-v2=on" "$amd amd_no_lbr" $(p version 2)
	bare "amd: PerfMonV2, Zen 4 without LbrExtV2" "$genoa,amd-lbr-v2=off" "$amd amd_no_lbr" \
		$(p version 2)
	bare "amd: LbrExtV2, Zen 4" "$genoa" "$amd_lbr $zen_every model_overflow" "${v2[@]}"
	bare "amd: LbrExtV2 of Zen" "$zen,perfmon-v2=on,amd-lbr-v2=on" "$amd $amd_lbr" "${v2[@]}"
	bare "amd: LbrExtV2, all retired" "$genoa,x-pmu-always=on" "$amd_lbr" "${v2[@]}"
	bare "amd: no IRPERF" "$genoa" amd_irperf
	bare "amd: IRPERF" "$genoa,irperf=on" "$amd amd_irperf $zen_every" "${v2[@]}" $(p irperf 1)
	bare "amd: IRPERF, Zen, all retired" "$zen,irperf=on,x-pmu-always=on" "amd_irperf" $(p irperf 1)
	bare "amd: no IBS, K7" "$k7" ibs_none
	bare "amd: no IBS, Zen 4" "$genoa,ibs=off" "ibs_none $zen_every" "${v2[@]}"
	bare "amd: IBS, Zen" "$zen" "$ibs $zen_every"
	bare "amd: IBS, Zen 4" "$genoa" "$ibs $amd_lbr $zen_every" "${v2[@]}" $(p zen4 1)
	bare "amd: IBS, Zen 5" "$genoa,family=26" "$ibs" $(p zen4 1) $(p ldlat 1)
	bare "amd: IBS, K7's counters" "$zen,perfctr-core=off,ibs=on" "$ibs"
	bare "amd: IBS, x2APIC" "$genoa,+x2apic" "$ibs" $(p zen4 1) $(p x2apic 1)
	bare "amd: IBS, one instruction per block" "$genoa" "$ibs" $(p zen4 1) \
		-accel tcg,one-insn-per-tb=on
	bare "amd: IBS, all retired" "$genoa,x-pmu-always=on" "$ibs" $(p zen4 1)
	bare "amd: IBS, -icount" "$genoa" "$ibs" $(p zen4 1) "${icount[@]}"
	twice "amd: IBS, -icount, twice the same" "$genoa" "ibs_op ibs_fetch" "${icount[@]}"
	bare "amd: skid" "$zen,x-pmu-skid=3" "skid" $(p skid 3)
	bare "amd: statistics without counters" "$genoa,x-pmu-always=on" \
		"always $amd $zen_every" "${v2[@]}"
	bare "amd: x2APIC" "$genoa,+x2apic" "amd_lvtpc reload amd_freeze halt" $(p x2apic 1)
	bare "amd: 2 CPUs" "$genoa" "smp contention" -smp 2 $(p cpus 2)
	bare "amd: 2 CPUs, K7" "$zen,perfctr-core=off" "smp contention" -smp 2 $(p cpus 2)
	bare "amd: one thread for 2 CPUs" "$genoa" "$amd $zen_every smp" -smp 2 $(p cpus 2) \
		"${v2[@]}" -accel tcg,thread=single
	bare "amd: one instruction per block" "$genoa" "$amd $zen_every" "${v2[@]}" \
		-accel tcg,one-insn-per-tb=on
	bare "amd: -icount" "$genoa" "$amd $zen_every smp" "${v2[@]}" "${icount[@]}"
	twice "amd: -icount, twice the same" "$zen,x-pmu-always=on" "icount interrupts" "${icount[@]}"
	bare "amd: reset" "$genoa" reset
	on=$genoa moved "amd: migration" long millions 1500
	on=$genoa moved "amd: migration, IBS" ibs_long millions 1500
	on=$zen moved "amd: migration, -icount" long millions 1500 "${icount[@]}"
	modes_of amd_lbr "LbrExtV2" "$genoa"
}
