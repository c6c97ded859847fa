// SPDX-License-Identifier: GPL-2.0-only
//
// Mutations of the source: each rule inserts one kind of small bug.  A place is
// RULE:FILE:LINE:COLUMN.  If KPMU_PLACE is set in the environment, only that place is changed;
// if not, all places are printed and none is changed.

@initialize:python@
@@
import os
wanted = os.environ.get("KPMU_PLACE")

def place(rule, p):
	at = "%s:%s:%s:%s" % (rule, p[0].file, p[0].line, p[0].column)
	if wanted is None:
		print(at, flush=True)
	return at == wanted

@negate@
position p : script:python() { place("negate", p) };
expression e;
statement S1, S2;
@@
(
- if@p (e)
+ if (!(e))
S1 else S2
|
- if@p (e)
+ if (!(e))
S1
)

@bound@
position p : script:python() { place("bound", p) };
expression a, b;
@@
(
- a <@p b
+ a <= b
|
- a <=@p b
+ a < b
|
- a >@p b
+ a >= b
|
- a >=@p b
+ a > b
)

@equal@
position p : script:python() { place("equal", p) };
expression a, b;
@@
(
- a ==@p b
+ a != b
|
- a !=@p b
+ a == b
)

@logic@
position p : script:python() { place("logic", p) };
expression a, b;
@@
(
- a &&@p b
+ a || b
|
- a ||@p b
+ a && b
)

@sum@
position p : script:python() { place("sum", p) };
expression a, b;
@@
(
- a +@p b
+ a - b
|
- a -@p b
+ a + b
|
- a +=@p b
+ a -= b
|
- a -=@p b
+ a += b
)

@bits@
position p : script:python() { place("bits", p) };
expression a, b;
@@
(
- a |@p b
+ a & b
|
- a &@p b
+ a | b
|
- a |=@p b
+ a &= b
|
- a &=@p b
+ a |= b
)

@constant@
position p : script:python() { place("constant", p) };
@@
(
- 0@p
+ 1
|
- 1@p
+ 0
|
- true@p
+ false
|
- false@p
+ true
)

// Calls whose removal no test can notice are left out: assertions, barriers, messages
@call@
position p : script:python() { place("call", p) };
identifier f !~ "^(lockdep_|WARN|BUILD_BUG|VM_|trace_|pr_|smp_|might_|cond_resched|cpu_relax|barrier|kpmu_check|MODULE_)";
expression list es;
@@
- f@p(es);
+ ;

@assign@
position p : script:python() { place("assign", p) };
expression a, b;
identifier f;
@@
(
- a->f =@p b;
+ ;
|
- a.f =@p b;
+ ;
)

@early_return@
position p : script:python() { place("early", p) };
expression c;
@@
if (c)
- return@p;
+ ;

@early_value@
position p : script:python() { place("early", p) };
expression c, e;
@@
if (c)
- return@p e;
+ ;

@early_goto@
position p : script:python() { place("early", p) };
expression c;
identifier l;
@@
if (c)
- goto@p l;
+ ;

@early_continue@
position p : script:python() { place("early", p) };
expression c;
@@
if (c)
- continue@p;
+ ;

@early_break@
position p : script:python() { place("early", p) };
expression c;
@@
if (c)
- break@p;
+ ;
