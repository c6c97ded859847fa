/*
 * x86 performance monitoring unit for TCG: last branch records
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The legacy LBR of Skylake (format 5: 32 entries with INFO), architectural LBR
 * and AMD's LbrExtV2, which differ in their registers.  All keep their entries
 * in env->lbr_records, a ring whose newest entry is number lbr.tos.  The ring of
 * the legacy LBR grows upwards and its entries have fixed numbers.  Those of the
 * others grow downwards, and entry n of the guest is the n-th one after the
 * newest.
 *
 * Near branches are recorded by generated code with PMU_TB_BRANCH in its flags,
 * which depends on the privilege level.  A far branch is recorded if it ends at
 * a level that is recorded, so all of them check env->pmu.lbr (pmu-far.h).
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-intel.h"
#include "exec/helper-proto.h"
#include "hw/core/cpu.h"
#include "tcg/insn-start-words.h"
#include "tcg/pmu-far.h"
#include "tcg/pmu-gen.h"

/* MSR_LBR_SELECT: bits that suppress records, and call-stack mode */
#define SELECT_CPL0     (1ull << 0)
#define SELECT_CPL123   (1ull << 1)
#define SELECT_STACK    (1ull << 9)

/* IA32_LBR_CTL: bits that enable records */
#define CTL_ENABLE      (1ull << 0)
#define CTL_OS          (1ull << 1)
#define CTL_USR         (1ull << 2)
#define CTL_STACK       (1ull << 3)

#define INFO_CYCLES     0xffffull
#define INFO_TYPE_SHIFT 56
#define INFO_CYC_VALID  (1ull << 60)
/* Types of branches, as in bits 59:56 of architectural INFO */
enum {
    T_JCC, T_IND_JMP, T_REL_JMP, T_IND_CALL, T_REL_CALL, T_RET, T_OTHER = 8
};

/* Bits of the types in MSR_LBR_SELECT, also AMD's, and IA32_LBR_CTL */
static const struct {
    uint8_t type, select, ctl;
} type_bits[] = {
    { T_JCC, 2, 16 }, { T_REL_CALL, 3, 19 }, { T_IND_CALL, 4, 20 },
    { T_RET, 5, 21 }, { T_IND_JMP, 6, 18 }, { T_REL_JMP, 7, 17 },
    { T_OTHER, 8, 22 },
};

static CPUX86State *lbr_env(X86PMU *p)
{
    return &p->cpu->env;
}

static bool enabled(X86PMU *p)
{
    switch (pmu_lbr_kind(p)) {
    case PMU_LBR_LEGACY:
        return p->debugctl & DEBUGCTL_LBR;
    case PMU_LBR_ARCH:
        return lbr_env(p)->msr_lbr_ctl & CTL_ENABLE;
    case PMU_LBR_AMD:
        return p->lbr.extn_cfg & EXTN_CFG_LBR;
    default:
        return false;
    }
}

static void enable(X86PMU *p, bool on)
{
    if (pmu_lbr_arch(p)) {
        uint64_t *ctl = &lbr_env(p)->msr_lbr_ctl;

        *ctl = on ? *ctl | CTL_ENABLE : *ctl & ~CTL_ENABLE;
    } else {
        p->debugctl = on ? p->debugctl | DEBUGCTL_LBR
                         : p->debugctl & ~DEBUGCTL_LBR;
    }
}

/* Number of the entry that is @n entries older than the newest one */
static uint32_t older(X86PMU *p, uint32_t n)
{
    return (p->lbr.down ? p->lbr.tos + n : p->lbr.tos - n) & p->lbr.mask;
}

/**
 * pmu_lbr_canonical - sign-extend an address from the highest bit of the CPU's
 * @p: the PMU
 * @addr: a linear address
 *
 * Return: the address as the LBR stores it.
 */
uint64_t pmu_lbr_canonical(X86PMU *p, uint64_t addr)
{
    return (int64_t)(addr << p->lbr.shift) >> p->lbr.shift;
}

/**
 * pmu_lbr_collect - derive p->lbr from the registers: what is recorded
 * @p: the PMU
 */
void pmu_lbr_collect(X86PMU *p)
{
    uint64_t select = p->lbr.select, ctl = lbr_env(p)->msr_lbr_ctl;
    int kind = pmu_lbr_kind(p);
    bool arch = kind == PMU_LBR_ARCH;
    PMULbr *l = &p->lbr;
    int i;

    l->arch = arch;
    l->down = arch || kind == PMU_LBR_AMD;
    l->shift = lbr_env(p)->features[FEAT_7_0_ECX] & CPUID_7_0_ECX_LA57 ? 7 : 16;
    l->mask = (arch ? lbr_env(p)->msr_lbr_depth : kind == PMU_LBR_AMD ?
               PMU_LBR_AMD_NR : PMU_LBR_LEGACY_NR) - 1;
    l->enabled = enabled(p);
    l->on = l->enabled && !(p->status & STATUS_LBR_FRZ);
    l->cpl[0] = arch ? ctl & CTL_OS : !(select & SELECT_CPL0);
    l->cpl[1] = arch ? ctl & CTL_USR : !(select & SELECT_CPL123);
    l->stack = arch ? ctl & CTL_STACK : select & SELECT_STACK;
    l->types = 0;
    for (i = 0; i < ARRAY_SIZE(type_bits); i++) {
        bool on = arch ? ctl >> type_bits[i].ctl & 1
                       : !(select >> type_bits[i].select & 1);

        l->types |= on << type_bits[i].type;
    }
}

