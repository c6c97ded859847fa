# SPDX-License-Identifier: GPL-2.0-only
#
# gcov -t | awk -f reached.awk - print each executed line of the files in kernel/, as FILE:LINE

{ split($0, f, ":"); sub(/^ +/, "", f[1]); line = f[2] + 0 }
line == 0 && f[3] == "Source" { file = f[4]; sub(/^.*\/build\/gcov\//, "", file); next }
line > 0 && f[1] ~ /^[1-9]/ && file ~ /^kernel\// { print file ":" line }
