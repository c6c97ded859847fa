// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports of broken rules.  A breach may be found under the run-queue lock, where printing
 * may deadlock: it is recorded there, and printed by an irq_work.
 */
#define pr_fmt(fmt) "kpmu: " fmt

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/sched.h>
#include <linux/stacktrace.h>

#include "check.h"

#define NR_BREACHES	8
#define NR_FRAMES	24

struct breach {
	struct irq_work work;
	const char *name;
	unsigned int frames;
	unsigned long stack[NR_FRAMES];
	char text[640];
};

static struct breach breaches[NR_BREACHES];
static atomic_t nr_breaches;

static void print_breach(struct irq_work *work)
{
	struct breach *b = container_of(work, struct breach, work);

	pr_warn("breach of rule %s\n%s", b->name, b->text);
	stack_trace_print(b->stack, b->frames, 1);
	WARN(1, "kpmu: breach of rule %s\n", b->name);
}

static int describe_event(char *to, int room, const struct kpmu_event *event)
{
	const struct kpmu_entity *e = &event->se;
	const struct kpmu_clock *c = &e->clock;
	const struct kpmu_group *g = &e->leader->group;

	return scnprintf(to, room,
		"event %llu type %u config %#llx flags %#llx cpu %d: state %u attached %d idx %d allowed %#x\n"
		"times %llu %llu since %llu on %d %d; leader %llu: nr %u max %u placed %d queued %d free %d\n",
		e->id, event->type, event->config, e->flags, e->cpu, e->state, e->attached,
		e->hw.idx, e->hw.allowed, c->enabled, c->running, c->since,
		c->is_enabled, c->is_running, e->leader->id, g->nr, g->max, g->placed,
		g->queued, g->free);
}

static int describe_ctx(char *to, int room, const struct kpmu_ctx *ctx)
{
	return scnprintf(to, room,
		"context home %d cpu %d retired %d time %llu since %llu: events %u pinned %u flexible %u bound %u placed %u waits %u %u slots %#x\n",
		ctx->home, ctx->cpu, ctx->retired, ctx->time, ctx->since,
		ctx->nr_events, ctx->nr_pinned, ctx->nr_flexible, ctx->nr_bound,
		ctx->nr_placed, ctx->plan.cpu_waits, ctx->plan.task_waits,
		kpmu_slots_used(&ctx->plan.slots));
}

/**
 * check_breach() - record that a rule does not hold, and queue the message
 * @name: the rule
 * @l: what was checked
 *
 * Only the first NR_BREACHES are printed.
 *
 * Context: IRQs off, or NMI.
 */
void check_breach(const char *name, const struct check_state *l)
{
	int n = 0, i = atomic_inc_return(&nr_breaches) - 1;
	struct breach *b = &breaches[i];

	if (i >= NR_BREACHES)
		return;
	b->name = name;
	n = scnprintf(b->text, sizeof(b->text), "%s cpu %d task %s %d\n",
		      l->detail ?: "", raw_smp_processor_id(), current->comm,
		      current->pid);
	if (l->ctx)
		n += describe_ctx(b->text + n, sizeof(b->text) - n, l->ctx);
	if (l->e)
		n += describe_event(b->text + n, sizeof(b->text) - n, l->e);
	b->frames = stack_trace_save(b->stack, NR_FRAMES, 1);
	init_irq_work(&b->work, print_breach);
	irq_work_queue(&b->work);
}

/**
 * check_breaches_exit() - wait until all breaches are printed
 *
 * Context: task; no check runs any more.
 */
void check_breaches_exit(void)
{
	int i, n = min(atomic_read(&nr_breaches), NR_BREACHES);

	for (i = 0; i < n; i++)
		irq_work_sync(&breaches[i].work);
}
