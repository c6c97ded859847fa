#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [-c MODEL] [-e REGEX] [KERNEL...] - compare existing, unmodified clients (make clients): run
# the lines of the file list (that match REGEX) in a guest, natively and by each route.  MODEL is a
# CPU of qemu/run.sh: skylake (default), genoa (make clients-amd), or icelake, a server's, for numatop
# run.sh -b [-e REGEX] [KERNEL...] - likewise the lines of the file list-bpf: clients that attach BPF programs
# to events (make clients-bpf)
# run.sh -g SCRIPT [-e ARG] [KERNEL...] - run another script in the guest: perftest.sh, busy.sh,
# switching.sh or driver.sh

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../../qemu/lib.sh"

here=$KPMU_TOP/selftests/clients
build=$KPMU_TOP/build
log=$build/log
mkdir -p "$log"
script=guest.sh cpus=2 only='' model=skylake pebs=(-p pebs-fmt=3) list=list more=() more_files=()
while getopts bc:e:g: opt; do
	case $opt in
	b)
		list=list-bpf more=(-M 2048)
		: "${CLIENTS_LIMIT:=3600}"
		;;
	c)
		model=$OPTARG pebs=()
		[ "$model" != icelake ] || pebs=(-p pebs-fmt=4)
		;;
	e) only=$OPTARG ;;
	g) script=$OPTARG cpus=4 pebs=() ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
if [ $list = list ]; then
	programs=$("$here/programs.sh")
else
	programs=$("$here/bpf-programs.sh")
	more_files=(-f "$("$here/perf-bpf.sh"):/usr/bin/perf-bpf")
fi
files=(-f "$here/$script" -f "$here/$list:/tests/list" -f "$build/tools/libkpmu-preload.so"
	-f "$build/tools/kpmu-exec" -f "$programs/.:/" "${more_files[@]}")
for f in "$build"/selftests/client_*; do files+=(-f "$f"); done

equal=0 all=0 bad=0 only_arg=""
[ -z "$only" ] || only_arg="'$only'"
for kernel in "${@:-6.1}"; do
	name=${script%.sh}-$kernel
	[ "$model" = skylake ] || name+=-$model
	[ $list = list ] || name+=-bpf
	echo "== ${script%.sh} on $kernel, $model"
	"$KPMU_TOP/qemu/run.sh" -k "$kernel" -c "$model" -s $cpus -L "${pebs[@]}" "${more[@]}" \
		-t "${CLIENTS_LIMIT:-900}" "${files[@]}" \
		-f "$build/$kernel/selftests/driver/kpmu-toy.ko" \
		-f "$build/$kernel/selftests/driver/kpmu-few.ko" \
		"${RETRY:+KPMU_RETRY=1 }KPMU_MODEL=$model sh $script $only_arg" | tee "$log/$name" || bad=1
	read -r e a < <(sed -n 's/^[a-z ]*: \([0-9]*\) of \([0-9]*\) .*/\1 \2/p' \
		"$log/$name" | tail -n 1; echo 0 0)
	equal=$((equal + e)) all=$((all + a))
done
if [ "$script$only$model$list" = guest.shskylakelist ]; then
	mapfile -t logs < <(printf "$log/guest-%s\n" "${@:-6.1}")
	echo "== for README.md: selftests/clients/table.sh -w ${logs[*]#"$KPMU_TOP/"}"
	"$here/table.sh" "${logs[@]}"
fi
[ $all = 0 ] || echo "clients: $equal passed, $((all - equal)) failed"
exit $bad
