# SPDX-License-Identifier: GPL-2.0-only
#
# awk -v kernel=NAME -f table.awk targets LINES - print the tables of make bench for a kernel.
# LINES are those that run.sh collected, with fields separated by "|":
#	ROUTE | part | NAME | exit status | seconds
#	ROUTE | row | name | minimum instructions | WRMSR | RDMSR | mean instructions
#	ROUTE | curve | name | number | instructions
#	ROUTE | whole | command | instructions of its load | with it, without events | with them
#	ROUTE | sustain | CPUs | requested rate per CPU | samples per second | lost (total)
# The last line has the sums, "KERNEL: N of N rows at target, M dearer than native".
# Must work in mawk: it accepts line breaks in an expression only after , && ||.

BEGIN {
	FS = " *[|] *"
	# Two measurements of the same operation may differ by this: instructions, plus a share
	noise = 10
	noise_share = 0.01
	# Target of the events of whole commands: share of native's
	whole_share = 0.7
}

function number(x)
{
	return x == "" ? "-" : sprintf("%d", x)
}

# Compare means, not minimums: only the mean includes deferred work
function is_dearer(native, kpmu)
{
	return kpmu > native * (1 + noise_share) + noise
}

# A target is a number, or -, which is the native mean, or native*SHARE or native+NUMBER
function is_relative(row)
{
	return limit[row] ~ /^(-$|native)/
}

# The figure that counts: the mean, or the minimum in rows that compare this
function figure(route, row)
{
	return by_least[row] ? least[route, row] : mean[route, row]
}

function most_allowed(row,    native)
{
	if (!is_relative(row))
		return limit[row]
	if (!(("native", row) in mean))
		return ""
	native = figure("native", row)
	if (limit[row] ~ /\*/)
		return native * substr(limit[row], index(limit[row], "*") + 1)
	if (limit[row] ~ /\+/)
		return native + substr(limit[row], index(limit[row], "+") + 1)
	return native
}

# Is the figure in the target?  If this is the native mean, two equal means may differ by the noise.
function is_cheap(row)
{
	if (!(("kpmu", row) in mean) || most_allowed(row) == "")
		return 0
	if (limit[row] == "-")
		return !is_dearer(mean["native", row], mean["kpmu", row])
	return figure("kpmu", row) <= most_allowed(row)
}

function at_target(row)
{
	return is_cheap(row) &&
		(limit_w[row] == "-" || writes["kpmu", row] <= limit_w[row]) &&
		(limit_r[row] == "-" || reads["kpmu", row] <= limit_r[row])
}

function why(status)
{
	if (status == 124)
		return "no end within its limit"
	if (status == 126)
		return "the kernel log is not clean"
	if (status == 99)
		return "the module could not be removed"
	return "failed with status " status
}

function is_part_of(part, parts,    of, n, i)
{
	n = split(parts, of, " ")
	for (i = 1; i <= n; i++)
		if (of[i] == part)
			return 1
	return 0
}

# Print the failures of the given parts, or all failures for "*"
function tell_failures(parts,    i)
{
	for (i = 1; i <= nr_failed; i++)
		if (parts == "*" || is_part_of(failed_part[i], parts))
			printf "  !! part %s, %s: %s\n", failed_part[i], failed_route[i], failed_why[i]
}

function was_run(parts,    of, n, i)
{
	n = split(parts, of, " ")
	for (i = 1; i <= n; i++)
		if (of[i] in ran)
			return 1
	return 0
}

# Is kpmu dearer in this row?  Some rows exist only on kpmu, some have a target above the native
# mean.
function row_is_dearer(row)
{
	return !alone[row] && !(limit[row] ~ /[*+]/) &&
		is_dearer(mean["native", row], mean["kpmu", row])
}

# With a column of the native mean's, the target need not be repeated
function target_of(row,    text)
{
	text = is_relative(row) ? limit[row] : sprintf("%d", limit[row])
	if (limit_w[row] != "-" || limit_r[row] != "-")
		text = text sprintf(" (%s/%s)", limit_w[row], limit_r[row])
	return text == "-" ? "" : text
}

