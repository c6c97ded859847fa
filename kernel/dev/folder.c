// SPDX-License-Identifier: GPL-2.0-only
/* Folders: attribute groups of one-line files for a device, built from a list. */
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "../source/pmu.h"
#include "dev.h"

struct folder {
	struct attribute_group group;
	struct dev_ext_attribute file[];
};

static ssize_t show_file(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dev_ext_attribute *file =
		container_of(attr, struct dev_ext_attribute, attr);

	return sysfs_emit(buf, "%s\n", (char *)file->var);
}

/**
 * kpmu_folder() - make a folder
 * @name: name of the folder
 * @files: its files, terminated by an entry without a name; must stay valid
 *
 * Context: task, may sleep.
 * Return: the folder, to be freed by kpmu_folder_free(); NULL if out of memory.
 */
struct attribute_group *kpmu_folder(const char *name,
				    const struct kpmu_file *files)
{
	struct folder *f;
	int i, n = 0;

	while (files[n].name)
		n++;
	f = kzalloc(struct_size(f, file, n), GFP_KERNEL);
	if (!f)
		return NULL;
	f->group.name = name;
	f->group.attrs = kcalloc(n + 1, sizeof(*f->group.attrs), GFP_KERNEL);
	if (!f->group.attrs) {
		kfree(f);
		return NULL;
	}
	for (i = 0; i < n; i++) {
		sysfs_attr_init(&f->file[i].attr.attr);
		f->file[i].attr.attr.name = files[i].name;
		f->file[i].attr.attr.mode = 0444;
		f->file[i].attr.show = show_file;
		f->file[i].var = (void *)files[i].text;
		f->group.attrs[i] = &f->file[i].attr.attr;
	}
	return &f->group;
}

/**
 * kpmu_folder_free() - free a folder
 * @group: the folder, or NULL; its device has been removed
 *
 * Context: task.
 */
void kpmu_folder_free(const struct attribute_group *group)
{
	if (!group)
		return;
	kfree(group->attrs);
	kfree(container_of(group, struct folder, group));
}
