#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-e REGEX] [KERNEL...] - real clients, unmodified: the lines of the file list in a
# guest (those that match), natively and by each route, compared (make clients).

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

only=''
if [ "${1:-}" = -e ]; then only=$2; shift 2; fi
bad=0
for kernel in "${@:-6.1}"; do
	echo "== clients on $kernel"
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -s 2 -t "${CLIENTS_LIMIT:-600}" "${files[@]}" \
		"sh guest.sh '$only'" | tee "$log/clients-$kernel"
	[ "${PIPESTATUS[0]}" = 0 ] || bad=1
done
exit $bad
