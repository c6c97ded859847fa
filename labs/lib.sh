# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Functions of the scripts of this folder, to be sourced.  A lab is graded under a tag, such as
# solution_3.  Its result is in $labs_work/TAG.result: lines "ok - ..." and "not ok - ...", and "end"
# if the grader came to its end.  TAG.why has the reason if there is no such line.

# shellcheck source=qemu/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../qemu/lib.sh"

labs_top=$KPMU_TOP/labs
labs_work=${LABS_WORK:-$KPMU_TOP/build/labs-work}
# shellcheck disable=SC2034 # for the scripts that source this
all_labs=(1 2 3 4 5 6 7 8)
# Seconds for a guest or a program of a lab in user space, and seconds of CPU time for the latter
labs_limit=${LABS_LIMIT:-240}
labs_run_limit=${LABS_RUN_LIMIT:-30}
# 40 bits: no processor's width.  PEBS, and a PMI that comes 3 instructions late, as on hardware
labs_cpu=Skylake-Client,pmu=on,pebs-fmt=3,x-pmu-skid=3,x-pmu-width=40
labs_flags=(-std=gnu11 -g -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -pthread)

# in_kernel LAB - is it a module?
in_kernel() { grep -q '"kernel.h"' "$labs_top/$1/lab.h"; }

# source_of LAB - name of the file that the student completes
source_of() { basename "$(find "$labs_top/$1" -name '*.c' ! -name 'grade*.c')"; }

# skeleton LAB - print the file with the solution taken out
skeleton() { awk -f "$labs_top/skeleton.awk" "$labs_top/$1/$(source_of "$1")"; }

# copy FILE... FOLDER - copy files that have changed
copy()
{
	local f
	mkdir -p "${!#}"
	for f in "${@:1:$#-1}"; do
		cmp -s "$f" "${!#}/${f##*/}" || cp "$f" "${!#}/"
	done
}

