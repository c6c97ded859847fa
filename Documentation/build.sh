#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh - build the documentation as HTML in build/htmldocs: the pages of this folder, the
# kernel-doc of the sources by folder, and the manual pages.  A warning of kernel-doc or of
# Sphinx fails the build.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
cd "$KPMU_TOP"
need_tools sphinx-build dot mandoc perl git

shopt -s nullglob
kdocs=("$("$KPMU_TOP/qemu/kernel.sh" 6.12)"/root/usr/lib/linux-kbuild-*/scripts/kernel-doc)
[ ${#kdocs[@]} -gt 0 ] || die "the headers of 6.12 have no kernel-doc"

src=build/htmldocs-src
out=build/htmldocs
rm -rf "$src" "$out"
mkdir -p "$src/api" "$src/man"
cp -r Documentation/*.rst Documentation/*.md Documentation/*.png Documentation/conf.py Documentation/labs "$src/"

title()
{
	printf '.. SPDX-License-Identifier: GPL-2.0-only\n\n%s\n%s\n\n' "$1" "${1//?/=}"
}

# The kernel-doc of a folder, in the order of Kbuild, headers first
failed=0
folder()
{
	local name=$1 f log=$src/kernel-doc.log
	shift
	title "$name" >"$src/api/${name//\//-}.rst"
	for f; do
		[ -e "$f" ] || continue	# .S
		perl "${kdocs[0]}" -Wall -rst "$f" 2>"$log" >"$src/file.rst" || true
		if grep -v 'no structured comments found' "$log" >&2; then failed=1; fi
		[ -s "$src/file.rst" ] || continue
		printf '\n%s\n%s\n\n' "${f##*/}" "$(tr -c '\n' '-' <<<"${f##*/}")"
		cat "$src/file.rst"
	done >>"$src/api/${name//\//-}.rst"
}

objects()
{
	grep -o 'kernel/[^ ]*\.o' Kbuild | sed 's/\.o$/.c/'
}

folders=()
while read -r d; do
	# Folders without headers, or with nothing else, are no failures
	mapfile -t files < <({ git ls-files "$d/*.h"; objects; } | grep -E "^$d/[^/]*$" || true)
	grep -q '^/\*\*' /dev/null "${files[@]}" || continue
	folder "$d" "${files[@]}"
	folders+=("api/${d//\//-}")
done < <(objects | sed 's,/[^/]*$,,' | awk '!seen[$0]++'; echo include/linux; echo include/uapi/linux)
[ $failed = 0 ] || die "kernel-doc has warnings"

{
	title "Functions and structures"
	printf 'From the comments of the sources, from the bottom layer to the top.\n\n.. toctree::\n   :maxdepth: 1\n\n'
	printf '   %s\n' "${folders[@]#}"
} >"$src/api.rst"

{
	title "Manual pages"
	printf '.. toctree::\n   :maxdepth: 1\n\n'
} >"$src/man.rst"
for f in Documentation/man/*.[1-8]; do
	name=$(basename "$f")
	{
		title "${name%.*}(${name##*.})"
		printf '.. raw:: html\n\n'
		mandoc -T html -O fragment "$f" | sed 's/^/   /'
	} >"$src/man/${name/./-}.rst"
	printf '   man/%s\n' "${name/./-}" >>"$src/man.rst"
done
rm -f "$src/file.rst" "$src/kernel-doc.log"

sphinx-build -q -W --keep-going -j "$(nproc)" -b html "$src" "$out"
say "built $out/index.html"
