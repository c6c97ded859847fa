#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bolt.sh KERNEL - optimise a program with BOLT from branch records of kpmu (make bolt): perf2bolt must
# find the same profile in kpmu's perf.data as in that of native perf, and the optimised program must
# take fewer branches.  BOLT and perf are Debian 12's.  The last line is "bolt: N passed, M failed".

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/clients
build=$KPMU_TOP/build
kernel=${1:?name of a kernel}
work=$build/bolt
rm -rf "$work"
mkdir -p "$work/bin"
programs=$("$here/programs.sh")
tools=$KPMU_CACHE/bolt-$(hash_of "$0")

fetch_bolt()
{
	[ ! -e "$tools" ] || return 0
	local tmp
	say "fetching Debian 12's BOLT"
	apt_setup
	tmp=$(mktemp -d "$KPMU_CACHE/tmp.XXXXXX")
	apt_unpack "$tmp" {bolt-16,libz3-4,libtinfo6,libzstd1,zlib1g,libstdc++6,libgcc-s1,libc6}/bookworm
	mv "$tmp" "$tools"
}
with_lock bolt fetch_bolt

# tool NAME ARGUMENTS - run a program of BOLT with its own libraries
tool()
{
	local name=$1
	shift
	"$tools/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path \
		"$tools/lib/x86_64-linux-gnu:$tools/usr/lib/x86_64-linux-gnu" \
		"$tools/usr/lib/llvm-16/bin/$name" "$@"
}

# perf2bolt runs the perf that it finds in PATH
cat >"$work/bin/perf" <<END
#!/bin/sh
exec "$programs/lib/ld-linux-x86-64.so.2" --library-path "$programs/lib" "$programs/usr/bin/perf" "\$@"
END
chmod +x "$work/bin/perf"

# shellcheck source=selftests/tap.sh
. "$KPMU_TOP/selftests/tap.sh"

guest()
{
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -s 1 -i -L -t 600 -f "$here/bolt-guest.sh" \
		-f "$build/tools/libkpmu-preload.so" -f "$build/selftests/client_hot" \
		-f "$programs/.:/" "${@:2}" "sh bolt-guest.sh $1"
}

# extract NAME - a file that the guest has printed
extract()
{
	sed -n "/^== begin $1/,/^== end $1/p" "$work/record" | grep -v '^== ' | tr -d '\r' |
		base64 -d | gunzip >"$work/$1"
}

# profile NAME - convert NAME.data for BOLT; predictions differ, as they depend on what ran before
profile()
{
	PATH=$work/bin:$PATH tool perf2bolt -p "$work/$1.data" -o "$work/$1.fdata" \
		"$build/selftests/client_hot" >"$work/$1.log" 2>&1 || { cat "$work/$1.log"; return 1; }
	awk 'NF == 8 { print $1, $2, $3, $4, $5, $6, $8 }' "$work/$1.fdata" | sort >"$work/$1.profile"
	[ -s "$work/$1.profile" ]
}

# same_profile - the same branches, equally often.  The hardware also records returns from
# interrupts, each of which takes the place of one branch: a hundredth may differ.
same_profile()
{
	awk '{ key = $1 " " $2 " " $3 " " $4 " " $5 " " $6 }
		FNR == NR { count[key] = $7; next }
		!(key in count) { print "only kpmu: " $0; bad = 1; next }
		{ d = count[key] - $7; if (d < 0) d = -d
		  if (d > 3 + count[key] / 100) { print "native " count[key] ": " $0; bad = 1 }
		  delete count[key] }
		END { for (key in count) if (count[key] > 3) { print "only native: " key; bad = 1 }
			exit bad }' "$work/native.profile" "$work/kpmu.profile"
}

optimise()
{
	tool llvm-bolt "$build/selftests/client_hot" -data "$work/kpmu.fdata" -o "$work/hot.bolt" \
		-reorder-blocks=ext-tsp >"$work/bolt.log" 2>&1 || { cat "$work/bolt.log"; return 1; }
}

# fewer - the optimised program computes the same, and takes fewer branches
fewer()
{
	guest count -f "$work/hot.bolt" | tee "$work/count"
	awk '/^client_hot/ { status = $2; before = $3 }
		/^hot.bolt/ { same = $2 == status; after = $3 }
		END { exit !(same && before > 0 && after > 0 && after < before) }' "$work/count"
}

guest record >"$work/record"
check "perf.data of native perf" extract native.data
check "perf.data of kpmu" extract kpmu.data
check "profile of native perf" profile native
check "profile of kpmu" profile kpmu
check "the profiles are the same" same_profile
check "llvm-bolt" optimise
check "fewer taken branches" fewer
echo "bolt: $passed passed, $failed failed"
[ $failed = 0 ]
