// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/debug/kpmu: plan and registers of each CPU, statistics, capabilities. */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/smp.h>

#include "../sched/sched.h"
#include "../trace/stats.h"
#include "dev.h"

static struct dentry *root;

static void show_group(struct seq_file *m, struct kpmu_entity *leader)
{
	struct kpmu_entity *e;

	seq_printf(m, "    id %llu on counter %d", leader->id, leader->hw.idx);
	kpmu_for_each_in_group(e, leader)
		seq_printf(m, ", id %llu on %d", e->id, e->hw.idx);
	seq_puts(m, "\n");
}

/* Waiting groups of a context that are listed, with the reason; the rest is counted */
#define MAX_WAITING	100

static void show_waiting(struct seq_file *m, struct kpmu_cpu *kc,
			 struct kpmu_ctx *ctx)
{
	struct kpmu_entity *leader;
	int n = 0, more = 0;

	list_for_each_entry(leader, &ctx->leaders, node) {
		if (leader->group.placed)
			continue;
		if (n == MAX_WAITING) {
			more++;
			continue;
		}
		n++;
		seq_printf(m, "    id %llu, group of %u, does not run: %s\n",
			   leader->id, leader->group.nr,
			   kpmu_plan_why(kc, leader));
	}
	if (more)
		seq_printf(m, "    and %d more\n", more);
}

static void show_ctx(struct seq_file *m, const char *what, struct kpmu_cpu *kc,
		     struct kpmu_ctx *ctx)
{
	int i;

	seq_printf(m, "  %s: %u events, %u flexible groups, %u pinned\n", what,
		   ctx->nr_events, ctx->nr_flexible, ctx->nr_pinned);
	for (i = 0; i < ctx->nr_placed; i++)
		show_group(m, ctx->placed[i]);
	show_waiting(m, kc, ctx);
}

/* Runs on the CPU itself with IRQs off, so that its state does not change */
static void show_cpu(void *data)
{
	struct seq_file *m = data;
	struct kpmu_cpu *kc = this_cpu_ptr(&kpmu_cpu);
	const struct kpmu_plan *plan = kpmu_plan_of(kc);
	struct kpmu_ctx *ctx;
	unsigned long flags;

	local_irq_save(flags);
	seq_printf(m, "cpu %d: plan %llu, counters %#x, waiting: %u of the CPU, %u of the task, rotation %s\n",
		   kc->ctx.home, plan->serial, kpmu_slots_used(&plan->slots),
		   plan->cpu_waits, plan->task_waits, kc->armed ? "on" : "off");
	kpmu_for_each_cpu_ctx(ctx, kc)
		show_ctx(m, ctx->css ? "cgroup" : "cpu", kc, ctx);
	if (kc->task)
		show_ctx(m, "task", kc, kc->task);
	kpmu_counters_show(m, kc->ctx.home);
	local_irq_restore(flags);
}

static int all_cpus_show(struct seq_file *m, void *unused)
{
	int cpu;

	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, show_cpu, m, 1);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(all_cpus);

static int stats_show(struct seq_file *m, void *unused)
{
	kpmu_stats_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int caps_open(struct inode *inode, struct file *file)
{
	return single_open(file, kpmu_caps_show, NULL);
}

static const struct file_operations caps_fops = {
	.owner = THIS_MODULE,
	.open = caps_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

/**
 * kpmu_debugfs_init() - create the debugfs files
 *
 * Context: module init.
 */
void __init kpmu_debugfs_init(void)
{
	root = debugfs_create_dir("kpmu", NULL);
	debugfs_create_file("cpus", 0400, root, NULL, &all_cpus_fops);
	debugfs_create_file("stats", 0444, root, NULL, &stats_fops);
	debugfs_create_file("caps", 0444, root, NULL, &caps_fops);
}

/**
 * kpmu_debugfs_exit() - remove the debugfs files
 *
 * Context: module exit, may sleep.
 */
void kpmu_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
}
