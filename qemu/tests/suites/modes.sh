# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2046
# Several CPUs, modes of TCG, reproducible runs, migration, monitor and trace events.

# twice NAME CPU TESTS [QEMU args] - two boots must have the same output
twice()
{
	local name=$1
	shift
	vm "$@" >"$work/one" || true
	vm "$@" >"$work/two" || true
	if [ -s "$work/one" ] && cmp -s "$work/one" "$work/two"; then
		judge "$name" 0 "$work/one"
	else
		diff "$work/one" "$work/two" | sed 's/^/# /' | head -n 10 || true
		judge "$name" 1 "$work/one"
	fi
}

# save_state NAME TESTS [QEMU args] - save the state in the middle of a run; returns 2 if
# the run ended before
save_state()
{
	local name=$1 list=$2 pid
	shift 2
	rm -f "$work"/mon.* "$work/state"
	mkfifo "$work/mon.in" "$work/mon.out"
	cat "$work/mon.out" >"$work/mon.log" &
	vm "${on:-$skl}" "$list" "$@" -chardev "pipe,id=m,path=$work/mon" \
		-mon m,mode=readline >"$work/one" &
	pid=$!
	exec 7>"$work/mon.in"
	for _ in $(seq 200); do
		grep -q '# running' "$work/one" && break
		sleep 0.05
	done
	sleep 0.5
	# QEMU may have exited: ignore SIGPIPE, the state file is checked below
	(trap '' PIPE; printf 'migrate file:%s\nquit\n' "$work/state" >&7) 2>/dev/null || true
	exec 7>&-
	wait $pid || true
	! grep -q '^ok 2' "$work/one" || return 2
	[ -s "$work/state" ] && return
	sed 's/^/# /' "$work/mon.log" | head -n 10
	return 1
}

# moved NAME TESTS LENGTH VALUE [QEMU args] - save the state in the middle of a run and
# continue in a second QEMU.  The CPU is $on, or Skylake.  LENGTH is the guest parameter for the length of the run.  If
# the run ends too early, try again with a longer one.
moved()
{
	local name=$1 list=$2 length=$3 value=$4 rc try LIMIT=240
	shift 4
	for try in 1 2 3 4; do
		rc=0
		save_state "$name" "$list" $(p "$length" "$value") "$@" || rc=$?
		[ $rc = 2 ] || break
		value=$((value * 4))
	done
	if [ $rc != 0 ]; then
		single 1 "$name: state in the middle of a run ($try tries)"
		return
	fi
	vm "${on:-$skl}" "$list" $(p "$length" "$value") "$@" -incoming "file:$work/state" \
		>"$work/two" || rc=$?
	cat "$work/one" "$work/two" >"$work/out"
	judge "$name" $((rc == 1 ? 0 : 1)) "$work/out"
}

# disk FILE - make an empty disk of 1 MiB that can hold snapshots: qcow2 with clusters of 64 KiB, which
# are the header, the table of reference counts, their block, and the L1 table
disk()
{
	be() { printf "%0$((2 * $1))x" "$2" | sed 's/../\\x&/g'; }
	at() { printf '%b' "$2" | dd of="$disk" bs=1 seek="$1" conv=notrunc status=none; }
	local disk=$1
	rm -f "$disk"
	truncate -s $((4 << 16)) "$disk"
	at 0 "$(be 4 0x514649fb; be 4 2; be 8 0; be 4 0; be 4 16; be 8 $((1 << 20)); be 4 0; be 4 1
		be 8 $((3 << 16)); be 8 $((1 << 16)); be 4 1; be 4 0; be 8 0)"
	at $((1 << 16)) "$(be 8 $((2 << 16)))"
	at $((2 << 16)) "$(be 2 1; be 2 1; be 2 1; be 2 1)"
}

# until_printed FILE LINE - wait until the guest has printed this
until_printed()
{
	for _ in $(seq 600); do
		grep -q "$2" "$1" && return
		sleep 0.05
	done
	return 1
}

