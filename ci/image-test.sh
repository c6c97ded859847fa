#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# image-test.sh [-q] - build the image of ci/Containerfile, and count the sample project in a container of
# it, without a network (make image-test).  The base image is made of Debian's packages under the name in
# FROM, so no registry of images is needed.  Images are in a folder of their own, which is removed.
# Needs root, a Debian mirror, podman, runc and mmdebstrap (which it installs), and 10 GB.
#
#  -q  QEMU and the guest's kernel are those of this machine's cache, and not built in the image
#
# Prints "skipped" and the reason where containers cannot run.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
# shellcheck source=selftests/tap.sh
. "$KPMU_TOP/selftests/tap.sh"

quick=0
while getopts q opt; do
	case $opt in q) quick=1 ;; *) sed -n '3,/^$/s/^# \?//p' "$0" >&2; exit 1 ;; esac
done
skip() { echo "# skipped: $*"; exit 0; }

[ "$(id -u)" = 0 ] || skip "no root"
[ "$(df --output=avail -k "${TMPDIR:-/tmp}" | tail -n1)" -gt 10000000 ] || skip "less than 10 GB in ${TMPDIR:-/tmp}"
"$KPMU_TOP/qemu/deps.sh" podman runc mmdebstrap cpio || skip "podman cannot be installed"
initrd=$("$KPMU_TOP/qemu/initramfs.sh")

work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-image.XXXXXX")
driver=overlay
# Neither systemd nor a daemon; what it stores is in $work
pod()
{
	podman --root "$work/storage" --runroot "$work/run" --tmpdir "$work/tmp" --storage-driver $driver \
		--cgroup-manager cgroupfs --events-backend none "$@"
}
# shellcheck disable=SC2317 # by the trap
cleanup()
{
	pod rm -fa || true
	umount "$work/storage/overlay" || true
	rm -rf "$work"
} >/dev/null 2>&1
trap cleanup EXIT

# run OPTION... IMAGE ARGUMENT... - in a container without a network.  runc, because crun wants cgroups of one
# version; limits, because a root without CAP_SYS_RESOURCE cannot raise them.
run()
{
	pod --runtime runc run --rm --network none --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 "$@"
}

# Does a container run here at all?  One of busybox only.
mkdir "$work/busybox"
(cd "$work/busybox" && cpio --quiet -id 'bin/*' <"$initrd")
works() { tar -c -C "$work/busybox" . | pod import - probe && run probe /bin/true; }
if ! works >"$work/log" 2>&1; then
	driver=vfs
	works >"$work/log" 2>&1 || skip "no container runs here: $(tail -n 1 "$work/log")"
fi

# What FROM names, as Debian makes it, with the sources in the format of its images
from=$(awk '$1 == "FROM" { print $2; exit }' "$KPMU_TOP/ci/Containerfile")
suite=${from##*:}
suite=${suite%-slim}
# base - a minimal Debian, and from -q what the build would put into the cache
base()
{
	local uri sec opts list=$work/debian.sources key=/usr/share/keyrings/debian-archive-keyring.gpg seed=()
	read -r uri sec < <(apt_uris)
	uri=${MIRROR:-$uri}
	[ -n "$uri" ] || { echo "no Debian mirror in /etc/apt; give MIRROR=http://host/debian"; return 1; }
	{
		printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$uri" "$suite" $key
		[ -z "$sec" ] || printf '\nTypes: deb\nURIs: %s\nSuites: %s-security\nComponents: main\nSigned-By: %s\n' \
			"$sec" "$suite" $key
	} >"$list"
	if [ $quick = 1 ]; then
		"$KPMU_TOP/qemu/build.sh"
		"$KPMU_TOP/qemu/kernel.sh" 6.12
		mkdir -p "$work/seed/qemu" "$work/seed/kernel"
		cp "$initrd" "$work/seed/"
		cp -a "$("$KPMU_TOP/qemu/build.sh")" "$work/seed/qemu/"
		cp -a "$("$KPMU_TOP/qemu/kernel.sh" 6.12)" "$work/seed/kernel/"
		seed=(--customize-hook="mkdir -p \"\$1/opt/kpmu-cache\""
			--customize-hook="copy-in $work/seed/qemu $work/seed/kernel $work/seed/${initrd##*/} /opt/kpmu-cache")
	fi
	# These stay in the image's apt.conf.d
	mapfile -t opts < <(apt-config dump --format '%f "%v"%n' Acquire::http::Proxy Acquire::https::Proxy \
		Acquire::Check-Valid-Until |
		grep -v '""$' | sed 's/^/--aptopt=/')
	# What mmdebstrap writes has other names
	TMPDIR=$work mmdebstrap --variant=minbase --aptopt='Acquire::Languages "none"' \
		--dpkgopt=force-unsafe-io "${opts[@]}" "${seed[@]}" \
		--customize-hook="rm -f \"\$1\"/etc/apt/sources.list \"\$1\"/etc/apt/sources.list.d/*" \
		--customize-hook="upload $list /etc/apt/sources.list.d/debian.sources" \
		"$suite" "$work/base.tar" "$list" &&
		pod import "$work/base.tar" "$from" && rm -f "$work/base.tar"
}
progress "$work/log" base || { check "the base image" false; exit 1; }

build() { pod build --pull=never --network host --isolation chroot -f "$KPMU_TOP/ci/Containerfile" -t kpmu "$KPMU_TOP"; }
if ! progress "$work/log" build; then
	check "the image builds" false
	exit 1
fi
check "the image builds" true
echo "# $(pod image inspect --format '{{.Size}}' kpmu | awk '{ printf "%.0f MB", $1 / 1e6 }')"

# The sample project, at a path that the image does not have
project=$work/project
cp -r "$KPMU_TOP/ci/sample" "$project"
# in_project OPTION... IMAGE ARGUMENT...
in_project() { run -v "$project:$project" -w "$project" "$@"; }

# says STATUS TEXT ARGUMENT... - what a container does: its exit status, and a line of its output
says()
{
	local status=$1 text=$2 rc=0
	shift 2
	in_project "$@" >"$work/out" 2>&1 </dev/null || rc=$?
	[ $rc = "$status" ] && tr -d '\r' <"$work/out" | grep -Eqx "$text" && return
	{ tail -n 20 "$work/out"; echo "status $rc"; } | sed 's/^/# /'
	return 1
}

check "its compiler builds a project" in_project --entrypoint make kpmu -s
check "a count is as expected" says 0 'ok instructions:u == 3000004' \
	kpmu -x 'instructions:u == 3000004' -x 'branches:u == 1000001' ./loop
check "a count is not as expected" says 1 'not ok instructions:u == 3000005: is 3000004 \(-1\)' \
	kpmu -x 'instructions:u == 3000005' ./loop
check "a program counts for itself" says 0 'ok .*: [0-9]*, expected.*' kpmu ./test
check "qemu-pmu" says 0 'QEMU emulator version .*' --entrypoint qemu-pmu kpmu --version
echo "$passed passed, $failed failed"
[ $failed = 0 ]
