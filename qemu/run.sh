#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [options] [COMMAND] - boot a kernel with the module in QEMU and run
# COMMAND in the guest.  Print its output and exit with its status.
#
#  -k NAME    kernel of kernel.sh: 6.1, 6.12 (default), 7.2, debug, gcov, given
#  -m FILE    the module (default build/NAME/kpmu.stripped.ko); -m none: no module
#  -P PARAMS  module parameters
#  -c MODEL   CPU: skylake (default) icelake spr generic; alderlake (hybrid: CPUs from 2 on are
#             efficiency cores); AMD's opteron (family 10h), k7 (Zen with its 4 counters), epyc
#             (6), genoa (6, PerfMonV2, LbrExtV2); or a QEMU -cpu line
#  -p PROPS   more CPU properties, as x-pmu-gp=2,x-pmu-skid=3
#  -L         last branch records: architectural for spr, else legacy; genoa always has AMD's
#  -s N       CPUs (default 2; alderlake 4)
#  -M MIB     memory in MiB (default 1024)
#  -f SRC[:DST]  copy a file or folder into the guest (default DST /tests/)
#  -t SEC     time limit for the whole run (default 60)
#  -i         -icount: one thread, all runs are bit-identical
#  -a ARGS    more kernel arguments
#  -Z         start the compressed kernel.  QEMU writes the other one to memory anew when a guest wakes
#             from suspend to memory.
#  -K         do not unload the module at the end (no rmmod check)
#  -o FILE    also write the kernel log to FILE
#  -W PLACE   report a WARNING at a source file that matches PLACE (a regular
#             expression) but do not fail, unless kpmu is in its backtrace
#  -q ARGS    more arguments of QEMU
#  -O         print the output as it comes, not at the end
#  -I         interactive: a shell on this terminal; /userland/enter, if -f copies it, else busybox's
#
# Exit status: that of the command; 99 if rmmod failed; 124 if the time limit was
# exceeded; 125 if the harness failed; 126 if the kernel log has a warning, BUG or stall.
# ACCEL=kvm uses the vPMU of the host, after a trial boot with a time limit.  The tests
# then check only what real hardware guarantees.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"
trap 'exit 125' ERR

here=$KPMU_TOP/qemu
kernel=6.12 model=skylake cpus='' mem=1024 limit=60
module='' params='' props='' kargs='' keeplog='' place=''
icount=0 keep=0 interactive=0 lbr=0 stream=0 packed=0
files=() more=()
accel=${ACCEL:-tcg}

while getopts k:m:P:c:p:s:M:f:t:a:o:W:q:iKIOLZ opt; do
	case $opt in
	k) kernel=$OPTARG ;; m) module=$OPTARG ;; P) params=$OPTARG ;;
	c) model=$OPTARG ;; p) props=,$OPTARG ;; s) cpus=$OPTARG ;;
	M) mem=$OPTARG ;; f) files+=("$OPTARG") ;; t) limit=$OPTARG ;;
	a) kargs=$OPTARG ;; o) keeplog=$OPTARG ;; W) place=$OPTARG ;; i) icount=1 ;;
	K) keep=1 ;; I) interactive=1 ;; L) lbr=1 ;; O) stream=1 ;; Z) packed=1 ;;
	q) read -ra more <<<"$OPTARG" ;;
	*) sed -n '3,/^$/s/^# \?//p' "$0" >&2; exit 125 ;;
	esac
done
shift $((OPTIND - 1))
[ $interactive = 1 ] || [ $# -gt 0 ] || die "no command; -I for a shell"
: "${cpus:=$([ "$model" = alderlake ] && echo 4 || echo 2)}"

# Lines of the kernel log that fail a run, regardless of the result of the command.  They
# include reports of RCU, lockdep, KASAN, kmemleak, hung task and lockup detectors.
bad='WARNING:|BUG:|Oops|Kernel panic|general protection|unchecked MSR|RCU.*(stall|detected)|rcu_.*(stall|detected)|INFO: (task|rcu|possible|suspicious)|blocked for more than|lockup|KASAN|UBSAN|possible (circular|recursive)|inconsistent lock|unreferenced object|kmemleak is off|lockdep is off|unable to handle|Call Trace|Uhhuh|double fault'

if [ $lbr = 1 ]; then
	case $model in
	spr) props+=,arch-lbr=on,lbr-fmt=0x3f ;;
	genoa) ;;
	*) props+=,lbr-fmt=0x5 ;;
	esac
fi

kdir=$("$here/kernel.sh" "$kernel")
base=$("$here/initramfs.sh")
qemu=${QEMU:-$("$here/build.sh")}
: "${module:=$KPMU_TOP/build/$kernel/kpmu.stripped.ko}"

