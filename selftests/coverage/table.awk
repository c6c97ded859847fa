# SPDX-License-Identifier: GPL-2.0-only
#
# awk -v top=TREE/ -f table.awk unreached module.info - print a table of lcov's numbers,
# sorted by descending coverage; the functions and lines that are neither reached nor listed
# in unreached; the stale entries of unreached; the totals.  Fails if an entry is stale.

BEGIN { FS = "\t" }

# Fields of unreached: file; "function()", a pattern of source lines, or both; reason
FILENAME !~ /\.info$/ {
	if ($0 ~ /^#/ || $0 == "")
		next
	if (NF != 3)
		stale("an entry needs three fields: " $0)
	nr_entries++
	e_file[nr_entries] = $1
	e_what[nr_entries] = $2
	e_race[nr_entries] = $3 ~ /^race: /
	if (match($2, /^[a-z0-9_]+\(\)/)) {
		e_func[nr_entries] = substr($2, 1, RLENGTH - 2)
		$2 = substr($2, RLENGTH + 1)
		sub(/^ +/, "", $2)
	}
	e_pattern[nr_entries] = $2
	next
}

/^SF:/ {
	file = substr($0, 4)
	path = file
	sub(top, "", file)
	files[++nr_files] = file
	delete name_at
	delete source
	for (n = 1; (getline text <path) > 0; n++)
		source[n] = text
	close(path)
	func_name = ""
	nr_lines = 0
	next
}
/^FN:/ { split(substr($0, 4), f, ","); name_at[f[1]] = f[2]; next }
/^FNDA:0,/ { sub(/^FNDA:0,/, ""); uncalled[file] = uncalled[file] " " $0; nr_uncalled++; next }
/^BRDA:/ { branches++; if ($0 !~ /,(-|0)$/) taken++; next }
/^DA:/ {
	split(substr($0, 4), f, ",")
	line_nr[++nr_lines] = f[1] + 0
	hits[nr_lines] = f[2]
	next
}
/^end_of_record/ { whole_file() }

END {
	for (e = 1; e <= nr_entries; e++)
		if (!e_lines[e])
			stale(e_file[e] ": " e_what[e] ": no such line")
	print_table()
	print_open()
	printf "%s", stales
	if (nr_uncalled)
		printf "%d functions are not called\n", nr_uncalled
	printf "%d of %d lines reached, %d listed in selftests/unreached, %d open\n",
		all_hit, all_lines, all_listed, all_lines - all_hit - all_listed
	printf "coverage: %.1f%% of lines, %.1f%% of branches\n",
		percent(all_hit, all_lines), percent(taken, branches)
	exit stales != ""
}

function percent(a, b) { return b ? 100 * a / b : 100 }
function stale(text) { stales = stales "stale: " text "\n" }

# All data of a file is read, with its lines in ascending order: count them
function whole_file(	i, n, last)
{
	for (i = 1; i <= nr_lines; i++) {
		for (n = last + 1; n <= line_nr[i]; n++) {
			# lcov knows no function that is only inlined
			if (source[n - 1] ~ /^}/)
				func_name = ""
			if (n in name_at)
				func_name = name_at[n]
		}
		last = line_nr[i]
		one_line(line_nr[i], hits[i] > 0)
	}
	all_lines += lines[file]
	all_hit += hit[file]
	all_listed += listed[file]
}

function one_line(n, is_hit,	e)
{
	lines[file]++
	e = entry(n)
	if (e) {
		e_lines[e]++
		if (is_hit && !e_race[e])
			stale(file ":" n ": reached, but listed: " e_what[e])
	}
	if (is_hit)
		hit[file]++
	else if (e)
		listed[file]++
	else
		note_open(n)
}

function entry(n,	e)
{
	for (e = 1; e <= nr_entries; e++)
		if (e_file[e] == file && (e_func[e] == "" || e_func[e] == func_name) &&
		    source[n] ~ e_pattern[e])
			return e
	return 0
}

# Consecutive lines become a range
function note_open(n)
{
	if (open_last[file] && n <= open_last[file] + 1) {
		sub(/(-[0-9]+)?$/, "-" n, open[file])
	} else {
		open[file] = open[file] " " n
	}
	open_last[file] = n
}

function print_table(	i, j, f, order)
{
	for (i = 1; i <= nr_files; i++) {
		f = files[i]
		share[f] = percent(hit[f], lines[f])
		for (j = i; j > 1 && share[order[j - 1]] < share[f]; j--)
			order[j] = order[j - 1]
		order[j] = f
	}
	printf "%-34s %6s %8s %7s %6s\n", "file", "lines", "reached", "listed", "%"
	for (i = 1; i <= nr_files; i++) {
		f = order[i]
		printf "%-34s %6d %8d %7d %6.1f\n", f, lines[f], hit[f], listed[f], share[f]
	}
}

function print_open(	i, f)
{
	for (i = 1; i <= nr_files; i++) {
		f = files[i]
		if (uncalled[f])
			print "not called: " f ":" uncalled[f]
	}
	for (i = 1; i <= nr_files; i++) {
		f = files[i]
		if (open[f])
			print "not reached: " f ":" open[f]
	}
}
