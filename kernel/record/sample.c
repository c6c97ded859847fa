// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples.  A table has a row for each PERF_SAMPLE bit, in the order of the fields in a
 * record, which is not that of the bits.
 *
 * Most samples consist of fields of one word each.  Their size is known when the event
 * is opened, and they are written directly into the ring.
 */
#include <linux/perf_event.h>

#include "../compat/compat.h"
#include "sample.h"

/* Largest size of header and fixed fields, in u64 words */
#define FIXED_WORDS	10

static u32 size_read(struct kpmu_filling *f)
{
	return kpmu_values_size(f->e);
}

static void put_read(struct kpmu_filling *f)
{
	kpmu_values_put(&f->r, f->e);
}

static u32 size_chain(struct kpmu_filling *f)
{
	f->chain = kpmu_chain_take(f->e, f->s);
	return (1 + (f->chain ? f->chain->nr : 0)) * sizeof(u64);
}

static void put_chain(struct kpmu_filling *f)
{
	if (f->chain)
		kpmu_ring_put(&f->r.h, f->chain,
			      (1 + f->chain->nr) * sizeof(u64));
	else
		kpmu_fill_word(f, 0);
}

static u32 raw_bytes(const struct kpmu_hit *s)
{
	return s->raw ? s->raw_size : 0;
}

/* A 32-bit size, which includes the padding, then the data, padded to 8 bytes */
static u32 size_raw(struct kpmu_filling *f)
{
	return ALIGN(sizeof(u32) + raw_bytes(f->s), sizeof(u64));
}

static void put_raw(struct kpmu_filling *f)
{
	static const u8 zeros[sizeof(u64)];
	u32 size = size_raw(f) - sizeof(u32), raw = raw_bytes(f->s);

	kpmu_ring_put(&f->r.h, &size, sizeof(size));
	kpmu_ring_put(&f->r.h, f->s->raw, raw);
	kpmu_ring_put(&f->r.h, zeros, size - raw);
}

static u32 size_regs(const struct pt_regs *regs, u64 mask)
{
	return (1 + (regs ? hweight64(mask) : 0)) * sizeof(u64);
}

static u32 size_regs_user(struct kpmu_filling *f)
{
	kpmu_user_regs_find(&f->user, f->e, f->s->regs);
	return size_regs(f->user.regs, f->e->sampling->regs_user);
}

static void put_regs_user(struct kpmu_filling *f)
{
	kpmu_fill_word(f, f->user.abi);
	if (f->user.regs)
		kpmu_regs_put(&f->r, f->user.regs, f->e->sampling->regs_user,
			      f->user.partial);
}

static u32 size_regs_intr(struct kpmu_filling *f)
{
	return size_regs(f->s->regs, f->e->sampling->regs_intr);
}

#define REGS_GENERAL	GENMASK_ULL(31, 0)

/* Registers XMM0 to XMM15, two words each, are known to precise events only */
static void put_regs_intr(struct kpmu_filling *f)
{
	u64 mask = f->e->sampling->regs_intr, m;
	const u64 *xmm = f->s->precise ? f->s->precise->xmm : NULL;

	kpmu_fill_word(f, f->s->regs ? kpmu_regs_abi() : 0);
	if (!f->s->regs)
		return;
	kpmu_regs_put(&f->r, f->s->regs, mask & REGS_GENERAL, false);
	for (m = mask >> 32; m; m &= m - 1)
		kpmu_fill_word(f, xmm ? xmm[__builtin_ctzll(m)] : 0);
}

/* Sized after the other fields: the dump gets the room that they leave */
static u32 size_stack(struct kpmu_filling *f)
{
	kpmu_user_regs_find(&f->user, f->e, f->s->regs);
	f->stack = kpmu_stack_size(&f->user, f->e->sampling->stack_user,
				   f->room);
	return sizeof(u64) + (f->stack ? f->stack + sizeof(u64) : 0);
}

static void put_stack(struct kpmu_filling *f)
{
	kpmu_stack_put(&f->r, &f->user, f->stack);
}

static u32 size_word(struct kpmu_filling *f)
{
	return sizeof(u64);
}

static void put_weight(struct kpmu_filling *f)
{
	kpmu_fill_word(f, f->s->precise ? f->s->precise->weight : 0);
}