/**
 * pmu_lbr_entry - entry as numbered by the MSRs
 * @p: the PMU
 * @i: its number
 *
 * Return: the entry, or NULL above the depth.
 */
LBREntry *pmu_lbr_entry(X86PMU *p, int i)
{
    if (i > p->lbr.mask) {
        return NULL;
    }
    return &lbr_env(p)->lbr_records[p->lbr.down ? older(p, i) : i];
}

/* Core cycles of the recorded levels since the last record */
static uint64_t take_cycles(X86PMU *p)
{
    const X86PMUProps *c = &p->cpu->pmu_props;
    int64_t *n = lbr_env(p)->pmu.lbr_n;
    int64_t insns = (p->lbr.cpl[0] ? n[0] : 0) + (p->lbr.cpl[1] ? n[1] : 0);

    n[0] = n[1] = 0;
    /* An instruction takes at least one cycle */
    insns = MIN(MAX(insns, 0), (int64_t)INFO_CYCLES) * c->cpi;
    if (c->cpi_div != 1) {
        insns /= c->cpi_div;
    }
    return MIN(insns, (int64_t)INFO_CYCLES);
}

static void push(X86PMU *p, int type, uint64_t from, uint64_t to, bool miss)
{
    LBREntry *e;

    p->lbr.tos = older(p, -1);
    e = &lbr_env(p)->lbr_records[p->lbr.tos];
    e->from = pmu_lbr_canonical(p, from);
    e->to = pmu_lbr_canonical(p, to);
    e->info = miss ? PMU_LBR_MISPRED : 0;
    if (pmu_lbr_kind(p) == PMU_LBR_AMD) {
        e->info |= PMU_LBR_VALID;
        return;
    }
    e->info |= take_cycles(p);
    if (p->lbr.arch) {
        e->info |= INFO_CYC_VALID | (uint64_t)type << INFO_TYPE_SHIFT;
    }
}

/* A return in call-stack mode; the entry of the call becomes empty */
static void pop(X86PMU *p)
{
    LBREntry *e = &lbr_env(p)->lbr_records[p->lbr.tos];

    if (e->from || e->to) {
        memset(e, 0, sizeof(*e));
        p->lbr.tos = older(p, 1);
    }
}

static int near_type(uint32_t desc)
{
    bool ind = desc & PMU_BR_IND;

    if (desc & PMU_BR_COND) {
        return T_JCC;
    } else if (desc & PMU_BR_RET) {
        return T_RET;
    } else if (desc & PMU_BR_CALL) {
        return ind ? T_IND_CALL : T_REL_CALL;
    }
    return ind ? T_IND_JMP : T_REL_JMP;
}

/**
 * pmu_lbr_near - record a near branch, unless it is not taken or filtered out
 * @env: the CPU
 * @desc: PMU_BR_DESC() of the branch
 * @from: its linear address
 * @to: the linear address where it goes
 * @miss: it was mispredicted
 */
void pmu_lbr_near(CPUX86State *env, uint32_t desc, uint64_t from, uint64_t to,
                  bool miss)
{
    X86PMU *p = env_pmu(env);
    PMULbr *l = &p->lbr;
    int type = near_type(desc);

    if (!(desc & PMU_BR_TAKEN) || !l->on ||
        !l->cpl[(env->hflags & HF_CPL_MASK) != 0] || !(l->types >> type & 1)) {
        return;
    }
    if (l->stack && type == T_RET) {
        pop(p);
    } else if (!l->stack || type != T_REL_CALL ||
               to != from + PMU_BR_LEN(desc)) {
        push(p, type, from, to, miss);
    }
}

/* Linear address of env->eip */
static uint64_t linear_eip(CPUX86State *env)
{
    return env->hflags & HF_CS64_MASK
           ? env->eip : (uint32_t)(env->segs[R_CS].base + env->eip);
}

/**
 * x86_pmu_lbr_begin - called by x86_pmu_far_begin() if LBR is enabled
 * @env: the CPU
 * @ra: return address into the generated code if env->eip may be stale, else 0
 *
 * Return: what x86_pmu_far_end() needs.
 */
