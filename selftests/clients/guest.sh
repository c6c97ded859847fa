#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh [REGEX] - run each line of the file list (that matches REGEX) natively and by the routes
# that the line names.  Prints a table, the differences, and "clients: N of M equal".  With
# KPMU_RETRY=1, which only CI sets, what differs runs once more; "flaky on ROUTE" says that it was
# equal then.

ln -sf /tests/client_tiny /bin/tiny
chmod 666 /dev/kpmu
# Debian's default permits no events to unprivileged users, natively or on kpmu
echo 2 >/proc/sys/kernel/perf_event_paranoid
# init disables the native throttling of slow NMIs
echo 0 >/proc/sys/kernel/kpmu/perf_cpu_time_max_percent
cd /tmp || exit 1

# perf_event is an implicit controller.  Even so, new cgroups get it only after some controller was
# enabled in the subtree_control of the root.  Do not enable cpuset: see selftests/lib/cgroup.c.
mkdir -p /sys/fs/cgroup/work
tr ' ' '\n' </sys/fs/cgroup/cgroup.controllers | grep -v cpuset | sed '1!d; s/^/+/' \
	>/sys/fs/cgroup/cgroup.subtree_control
cat >/bin/in-cgroup <<'END'
#!/bin/sh
echo $$ >/sys/fs/cgroup/work/cgroup.procs
exec "$@"
END
cat >/bin/two <<'END'
#!/bin/sh
for name in one two; do
	(i=0; while [ $i -lt "$1" ]; do i=$((i + 1)); done; echo $name $i) &
done
wait
END
chmod +x /bin/in-cgroup /bin/two

switch=/proc/sys/kernel/kpmu/redirect
equal=0 all=0

opens() { sed -n 's/^opens  *\([0-9]*\).*/\1/p' /sys/kernel/debug/kpmu/stats; }

# route NAME COMMAND - run COMMAND by the route; its output and exit status go to /tmp/NAME.out
route()
{
	rm -rf /tmp/run
	mkdir -m 777 /tmp/run
	cd /tmp/run || exit 1
	case $1 in
	native) sh -c "$2" ;;
	preload) LD_PRELOAD=/tests/libkpmu-preload.so sh -c "$2" ;;
	exec) kpmu-exec sh -c "$2" ;;
	redirect)
		echo 1 >$switch
		sh -c "$2"
		;;
	esac >"/tmp/$1.out" 2>&1 3>&- </dev/null
	echo "status $?" >>"/tmp/$1.out"
	echo 0 >$switch
	cd /tmp || exit 1
}

# what_counts MODE FILE - extract the part of FILE that is compared, to FILE.part
what_counts()
{
	case $1 in
	csv) sed -E 's/^([^,]*,[^,]*,[^,]*),.*/\1/' "$2" ;;
	json) sed -E 's/"(event-runtime|pcnt-running|metric-value)" : [0-9.]+,? ?//g' "$2" ;;
	shape|error)
		sed -E -e 's/0x[0-9a-f]+/N/g; s/\([0-9.]+%\)//g; s/[0-9][0-9,.]*/N/g' \
			-e 's| [KMG]/sec| /sec|; s/ +/ /g; s/^ //; s/ $//' "$2" | uniq
		;;
	*) cat "$2" ;;
	esac >"$2.part"
}

# judge MODE ROUTE OPENS - compare the output with the native one and set $verdict.  OPENS is the
# number of events that kpmu opened meanwhile: with 0 the route did not serve the command.
judge()
{
	all=$((all + 1))
	what_counts "$1" "/tmp/$2.out"
	if [ "$1" != error ] && [ "$3" = 0 ]; then
		verdict=unserved
	elif cmp -s /tmp/native.out.part "/tmp/$2.out.part"; then
		verdict=equal
		equal=$((equal + 1))
	else
		verdict=DIFFERS
	fi
	if [ $verdict != equal ]; then
		diff -U 20 /tmp/native.out.part "/tmp/$2.out.part" |
			sed "1,3d; s/^/      $2: /" >>/tmp/differ
	fi
}

# serve MODE ROUTE COMMAND - run COMMAND by the route and judge it
serve()
{
	before=$(opens)
	route "$2" "$3"
	judge "$1" "$2" $(($(opens) - before))
}

# compare MODE ROUTE COMMAND - the same, and natively and by the route once more if they differ and
# KPMU_RETRY is set: a busy host may change the end of a command once, natively too
compare()
{
	serve "$@"
	[ $verdict != equal ] && [ -n "${KPMU_RETRY:-}" ] || return 0
	route native "$3"
	what_counts "$1" /tmp/native.out
	all=$((all - 1))
	serve "$@"
	[ $verdict != equal ] || echo "flaky on $2: $3"
}

grep -E -- "${1:-}" /tests/list >/tmp/list
printf '%-9s %-9s %-9s  %s\n' preload exec redirect command
while IFS='|' read -r routes mode command; do
	mode=${mode# }
	routes=${routes%% *} mode=${mode%% *} command=${command# }
	case $routes in ''|'#'*) continue ;; all) routes=pxr ;; esac
	case $mode in
	icelake|genoa) [ "${KPMU_MODEL:-}" = "$mode" ] || continue ;;
	intel) [ "${KPMU_MODEL:-}" != genoa ] || continue ;;
	esac
	: >/tmp/differ
	row=''
	route native "$command"
	what_counts "$mode" /tmp/native.out
	for r in preload:p exec:x redirect:r; do
		verdict=-
		case $routes in
		*"${r#*:}"*) compare "$mode" "${r%:*}" "$command" ;;
		esac
		row="$row$(printf '%-10s' $verdict)"
	done
	echo "$row $command"
	cat /tmp/differ
done </tmp/list
chmod 600 /dev/kpmu
echo "clients: $equal of $all equal"
[ $equal = $all ]
