#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# install.sh - what make install does: the tools, library, man pages, headers, udev rule, and
# the module's sources for dkms.  DESTDIR= puts all of it under another root, PREFIX= is
# /usr/local unless given.  The module is built by dkms, or by hand (make module).

set -eu
cd "$(dirname "$0")/.."
prefix=${DESTDIR:-}${PREFIX:-/usr/local}
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' tools/dkms.conf)
src=${DESTDIR:-}/usr/src/kpmu-$version

install -d "$prefix/bin" "$prefix/lib/pkgconfig" "$prefix/share/man/man1" \
	"$prefix/share/man/man3" "$prefix/share/man/man4" "$prefix/share/man/man7" \
	"$prefix/include/linux" "${DESTDIR:-}/usr/lib/udev/rules.d" "$src"
install build/tools/kpmu-exec build/tools/kpmu-record \
	build/tools/kpmu-stat build/tools/kpmu-timeline "$prefix/bin/"
install -m 644 build/tools/libkpmu-preload.so build/tools/libkpmu.a "$prefix/lib/"
install -m 644 build/tools/libkpmu.so "$prefix/lib/libkpmu.so.1"
for tool in kpmu-stat kpmu-record kpmu-timeline; do
	install -D -m 644 tools/kpmu.bash-completion \
		"$prefix/share/bash-completion/completions/$tool"
done
ln -sf libkpmu.so.1 "$prefix/lib/libkpmu.so"
sed "s|@prefix@|${PREFIX:-/usr/local}|; s|@version@|$version|" tools/lib/libkpmu.pc.in \
	>"$prefix/lib/pkgconfig/libkpmu.pc"
install -m 644 tools/lib/libkpmu.h "$prefix/include/"
install -m 644 Documentation/man/*.1 "$prefix/share/man/man1/"
install -m 644 Documentation/man/*.3 "$prefix/share/man/man3/"
install -m 644 Documentation/man/*.4 "$prefix/share/man/man4/"
install -m 644 Documentation/man/*.7 "$prefix/share/man/man7/"
install -m 644 include/uapi/linux/*.h "$prefix/include/linux/"
install -m 644 tools/60-kpmu.rules "${DESTDIR:-}/usr/lib/udev/rules.d/"
cp -r Kbuild kernel include COPYING "$src/"
cp tools/dkms.conf "$src/"

if [ -z "${DESTDIR:-}" ]; then
	getent group kpmu >/dev/null || groupadd --system kpmu
	echo "now: dkms install kpmu/$version   (see Documentation/clients.rst for signing)"
fi
