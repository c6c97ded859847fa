#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perf.sh - the distribution's perf and the libraries it needs, from Debian 12's
# packages, unpacked in the cache; prints the folder: perf and lib/ in it.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

packages=(
	linux-perf libopencsd1 libelf1 libdw1 libunwind8 liblzma5 libslang2
	libperl5.36 libc6 libpython3.11 zlib1g libzstd1 libcap2 libnuma1
	libbabeltrace1 libstdc++6 libgcc-s1 libbz2-1.0 libcrypt1 libexpat1
	libuuid1 libglib2.0-0 libpcre2-8-0
)
out=$KPMU_CACHE/perf-$(hash_of "$0")

build()
{
	[ ! -e "$out" ] || return 0
	local root dirs tmp lib
	apt_setup
	root=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	tmp=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	say "fetching Debian 12's perf"
	apt_unpack "$root" "${packages[@]/%//bookworm}"
	dirs=$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu
	mkdir -p "$tmp/lib"
	cp "$root/usr/bin/perf" "$tmp/"
	cp "$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$tmp/lib/"
	"$tmp/lib/ld-linux-x86-64.so.2" --library-path "$dirs" --list "$tmp/perf" |
	grep -oE '/[^ ]*\.so[^ ]*' | while read -r lib; do
		case $lib in "$root"/*) cp -L "$lib" "$tmp/lib/" ;; esac
	done
	rm -rf "$root"
	"$tmp/lib/ld-linux-x86-64.so.2" --library-path "$tmp/lib" "$tmp/perf" --version >&2 ||
		die "the packages do not make a perf that runs"
	mv "$tmp" "$out"
}

with_lock perf build
echo "$out"
