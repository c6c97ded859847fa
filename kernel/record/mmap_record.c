// SPDX-License-Identifier: GPL-2.0-only
/* MMAP and MMAP2 records.  perf_event_open(2), PERF_RECORD_MMAP, PERF_RECORD_MMAP2. */
#include <linux/fs.h>
#include <linux/hugetlb_inline.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/slab.h>

#include "../compat/compat.h"
#include "../compat/ksym.h"
#include "side_band.h"

#define BUILD_ID_MAX	20

/* Additional fields of MMAP2 */
struct identity {
	union {
		struct {
			u32 maj;
			u32 min;
			u64 ino;
			u64 generation;
		};
		struct {
			u8 id_size;
			u8 reserved[3];
			u8 id[BUILD_ID_MAX];
		};
	};
	u32 prot;
	u32 flags;
};

static_assert(sizeof(struct identity) == 32);

struct mapping {
	struct vm_area_struct *vma;
	const char *name;
	u32 name_size;		/* including padding */
	struct identity file;
	u32 id_size;
	u8 id[BUILD_ID_MAX];
	char short_name[16];
};

static void put_head(struct kpmu_record *r, const struct kpmu_event *e,
		     const struct vm_area_struct *vma)
{
	u64 words[4] = {
		kpmu_record_ids(e, current),
		vma->vm_start,
		vma->vm_end - vma->vm_start,
		(u64)vma->vm_pgoff << PAGE_SHIFT,
	};

	kpmu_record_put(r, words, sizeof(words));
}

static void put_identity(struct kpmu_record *r, const struct mapping *m,
			 bool by_id)
{
	struct identity file = m->file;

	if (by_id) {
		file.id_size = m->id_size;
		memset(file.reserved, 0, sizeof(file.reserved));
		memcpy(file.id, m->id, sizeof(file.id));
	}
	kpmu_record_put(r, &file, sizeof(file));
}

static void mmap_record(struct kpmu_event *e, void *data)
{
	const struct mapping *m = data;
	bool mmap2 = e->se.flags & KPMU_ATTR_MMAP2;
	bool by_id = mmap2 && e->se.flags & KPMU_ATTR_BUILD_ID && m->id_size;
	u16 misc = PERF_RECORD_MISC_USER;
	struct kpmu_record r;

	if (!(m->vma->vm_flags & VM_EXEC))
		misc |= PERF_RECORD_MISC_MMAP_DATA;
	if (by_id)
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	if (!kpmu_record_begin(&r, e, mmap2 ? PERF_RECORD_MMAP2 :
					      PERF_RECORD_MMAP,
			       misc, 4 * sizeof(u64) + m->name_size +
				     (mmap2 ? sizeof(m->file) : 0)))
		return;
	put_head(&r, e, m->vma);
	if (mmap2)
		put_identity(&r, m, by_id);
	kpmu_record_put(&r, m->name, m->name_size);
	kpmu_record_end(&r);
}

static void set_rights(struct identity *file, struct vm_area_struct *vma)
{
	unsigned long vm = vma->vm_flags;

	file->prot = (vm & VM_READ ? PROT_READ : 0) |
		     (vm & VM_WRITE ? PROT_WRITE : 0) |
		     (vm & VM_EXEC ? PROT_EXEC : 0);
	file->flags = (vm & VM_MAYSHARE ? MAP_SHARED : MAP_PRIVATE) |
		      (vm & VM_LOCKED ? MAP_LOCKED : 0) |
		      (is_vm_hugetlb_page(vma) ? MAP_HUGETLB : 0);
}

static const char *name_without_file(struct vm_area_struct *vma)
{
	const char *name = NULL;

	if (vma->vm_ops && vma->vm_ops->name)
		name = vma->vm_ops->name(vma);
	if (name)
		return name;
	if (kpmu_vma_is_heap(vma))
		return "[heap]";
	if (kpmu_vma_is_stack(vma))
		return "[stack]";
	return "//anon";
}

/* The path of a mapped file.  @buf: PATH_MAX bytes; NULL if out of memory */
static const char *name_of_file(struct file *file, char *buf)
{
	const char *name;

	if (!buf)
		return "//enomem";
	/* The path is put at the end of the given space; padding follows it, see set_name() */
	name = file_path(file, buf, PATH_MAX - sizeof(u64));
	return IS_ERR(name) ? "//toolong" : name;
}

static void set_file(struct identity *id, const struct file *file)
{
	const struct inode *inode = file_inode(file);

	id->maj = MAJOR(inode->i_sb->s_dev);
	id->min = MINOR(inode->i_sb->s_dev);
	id->ino = inode->i_ino;
	id->generation = inode->i_generation;
}

/* Pad a name to a multiple of 8 bytes; a name outside @buf is copied to have room for that */
static void set_name(struct mapping *m, const char *name, const char *buf)
{
	char *end;

	if (!buf || name < buf || name >= buf + PATH_MAX) {
		strscpy(m->short_name, name, sizeof(m->short_name));
		name = m->short_name;
	}
	m->name = name;
	m->name_size = strlen(name) + 1;
	for (end = (char *)name + m->name_size;
	     !IS_ALIGNED(m->name_size, sizeof(u64)); m->name_size++)
		*end++ = 0;
}

/**
 * kpmu_side_mmap() - write MMAP or MMAP2 records for a mapping of current
 * @vma: the mapping, new or with changed protection
 *
 * Context: task, the mmap lock held for writing; may be atomic.
 */
void kpmu_side_mmap(struct vm_area_struct *vma)
{
	u64 flags = vma->vm_flags & VM_EXEC ? KPMU_ATTR_MMAP | KPMU_ATTR_MMAP2 :
					      KPMU_ATTR_MMAP_DATA;
	struct mapping m = { .vma = vma };
	char *buf = NULL;

	if (!kpmu_side_wanted(flags))
		return;
	mmap_assert_write_locked(vma->vm_mm);
	set_rights(&m.file, vma);
	if (vma->vm_file) {
		buf = kmalloc(PATH_MAX, GFP_ATOMIC | __GFP_NOWARN);
		set_name(&m, name_of_file(vma->vm_file, buf), buf);
		/* Without its path, a file's device and inode numbers are left 0 */
		if (m.name != m.short_name)
			set_file(&m.file, vma->vm_file);
	} else {
		set_name(&m, name_without_file(vma), NULL);
	}
	if (kpmu_side_wanted(KPMU_ATTR_BUILD_ID))
		m.id_size = kpmu_build_id(vma, m.id);
	kpmu_side_write(flags, mmap_record, &m);
	kfree(buf);
}
