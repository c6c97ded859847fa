#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [KERNEL...] - real clients, unmodified: the lines of the file list in a
# guest, natively and by each route, compared (make clients).

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/clients
build=$KPMU_TOP/build
log=$build/log
mkdir -p "$log"
perf=$("$here/perf.sh")
files=(-f "$here/guest.sh" -f "$here/list" -f "$build/tools/libkpmu-preload.so"
	-f "$build/tools/kpmu-exec" -f "$perf/perf")
for f in "$perf"/lib/*; do files+=(-f "$f:/lib/"); done
for f in "$build"/selftests/client_*; do files+=(-f "$f"); done

bad=0
for kernel in "${@:-6.1}"; do
	echo "== clients on $kernel"
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -s 2 -t "${CLIENTS_LIMIT:-400}" "${files[@]}" \
		"sh guest.sh" | tee "$log/clients-$kernel"
	[ "${PIPESTATUS[0]}" = 0 ] || bad=1
done
exit $bad
