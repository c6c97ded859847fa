#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# initramfs.sh - build (once) the base file system of the guest: busybox, init
# and mount points.  Print the path of the cpio.  Files that differ between runs
# are in a second cpio, which run.sh appends.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

here=$KPMU_TOP/qemu
out=$KPMU_CACHE/initramfs-$(hash_of "$here/init" "$here/initramfs.sh").cpio

busybox()
{
	if [ ! -x "$KPMU_CACHE/busybox" ]; then
		apt_setup
		apt_unpack "$KPMU_CACHE/tmp-bb" busybox-static
		mv "$(find "$KPMU_CACHE/tmp-bb" -path '*bin/busybox')" "$KPMU_CACHE/busybox"
		rm -rf "$KPMU_CACHE/tmp-bb"
	fi
}

build()
{
	[ ! -e "$out" ] || return 0
	local root a
	busybox
	root=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	mkdir -p "$root"/{bin,sbin,proc,sys,dev,tmp,run,etc,root,tests,modules,lib,usr/bin,usr/lib,usr/share}
	ln -s lib "$root/lib64"
	cp "$KPMU_CACHE/busybox" "$root/bin/busybox"
	for a in $("$KPMU_CACHE/busybox" --list); do
		[ -e "$root/bin/$a" ] || ln -s busybox "$root/bin/$a"
	done
	install -m755 "$here/init" "$root/init"
	echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
	echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >>"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	(cd "$root" && find . | sort | cpio -o -H newc -R 0:0 --quiet) >"$out.tmp"
	rm -rf "$root"
	mv "$out.tmp" "$out"
}

need_tools cpio
with_lock initramfs build
echo "$out"
