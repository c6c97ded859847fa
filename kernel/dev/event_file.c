// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of events.  anon_inode_getfile() gives each file a directory entry of its own, which costs
 * an eighth of an open and close.  Here all of them have the entry of one file, the model.  It has the
 * same inode and the same name, so that a program sees no difference.
 */
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>

#include "../compat/ksym.h"
#include "dev.h"

#define FILE_NAME	"[perf_event]"

static struct file *model;

/**
 * kpmu_event_file() - create a file for an event
 *
 * The caller sets private_data to the event, which the release of the file closes; or drops the file.
 *
 * Context: task, may sleep.
 * Return: the file, or an errno.
 */
struct file *kpmu_event_file(void)
{
	struct file *file;

	if (!model)
		return anon_inode_getfile(FILE_NAME, &kpmu_event_fops, NULL, O_RDWR);
	/* The last fput() drops it */
	if (!try_module_get(THIS_MODULE))
		return ERR_PTR(-ENOENT);
	file = kpmu_file_clone(model, O_RDWR, &kpmu_event_fops);
	if (IS_ERR(file))
		module_put(THIS_MODULE);
	return file;
}

/**
 * kpmu_event_files_init() - create the model of all files of events
 *
 * Cannot fail: without a model, each file has a directory entry of its own.
 *
 * Context: module init, may sleep.
 */
void __init kpmu_event_files_init(void)
{
	struct file *file;

	if (!kpmu_ksym_has(KSYM_alloc_file_clone))
		return;
	/* Not used by programs, and released after the module has gone: it has operations of the kernel */
	file = anon_inode_getfile(FILE_NAME, &generic_ro_fops, NULL, O_RDWR);
	if (!IS_ERR(file))
		model = file;
}

/**
 * kpmu_event_files_exit() - undo kpmu_event_files_init()
 *
 * Context: module exit, no event left; or failed init.
 */
void kpmu_event_files_exit(void)
{
	if (model)
		fput(model);
}
