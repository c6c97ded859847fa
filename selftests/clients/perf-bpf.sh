#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perf-bpf.sh - provide a perf whose stat has --bpf-counters: Debian's is built without the BPF programs that
# this takes.  It is built from the sources of Linux 7.2, static, and without what needs other libraries.
# Prints the file's name in the cache.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

src=$("$KPMU_TOP/qemu/kernel.sh" source)
out=$KPMU_CACHE/perf-bpf-$(hash_of "$0" "$src/Makefile")
without=(NO_LIBPYTHON NO_LIBPERL NO_SLANG NO_GTK2 NO_LIBTRACEEVENT NO_LIBDEBUGINFOD NO_CAPSTONE NO_LIBLLVM
	NO_BABELTRACE NO_LIBPFM4 NO_JEVENTS NO_LIBUNWIND NO_LIBDW NO_SDT NO_JVMTI NO_LZMA NO_LIBCAP NO_LIBZSTD
	NO_LIBNUMA NO_DEMANGLE NO_RUST NO_SHELLCHECK)

build()
{
	[ ! -e "$out" ] || return 0
	local tmp
	need_tools clang make gcc
	tmp=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	say "building perf with BPF programs (3 minutes)"
	progress "$tmp/log" make -j"$(nproc)" -C "$src/tools/perf" O="$tmp" BUILD_BPF_SKEL=1 WERROR=0 \
		LDFLAGS=-static "${without[@]/%/=1}" "$tmp/perf" ||
		die "perf does not build; see $tmp/log"
	"$tmp/perf" version --build-options | grep -q 'bpf_skeletons.* on ' ||
		die "perf was built without BPF programs; see $tmp/log"
	mv "$tmp/perf" "$out"
	rm -rf "$tmp"
}

with_lock perf-bpf build
echo "$out"