function tell_row(row,    have, ratio, remark)
{
	have = (("kpmu", row) in mean) && (alone[row] || (("native", row) in mean))
	if (have && mean["native", row] > noise)
		ratio = sprintf("%.2f", mean["kpmu", row] / mean["native", row])
	limited++
	if (!have) {
		remark = "  no result"
		missing++
	} else if (row_is_dearer(row)) {
		remark = "  dearer"
		dearer++
	}
	if (have && remark == "" && at_target(row))
		hit++
	else
		remark = remark "  <-"
	printf "%-44s %9s %9s %9s %9s %7s %9s %13s%s\n", row,
		number(mean["native", row]), number(least["native", row]),
		number(mean["kpmu", row]), number(least["kpmu", row]), ratio,
		registers(row), target_of(row), remark
}

function registers(row)
{
	if (!(("kpmu", row) in writes))
		return ""
	return sprintf("%d/%d", writes["kpmu", row] + 0.5, reads["kpmu", row] + 0.5)
}

function tell_rows(    i)
{
	printf "%-44s %19s %19s %7s %9s %13s\n", "Kernel instructions per operation",
		"-- native: --", "-- kpmu: --", "", "kpmu", "at most"
	printf "%-44s %9s %9s %9s %9s %7s %9s %13s\n", "", "mean", "least", "mean",
		"least", "ratio", "W/R", "(W/R)"
	for (i = 1; i <= nr_lines; i++) {
		if (i in section) {
			shown = was_run(parts_of[i])
			if (shown) {
				printf "\n%s:\n", section[i]
				tell_failures(parts_of[i])
			}
		} else if (shown)
			tell_row(line[i])
	}
	if (print_later != "")
		printf "\nRows without a line in targets:\n%s", print_later
}

function most(c,    k, m)
{
	m = cost[c, 1]
	for (k = 2; k <= points[c]; k++)
		if (cost[c, k] > m)
			m = cost[c, k]
	return m
}

function lowest(c,    k, m)
{
	m = cost[c, 1]
	for (k = 2; k <= points[c]; k++)
		if (cost[c, k] < m)
			m = cost[c, k]
	return m
}

# Legitimate growth: a sorted tree of 1,000 groups is ten levels deep, and a rotation removes and
# inserts four groups, but only one if only one waits.  A task switch writes the user page of each
# mapped event of the task: allow 100 instructions per event.
function is_flat(name, c)
{
	if (name ~ /by its mapped/)
		return cost[c, points[c]] - cost[c, 1] <= 100 * (at[c, points[c]] - at[c, 1])
	return most(c) <= 1.25 * lowest(c) + 500
}

# Compare with native at each number that both routes have
function curve_is_dearer(name,    k, n)
{
	for (k = 1; k <= points["native" SUBSEP name] && k <= points["kpmu" SUBSEP name]; k++)
		n += is_dearer(cost["native" SUBSEP name, k], cost["kpmu" SUBSEP name, k])
	return n > 0
}

function tell_points(label, c,    k)
{
	printf "%10s", label
	for (k = 1; k <= points[c]; k++)
		printf "%9d", label == "" ? at[c, k] : cost[c, k]
	printf "\n"
}

function tell_curves(    i, name, c, flat, remark)
{
	if (!was_run("growth rotation"))
		return
	print "\nHow costs grow, in kernel instructions (the least):"
	tell_failures("growth rotation")
	for (i = 1; i <= nr_curves; i++) {
		name = curve[i]
		c = "kpmu" SUBSEP name
		flat = points[c] && is_flat(name, c)
		remark = ""
		if (curve_is_dearer(name)) {
			remark = "  dearer"
			dearer++
		}
		limited++
		hit += flat && remark == ""
		printf "%s%s%s\n", name, remark, flat && remark == "" ? "" : "  <-"
		tell_points("", points[c] ? c : "native" SUBSEP name)
		tell_points("native", "native" SUBSEP name)
		tell_points("kpmu", c)
	}
}

function rate(route, s)
{
	if (!((route, s) in samples))
		return "no result"
	return sprintf("%d (%d)", samples[route, s], lost[route, s])
}

function tell_sustained(    i, of)
{
	if (!was_run("sustain1 sustain4"))
		return
	print "\nSamples a second while they are read (lost), of all CPUs; timed, so only an indication:"
	tell_failures("sustain1 sustain4")
	printf "%6s %12s %18s %18s\n", "CPUs", "asked a CPU", "native", "kpmu"
	for (i = 1; i <= nr_asked; i++) {
		split(asked[i], of, SUBSEP)
		printf "%6d %12d %18s %18s\n", of[1], of[2], rate("native", asked[i]),
			rate("kpmu", asked[i])
	}
}

