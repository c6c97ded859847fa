/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists that often have one entry, as in a program with one event.  With CONFIG_DEBUG_LIST each change
 * of a list is checked by a function.  Here the two most common states are recognised, which is as good.
 */
#ifndef KPMU_FIRST_H
#define KPMU_FIRST_H

#include <linux/list.h>

/**
 * kpmu_list_add() - list_add_tail(), without a call for the first entry
 * @new: the entry
 * @head: the list
 *
 * Context: as list_add_tail().
 */
static __always_inline void kpmu_list_add(struct list_head *new, struct list_head *head)
{
	if (head->next != head || head->prev != head) {
		list_add_tail(new, head);
		return;
	}
	new->next = head;
	new->prev = head;
	head->prev = new;
	WRITE_ONCE(head->next, new);
}

/**
 * kpmu_list_del() - list_del_init(), without a call for the only entry
 * @entry: the entry
 * @head: the list
 *
 * Context: as list_del_init().
 */
static __always_inline void kpmu_list_del(struct list_head *entry, struct list_head *head)
{
	if (head->next != entry || head->prev != entry || entry->next != head ||
	    entry->prev != head) {
		list_del_init(entry);
		return;
	}
	INIT_LIST_HEAD(head);
	INIT_LIST_HEAD(entry);
}

#endif
