/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to events, from open to close. */
#ifndef KPMU_LIFE_H
#define KPMU_LIFE_H

#include "../event/event.h"
#include "../event/sampling.h"

struct bpf_prog;

/* create.c: new events, and copies for child tasks */
struct kpmu_event *kpmu_event_alloc(const struct kpmu_target *target,
				    const char **why);
int kpmu_event_set_clock(struct kpmu_event *e, const struct kpmu_attr *attr, const char **why);
int kpmu_event_take(struct kpmu_event *e, const struct kpmu_target *target,
		    const char **why);
void kpmu_event_clone(struct kpmu_event *e, struct kpmu_event *from);

/* kept.c: contexts of children that have exited, for the next children */
bool kpmu_kept_put(struct kpmu_ctx *ctx);
bool kpmu_kept_take(struct kpmu_ctx *parent, struct task_struct *task);
void kpmu_kept_free(void);

/* attach.c: attach to a context and group, detach */
int kpmu_event_attach(struct kpmu_event *e, struct kpmu_ctx *ctx,
		      struct kpmu_event *leader, const char **why);
void kpmu_event_join(struct kpmu_event *e, struct kpmu_ctx *ctx,
		     struct kpmu_event *leader);
void kpmu_event_leave(struct kpmu_ctx *ctx, struct kpmu_event *e);
void kpmu_event_detach(struct kpmu_event *e);
bool kpmu_event_detach_child(struct kpmu_event *e);
void kpmu_event_finish(struct kpmu_event *e);

/* control.c */
enum kpmu_op { KPMU_OP_ENABLE, KPMU_OP_DISABLE, KPMU_OP_RESET };
void kpmu_event_control(struct kpmu_event *e, enum kpmu_op op, bool group);
void kpmu_event_control_owned(struct kpmu_ctx *ctx, struct kpmu_event *e, enum kpmu_op op);

/* notify.c: what an overflow leaves to an irq_work */
void kpmu_notify_init(struct kpmu_event *e);
int kpmu_event_refresh(struct kpmu_event *e, int n);

/* change.c: filters, BPF programs, breakpoints */
int kpmu_event_filter(struct kpmu_event *e, char *filter);
int kpmu_event_attach_program(struct kpmu_event *e, struct bpf_prog *prog, u64 cookie);
void kpmu_event_detach_program(struct kpmu_event *e);
int kpmu_event_set_bpf(struct kpmu_event *e, int fd);
int kpmu_event_query_bpf(struct kpmu_event *e, void __user *query);
int kpmu_event_modify(struct kpmu_event *e, const struct kpmu_attr *attr);

/* owner.c: all events that a thread has opened */
void kpmu_owner_set(struct kpmu_event *e, const struct task_struct *opener);
void kpmu_owner_clear(struct kpmu_event *e);
void kpmu_owner_control(enum kpmu_op op);
void kpmu_owners_init(void);

/* read.c, read_family.c */
ssize_t kpmu_event_read(struct kpmu_event *e, char __user *buf, size_t len);
ssize_t kpmu_read_family(struct kpmu_event *e, char __user *buf, size_t len);
struct kpmu_total;
bool kpmu_family_total(struct kpmu_event *e, struct kpmu_total *t);

/* inherit.c: fork */
void kpmu_inherit(struct task_struct *task, unsigned long clone_flags);

/* exec.c */
void kpmu_events_exec(void);

/* lost.c */
void kpmu_events_lost(struct kpmu_entity *leader);

/* exit.c: end of events at task exit and exec */
void kpmu_event_end_owned(struct kpmu_ctx *ctx, struct kpmu_event *e,
			  struct list_head *gone);
void kpmu_events_put_list(struct list_head *gone);
extern const struct kpmu_sched_ops kpmu_event_ops;

/* close.c */
void kpmu_family_close(struct kpmu_event *root);

#endif