# What a command executes in the kernel beyond its load, and beyond the same command without events
function overhead(route, name)
{
	return with[route, name] - without[route, name]
}

function of_events(route, name)
{
	return with[route, name] - start[route, name]
}

function tell_whole(    i, name, remark)
{
	if (!was_run("whole"))
		return
	printf "\nWhole commands, thousand kernel instructions; kpmu's events cost at most %.1f of native's:\n",
		whole_share
	tell_failures("whole")
	printf "%-36s %8s %26s %24s\n", "", "load", "-- beyond the load: ---", "-- its events: ------"
	printf "%-36s %8s %9s %9s %6s %9s %8s %5s\n", "", "alone", "native", "kpmu", "ratio",
		"native", "kpmu", "ratio"
	for (i = 1; i <= nr_whole; i++) {
		name = whole[i]
		limited++
		if (!(("native", name) in with) || !(("kpmu", name) in with)) {
			printf "%-36s  no result  <-\n", name
			missing++
			continue
		}
		remark = whole_remark(name)
		if (remark == "")
			hit++
		printf "%-36s %8d %9d %9d %6.2f %9d %8d  %.2f%s\n", name, without["native", name] / 1000,
			overhead("native", name) / 1000, overhead("kpmu", name) / 1000,
			overhead("kpmu", name) / overhead("native", name),
			of_events("native", name) / 1000, of_events("kpmu", name) / 1000,
			of_events("kpmu", name) / of_events("native", name), remark
	}
}

function whole_remark(name,    ratio)
{
	ratio = of_events("kpmu", name) / of_events("native", name)
	if (ratio > 1 + noise_share) {
		dearer++
		return "  dearer  <-"
	}
	return ratio > whole_share ? "  <-" : ""
}

FILENAME ~ /targets$/ {
	if ($0 ~ /^#/ || $0 ~ /^ *$/)
		next
	nr_lines++
	if (sub(/^= */, "", $1)) {
		parts_of[nr_lines] = $1
		section[nr_lines] = $2
		next
	}
	line[nr_lines] = $1
	limit[$1] = $2
	limit_w[$1] = $3
	limit_r[$1] = $4
	alone[$1] = $5 == "kpmu"
	by_least[$1] = $5 == "least"
	next
}

$2 == "part" {
	ran[$3] = 1
	nr_parts++
	if ($4 != 0) {
		failed_part[++nr_failed] = $3
		failed_route[nr_failed] = $1
		failed_why[nr_failed] = why($4)
	}
}

$2 == "row" {
	if (!($3 in limit) && !($3 in unlisted)) {
		unlisted[$3] = 1
		print_later = print_later "  " $3 "\n"
	}
	least[$1, $3] = $4
	writes[$1, $3] = $5
	reads[$1, $3] = $6
	mean[$1, $3] = $7
}

$2 == "curve" {
	c = $1 SUBSEP $3
	if (!($3 in known_curve)) {
		known_curve[$3] = 1
		curve[++nr_curves] = $3
	}
	at[c, ++points[c]] = $4
	cost[c, points[c]] = $5
}

$2 == "whole" {
	if (!($3 in known_whole)) {
		known_whole[$3] = 1
		whole[++nr_whole] = $3
	}
	without[$1, $3] = $4
	start[$1, $3] = $5
	with[$1, $3] = $6
}

$2 == "sustain" {
	s = $3 SUBSEP $4
	if (!(s in known_rate)) {
		known_rate[s] = 1
		asked[++nr_asked] = s
	}
	samples[$1, s] = $5
	lost[$1, s] = $6
}

END {
	tell_rows()
	tell_curves()
	tell_sustained()
	tell_whole()
	printf "\n%s: ", kernel
	if (missing)
		printf "%d without result; ", missing
	if (!nr_failed)
		printf "all %d parts ran to their end\n", nr_parts
	for (i = 1; i <= nr_failed; i++)
		printf "%s%s %s%s", i == 1 ? "FAILED: " : ", ", failed_part[i], failed_route[i],
			i == nr_failed ? sprintf(" (%d of %d parts)\n", nr_failed, nr_parts) : ""
	printf "%s: %d of %d rows at target, %d dearer than native\n", kernel, hit, limited, dearer
}
