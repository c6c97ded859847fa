/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event: the object behind an event fd.
 *
 * event/ contains the object and its parts: permissions, references, family, ring.
 * life/ contains the operations on it.  sched/ decides when it counts, by the entity that
 * each event embeds.
 */
#ifndef KPMU_EVENT_H
#define KPMU_EVENT_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "../abi/attr.h"
#include "../source/source.h"
#include "../sched/sched.h"

struct fasync_struct;
struct file;
struct kpmu_output;
struct kpmu_ring;
struct kpmu_family;
struct kpmu_program;
struct kpmu_sampling;
struct poll_table_struct;
struct task_struct;

/**
 * struct kpmu_event - one event
 * @read_format: attr.read_format
 * @read_size: bytes of a read result for a group of one event
 * @read_more: bytes of each further event of the group in a read result
 * @clockid: clock of the time stamps, -1 for local_clock()
 * @hooks: kernel hooks in use, one bit for each of enum kpmu_lazy
 * @taken: kpmu_event_take() succeeded: the last put calls source->put(); root events only
 * @on_exec: the next exec enables it (enable_on_exec); for the owner of the context
 * @type: attr.type
 * @config: attr.config
 * @fasync: subscribers of SIGIO
 * @ring: ring buffer for the records, RCU; children use their root's
 * @output: state for polls and the ring; NULL until the first ring is set
 * @sampling: state for writing records; NULL for an event that only counts
 * @wakeup_watermark: attr.wakeup_watermark, bytes; 0 if wakeup_events applies
 * @maps: mappings of the ring and its AUX area; if 0, @ring is another event's
 * @user_reads: those of @maps that may read the counter by RDPMC
 * @pause: of the leader of a throttled group without counters: last tick of the pause,
 *	low 32 bits of jiffies
 * @mapped_node: entry in ctx->mapped
 * @hit_node: entry in ctx->hits; or in ctx->timed, see kpmu_is_followed()
 * @rates: instead of @hit_node, of an event with a counter: how fast it counts (rates.h), or NULL
 * @owner: key of the task that opened the event, see life/owner.c
 * @owner_led: its key once it has become the leader of its process
 * @owned: entry in a list of events by owner, see life/owner.c
 * @rcu: instead of @owned, once the event is closed: delays the free until RCU readers are done
 * @label: perf_event with the label of security modules; usually NULL
 * @family: the root's family, if child tasks inherit the event; else NULL
 * @root: root of a child (inherited) event, valid while attached; NULL for a root
 * @sibling: entry of a child in family->children
 * @changing: of a root, instead of @sibling: bit 0: lock bit of life/change.c
 * @epoch: of a child: the last family walk that visited it
 * @idle: of a root without a sampling part: its BPF program, which never runs; or NULL
 * @ref: of a root: the fd; of a child: its context and family; and temporary users
 * @se: what is scheduled; its id is unique, never reused; a child has its root's
 */
struct kpmu_event {
	u8 read_format;
	u8 read_size;
	u8 read_more;
	s8 clockid;
	u16 hooks;
	bool taken;
	bool on_exec;
	u32 type;
	refcount_t ref;
	u64 config;
	struct fasync_struct *fasync;
	struct kpmu_ring __rcu *ring;
	struct kpmu_output *output;
	struct kpmu_sampling *sampling;
	u32 wakeup_watermark;
	u32 maps;
	u32 user_reads;
	u32 pause;
	struct hlist_node mapped_node;
	union {
		struct hlist_node hit_node;
		struct kpmu_rates *rates;	/* where hit_node.next is: the node stays unhashed */
	};
	u64 owner;
	u64 owner_led;
	union {
		struct list_head owned;
		struct rcu_head rcu;
	};
	struct perf_event *label;
	struct kpmu_family *family;
	struct kpmu_event *root;
	union {
		struct list_head sibling;
		unsigned long changing;
	};
	union {
		u64 epoch;
		struct kpmu_program *idle;
	};
	struct kpmu_entity se;	/* last: se.group.class is not zeroed */
};

/**
 * kpmu_event_of() - the event that embeds an entity
 * @se: the entity
 *
 * Context: any.
 * Return: the event.
 */
