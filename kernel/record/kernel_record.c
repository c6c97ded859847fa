// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records of changes to the kernel's text: KSYMBOL, BPF_EVENT, TEXT_POKE.
 * perf_event_open(2), PERF_RECORD_KSYMBOL and following.
 */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/kallsyms.h>
#include <linux/string.h>

#include "side_band.h"

struct ksymbol {
	u64 addr;
	u32 len;
	u16 type;
	u16 flags;
	u32 size;		/* of @name, including padding */
	char name[ALIGN(KSYM_NAME_LEN, sizeof(u64))];
};

static void ksymbol_record(struct kpmu_event *e, void *data)
{
	const u32 head = offsetof(struct ksymbol, size);
	struct ksymbol *k = data;
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, PERF_RECORD_KSYMBOL, 0, head + k->size))
		return;
	kpmu_record_put(&r, k, head);
	kpmu_record_put(&r, k->name, k->size);
	kpmu_record_end(&r);
}

/**
 * kpmu_side_ksymbol() - write KSYMBOL records for a symbol added or removed
 * @type: PERF_RECORD_KSYMBOL_TYPE_*
 * @addr: start of the symbol
 * @len: its size in bytes
 * @unregister: the symbol is removed
 * @name: its name
 *
 * Context: any but NMI.
 */
void kpmu_side_ksymbol(u16 type, u64 addr, u32 len, bool unregister,
		       const char *name)
{
	struct ksymbol k = {
		.addr = addr,
		.len = len,
		.type = type,
		.flags = unregister ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0,
	};

	if (type == PERF_RECORD_KSYMBOL_TYPE_UNKNOWN ||
	    !kpmu_side_wanted(KPMU_ATTR_KSYMBOL))
		return;
	strscpy(k.name, name, KSYM_NAME_LEN);
	k.size = ALIGN(strlen(k.name) + 1, sizeof(u64));
	kpmu_side_write(KPMU_ATTR_KSYMBOL, ksymbol_record, &k);
}

static void prog_symbol(const struct bpf_prog *prog, bool unregister)
{
	kpmu_side_ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF,
			  (u64)(unsigned long)prog->bpf_func, prog->jited_len,
			  unregister, prog->aux->ksym.name);
}

struct bpf {
	u16 type;
	u16 flags;
	u32 id;
	u8 tag[BPF_TAG_SIZE];
};

static void bpf_record(struct kpmu_event *e, void *data)
{
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, PERF_RECORD_BPF_EVENT, 0,
			       sizeof(struct bpf)))
		return;
	kpmu_record_put(&r, data, sizeof(struct bpf));
	kpmu_record_end(&r);
}

/**
 * kpmu_side_bpf() - write records for a BPF program loaded or unloaded
 * @prog: the program
 * @type: PERF_BPF_EVENT_PROG_LOAD or _UNLOAD
 * @flags: for the BPF_EVENT record
 *
 * Each of its functions also gets a KSYMBOL record; the first one is @prog itself.
 *
 * Context: any but NMI.
 */
void kpmu_side_bpf(const struct bpf_prog *prog, u16 type, u16 flags)
{
	struct bpf b = { .type = type, .flags = flags, .id = prog->aux->id };
	bool unload = type == PERF_BPF_EVENT_PROG_UNLOAD;
	int i;

	if (type != PERF_BPF_EVENT_PROG_LOAD && !unload)
		return;
	prog_symbol(prog, unload);
	for (i = 1; i < prog->aux->func_cnt; i++)
		prog_symbol(prog->aux->func[i], unload);
	memcpy(b.tag, prog->tag, sizeof(b.tag));
	kpmu_side_write(KPMU_ATTR_BPF_EVENT, bpf_record, &b);
}

struct poke {
	const void *addr;
	const void *old;
	const void *new;
	u16 old_len;
	u16 new_len;
};

static void poke_record(struct kpmu_event *e, void *data)
{
	static const u8 zeros[sizeof(u64)];
	const struct poke *p = data;
	u32 text = sizeof(p->old_len) + sizeof(p->new_len) + p->old_len +
		   p->new_len;
	u64 addr = (unsigned long)p->addr;
	struct kpmu_record r;

	if (!kpmu_record_begin(&r, e, PERF_RECORD_TEXT_POKE,
			       PERF_RECORD_MISC_KERNEL,
			       sizeof(addr) + ALIGN(text, sizeof(u64))))
		return;
	kpmu_record_put(&r, &addr, sizeof(addr));
	kpmu_record_put(&r, &p->old_len, sizeof(p->old_len));
	kpmu_record_put(&r, &p->new_len, sizeof(p->new_len));
	kpmu_record_put(&r, p->old, p->old_len);
	kpmu_record_put(&r, p->new, p->new_len);
	kpmu_record_put(&r, zeros, ALIGN(text, sizeof(u64)) - text);
	kpmu_record_end(&r);
}

/**
 * kpmu_side_text_poke() - write TEXT_POKE records for a change of kernel text
 * @addr: address of the change
 * @old: the old code
 * @old_len: bytes of @old, 0 for new text
 * @new: the new code
 * @new_len: bytes of @new
 *
 * Context: any but NMI.
 */
void kpmu_side_text_poke(const void *addr, const void *old, u32 old_len,
			 const void *new, u32 new_len)
{
	struct poke p = { addr, old, new, old_len, new_len };

	kpmu_side_write(KPMU_ATTR_TEXT_POKE, poke_record, &p);
}