# went_back NAME - save a snapshot of test owned_back when it begins, and load it when it has modified lines
went_back()
{
	local pid rc=0
	rm -f "$work"/mon.*
	mkfifo "$work/mon.in" "$work/mon.out"
	cat "$work/mon.out" >"$work/mon.log" &
	disk "$work/disk"
	vm "$skl" owned_back -smp 2 -drive "if=none,id=d,format=qcow2,file=$work/disk" \
		-chardev "pipe,id=m,path=$work/mon" -mon m,mode=readline >"$work/one" &
	pid=$!
	exec 7>"$work/mon.in"
	{ until_printed "$work/one" '# running' && echo 'savevm s' >&7 &&
		until_printed "$work/one" '# modified' && echo 'loadvm s' >&7; } || rc=1
	wait $pid || true
	exec 7>&-
	[ "$(grep -c '^ok .*no line is modified' "$work/one")" = 2 ] || rc=1
	! grep '^not ok\|^Bail' "$work/one" || rc=1
	grep -q '^ok .*after stores' "$work/one" || rc=1
	[ $rc = 0 ] || sed 's/^/# /' "$work/mon.log" | head -n 10
	single $rc "$1"
}

# hmp CPU [QEMU args] - start a stopped machine with its monitor on stdin and stdout
hmp()
{
	local cpu=$1
	shift
	timeout 60 "$qemu/qemu-system-x86_64" -L "$qemu" -M pc -m 64 -display none -nodefaults \
		-no-user-config -bios "$rom/pmu.rom" -cpu "$cpu" -S -monitor stdio "$@" 2>"$work/err"
}

# What a PMU adds to the state of a CPU that has not counted anything
state_size()
{
	local on off

	for f in on off; do
		printf 'migrate file:%s\nquit\n' "$work/state.$f" |
			hmp "Skylake-Client,pmu=$f" >/dev/null || true
	done
	on=$(stat -c %s "$work/state.on") off=$(stat -c %s "$work/state.off")
	single $((on > off && on - off < 16384 ? 0 : 1)) \
		"modes: $((on - off)) bytes of state for a PMU, at most 16384"
}

monitor()
{
	local out rc=0

	out=$(printf 'info pmu -m\nquit\n' | timeout 20 "$qemu/qemu-system-x86_64" -L "$qemu" \
		-M pc -display none -nodefaults -cpu "$icx" -S -monitor stdio 2>/dev/null) || true
	grep -q 'Intel PMU version 5, 8 general and 4 fixed counters of 48 bits' <<<"$out" || rc=1
	single $rc "modes: info pmu"
	vm "$skl" "stats" -trace 'x86_pmu_*' -D "$work/trace" >/dev/null || true
	grep -q 'x86_pmu_wrmsr cpu 0 msr 0x186 val 0x100000000 #GP' "$work/trace" && rc=0 || rc=1
	single $rc "modes: trace events"
}

