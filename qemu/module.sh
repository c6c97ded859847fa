#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# module.sh NAME [MAKE-ARGUMENTS] - build kpmu.ko in build/NAME for a kernel of
# kernel.sh.  Warnings are errors.  SOURCES= and OUT= select other folders.
# If the kernel has KUnit, build/NAME/kunit has kpmu-kunit.ko and the kernel's kunit.ko.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

name=${1:?name of a kernel}
shift
unset MAKEFLAGS		# with -s of the caller, the output would lack the files that sparse checks
need_tools make gcc-12
kdir=$("$KPMU_TOP/qemu/kernel.sh" "$name")
out=${OUT:-$KPMU_TOP/build/$name}
mkdir -p "$out"

# Copy changed files only, so that kbuild rebuilds only these
cd "${SOURCES:-$KPMU_TOP}"
sources=(kernel include Kbuild)
# Mutants have none of these
for f in driver kunit unit; do
	[ ! -e selftests/$f ] || sources+=("selftests/$f")
done
mapfile -t files < <(find "${sources[@]}" -type f \( -name '*.[chS]' -o -name Kbuild \) | LC_ALL=C sort)

# Nothing to do if this was built from the same files before, here or in another clone
built=$({ echo "$kdir"; cat "$kdir/release"; cat "$KPMU_TOP/qemu/module.sh" "${files[@]}"; printf '%s\n' "${files[@]}"; } | sha256sum)
if [ $# = 0 ] && [ "$name" != given ] && [ -e "$out/kpmu.stripped.ko" ] &&
	[ "$(cat "$out/.built" 2>/dev/null)" = "$built" ]; then
	exit 0
fi
rm -f "$out/.built"
shared=''
if [ $# = 0 ] && [ "$out" = "$KPMU_TOP/build/$name" ] && [[ $name != @(given|gcov) ]]; then
	shared=1
	! "$KPMU_TOP/qemu/built.sh" get "module-$name" "$built" "$out" || exit 0
fi

for f in "${files[@]}"; do
	cmp -s "$f" "$out/$f" && continue
	mkdir -p "$out/$(dirname "$f")"
	cp "$f" "$out/$f"
done

# warnings LOG - print what a build warns about, but not that this machine has another pahole than the
# one that built the kernel had: no BTF is made.  Fails if there is nothing
warnings() { grep -E 'warning|WARNING' "$1" | grep -v 'pahole version differs'; }

# The fetched and built kernels need gcc-12; a given kernel selects its own compiler
cc=(CC=gcc-12)
[ "$name" != given ] || cc=()
# Debian's headers have no vmlinux, so there is no BTF
if ! make -C "$kdir/build" M="$out" "${cc[@]}" CONFIG_DEBUG_INFO_BTF_MODULES= \
	-j"$(nproc)" modules "$@" >"$out/build.log" 2>&1; then
	cat "$out/build.log" >&2
	die "kpmu does not build for $name"
fi
if warnings "$out/build.log" >&2; then
	die "kpmu builds with warnings for $name"
fi
strip --strip-debug "$out/kpmu.ko" -o "$out/kpmu.stripped.ko"

# The templates of PMU drivers are modules of their own
if [ -e selftests/driver ]; then
	if ! make -C "$kdir/build" M="$out/selftests/driver" "${cc[@]}" \
		KBUILD_EXTRA_SYMBOLS="$out/Module.symvers" CONFIG_DEBUG_INFO_BTF_MODULES= \
		modules >"$out/driver.log" 2>&1 || warnings "$out/driver.log"; then
		cat "$out/driver.log" >&2
		die "the templates of drivers do not build for $name"
	fi
	strip --strip-debug "$out"/selftests/driver/kpmu-{toy,few}.ko
fi

# The unit tests as suites of KUnit
rm -rf "$out/kunit"
mkdir "$out/kunit"
if [ -e selftests/kunit ] && grep -qs '^CONFIG_KUNIT=' "$kdir/build/.config"; then
	if ! make -C "$kdir/build" M="$out/selftests/kunit" "${cc[@]}" \
		CONFIG_DEBUG_INFO_BTF_MODULES= \
		modules >"$out/kunit.log" 2>&1 || warnings "$out/kunit.log"; then
		cat "$out/kunit.log" >&2
		die "the KUnit suites do not build for $name"
	fi
	strip --strip-debug "$out/selftests/kunit/kpmu-kunit.ko" -o "$out/kunit/kpmu-kunit.ko"
	[ ! -e "$kdir/build/lib/kunit/kunit.ko" ] ||
		cp "$kdir/build/lib/kunit/kunit.ko" "$out/kunit/"
fi
[ $# -gt 0 ] || echo "$built" >"$out/.built"
[ -z "$shared" ] || "$KPMU_TOP/qemu/built.sh" put "module-$name" "$built" "$out"
say "built $out/kpmu.ko for $(cat "$kdir/release")"
