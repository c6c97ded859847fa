#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh N [SEED] - mutation testing: insert N small bugs into the module, one at a time, and
# check whether a test fails; make mutants calls it.  rules.cocci defines the bugs.
# run.sh -r [NR...] - judge those of the last run again that survived, or those of these numbers
#
# The unit tests run first, if the file is one of theirs.  Then programs that reach the place of a bug (make
# coverage must have run) run on 6.12 with check=1, for about T seconds or until one fails: the fastest, and
# those that reach most of the file.  A mutant that does not build, whose object code is unchanged, that no
# program reaches, or that the file "equal" lists with a reason, is not counted.  J mutants (2) are tested at a
# time, while the next one is built.  MORE=1 goes on with the numbers that an interrupted run of the same seed
# has not judged, and after -r in place of those that are equal to the module.
#
# Files in build/mutants: NR.diff is the bug, NR.place where it is, NR.log the output of its guest.  The last line
# of the output is "mutants: K of N killed".

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

count=${1:?how many} seed=${2:-$((RANDOM * 32768 + RANDOM))} budget=${T:-120} most=${J:-2} nr=0
here=$KPMU_TOP/selftests/mutants
coverage=$KPMU_TOP/build/coverage
out=$KPMU_TOP/build/mutants
src=$out/src built=$out/6.12
kernel=6.12

# places - print all possible bugs as RULE:FILE:LINE:COLUMN
places()
{
	local key
	key=$out/places-$(cd "$src" && hash_of "$here/rules.cocci" "${files[@]}")
	[ -e "$key" ] || {
		say "looking for places"
		(cd "$src" && for f in "${files[@]}"; do
			spatch --very-quiet --no-includes --timeout 60 \
				--sp-file "$here/rules.cocci" "$f" 2>/dev/null || true
		done) | grep -E '^[a-z]+:kernel/' | sort -u >"$key.tmp"
		mv "$key.tmp" "$key"
	}
	cat "$key"
}

# draw - print all places in a random order given by the seed, the rules alternating
draw()
{
	places | shuf --random-source=<(openssl enc -aes-128-ctr -nosalt \
		-pass "pass:$seed" </dev/zero 2>/dev/null) |
		awk -F: '{ print ++turn[$1] "\t" $0 }' | sort -s -n -k1,1 | cut -f2-
}

# counted FILE LINE - print the line number under which coverage counts this line
counted()
{
	awk -v file="$KPMU_TOP/$1" -v line="$2" '
	/^SF:/ { ours = substr($0, 4) == file }
	ours && /^DA:/ { n = substr($0, 4) + 0; if (n <= line && n > best) best = n }
	END { print best + 0 }' "$coverage/module.info"
}

# What uses the tables in files without code
tables="kinds_cache kinds_constraint kinds_every kinds_generic kinds_raw"

# reaching FILE LINE - print the programs that reach a line; those that reach the file if it is of a table
# before the first function
reaching()
{
	local n
	n=$(counted "$1" "$2")
	cd "$coverage/reached" || return
	if [ "$n" -gt 0 ]; then
		grep -lx "$1:$n" -- *
	else
		# shellcheck disable=SC2086
		grep -l "^$1:" -- * || printf '%s\n' $tables
	fi
}

# within - of lines "SECONDS LINES PROGRAM", sorted by seconds, print the programs to run: for half of the
# budget the fastest, then those that reach most lines of the file, because they are about it
within()
{
	awk -v budget="$budget" '
	function take(i) { got[i] = 1; sum += second[i] + 1; print program[i] }
	{ second[NR] = $1; lines[NR] = $2; program[NR] = $3 }
	END {
		for (i = 1; i <= NR && (i == 1 || sum + second[i] + 1 <= budget / 2); i++)
			take(i)
		for (;;) {
			best = 0
			for (i = 1; i <= NR; i++)
				if (!(i in got) && sum + second[i] + 1 <= budget &&
				    (!best || lines[i] > lines[best]))
					best = i
			if (!best)
				break
			take(best)
		}
	}'
}

# What shows a bug in code that runs only while the module is loaded or unloaded, with those that reach the
# file: programs that together use all that is set up then
smoke="module_device api_sysfs api_sysfs_folders kinds_raw count_basic count_rdpmc count_width kinds_cache kinds_generic sample_exact
	module_hooks module_coexist record_mmap record_task task_inherit_fork task_exec sample_branch_task sample_branch_state"

# seconds_of PROGRAM - print its run time; an estimate if only make coverage has run on this machine
seconds_of()
{
	local s
	cat "$KPMU_CACHE/seconds/$kernel-$1" 2>/dev/null && return
	s=$(cat "$KPMU_CACHE/seconds/gcov-$1" 2>/dev/null || echo 12)
	echo $(((s + 3) / 4))
}

