/*
 * x86 performance monitoring unit for TCG: far branches
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * For helpers that change CS: call x86_pmu_far_begin() before the first change
 * of CS and EIP, and x86_pmu_far_end() when the instruction cannot fault any
 * more.  x86_pmu_event_begin() is the same for the delivery of an interrupt, an
 * exception or INT n.
 */
#ifndef I386_TCG_PMU_FAR_H
#define I386_TCG_PMU_FAR_H

typedef struct X86PMUFar {
    bool on;                    /* LBR records */
    bool user;                  /* privilege level of the instruction */
    uint64_t from;              /* its linear address ... */
    uintptr_t ra;               /* ... if this is 0; else only its page */
} X86PMUFar;

#ifdef CONFIG_USER_ONLY

static inline X86PMUFar x86_pmu_far_begin(CPUX86State *env, uintptr_t ra)
{
    return (X86PMUFar) { 0 };
}

static inline X86PMUFar x86_pmu_event_begin(CPUX86State *env, int intno,
                                            bool is_int, bool is_hw)
{
    return (X86PMUFar) { 0 };
}

static inline void x86_pmu_far_end(CPUX86State *env, const X86PMUFar *far) { }

#else

X86PMUFar x86_pmu_lbr_begin(CPUX86State *env, uintptr_t ra);
X86PMUFar x86_pmu_lbr_event(CPUX86State *env, int intno, bool is_int,
                            bool is_hw);
void x86_pmu_lbr_end(CPUX86State *env, const X86PMUFar *far);

static inline X86PMUFar x86_pmu_far_begin(CPUX86State *env, uintptr_t ra)
{
    return unlikely(env->pmu.lbr) ? x86_pmu_lbr_begin(env, ra)
                                  : (X86PMUFar) { 0 };
}

static inline X86PMUFar x86_pmu_event_begin(CPUX86State *env, int intno,
                                            bool is_int, bool is_hw)
{
    return unlikely(env->pmu.lbr) ? x86_pmu_lbr_event(env, intno, is_int, is_hw)
                                  : (X86PMUFar) { 0 };
}

static inline void x86_pmu_far_end(CPUX86State *env, const X86PMUFar *far)
{
    if (unlikely(far->on)) {
        x86_pmu_lbr_end(env, far);
    }
}

#endif

#endif
