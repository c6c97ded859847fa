#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# timeline-page.sh [PICTURE] - record 16 events on the 4 counters of Skylake with kpmu-timeline in a
# guest, on kpmu and on native perf (make timeline-page K=6.12), and check what it has written: the
# trace with another reader of JSON, and the page with Chromium, whose picture must have the lanes
# and the colours.  PICTURE is a name for the picture, NAME.png.  The last line is "timeline-page: N passed,
# M failed, L skipped".  Without Chromium the picture is skipped.

# shellcheck source=qemu/lib.sh
. "$(dirname "$0")/../qemu/lib.sh"

kernel=${K:-6.12}
picture=${1:-}
build=$KPMU_TOP/build
work=$build/timeline
events=branches,branch-misses,cache-references,cache-misses,r81d0,r82d0,r1c4,r2c4,r8c4,r10c4,r20c4,r1c0,r151,re124,r8d1,rc4
rm -rf "$work"
mkdir -p "$work"

# shellcheck source=selftests/tap.sh
. "$KPMU_TOP/selftests/tap.sh"
skipped=0

# What the guest runs: bursts of work on both CPUs, with pauses
cat >"$work/guest.sh" <<END
cat >/tmp/work.sh <<'X'
burst() { i=0; while [ \$i -lt \$1 ]; do i=\$((i + 1)); done; }
(for k in 1 2 3; do burst 2500; sleep 0.01; done) &
for k in 1 2 3 4 5; do sleep 0.02; burst 800; done
wait
X
# What the kernel does after booting, such as testing its ciphers, is over then
sleep 5
kpmu-timeline -n -e $events -H /tmp/page.html -o /tmp/trace.json -- sh /tmp/work.sh || exit 1
for f in page.html trace.json; do
	echo "== begin \$f"
	gzip -c /tmp/\$f | base64
	echo "== end \$f"
done
END

# Under -icount the time of the guest does not depend on the load of the host
guest()
{
	local files=() lib
	while read -r lib; do files+=(-f "$lib:/lib/"); done \
		< <(ldd "$build/tools/kpmu-timeline" | grep -oE '/[^ ]*')
	nice "$KPMU_TOP/qemu/run.sh" -k "$kernel" -c skylake -s 2 -i -t 600 "${files[@]}" \
		-f "$build/tools/kpmu-timeline:/bin/" -f "$work/guest.sh" "sh guest.sh" >"$work/out"
	grep ' records, ' "$work/out" || true
}

# extract NAME - a file that the guest has printed
extract()
{
	sed -n "/^== begin $1/,/^== end $1/p" "$work/out" | grep -v '^== ' | base64 -d |
		gunzip >"$work/$1"
}

# browser OPTION... - run Chromium on the page; its messages about D-Bus mean nothing here
browser()
{
	nice timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
		--user-data-dir="$work/chromium" --window-size="1280,$((height + 200))" "$@" \
		"file://$work/page.html" 2>"$work/chromium.log"
}

dump() { browser --dump-dom >"$work/dom.html"; }

has_browser()
{
	(nice "$KPMU_TOP/qemu/deps.sh" chromium python3-pil fonts-dejavu-core) &&
		/usr/bin/python3 -c 'import PIL'
}

judge() { /usr/bin/python3 "$KPMU_TOP/tools/timeline-page.py" "$1" "$events" "$work"; }

check "kpmu-timeline in a guest" guest
check "the trace" extract trace.json
check "the page" extract page.html
check "tracks of the trace" judge trace
if has_browser; then
	height=$(sed -n 's/^<svg .* height="\([0-9]*\)">$/\1/p' "$work/page.html")
	check "the page in Chromium" dump
	# A profile of its own for each run: the first may still hold it
	rm -rf "$work/chromium"
	check "a picture of it" browser --screenshot="$work/page.png"
	check "lanes of the page" judge lanes
	check "colours of the picture" judge picture
	[ -z "$picture" ] || judge "$picture"
else
	skipped=4
	echo "ok the picture # SKIP no Chromium"
fi
echo "timeline-page: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
