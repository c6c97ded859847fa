#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vng.sh fetch               - fetch Debian 13's virtme-ng, to run it without installing; print its folder
# vng.sh run DIR COMMAND...  - run the command by vng of DIR and qemu-pmu, on the kernel 7.2 of
#                              qemu/kernel.sh and with this machine's programs

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

# virtme-init waits for links that udev makes; machines of CI (containers) have no udev
# shellcheck disable=SC2016 # for the guest
ports='
	mkdir -p /dev/virtio-ports
	for p in /sys/class/virtio-ports/*; do
		ln -sf "../${p##*/}" "/dev/virtio-ports/$(cat "$p/name")"
	done'

fetch()
{
	local dir init
	dir=$KPMU_CACHE/virtme-ng-$(hash_of "$KPMU_TOP/ci/vng.sh")
	if [ ! -e "$dir/ok" ]; then
		apt_setup
		rm -rf "$dir"
		apt_unpack "$dir" virtme-ng/trixie \
			python3-{requests,urllib3,idna,certifi,chardet,argcomplete,pkg-resources}/bookworm
		init=$dir/usr/lib/python3/dist-packages/virtme/guest/virtme-init
		grep -q 'log "udevd not found"' "$init" || die "this virtme-init is another: $init"
		awk -v ports="$ports" '{ print } /log "udevd not found"/ { print ports }' "$init" >"$init.new"
		cat "$init.new" >"$init"
		: >"$dir/ok"
	fi
	echo "$dir"
}

run()
{
	local dir=$1 kernel
	shift
	kernel=$("$KPMU_TOP/qemu/kernel.sh" 7.2)
	PATH=$dir/usr/bin:$PATH PYTHONPATH=$dir/usr/lib/python3/dist-packages /usr/bin/python3 \
		"$dir/usr/bin/vng" -r "$kernel/vmlinuz" --qemu "$KPMU_TOP/ci/qemu-pmu" --disable-microvm \
		--cpus 1 --memory 1G --append nmi_watchdog=0 -- "$*"
}

case ${1:-} in
fetch|run) "$@" ;;
*) sed -n '3,/^$/s/^# \?//p' "$0" >&2; exit 2 ;;
esac
