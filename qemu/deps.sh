#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deps.sh [PACKAGE...] - install missing Debian packages: those that the build and the
# tests need, and the given ones.  Without root, fail with a list of them.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

packages=(
	make gcc gcc-12 libc6-dev binutils cpio bc python3-venv xz-utils zstd bzip2
	libelf-dev libssl-dev flex bison perl		# kernel modules
	openssl patch python3				# kernels built from source
	ninja-build pkg-config libglib2.0-dev libpixman-1-dev zlib1g-dev
	libfdt-dev libattr1-dev libslirp-dev			# QEMU
	sparse shellcheck					# make check
)
packages+=("$@")						# for one make target

missing=()
for p in "${packages[@]}"; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'install ok' ||
		missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0
[ "$(id -u)" = 0 ] || die "please install, as root: apt-get install ${missing[*]}"
say "installing ${missing[*]}"
log=$(mktemp)
progress "$log" apt-get update -q || die "apt-get update failed"
progress "$log" env DEBIAN_FRONTEND=noninteractive \
	apt-get install -q -y --no-install-recommends "${missing[@]}" ||
	die "apt-get install failed"
rm -f "$log"
