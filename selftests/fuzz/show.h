/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Converts the results of a program to text for comparison, one line per operation.  Ids
 * are numbered by their first appearance.  Times are reduced to zero or not, and to their
 * order.  Counts that may differ between the routes are reduced to zero or not.
 */
#ifndef KPMU_FUZZ_SHOW_H
#define KPMU_FUZZ_SHOW_H

#include "record.h"

/*
 * Compare the count in the user page with that of the read(2) after it.  Print the difference
 * if it is exact, else only whether the page is ahead, which is not an error with inherit.
 */
static inline void put_page(struct show *s, const struct slot *slot, const struct result *r)
{
	const uint64_t *w = r->word;
	int group = !!(slot->attr.read_format & PERF_FORMAT_GROUP);
	int times = __builtin_popcountll(slot->attr.read_format & FORMAT_TIMES);
	int64_t more;

	put(s, w[0] ? " no rdpmc" : " rdpmc");
	if (r->words < 5 || w[0])
		return;
	more = w[group ? 4 + 1 + times : 4] - w[1];
	if (slot->exact && all_fit(s) && w[2])
		put(s, " %lld", (long long)more);
	else if (more < 0 && !slot->attr.inherit)
		put(s, " page is ahead");
}

/* The part of saw_ioctl() for each fd of the event */
static inline void saw_ioctl_of(struct show *s, const struct op *op, struct slot *slot)
{
	switch (op->arg[1]) {
	case C_RESET:
		slot->reset = 1;
		slot->reset_late |= !!s->forks;
		/* It may have been throttled before, and count nothing since */
		if (throttles(slot)) {
			slot->loose = 1;
			s->any_loose = 1;
		}
		break;
	case C_PERIOD:
		slot->attr.sample_period = op->arg[2];
		break;
	case C_DISABLE:
		slot->was_off = 1;
		break;
	}
}

static inline void saw_ioctl(struct show *s, const struct op *op, const struct result *r)
{
	const struct slot *slot = &s->slot[op->arg[0]];

	if (r->ret)
		return;
	if (op->arg[1] == C_ID)
		put_id(s, r->word[0]);
	/* With a frequency the number of events up to an overflow differs */
	if (op->arg[1] == C_REFRESH && slot->attr.freq)
		saw_stuck(s, slot->group);
	/* A member that is opened later may be enabled for no time */
	if (op->arg[1] == C_REFRESH && (slot->attr.freq || may_be_stuck(&slot->attr)))
		saw_limit(s, slot->group);
	for (int i = 0; i < SLOTS; i++)
		if (s->slot[i].open && s->slot[i].event == slot->event)
			saw_ioctl_of(s, op, &s->slot[i]);
	if (op->arg[1] == C_PERIOD) {
		saw_new_period(s, slot);
		saw_period(s, op->arg[2]);
		saw_throttling(s, slot->group);
	}
	s->redirected |= op->arg[1] == C_OUTPUT && op->arg[2] >= 0;
}

/* See signals_differ(): if they do not, they arrive during the same operation on both routes */
static inline void put_signals(struct show *s, const struct op *op, const struct result *r)
{
	int differ = s->signals_differ;

	s->signals_differ |= s->traps >= THROTTLED;
	if (!all_fit(s) || differ)
		return;
	if (r->traps)
		put(s, s->traps < THROTTLED ? " SIGTRAP*%u %llu" : " SIGTRAP",
		    r->traps, (long long)r->trap_data);
	if (r->ios)
		put(s, " SIGIO");
}

/* Does this sweep create tasks? */
static inline int sweeps_in_tasks(const struct op *op)
{
	return op->code == OP_SWEEP && sweep_is_of_tasks(op->arg[4]);
}

/* word[0] siblings with the current attr were opened */
static inline void saw_many(struct show *s, const struct op *op, const struct result *r)
{
	put(s, " %llu", (long long)r->word[0]);
	s->all_exact &= is_exact(&s->attr.a, (const int64_t[]){ 0, 0, 0, 0, 0 });
	s->any_loose |= is_loose(&s->attr.a);
	if (is_hardware(&s->attr.a))
		s->hardware += r->word[0];
}

static inline void saw_read(struct show *s, int group)
{
	for (int i = 0; i < SLOTS; i++)
		s->slot[i].was_read |= s->slot[i].group == group;
}

/*
 * When the signals of a throttled event go on depends on the tick, and so does what their handlers count.
 * Operations that follow each other may be in the same tick, and an event may overflow in its handler.
 */
static inline void saw_signals(struct show *s, const struct result *r)
{
	s->traps += (r->traps + r->ios) * (1 + HANDLER / (s->period ?: 1));
	s->stray_signals |= s->traps >= THROTTLED;
}