cpu_line()
{
	local ref=x-pmu-ref=3,x-pmu-ref-div=1	# the tests expect this ratio

	if [ "$accel" = kvm ]; then echo "host,pmu=on"; return; fi
	case $1 in
	skylake) echo "Skylake-Client,pmu=on,x-pmu-version=4,$ref,x-pmu-always=on$props" ;;
	icelake) echo "Icelake-Server,model=106,pmu=on,x-pmu-version=5,x-pmu-gp=8,x-pmu-fixed=4,$ref,x-pmu-always=on$props" ;;
	spr) echo "SapphireRapids,pmu=on,x-pmu-version=5,x-pmu-gp=8,x-pmu-fixed=4,$ref,x-pmu-always=on$props" ;;
	alderlake) echo "SapphireRapids,model=151,stepping=2,pmu=on,x-pmu-atom-from=2,$ref,x-pmu-always=on$props" ;;
	opteron) echo "Opteron_G3,pmu=on,$ref,x-pmu-always=on$props" ;;
	k7) echo "EPYC,perfctr-core=off,pmu=on,$ref,x-pmu-always=on$props" ;;
	epyc) echo "EPYC,pmu=on,$ref,x-pmu-always=on$props" ;;
	genoa) echo "EPYC-Genoa,pmu=on,$ref,x-pmu-always=on$props" ;;
	generic) echo "max,vendor=GenuineIntel,pmu=on,$ref,x-pmu-always=on$props" ;;
	none) echo "Skylake-Client$props" ;;
	*) echo "$1$props" ;;
	esac
}

image=$kdir/vmlinux
[ -s "$image" ] && [ $packed = 0 ] || image=$kdir/vmlinuz

work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-run.XXXXXX")
trap 'rm -rf "$work"' EXIT

# overlay COMMAND - write the second cpio: module, files, command
overlay()
{
	local o=$work/o f src dst slow
	mkdir -p "$o/run" "$o/tests" "$o/modules"
	cp "$kdir"/modules/*.ko "$o/modules/" 2>/dev/null || true
	if [ "$module" != none ]; then
		[ -r "$module" ] || die "no module $module: make modules first, or -m none"
		cp "$module" "$o/kpmu.ko"
	fi
	for f in "${files[@]}"; do
		src=${f%%:*} dst=/tests/
		[ "$src" = "$f" ] || dst=${f#*:}
		case $dst in
		*/) mkdir -p "$o$dst" ;;
		*) mkdir -p "$o$(dirname "$dst")" ;;
		esac
		cp -rL "$src" "$o$dst"
	done
	printf '%s\n' "$1" >"$o/run/cmd"
	{
		echo "INTERACTIVE=$interactive KEEP=$keep KPMU_PARAMS='$params'"
		# No late report under -icount, where guest time may jump
		echo "LATE=$([ "$icount" = 1 ] && echo 0 || echo $((limit > 30 ? limit - 15 : limit / 2)))"
		echo "export KPMU_EXACT=$([ "$accel" = kvm ] && echo 0 || echo 1)"
		case $kernel in debug) slow=4 ;; gcov) slow=2 ;; *) slow=1 ;; esac
		echo "export KPMU_SLOW=$slow"
		echo "export KPMU_CPUS=$cpus KPMU_ICOUNT=$icount KPMU_MODEL=$model"
		echo "export KPMU_PROPS='$props'"
		[ $interactive = 0 ] || echo "stty $(stty -a 2>/dev/null |
			sed -n 's/.*\(rows [0-9]*\); \(columns [0-9]*\).*/\1 \2/p')"
	} >"$o/run/env"
	# The cpio must be reproducible, or runs under -icount differ
	find "$o" -exec touch -hd @0 {} +
	(cd "$o" && find . | LC_ALL=C sort | cpio -o -H newc -R 0:0 --reproducible --quiet)
}

# tsc_khz - frequency of the host's TSC, which is that of a guest of TCG without -icount.  A guest that
# measures it by itself while the host is busy may be wrong by a multiple, and so is its clock then.
tsc_khz()
{
	local kept
	[ "$(uname -m)" = x86_64 ] || return 0
	kept=$KPMU_CACHE/tsc/$(hash_of "$here/tsc.c" /proc/sys/kernel/random/boot_id)
	if [ ! -s "$kept" ]; then
		mkdir -p "$KPMU_CACHE/tsc"
		gcc -O1 -o "$work/tsc" "$here/tsc.c"
		"$work/tsc" >"$work/tsc.khz"
		mv "$work/tsc.khz" "$kept"
	fi
	echo "tsc_early_khz=$(cat "$kept")"
}

