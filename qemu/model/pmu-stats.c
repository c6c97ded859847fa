/*
 * x86 performance monitoring unit for TCG: statistics
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Statistics of the guest's use of the PMU, for benchmarks and debugging.  They
 * are in MSRs that no processor has, and in the monitor command "info pmu".  An
 * RDMSR of such an MSR counts as an instruction, but not as an RDMSR.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "monitor/hmp-target.h"
#include "monitor/monitor.h"
#include "monitor/hmp.h"
#include "qobject/qdict.h"

#define STAT_BASE       0x51504d00      /* "QPM\0" */
#define STAT_NR         16
#define STAT_MSR_WR     0x51500000      /* + MSR: WRMSRs of it */
#define STAT_MSR_RD     0x51510000      /* + MSR: RDMSRs of it */
/* ... + 0x20000 for MSRs 0xc000xxxx, + 0x40000 for MSRs 0xc001xxxx */
#define STAT_MSR_END    0x51560000

bool pmu_stats_owns(uint32_t msr)
{
    return msr - STAT_BASE < STAT_NR ||
           (msr >= STAT_MSR_WR && msr < STAT_MSR_END && !(msr & 0xe000));
}

/* Index of the table (of three) with @msr, or -1 */
static int msr_range(uint32_t msr)
{
    switch (msr >> 13) {
    case 0:
        return 0;
    case 0xc0000000 >> 13:
        return 1;
    case 0xc0010000 >> 13:
        return 2;
    default:
        return -1;
    }
}

void pmu_count_msr(X86PMU *p, uint32_t msr, bool write)
{
    PMUStats *st = &p->stats;
    int range = msr_range(msr);

    if (write) {
        st->wrmsr++;
    } else {
        st->rdmsr++;
    }
    if (range >= 0) {
        (write ? st->wr : st->rd)[range][msr & 0x1fff]++;
    }
}

/* Only two MSRs are writable; the value is ignored. */
int pmu_stats_wrmsr(X86PMU *p, uint32_t msr, uint64_t val)
{
    uint64_t retired[2] = { p->stats.retired[0], p->stats.retired[1] };

    switch (msr) {
    case STAT_BASE:                     /* clear all except retired */
        memset(&p->stats, 0, sizeof(p->stats));
        memcpy(p->stats.retired, retired, sizeof(retired));
        return 1;
    case STAT_BASE + 15:                /* cold caches, TLB, prediction */
        pmu_model_cold(p);
        return 1;
    default:
        return -1;
    }
}

int pmu_stats_rdmsr(X86PMU *p, uint32_t msr, uint64_t *val)
{
    PMUStats *st = &p->stats;
    const uint64_t *const scalar[STAT_NR] = {
        &st->retired[1], &st->retired[0], &st->wrmsr, &st->rdmsr, &st->rdpmc,
        &st->pmi, &st->slow, &st->sync, &st->cpl, &st->pmi_lost, &st->faults,
    };
    uint32_t i = msr - STAT_BASE;

    if (i < STAT_NR) {
        *val = scalar[i] ? *scalar[i] : 0;
    } else {
        i = (msr - STAT_MSR_WR) >> 16;
        *val = (i & 1 ? st->rd : st->wr)[i / 2][msr & 0x1fff];
    }
    return 1;
}

static void print_counter(Monitor *mon, X86PMU *p, int ctr)
{
    bool gp = ctr < PMU_MAX_GP;
    uint64_t ctl = gp ? p->sel[ctr]
                      : p->fixed_ctrl >> (4 * (ctr - PMU_MAX_GP)) & 15;
    int i, on = 0;

    for (i = 0; i < p->n_active[0]; i++) {
        on |= (p->active[0][i].ctr == ctr) << 0;
    }
    for (i = 0; i < p->n_active[1]; i++) {
        on |= (p->active[1][i].ctr == ctr) << 1;
    }
    monitor_printf(mon, "  %s%d  %012" PRIx64 "  control %08" PRIx64
                   "  %s%s  %s\n",
                   gp ? "pmc  " : "fixed", gp ? ctr : ctr - PMU_MAX_GP,
                   p->ctr[ctr], ctl, on & 1 ? "k" : "-", on & 2 ? "u" : "-",
                   ctl ? p->vendor->event_name(p, ctr) : "");
}

