/* SPDX-License-Identifier: GPL-2.0-only */
/* Last branch records: cases, listings, expected entries. */
#ifndef LBR_H
#define LBR_H

#include "guest.h"

/* Last branch records: the kinds; 0: none */
#define LBR_LEGACY	1
#define LBR_ARCH	2
#define LBR_AMD		4		/* LbrExtV2 */

struct lbr_entry {
	u64 from, to, info;
};

/* What is recorded */
struct lbr_filter {
	u32 types;		/* bits T_... */
	int kernel, user, stack;
};

#define LBR_TYPES	(1u << T_JCC | 1u << T_IND_JMP | 1u << T_REL_JMP | \
			 1u << T_IND_CALL | 1u << T_REL_CALL | 1u << T_RET | 1u << T_OTHER)
#define LBR_FRZ		(1ul << 58)

/* A record in a listing, see lbr.S */
struct rec {
	u64 from, to;
	u32 type, insns, miss, level;
};

struct lcase {
	struct ucase c;			/* its last member has the L_ flags */
	const struct rec *recs;		/* up to those of the next case */
};

#define CASE_OF(l)	(&(l)->c)

/* An entry that is expected; cycles of ANY are not compared */
#define ANY		~0u

struct want {
	u64 from, to;
	u32 type, cycles, miss;
};

#define MAX_WANT	128

struct list {
	struct want w[MAX_WANT];
	u32 nr;
	u64 insns;			/* since the last record */
};

extern const struct lcase lbr_cases[];
extern const struct lbr_filter lbr_all_user;

/* test_amd_lbr.c */
int amd_lbr_kind(void);
void amd_lbr_get(u32 n, struct lbr_entry *e);
u64 amd_lbr_reset_state(void);
void amd_lbr_registers(void);

/* test_lbr.c */
int lbr_kind(void);
u32 lbr_nr(void);
void lbr_start(const struct lbr_filter *f);
void lbr_stop(void);
int lbr_enabled(void);
void lbr_get(u32 n, struct lbr_entry *e);
const struct lcase *lbr_find(const char *name);
void lbr_branch(struct list *l, const struct lbr_filter *f, const struct rec *r);
void lbr_expect(struct list *l, const struct lcase *c, const struct lbr_filter *f);
int lbr_compare(const struct list *l, const char *name, const char *what);
int lbr_skips(const struct lcase *c);
void lbr_run(struct cpu *cpu, const struct lcase *c, const struct lbr_filter *f, u64 rflags);

#endif
