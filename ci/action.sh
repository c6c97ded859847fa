#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# action.sh key|prepare|run - the steps of action.yml, whose inputs are INPUT_*.
#
#  key      print to $GITHUB_OUTPUT what is to be cached, and under which key
#  prepare  install packages, fetch or build QEMU, kernel, and userland
#  run      run the command in a guest (run-in-guest.sh)

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

here=$KPMU_TOP/ci
kernel=${INPUT_KERNEL:-6.12}
userland=${INPUT_USERLAND:-host}
case $userland in host|debian) ;; *) die "userland: host or debian, not '$userland'" ;; esac

key()
{
	local q=$KPMU_TOP/qemu
	{
		echo "path=$KPMU_CACHE"
		echo "key=kpmu-$kernel-$userland-$(hash_of "$q"/*.sh "$q/init" "$q"/model/* "$q"/patches/* \
			"$q"/kernels/* "$q"/userland/packages)"
	} >>"${GITHUB_OUTPUT:-/dev/stdout}"
}

prepare()
{
	# shellcheck source=/dev/null
	[ "$(. /etc/os-release && echo "$ID")" = debian ] ||
		die "this job does not run on Debian: give it a container, as 'container: debian:trixie'"
	"$KPMU_TOP/qemu/deps.sh" git kmod
	"$KPMU_TOP/qemu/build.sh" >/dev/null
	"$KPMU_TOP/qemu/kernel.sh" "$kernel" >/dev/null
	"$KPMU_TOP/qemu/initramfs.sh" >/dev/null
	if [ "$userland" = debian ]; then
		"$KPMU_TOP/qemu/userland.sh" >/dev/null
	else
		command -v perf >/dev/null || "$KPMU_TOP/qemu/deps.sh" linux-perf
	fi
	# Of the build, only the result is to be cached
	rm -rf "$KPMU_CACHE"/qemu/tree-* "$KPMU_CACHE"/qemu/src "$KPMU_CACHE"/apt
}

# option NAME VALUE - add an option of run-in-guest.sh, unless there is no value
options=()
option() { [ -z "$2" ] || options+=("$1" "$2"); }
# flag NAME VALUE - the same, without a value, if VALUE is "true"
flag()
{
	case $2 in
	true) options+=("$1") ;;
	false|'') ;;
	*) die "true or false, not '$2'" ;;
	esac
}

run()
{
	[ -n "${INPUT_RUN:-}" ] || die "run: which command?"
	option -x "${INPUT_EXPECT:-}"
	option -X "${INPUT_EXPECT_FILE:-}"
	option -e "${INPUT_EVENTS:-}"
	option -n "${INPUT_TIMES:-}"
	option -k "$kernel"
	option -c "${INPUT_CPU:-}"
	option -t "${INPUT_LIMIT:-}"
	[ "$userland" = debian ] || options+=(-r /)
	case ${INPUT_ICOUNT:-true} in true) ;; *) options+=(-j) ;; esac
	flag -K "${INPUT_KPMU:-}"
	flag -N "${INPUT_NETWORK:-}"
	exec "$here/run-in-guest.sh" "${options[@]}" "$INPUT_RUN"
}

case ${1:-} in
key|prepare|run) "$1" ;;
*) sed -n '3,/^$/s/^# \?//p' "$0" >&2; exit 125 ;;
esac