# usable PROGRAM - true unless it also fails without a bug
usable() { [ -x "$KPMU_TOP/build/selftests/$1" ] && ! grep -qx "$1" "$out/upset"; }

# tests FILE LINE - print the programs that reach a line, within the budget
tests()
{
	local p q
	reaching "$1" "$2" | while read -r p; do
		case $p in
		load|unload)
			# They are taken whatever they cost
			for q in $smoke; do
				usable "$q" && echo "0 0 $q"
			done
			p=$(cd "$coverage/reached"; grep -l "^$1:" -- *_* || true)
			;;
		esac
		for q in $p; do
			usable "$q" && echo "$(seconds_of "$q")" \
				"$(grep -c "^$1:" "$coverage/reached/$q")" "$q"
		done
	done | sort -k1,1n -k3 | awk '!seen[$3]++' | within
}

# is_equal FILE DIFF - true if the list "equal" has this change
is_equal()
{
	local old new
	old=$(sed -n '1,2d; s/^-[[:space:]]*//p' "$2" | paste -sd ' ')
	new=$(sed -n '1,2d; s/^+[[:space:]]*//p' "$2" | paste -sd ' ')
	[ "$new" != ';' ] || new=''
	# Not -q: cut would fail if grep ended before it
	cut -f1-3 "$here/equal" | grep -xF -- "$1	$old	$new" >/dev/null
}

# mutate PLACE - insert the bug into the source in $src, write the diff to $out/new.diff
mutate()
{
	local file line
	IFS=: read -r _ file line _ <<<"$1"
	# Coverage has no data for a preprocessor line
	[[ $(sed -n "${line}p" "$KPMU_TOP/$file") != '#'* ]] || return 1
	# Nor can a test find what none reaches: make coverage lists that code, with a reason each
	[ -n "$(reaching "$file" "$line")" ] || return 1
	# What is only shown to people is not tested: arguments of trace events, statistics
	! sed -n "$((line > 1 ? line - 1 : 1)),${line}p" "$KPMU_TOP/$file" |
		grep -qE 'trace_kpmu_|kpmu_stat_(inc|add)' || return 1
	rm -f "$out/new.c"
	(cd "$src" && KPMU_PLACE=$1 spatch --very-quiet --no-includes --timeout 60 \
		--sp-file "$here/rules.cocci" -o "$out/new.c" "$file" >/dev/null 2>&1) || return 1
	[ -e "$out/new.c" ] || return 1
	! diff -u --label "a/$file" --label "b/$file" "$src/$file" "$out/new.c" \
		>"$out/new.diff" || return 1
	! is_equal "$file" "$out/new.diff" || return 1
	cp "$out/new.c" "$src/$file"
}

build() { SOURCES=$src OUT=$built "$KPMU_TOP/qemu/module.sh" "$kernel" >"$out/build.log" 2>&1; }

# builds FILE - build the mutant; true if that works and the object code has changed
builds()
{
	local o=${1%.c}.o
	build || return 1
	strip --strip-debug -o "$out/new.o" "$built/$o"
	! cmp -s "$out/new.o" "$out/base/$o"
}

# bases - build the module without a bug, and keep its object code for comparison
bases()
{
	local f
	rm -rf "$src" "$out/base"
	mkdir -p "$src"
	cp -r "$KPMU_TOP"/{Kbuild,include,kernel} "$src/"
	build || { cat "$out/build.log" >&2; die "the module does not build"; }
	for f in "${files[@]}"; do
		mkdir -p "$out/base/${f%/*}"
		strip --strip-debug -o "$out/base/${f%.c}.o" "$built/${f%.c}.o"
	done
	cp "$built/kpmu.stripped.ko" "$out/good.ko"
	! units kernel/event/attr_check.c || { cat "$out/unit.log" >&2; die "a unit test fails without a bug"; }
}

# units FILE - true if FILE is one that the unit tests are built from, and one of them fails with the source in $src
units()
{
	grep -q "/$1 \\|/$1\$" <(sed -n '/^PURE :=/,/[^\\]$/p' "$KPMU_TOP/selftests/Makefile") || return 1
	mkdir -p "$out/host"
	ln -sfn "$src/kernel" "$out/host/kernel"
	ln -sfn "$src/include" "$out/host/include"
	ln -sfn "$KPMU_TOP/qemu" "$out/host/qemu"
	cp -r "$KPMU_TOP/selftests" "$out/host/"
	! make -s -C "$out/host/selftests" unit OUTPUT="$out/host/out" >"$out/unit.log" 2>&1
}