static inline void put_result(struct show *s, const struct op *op, const struct result *r)
{
	if (!r->done) {
		put(s, "not reached");
		return;
	}
	saw_signals(s, r);
	put(s, "%d", r->ret);
	if (r->ret < 0)
		put(s, " %s", strerrorname_np(r->err));
	switch (op->code) {
	case OP_OPEN:
		if (!r->ret)
			saw_open(s, op);
		break;
	case OP_MANY:
		saw_many(s, op, r);
		break;
	case OP_SWEEP:
		/* The limit of its last round may be left, and end the event when it is next enabled */
		if (!s->slot[op->arg[0]].exact)
			saw_limit(s, s->slot[op->arg[0]].group);
		s->forks += sweeps_in_tasks(op);
		s->child_execs += op->arg[4] == SWEEP_EXEC;
		break;
	case OP_WEXEC:
		saw_exec(s, op->arg[0] + 1);
		break;
	case OP_EXEC:
		s->child_execs++;
		/* fall through */
	case OP_FORK:
	case OP_WFORK:
	case OP_THREAD:
	case OP_SPAWN:
		s->forks++;
		break;
	case OP_PRCTL:
		for (int i = 0; i < SLOTS && !op->arg[0]; i++)
			s->slot[i].was_off = 1;
		break;
	case OP_READ:
		if (r->ret > 0) {
			put_values(s, &s->slot[op->arg[0]], r->word, r->word + r->words,
				   r->ret);
			saw_read(s, s->slot[op->arg[0]].group);
		}
		break;
	case OP_CLOSE:
		saw_close(s, op->arg[0]);
		s->slot[op->arg[0]].open = 0;
		break;
	case OP_MAP:
		if (!r->ret)
			s->ring[op->arg[0]] = s->slot[op->arg[0]];
		break;
	case OP_RECORDS:
		s->ring[op->arg[0]].mixed |= s->redirected;
		put_records(s, &s->ring[op->arg[0]], r);
		break;
	case OP_PAGE:
		if (!r->ret)
			put_page(s, &s->slot[op->arg[0]], r);
		break;
	case OP_POLL:
		put(s, " %#llx", (long long)r->word[0]);
		break;
	case OP_IOCTL:
		saw_ioctl(s, op, r);
		break;
	case OP_DUP:
	case OP_PASS:
		if (!r->ret)
			saw_copy(s, op->arg[0], op->arg[1]);
		break;
	case OP_OWN:
		/*
		 * Copies overflow while the owner runs or waits, so some of their signals are merged.  With a
		 * frequency, upstream begins at a period that it has guessed.
		 */
		s->stray_signals |= !s->slot[op->arg[0]].exact ||
				    s->slot[op->arg[0]].attr.inherit ||
				    s->slot[op->arg[0]].attr.freq;
		break;
	default:
		break;
	}
	put_signals(s, op, r);
}

static inline int other_pinned_was_off(const struct show *s, const struct slot *slot)
{
	for (int i = 0; i < SLOTS; i++)
		if (&s->slot[i] != slot && s->slot[i].attr.pinned && s->slot[i].was_off)
			return 1;
	return 0;
}

static inline int beside_a_cgroup(const struct show *s, const struct slot *slot)
{
	for (int i = 0; i < SLOTS; i++)
		if (&s->slot[i] != slot && s->slot[i].of_cgroup)
			return 1;
	return 0;
}

/* The history of an event, which the rules of the file meant can match */
static inline void put_history(struct show *s, const struct slot *slot)
{
	if (!slot->of_cgroup && !slot->of_worker && beside_a_cgroup(s, slot))
		put(s, " beside a cgroup");
	if (slot->leaderless)
		put(s, slot->leaderless == 2 ? " leaderless of one off" : " leaderless");
	if (slot->moved)
		put(s, slot->moved == MOVED_WHILE_OFF ? " moved while off" : " moved");
	if (slot->two_pmus)
		put(s, " of two PMUs");
	if (slot->of_cgroup)
		put(s, slot->was_off ? " of a cgroup, once off" : " of a cgroup");
	if (slot->attr.inherit && s->forks)
		put(s, s->stat ? " of copies, with inherit_stat" : s->removes ?
		    " of copies, removed" : slot->reset_late ?
		    " of copies, reset" : " of copies");
	if (slot->attr.inherit && slot->attr.enable_on_exec && s->child_execs + s->execs > 1)
		put(s, " of copies, after execs");
	if (slot->attr.inherit && s->forks && slot->attr.pinned)
		put(s, " copies, pinned");
	if (slot->attr.pinned && other_pinned_was_off(s, slot))
		put(s, " pinned beside one that was off");
	if (slot->attr.pinned && s->exclusive && !all_fit(s))
		put(s, " pinned, one is exclusive");
	if (slot->attr.pinned && slot->was_off)
		put(s, " pinned and once off");
	if (slot->attr.read_format & PERF_FORMAT_GROUP && s->removes && s->execs)
		put(s, " of a group, after exec");
	if (slot->attr.remove_on_exec && s->execs && s->exec_enables)
		put(s, " enabled and removed");
}

