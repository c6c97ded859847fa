#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh - install the library in an empty root, and build the example against it by pkg-config:
# with the shared and the static library, and its header as C++.

set -euo pipefail
cd "$(dirname "$0")/../.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
make -s -C tools OUTPUT="$PWD/build/tools" >/dev/null
DESTDIR=$root PREFIX=/usr tools/install.sh >/dev/null
export PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
read -ra cflags < <(pkg-config --cflags libkpmu)
read -ra libs < <(pkg-config --libs libkpmu)

cc -Wall -Wextra -Werror "${cflags[@]}" -o "$root/shared" tools/lib/example.c "${libs[@]}"
readelf -d "$root/shared" | grep -q 'NEEDED.*libkpmu.so.1'
cc -Wall -Wextra -Werror "${cflags[@]}" -static -o "$root/static" tools/lib/example.c "${libs[@]}"
echo '#include <libkpmu.h>
int main() { return kpmu_device() < 0; }' |
	c++ -Wall -Wextra -Werror "${cflags[@]}" -x c++ -o "$root/c++" - -x none "${libs[@]}"
# The manual page shows this example
diff <(sed -n '/^\.SH EXAMPLE/,/^\.fi/p' Documentation/man/libkpmu.3 | sed -n '/^#include <stdio/,$p' |
	sed '$d; s/\\-/-/g; s/\\\\/\\/g; s/^\\&//') <(sed -n '/^#include <stdio/,$p' tools/lib/example.c)
# Nothing is visible but what the header declares
diff <(nm -D --defined-only "$root/usr/lib/libkpmu.so" | awk '{ print $3 }' | sort) \
	<(grep -oE '^[a-z].*\bkpmu_[a-z_]+\(' tools/lib/libkpmu.h | grep -oE 'kpmu_[a-z_]+\(' |
		tr -d '(' | sort)
for program in shared static; do
	LD_LIBRARY_PATH=$root/usr/lib "$root/$program" >"$root/out" 2>&1 && continue
	# Without the module there is no device
	grep -q 'No such file or directory' "$root/out" || { cat "$root/out"; exit 1; }
done
