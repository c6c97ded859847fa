#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-e REGEX] [KERNEL...] - real clients, unmodified: the lines of the file list in a
# guest (those that match), natively and by each route, compared (make clients).
# run.sh -g SCRIPT [KERNEL...] - another script there: perftest.sh, busy.sh, driver.sh

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/clients
build=$KPMU_TOP/build
log=$build/log
mkdir -p "$log"
programs=$("$here/programs.sh")
script=guest.sh cpus=2 only=''
while getopts e:g: opt; do
	case $opt in e) only=$OPTARG ;; g) script=$OPTARG cpus=4 ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
files=(-f "$here/$script" -f "$here/list" -f "$build/tools/libkpmu-preload.so"
	-f "$build/tools/kpmu-exec" -f "$programs/.:/")
for f in "$build"/selftests/client_*; do files+=(-f "$f"); done

equal=0 all=0 bad=0 only_arg=""
[ -z "$only" ] || only_arg="'$only'"
for kernel in "${@:-6.1}"; do
	echo "== ${script%.sh} on $kernel"
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -s $cpus -t "${CLIENTS_LIMIT:-900}" "${files[@]}" \
		-f "$build/$kernel/selftests/driver/kpmu-toy.ko" \
		"sh $script $only_arg" | tee "$log/${script%.sh}-$kernel"
	[ "${PIPESTATUS[0]}" = 0 ] || bad=1
	read -r e a < <(sed -n 's/^[a-z ]*: \([0-9]*\) of \([0-9]*\) .*/\1 \2/p' \
		"$log/${script%.sh}-$kernel" | tail -n 1; echo 0 0)
	equal=$((equal + e)) all=$((all + a))
done
[ $all = 0 ] || echo "clients: $equal passed, $((all - equal)) failed"
exit $bad