static void print_msrs(Monitor *mon, X86PMU *p)
{
    static const uint32_t base[3] = { 0, 0xc0000000, 0xc0010000 };
    int r, i;

    monitor_printf(mon, "  MSR         WRMSR      RDMSR\n");
    for (r = 0; r < 3; r++) {
        for (i = 0; i < 0x2000; i++) {
            if (p->stats.wr[r][i] || p->stats.rd[r][i]) {
                monitor_printf(mon, "  %08x %8u   %8u\n", base[r] + i,
                               p->stats.wr[r][i], p->stats.rd[r][i]);
            }
        }
    }
}

static void print_lbr(Monitor *mon, X86PMU *p)
{
    static const char *const names[] = {
        [PMU_LBR_LEGACY] = "legacy LBR", [PMU_LBR_ARCH] = "architectural LBR",
        [PMU_LBR_AMD] = "LbrExtV2",
    };
    int kind = pmu_lbr_kind(p);

    if (kind) {
        monitor_printf(mon, "  %s of %u entries, %s\n", names[kind],
                       p->lbr.mask + 1, p->lbr.on ? "on" : p->lbr.enabled ? "frozen" : "off");
    }
}

static void print_pebs(Monitor *mon, X86PMU *p)
{
    if (pmu_pebs_fmt(p)) {
        monitor_printf(mon, "  PEBS format %d  enable %016" PRIx64
                       "  DS area %016" PRIx64 "  armed %03x\n",
                       pmu_pebs_fmt(p), p->pebs.enable, p->pebs.ds_area,
                       p->pebs.armed);
    }
}

static void sync_on_cpu(CPUState *cs, run_on_cpu_data unused)
{
    x86_pmu_sync(cpu_env(cs));
}

void hmp_info_pmu(Monitor *mon, const QDict *qdict)
{
    CPUState *cs = mon_get_cpu(mon);
    X86PMU *p = cs ? X86_CPU(cs)->pmu : NULL;
    PMUStats *st;
    int i;

    if (!p) {
        monitor_printf(mon, "No PMU model: use TCG and -cpu MODEL,pmu=on\n");
        return;
    }
    run_on_cpu(cs, sync_on_cpu, RUN_ON_CPU_NULL);
    st = &p->stats;

    monitor_printf(mon, "CPU %d: %s PMU version %d, %d general and %d fixed "
                   "counters of %d bits\n", cs->cpu_index, p->vendor->name,
                   p->cpu->pmu_props.version, p->cpu->pmu_props.gp,
                   p->cpu->pmu_props.fixed, p->cpu->pmu_props.width);
    monitor_printf(mon, "  global control %016" PRIx64 "  status %016" PRIx64
                   "  debugctl %" PRIx64 "\n",
                   p->global_ctrl, p->status, p->debugctl);
    print_lbr(mon, p);
    print_pebs(mon, p);
    for (i = 0; i < PMU_MAX_CTRS; i++) {
        if (i < PMU_MAX_GP ? i < p->cpu->pmu_props.gp :
                             i < PMU_MAX_GP + p->cpu->pmu_props.fixed) {
            print_counter(mon, p, i);
        }
    }
    monitor_printf(mon, "  retired: %" PRIu64 " user, %" PRIu64 " kernel%s\n",
                   st->retired[1], st->retired[0],
                   p->cpu->pmu_props.always ? "" :
                   " (while counting; all with x-pmu-always=on)");
    monitor_printf(mon, "  WRMSR %" PRIu64 "  RDMSR %" PRIu64 "  RDPMC %" PRIu64
                   "  faults %" PRIu64 "  PMI %" PRIu64 ", lost %" PRIu64 "\n",
                   st->wrmsr, st->rdmsr, st->rdpmc, st->faults, st->pmi,
                   st->pmi_lost);
    monitor_printf(mon, "  model: slow paths %" PRIu64 ", folds %" PRIu64
                   ", of CPL changes %" PRIu64 "\n",
                   st->slow, st->sync, st->cpl);
    if (qdict_get_try_bool(qdict, "msrs", false)) {
        print_msrs(mon, p);
    }
}
