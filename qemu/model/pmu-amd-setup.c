/*
 * x86 performance monitoring unit for TCG: properties and CPUID of AMD's
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The features perfctr-core and perfmon-v2 select the PMU.  If they are not
 * given, x-pmu-gp and x-pmu-version do, and without these the family.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "cpu.h"
#include "pmu-amd.h"

#define LEAF_V2                     0x80000022
#define LEAF_IBS                    0x8000001b
#define CPUID_V2_LBR_PMC_FREEZE     (1u << 2)

/* Family 15h and later */
static bool family_has_core(CPUX86State *env)
{
    return pmu_amd_family(env) >= 0x15;
}

/* A feature that is given, else what the processor has */
static bool given_or(CPUX86State *env, int word, uint64_t bit, bool model)
{
    return env->user_features[word] & bit ? env->features[word] & bit : model;
}

static void set_feature(CPUX86State *env, int word, uint64_t bit, bool on)
{
    env->features[word] = on ? env->features[word] | bit
                             : env->features[word] & ~bit;
}

static void amd_defaults(X86PMUProps *c, CPUX86State *env)
{
    bool core = given_or(env, FEAT_8000_0001_ECX, CPUID_EXT3_PERFCORE,
                         c->gp ? c->gp > AMD_K7_CTRS :
                         c->version > 1 || family_has_core(env));
    bool v2 = given_or(env, FEAT_8000_0022_EAX, CPUID_8000_0022_EAX_PERFMON_V2,
                       core && pmu_amd_zen4(env));

    /* Only with irperf=on, as it makes all code count */
    set_feature(env, FEAT_8000_0008_EBX, CPUID_8000_0008_EBX_IRPERF,
                given_or(env, FEAT_8000_0008_EBX, CPUID_8000_0008_EBX_IRPERF,
                         false));
    c->gp = c->gp ?: core || v2 ? AMD_CORE_CTRS : AMD_K7_CTRS;
    c->version = c->version ?: v2 ? 2 : 1;
    c->fixed = c->fixed != X86_PMU_FIXED_AUTO ? c->fixed : 0;
    c->width = c->width ?: 48;
}

/* Features of Intel's PMUs */
static bool check_others(X86CPU *cpu, const X86PMUProps *c, Error **errp)
{
    if (c->fixed) {
        error_setg(errp, "x-pmu-fixed: AMD has no fixed counters");
    } else if (c->unavail) {
        error_setg(errp, "x-pmu-unavail: AMD has no architectural events");
    } else if (c->pebs_fmt) {
        error_setg(errp, "pebs-fmt: AMD has no PEBS");
    } else if (c->atom_from != X86_PMU_ATOM_NONE) {
        error_setg(errp, "x-pmu-atom-from: AMD has no kinds of cores");
    } else if (cpu->lbr_fmt != ~PERF_CAP_LBR_FMT && cpu->lbr_fmt) {
        error_setg(errp, "lbr-fmt is for Intel's last branch records");
    } else {
        return true;
    }
    return false;
}

