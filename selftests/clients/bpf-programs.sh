#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bpf-programs.sh - provide clients that attach BPF programs to events: bpftrace, and tools that use
# libbpf, from Debian 12's packages.  Prints the folder in the cache whose contents must be added to the root
# of a guest.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"
# shellcheck source=selftests/clients/libraries.sh
. "$KPMU_TOP/selftests/clients/libraries.sh"

packages=(
	bpftrace libbpf1 libbpfcc libclang1-14 libllvm14 libdw1 libelf1 libc6 libgcc-s1 libstdc++6
	zlib1g liblzma5 libbz2-1.0 libedit2 libtinfo6 libxml2 libicu72 libz3-4 libffi8 libbsd0 libmd0
	libzstd1 libdebuginfod1 libcurl3-gnutls libnghttp2-14 libidn2-0 librtmp1 libssh2-1 libpsl5
	libgnutls30 libgssapi-krb5-2 libldap-2.5-0 libbrotli1 libunistring2 libnettle8 libhogweed6
	libgmp10 libp11-kit0 libtasn1-6 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libsasl2-2
	libkeyutils1 libssl3
	libbpf-tools
)
tools=(llcstat)
out=$KPMU_CACHE/bpf-clients-$(hash_of "$0" "$KPMU_TOP/selftests/clients/libraries.sh")

build()
{
	[ ! -e "$out" ] || return 0
	local root tmp p
	apt_setup
	root=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	tmp=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	say "fetching Debian 12's bpftrace and libbpf-tools"
	apt_unpack "$root" "${packages[@]/%//bookworm}"
	mkdir -p "$tmp/lib" "$tmp/usr/bin"
	cp "$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$tmp/lib/"
	cp "$root/usr/bin/bpftrace" "$tmp/usr/bin/"
	libraries "$root" "$tmp" "$root/usr/bin/bpftrace" usr/lib/llvm-14/lib
	for p in "${tools[@]}"; do
		cp "$root/usr/sbin/$p" "$tmp/usr/bin/"
		libraries "$root" "$tmp" "$root/usr/sbin/$p"
	done
	"$tmp/lib/ld-linux-x86-64.so.2" --library-path "$tmp/lib" "$tmp/usr/bin/bpftrace" --version >&2 ||
		die "the packages do not make a bpftrace that runs"
	rm -rf "$root"
	mv "$tmp" "$out"
}

with_lock bpf-clients build
echo "$out"
