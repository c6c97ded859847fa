#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kvm.sh - build the QEMU of build.sh once more, for ACCEL=kvm: with KVM and without TCG, from the same
# tree.  Print the folder with qemu-system-x86_64 and its BIOS files, as for QEMU=.
#
# It is a program of its own because the one for TCG decides which results of tests may be kept.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

tcg=$("$KPMU_TOP/qemu/build.sh")
dir=$KPMU_CACHE/qemu/kvm-$(basename "$tcg")-$(hash_of "$KPMU_TOP/qemu/kvm.sh")

configure()
{
	mkdir -p "$tree/bld-kvm"
	cd "$tree/bld-kvm"
	../src/configure --python="$tree/py/bin/python3" --target-list=x86_64-softmmu \
		--without-default-features --enable-kvm --disable-tcg --enable-fdt=system \
		--disable-docs --disable-werror --disable-install-blobs \
		--enable-trace-backends=log --enable-attr --enable-virtfs --enable-slirp
}

compile() { nice ninja -C "$tree/bld-kvm" -j"$(nproc)" qemu-system-x86_64; }

build()
{
	local out trees

	[ ! -e "$dir/ok" ] || return 0
	# build.sh keeps one with the model
	mapfile -t trees < <(find "$KPMU_CACHE/qemu" -maxdepth 1 -name 'tree-*' ! -name '*-unpatched-*')
	tree=${trees[0]:-}
	[ -e "$tree/ok" ] || die "the tree of QEMU is not in the cache any more: remove $tcg, and try again"
	say "building QEMU for KVM; about 3 minutes on two cores"
	[ -e "$tree/bld-kvm/build.ninja" ] ||
		progress "$KPMU_CACHE/qemu/configure-kvm.log" configure || die "QEMU's configure failed"
	progress "$KPMU_CACHE/qemu/build-kvm.log" compile || die "QEMU does not build"
	rm -rf "$KPMU_CACHE"/qemu/kvm-*
	out=$(mktemp -d "$KPMU_CACHE/qemu/tmp.XXXXXX")
	cp "$tree/bld-kvm/qemu-system-x86_64" "$out/"
	find "$tcg" -type f ! -name qemu-system-x86_64 -exec cp {} "$out/" \;
	strip --strip-debug "$out/qemu-system-x86_64"
	mv "$out" "$dir"
}

[ -e "$dir/ok" ] || with_lock qemu build
echo "$dir"
