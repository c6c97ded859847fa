# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Functions for the scripts of this folder, to be sourced: messages, the cache,
# and fetching of Debian packages with a private apt state.
#
# Downloads and builds are in $KPMU_CACHE, under a hash of their inputs, so that a
# clean clone reuses what an earlier one built.  Entries are made in a temporary
# folder and renamed into place, so an aborted run leaves no partial entry.

set -euo pipefail

KPMU_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
KPMU_CACHE=${KPMU_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kpmu}
export KPMU_TOP KPMU_CACHE
mkdir -p "$KPMU_CACHE"

say() { printf '%s\n' "kpmu: $*" >&2; }
die() { printf '%s\n' "kpmu: error: $*" >&2; exit 1; }

# need_tools COMMAND[:PACKAGE]... - fail with a list of all missing commands
need_tools()
{
	local t missing=() pkgs=()

	for t in "$@"; do
		command -v "${t%%:*}" >/dev/null && continue
		missing+=("${t%%:*}")
		pkgs+=("${t#*:}")
	done
	[ ${#missing[@]} -eq 0 ] ||
		die "missing ${missing[*]}; on Debian: apt-get install ${pkgs[*]} (or run 'make deps' as root)"
}

# hash_of FILE... - short hash of the contents (not the names) of the files
hash_of() { cat "$@" | sha256sum | cut -c1-12; }

# with_lock NAME COMMAND... - run the command under a lock, so that a cache entry has
# one builder at a time.  (No "||" here: it would disable set -e in the command.)
with_lock()
{
	local lock=$1 fd
	shift
	exec {fd}>"$KPMU_CACHE/.lock-$lock"
	flock -n "$fd" || { say "waiting for another build of $lock"; flock "$fd"; }
	"$@"
	exec {fd}>&-
}

# progress LOG COMMAND... - run the command with its output in LOG and show a line of
# progress: continuously on a terminal, else every 20 s.  On failure print the end of
# LOG and fail.
progress()
{
	local log=$1 pid start=$SECONDS last=0 rc=0
	shift
	"$@" >"$log" 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		if [ -t 2 ]; then
			printf '\r\033[K  %4ds %.70s' $((SECONDS - start)) \
				"$(tail -n1 "$log" 2>/dev/null | tr -dc '[:print:]')" >&2
		elif [ $((SECONDS - last)) -ge 20 ]; then
			last=$SECONDS
			printf '  %4ds %.90s\n' $((SECONDS - start)) \
				"$(tail -n1 "$log" 2>/dev/null | tr -dc '[:print:]')" >&2
		fi
	done
	wait "$pid" || rc=$?
	[ -t 2 ] && printf '\r\033[K' >&2
	[ $rc -eq 0 ] || { tail -n 25 "$log" >&2; say "full log: $log"; }
	return $rc
}

# ---- Debian packages, with a private apt state -------------------------------

apt_dir=$KPMU_CACHE/apt

apt_private()
{
	local tool=$1
	shift
	"$tool" -q -o Dir::Etc::sourcelist="$apt_dir/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferences=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State::Lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
		-o APT::Sandbox::User=root -o Acquire::Retries=3 \
		-o Acquire::Languages=none "$@"
}

# apt_uris - print "main-uri security-uri" from the apt settings of the machine
apt_uris()
{
	local f=/etc/apt/sources.list.d/debian.sources all
	all=$( { awk '/^URIs:/{for (i = 2; i <= NF; i++) print $i}' "$f" 2>/dev/null
		awk '$1=="deb"{for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) {print $i; break}}' \
			/etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null; } || true)
	printf '%s %s\n' "$(grep -v security <<<"$all" | head -n1)" \
		"$(grep security <<<"$all" | head -n1 || true)"
}

# apt_stale - do the private package lists need an update?
apt_stale() { [ -z "$(find "$apt_dir/stamp" -mmin -1440 2>/dev/null)" ]; }

# apt_setup - fetch private package lists of the suites in use, once a day.  Scripts that
# run at the same time wait here for the first of them: apt refuses a second update.
apt_setup()
{
	apt_stale || return 0
	mkdir -p "$apt_dir"
	(flock 9; apt_stale || exit 0; apt_update) 9>"$apt_dir/updating" || exit 1
}

apt_update()
{
	local uri sec s key=/usr/share/keyrings/debian-archive-keyring.gpg
	{ command -v apt-get && [ -r $key ]; } >/dev/null ||
		die "no apt here: give QEMU_TARBALL=, KDIR= and KERNEL= (see README.md)"
	read -r uri sec < <(apt_uris)
	[ -n "$uri" ] || die "no Debian mirror in /etc/apt; give QEMU_TARBALL=, KDIR= and KERNEL="
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/cache/archives/partial" "$apt_dir/debs"
	{
		for s in bookworm bookworm-backports trixie sid; do
			echo "deb [signed-by=$key] $uri $s main"
		done
		echo "deb-src [signed-by=$key] $uri trixie main"
		[ -z "$sec" ] || echo "deb [signed-by=$key] $sec bookworm-security main"
	} >"$apt_dir/sources.list"
	say "reading Debian's package lists (once a day)"
	progress "$apt_dir/update.log" apt_private apt-get update ||
		die "apt-get update failed"
	touch "$apt_dir/stamp"
}

# apt_newest REGEX SUITE - newest package in the suite whose name matches
apt_newest()
{
	apt_private apt-cache search --names-only "^$1\$" | awk '{print $1}' |
	while read -r p; do
		# (No "&&": its failure for the last package would be that of the loop)
		if apt_private apt-cache madison "$p" | grep "$2" >/dev/null; then echo "$p"; fi
	done | sort -V | tail -n1
}

# apt_unpack DIR PACKAGE[/SUITE]... - fetch packages and unpack them under DIR
apt_unpack()
{
	local dir=$1 work
	shift
	work=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	(cd "$work" && progress "$work/log" apt_private apt-get download "$@") ||
		die "cannot fetch $*"
	for d in "$work"/*.deb; do dpkg-deb -x "$d" "$dir"; done
	rm -rf "$work"
}
