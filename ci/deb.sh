#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deb.sh [-n] [DIR] - build the Debian package qemu-pmu in DIR (default build/deb; make deb): Debian's
# source of QEMU with the PMU model, built as qemu/build.sh does, installed as /usr/lib/qemu-pmu and
# /usr/bin/qemu-pmu.  It installs on Debian 12 and later if it was built on Debian 12.  J=jobs.
#
#  -n   only prepare the source, in DIR/qemu-pmu-VERSION
#
# Building takes about 4 minutes on two cores.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

only=0
[ "${1:-}" != -n ] || { only=1; shift; }
out=$(realpath -m "${1:-$KPMU_TOP/build/deb}")
version=$(sed -n 's/^version=//p' "$KPMU_TOP/qemu/build.sh")
store=$KPMU_CACHE/qemu/src
here=$KPMU_TOP/ci

# fetch - Debian's tarballs, unless qemu/build.sh has them already
fetch()
{
	local v
	mkdir -p "$store"
	! ls "$store/qemu_$version"+ds.orig.tar.xz >/dev/null 2>&1 || return 0
	apt_setup
	v=$(apt_private apt-cache showsrc qemu 2>/dev/null |
		sed -n "s/^Version: \(1:$version+ds.*\)/\1/p" | sort -V | tail -n1)
	[ -n "$v" ] || die "Debian has no source of QEMU $version now"
	(cd "$store" && progress "$store/log" apt_private apt-get source --download-only "qemu=$v") ||
		die "cannot fetch the source of QEMU"
}

# prepare - the source package's tree in $tree: pristine, with debian/
prepare()
{
	local a=$out/a b=$out/b p debian

	for debian in "$store/qemu_$version"+ds-*.debian.tar.xz; do :; done	# the newest
	rm -rf "$tree" "$a" "$b"
	mkdir -p "$tree"
	ln -sf "$store/qemu_$version+ds.orig.tar.xz" "$out/qemu-pmu_$version+ds.orig.tar.xz"
	tar -xf "$store/qemu_$version+ds.orig.tar.xz" -C "$tree" --strip-components=1
	cp -r "$here/debian" "$tree/debian"
	mkdir -p "$tree"/debian/{patches,firmware,source}
	echo '3.0 (quilt)' >"$tree/debian/source/format"

	# Debian's patches that it takes to build, then model and hooks as one.  Copies are hard links:
	# patch replaces the files that it changes, and the model's are new.
	cp -al "$tree" "$a"
	tar -xf "$debian" -C "$a" debian/patches
	for p in disable-pycotap skip-unpack-edk2-blobs; do
		cp "$a/debian/patches/$p.patch" "$tree/debian/patches/"
		patch -d "$a" -s -p1 <"$a/debian/patches/$p.patch" || die "Debian's $p.patch does not apply"
		echo $p.patch
	done >"$tree/debian/patches/series"
	cp -al "$a" "$b"
	"$KPMU_TOP/qemu/build.sh" --apply "$b"
	(cd "$out" && diff -ruN --exclude=debian a b) >"$tree/debian/patches/pmu.patch" || [ $? = 1 ]
	[ -s "$tree/debian/patches/pmu.patch" ] || die "no change of QEMU"
	echo pmu.patch >>"$tree/debian/patches/series"
	rm -rf "$a" "$b"

	cp "$here/qemu-pmu" "$tree/debian/qemu-pmu.wrapper"
	sed -n '/^configure()/,/^}/p' "$KPMU_TOP/qemu/build.sh" | grep -oE -- '--[a-z][a-z-]*(=[a-z0-9_-]+)?' |
		grep -v '^--python' >"$tree/debian/configure-options"
	firmware "$tree/debian/firmware"
	(cd "$tree" && find debian/firmware -type f) >"$tree/debian/source/include-binaries"
	changelog >"$tree/debian/changelog"
}

# firmware DIR - that of qemu/build.sh, and that of the machine microvm, which virtme-ng may use
firmware()
{
	local q
	q=$("$KPMU_TOP/qemu/build.sh")
	cp "$q"/*.bin "$q"/*.rom "$1/"
	apt_setup
	apt_unpack "$out/seabios" seabios
	cp "$out/seabios/usr/share/seabios/bios-microvm.bin" "$1/"
	rm -rf "$out/seabios"
}

changelog()
{
	local commit
	commit=$(git -C "$KPMU_TOP" log -1 --format=%h 2>/dev/null || echo unknown)
	cat <<END
qemu-pmu ($package) unstable; urgency=medium

  * QEMU $version with the PMU model of kpmu, commit $commit.

 -- $(sed -n 's/^Maintainer: //p' "$here/debian/control")  $(date -R -d "@$(git -C "$KPMU_TOP" log -1 --format=%ct 2>/dev/null || date +%s)")
END
}

# python - one with a meson that is new enough, and the option that Debian 12 needs
python()
{
	local v
	v=$(dpkg-query -W -f '${Version}' meson 2>/dev/null || echo 0)
	! dpkg --compare-versions "$v" ge 1.5 || { echo /usr/bin/python3; return; }
	for v in "$KPMU_CACHE/qemu/tree-$version"-*/py/bin/python3; do
		[ ! -x "$v" ] || { echo "$v"; return; }
	done
	die "meson 1.5 or newer is missing: remove $KPMU_CACHE/qemu/$version-* and run qemu/build.sh"
}

package=$version+ds-0+kpmu$(git -C "$KPMU_TOP" rev-list --count HEAD 2>/dev/null || echo 0)
tree=$out/qemu-pmu-$version+ds
mkdir -p "$out"
fetch
prepare
say "prepared $tree"
[ $only = 0 ] || exit 0

"$KPMU_TOP/qemu/deps.sh" debhelper dpkg-dev
py=$(python)
check=()
[ "$py" = /usr/bin/python3 ] || check=(-d)	# its meson is in no package
cd "$tree"
progress "$out/build.log" env PMU_PYTHON="$py" DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=${J:-$(nproc)}" \
	nice dpkg-buildpackage -us -uc -b "${check[@]}" || die "the package does not build"
ls "$out/qemu-pmu_${package}_amd64.deb"