static inline struct kpmu_event *kpmu_event_of(struct kpmu_entity *se)
{
	return container_of(se, struct kpmu_event, se);
}

/**
 * kpmu_event_of_hw() - the event that embeds a source's part
 * @hw: the source's part
 *
 * Context: any.
 * Return: the event.
 */
static inline struct kpmu_event *kpmu_event_of_hw(struct kpmu_hw *hw)
{
	return container_of(hw, struct kpmu_event, se.hw);
}

/**
 * kpmu_leader() - the leader of an event's group
 * @e: the event
 *
 * The leader may change unless the caller owns the context.  kpmu_leader_get() takes a
 * reference.
 *
 * Context: owner of the event's context, or under RCU, or NMI.
 * Return: the leader; @e itself for a leader.
 */
static inline struct kpmu_event *kpmu_leader(const struct kpmu_event *e)
{
	return kpmu_event_of(READ_ONCE(e->se.leader));
}

#define kpmu_for_each_member(e, leader) \
	list_for_each_entry(e, &(leader)->se.group.members, se.node)

/**
 * kpmu_event_count() - fold and return an event's count
 * @e: the event
 *
 * Context: owner of the event's context, IRQs off; or NMI on the CPU where it is active.
 * Return: the count, without those of children.
 */
static __always_inline u64 kpmu_event_count(struct kpmu_event *e)
{
	return e->se.hw.source->read(&e->se.hw);
}

/**
 * kpmu_read_size() - size of a read result
 * @e: the event, whose read_format applies
 * @nr: number of events in the result, at least 1
 *
 * Context: any.
 * Return: bytes.
 */
static inline size_t kpmu_read_size(const struct kpmu_event *e, u32 nr)
{
	return e->read_size + (nr - 1) * e->read_more;
}

/* ref.c: memory and references */
struct kpmu_event *kpmu_event_new(void);
struct kpmu_event *kpmu_event_blank(bool sampling);
void kpmu_event_free(struct kpmu_event *e);
void kpmu_event_get(struct kpmu_event *e);
void kpmu_event_put(struct kpmu_event *e);
struct kpmu_event *kpmu_leader_get(struct kpmu_event *e);
int kpmu_events_init(void);
void kpmu_events_drain(void);
void kpmu_events_exit(void);

/* layout.c: the size of what is read */
void kpmu_read_layout(struct kpmu_event *e);
u16 kpmu_read_max(const struct kpmu_event *e);

/* output.c: the ring for the records */
void kpmu_output_lock(struct kpmu_event *e);
void kpmu_output_unlock(struct kpmu_event *e);
struct kpmu_ring *kpmu_output_ring(const struct kpmu_event *e);
int kpmu_output_set(struct kpmu_event *e, struct kpmu_ring *ring);
int kpmu_output_check(const struct kpmu_event *e, const struct task_struct *task,
		      struct kpmu_event *to);
int kpmu_output_redirect(struct kpmu_event *e, struct kpmu_event *to);
void kpmu_output_strip(struct kpmu_ring *ring);
int kpmu_output_pause(struct kpmu_event *e, bool pause);
__poll_t kpmu_output_poll(struct kpmu_event *e, struct file *file,
			  struct poll_table_struct *wait);
void kpmu_output_end(struct kpmu_event *e);
void kpmu_outputs_init(void);

/* perm.c */
enum kpmu_permit {
	KPMU_PERMIT_OPEN,	/* open an event with this attr at all */
	KPMU_PERMIT_DATA,	/* physical addresses and registers in samples; after _OPEN */
	KPMU_PERMIT_CPU,	/* observe all tasks of a CPU */
	KPMU_PERMIT_TASK,	/* observe this task */
	KPMU_PERMIT_RAW,	/* get records of kernel activity */
	KPMU_PERMIT_RESERVE,	/* set counters of CPUs aside */
};
int kpmu_permit(enum kpmu_permit what, const struct kpmu_attr *attr,
		struct task_struct *task, const char **why);
int kpmu_paranoid(void);
extern int kpmu_sysctl_paranoid;

#endif
