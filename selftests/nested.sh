#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# nested.sh [-k KERNEL] [PROGRAM...] - run selftests on KVM's vPMU, on a host without one; make test-kvm
# calls it.
#
# A guest of the model of EPYC-Genoa loads Debian's kvm_amd, and sees the file system of this host.
# In it the harness runs as it does on a host with a vPMU, under ACCEL=kvm: QEMU (qemu/kvm.sh) starts
# guests of their own, whose counters are events of the outer guest's perf.  The tests are those of the boot
# "vpmu", or the programs named.  Its results are in build/log/vpmu, and the last line is
# "N passed, N failed, N skipped".

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

# inner KERNEL MODULES LOGS PROGRAM... - what runs in the outer guest
inner()
{
	local kernel=$1 modules=$2 logs=$3 m rc=0
	shift 3
	while read -r m; do
		insmod "$modules/$m.ko" || die "the outer guest cannot load $m.ko"
	done <"$modules/order"
	[ -w /dev/kvm ] || die "the outer guest has no /dev/kvm: $(dmesg | grep -i kvm | tail -n 1)"
	export LOGS=/tmp/vpmu
	mkdir -p "$LOGS"
	ACCEL=kvm "$KPMU_TOP/selftests/run.sh" -k "$kernel" -b vpmu -j 1 "$@" || rc=$?
	cp "$LOGS"/* "$logs/"
	return $rc
}

if [ "${1:-}" = --inner ]; then
	shift
	inner "$@"
	exit
fi
kernel=6.12
if [ "${1:-}" = -k ]; then
	kernel=${2:?a kernel}
	shift 2
fi
logs=$KPMU_TOP/build/log/vpmu
need_tools insmod:kmod
qemu=$("$KPMU_TOP/qemu/kvm.sh")
modules=$("$KPMU_TOP/qemu/kernel.sh" "kvm-$kernel") || die "kernel $kernel has no modules of KVM"
# What the harness needs of the cache, before it is seen read-only
"$KPMU_TOP/qemu/kernel.sh" "$kernel" >/dev/null
"$KPMU_TOP/qemu/initramfs.sh" >/dev/null
rm -rf "$logs"
mkdir -p "$logs"
say "a guest with KVM; its first guest starts after half a minute"
"$KPMU_TOP/qemu/shell.sh" -r / -d "$KPMU_TOP" -R -S "$logs" -k "$kernel" -m none -c genoa -s 2 -M 4096 -t 5400 \
	-e QEMU="$qemu" -e KPMU_CACHE="$KPMU_CACHE" \
	"selftests/nested.sh --inner $kernel '$modules' /run/host $*"
