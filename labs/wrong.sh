# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Solutions with a mistake, for check.sh: the lab, the check that must fail, and what sed changes.

# shellcheck disable=SC2016 # $ and backquotes are C's
wrong 1 'instructions of a loop of 1000' 's/ \| BIT\(22\)//'
wrong 1 'cycles, while fixed counter 0' 's/ctrl = lab_rdmsr\(0x38d\);/ctrl = 0;/'
# The overshoot is lost, so samples come a little late
wrong 2 'samples with a period of 1,000' 's/past - every/(past \& 0) - every/'
wrong 2 'interrupts lost' 's/lab_lvtpc\(LVTPC_NMI\);\n\treturn true/return true/'
wrong 3 'wrong reads while it wraps' 's/while \(local64_cmpxchg\(&c->prev, prev, now\) != prev\)/while (local64_set(\&c->prev, now), 0)/'
wrong 3 'instructions, one wrap' 's/count_delta\(prev, now, WIDTH\)/count_delta(prev, now, 48)/'
wrong 4 'the last may use only counter 2' 's/ \|\| place\([^)]*\)/ || 0/'
wrong 4 'wrong solutions' 's/counter\[e\] = c;/counter[e] = 0;/'
# Members that are enabled one after the other
wrong 5 'writes of IA32_PERF_GLOBAL_CTRL' 's/(taken \|= [^;]*;)/\1 lab_wrmsr(0x38f, taken);/'
wrong 5 'registers written for it' 's/if \(!assign/lab_wrmsr(0x186, 0); &/'
wrong 6 'groups that waited although they fit' 's/(groups\[next\]\.on = [^;]*;)/\1 if (!groups[next].on) counters = 0;/'
wrong 6 'of 300 turns, the share of a group' 's/(g->account = )groups\[i\]\.account/\10/'
wrong 6 'of 2 to the 40th' 's/\(__uint128_t\)//'
wrong 7 'interrupted at one of its' 's/head != __atomic_load_n\(&r->written, __ATOMIC_RELAXED\)/0/'
wrong 7 'interrupted at one of its' 's/r->nest > 1/0/'
wrong 7 'interrupted at one of its' 's/!__atomic_compare_exchange_n\([^)]*\)[^)]*\)/(r->written = pos + sizeof(*e), 0)/'
# The head is determined while an interrupting writer may still publish a newer one
wrong 7 'by two writers' 's/(\t\t__atomic_store_n\(&r->nest, 1[^\n]*\n[^\n]*\n)(\t\thead = [^\n]*\n)/\2\1/'
wrong 7 'entries lost' 's/<= .s64.r->size/< INT64_MAX/'
wrong 8 'of these with the right registers' 's/\(every - 1\)/every/'
wrong 8 'records taken' 's/area->index = area->base;//'
wrong 8 'interrupts, one for 10' 's/lab_lvtpc\(LVTPC_NMI\);\n\treturn true/return true/'