# watch DIR - end the guest whose files are in DIR as soon as its kernel is stuck, or if it has printed
# nothing for much longer than any of its programs takes, also beside other guests
watch()
{
	local now was='' since=$SECONDS
	while sleep 2; do
		now=$(cat "$1"/kpmu-run.*/out 2>/dev/null | wc -c)
		[ "$now" = "$was" ] || { was=$now since=$SECONDS; }
		if [ $((SECONDS - since)) -gt $((2 * budget + 60)) ] ||
				grep -qaE 'BUG: |soft lockup|detected stall|self-detected' \
					"$1"/kpmu-run.*/log 2>/dev/null; then
			pkill -f -- "qemu-system.*$1/kpmu-run" || true
			return
		fi
	done
}

# guest BOOT MODULE LOG PROGRAM... - run programs in a guest; true if no failure is found
guest()
{
	local boot=$1 module=$2 log=$3 rc=0 watcher
	shift 3
	rm -rf "$log.guest" "$log.tmp"
	mkdir "$log.tmp"
	watch "$log.tmp" &
	watcher=$!
	TMPDIR=$log.tmp MODULE=$module LOGS=$log.guest FIRST=1 PART=4 "$KPMU_TOP/selftests/run.sh" -b "$boot" \
		-k "$kernel" -j 1 "$@" >"$log" 2>&1 || rc=$?
	kill $watcher 2>/dev/null || true
	wait $watcher 2>/dev/null || true
	rm -rf "$log.tmp"
	[ $rc != 0 ] || return 0
	# No failure if all tests were skipped
	! grep -q '^0 passed, 0 failed' "$log" || return 0
	cat "$log.guest"/*.tap.err >>"$log" 2>/dev/null || true
	return 1
}

# why LOG - print the name of the test that failed, or the other cause of the failure
why()
{
	local test
	test=$(sed -n 's/^@@ \([^ ]*\) FAIL .*/\1/p' "$1" | head -n 1)
	if [ -n "$test" ]; then
		echo "$test"
	elif grep -q 'breach of rule' "$1"; then
		sed -n 's/.*breach of rule \([a-z-]*\).*/invariant \1/p' "$1" | head -n 1
	elif grep -q 'log is not clean' "$1"; then
		echo 'the kernel log'
	elif grep -q 'no end within' "$1"; then
		echo 'no end'
	elif grep -q 'status 99' "$1"; then
		echo 'rmmod'
	else
		echo 'the end of the guest'
	fi
}

# upset TEST - true if the test also fails without a bug; its program is not run again then
upset()
{
	local p=${1%%.*}
	[ -x "$KPMU_TOP/build/selftests/$p" ] || return 1
	[ -e "$out/without/$p" ] || guest mutant "$out/good.ko" "$out/without/$p" "$p" || true
	grep -q "^@@ $1 FAIL" "$out/without/$p" || return 1
	echo "$p" >>"$out/upset"
	say "$1 fails without a bug, too"
}

