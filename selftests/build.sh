#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build the test programs in build/selftests, or take them from the cache (built.sh) if a clone
# has built them of the same sources.  build/tools must have been built.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
cd "$KPMU_TOP"
out=build/selftests
key=$({ gcc --version; find selftests include tools -type f \( -name '*.[chS]' -o -name Makefile \) |
	LC_ALL=C sort | xargs sha256sum; } | sha256sum)
if [ "$(cat $out/.built 2>/dev/null)" != "$key" ]; then
	rm -f $out/.built
	qemu/built.sh get selftests "$key" $out || true
fi
unset MAKEFLAGS	# of make without -j
make -s -j"$(nproc)" -C selftests "$@"
if [ "$(cat $out/.built 2>/dev/null)" != "$key" ]; then
	echo "$key" >$out/.built
	qemu/built.sh put selftests "$key" $out
fi
