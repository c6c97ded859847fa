// SPDX-License-Identifier: GPL-2.0-only
/*
 * KPMU_IOC_EXPLAIN: which events of a set count together, on which counters, and what prevents the
 * others.  The answer is computed from copies: nothing is attached, and no hardware is taken.
 */
#include <linux/bitops.h>
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <uapi/linux/kpmu.h>

#include "../event/event.h"
#include "../event/rates.h"
#include "../sched/trial.h"
#include "../source/drivers.h"
#include "dev.h"
#include "held.h"

/**
 * struct item - an event of the set
 * @user: the caller's view, written back at the end
 * @copy: what the trial places
 * @held: of an open event without a counter, an event on one that it could use
 * @key: of an open event, its group's leader: only compared
 * @lead: index of the item that leads its group in the set, -1 if the event cannot be opened
 * @trial: of a leader: index of its group in set->trials
 */
struct item {
	struct kpmu_explain_event user;
	struct kpmu_entity copy;
	struct kpmu_held held;
	const void *key;
	int lead;
	int trial;
};

struct set {
	struct kpmu_explain args;
	struct item *items;
	struct kpmu_trial *trials;
	int *leaders;		/* of each trial: index of the leader's item */
	int nr_trials;
};

/* ---- one event ---------------------------------------------------------------- */

static void try_attr(const struct set *s, struct item *it)
{
	const struct kpmu_open args = {
		.attr = it->user.attr, .pid = s->args.pid, .cpu = s->args.cpu, .group_fd = -1,
	};
	const char *why = "";
	struct kpmu_event *e = kpmu_dev_try_open(&args, &why);

	if (IS_ERR(e)) {
		it->user.error = -PTR_ERR(e);
		strscpy(it->user.text, why, sizeof(it->user.text));
		return;
	}
	kpmu_trial_copy(&it->copy, &e->se);
	kpmu_event_put(e);
}

struct look {
	struct item *it;
	struct kpmu_entity *e;
	struct kpmu_rates *rates;	/* if it has none yet */
};

/* For how long does an event wait for a counter, and what is on one that it could use? */
static void look_at_wait(struct look *l, const struct kpmu_ctx *ctx, u64 now)
{
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	const struct kpmu_clock *c = &l->e->clock;
	u32 others;

	if (!c->is_enabled || c->is_running)
		return;
	l->it->user.waits = now - c->since;
	if (ctx->cpu < 0 || !kc->applied)
		return;
	others = kpmu_slots_used(&kc->applied->slots) & kpmu_usable(l->e, kc->ctx.home);
	if (others)
		kpmu_held_note(&l->it->held, kc->applied->slots.hw[__ffs(others)]);
}

/* What an event would have counted with a counter all the time */
static void look_at_count(struct look *l, struct kpmu_times t)
{
	struct kpmu_explain_event *u = &l->it->user;
	struct kpmu_event *e = kpmu_event_of(l->e);

	if (l->rates && !kpmu_rates_of(e)) {
		kpmu_rates_start(e, l->rates, t.running);
		l->rates = NULL;
	}
	u->count = kpmu_event_count(e);
	u->turns = kpmu_rates_of(e) ? kpmu_rates_of(e)->turns : 0;
	kpmu_rates_span(e, t, u->count, &u->low, &u->high);
}

/* The present state of an open event */
static int look_owned(struct kpmu_ctx *ctx, void *data)
{
	struct look *l = data;
	u64 now = kpmu_ctx_now(ctx);
	struct kpmu_times t = kpmu_times_at(&l->e->clock, now);
	const char *why = kpmu_off_why(l->e);

	if (!why)
		why = ctx->cpu < 0 ? "what it counts for does not run now" :
		      kpmu_plan_why(this_cpu_ptr(&kpmu_cpu), l->e->leader);
	l->it->key = l->e->leader;
	l->it->user.enabled = t.enabled;
	l->it->user.running = t.running;
	strscpy(l->it->user.now, why ?: "", sizeof(l->it->user.now));
	look_at_count(l, t);
	look_at_wait(l, ctx, now);
	kpmu_trial_copy(&l->it->copy, l->e);
	return 0;
}

static void look_at_fd(struct item *it)
{
	struct file *file = fget(it->user.fd);
	struct kpmu_event *e = file ? kpmu_event_of_file(file) : NULL;
	struct look l = { .it = it };

	if (!e) {
		it->user.error = EBADF;
		strscpy(it->user.text, "not an event of kpmu", sizeof(it->user.text));
	} else {
		l.e = &e->se;
		l.rates = kpmu_rates_new(e);
		kpmu_ctx_visit(e->se.ctx, look_owned, &l);
		kfree(l.rates);
		if (it->held.id && kpmu_held_visible(&it->held))
			it->user.holder = it->held.id;
		kpmu_held_put(&it->held);
	}
	if (file)
		fput(file);
}

/* ---- groups ------------------------------------------------------------------- */

/* Index of the leader of the group of @i, @i if it leads one; -1 if there cannot be such a group */
static int leader_of(const struct set *s, int i)
{
	const struct item *it = &s->items[i];
	int j = it->user.group;

	if (it->user.attr) {
		if (j == -1)
			return i;
		return j >= 0 && j < i && s->items[j].user.group == -1 ? j : -1;
	}
	if (j != -1)
		return -1;
	for (j = 0; j < i; j++)
		if (!s->items[j].user.attr && s->items[j].key == it->key)
			return j;
	return i;
}

