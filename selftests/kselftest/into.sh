#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# into.sh TREE - put the tests into a kernel tree, as tools/testing/selftests/kpmu: the folder, a line
# TARGETS += kpmu, and the headers of the device in include/uapi, from where make headers takes them.
# Then, in the tree:
#	make headers && make -C tools/testing/selftests TARGETS=kpmu run_tests
# Programs whose files have not changed are not copied again.

set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=${1:?into.sh: which kernel tree?}
to=$tree/tools/testing/selftests
[ -e "$to/lib.mk" ] || { echo "into.sh: $tree has no tools/testing/selftests/lib.mk" >&2; exit 1; }

# What a kernel tree has no use for: parts that need a checkout of kpmu or its guests
mkdir -p "$to/kpmu" "$tree/include/uapi/linux"
(cd "$top/selftests" && find . -type f \( -name '*.[chS]' -o -name '*.inc' -o -name '*.files' \
	-o -name Makefile -o -name config -o -name settings \) \
	-not -path './bench/*' -not -path './clients/*' -not -path './demo/*' \
	-not -path './driver/*' -not -path './fuzz/*' -not -path './kunit/*' \
	-not -path './unit/*') | while read -r f; do
	! cmp -s "$top/selftests/$f" "$to/kpmu/$f" || continue
	mkdir -p "$to/kpmu/$(dirname "$f")"
	cp "$top/selftests/$f" "$to/kpmu/$f"
done
cp "$top"/include/uapi/linux/kpmu*.h "$tree/include/uapi/linux/"

# In the order of the alphabet, after the last target that comes before it
if ! grep -q '^TARGETS += kpmu$' "$to/Makefile"; then
	awk '!done && /^TARGETS \+= / && $3 > "kpmu" { print "TARGETS += kpmu"; done = 1 }
		{ print }' "$to/Makefile" >"$to/Makefile.new"
	mv "$to/Makefile.new" "$to/Makefile"
fi
