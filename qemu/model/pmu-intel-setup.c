/*
 * x86 performance monitoring unit for TCG: properties and CPUID of Intel's
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cpu.h"
#include "pmu-intel.h"

#define PERF_CAP_SMM_FREEZE (1ull << 12)
#define PERF_CAP_FW_WRITE   (1ull << 13)
#define PERF_CAP_METRICS    (1ull << 15)
#define CPUID_7_0_EDX_HYBRID    (1u << 15)
#define CPUID_1A_CORE       0x40
#define CPUID_1A_ATOM       0x20
#define CPUID_1A_MODEL_ID   1       /* Golden Cove, Gracemont */
#define MAX_VERSION         5

/* Default properties of a PMU */
typedef struct PMUDefaults {
    uint8_t version, gp, fixed, width;
} PMUDefaults;

/* PMU of the processor with this family and model; version 0: none */
static PMUDefaults model_defaults(CPUX86State *env)
{
    uint32_t v = env->cpuid_version;
    uint32_t model = (v >> 4 & 0xf) | (v >> 12 & 0xf0);

    if ((v >> 8 & 0xf) != 6) {
        return (PMUDefaults) { 0 };     /* e.g. Pentium 4 */
    }
    switch (model) {
    case 0x0e:                          /* Core Duo */
        return (PMUDefaults) { 1, 2, 0, 40 };
    case 0x0f: case 0x16: case 0x17: case 0x1d:             /* Core 2 */
        return (PMUDefaults) { 2, 2, 3, 40 };
    case 0x1c: case 0x26: case 0x27: case 0x35: case 0x36:  /* Bonnell */
    case 0x57: case 0x85:               /* Knights Landing and Mill */
        return (PMUDefaults) { 3, 2, 3, 40 };
    case 0x1a: case 0x1e: case 0x1f: case 0x2e:             /* Nehalem */
    case 0x25: case 0x2c: case 0x2f:                        /* Westmere */
    case 0x2a: case 0x2d: case 0x3a: case 0x3e: /* Sandy Bridge, Ivy Bridge */
    case 0x3c: case 0x3f: case 0x45: case 0x46:             /* Haswell */
    case 0x3d: case 0x47: case 0x4f: case 0x56:             /* Broadwell */
        return (PMUDefaults) { 3, 4, 3, 48 };
    case 0x86: case 0x96: case 0x9c:                        /* Tremont */
        return (PMUDefaults) { 5, 4, 3, 48 };
    case 0x6a: case 0x6c: case 0x7d: case 0x7e: /* Icelake */
    case 0x8c: case 0x8d:               /* Tigerlake */
    case 0x8f: case 0xcf:               /* Sapphire, Emerald Rapids */
    case 0xad: case 0xae:               /* Granite Rapids */
        return (PMUDefaults) { 5, 8, 4, 48 };
    default:
        return (PMUDefaults) { 4, 4, 3, 48 };
    }
}

/* PMU of version @v, if the CPU model has another version */
static PMUDefaults version_defaults(uint8_t v)
{
    return (PMUDefaults) {
        .version = v,
        .gp = v >= 5 ? 8 : 4,
        .fixed = v >= 5 ? 4 : v >= 2 ? 3 : 0,
        .width = 48,
    };
}

/* Counters of a hybrid machine, by kind of core */
static const PMUDefaults core_defaults = { 5, 8, 4, 48 };
static const PMUDefaults atom_defaults = { 5, 6, 3, 48 };

/* Replace "auto" values.  The version stays 0 if the CPU model has no PMU. */
static void intel_defaults(X86PMUProps *c, CPUX86State *env)
{
    PMUDefaults d = model_defaults(env);

    if (pmu_hybrid(c)) {
        d = pmu_atom(env_archcpu(env)) ? atom_defaults : core_defaults;
    } else if (c->version && c->version != d.version) {
        d = version_defaults(c->version);
    } else if (!d.version) {
        d = version_defaults(MAX_VERSION);
        d.version = 0;
    }
    c->version = d.version;
    c->gp = c->gp ?: d.gp;
    c->fixed = c->fixed != X86_PMU_FIXED_AUTO ? c->fixed : d.fixed;
    c->width = c->width ?: d.width;
}

/* Number of events in CPUID.0AH:EBX */
static int nr_arch_events(const X86PMUProps *c)
{
    return c->version >= 5 && !pmu_hybrid(c) ? 8 : 7;
}

