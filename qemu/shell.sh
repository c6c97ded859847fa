#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# shell.sh [options] [COMMAND [ARGUMENT...]] - a guest with a Debian userland (userland.sh), kpmu and
# the current folder: a shell (make shell), or one command (make run), whose exit status is that of
# this script.  A single COMMAND may use the shell's syntax: shell.sh 'perf stat ls | cat'.
#
#  -k NAME    kernel: 6.1, 6.12 (default), 7.2, debug, given (see kernel.sh)
#  -d DIR     share this folder with the guest, below the same path (default: the top of the git
#             checkout of the current folder, or the current folder).  The guest may change it: what is
#             built or recorded there is for the host, too.
#  -R         changes in the shared folder are not kept
#  -r ROOT    another userland, read-only as Debian's; / is that of this machine, with its compilers
#  -e VAR     pass on a variable of the environment, or -e VAR=VALUE
#  -N         network (the host's, behind NAT) for a command; a shell has it
#  -S DIR     what the guest sees as /run/host (default: a temporary folder), to exchange files
#  -t SEC     time limit of a command (default 3600)
#  -M MIB     memory (default 2048)
#  -c -p -s -m -P -a -W -L -Z -i   as in run.sh: CPU model, its properties, number of CPUs, module,
#             its parameters, kernel arguments, accepted warnings, branch records, suspend, -icount.  With -i,
#             addresses are not random, so that counts of user mode are the same in each run.
#
# Exit status: that of the command or shell; 124 if the time limit was exceeded, 125 if the guest could
# not be prepared, 126 if the kernel log has a warning.  The output of a command is on stdout.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"
trap 'exit 125' ERR

# In functions of lib.sh, die gives status 1, which may be a command's
die() { printf '%s\n' "kpmu: error: $*" >&2; exit 125; }

here=$KPMU_TOP/qemu
kernel=6.12 root='' share='' overlay=0 net=0 session='' limit=3600 memory=2048 module='' model=skylake
cpus=2 kargs='' icount=0
pass=() environ=()
while getopts k:d:r:e:S:t:M:c:p:s:m:P:a:W:RNLZi opt; do
	case $opt in
	k) kernel=$OPTARG ;; d) share=$OPTARG ;; r) root=$OPTARG ;; R) overlay=1 ;;
	e) environ+=("$OPTARG") ;; S) session=$OPTARG ;; N) net=1 ;; t) limit=$OPTARG ;;
	M) memory=$OPTARG ;; m) module=$OPTARG ;; c) model=$OPTARG ;; s) cpus=$OPTARG ;;
	a) kargs=$OPTARG ;; p|P|W) pass+=("-$opt" "$OPTARG") ;; L) pass+=(-L) ;; Z) pass+=(-Z) ;;
	i) icount=1 pass+=(-i) ;;
	*) sed -n '3,/^$/s/^# \?//p' "$0" >&2; exit 125 ;;
	esac
done
shift $((OPTIND - 1))
[ "$model" != alderlake ] || [ "$cpus" != 2 ] || cpus=4
[ $icount = 0 ] || kargs+=" norandmaps"
kargs+=" pti=off"	# each change between the page tables of kernel and user flushes QEMU's TLB

# quote WORD... - for a shell
quote() { local w; for w; do printf "'%s' " "${w//\'/\'\\\'\'}"; done; }

# top_of DIR - what to share for work in DIR
top_of() { git -C "$1" rev-parse --show-toplevel 2>/dev/null || (cd "$1" && pwd -P); }

