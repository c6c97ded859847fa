# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# tap.sh - to be sourced by a script of tests: counts them in $passed and $failed

passed=0 failed=0
# check WHAT COMMAND... - a test: does the command succeed?
check()
{
	local what=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		echo "ok $what"
	else
		failed=$((failed + 1))
		echo "not ok $what"
	fi
}