static bool check_counters(const X86PMUProps *c, Error **errp)
{
    if (c->version > MAX_VERSION) {
        error_setg(errp, "x-pmu-version must be 1 to %d, not %d",
                   MAX_VERSION, c->version);
    } else if (c->gp < 1 || c->gp > PMU_MAX_GP) {
        error_setg(errp, "x-pmu-gp must be 1 to %d, not %d",
                   PMU_MAX_GP, c->gp);
    } else if (c->fixed > PMU_MAX_FIXED) {
        error_setg(errp, "x-pmu-fixed must be 0 to %d, not %d",
                   PMU_MAX_FIXED, c->fixed);
    } else if (c->fixed && c->version == 1) {
        error_setg(errp, "x-pmu-fixed: version 1 has no fixed counters");
    } else if (c->unavail >> nr_arch_events(c)) {
        error_setg(errp, "x-pmu-unavail: version %d has %d architectural "
                   "events, bit %d is too high", c->version,
                   nr_arch_events(c), 31 - clz32(c->unavail));
    } else {
        return true;
    }
    return false;
}

/* Reason why this CPU cannot have the PMU model, or NULL */
static const char *intel_absent(X86CPU *cpu, const X86PMUProps *c)
{
    if (!IS_INTEL_CPU(&cpu->env)) {
        return "TCG has only models of Intel's and AMD's; choose such a "
               "CPU or add vendor=GenuineIntel";
    }
    if (cpu->env.cpuid_level < 0xa) {
        return "this CPU's CPUID has no leaf 0xa";
    }
    if (!c->version) {
        return "the processor has no architectural one; "
               "x-pmu-version=N adds it";
    }
    return NULL;
}

