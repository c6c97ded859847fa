#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kept.sh - run the tests of the PMU model, unless they have passed with the same QEMU,
# tests, compiler and stock kernels.  In this case print the date and the last line of
# that run.  FRESH=1 always runs them.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../lib.sh"

tests=$KPMU_TOP/qemu/tests
kept=$KPMU_CACHE/qemu-tests

depends()
{
	local k
	basename "$("$KPMU_TOP/qemu/build.sh")"
	for k in 6.1 6.12; do cat "$("$KPMU_TOP/qemu/kernel.sh" $k)/release"; done
	basename "$("$KPMU_TOP/qemu/initramfs.sh")"
	gcc --version
	find "$tests" -type f | LC_ALL=C sort | xargs cat "$KPMU_TOP"/qemu/{run,lib}.sh
}

key=$(depends | sha256sum | cut -c1-16)
last=$kept/$key
if [ -e "$last" ] && [ -z "${FRESH:-}" ]; then
	echo "# the model and its tests are as on $(date -r "$last" +%F): not run again"
	cat "$last"
	exit 0
fi
mkdir -p "$kept"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Most guests have one CPU, so two parts of about the same length run at a time
part()
{
	"$tests/run.sh" "${@:2}" | tee "$work/$1"
}

part 1 props bare amd linux &
part 2 modes || { wait; exit 1; }
wait $!	# set -e: a failure ends the script here
cat "$work"/[12] | awk '/^qemu: / { p += $2; f += $4; s += $6 }
	END { printf "qemu: %d passed, %d failed, %d skipped\n", p, f, s }' >"$last.$$"
cat "$last.$$"
mv "$last.$$" "$last"
