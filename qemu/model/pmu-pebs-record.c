/*
 * x86 performance monitoring unit for TCG: records of PEBS
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The 64-bit DS area at IA32_DS_AREA has the address of a buffer and the values
 * with which the counters restart.  An access to it never faults.  If a page is
 * absent, read-only or not RAM, the record is lost.
 */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "cpu.h"
#include "pmu-intel.h"
#include "exec/exec-all.h"

#define DS_PEBS         0x20    /* base, index, maximum, threshold */
#define DS_INDEX        0x28
#define DS_RESET_GP     0x40
#define DS_RESET_FIXED  0x80

#define LBR_WORDS       3
#define MAX_WORDS       (4 + 4 + 18 + 32 + PMU_PEBS_MAX_LBR * LBR_WORDS)

typedef struct Record {
    uint64_t w[MAX_WORDS];
    int nr;
} Record;

typedef struct DebugStore {
    uint64_t base, index, max, threshold;
} DebugStore;

static void put(Record *r, uint64_t val)
{
    r->w[r->nr++] = val;
}

/*
 * Access memory as a supervisor.  Returns false, and does nothing more, if a
 * page is not there.  @buf NULL: only try.
 */
static bool walk(CPUX86State *env, uint64_t addr, void *buf, size_t size,
                 bool write)
{
    int idx = env->hflags & HF_LMA_MASK ? MMU_KNOSMAP64_IDX : MMU_KNOSMAP32_IDX;
    int error_code = env->error_code;

    while (size) {
        size_t n = MIN(size, -(addr | TARGET_PAGE_MASK));
        void *host;
        int flags = probe_access_flags(env, addr, n,
                                       write ? MMU_DATA_STORE : MMU_DATA_LOAD,
                                       idx, true, &host, 0);

        env->error_code = error_code;   /* a failure may have set it */
        if (flags & (TLB_INVALID_MASK | TLB_MMIO)) {
            qemu_log_mask(LOG_GUEST_ERROR, "PEBS: cannot %s %" PRIx64 "\n",
                          write ? "write" : "read", addr);
            return false;
        }
        if (buf) {
            memcpy(write ? host : buf, write ? buf : host, n);
            buf = (char *)buf + n;
        }
        addr += n;
        size -= n;
    }
    return true;
}

/* Guests are little-endian, and so are the hosts of 64 bits that matter */
static bool store(CPUX86State *env, uint64_t addr, uint64_t *words, int nr)
{
    for (int i = 0; i < nr; i++) {
        words[i] = cpu_to_le64(words[i]);
    }
    return walk(env, addr, NULL, nr * 8, true) &&
           walk(env, addr, words, nr * 8, true);
}

static bool load(CPUX86State *env, uint64_t addr, uint64_t *words, int nr)
{
    if (!walk(env, addr, words, nr * 8, false)) {
        return false;
    }
    for (int i = 0; i < nr; i++) {
        words[i] = le64_to_cpu(words[i]);
    }
    return true;
}

static uint64_t due_counters(X86PMU *p)
{
    uint64_t status = 0;

    for (int i = 0; i < PMU_MAX_CTRS; i++) {
        status |= p->pebs.due >> i & 1 ? PMU_STATUS_BIT(i) : 0;
    }
    return status;
}

static uint64_t tsc(CPUX86State *env)
{
    return cpu_get_tsc(env) + env->tsc_offset;
}

/*
 * The record of Skylake (format 3), and of Haswell (format 2), which does not
 * tell the counters that have caused it from those that only have overflowed
 */
static void fill_fixed(CPUX86State *env, Record *r)
{
    static const uint8_t gpr[] = {
        R_EAX, R_EBX, R_ECX, R_EDX, R_ESI, R_EDI, R_EBP, R_ESP,
        R_R8, R_R9, R_R10, R_R11, R_R12, R_R13, R_R14, R_R15
    };
    X86PMU *p = env_pmu(env);

    put(r, cpu_compute_eflags(env));
    put(r, pmu_pebs_linear(env));
    for (int i = 0; i < ARRAY_SIZE(gpr); i++) {
        put(r, env->regs[gpr[i]]);
    }
    put(r, due_counters(p) |
           (pmu_pebs_fmt(p) == PMU_PEBS_STATUS ? p->status : 0));
    put(r, p->pebs.addr);
    put(r, p->pebs.source);
    put(r, p->pebs.latency);
    put(r, p->pebs.ip);
    put(r, 0);                          /* TSX */
    if (pmu_pebs_fmt(p) > PMU_PEBS_STATUS) {
        put(r, tsc(env));
    }
}