static bool amd_check(X86CPU *cpu, const X86PMUProps *c, Error **errp)
{
    FeatureWordArray *given = &cpu->env.user_features, *f = &cpu->env.features;
    uint64_t core = (*given)[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE;
    uint64_t v2 = (*given)[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_PERFMON_V2;
    uint64_t lbr = (*given)[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_LBR_V2;

    if (c->version > 2) {
        error_setg(errp, "x-pmu-version must be 1 or 2 with AMD, not %d",
                   c->version);
    } else if (c->gp != AMD_K7_CTRS && c->gp != AMD_CORE_CTRS) {
        error_setg(errp, "x-pmu-gp must be %d or %d with AMD, not %d",
                   AMD_K7_CTRS, AMD_CORE_CTRS, c->gp);
    } else if (c->version == 2 && c->gp != AMD_CORE_CTRS) {
        error_setg(errp, "version 2 needs %d general counters", AMD_CORE_CTRS);
    } else if (core && !((*f)[FEAT_8000_0001_ECX] & core) !=
               (c->gp == AMD_K7_CTRS)) {
        error_setg(errp, "x-pmu-gp=%d and perfctr-core contradict each other",
                   c->gp);
    } else if (v2 && !((*f)[FEAT_8000_0022_EAX] & v2) != (c->version == 1)) {
        error_setg(errp, "x-pmu-version=%d and perfmon-v2 contradict each "
                   "other", c->version);
    } else if (lbr & (*f)[FEAT_8000_0022_EAX] && c->version == 1) {
        error_setg(errp, "amd-lbr-v2 needs perfmon-v2");
    } else {
        return check_others(cpu, c, errp);
    }
    return false;
}

/* Family 6 is K7; those before have no PMU */
static const char *amd_absent(X86CPU *cpu, const X86PMUProps *c)
{
    return pmu_amd_family(&cpu->env) < 6 ? "the processor has none" : NULL;
}

/* With the registers of the APIC that it needs */
static void set_ibs(CPUX86State *env, bool on)
{
    set_feature(env, FEAT_8000_0001_ECX, CPUID_EXT3_IBS, on);
    set_feature(env, FEAT_8000_0001_ECX, CPUID_EXT3_EXTAPIC, on);
}

static void set_features(X86CPU *cpu, bool core, bool v2, bool lbr)
{
    CPUX86State *env = &cpu->env;

    set_feature(env, FEAT_8000_0001_ECX, CPUID_EXT3_PERFCORE, core);
    set_feature(env, FEAT_8000_0022_EAX, CPUID_8000_0022_EAX_PERFMON_V2, v2);
    set_feature(env, FEAT_8000_0022_EAX, CPUID_8000_0022_EAX_LBR_V2, lbr);
    /* -cpu max has all that TCG can do */
    set_feature(env, FEAT_7_0_EDX, CPUID_7_0_EDX_ARCH_LBR, false);
    set_feature(env, FEAT_PERF_CAPABILITIES, PERF_CAP_LBR_FMT, false);
}

static void amd_withdraw(X86CPU *cpu)
{
    set_features(cpu, false, false, false);
    set_ibs(&cpu->env, false);
    set_feature(&cpu->env, FEAT_8000_0008_EBX, CPUID_8000_0008_EBX_IRPERF,
                false);
}

static void amd_offer(X86CPU *cpu)
{
    const X86PMUProps *c = &cpu->pmu_props;
    bool lbr = given_or(&cpu->env, FEAT_8000_0022_EAX,
                        CPUID_8000_0022_EAX_LBR_V2, pmu_amd_zen4(&cpu->env));

    set_features(cpu, c->gp == AMD_CORE_CTRS, c->version == 2,
                 c->version == 2 && lbr);
    set_ibs(&cpu->env, given_or(&cpu->env, FEAT_8000_0001_ECX, CPUID_EXT3_IBS,
                                pmu_amd_family(&cpu->env) >= 0x17));
    if (pmu_amd_ibs(&cpu->env)) {
        cpu->env.cpuid_xlevel = MAX(cpu->env.cpuid_xlevel, LEAF_IBS);
    }
    if (c->version == 2) {
        cpu->env.cpuid_xlevel = MAX(cpu->env.cpuid_xlevel, LEAF_V2);
    }
}

/* There is no leaf 0AH */
static bool amd_cpuid(X86CPU *cpu, uint32_t leaf, uint32_t *regs)
{
    if (leaf == LEAF_V2 && cpu->pmu_props.version == 2) {
        regs[R_EAX] = CPUID_8000_0022_EAX_PERFMON_V2 | CPUID_V2_LBR_PMC_FREEZE;
        regs[R_EBX] = cpu->pmu_props.gp;
        if (pmu_lbr_kind(cpu->pmu)) {
            regs[R_EAX] |= CPUID_8000_0022_EAX_LBR_V2;
            regs[R_EBX] |= PMU_LBR_AMD_NR << 4;
        }
    }
    if (leaf == LEAF_IBS && pmu_amd_ibs(&cpu->env)) {
        regs[R_EAX] = pmu_ibs_caps(&cpu->env);
    }
    return leaf == LEAF_V2 || leaf == LEAF_IBS || leaf == 0xa;
}

const PMUSetup pmu_amd_setup = {
    .defaults = amd_defaults,
    .check = amd_check,
    .absent = amd_absent,
    .withdraw = amd_withdraw,
    .offer = amd_offer,
    .cpuid = amd_cpuid,
};
