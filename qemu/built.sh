#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# built.sh get|put NAME KEY DIR - keep a folder with a finished build in the cache under a key, a hash of
# all that it was built from, so that a clean clone need not build what another one has built.  "get"
# fails if there is none, or with FRESH=1, and does not touch DIR then.  Its files are new, so that make
# finds them newer than the sources of a clone.  Of each NAME, the four that were used last stay.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/lib.sh"

what=${1:?get or put} name=${2:?name} key=${3:?key} dir=${4:?folder}
kept=$KPMU_CACHE/built/$name
file=$kept/${key:0:32}.tar.zst
mkdir -p "$kept"
case $what in
get)
	[ -z "${FRESH:-}" ] && [ -e "$file" ] || exit 1
	mkdir -p "$dir"
	touch "$file"
	tar -C "$dir" -I 'zstd -d' -xf "$file"
	# One time for all, so that none is newer than what was made of it
	find "$dir" -exec touch -hd "@$EPOCHSECONDS" {} + ;;
put)
	tar -C "$dir" -I 'zstd -q -3' -cf "$file.$$" .
	mv "$file.$$" "$file"
	find "$kept" -name '*.tar.zst' -printf '%T@ %p\n' | sort -nr | tail -n +5 | cut -d' ' -f2- |
		xargs -r rm -f ;;
*) die "built.sh: get or put, not $what" ;;
esac
