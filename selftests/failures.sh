#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# failures.sh [STAGE...] - list what went wrong in the last test run: a line for each failed
# test, kernel report and flaky program, with the log file that has the details.  all.sh calls
# it at the end of a run, so that the last lines of a CI log say what failed.  The arguments are
# the stages of all.sh that failed.  LOGS=folder evaluates the logs in that folder (default:
# build/log).  Prints nothing if all passed.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
cd "$KPMU_TOP"
shopt -s nullglob
log=${LOGS:-build/log}
# Entries per log file
most=40
list=$(mktemp)
trap 'rm -f "$list"' EXIT

# few FILE - print the lines of stdin with the file's name, but only the first ones of many
few()
{
	awk -v file="$1" -v most=$most '
		NR <= most { print "  " $0 "  [" file "]" }
		END { if (NR > most) print "  and " NR - most " more  [" file "]" }'
}

# kernel_report FILE - print why qemu/run.sh failed a guest regardless of its tests, and the first
# lines of a report of the kernel
kernel_report()
{
	local why='the kernel log is not clean|no end within|the guest ended without'

	why+='|guest command failed with status 99'	# rmmod
	{ grep -aA 5 -E "^kpmu: ($why)" "$1" || true; } | sed '/^--$/d' | cut -c1-150 |
		sed '1s/^/FAILED  /; 2,$s/^/        /'
}

# guest FILE.tap - print the failures in the log of a guest
guest()
{
	awk '
	/^@@@ / { program = $2; why = "" }
	/^# [^ ]+\.[ch]:[0-9]+: / {
		if (why == "")
			why = ": " substr($0, 3, 110)
	}
	/^ok / { why = "" }
	/^not ok / { reason[program "." $4] = why; why = "" }
	/^@@ / {
		if ($3 == "FAIL")
			print "FAILED  " $2 reason[$2]
		if ($4 == "FAIL")
			print "FAILED  " $2 ", natively"
		if ($4 == "STALE")
			print "FAILED  " $2 ": native-differs lists it, but it passes natively"
	}
	/^@@sum / { summed = 1 }
	/^@@@flaky / { sub(/^@@@flaky /, ""); sub(/ $/, ""); print "flaky   " $0 }
	END { if (!summed) print "FAILED  the guest did not come to its end" }' "$1"
}

# other STAGE - print the lines that say what failed in a stage without guests of its own, or
# its last lines if there are none.  The output of a client that differs follows its line.
other()
{
	awk '
	/^not ok |^NOT OK |: NOT clean$|DIFFERS|unserved|^[^ ]+ FAILED by / { print; some = left = 9; next }
	/^      / && left-- > 0
	END { exit !some }' "$1" || tail -n 5 "$1"
}

# summed FILE.tap - succeed if run.sh has counted a failure for this guest
summed()
{
	local label=${1##*/}
	label=${label%.tap}
	grep -aqE "^${label%-*} +${label##*-} .* 0*[1-9][0-9]* failed " "$log/stage-guests" 2>/dev/null
}

for file in "$log"/*.tap; do
	case $file in */unit-*) continue ;; esac
	guest "$file" >"$list"
	few "$file" <"$list"
	[ ! -e "$file.err" ] || kernel_report "$file.err" | tee -a "$list" | few "$file.err"
	grep -q ^FAILED "$list" || ! summed "$file" || echo "FAILED  the guest" | few "$file"
done
for stage; do
	file=$log/stage-$stage
	if [ ! -e "$file" ]; then
		echo "  FAILED  stage $stage"
	elif [ "$stage" != guests ]; then
		{
			other "$file" | sed "s/^/FAILED  $stage: /"
			kernel_report "$file"
		} | few "$file"
	elif ! grep -qaE '[0-9]+ passed, [0-9]+ failed' "$file"; then
		tail -n 5 "$file" | sed 's/^/FAILED  guests: /' | few "$file"
	fi
done
