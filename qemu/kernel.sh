#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh NAME - fetch or build a kernel for the guest and print its folder.  The
# folder has vmlinuz, build (the tree to build modules against), release, modules/ (loaded in each
# guest), userland/ (loaded in a guest with a Debian userland, in the order of userland/order), and
# vmlinux, uncompressed, from which a guest starts 1 to 5 seconds sooner (empty if it cannot be had).
#
#	6.1	the kernel of Debian 12
#	6.12	the kernel of Debian 12 backports
#	7.2	built from Debian's sources with kernels/min.frag
#	debug	7.2 with kernels/dbg.frag as well: KASAN, lockdep and other checks
#	gcov	7.2 with kernels/gcov.frag as well: can profile a module
#	kvm	7.2 with kernels/kvm.frag as well: with KVM (make test-mediated)
#	source	the source tree of 7.2 (no kernel), for its scripts
#	kvm-6.1, kvm-6.12	no kernel, but modules of Debian's for guests that run guests of their own
#	kvm-kvm	likewise, those of the kernel kvm
#
# KERNEL=vmlinuz KDIR=tree kernel.sh given - the same with the given files.
#
# Kernels are cached under their name and a hash of their fragments, Debian's of the list of
# modules.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

# Relocate the /usr/src paths in Debian's header packages
fix_headers()
{
	local root=$1
	sed -i "s|^include /usr/src/|include $root/usr/src/|" \
		"$root"/usr/src/linux-headers-*-amd64/Makefile
	# Module builds need no BTF; without vmlinux there they only print a warning
	rm -f "$root"/usr/src/linux-headers-*-amd64/vmlinux
}

# modules LIST FROM DIR - copy the modules of LIST and what they depend on to DIR, and write their names
# to DIR/order, what others depend on first
modules()
{
	local list=$1 from=$2 to=$3 name
	mkdir -p "$to"
	: >"$to/order"
	grep -v '^#' "$list" | while read -r name; do module "$name"; done
}

