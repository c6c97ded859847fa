#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deb-test.sh [SUITE...] - install build/deb's package (deb.sh) on fresh roots of Debian (bookworm and
# trixie) with what it depends on, and run a guest there whose tests compare counts exactly
# (make deb-test).  Needs root, a Debian mirror and mmdebstrap.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
# shellcheck source=selftests/tap.sh
. "$KPMU_TOP/selftests/tap.sh"

[ "$(id -u)" = 0 ] || die "deb-test.sh needs root, for chroot"
deb=''
for deb in "$KPMU_TOP"/build/deb/qemu-pmu_*_amd64.deb; do :; done	# the newest
[ -e "$deb" ] || die "no package: make deb"
"$KPMU_TOP/qemu/deps.sh" mmdebstrap cpio
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-deb-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
kdir=$("$KPMU_TOP/qemu/kernel.sh" 6.12)

# The sample project's test is all of the guest; the kernel panics when it ends, and QEMU exits then
mkdir "$work/init"
gcc -O2 -static -o "$work/init/init" "$KPMU_TOP"/ci/sample/{test,dot}.c
(cd "$work/init" && echo init | cpio --quiet -o -H newc) >"$work/initrd"

# root SUITE - a minimal Debian with the package, installed as a user would
root()
{
	local uri opts list=$work/sources.list root=$work/$1
	uri=${MIRROR:-$(apt_uris | cut -d' ' -f1)}
	[ -n "$uri" ] || die "no Debian mirror in /etc/apt; give MIRROR=http://host/debian"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $1 main" >"$list"
	mkdir "$root"
	mapfile -t opts < <(apt-config dump --format '%f "%v"%n' Acquire::http::Proxy Acquire::https::Proxy |
		grep -v '""$' | sed 's/^/--aptopt=/')
	# The package is copied in before, and apt fetches only its dependencies
	TMPDIR=$work mmdebstrap --variant=apt --aptopt='Acquire::Languages "none"' \
		--dpkgopt=force-unsafe-io "${opts[@]}" --format=tar \
		--customize-hook="copy-in $deb /tmp" \
		--customize-hook="chroot \"\$1\" apt-get install -y --no-install-recommends /tmp/${deb##*/}" \
		"$1" - "$list" >"$work/$1.tar" &&
		tar -x --exclude='./dev/*' -C "$root" -f "$work/$1.tar"
}

# guest SUITE [OPTION...] - run it by the installed qemu-pmu; its console is in $work/out
guest()
{
	local root=$work/$1
	shift
	cp "$kdir/vmlinuz" "$work/initrd" "$root/"
	# /dev and /proc in a mount namespace of its own: they can never be there when the root is removed
	# shellcheck disable=SC2016 # for the inner shell
	timeout 300 unshare -m bash -c 'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc" &&
		chroot "$0" qemu-pmu "$@"' "$root" "$@" -M pc -m 512 -nographic -no-reboot \
		-kernel /vmlinuz -initrd /initrd -append "console=ttyS0 quiet panic=-1" \
		>"$work/out" 2>&1 </dev/null || true
}

all_ok()
{
	# The firmware's control sequences may stand before the first
	[ "$(grep -ac 'ok [a-z ]*: [0-9]*, expected' "$work/out")" = 3 ] &&
		! grep -aq 'not ok' "$work/out" && return
	tail -n 20 "$work/out" | sed 's/^/# /'
	return 1
}

[ $# -gt 0 ] || set -- bookworm trixie
for suite; do
	if ! progress "$work/log" root "$suite"; then
		tail -n 20 "$work/log" >&2
		check "$suite: the package installs" false
		continue
	fi
	check "$suite: the package installs" true
	guest "$suite" -enable-kvm -cpu host
	check "$suite: a guest for KVM counts exactly" all_ok
	guest "$suite" -cpu EPYC-Genoa,pmu=on -smp 2
	check "$suite: a guest of AMD, too" all_ok
	[ -z "$(chroot "$work/$suite" dpkg -V qemu-pmu)" ] && intact=true || intact=false
	check "$suite: its files are intact" "$intact"
	rm -rf "${work:?}/$suite" "$work/$suite.tar"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