/* LBR is off unless lbr-fmt and, for format 3FH, arch-lbr are given. */
static bool check_lbr(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;
    bool given = env->user_features[FEAT_7_0_EDX] & CPUID_7_0_EDX_ARCH_LBR;
    unsigned fmt;
    bool arch;

    /* -cpu max has all that TCG can do */
    if (!given) {
        env->features[FEAT_7_0_EDX] &= ~CPUID_7_0_EDX_ARCH_LBR;
    }
    if (cpu->lbr_fmt == ~PERF_CAP_LBR_FMT) {
        env->features[FEAT_PERF_CAPABILITIES] &= ~PERF_CAP_LBR_FMT;
    }
    arch = env->features[FEAT_7_0_EDX] & CPUID_7_0_EDX_ARCH_LBR;
    fmt = env->features[FEAT_PERF_CAPABILITIES] & PERF_CAP_LBR_FMT;

    if (!arch && !fmt) {
        return true;
    } else if (fmt && fmt != PMU_LBR_LEGACY_FMT && fmt != PMU_LBR_ARCH_FMT) {
        error_setg(errp, "lbr-fmt must be 0x%x or 0x%x with TCG, not 0x%x",
                   PMU_LBR_LEGACY_FMT, PMU_LBR_ARCH_FMT, fmt);
    } else if (arch != (fmt == PMU_LBR_ARCH_FMT)) {
        error_setg(errp, "arch-lbr=on and lbr-fmt=0x%x need each other",
                   PMU_LBR_ARCH_FMT);
    } else if (arch && env->cpuid_level < 0x1c) {
        error_setg(errp, "arch-lbr: this CPU's CPUID has no leaf 0x1c");
    } else if (!cpu->enable_pmu) {
        error_setg(errp, "lbr-fmt needs pmu=on");
    } else if (env->user_features[FEAT_1_ECX] & CPUID_EXT_PDCM &&
               !(env->features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        error_setg(errp, "lbr-fmt needs pdcm");
    } else {
        return true;
    }
    return false;
}

static void intel_withdraw(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    env->features[FEAT_7_0_EDX] &= ~CPUID_7_0_EDX_ARCH_LBR;
    env->features[FEAT_PERF_CAPABILITIES] &= ~PERF_CAP_LBR_FMT;
}

/* The kind of core chooses version and counters of a hybrid machine */
static bool check_hybrid(X86CPU *cpu, Error **errp)
{
    const X86PMUProps *given = &cpu->pmu_props;
    CPUX86State *env = &cpu->env;

    if (!pmu_hybrid(given)) {
        return true;
    } else if (given->gp || given->fixed != X86_PMU_FIXED_AUTO) {
        error_setg(errp, "x-pmu-atom-from: x-pmu-gp and x-pmu-fixed are "
                   "those of the kinds of cores");
    } else if (given->version && given->version != core_defaults.version) {
        error_setg(errp, "x-pmu-atom-from needs x-pmu-version=%d, not %d",
                   core_defaults.version, given->version);
    } else if (given->pebs_fmt ||
               env->features[FEAT_PERF_CAPABILITIES] & PERF_CAP_LBR_FMT) {
        error_setg(errp, "x-pmu-atom-from: no PEBS and no LBR on a hybrid "
                   "machine");
    } else if (env->cpuid_level < 0x1a) {
        error_setg(errp, "x-pmu-atom-from: this CPU's CPUID has no leaf 0x1a");
    } else if (!cpu->enable_pmu) {
        error_setg(errp, "x-pmu-atom-from needs pmu=on");
    } else {
        return true;
    }
    return false;
}

static bool intel_check(X86CPU *cpu, const X86PMUProps *c, Error **errp)
{
    FeatureWordArray *f = &cpu->env.features;

    /* AMD's, which -cpu max has */
    (*f)[FEAT_8000_0008_EBX] &= ~CPUID_8000_0008_EBX_IRPERF;
    (*f)[FEAT_8000_0022_EAX] &= ~CPUID_8000_0022_EAX_LBR_V2;
    return check_counters(c, errp) && check_lbr(cpu, errp) &&
           pmu_pebs_check(cpu, c, errp) && check_hybrid(cpu, errp);
}

/* Enable PDCM and full-width writes unless the user has disabled them */
static void intel_offer(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    if (!(env->user_features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        env->features[FEAT_1_ECX] |= CPUID_EXT_PDCM;
    }
    if (!(env->user_features[FEAT_PERF_CAPABILITIES] & PERF_CAP_FW_WRITE) &&
        (env->features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        env->features[FEAT_PERF_CAPABILITIES] |= PERF_CAP_FW_WRITE;
    }
    if (cpu->pmu_props.version >= 2 &&
        (env->features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        env->features[FEAT_PERF_CAPABILITIES] |= PERF_CAP_SMM_FREEZE;
    }
    if (pmu_hybrid(&cpu->pmu_props)) {
        env->features[FEAT_7_0_EDX] |= CPUID_7_0_EDX_HYBRID;
        if (!pmu_atom(cpu) && (env->features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
            env->features[FEAT_PERF_CAPABILITIES] |= PERF_CAP_METRICS;
        }
    }
    pmu_pebs_offer(cpu);
}

/* Leaves 0AH and, of a hybrid machine, 1AH */
static bool intel_cpuid(X86CPU *cpu, uint32_t leaf, uint32_t *regs)
{
    X86PMUProps *c = &cpu->pmu_props;
    int gp = c->gp, fixed = c->fixed;

    if (leaf == 0x1a && pmu_hybrid(c)) {
        regs[R_EAX] = (pmu_atom(cpu) ? CPUID_1A_ATOM : CPUID_1A_CORE) << 24 |
                      CPUID_1A_MODEL_ID;
        return true;
    } else if (leaf != 0xa) {
        return false;
    }
    /* As on Alder Lake, all CPUs show the counters that all of them have */
    if (pmu_hybrid(c)) {
        gp = MIN(gp, atom_defaults.gp);
        fixed = MIN(fixed, atom_defaults.fixed);
    }
    regs[R_EAX] = c->version | gp << 8 | c->width << 16 |
                  nr_arch_events(c) << 24;
    regs[R_EBX] = c->unavail;
    regs[R_ECX] = c->version >= 5 ? MAKE_64BIT_MASK(0, fixed) : 0;
    regs[R_EDX] = c->version >= 2 ? fixed | c->width << 5 : 0;
    if (c->version >= 5) {
        regs[R_EDX] |= 1 << 15;         /* AnyThread deprecated */
    }
    return true;
}

const PMUSetup pmu_intel_setup = {
    .defaults = intel_defaults,
    .check = intel_check,
    .absent = intel_absent,
    .withdraw = intel_withdraw,
    .offer = intel_offer,
    .cpuid = intel_cpuid,
};

/* CPUID leaf 1CH; returns false if this CPU has no PMU model */
bool x86_pmu_cpuid_lbr(X86CPU *cpu, uint32_t *eax, uint32_t *ebx,
                       uint32_t *ecx, uint32_t *edx)
{
    bool arch = cpu->pmu && pmu_lbr_arch(cpu->pmu);

    if (!cpu->pmu) {
        return false;
    }
    /* Depths, linear addresses */
    *eax = arch ? PMU_LBR_DEPTHS | 1u << 31 : 0;
    /* Filters of privilege levels and branches, call-stack mode */
    *ebx = arch ? 7 : 0;
    /* Mispredictions, cycles, types of branches */
    *ecx = arch ? 7 : 0;
    *edx = 0;
    return true;
}
