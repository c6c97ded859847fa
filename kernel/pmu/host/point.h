/* SPDX-License-Identifier: GPL-2.0-only */
/* Points: tracepoints whose hits are counted by a kpmu probe, without their records. */
#ifndef KPMU_POINT_H
#define KPMU_POINT_H

#include <linux/types.h>

#include "../../compat/ksym.h"
#include "../../compat/detach.h"

/**
 * struct kpmu_point - a probe that counts the hits of a tracepoint
 * @where: the tracepoint
 * @key: the key of the tap that the hits are reported for
 * @muted: do not report; the hits are reported by another tap, or not needed
 * @use: the use of the probe, @own or that of all points of its kind
 * @own: for a tracepoint of its own
 */
struct kpmu_point {
	struct kpmu_tracepoint where;
	const struct kpmu_hit_key *key;
	bool muted;
	struct kpmu_use *use;
	struct kpmu_use own;
};

int kpmu_point_listen(struct kpmu_point *p, const struct perf_event *event,
		      const struct kpmu_hit_key *key, struct kpmu_detach *by);
void kpmu_point_mute(struct kpmu_point *p);
void kpmu_point_unmute(struct kpmu_point *p);
bool kpmu_point_expired(const struct kpmu_point *p);
void kpmu_point_leave(struct kpmu_point *p);
void kpmu_point_free(struct kpmu_point *p);
void kpmu_points_init(void);

#endif