static void put_weight_struct(struct kpmu_filling *f)
{
	kpmu_fill_word(f, f->s->precise ? f->s->precise->weight_struct : 0);
}

static void put_data_src(struct kpmu_filling *f)
{
	kpmu_fill_word(f, f->s->precise ? f->s->precise->data_src : KPMU_NO_DATA_SRC);
}

static void put_transaction(struct kpmu_filling *f)
{
	kpmu_fill_word(f, f->s->precise ? f->s->precise->txn : 0);
}

static void put_phys_addr(struct kpmu_filling *f)
{
	u64 phys = f->s->precise ? f->s->precise->phys : 0;

	kpmu_fill_word(f, phys ?: kpmu_phys_of(f->s->addr));
}

static void put_cgroup(struct kpmu_filling *f)
{
	kpmu_fill_word(f, kpmu_sample_cgroup(f->e));
}

static void put_data_page(struct kpmu_filling *f)
{
	kpmu_fill_word(f, kpmu_page_size_of(f->s->addr));
}

static void put_code_page(struct kpmu_filling *f)
{
	kpmu_fill_word(f, kpmu_page_size_of(kpmu_hit_ip(f->s)));
}

/**
 * struct field - a field of a sample
 * @bit: KPMU_SAMPLE_*
 * @size: returns its size in bytes; NULL for the fixed fields, see put_fixed()
 * @put: writes as many bytes
 * @last: it is sized after the others, from the room that they leave
 */
struct field {
	u64 bit;
	u32 (*size)(struct kpmu_filling *f);
	void (*put)(struct kpmu_filling *f);
	bool last;
};

static const struct field fields[] = {
	{ KPMU_SAMPLE_IDENTIFIER },
	{ KPMU_SAMPLE_IP },
	{ KPMU_SAMPLE_TID },
	{ KPMU_SAMPLE_TIME },
	{ KPMU_SAMPLE_ADDR },
	{ KPMU_SAMPLE_ID },
	{ KPMU_SAMPLE_STREAM_ID },
	{ KPMU_SAMPLE_CPU },
	{ KPMU_SAMPLE_PERIOD },
	{ KPMU_SAMPLE_READ, size_read, put_read },
	{ KPMU_SAMPLE_CALLCHAIN, size_chain, put_chain },
	{ KPMU_SAMPLE_RAW, size_raw, put_raw },
	{ KPMU_SAMPLE_BRANCH_STACK, kpmu_branches_size, kpmu_branches_put },
	{ KPMU_SAMPLE_REGS_USER, size_regs_user, put_regs_user },
	{ KPMU_SAMPLE_STACK_USER, size_stack, put_stack, true },
	{ KPMU_SAMPLE_WEIGHT, size_word, put_weight },
	{ KPMU_SAMPLE_WEIGHT_STRUCT, size_word, put_weight_struct },
	{ KPMU_SAMPLE_DATA_SRC, size_word, put_data_src },
	{ KPMU_SAMPLE_TRANSACTION, size_word, put_transaction },
	{ KPMU_SAMPLE_REGS_INTR, size_regs_intr, put_regs_intr },
	{ KPMU_SAMPLE_PHYS_ADDR, size_word, put_phys_addr },
	{ KPMU_SAMPLE_CGROUP, size_word, put_cgroup },
	{ KPMU_SAMPLE_DATA_PAGE_SIZE, size_word, put_data_page },
	{ KPMU_SAMPLE_CODE_PAGE_SIZE, size_word, put_code_page },
	{ KPMU_SAMPLE_AUX, kpmu_aux_size, kpmu_aux_field, true },
};

/* The fields with @last set */
#define LAST_FIELDS	(KPMU_SAMPLE_STACK_USER | KPMU_SAMPLE_AUX)

/* The rows before are the fixed fields, all of which put_fixed() writes */
#define FIRST_VARIABLE	9

#define BETWEEN_TIME_AND_PERIOD	(KPMU_SAMPLE_ADDR | KPMU_SAMPLE_ID | \
				 KPMU_SAMPLE_STREAM_ID | KPMU_SAMPLE_CPU)

/* The time of the hit; the hardware may know it better than the clock */
static __always_inline u64 time_of(const struct kpmu_event *e, const struct kpmu_hit *s)
{
	if (unlikely(s->precise) && s->precise->time && e->clockid < 0)
		return s->precise->time;
	return kpmu_record_clock(e);
}