suite_modes()
{
	local n

	for n in 1 2 4; do
		bare "modes: $n CPUs" "$skl" "smp contention" -smp $n $(p cpus $n)
	done
	bare "modes: 2 CPUs, every retired instruction" "$skl,x-pmu-always=on" \
		"smp contention" -smp 2 $(p cpus 2)
	bare "modes: INIT" "$skl" init -smp 2
	bare "modes: INIT, version 2" "$skl,x-pmu-version=2" init -smp 2
	bare "modes: reset" "$skl" reset
	bare "modes: one thread for 2 CPUs" "$skl" "$every smp" -smp 2 $(p cpus 2) \
		-accel tcg,thread=single
	bare "modes: one instruction per block" "$skl" "$every model interrupts shadow" \
		-accel tcg,one-insn-per-tb=on
	bare "modes: -icount" "$skl" "$every model cmask interrupts shadow" "${icount[@]}"
	bare "modes: -icount, 2 CPUs" "$skl" "smp contention" -smp 2 $(p cpus 2) "${icount[@]}"
	twice "modes: -icount, twice the same" "$skl,x-pmu-always=on" "icount interrupts" "${icount[@]}"
	replayed "modes" "$skl" "icount long"
	bare "modes: a long run" "$skl" long $(p millions 100)
	moved "modes: migration in the middle of it" long millions 1500
	moved "modes: migration, -icount" long millions 1500 "${icount[@]}"
	moved "modes: migration of 2 CPUs" smp rounds 200 $(p cpus 2) -smp 2
	on=$adl,x-pmu-atom-from=1 moved "modes: migration of a performance core" long millions 1500
	on=$adl,x-pmu-atom-from=0 moved "modes: migration of an efficiency core" long millions 1500
	bare "modes: 2 CPUs, PMIs and other requests" "$skl" late -smp 2 $(p cpus 2)
	bare "modes: one thread for 2 CPUs, PMIs and other requests" "$skl" late -smp 2 \
		$(p cpus 2) -accel tcg,thread=single
	bare "modes: lines of 2 CPUs" "$skl" owned -smp 2
	bare "modes: lines of 2 CPUs, -icount" "$skl_pebs" owned -smp 2 "${icount[@]}"
	moved "modes: migration of modified lines" owned_long millions 1500 -smp 2
	went_back "modes: a snapshot without modified lines"
	monitor
	state_size
	modes_of lbr "legacy LBR" "$skl_lbr" $(p arch 0)
	modes_of lbr "architectural LBR" "$spr_lbr" $(p arch 1)
	modes_of pebs "PEBS format 3" "$skl_pebs"
	modes_of pebs "PEBS format 4" "$spr_pebs" $(p pebs 4) $(p split 1) $(p arch 1)
}

# replayed NAME CPU TESTS [QEMU args] - a replay prints what the recorded run has printed
replayed()
{
	local name="$1: replay is the record" cpu=$2 list=$3 how rc=0
	shift 3
	rm -f "$work/rr"
	for how in record replay; do
		vm "$cpu" "$list" -icount "shift=2,rr=$how,rrfile=$work/rr" "$@" \
			>"$work/$how" || true
	done
	cmp -s "$work/record" "$work/replay" || rc=1
	[ $rc = 0 ] || diff "$work/record" "$work/replay" | sed 's/^/# /' | head || true
	judge "$name" $rc "$work/replay"
}

# modes_of TESTS NAME CPU [QEMU args] - what records: lbr, amd_lbr (branches) or pebs (precise events)
modes_of()
{
	local kind=${1#amd_} name=$2 cpu=$3 n on
	local -n all=$1
	shift 3
	for n in 1 2 4; do
		bare "modes: $name, $n CPUs" "$cpu" "${kind}_smp" -smp $n $(p cpus $n) "$@"
	done
	[ $kind != pebs ] || bare "modes: $name, lines of 2 CPUs" "$cpu" owned -smp 2 "$@"
	bare "modes: $name, INIT" "$cpu" "${kind}_init init" -smp 2 "$@"
	bare "modes: $name, reset" "$cpu" reset "$@"
	bare "modes: $name, one thread for 2 CPUs" "$cpu" "$all ${kind}_smp" -smp 2 $(p cpus 2) \
		-accel tcg,thread=single "$@"
	bare "modes: $name, one instruction per block" "$cpu" "$all interrupts" \
		-accel tcg,one-insn-per-tb=on "$@"
	bare "modes: $name, -icount" "$cpu" "$all ${kind}_smp" "${icount[@]}" "$@"
	replayed "modes: $name" "$cpu" "$all ${kind}_long" "$@"
	bare "modes: $name, a long run" "$cpu" "${kind}_long" "$@"
	on=$cpu moved "modes: $name, migration" "${kind}_long" millions 1500 "$@"
	on=$cpu moved "modes: $name, migration, -icount" "${kind}_long" millions 1500 \
		"${icount[@]}" "$@"
	[ $kind = pebs ] ||
		on=$cpu moved "modes: $name, migration in the kernel" "${kind}_long" millions 1500 \
			$(p spin 1) "$@"
}