X86PMUFar x86_pmu_lbr_begin(CPUX86State *env, uintptr_t ra)
{
    return (X86PMUFar) {
        .on = env_pmu(env)->lbr.on,
        .user = env->hflags & HF_CPL_MASK,
        .from = linear_eip(env),
        .ra = ra,
    };
}

/*
 * Address of a far branch.  The data of its instruction begin with the offset
 * in its page, see restore_state_to_opc().
 */
static uint64_t far_from(CPUX86State *env, const X86PMUFar *far)
{
    uint64_t data[TARGET_INSN_START_WORDS];

    if (far->ra && cpu_unwind_state_data(env_cpu(env), far->ra, data)) {
        return (far->from & TARGET_PAGE_MASK) | data[0];
    }
    return far->from;
}

/**
 * x86_pmu_lbr_end - called by x86_pmu_far_end() if recording was on before
 * @env: the CPU, after the branch
 * @far: from x86_pmu_lbr_begin()
 *
 * A branch that overflows a counter is recorded, although the PMI may have
 * frozen the LBR when the privilege level changed.
 */
void x86_pmu_lbr_end(CPUX86State *env, const X86PMUFar *far)
{
    X86PMU *p = env_pmu(env);
    PMULbr *l = &p->lbr;

    if (l->cpl[(env->hflags & HF_CPL_MASK) != 0] && l->types >> T_OTHER & 1) {
        /* Architectural LBR hides addresses of levels that are filtered out */
        bool hide = l->arch && !l->cpl[far->user];

        push(p, T_OTHER, hide ? -1 : far_from(env, far), linear_eip(env),
             false);
    }
}

/* Change the enable bit outside of a WRMSR */
static void switch_lbr(CPUX86State *env, bool on)
{
    pmu_fold(env);
    enable(env_pmu(env), on);
    pmu_config(env);
    pmu_rearm(env);
}

/**
 * x86_pmu_lbr_event - called by x86_pmu_event_begin() if LBR is enabled
 * @env: the CPU, before the event is delivered
 * @intno: its vector
 * @is_int: it is INT n, INT3 or INTO
 * @is_hw: it is an interrupt
 *
 * Return: what x86_pmu_far_end() needs.
 */
X86PMUFar x86_pmu_lbr_event(CPUX86State *env, int intno, bool is_int,
                            bool is_hw)
{
    X86PMU *p = env_pmu(env);

    if (!is_int && p->lbr.on) {
        const LBREntry *e = &env->lbr_records[p->lbr.tos];

        p->lbr.ler = *e;
    }
    if (intno == EXCP01_DB && !is_int && !is_hw &&
        pmu_lbr_kind(p) == PMU_LBR_LEGACY) {
        /* Debug exceptions disable the legacy LBR and are not recorded */
        switch_lbr(env, false);
    }
    return x86_pmu_lbr_begin(env, 0);
}

/* A far branch in real or virtual-8086 mode, which needs no other helper */
void helper_pmu_far(CPUX86State *env, target_ulong from)
{
    X86PMUFar far = {
        .on = env_pmu(env)->lbr.on,
        .user = env->hflags & HF_CPL_MASK,
        .from = from,
    };

    x86_pmu_far_end(env, &far);
}

/**
 * pmu_lbr_pmi - freeze the LBR on a PMI, if DEBUGCTL says so
 * @p: the PMU
 */
void pmu_lbr_pmi(X86PMU *p)
{
    int kind = pmu_lbr_kind(p);

    if (kind && p->debugctl & DEBUGCTL_FREEZE_LBRS) {
        if (kind == PMU_LBR_AMD || pmu_version(p) >= 4) {
            p->status |= STATUS_LBR_FRZ;
        } else {
            enable(p, false);
        }
    }
}

/**
 * pmu_lbr_smm - an SMI disables the LBR, RSM restores it
 * @p: the PMU
 * @enter: it is an SMI
 */
void pmu_lbr_smm(X86PMU *p, bool enter)
{
    if (enter && enabled(p)) {
        p->lbr.smm = true;
        enable(p, false);
    } else if (!enter && p->lbr.smm) {
        p->lbr.smm = false;
        enable(p, true);
    }
}

/**
 * pmu_lbr_reset - set the registers that are not 0 after a reset
 * @p: the PMU
 */
void pmu_lbr_reset(X86PMU *p)
{
    lbr_env(p)->msr_lbr_depth = pmu_lbr_arch(p) ? ARCH_LBR_NR_ENTRIES : 0;
}

/**
 * x86_pmu_keep_lbr - keep the LBR during an INIT
 * @env: the CPU, after its reset
 * @old: its state before
 */
void x86_pmu_keep_lbr(CPUX86State *env, const CPUX86State *old)
{
    if (env_pmu(env)) {
        env->msr_lbr_ctl = old->msr_lbr_ctl;
        env->msr_lbr_depth = old->msr_lbr_depth;
        memcpy(env->lbr_records, old->lbr_records, sizeof(env->lbr_records));
    }
}
