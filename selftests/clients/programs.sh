#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# programs.sh - provide existing clients: perf, PAPI's tools, rr and numatop from Debian 12's packages, perf
# 6.12 with objdump and addr2line from its backports, and goperf.go compiled by Debian's Go.  Prints the folder in
# the cache whose contents must be added to the root of a guest.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/clients
# shellcheck source=selftests/clients/libraries.sh
. "$here/libraries.sh"
packages=(
	linux-perf libopencsd1 libelf1 libdw1 libunwind8 liblzma5 libslang2
	libperl5.36 libc6 libpython3.11 zlib1g libzstd1 libcap2 libnuma1
	libbabeltrace1 libstdc++6 libgcc-s1 libbz2-1.0 libcrypt1 libexpat1
	libuuid1 libglib2.0-0 libpcre2-8-0
	papi-tools libpapi7.0 libpfm4 libsde1
	rr libcapnp-0.9.2
	numatop libncursesw6 libtinfo6 ncurses-base
)
programs=(perf rr numatop papi_avail papi_command_line papi_component_avail papi_cost
	papi_decode papi_event_chooser papi_native_avail)
# What perf-6.12 and the tools that it runs need on top
newer=(
	libtraceevent1 libdebuginfod1 libcurl3-gnutls libnghttp2-14 libidn2-0 librtmp1 libssh2-1
	libpsl5 libgnutls30 libgssapi-krb5-2 libldap-2.5-0 libbrotli1 libunistring2 libnettle8
	libhogweed6 libgmp10 libp11-kit0 libtasn1-6 libkrb5-3 libk5crypto3 libkrb5support0
	libcom-err2 libsasl2-2 libffi8 libkeyutils1 libssl3
	binutils-x86-64-linux-gnu libbinutils libctf0 libctf-nobfd0 libjansson4
)
out=$KPMU_CACHE/clients-$(hash_of "$0" "$here/goperf.go" "$here/libraries.sh")

unpack_programs()
{
	local root=$1 to=$2 p
	say "fetching Debian 12's perf, PAPI, rr and numatop"
	apt_unpack "$root" "${packages[@]/%//bookworm}"
	mkdir -p "$to/lib" "$to/usr/bin" "$to/usr/lib" "$to/usr/share"
	cp "$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$to/lib/"
	for p in "${programs[@]}"; do
		cp "$root/usr/bin/$p" "$to/usr/bin/"
		libraries "$root" "$to" "$root/usr/bin/$p"
	done
	cp -r "$root/usr/lib/rr" "$to/usr/lib/"
	cp -r "$root/usr/share/papi" "$to/usr/share/"
	mkdir -p "$to/lib/terminfo/v"
	cp "$root/lib/terminfo/v/vt100" "$to/lib/terminfo/v/"
	"$to/lib/ld-linux-x86-64.so.2" --library-path "$to/lib" "$to/usr/bin/perf" --version >&2 ||
		die "the packages do not make a perf that runs"
}

unpack_newer()
{
	local root=$1 to=$2 p
	say "fetching perf 6.12, objdump and addr2line"
	apt_unpack "$root" linux-perf/bookworm-backports "${newer[@]/%//bookworm}"
	cp "$root/usr/bin/perf" "$to/usr/bin/perf-6.12"
	for p in objdump addr2line; do cp "$root/usr/bin/x86_64-linux-gnu-$p" "$to/usr/bin/$p"; done
	libraries "$root" "$to" "$root/usr/bin/perf"
	libraries "$root" "$to" "$to/usr/bin/objdump"
	"$to/lib/ld-linux-x86-64.so.2" --library-path "$to/lib" "$to/usr/bin/perf-6.12" --version >&2 ||
		die "the packages do not make a perf 6.12 that runs"
}

compile_go()
{
	local root=$1 to=$2
	say "fetching Debian 12's Go"
	apt_unpack "$root" golang-1.19-go/bookworm golang-1.19-src/bookworm
	env -i PATH="$PATH" HOME="$root" GO111MODULE=off CGO_ENABLED=0 \
		GOROOT="$root/usr/lib/go-1.19" GOCACHE="$root/cache" \
		"$root/usr/lib/go-1.19/bin/go" build -trimpath -ldflags=-s \
		-o "$to/usr/bin/goperf" "$here/goperf.go" >&2 ||
		die "Debian's Go does not build goperf.go"
}

build()
{
	[ ! -e "$out" ] || return 0
	local root tmp
	apt_setup
	root=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	tmp=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	unpack_programs "$root" "$tmp"
	unpack_newer "$root" "$tmp"
	compile_go "$root" "$tmp"
	rm -rf "$root"
	mv "$tmp" "$out"
}

with_lock clients build
echo "$out"
