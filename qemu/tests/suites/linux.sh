# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash

suite_linux()
{
	:
}
