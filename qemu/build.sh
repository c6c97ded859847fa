#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh [--unpatched] - fetch, patch, build and cache QEMU with the PMU model.
# Print the folder with qemu-system-x86_64 and its BIOS files (for -L).
# build.sh --apply DIR - only add the model and the patches to a QEMU source tree.
#
#	--unpatched	the same build without model and patches, to compare costs
#
# The files of the model are in model/ and are copied into the source of QEMU.  patches/
# has the hooks in QEMU's own files.  The built tree stays in the cache, so a change of the
# model only recompiles what it affects, in seconds.
#
# The sources are from Debian's package, or from an upstream tarball with
# QEMU_TARBALL=qemu-10.0.13.tar.xz.  Nothing is installed.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

version=10.0.13
here=$KPMU_TOP/qemu
variant=
[ "${1:-}" != --unpatched ] || variant=-unpatched
patches=() model=()
if [ -z "$variant" ]; then
	patches=("$here"/patches/[0-9]*.patch)
	model=("$here"/model/*)
fi

# Keys of the cache: all that the result depends on.  lib.sh does not affect it.  The tree
# depends on the names of the model's files, but not on their contents.
key=$({ cat "$0" "${patches[@]}"; echo "$variant" "${model[@]##*/}"; } | sha256sum | cut -c1-12)
tree=$KPMU_CACHE/qemu/tree-$version$variant-$key
key=$({ echo "$key"; [ -n "$variant" ] || cat "${model[@]}"; } | sha256sum | cut -c1-12)
dir=$KPMU_CACHE/qemu/$version$variant-$key

# check_host - fail early, with a list of everything that is missing
check_host()
{
	local lib pkgs=()

	need_tools gcc ninja:ninja-build pkg-config flex bison python3 patch tar \
		xz:xz-utils bzip2
	for lib in glib-2.0:libglib2.0-dev zlib:zlib1g-dev slirp:libslirp-dev libattr:libattr1-dev; do
		pkg-config --exists "${lib%%:*}" || pkgs+=("${lib#*:}")
	done
	echo '#include <libfdt.h>' | gcc -E - >/dev/null 2>&1 || pkgs+=(libfdt-dev)
	/usr/bin/python3 -c 'import venv, ensurepip' 2>/dev/null || pkgs+=(python3-venv)
	[ ${#pkgs[@]} -eq 0 ] ||
		die "missing libraries; on Debian: apt-get install ${pkgs[*]} (or run 'make deps' as root)"
}

# fetch_debian SRC - unpack Debian's source of $version, with the patches it needs to build
fetch_debian()
{
	local src=$1 store=$KPMU_CACHE/qemu/src v p

	mkdir -p "$store"
	if ! ls "$store/qemu_$version"+ds.orig.tar.xz >/dev/null 2>&1; then
		apt_setup
		v=$(apt_private apt-cache showsrc qemu 2>/dev/null |
			sed -n "s/^Version: \(1:$version+ds.*\)/\1/p" | sort -V | tail -n1)
		[ -n "$v" ] || die "Debian has no source of QEMU $version now; give QEMU_TARBALL=qemu-$version.tar.xz"
		say "fetching QEMU $version"
		(cd "$store" && progress "$store/log" apt_private apt-get source \
			--download-only "qemu=$v") || die "cannot fetch the source of QEMU"
	fi
	mkdir -p "$src"
	tar -xf "$store/qemu_$version"+ds.orig.tar.xz -C "$src" --strip-components=1
	# The tarball contains no firmware and no Python wheels
	for p in "$store/qemu_$version"+ds-*.debian.tar.xz; do :; done	# the newest
	tar -xf "$p" -C "$src" debian/patches
	for p in disable-pycotap skip-unpack-edk2-blobs; do
		patch -d "$src" -s -p1 <"$src/debian/patches/$p.patch" ||
			die "Debian's $p.patch does not apply"
	done
}

fetch()
{
	local src=$1

	if [ -z "${QEMU_TARBALL:-}" ]; then
		fetch_debian "$src"
		return
	fi
	[ -r "$QEMU_TARBALL" ] || die "QEMU_TARBALL=$QEMU_TARBALL: no such file"
	mkdir -p "$src"
	tar -xf "$QEMU_TARBALL" -C "$src" --strip-components=1
	[ "$(cat "$src/VERSION")" = $version ] ||
		die "$QEMU_TARBALL is QEMU $(cat "$src/VERSION"); the patches are for $version"
}

# python DIR - make a venv with a meson that is new enough for QEMU (1.5)
python()
{
	local py=$1 m

	/usr/bin/python3 -m venv --system-site-packages "$py"
	"$py/bin/python3" -c 'import mesonbuild.coredata as c, sys
v = [int(x) for x in c.version.split(".")[:2]]; sys.exit(v < [1, 5])' 2>/dev/null && return
	# An upstream tarball includes a meson
	[ -z "${QEMU_TARBALL:-}" ] || return 0
	apt_setup
	apt_unpack "$py/deb" meson/bookworm-backports
	m=$(echo "$py"/lib/python3*/site-packages)
	cp -r "$py"/deb/usr/lib/python3/dist-packages/* "$m/"
	rm -rf "$py/deb"
}

# firmware DIR - copy the firmware of a PC, its display and network cards from Debian's packages or
# the tarball
firmware()
{
	local to=$1 f
	local roms=({bios-256k,kvmvapic,linuxboot_dma,multiboot_dma,pvh,vgabios-stdvga}.bin
		efi-{virtio,e1000}.rom)

	if [ -n "${QEMU_TARBALL:-}" ]; then
		for f in "${roms[@]}"; do cp "$tree/src/pc-bios/$f" "$to/"; done
		return
	fi
	apt_setup
	apt_unpack "$to/deb" seabios qemu-system-data ipxe-qemu
	for f in "${roms[@]}"; do
		cp -L "$to"/deb/usr/share/{seabios,qemu}/"$f" "$to"/deb/usr/lib/ipxe/qemu/"$f" "$to/" 2>/dev/null ||
			[ -e "$to/$f" ] || die "no $f in Debian's packages"
	done
	rm -rf "$to/deb"
}

configure()
{
	cd "$tree/bld"
	../src/configure --python="$tree/py/bin/python3" --target-list=x86_64-softmmu \
		--without-default-features --enable-tcg --enable-fdt=system \
		--disable-docs --disable-werror --disable-install-blobs \
		--enable-plugins --enable-trace-backends=log \
		--enable-attr --enable-virtfs --enable-vhost-user --enable-slirp
}

compile()
{
	nice ninja -C "$tree/bld" -j"$(nproc)" qemu-system-x86_64
}

# place DIR - copy changed files of the model into a QEMU source tree
place()
{
	local src=$1 f to

	for f in "${model[@]}"; do
		case ${f##*/} in
		pmu.h) to=target/i386 ;;
		pmu-gen*|pmu-far.h) to=target/i386/tcg ;;
		*) to=target/i386/tcg/system ;;
		esac
		cmp -s "$f" "$src/$to/${f##*/}" || cp "$f" "$src/$to/"
	done
}