/* Without its leader an event cannot be opened */
static int enter_group(struct set *s, int i)
{
	int leader = leader_of(s, i);
	struct item *it = &s->items[i], *of;

	if (leader < 0)
		return -EINVAL;
	if (it->user.error)
		return 0;
	of = &s->items[leader];
	if (leader != i && of->lead < 0) {
		it->user.error = EBADF;
		strscpy(it->user.text, "its leader cannot be opened", sizeof(it->user.text));
		return 0;
	}
	it->lead = leader;
	if (leader != i) {
		it->copy.leader = &of->copy;
		list_add_tail(&it->copy.node, &of->copy.group.members);
	}
	return 0;
}

/* The groups in the order in which a plan places them: pinned ones first */
static void list_trials(struct set *s)
{
	int i, pinned;

	for (pinned = 1; pinned >= 0; pinned--)
		for (i = 0; i < s->args.nr; i++) {
			struct item *it = &s->items[i];

			if (it->lead != i || kpmu_is_pinned(&it->copy) != pinned)
				continue;
			it->trial = s->nr_trials;
			s->leaders[s->nr_trials] = i;
			s->trials[s->nr_trials++].leader = &it->copy;
		}
}

/* ---- results ------------------------------------------------------------------ */

static u32 rules_of(const struct kpmu_hw *hw)
{
	u32 own, fixed, general, rules = 0;

	if (!hw->allowed)
		return 0;
	if (hw->allowed & ~kpmu_own_slots)
		return KPMU_RULE_DRIVER;
	own = kpmu_core.slots(kpmu_hw_kind(hw));
	fixed = own & kpmu_core.fixed();
	general = own & ~fixed;
	if (hw->allowed & fixed)
		rules |= KPMU_RULE_FIXED;
	if (general & ~hw->allowed)
		rules |= KPMU_RULE_TABLE;
	if (hw->extra_reg)
		rules |= KPMU_RULE_EXTRA;
	if (hw->branches)
		rules |= KPMU_RULE_BRANCHES;
	if (hw->precise)
		rules |= KPMU_RULE_PRECISE;
	if (hw->wide)
		rules |= KPMU_RULE_PAIR;
	return rules;
}

static void tell(const struct set *s, struct item *it)
{
	const struct kpmu_trial *t;

	if (it->lead < 0)
		return;
	t = &s->trials[s->items[it->lead].trial];
	it->user.allowed = kpmu_usable(&it->copy, s->args.cpu);
	it->user.rules = rules_of(&it->copy.hw);
	if (it->user.allowed != it->copy.hw.allowed)
		it->user.rules |= KPMU_RULE_RESERVED;
	it->user.fits = !t->why;
	if (!t->why) {
		it->user.counter = it->copy.hw.idx;
		return;
	}
	if (t->blocker >= 0)
		it->user.blocker = s->leaders[t->blocker];
	snprintf(it->user.text, sizeof(it->user.text), "%s%s",
		 t->alone ? "" : "even alone: ", t->why);
}

/* ---- the call ----------------------------------------------------------------- */

static void __user *user_event(const struct set *s, int i)
{
	return u64_to_user_ptr(s->args.events) + (size_t)i * s->args.size;
}

static int take_event(struct set *s, int i)
{
	struct item *it = &s->items[i];
	struct kpmu_explain_event *u = &it->user;
	int err = copy_struct_from_user(u, sizeof(*u), user_event(s, i), s->args.size);

	if (err)
		return err;
	*u = (struct kpmu_explain_event){
		.attr = u->attr, .fd = u->fd, .group = u->group, .counter = -1, .blocker = -1,
	};
	it->lead = -1;
	if (u->attr)
		try_attr(s, it);
	else
		look_at_fd(it);
	return enter_group(s, i);
}

static int explain(struct set *s)
{
	int i, err;

	for (i = 0; i < s->args.nr; i++) {
		err = take_event(s, i);
		if (err)
			return err;
	}
	list_trials(s);
	err = kpmu_trial_place(s->trials, s->nr_trials, s->args.cpu);
	if (err)
		return err;
	for (i = 0; i < s->args.nr; i++) {
		tell(s, &s->items[i]);
		if (copy_to_user(user_event(s, i), &s->items[i].user,
				 min_t(u32, s->args.size, sizeof(s->items[i].user))))
			return -EFAULT;
	}
	return 0;
}

static int check_args(const struct kpmu_explain *args)
{
	if (args->size < KPMU_EXPLAIN_SIZE_VER0 || args->size > PAGE_SIZE)
		return -EINVAL;
	if (!args->nr || args->nr > KPMU_EXPLAIN_MAX)
		return -EINVAL;
	if (args->pid != 0 && args->pid != -1)
		return -EINVAL;
	if (args->cpu == -1)
		return args->pid ? -EINVAL : 0;
	return (unsigned int)args->cpu < nr_cpu_ids ? 0 : -EINVAL;
}

/**
 * kpmu_dev_explain() - KPMU_IOC_EXPLAIN
 * @arg: struct kpmu_explain in user memory
 *
 * Context: task, may sleep.
 * Return: 0; -EFAULT, -EINVAL, -E2BIG, -ENOMEM; -EINTR if a fatal signal is pending.
 */
long kpmu_dev_explain(void __user *arg)
{
	struct set s = { };
	int err;

	if (copy_from_user(&s.args, arg, sizeof(s.args)))
		return -EFAULT;
	err = check_args(&s.args);
	if (err)
		return err;
	s.items = kvcalloc(s.args.nr, sizeof(*s.items), GFP_KERNEL_ACCOUNT);
	s.trials = kvcalloc(s.args.nr, sizeof(*s.trials), GFP_KERNEL_ACCOUNT);
	s.leaders = kvcalloc(s.args.nr, sizeof(*s.leaders), GFP_KERNEL_ACCOUNT);
	err = s.items && s.trials && s.leaders ? explain(&s) : -ENOMEM;
	kvfree(s.leaders);
	kvfree(s.trials);
	kvfree(s.items);
	return err;
}