/* The newest record of the LBR comes first */
static void fill_lbr(X86PMU *p, Record *r, int nr)
{
    for (uint32_t i = 0; i < nr; i++) {
        LBREntry none = { 0 }, *e = NULL;

        if (i <= p->lbr.mask) {
            e = pmu_lbr_entry(p, p->lbr.arch ? i : (p->lbr.tos - i) &
                                                   p->lbr.mask);
        }
        e = e ?: &none;
        put(r, e->from);
        put(r, e->to);
        put(r, e->info);
    }
}

/* The processors from Sapphire Rapids on split the latency */
static uint64_t latency_field(X86PMU *p)
{
    uint32_t v = p->cpu->env.cpuid_version;
    uint32_t model = (v >> 4 & 0xf) | (v >> 12 & 0xf0);
    uint64_t n = p->pebs.latency;

    return model >= 0x8f && model != 0x96 && model != 0x9c ? n | n << 32 : n;
}

/* The records of Icelake and Sapphire Rapids: groups that software selects */
static void fill_adaptive(CPUX86State *env, Record *r)
{
    X86PMU *p = env_pmu(env);
    uint32_t cfg = 0;
    int i;

    for (i = 0; i < PMU_MAX_CTRS; i++) {
        cfg |= p->pebs.due >> i & 1 ? pmu_pebs_groups(p, i) : 0;
    }
    put(r, cfg);
    put(r, p->pebs.ip);
    put(r, due_counters(p));
    put(r, tsc(env));
    if (cfg & PEBS_CFG_MEM) {
        put(r, p->pebs.addr);
        put(r, p->pebs.source);
        put(r, latency_field(p));
        put(r, 0);                      /* TSX */
    }
    if (cfg & PEBS_CFG_GPR) {
        put(r, cpu_compute_eflags(env));
        put(r, pmu_pebs_linear(env));
        for (i = 0; i < CPU_NB_REGS; i++) {
            put(r, env->regs[i]);
        }
    }
    if (cfg & PEBS_CFG_XMM) {
        for (i = 0; i < 16; i++) {
            put(r, env->xmm_regs[i].ZMM_Q(0));
            put(r, env->xmm_regs[i].ZMM_Q(1));
        }
    }
    if (cfg & PEBS_CFG_LBR) {
        fill_lbr(p, r, PEBS_CFG_NR_LBR(cfg));
    }
    r->w[0] |= (uint64_t)(r->nr * 8) << 48;
}

/* Load the due counters with their values in the DS area */
static bool restart_counters(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    uint64_t area = p->pebs.ds_area, val;

    for (int i = 0; i < PMU_MAX_CTRS; i++) {
        uint64_t at = i < PMU_MAX_GP ? DS_RESET_GP + 8 * i
                                     : DS_RESET_FIXED + 8 * (i - PMU_MAX_GP);

        if (p->pebs.due >> i & 1) {
            if (!load(env, area + at, &val, 1)) {
                return false;
            }
            p->ctr[i] = val & pmu_ctr_mask(p);
            p->rem[i] = 0;
        }
    }
    return true;
}

/* Returns true if the threshold is reached or there is no room */
static bool append(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    Record r = { .nr = 0 };
    DebugStore ds;
    uint64_t at;

    if (!load(env, p->pebs.ds_area + DS_PEBS, (uint64_t *)&ds,
              sizeof(ds) / 8)) {
        return false;
    }
    if (pmu_pebs_fmt(p) >= PMU_PEBS_ADAPTIVE) {
        fill_adaptive(env, &r);
    } else {
        fill_fixed(env, &r);
    }
    if (!restart_counters(env)) {
        return false;
    }
    at = ds.index;
    ds.index += r.nr * 8;
    if (ds.index < at || ds.index > ds.max) {
        return true;
    }
    /* The index is tried before the record is written, and written after it */
    return walk(env, p->pebs.ds_area + DS_INDEX, NULL, 8, true) &&
           store(env, at, r.w, r.nr) &&
           store(env, p->pebs.ds_area + DS_INDEX, &(uint64_t){ ds.index }, 1) &&
           ds.index >= ds.threshold;
}

/**
 * pmu_pebs_write - write the record that is due
 * @env: the CPU, between two instructions
 *
 * Return: true if a PMI is to be raised: for the buffer, or for an overflow at
 * the same instruction.
 */
bool pmu_pebs_write(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    bool pmi = p->pebs.pmi;

    if (append(env)) {
        p->status |= STATUS_OVFBUF;
        pmi = true;
    }
    p->status &= ~due_counters(p);
    p->pebs.armed &= ~p->pebs.due;
    p->pebs.due = 0;
    p->pebs.pmi = p->pebs.has_mem = false;
    p->pebs.addr = p->pebs.source = p->pebs.latency = 0;
    p->dirty = true;                    /* it may have been kept on for this */
    return pmi;
}
