#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh KERNEL SECONDS [SEED] - the stress test by itself, for as long as you
# like; make stress calls it.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

bin=$KPMU_TOP/build/selftests
"$KPMU_TOP/qemu/run.sh" -k "$1" -c skylake -s 4 -t $(($2 * 2 + 300)) \
	-f "$bin/stress_random" \
	"KPMU_STRESS=$2 KPMU_SEED=${3:-} stress_random"
