#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# userland.sh - build (once) the Debian 13 userland of make shell: a folder with perf, bpftrace, gdb,
# strace, gcc and others (userland/packages).  Print its path.  The guest mounts it read-only.
#
# Debian 13 on all kernels: what is built on Debian 12 runs there, and its perf and bpftrace are newer.
# MIRROR=http://host/debian replaces the mirror of the machine's apt.  Without root, mmdebstrap needs
# user namespaces (package uidmap); all files then belong to the user that builds.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

here=$KPMU_TOP/qemu/userland
suite=trixie
key=$(hash_of "$here/packages" "$0")
store=$KPMU_CACHE/userland
dir=$store/root-$key
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
hint="make shell BUSYBOX=1 needs no userland, and make shell ROOT=/ uses that of this machine"

# sources - the lines of sources.list
sources()
{
	local uri sec

	read -r uri sec < <(apt_uris) || true
	uri=${MIRROR:-$uri}
	[ -n "$uri" ] || die "no Debian mirror in /etc/apt; give MIRROR=http://host/debian ($hint)"
	echo "deb [signed-by=$keyring] $uri $suite main"
	if [ -z "${MIRROR:-}" ] && [ -n "$sec" ]; then
		echo "deb [signed-by=$keyring] $sec $suite-security main"
	fi
}

# proxies - options that give mmdebstrap's apt the proxies of this machine's
proxies()
{
	local p value

	for p in Acquire::http::Proxy Acquire::https::Proxy; do
		value=$(apt-config dump --format '%v' "$p" 2>/dev/null) || continue
		[ -z "$value" ] || echo "--aptopt=$p \"$value\""
	done
}

# debstrap INCLUDE SOURCES DIR [OPTION...] - as a tar archive, because without root only mmdebstrap's own
# namespace may write files of several users
debstrap()
{
	local include=$1 list=$2 out=$3
	shift 3
	TMPDIR=$store mmdebstrap --variant=apt --include="$include" \
		--aptopt='Acquire::Retries "2"' --aptopt='Acquire::Languages "none"' \
		--dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-include=/usr/share/doc/*/copyright' \
		"$@" --format=tar $suite - "$list" |
		tar -x --exclude='./dev/*' -C "$out"
}

build()
{
	local tmp include opts

	[ ! -e "$dir.ok" ] || return 0
	command -v mmdebstrap >/dev/null || "$KPMU_TOP/qemu/deps.sh" mmdebstrap || die "missing mmdebstrap; $hint"
	[ -r $keyring ] || die "missing $keyring; on Debian: apt-get install debian-archive-keyring ($hint)"
	mkdir -p "$store"
	include=$(grep -v '^#' "$here/packages" | paste -sd,)
	sources >"$store/sources.list"
	mapfile -t opts < <(proxies)
	tmp=$(mktemp -d "$store/tmp.XXXXXX")
	chmod 755 "$tmp"
	say "building the Debian userland of the guest: about 300 MB to fetch, some minutes, once"
	if ! progress "$store/build.log" debstrap "$include" "$store/sources.list" "$tmp" "${opts[@]}"; then
		rm -rf "$tmp"
		die "cannot build the userland from $(awk 'NR == 1 { print $3 }' "$store/sources.list"); $hint"
	fi
	# Guests may be using the folder of an older list of packages: only its mark goes with the next build
	for old in "$store"/root-*; do
		[ ! -d "$old" ] || [ -e "$old.ok" ] || rm -rf "$old"
	done
	rm -f "$store"/root-*.ok
	rm -rf "$dir"
	mv "$tmp" "$dir"
	: >"$dir.ok"
}

[ -e "$dir.ok" ] || with_lock userland build
echo "$dir"
