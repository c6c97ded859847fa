#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run-in-guest.sh [options] COMMAND [ARGUMENT...] - run a command of the current project in a guest
# with a PMU, count its events by perf stat, and compare the counts.
#
#  -x EXPECT  what to expect, such as 'instructions:u == 3000004'; also <= and >=.  Several: one a line,
#             or -x again.  Lines that start with # are comments.
#  -X FILE    the same, from a file
#  -u FILE    write the counts to a file for -X; nothing is compared
#  -e EVENTS  further events to count
#  -n N       run the command N times: all counts must be the same
#  -j         no -icount: faster, with several CPUs; counts of user mode are exact there as well
#  -K         count on kpmu, not by the kernel's own perf
#  -v VAR     pass on a variable of the environment, or VAR=VALUE
#  -k -c -p -s -M -t -r -d -S -N   as in qemu/shell.sh: kernel, CPU model, properties, CPUs, memory, time
#             limit, userland (/: this machine's), shared folder, folder for exchange, network
#
# COMMAND is the argument of perf stat: in 'a | b' and 'a; b' it counts a only.  A single COMMAND may use
# the shell's syntax.
#
# Exit status: that of the command; 1 if a count is not as expected; 124 to 126 as of qemu/shell.sh.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"
trap 'exit 125' ERR
die() { printf '%s\n' "kpmu: error: $*" >&2; exit 125; }
usage() { sed -n '3,/^$/s/^# \?//p' "$0" >&2; exit 125; }

expect='' update='' events='' times=1 icount=1 route='' module=(-m none) cpus='' session=''
pass=()
while getopts x:X:u:e:n:v:k:c:p:s:M:t:r:d:S:NjK opt; do
	case $opt in
	x) expect+=$OPTARG$'\n' ;;
	X) [ -r "$OPTARG" ] || die "no file $OPTARG"
	   expect+=$(cat "$OPTARG")$'\n' ;;
	u) update=$OPTARG ;; e) events=$OPTARG ;; n) times=$OPTARG ;; j) icount=0 ;;
	K) route='kpmu-exec ' module=() ;; s) cpus=$OPTARG ;; S) session=$OPTARG ;;
	v) pass+=(-e "$OPTARG") ;; N) pass+=(-N) ;;
	k|c|p|M|t|r|d) pass+=("-$opt" "$OPTARG") ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
[[ $times =~ ^[1-9][0-9]*$ ]] || die "-n $times is no number of runs"
if [ $# = 1 ]; then command=$1; else printf -v command '%q ' "$@"; fi

# One expectation a line: EVENT OPERATOR NUMBER
form='^([^[:space:]]+)[[:space:]]*(==|<=|>=)[[:space:]]*([0-9][0-9_,]*)$'
rules=() names=()
while read -r line; do
	case $line in ''|'#'*) continue ;; esac
	[[ $line =~ $form ]] || die "'$line' is not like 'instructions:u == 3000004'"
	rules+=("${BASH_REMATCH[1]} ${BASH_REMATCH[2]} ${BASH_REMATCH[3]//[_,]/}")
	names+=("${BASH_REMATCH[1]}")