/* Operations that create tasks: put_result() counts them, too */
static inline int makes_copies(const struct prog *p)
{
	int i;

	for (i = 0; i < p->nr; i++) {
		const struct op *op = &p->op[i];
		int code = op->code;

		if (code == OP_WFORK || code == OP_FORK || code == OP_THREAD || code == OP_SPAWN ||
		    code == OP_EXEC || sweeps_in_tasks(op))
			return 1;
	}
	return 0;
}

/*
 * Do the routes differ in when signals arrive?  They do if an event that samples counts what is not equal
 * on both; if it has a frequency, as upstream begins at a period that it has guessed; if its period is so
 * short that it may be throttled at any operation, until a tick; and if it is copied, as upstream exchanges
 * what is left of its period and of the copy's.  The whole program is looked at, because a worker's signals
 * are in the result of the operation that started it, before an event was opened.
 */
static inline int signals_differ(const struct prog *p)
{
	static const int64_t self[5];
	int i, copies = makes_copies(p);
	union any_attr x = {};

	for (i = 0; i < p->nr; i++) {
		const struct op *op = &p->op[i];

		attr_op(&x, op);
		if (op->code == OP_IOCTL && op->arg[1] == C_PERIOD && op->arg[2] <= THROTTLES)
			return 1;
		if ((op->code != OP_OPEN && op->code != OP_MANY) || !x.a.sample_period)
			continue;
		if (x.a.freq || !is_exact(&x.a, op->code == OP_OPEN ? op->arg : self) ||
		    (is_hardware(&x.a) && x.a.sample_period <= THROTTLES) || (x.a.inherit && copies))
			return 1;
	}
	return 0;
}

/* Returns true if signals_differ must be set for the whole program, which only its results tell */
static inline int show_all(struct text *t, const struct prog *p, const struct outcome *out, int differ)
{
	struct show s = { .all_exact = 1, .signals_differ = differ };
	int i;

	for (i = 0; i < p->nr; i++) {
		const struct op *op = &p->op[i];

		attr_op(&s.attr, op);
		s.at = t->key[i];
		s.end = s.at + SHOW_MAX;
		s.at += op_print(s.at, op);
		if (op->code == OP_READ || op->code == OP_POLL)
			put_history(&s, &s.slot[op->arg[0]]);
		if (op->code == OP_POLL && s.slot[op->arg[0]].attr.pinned)
			put(&s, " of a pinned event");
		if (op->code == OP_RECORDS && s.ring[op->arg[0]].attr.freq)
			put(&s, " with a frequency");
		if (op->code == OP_RECORDS && s.new_period)
			put(&s, " after a new period");
		if (op->code == OP_RECORDS && s.ring[op->arg[0]].attr.context_switch && s.forks)
			put(&s, " with switches to a worker");
		if (op->code == OP_PAGE && s.ring[op->arg[0]].of_worker)
			put(&s, " of another task");
		if (op->code == OP_PAGE && s.ring[op->arg[0]].attr.inherit)
			put(&s, " with inherit");
		if (op->code == OP_PAGE && software_pmu(&s.ring[op->arg[0]].attr) < 0)
			put(&s, " of a clock");
		if (op->code == OP_PAGE && s.slot[op->arg[0]].reset)
			put(&s, " after a reset");
		if (op->code == OP_PAGE && s.slot[op->arg[0]].was_read)
			put(&s, " after a read");
		if ((op->code == OP_OPEN || op->code == OP_MANY) && s.forks)
			put(&s, " after a fork");
		if (op->code == OP_OPEN || (op->code == OP_IOCTL && op->arg[1] == C_MODIFY))
			put_attr(&s, &s.attr);
		s.at = t->val[i];
		s.end = s.at + SHOW_MAX;
		put_result(&s, op, &out->res[i]);
	}
	strcpy(t->key[i], "end");
	snprintf(t->val[i], SHOW_MAX, "status %#x", out->status);
	return s.starts_differ;
}

/**
 * show() - convert the results of a program to text
 * @t: output
 * @p: the program
 * @out: its results
 */
static inline void show(struct text *t, const struct prog *p, const struct outcome *out)
{
	if (show_all(t, p, out, signals_differ(p)))
		show_all(t, p, out, 1);
}

#endif
