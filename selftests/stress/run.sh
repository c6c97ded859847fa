#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh KERNEL SECONDS [SEED [PROGRAM]] - run only a stress test, for SECONDS, with the
# invariants checked (check=1).  Called by "make stress".  PROGRAM: stress_random (default) or
# stress_storm.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

bin=$KPMU_TOP/build/selftests
prog=${4:-stress_random}
"$KPMU_TOP/qemu/run.sh" -k "$1" -P check=1 -c skylake -s 4 -t $(($2 * 2 + 300)) \
	-f "$bin/$prog" \
	"KPMU_STRESS=$2 KPMU_SEED=${3:-} $prog"