command=''
if [ $# = 1 ]; then
	command=$1
	[ -n "$command" ] || die "an empty command"
elif [ $# -gt 1 ]; then
	command=$(quote "$@")
else
	[ -t 0 ] || die "a shell needs a terminal; give a command"
fi

cwd=$(pwd -P)
share=$(realpath -e -- "${share:-$(top_of "$cwd")}") || die "no folder to share"
[ -d "$share" ] || die "$share is no folder"
case $share in
/|/bin|/boot|/dev|/dev/*|/etc|/home|/lib*|/proc|/proc/*|/run|/sbin|/sys|/sys/*|/tmp|/usr|/var)
	die "$share is the guest's own: go to the folder of a project, or name one (-d DIR)" ;;
esac
case $cwd/ in "$share"/*) ;; *) cwd=$share ;; esac

# What to mount; each needs its program
if [ -n "$root" ]; then
	[ -x "$root/bin/bash" ] || die "no $root/bin/bash: $root is no userland"
else
	root=$("$here/userland.sh") || exit 125
fi
kdir=$("$here/kernel.sh" "$kernel") || exit 125
[ -e "$kdir/userland/order" ] || die "the kernel $kernel has no list of drivers ($kdir/userland/order)"
tools=$KPMU_TOP/build/tools
if [ "$module" != none ]; then
	[ -n "$module" ] || [ -e "$KPMU_TOP/build/$kernel/kpmu.stripped.ko" ] || "$here/module.sh" "$kernel"
	[ -e "$tools/kpmu-stat" ] || make -s -C "$KPMU_TOP/tools" OUTPUT="$tools"
fi

# Links, because run.sh separates arguments of QEMU at spaces
work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-shell.XXXXXX")
watcher=''
# shellcheck disable=SC2317 # by the trap
cleanup() { [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true; rm -rf "$work"; }
trap cleanup EXIT
if [ -n "$session" ]; then
	mkdir -p "$session"
else
	session=$work/session
	mkdir "$session"
fi
rm -f "$session/status"
home=$KPMU_CACHE/userland/home
mkdir -p "$home" "$work/guest/modules"
cp "$here/userland/enter" "$here/userland/bashrc" "$work/guest/"
cp "$kdir"/userland/* "$work/guest/modules/"
args=()
link()
{
	ln -s "$(realpath "$2")" "$work/$1"
	args+=(-virtfs "local,path=$work/$1,mount_tag=$1,security_model=none,multidevs=remap,readonly=$3")
}
link root "$root" on
link session "$session" off
link home "$home" off
link share "$share" "$([ $overlay = 1 ] && echo on || echo off)"
top=''
case $KPMU_TOP/ in "$share"/*) ;; *) top=$KPMU_TOP; link top "$top" on ;; esac

if [ -z "$command" ] || [ $net = 1 ]; then
	net=1
	args+=(-netdev "user,id=n" -device "virtio-net-pci,netdev=n,romfile=")
fi

stty size >"$session/size" 2>/dev/null || : >"$session/size"

# The environment of the guest's programs
vars=("TERM=${TERM:-dumb}" "LANG=C.UTF-8" "KPMU_MODEL=$model" "KPMU_SHARE=$share"
	"KPMU_OVERLAY=$overlay" "KPMU_ICOUNT=$icount"
	# The copies that perf record makes of what it has seen need not outlive the guest
	"PERF_BUILDID_DIR=/tmp/.debug")
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ "$root" = / ]; then
	# The programs of this user, as of rustup
	vars+=("HOME=$HOME")
	path=$PATH:/usr/sbin:/sbin
else
	vars+=("HOME=/home/guest")
fi
vars+=("PATH=$tools:$path")
for v in "${environ[@]}"; do
	case $v in *=*) ;; *) v=$v=${!v:-} ;; esac
	vars+=("$v")
done
{
	echo "SHARE=$(quote "$share") TOP=$(quote "$top") CWD=$(quote "$cwd") OVERLAY=$overlay NET=$net"
	echo "TOOLS=$(quote "$([ "$module" = none ] || echo "$tools")")"
	echo "PIPE=$([ -t 1 ] && echo 0 || echo 1)"
	echo "COMMAND=$(quote "$command")"
	echo "ENVIRON=$(quote "$(quote "${vars[@]}")")"
} >"$work/guest/config"

run=(-k "$kernel" -c "$model" -s "$cpus" -M "$memory" -K -f "$work/guest:/userland" -a "$kargs" "${pass[@]}")
[ -z "$module" ] || run+=(-m "$module")

rc=0
if [ -z "$command" ]; then
	# The window's size goes to the guest by a file; only this process group gets its signal
	(
		trap 'stty size </dev/tty >"$session/size"' WINCH
		while :; do sleep 3600 & wait $! || true; done
	) </dev/null >/dev/null 2>&1 &
	watcher=$!
	saved=$(stty -g)
	# ^A is for the guest's shell, ^] for QEMU
	"$here/run.sh" "${run[@]}" -q "${args[*]} -echr 29" -I 2> >(grep -v "TCG doesn't support" >&2) || rc=$?
	stty "$saved"
else
	"$here/run.sh" "${run[@]}" -q "${args[*]}" -t "$limit" -O "/bin/sh /userland/enter" || rc=$?
fi
[ $rc = 0 ] || exit $rc
[ -s "$session/status" ] || die "the guest ended without a status"
exit "$(cat "$session/status")"