# boot CPIO OUT LOG LIMIT - run QEMU until it exits, then exit with the status of timeout.  With -I,
# boot CPIO
boot()
{
	local args=(-display none -nodefaults -no-user-config -no-reboot -M pc
		-L "$qemu" -m "$mem" -smp "$cpus" -cpu "$(cpu_line "$model")"
		-kernel "$image" -initrd "$1" "${more[@]}")
	# Debian's kernels test ciphers, load certificates and register BPF functions at boot: 1 s of work
	# that no guest here needs
	local unused="cryptomgr.notests=1 initcall_blacklist=load_system_certificate_list,jent_mod_init,init_encrypted,crypto_kdf108_init,bpf_dummy_struct_ops_init,bpf_tcp_ca_kfunc_init"
	local append="console=ttyS0 loglevel=5 panic=-1 oops=panic nmi_watchdog=0 no_timer_check tsc=reliable rcupdate.rcu_cpu_stall_timeout=30 softlockup_all_cpu_backtrace=1 $unused $kargs"

	case $accel in
	kvm) args+=(-accel kvm) ;;
	tcg) if [ $icount = 1 ]; then
		# shellcheck disable=SC2054 # commas are QEMU's
		args+=(-accel tcg -icount "shift=2,sleep=off"
			-rtc base=2026-01-01T00:00:00,clock=vm -seed 1)
	     else
		args+=(-accel "tcg,thread=multi")
		append+=" $(tsc_khz)"
	     fi ;;
	*) die "ACCEL=tcg or kvm, not $accel" ;;
	esac
	if [ $interactive = 1 ]; then
		"$qemu/qemu-system-x86_64" "${args[@]}" -append "$append quiet" \
			-chardev stdio,id=c,signal=off,mux=on -serial chardev:c -mon chardev=c
	else
		exec timeout -k 5 "$4" "$qemu/qemu-system-x86_64" "${args[@]}" \
			-append "$append" -serial "file:$3" -serial "file:$2" \
			</dev/null 2>"$work/qemu.err"
	fi
}

kvm_trial()
{
	local rc=0
	[ -w /dev/kvm ] || die "ACCEL=kvm, but /dev/kvm is not there or not ours"
	module=none overlay 'grep -q . /sys/bus/event_source/devices/cpu/type' >"$work/t.cpio"
	cat "$base" "$work/t.cpio" >"$work/trial"
	(boot "$work/trial" "$work/t.out" "$work/t.log" 25) || rc=$?
	grep -q '^@@exit 0' "$work/t.out" 2>/dev/null ||
		die "ACCEL=kvm: a trial boot gave no guest with a PMU (status $rc); use the default ACCEL=tcg"
}

# own_faults PLACE FILE - remove WARNINGs at PLACE without a frame of kpmu from FILE
own_faults()
{
	awk -v place=" at $1:" '
		/WARNING:/ && $0 ~ place { text = $0; open = 1; next }
		open {
			text = text "\n" $0
			if (/end trace/) {
				if (text ~ /\[kpmu\]/)
					print text
				open = 0
			}
			next
		}
		{ print }
		END { if (open) print text }' "$2" >"$2.rest"
	cmp -s "$2" "$2.rest" || say "the kernel has warned of itself at $1: $(grep -c "WARNING:.* at $1:" "$2")"
	mv "$2.rest" "$2"
}

overlay "$*" >"$work/over.cpio"
cat "$base" "$work/over.cpio" >"$work/initrd"
[ "$accel" != kvm ] || kvm_trial
if [ $interactive = 1 ]; then
	boot "$work/initrd"
	exit 0
fi

rc=0
: >"$work/out"
boot "$work/initrd" "$work/out" "$work/log" "$limit" &
trap 'kill $! 2>/dev/null || true; rm -rf "$work"' EXIT
if [ $stream = 1 ]; then
	tail -n +1 -s 0.1 -f --pid=$! "$work/out" | sed -u 's/\r//g; /^@@exit [0-9]*$/d'
fi
wait $! || rc=$?
status=$(tr -d '\r' <"$work/out" | sed -n 's/^@@exit \([0-9]*\)$/\1/p' | tail -n1)
[ $stream = 1 ] || tr -d '\r' <"$work/out" | grep -v '^@@exit ' || true
[ -z "$keeplog" ] || cp "$work/log" "$keeplog"

# The guest did not exit in time: print the backtraces that init has requested
if [ -z "$status" ] && grep -aq 'kpmu-guest: late' "$work/log"; then
	sed -n '/kpmu-guest: late/,$p' "$work/log" | head -n 300 >&2 || true
	say "no end within $limit s; above is what its CPUs did shortly before"
	exit 124
fi

# Judge the kernel log from init's start mark, without the boot messages, up to its late
# mark: the backtraces after that were requested by init; and without what init has printed
# again, which may begin in the middle of a warning
sed -n '/kpmu-guest: start/,/kpmu-guest: late/p' "$work/log" |
	sed '/kpmu-guest: again/,$d' >"$work/judged"
[ -z "$place" ] || own_faults "$place" "$work/judged"
if grep -aqE "$bad" "$work/judged"; then
	say "the kernel log is not clean:"
	grep -aE -B2 -A25 -m3 "$bad" "$work/judged" | head -n 80 >&2 || true
	exit 126
fi
if [ -z "$status" ]; then
	grep -v "TCG doesn't support" "$work/qemu.err" >&2 || true
	tail -n 30 "$work/log" >&2 || true
	if [ $rc = 124 ] || [ $rc = 137 ]; then
		say "no end within $limit s"
		exit 124
	fi
	say "the guest ended without a result (QEMU status $rc)"
	exit 125
fi
if [ "$status" != 0 ]; then
	say "guest command failed with status $status; end of the kernel log:"
	tail -n 30 "$work/log" >&2
fi
exit "$status"
