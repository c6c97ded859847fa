# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# libraries.sh - to be sourced by scripts that take programs out of Debian's packages

# libraries ROOT TO PROGRAM [DIR...] - copy the shared libraries that the program of the unpacked packages in
# ROOT needs to TO/lib; they are in its usual folders, and in DIR below ROOT
libraries()
{
	local root=$1 to=$2 program=$3 path lib
	path=$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu
	shift 3
	for lib; do path+=:$root/$lib; done
	"$root/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path "$path" --list "$program" |
	grep -oE '/[^ ]*\.so[^ ]*' | while read -r lib; do
		case $lib in "$root"/*) cp -L "$lib" "$to/lib/" ;; esac
	done
}