# apply DIR - add the model and the patches to a QEMU source tree
apply()
{
	local p

	[ "$(cat "$1/VERSION" 2>/dev/null)" = $version ] ||
		die "$1 is no source of QEMU $version"
	place "$1"
	for p in "${patches[@]}"; do
		patch -d "$1" -s -p1 -F0 <"$p" || die "$(basename "$p") does not apply"
	done
}

# make_tree - unpack QEMU, apply model and patches, configure
make_tree()
{
	rm -rf "$tree"
	mkdir -p "$tree"/{bld,fw}
	fetch "$tree/src"
	apply "$tree/src"
	python "$tree/py"
	firmware "$tree/fw"
	say "building QEMU $version${variant:+ (unpatched)}; about 3 minutes on two cores"
	progress "$KPMU_CACHE/qemu/configure.log" configure || die "QEMU's configure failed"
	: >"$tree/ok"
}

build()
{
	local out

	[ ! -e "$dir/ok" ] || return 0
	check_host
	mkdir -p "$KPMU_CACHE/qemu"
	if [ -e "$tree/ok" ]; then
		say "building what changed of the PMU model"
		place "$tree/src"
	else
		# Remove trees of other versions of the patches
		[ -n "$variant" ] || rm -rf "$KPMU_CACHE/qemu/tree-$version"-[0-9a-f]*
		make_tree
	fi
	progress "$KPMU_CACHE/qemu/build.log" compile || die "QEMU does not build"
	out=$(mktemp -d "$KPMU_CACHE/qemu/tmp.XXXXXX")
	cp "$tree/bld/qemu-system-x86_64" "$tree"/fw/* "$out/"
	strip --strip-debug "$out/qemu-system-x86_64"
	: >"$out/ok"
	rm -rf "$dir"
	mv "$out" "$dir"
}

if [ "${1:-}" = --apply ]; then
	apply "${2:?a source of QEMU}"
	exit
fi
[ -e "$dir/ok" ] || with_lock qemu build
echo "$dir"