done <<<"$expect"
[ -z "$events" ] || names+=("$events")
[ ${#names[@]} -gt 0 ] || [ -z "$update" ] || die "-u: which events? (-e instructions:u)"

work=$(mktemp -d "${TMPDIR:-/tmp}/kpmu-ci.XXXXXX")
trap 'rm -rf "$work"' EXIT
: "${session:=$work}"
mkdir -p "$session"
rm -f "$session"/counts.*

# What the guest runs.  perf may be that of a machine whose wrapper looks for one of the same kernel.
cat >"$session/count" <<'END'
perf=perf
if ! perf version >/dev/null 2>&1; then
	for perf in /usr/lib/linux-tools*/perf /usr/lib/linux-tools/*/perf /usr/bin/perf_*; do
		[ ! -x "$perf" ] || break
	done
fi
[ -z "$EVENTS" ] || "$perf" version >/dev/null 2>&1 || {
	echo "kpmu: error: the userland has no perf; on Debian: apt-get install linux-perf"
	exit 125
}
END
{
	printf 'EVENTS=%q\n%s\n' "$(IFS=,; echo "${names[*]}")" "$(cat "$session/count")"
	if [ ${#names[@]} = 0 ]; then
		echo "$command"
	else
		# shellcheck disable=SC2016 # for the guest's shell
		printf 'for i in $(seq %s); do\n%s"$perf" stat -x \; -o /run/host/counts.$i -e "$EVENTS" -- %s\n' \
			"$times" "$route" "$command"
		# shellcheck disable=SC2016
		printf 's=$?; [ $s = 0 ] || exit $s\ndone\n'
	fi
} >"$session/count.new"
mv "$session/count.new" "$session/count"

if [ $icount = 1 ]; then
	pass+=(-i)
	: "${cpus:=1}"
fi
[ -z "$cpus" ] || pass+=(-s "$cpus")
rc=0
"$KPMU_TOP/qemu/shell.sh" "${pass[@]}" "${module[@]}" -S "$session" "bash /run/host/count" || rc=$?

# counted FILE - lines EVENT COUNT; for a count that is none, its reason
counted()
{
	awk -F ';' '/^#/ || NF < 4 { next }
		$1 !~ /^[0-9]+$/ { gsub(/ /, "-", $1); print $3, $1; next }
		$5 + 0 < 100 { print $3, "multiplexed:" $5 "%"; next }
		{ print $3, $1 }' "$1"
}

bad=0
# github LINE - a message that GitHub shows beside the job
wrong() { bad=1; echo "not ok $*"; [ -z "${GITHUB_ACTIONS:-}" ] || echo "::error::$*"; }

# compare RULE RUN - one expectation
compare()
{
	local event op want is
	read -r event op want <<<"$1"
	is=$(awk -v e="$event" '$1 == e { print $2; exit }' "$session/run.$2")
	if ! [[ $is =~ ^[0-9]+$ ]]; then
		wrong "$event $op $want: ${is:-perf printed no count}"
	elif case $op in '==') [ "$is" -eq "$want" ] ;; '<=') [ "$is" -le "$want" ] ;; *) [ "$is" -ge "$want" ] ;; esac; then
		echo "ok $event $op $want$([ "$op" = == ] || echo ": is $is")"
	else
		wrong "$event $op $want: is $is ($(printf %+d $((is - want))))"
	fi
}

if [ ${#names[@]} -gt 0 ] && [ -e "$session/counts.1" ]; then
	for ((i = 1; i <= times; i++)); do
		[ ! -e "$session/counts.$i" ] || counted "$session/counts.$i" >"$session/run.$i"
	done
	if [ $rc = 0 ]; then
		for r in "${rules[@]}"; do compare "$r" 1; done
		for ((i = 2; i <= times; i++)); do
			if cmp -s "$session/run.1" "$session/run.$i"; then
				echo "ok run $i has the counts of run 1"
			else
				wrong "run $i has other counts than run 1: $(diff "$session/run.1" "$session/run.$i" |
					grep '^[<>]' | paste -sd' ')"
			fi
		done
	fi
	[ ${#rules[@]} -gt 0 ] || sed 's/^/# /' "$session/run.1"
	if [ -n "$update" ] && [ $rc$bad = 00 ]; then
		{
			echo "# counts of: $command"
			sed 's/ / == /' "$session/run.1"
		} >"$update"
	fi
	if [ -n "${GITHUB_OUTPUT:-}" ]; then
		{ echo 'counts<<end-of-counts'; cat "$session/run.1"; echo end-of-counts; } >>"$GITHUB_OUTPUT"
	fi
	if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
		{
			# shellcheck disable=SC2016 # Markdown
			printf '`%s`\n\n| event | count |\n|---|---:|\n' "$command"
			sed 's/\([^ ]*\) \(.*\)/| \1 | \2 |/' "$session/run.1"
		} >>"$GITHUB_STEP_SUMMARY"
	fi
fi
[ $rc = 0 ] || exit $rc
exit $bad