# suits BOOT FILE PROGRAM... - true if the programs show a bug in this file in this boot, too.  Those that
# run on all PMUs are not worth a guest with each of them for code that is the same on all.
suits()
{
	case $1 in
	mutantamd) [[ "${*:2}" == *@(/amd/|sample_ibs)* ]] ;;
	mutantzen*|mutantibsmp) [[ $2 == kernel/pmu/x86/amd/ibs* ]] ;;
	mutantlate) [[ $2 == kernel/pmu/x86/@(pmi|amd/)* ]] ;;
	mutantpebsicl) [[ $2 == kernel/pmu/x86/@(intel/pebs|intel/data|precise)* ]] ;;
	mutantpebs2) [[ $2 == kernel/pmu/x86/@(intel/pebs|precise)* ]] ;;
	mutantspr|mutantv3) [[ $2 == kernel/pmu/x86/intel/* ]] ;;
	mutantk7) [[ $2 == kernel/pmu/x86/amd/* ]] ;;
	mutanticl|mutantv1|mutantv2) [[ $2 == kernel/pmu/x86/* && $2 != */amd/* ]] ;;
	esac
}

# passes FILE MODULE LOG PROGRAM... - run the programs in all boots "mutant*" that have some of them; true
# if no failure is found.  Those of branch records, precise events and other PMUs do something only there.
passes()
{
	local file=$1 module=$2 log=$3 boot
	shift 3
	while read -r boot; do
		suits "$boot" "$file" "$@" || continue
		guest "$boot" "$module" "$log" "$@" </dev/null || return 1
	done < <(sed -n 's/^+\(mutant[a-z0-9]*\)[[:space:]].*/\1/p' "$KPMU_TOP/selftests/boots")
}

# judge NR PLACE - run the tests; print "killed by X" or "survived ..."
judge()
{
	local file line progs log=$out/$1.log module=$out/$1.ko
	IFS=: read -r _ file line _ <<<"$2"
	while :; do
		mapfile -t progs < <(tests "$file" "$line")
		[ ${#progs[@]} -gt 0 ] || { echo 'survived: all programs fail without a bug'; return; }
		if passes "$file" "$module" "$log" "${progs[@]}"; then
			echo "survived ${#progs[@]} programs: ${progs[*]}"
			return
		fi
		upset "$(why "$log")" || { echo "killed by $(why "$log")"; return; }
	done
}

# tell NR PLACE - judge a mutant and print the result in one piece
tell()
{
	local start=$SECONDS
	[ -e "$out/$1.verdict" ] || judge "$1" "$2" >"$out/$1.verdict"
	{
		flock 9
		echo "$1 of $count, $2, $((SECONDS - start)) s: $(cat "$out/$1.verdict")"
		cat "$out/$1.diff"
	} 9>"$out/lock"
	rm -rf "$out/$1.ko" "$out/$1.log.guest"
}

# begin NR PLACE FILE - judge the mutant that has been built, as soon as fewer than J are judged
begin()
{
	cp "$built/kpmu.stripped.ko" "$out/$1.ko"
	if units "$3"; then
		echo "killed by unit test $(sed -n 's/^not ok [0-9]* //p' "$out/unit.log" | head -n 1)" >"$out/$1.verdict"
	fi
	cp "$KPMU_TOP/$3" "$src/$3"
	while [ "$(jobs -rp | wc -l)" -ge "$most" ]; do
		wait -n || true
	done
	tell "$1" "$2" &
}

# new_ones - draw mutants, and judge them
new_ones()
{
	local place file
	[ -n "${MORE:-}" ] || rm -rf "$out"/[0-9]*.*
	echo "mutants: seed $seed"
	while [ $nr -lt "$count" ] && read -r place <&3; do
		IFS=: read -r _ file _ <<<"$place"
		# The last run has judged it, or has not taken it
		if [ -s "$out/$((nr + 1)).verdict" ]; then
			[ "$place" != "$(cat "$out/$((nr + 1)).place")" ] || nr=$((nr + 1))
			continue
		fi
		if ! mutate "$place" || ! builds "$file"; then
			cp "$KPMU_TOP/$file" "$src/$file"
			continue
		fi
		nr=$((nr + 1))
		mv "$out/new.diff" "$out/$nr.diff"
		echo "$place" >"$out/$nr.place"
		begin $nr "$place" "$file"
	done 3< <(draw)
}

# close_gaps - number the mutants from 1 on, after some were left out
close_gaps()
{
	local n f to=0
	for n in $(cd "$out"; find . -name '[0-9]*.diff' -printf '%f\n' | cut -d. -f1 | sort -n); do
		to=$((to + 1))
		[ "$n" != $to ] || continue
		for f in diff place log verdict; do
			[ ! -e "$out/$n.$f" ] || mv "$out/$n.$f" "$out/$to.$f"
		done
	done
}

# old_ones [NR...] - judge again those of the last run that survived, or these
old_ones()
{
	local n place file
	[ $# -gt 0 ] || mapfile -t < <(cd "$out"; grep -l '^survived' -- *.verdict | cut -d. -f1 | sort -n)
	[ $# -gt 0 ] || set -- "${MAPFILE[@]}"
	for n; do
		place=$(cat "$out/$n.place")
		IFS=: read -r _ file _ <<<"$place"
		rm -f "$out/$n.verdict"
		if is_equal "$file" "$out/$n.diff"; then
			rm -f "$out/$n".{diff,place,log,verdict}
		elif (cd "$src" && patch -sp1) <"$out/$n.diff" && builds "$file"; then
			begin "$n" "$place" "$file"
		else
			die "mutant $n does not fit the source any more"
		fi
	done
}

[ -d "$coverage/reached" ] || die "make coverage first: it says which tests reach what"
need_tools spatch:coccinelle openssl shuf:coreutils patch
cd "$KPMU_TOP"
mapfile -t files < <(find kernel -name '*.c' ! -path 'kernel/check/*' \
	! -path kernel/pmu/x86/check_registers.c ! -path 'kernel/trace/*' | LC_ALL=C sort)
rm -rf "$out"/{without,upset}
mkdir -p "$out/without"
touch "$out/upset"
bases
if [ "$count" = -r ]; then
	count=$(find "$out" -name '[0-9]*.diff' | wc -l)
	old_ones "${@:2}"
	wait
	close_gaps
else
	new_ones
fi
wait
killed=$(cat "$out"/*.verdict | grep -c '^killed' || true)
echo "mutants: $killed of $(find "$out" -name '[0-9]*.verdict' | wc -l) killed"
