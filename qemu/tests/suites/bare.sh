# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2046
# One CPU, with every PMU version and several numbers and widths of counters.

suite_bare()
{
	local v gp fixed width

	bare "bare: pmu=on alone, Skylake" "$skl" "cpuid $every model model_overflow cmask interrupts shadow"
	bare "bare: pmu=on alone, Icelake" "$icx" "cpuid $every model cmask" \
		$(p version 5) $(p gp 8) $(p fixed 4)
	bare "bare: pmu=on alone, Sapphire Rapids" "$spr" "cpuid $every" \
		$(p version 5) $(p gp 8) $(p fixed 4)
	bare "bare: pmu=on alone, any Intel" "max,vendor=GenuineIntel,pmu=on" "cpuid $every"
	while read -r v gp fixed width; do
		bare "bare: version $v, $gp general, $fixed fixed, $width bits" \
			"$skl,x-pmu-version=$v,x-pmu-gp=$gp,x-pmu-fixed=$fixed,x-pmu-width=$width" \
			"cpuid $every" $(p version "$v") $(p gp "$gp") $(p fixed "$fixed") $(p width "$width")
	done <<-END
		1 1 0 40
		1 4 0 32
		2 2 3 40
		2 8 1 48
		3 4 3 48
		3 3 0 44
		4 1 1 48
		4 8 4 48
		5 4 2 36
		5 8 4 48
	END
	bare "bare: no full-width writes" "$skl,full-width-write=off" "registers width"
	bare "bare: no PERF_CAPABILITIES" "$skl,-pdcm" "registers width"
	bare "bare: unavailable events" "$skl,x-pmu-unavail=0x55" "cpuid unavail" $(p unavail 85)
	bare "bare: all events available" "$icx" "unavail"
	bare "bare: skid" "$skl,x-pmu-skid=3" "skid" $(p skid 3)
	bare "bare: long skid" "$skl,x-pmu-skid=25" "skid" $(p skid 25)
	bare "bare: no skid" "$skl" "skid"
	bare "bare: statistics without counters" "$skl,x-pmu-always=on" "always $every"
	bare "bare: no LBR" "$skl" "lbr_none"
	bare "bare: legacy LBR, Skylake" "$skl_lbr" "$lbr $every model"
	bare "bare: legacy LBR, Icelake" "$icx,lbr-fmt=0x5" "$lbr"
	for v in 1 2 3; do
		bare "bare: legacy LBR, version $v" "$skl_lbr,x-pmu-version=$v" "$lbr"
	done
	bare "bare: legacy LBR, 2 counters, all retired" \
		"$skl_lbr,x-pmu-version=2,x-pmu-gp=2,x-pmu-always=on" "$lbr"
	bare "bare: architectural LBR, Sapphire Rapids" "$spr_lbr" "$lbr $every" $(p arch 1)
	bare "bare: architectural LBR, any Intel" \
		"max,vendor=GenuineIntel,pmu=on,arch-lbr=on,lbr-fmt=0x3f,min-level=0x1c" "$lbr" $(p arch 1)
	bare "bare: no PEBS" "$skl" "pebs_none"
	bare "bare: PEBS format 2" "$skl,pebs-fmt=2" "$pebs" $(p pebs 2)
	bare "bare: PEBS format 3, Skylake" "$skl_pebs" "$pebs $every model model_overflow"
	for v in 2 3; do
		bare "bare: PEBS format 3, version $v" "$skl_pebs,x-pmu-version=$v" "$pebs registers"
	done
	bare "bare: PEBS format 3, 8 counters of 40 bits, all retired" \
		"$skl_pebs,x-pmu-gp=8,x-pmu-width=40,x-pmu-always=on" "$pebs registers"
	bare "bare: PEBS format 3, skid" "$skl_pebs,x-pmu-skid=3" "pebs_skid pebs"
	bare "bare: PEBS format 3 and legacy LBR" "$skl_pebs,lbr-fmt=0x5" "$pebs $lbr"
	bare "bare: PEBS format 4, Icelake" "$icx_pebs" "$pebs $every model" $(p pebs 4)
	bare "bare: PEBS format 4, Icelake without LBR" "$icx,pebs-fmt=4" "$pebs registers" $(p pebs 4)
	bare "bare: PEBS format 4, Sapphire Rapids" "$spr_pebs" "$pebs $every" $(p pebs 4) \
		$(p split 1) $(p arch 1)
	bare "bare: PEBS format 4 and architectural LBR" "$spr_pebs" "$lbr pebs" $(p pebs 4) \
		$(p split 1) $(p arch 1)
	bare "bare: x2APIC" "$skl" "lvtpc reload freeze halt" $(p x2apic 1)
}
