/*
 * x86 performance monitoring unit for TCG: properties, CPUID, reset
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "pmu-internal.h"

static const PMUVendor *vendor_of(CPUX86State *env)
{
    return IS_AMD_CPU(env) ? &pmu_amd : &pmu_intel;
}

static bool check_props(const X86PMUProps *c, Error **errp)
{
    if (c->width < 32 || c->width > 48) {
        error_setg(errp, "x-pmu-width must be 32 to 48, not %d", c->width);
    } else if (!c->cpi || !c->cpi_div || c->cpi < c->cpi_div) {
        error_setg(errp, "x-pmu-cpi / x-pmu-cpi-div must be at least 1, "
                   "not %d/%d", c->cpi, c->cpi_div);
    } else if (!c->ref || !c->ref_div) {
        error_setg(errp, "x-pmu-ref / x-pmu-ref-div must be positive, "
                   "not %d/%d", c->ref, c->ref_div);
    } else {
        return true;
    }
    return false;
}

bool x86_pmu_realize(X86CPU *cpu, Error **errp)
{
    const PMUVendor *vendor = vendor_of(&cpu->env);
    const PMUSetup *setup = vendor->setup;
    X86PMUProps props = cpu->pmu_props;
    const char *why;

    /* An invalid value is an error even with pmu=off */
    setup->defaults(&props, &cpu->env);
    if (!setup->check(cpu, &props, errp) || !check_props(&props, errp)) {
        return false;
    }
    why = cpu->enable_pmu ? setup->absent(cpu, &props) : NULL;
    if (why) {
        warn_report_once("pmu=on: no PMU: %s", why);
        cpu->enable_pmu = false;
    }
    if (!cpu->enable_pmu) {
        setup->withdraw(cpu);
        return true;
    }
    cpu->pmu_props = props;
    setup->offer(cpu);

    cpu->pmu = g_new0(X86PMU, 1);
    cpu->pmu->cpu = cpu;
    cpu->pmu->vendor = vendor;
    x86_pmu_reset(cpu);
    return true;
}

void x86_pmu_unrealize(X86CPU *cpu)
{
    g_free(cpu->pmu);
    cpu->pmu = NULL;
}

/* Power-up and reset.  INIT does not reset the PMU. */
void x86_pmu_reset(X86CPU *cpu)
{
    X86PMU *p = cpu->pmu;
    const PMUVendor *vendor;

    if (!p) {
        return;
    }
    vendor = p->vendor;
    memset(p, 0, sizeof(*p));
    p->cpu = cpu;
    p->vendor = vendor;
    pmu_model_reset(p);
    vendor->reset(p);
    pmu_config(&cpu->env);
    pmu_rearm(&cpu->env);
}

/*
 * Leaf @leaf of CPUID; false if this CPU has no PMU model or the leaf is not
 * part of its PMU
 */
bool x86_pmu_cpuid(X86CPU *cpu, uint32_t leaf, uint32_t *eax, uint32_t *ebx,
                   uint32_t *ecx, uint32_t *edx)
{
    uint32_t regs[4] = { 0 };

    if (!cpu->pmu || !cpu->pmu->vendor->setup->cpuid(cpu, leaf, regs)) {
        return false;
    }
    *eax = regs[R_EAX];
    *ebx = regs[R_EBX];
    *ecx = regs[R_ECX];
    *edx = regs[R_EDX];
    return true;
}