/**
 * kpmu_sample_time() - the time of a sample
 * @e: the event
 * @s: details of the hit, from the event's source
 *
 * Context: as kpmu_sample_write().
 * Return: the time by the event's clock, in ns.
 */
u64 kpmu_sample_time(const struct kpmu_event *e, const struct kpmu_hit *s)
{
	return time_of(e, s);
}

/* The fixed fields, in the order of the table; @mode as of cpu_mode() */
static __always_inline u64 *put_fixed(u64 *p, const struct kpmu_event *e,
				      const struct kpmu_hit *s, u16 mode)
{
	u64 type = e->sampling->sample_type;

	if (type & KPMU_SAMPLE_IDENTIFIER)
		*p++ = e->se.id;
	if (type & KPMU_SAMPLE_IP)
		*p++ = mode == PERF_RECORD_MISC_USER ? instruction_pointer(s->regs) : kpmu_hit_ip(s);
	if (type & KPMU_SAMPLE_TID)
		*p++ = kpmu_record_ids(e, kpmu_task_of(e));
	if (type & KPMU_SAMPLE_TIME)
		*p++ = time_of(e, s);
	if (type & BETWEEN_TIME_AND_PERIOD) {
		if (type & KPMU_SAMPLE_ADDR)
			*p++ = s->addr;
		if (type & KPMU_SAMPLE_ID)
			*p++ = e->se.id;
		if (type & KPMU_SAMPLE_STREAM_ID)
			*p++ = e->sampling->stream_id;
		if (type & KPMU_SAMPLE_CPU)
			*p++ = raw_smp_processor_id();
	}
	if (type & KPMU_SAMPLE_PERIOD)
		*p++ = s->period;
	return p;
}

/*
 * The first row of a variable field at or after @i whose bit is in @left, which loses the bit.  Few
 * samples have fields of the last rows, so that these need not be looked at.
 */
static __always_inline int next_field(int i, u64 *left)
{
	while (!(*left & fields[i].bit))
		i++;
	*left &= ~fields[i].bit;
	return i;
}

/* Each bit that an attr can have has a row */
static_assert(ARRAY_SIZE(fields) == HWEIGHT64(KPMU_SAMPLE_ALL));

/* Total size of the variable fields of @left, in bytes */
static u32 measure_some(struct kpmu_filling *f, u64 left)
{
	int i = FIRST_VARIABLE;
	u32 size = 0, n;

	while (left) {
		i = next_field(i, &left);
		n = fields[i].size(f);
		if (fields[i].last)
			f->room -= min(f->room, n);
		size += n;
	}
	return size;
}

/* Total size of the variable fields, in bytes */
static noinline u32 measure_variable(struct kpmu_filling *f)
{
	u64 type = f->e->sampling->sample_type & ~KPMU_SAMPLE_FIXED;
	u32 size = measure_some(f, type & ~LAST_FIELDS);

	if (!(type & LAST_FIELDS))
		return size;
	f->room -= min(f->room, size);
	return size + measure_some(f, type & LAST_FIELDS);
}

static noinline void put_variable(struct kpmu_filling *f)
{
	u64 left = f->e->sampling->sample_type & ~KPMU_SAMPLE_FIXED;
	int i = FIRST_VARIABLE;

	while (left) {
		i = next_field(i, &left);
		fields[i].put(f);
	}
}

/* Most samples are of user mode, which kpmu_sample_write() knows already */
static u16 cpu_mode(const struct kpmu_hit *s)
{
	if (unlikely(s->guest))
		return s->guest->mode;
	return user_mode(s->regs) ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
}

/* Header and fixed fields */
static __always_inline void put_words(u64 *p, const struct kpmu_event *e,
				      const struct kpmu_hit *s, u16 mode, u32 size)
{
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.misc = mode | (s->exact ? PERF_RECORD_MISC_EXACT_IP : 0),
		.size = size,
	};

	memcpy(p, &header, sizeof(header));
	put_fixed(p + 1, e, s, mode);
}

static noinline void put_round_end(struct kpmu_record *r, const struct kpmu_hit *s,
				   u32 size)
{
	u64 words[FIXED_WORDS];

	put_words(words, r->event, s, cpu_mode(s), size);
	kpmu_ring_put(&r->h, words, r->event->sampling->fixed);
}

