/* SPDX-License-Identifier: GPL-2.0-only */
/* The device: opening events, and the operations of their fds. */
#ifndef KPMU_DEV_H
#define KPMU_DEV_H

#include <linux/fs.h>

struct attribute_group;
struct kpmu_attr;
struct kpmu_event;
struct seq_file;
struct kpmu_file;
struct kpmu_grant;
struct kpmu_pmu;
struct vm_area_struct;
struct kpmu_open;
struct kpmu_open_for;
struct task_struct;

extern const struct file_operations kpmu_event_fops;
extern const struct file_operations kpmu_dev_fops;
extern const struct file_operations kpmu_set_fops;

long kpmu_dev_open_event(const struct kpmu_open *args, struct task_struct *opener, u64 extra,
			 const char **why);
struct kpmu_event *kpmu_dev_try_open(const struct kpmu_open *args, const char **why);
struct kpmu_event *kpmu_dev_open_member(const struct kpmu_open *args, struct kpmu_event *leader,
					const char **why);
void kpmu_dev_close_member(struct kpmu_event *e);
long kpmu_dev_open_set(void __user *arg, const char **why);
long kpmu_dev_explain(void __user *arg);
long kpmu_dev_info(void __user *arg);
long kpmu_dev_histogram(void __user *arg, const char **why);
long kpmu_dev_reserve(void __user *arg, const char **why);
u64 kpmu_reservation_of_file(const struct file *file, u32 *counters);
void kpmu_reservation_get(u64 flags);
void kpmu_reservation_put(u64 flags);
void kpmu_reservation_name(u16 id, char name[16]);
u64 kpmu_features(void);
long kpmu_dev_open_for(const struct kpmu_open_for *args, const char **why);
int kpmu_dev_may_serve(struct task_struct *opener);
int kpmu_dev_permit_task(const struct kpmu_attr *attr, struct task_struct *task,
			 struct task_struct *opener, const char **why);
struct kpmu_event *kpmu_event_of_file(struct file *file);
struct file *kpmu_event_file(void);
void kpmu_event_files_init(void);
void kpmu_event_files_exit(void);
void kpmu_event_close(struct kpmu_event *e);
void kpmu_event_unhook(struct kpmu_event *e);

int kpmu_event_mmap(struct file *file, struct vm_area_struct *vma);
void kpmu_event_unmapped(struct kpmu_event *e, struct kpmu_grant *grant);
int kpmu_aux_mmap(struct kpmu_event *e, struct vm_area_struct *vma);

struct attribute_group *kpmu_folder(const char *name,
				    const struct kpmu_file *files);
void kpmu_folder_free(const struct attribute_group *group);
int kpmu_sysfs_add(struct kpmu_pmu *pmu);
void kpmu_register_more(void);
void kpmu_unregister_more(void);
void kpmu_sysfs_remove(struct kpmu_pmu *pmu);
int kpmu_sysfs_init(void);
void kpmu_sysfs_exit(void);
int kpmu_chardev_init(void);
void kpmu_chardev_exit(void);
void kpmu_busy(void);
void kpmu_busy_exit(void);
bool kpmu_redirects(void);
void kpmu_bpf_links_init(void);
void kpmu_bpf_links_exit(void);
void kpmu_bpf_maps_init(void);
void kpmu_bpf_maps_exit(void);
void kpmu_redirect_init(void);
void kpmu_redirect_exit(void);
int kpmu_sysctl_init(void);
void kpmu_sysctl_exit(void);
int kpmu_caps_show(struct seq_file *m, void *unused);
void kpmu_debugfs_init(void);
void kpmu_debugfs_exit(void);

#endif