# prepare TAG LAB FILE - the sources of a module: those of the lab, and the student's
prepare()
{
	rm -rf "${labs_work:?}/$1" "$labs_work/$1".{result,why,log,ko}
	copy "$labs_top"/lib/*.[ch] "$labs_top/$2"/{lab.h,grade.c} "$labs_work/lab_$2"
	mkdir "$labs_work/$1"
	cp "$3" "$labs_work/$1/student.c"
	echo "$2" >"$labs_work/$1/lab"
}

# kbuild LOG TAG... - build the modules in one run.  Modules of a lab have two objects in common.
kbuild()
{
	local log=$1 tag lab cc=(CC=gcc-12)
	shift
	for tag; do
		lab=lab_$(cat "$labs_work/$tag/lab")
		echo "obj-m += $tag.o"
		echo "$tag-y := $lab/kernel.o $lab/grade.o $tag/student.o"
		echo "CFLAGS_$lab/kernel.o := -DLAB=${lab#lab_}"
		# shellcheck disable=SC2016 # make expands it
		echo "CFLAGS_$tag/student.o := -I\$(src)/$lab"
	done >"$labs_work/Kbuild"
	[ "$K" != given ] || cc=()
	env -u MAKEFLAGS make -C "$("$KPMU_TOP/qemu/kernel.sh" "$K")/build" M="$labs_work" "${cc[@]}" \
		CONFIG_DEBUG_INFO_BTF_MODULES= -j"$(nproc)" modules >"$log" 2>&1
}

# compile_modules TAG... - build each; what does not compile gets a TAG.why
compile_modules()
{
	local tag
	need_tools make gcc-12
	if kbuild "$labs_work/build.log" "$@"; then
		for tag; do grep "/$tag/.*warning:" "$labs_work/build.log" || true; done
		return 0
	fi
	for tag; do
		if ! kbuild "$labs_work/$tag.log" "$tag"; then
			grep -E 'student.c.*(error|warning):|undefined!' "$labs_work/$tag.log" ||
				tail -n 20 "$labs_work/$tag.log"
			rm -f "$labs_work/$tag.ko"
		fi >"$labs_work/$tag.why"
	done
}

# guest LOG TAG... - load the modules in a guest, one after the other
guest()
{
	local log=$1 tag files=() cmd=''
	shift
	gcc -nostdlib -static -Wl,--build-id=none -Wl,-Ttext=0x401000 -o "$labs_work/spin" \
		"$labs_top/lib/spin.S"
	for tag; do
		files+=(-f "$labs_work/$tag.ko")
		cmd+="echo '<4>labs: begin $tag' >/dev/kmsg; insmod $tag.ko && rmmod $tag; "
	done
	rm -f "$log"
	"$KPMU_TOP/qemu/run.sh" -k "$K" -m none -c "$labs_cpu" -s 1 -M 256 -i -t "$labs_limit" -o "$log" \
		-a mitigations=off \
		-f "$labs_work/spin" "${files[@]}" "$cmd:" >"$log.run" 2>&1
}

# What a kernel log must not have; see qemu/run.sh
labs_bad=$(sed -n "s/^bad='\(.*\)'$/\1/p" "$KPMU_TOP/qemu/run.sh")

# judge TAG RC LOG - the result of a lab from its part of the kernel log, and what is wrong with it.  Fail
# if it was not begun.
judge()
{
	local part=$labs_work/$1.log
	tr -d '\r' <"$3" | sed 's/^\[ *[0-9.]*\] //' |
		awk -v tag="$1" '/^labs: begin/ { on = $3 == tag } on' >"$part"
	[ -s "$part" ] || return 1
	sed -nE 's/^lab[0-9]+: //p' "$part" >"$labs_work/$1.result"
	if grep -aqE "$labs_bad" "$part"; then
		why_log "$part"
	elif ! grep -qx end "$labs_work/$1.result"; then
		case $2 in
		124) echo "no end: an endless loop with IRQs off, or in the NMI?$(late 124)" ;;
		*) echo "the module was not loaded, or the guest ended (status $2)"; tail -n 3 "$3.run" ;;
		esac
	fi >"$labs_work/$1.why"
}

# why_log PART - what the kernel complains about
why_log()
{
	if grep -aq 'lab[0-9]*: a loop without end' "$1"; then
		echo "a loop without end:"
	elif grep -aq 'Uhhuh' "$1"; then
		echo "an NMI came that no handler has claimed"
	else
		echo "the kernel complains:"
	fi
	grep -aE 'BUG:|Oops|unchecked MSR|WARNING:|general protection|RIP: 0010' "$1" | head -n 4 || true
}

# late RC - if a guest was stopped, what may help
late()
{
	[ "$1" != 124 ] || echo " (it had $labs_limit s; if this machine is busy, give it more: LABS_LIMIT=$((5 * labs_limit)))"
}

# run_modules TAG... - run modules in one guest.  If one of them ends it, those after it run in another.
run_modules()
{
	local rc=0 tag left=() log=$labs_work/guest.log
	[ $# -gt 0 ] || return 0
	guest "$log" "$@" || rc=$?
	grep -aq 'labs: begin' "$log" 2>/dev/null ||
		{ tail -n 20 "$log.run" >&2; die "the guest did not start (status $rc)$(late $rc)"; }
	for tag; do judge "$tag" $rc "$log" || left+=("$tag"); done
	run_modules "${left[@]}"
}

# run_host TAG LAB FILE - compile and run the parts of a lab in user space
run_host()
{
	local tag=$1 lab=$2 dir=$labs_work/$1 part rc flags fixed=(setarch -R)
	# The sanitizers of gcc 12 do not start with all layouts of memory
	setarch -R true 2>/dev/null || fixed=()
	rm -rf "$dir" "$labs_work/$tag".{result,why}
	mkdir -p "$dir"
	cp "$3" "$dir/$(source_of "$lab")"
	: >"$labs_work/$tag.result"
	for part in "$labs_top/$lab"/grade*.c; do
		# A line of each grader says how it is built
		read -ra flags < <(sed -n 's,^/\* FLAGS: \(.*\) \*/$,\1,p' "$part")
		if ! gcc "${labs_flags[@]}" "${flags[@]}" -I"$labs_top/$lab" -I"$labs_top/lib" \
			-o "$dir/${part##*/}.bin" "$part" "$dir/$(source_of "$lab")" 2>"$dir/cc"; then
			grep -E 'error|warning|undefined' "$dir/cc" >"$labs_work/$tag.why"
			return 0
		fi
		cat "$dir/cc"
		rc=0
		# The group is for the shell's message about a program that was killed
		{
			(ulimit -c 0 -t "$labs_run_limit"
			 exec timeout -k 2 "$labs_limit" "${fixed[@]}" "$dir/${part##*/}.bin" >"$dir/out" 2>"$dir/err")
		} 2>/dev/null || rc=$?
		grep -a -v '^end$' "$dir/out" >>"$labs_work/$tag.result" || true
		if [ $rc != 0 ]; then
			why_host $rc "$dir/err" >"$labs_work/$tag.why"
			return 0
		fi
		grep -qx end "$dir/out" || return 0
	done
	echo end >>"$labs_work/$tag.result"
}

# why_host RC ERR - why a program of a lab did not end well
why_host()
{
	case $1 in
	124) echo "no end: does it wait for something?$(late 124)" ;;
	137|152) echo "no end within $labs_run_limit s of CPU time: an endless loop?" ;;
	*) echo "the program ended with status $1:" ;;
	esac
	grep -aE -m4 'ERROR:|WARNING:|runtime error|SUMMARY:' "$2" || tail -n 5 "$2"
}

# verdict TAG - print the result: "PASSED OF" and succeed if all is well
verdict()
{
	local result=$labs_work/$1.result ok bad
	[ -e "$result" ] || : >"$result"
	ok=$(grep -c '^ok ' "$result" || true)
	bad=$(grep -c '^not ok ' "$result" || true)
	echo "$ok $((ok + bad))"
	[ "$ok" -gt 0 ] && [ "$bad" = 0 ] && [ ! -s "$labs_work/$1.why" ] && grep -qx end "$result"
}

# grade_all TAG:LAB:FILE... - all of them, the modules together
grade_all()
{
	local entry tag lab file mods=() built=()
	mkdir -p "$labs_work"
	for entry; do
		IFS=: read -r tag lab file <<<"$entry"
		if in_kernel "$lab"; then
			prepare "$tag" "$lab" "$file"
			mods+=("$tag")
		else
			run_host "$tag" "$lab" "$file"
		fi
	done
	[ ${#mods[@]} -gt 0 ] || return 0
	compile_modules "${mods[@]}"
	for tag in "${mods[@]}"; do
		[ ! -e "$labs_work/$tag.ko" ] || built+=("$tag")
	done
	run_modules "${built[@]}"
}

K=${K:-6.12}