/* Write header and fixed fields, directly into the ring unless they wrap at its end */
static __always_inline void put_front(struct kpmu_record *r, const struct kpmu_event *e,
				      const struct kpmu_hit *s, u16 mode, u32 size)
{
	u32 fixed = e->sampling->fixed;
	u64 len;
	u64 *p = kpmu_ring_span(&r->h, &len);

	if (unlikely(len < fixed)) {
		put_round_end(r, s, size);
		return;
	}
	put_words(p, e, s, mode, size);
	kpmu_ring_skip(&r->h, fixed);
}

static __always_inline void end_record(struct kpmu_record *r, const struct kpmu_event *e)
{
	if (e->sampling->wakeup_events)
		kpmu_ring_sample(&r->h, e->sampling->wakeup_events);
	kpmu_record_done(r);
}

static noinline bool write_variable(struct kpmu_event *e, const struct kpmu_hit *s)
{
	u32 size = e->sampling->fixed;
	struct kpmu_filling f kpmu_uninitialized;
	bool written = false;

	f.e = e;
	f.s = s;
	if (!rcu_access_pointer(kpmu_root_of(e)->ring))
		return false;
	f.chain = NULL;
	f.room = KPMU_RECORD_MAX - size;
	size += measure_variable(&f);
	if (size <= KPMU_RECORD_MAX && kpmu_record_room(&f.r, e, size)) {
		put_front(&f.r, e, s, cpu_mode(s), size);
		put_variable(&f);
		end_record(&f.r, e);
		written = true;
	}
	if (f.chain)
		kpmu_chain_done();
	return written;
}

/* A sample that is not written may be counted */
static __always_inline bool count_instead(struct kpmu_event *e, const struct kpmu_hit *s)
{
	return unlikely(kpmu_root_of(e)->sampling->histogram) && kpmu_sample_count(e, s);
}

static __always_inline bool write_sample(struct kpmu_event *e, const struct kpmu_hit *s, u16 mode)
{
	const struct kpmu_sampling *sampling = e->sampling;
	struct kpmu_record r kpmu_uninitialized;

	if (sampling->sample_type & ~KPMU_SAMPLE_FIXED)
		return write_variable(e, s) || count_instead(e, s);
	if (!kpmu_record_room(&r, e, sampling->fixed))
		return count_instead(e, s);
	put_front(&r, e, s, mode, sampling->fixed);
	end_record(&r, e);
	return true;
}

/* Not inline, as few samples are of this kind */
static noinline bool write_changed(struct kpmu_event *e, const struct kpmu_hit *s)
{
	return write_sample(e, s, cpu_mode(s));
}

/* Skid: an event with exclude_kernel overflowed in user mode, but was seen in the kernel */
static noinline bool write_late(struct kpmu_event *e, const struct kpmu_hit *s)
{
	struct kpmu_hit hit = *s;
	struct pt_regs regs;

	kpmu_regs_of_user(&regs, e, s->regs);
	hit.regs = &regs;
	hit.addr = 0;
	return write_changed(e, &hit);
}

/* The hit was in the kernel: is that the user's, a guest's, or not to be shown? */
static noinline bool write_kernel(struct kpmu_event *e, const struct kpmu_hit *s)
{
	struct kpmu_guest guest;
	struct kpmu_hit hit;

	/* A source may know better where the hit was */
	if (!s->precise && !(e->se.flags & KPMU_ATTR_EXCLUDE_GUEST) && kpmu_guest_find(&guest)) {
		hit = *s;
		hit.guest = &guest;
		s = &hit;
	}
	if (e->se.flags & KPMU_ATTR_EXCLUDE_KERNEL)
		return write_late(e, s);
	return write_changed(e, s);
}

/**
 * kpmu_sample_write() - write a PERF_RECORD_SAMPLE
 * @e: the event; it has a sampling part
 * @s: details of the hit, from the event's source
 *
 * A sample without room is counted as lost.  Without a ring it is counted in the event's histogram, if there
 * is one.  With exclude_kernel a sample shows neither registers nor addresses of the kernel.
 *
 * Context: any, including NMI, preemption off; on the CPU where the event is active.
 * Return: whether it was written or counted.
 */
bool kpmu_sample_write(struct kpmu_event *e, const struct kpmu_hit *s)
{
	return user_mode(s->regs) ? write_sample(e, s, PERF_RECORD_MISC_USER) : write_kernel(e, s);
}
