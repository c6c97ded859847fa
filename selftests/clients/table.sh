#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# table.sh [LOG...] - print a table of what make clients has compared, for README.md: for each kind of
# program and each route, how many command lines were equal, of how many.  The logs are
# build/log/guest-KERNEL.  Without a log only the second number is known.
# table.sh -w [LOG...] - write it into README.md.
# table.sh -c - check that the table in README.md is for the command lines of the file list.  It is not
# if lines were added, removed or given other routes since; make check says so.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"
here=$KPMU_TOP/selftests/clients
readme=$KPMU_TOP/README.md
write=0 check=0
while getopts cw opt; do
	case $opt in
	c) check=1 ;;
	w) write=1 ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

# The lines of the table: kind, number of commands, and of each route "EQUAL of ALL"
rows()
{
	awk -v nlogs=$# '
	function kind(c) {
		if (c ~ /bpftrace|bpf-counters|libbpf|bcc/) return "bpftrace and other BPF"
		if (c ~ /^papi_/) return "PAPI, libpfm4"
		if (c ~ /rr record/) return "rr"
		if (c ~ /perf (mem|c2c)|:u?pp* |cycles:uP|\/upp/) return "`perf record`, `mem`, `c2c`: precise events"
		if (c ~ / -j |call-graph lbr/) return "`perf record -j`: branch records"
		if (c ~ /^\(?.*perf(-6.12)? record/) return "`perf record`, `report`, `script`"
		if (c ~ /perf (trace|sched|top|bench)/) return "`perf trace`, `sched`, `top`"
		if (c ~ /perf (stat|list)/) return "`perf stat`"
		return "Go, static programs, RDPMC, probes"
	}
	BEGIN { split("p x r", letter, " ") }
	FILENAME ~ /list$/ {
		if ($0 ~ /^#/ || split($0, f, "|") < 3) next
		gsub(/ /, "", f[1]); gsub(/ /, "", f[2])
		if (f[2] == "icelake" || f[2] == "genoa") next
		c = $0; sub(/^[^|]*\|[^|]*\| /, "", c)
		k = kind(c)
		if (!(k in lines)) order[++n] = k
		lines[k]++
		for (i = 1; i <= 3; i++)
			if (f[1] == "all" || index(f[1], letter[i])) all[k, i]++
		next
	}
	$1 ~ /^(equal|DIFFERS|unserved|-)$/ && $2 ~ /^(equal|DIFFERS|unserved|-)$/ {
		c = $0; sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +/, "", c)
		for (i = 1; i <= 3; i++) equal[kind(c), i] += $i == "equal"
	}
	function cell(k, i)
	{
		if (!all[k, i])
			return " - |"
		return nlogs ? sprintf(" %d of %d |", equal[k, i], all[k, i] * nlogs) : " " all[k, i] " |"
	}
	END {
		for (j = 1; j <= n; j++) {
			k = order[j]
			row = "| " k " | " lines[k] " |"
			for (i = 1; i <= 3; i++)
				row = row cell(k, i)
			print row
		}
	}' "$here/list" "$@"
}

table()
{
	local log kernels=
	for log; do kernels+="${kernels:+ and }${log##*-}"; done
	echo "| command lines${kernels:+: equal on $kernels} | natively | library | kpmu-exec | redirect |"
	echo "|---|---|---|---|---|"
	rows "$@"
}

written()
{
	sed -n '/^<!-- clients:/,/^<!-- end/p' "$readme" | grep '^|' | grep -v '^|-' |
		grep -v '^| command lines' || true
}

if [ $check = 1 ]; then
	# Of each cell only the number of all, on one kernel
	n=$(grep -c ' and ' < <(grep '^| command lines' "$readme") || true)
	diff <(rows) <(written | sed -E 's/ [0-9]+ of / /g' | awk -v n=$((n + 1)) -F'|' -v OFS='|' '
		{ for (i = 4; i <= 6; i++) if ($i ~ /[0-9]/) $i = " " $i / n " "; print }') >&2 ||
		die "the table in README.md is not that of selftests/clients/list: make clients, then table.sh -w"
	exit 0
fi
if [ $write = 0 ]; then
	table "$@"
	exit 0
fi
table "$@" >"$readme.table"
awk -v file="$readme.table" '
	/^<!-- clients:/ { print; while ((getline line <file) > 0) print line; skip = 1; next }
	/^<!-- end/ { skip = 0 }
	!skip { print }' "$readme" >"$readme.new"
mv "$readme.new" "$readme"
rm -f "$readme.table"