# module NAME - for modules: copy a module after those that it depends on, unless it is built in
module()
{
	local name=${1//-/_} file needs
	! grep -qx "$name" "$to/order" || return 0
	file=$(find "$from" -name "$name.ko*" -o -name "${name//_/-}.ko*" | head -n1)
	[ -n "$file" ] || return 0
	cp "$file" "$to/$name.ko${file##*.ko}"
	[[ $file != *.xz ]] || unxz "$to/$name.ko.xz"
	needs=$(objcopy -O binary -j .modinfo "$to/$name.ko" /dev/stdout | tr '\0' '\n' |
		sed -n 's/^depends=//p' | tr ',' ' ')
	for file in $needs; do module "$file"; done
	echo "$name" >>"$to/order"
}

# debian NAME DIR PATTERN SUITE - fetch image and headers of the newest release
debian()
{
	local name=$1 dir=$2 pattern=$3 suite=$4 rel img
	apt_setup
	img=$(apt_newest "linux-image-$pattern-amd64-unsigned" "$suite")
	[ -n "$img" ] || die "Debian has no kernel like $pattern in $suite now; give KERNEL= and KDIR="
	rel=${img#linux-image-}; rel=${rel%-unsigned}
	say "fetching kernel $rel"
	local tmp="$dir.tmp" kbuild=linux-kbuild-${rel%-amd64}
	[ "$name" = 6.1 ] && kbuild=linux-kbuild-6.1
	rm -rf "$tmp"; mkdir -p "$tmp/root"
	apt_unpack "$tmp/root" "$img" "linux-headers-$rel" \
		"linux-headers-${rel%-amd64}-common" "$kbuild"
	mv "$tmp/root/boot/vmlinuz-$rel" "$tmp/vmlinuz"
	mkdir "$tmp/modules"
	find "$tmp/root/lib/modules" \( -name msr.ko\* -o -name cpuid.ko\* \) \
		-exec cp {} "$tmp/modules/" \;
	for f in "$tmp"/modules/*.xz; do [ ! -e "$f" ] || unxz "$f"; done
	modules "$here/modules" "$tmp/root/lib/modules" "$tmp/userland"
	rm -rf "$tmp/root/lib/modules" "$tmp/root/boot"
	echo "$rel" >"$tmp/release"
	ln -s "root/usr/src/linux-headers-$rel" "$tmp/build"
	rm -rf "$dir"; mv "$tmp" "$dir"
	fix_headers "$dir/root"
	: >"$dir/ok"
}

# kvm NAME DIR - fetch the modules of KVM of the release that is cached
kvm()
{
	local name=$1 dir=$2 tmp=$2.tmp rel
	rel=$(cat "$("$0" "$name")/release")
	apt_setup
	say "fetching the modules of KVM for kernel $rel"
	rm -rf "$tmp"; mkdir -p "$tmp/root"
	apt_unpack "$tmp/root" "linux-image-$rel-unsigned"
	modules "$here/modules-kvm" "$tmp/root/lib/modules" "$tmp"
	rm -rf "$tmp/root"
	rm -rf "$dir"; mv "$tmp" "$dir"
	: >"$dir/ok"
}

# source72 DIR - fetch the newest sources of 7.2
source72()
{
	local dir=$1 tmp=$1.tmp
	apt_setup
	say "fetching the sources of Linux 7.2 (164 MB)"
	rm -rf "$tmp"; mkdir -p "$tmp"
	apt_unpack "$tmp" linux-source-7.2
	progress "$tmp/log" tar -C "$tmp" -xf "$tmp"/usr/src/linux-source-7.2.tar.xz ||
		die "cannot unpack the sources"
	rm -rf "$dir"; mv "$tmp"/linux-source-7.2 "$dir"
	rm -rf "$tmp"
	: >"$dir/ok"
}

# build72 DIR FRAGMENT... - build 7.2 from allnoconfig and the fragments
build72()
{
	local dir=$1 tmp=$1.tmp src
	shift
	need_tools make gcc-12 flex bison bc
	src=$("$0" source)
	rm -rf "$tmp"; mkdir -p "$tmp/build" "$tmp/modules" "$tmp/userland"
	: >"$tmp/userland/order"
	cat "$@" >"$tmp/frag"
	say "building kernel 7.2 for the guest ($name): 7 to 18 minutes, once"
	make -s -C "$src" O="$tmp/build" CC=gcc-12 KCONFIG_ALLCONFIG="$tmp/frag" \
		allnoconfig >"$tmp/config.log" 2>&1 || die "configuring failed; see $tmp/config.log"
	progress "$tmp/build.log" nice make -C "$src" O="$tmp/build" CC=gcc-12 \
		-j"$(nproc)" bzImage modules || die "kernel 7.2 does not build"
	cp "$tmp/build/arch/x86/boot/bzImage" "$tmp/vmlinuz"
	cp "$tmp/build/include/config/kernel.release" "$tmp/release"
	! grep -qx CONFIG_KVM=m "$tmp/build/.config" || modules "$here/modules-kvm" "$tmp/build" "$tmp/kvm"
	# Module builds do not need the objects; they need the files that modpost reads
	find "$tmp/build" \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) \
		-not -path '*/scripts/*' -not -path '*/tools/*' -delete
	rm -f "$tmp"/build/vmlinux* "$tmp"/build/.tmp_vmlinux*
	sed -i "s|$tmp/|$dir/|" "$tmp/build/Makefile"	# has its own path
	rm -rf "$dir"; mv "$tmp" "$dir"
	: >"$dir/ok"
}

# uncompressed DIR - unpack DIR/vmlinuz to DIR/vmlinux.  Where it begins: Documentation/arch/x86/boot.rst.
# QEMU starts such a file only if it has the entry of PVH, a note of Xen's.
uncompressed()
{
	local image=$1/vmlinuz tmp=$1/vmlinux.tmp start size tool tail=4
	[ ! -e "$1/vmlinux" ] || return 0
	start=$((($(number "$image" 0x1f1 1) + 1) * 512 + $(number "$image" 0x248 4)))
	size=$(number "$image" 0x24c 4)
	case $(od -An -v -t x1 -j $start -N 4 "$image") in
	" fd 37"*) tool=xz ;;
	" 28 b5"*) tool=zstd ;;
	" 1f 8b"*) tool=gzip tail=0 ;;	# others are followed by their size
	*) tool=false ;;
	esac
	if ! head -c $((start + size - tail)) "$image" | tail -c $((size - tail)) | $tool -dc >"$tmp" 2>/dev/null ||
		! readelf -n "$tmp" | grep -q 'Xen .*0x00000012'; then
		: >"$tmp"
	fi
	mv "$tmp" "$1/vmlinux"
}

# number FILE OFFSET BYTES - print a number in a file
number() { od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }

# given DIR - use the vmlinuz and the tree of the user
given()
{
	local dir=$1
	[ -r "${KERNEL:-}" ] || die "KERNEL= must name a vmlinuz"
	[ -r "${KDIR:-}/Makefile" ] || die "KDIR= must name a kernel build tree"
	rm -rf "$dir"; mkdir -p "$dir/modules" "$dir/userland"
	: >"$dir/userland/order"
	cp "$KERNEL" "$dir/vmlinuz"
	: >"$dir/vmlinux"
	ln -s "$(realpath "$KDIR")" "$dir/build"
	make -s -C "$KDIR" kernelrelease >"$dir/release"
}

here=$KPMU_TOP/qemu/kernels
name=${1:-}
dir=$KPMU_CACHE/kernel/$name
case $name in
6.1|6.12) dir+=-$(hash_of "$here/modules") ;;
kvm-6.1|kvm-6.12) dir+=-$(cat "$("$0" "${name#kvm-}")/release")-$(hash_of "$here/modules-kvm") ;;
7.2) dir+=-$(hash_of "$here/min.frag") ;;
debug) dir+=-$(hash_of "$here/min.frag" "$here/dbg.frag") ;;
gcov) dir+=-$(hash_of "$here/min.frag" "$here/gcov.frag") ;;
kvm) dir+=-$(hash_of "$here/min.frag" "$here/kvm.frag") ;;
kvm-kvm) dir=$("$0" kvm)/kvm ;;
kvm-7.2|kvm-debug|kvm-gcov) exit 1 ;;	# these are built without KVM
esac
mkdir -p "$KPMU_CACHE/kernel"
build()
{
	[ ! -e "$dir/ok" ] || return 0
	case $name in
	6.1) debian 6.1 "$dir" '6\.1\.0-[0-9]+' bookworm ;;
	6.12) debian 6.12 "$dir" '6\.12\.[0-9.]+\+deb12' bookworm-backports ;;
	7.2) build72 "$dir" "$here/min.frag" ;;
	debug) build72 "$dir" "$here/min.frag" "$here/dbg.frag" ;;
	gcov) build72 "$dir" "$here/min.frag" "$here/gcov.frag" ;;
	kvm) build72 "$dir" "$here/min.frag" "$here/kvm.frag" ;;
	kvm-kvm) ;;
	kvm-*) kvm "${name#kvm-}" "$dir" ;;
	source) source72 "$dir" ;;
	*) die "kernel.sh: 6.1, 6.12, 7.2, debug, gcov, kvm, source or given, not '$name'" ;;
	esac
}
ready() { build; [[ $name = @(source|kvm-*) ]] || uncompressed "$dir"; }
if [ "$name" = given ]; then given "$dir"; else with_lock "kernel-$name" ready; fi
echo "$dir"
