/*
 * x86 performance monitoring unit for TCG: migration
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "migration/vmstate.h"
#include "migration/qemu-file-types.h"

/*
 * The tables of the caches and of the statistics are large and mostly zero.
 * They are sent as runs: the number of zero words, the number of nonzero words,
 * and the nonzero words; repeated until the table is complete.
 */
static uint64_t get_word(const void *table, size_t size, size_t i)
{
    return size == 8 ? ((const uint64_t *)table)[i]
                     : ((const uint32_t *)table)[i];
}

static int put_runs(QEMUFile *f, const void *table, size_t bytes, size_t size)
{
    size_t nr = bytes / size, i = 0;

    while (i < nr) {
        size_t zero = i, end;

        while (i < nr && !get_word(table, size, i)) {
            i++;
        }
        end = i;
        while (end < nr && get_word(table, size, end)) {
            end++;
        }
        qemu_put_be32(f, i - zero);
        qemu_put_be32(f, end - i);
        for (; i < end; i++) {
            uint64_t v = get_word(table, size, i);

            if (size == 8) {
                qemu_put_be64(f, v);
            } else {
                qemu_put_be32(f, v);
            }
        }
    }
    return 0;
}

static int get_runs(QEMUFile *f, void *table, size_t bytes, size_t size)
{
    size_t nr = bytes / size, i = 0;

    memset(table, 0, bytes);
    while (i < nr) {
        size_t zero = qemu_get_be32(f), n = qemu_get_be32(f);

        if (!(zero | n) || zero > nr - i || n > nr - i - zero) {
            return -EINVAL;
        }
        for (i += zero; n; i++, n--) {
            if (size == 8) {
                ((uint64_t *)table)[i] = qemu_get_be64(f);
            } else {
                ((uint32_t *)table)[i] = qemu_get_be32(f);
            }
        }
    }
    return 0;
}

static int put_runs64(QEMUFile *f, void *pv, size_t bytes,
                      const VMStateField *field, JSONWriter *vmdesc)
{
    return put_runs(f, pv, bytes, 8);
}

static int get_runs64(QEMUFile *f, void *pv, size_t bytes,
                      const VMStateField *field)
{
    return get_runs(f, pv, bytes, 8);
}

static int put_runs32(QEMUFile *f, void *pv, size_t bytes,
                      const VMStateField *field, JSONWriter *vmdesc)
{
    return put_runs(f, pv, bytes, 4);
}

static int get_runs32(QEMUFile *f, void *pv, size_t bytes,
                      const VMStateField *field)
{
    return get_runs(f, pv, bytes, 4);
}

static const VMStateInfo vmstate_info_runs64 = {
    .name = "runs of 64-bit words", .get = get_runs64, .put = put_runs64,
};

static const VMStateInfo vmstate_info_runs32 = {
    .name = "runs of 32-bit words", .get = get_runs32, .put = put_runs32,
};

#define VMSTATE_RUNS(_field, _info) {                   \
    .name = stringify(_field),                          \
    .info = &(_info),                                   \
    .size = sizeof_field(X86PMU, _field),               \
    .flags = VMS_SINGLE,                                \
    .offset = offsetof(X86PMU, _field),                 \
}

static bool pmu_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->pmu != NULL;
}

static int pmu_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;

    /* Raises no PMI: x86_pmu_leave() ran when the vCPU left cpu_exec(). */
    x86_pmu_sync(&cpu->env);
    pmu_model_save(cpu->pmu);
    return 0;
}

static int pmu_pre_load(void *opaque)
{
    X86CPU *cpu = opaque;

    if (!cpu->pmu) {
        error_report("the state has a PMU, this CPU does not: add pmu=on");
        return -EINVAL;
    }
    memset(cpu->pmu->model.owned, 0, sizeof(cpu->pmu->model.owned));
    return 0;
}

static int pmu_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;
    int64_t lbr_n[2];

    memcpy(lbr_n, cpu->env.pmu.lbr_n, sizeof(lbr_n));
    pmu_config(&cpu->env);              /* starts to count for LBR */
    memcpy(cpu->env.pmu.lbr_n, lbr_n, sizeof(lbr_n));
    pmu_rearm(&cpu->env);
    pmu_model_load(cpu->pmu);
    return 0;
}

static const VMStateDescription vmstate_pmu_state = {
    .name = "cpu/tcg_pmu/state",
    .version_id = 3,
    .minimum_version_id = 3,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_ARRAY(ctr, X86PMU, PMU_MAX_CTRS),
        VMSTATE_UINT64_ARRAY(sel, X86PMU, PMU_MAX_GP),
        VMSTATE_UINT64(fixed_ctrl, X86PMU),
        VMSTATE_UINT64(global_ctrl, X86PMU),
        VMSTATE_UINT64(status, X86PMU),
        VMSTATE_UINT64(debugctl, X86PMU),
        VMSTATE_UINT64_ARRAY(offcore, X86PMU, 2),
        VMSTATE_BOOL(smm_frozen, X86PMU),
        VMSTATE_UINT64(smm_global_ctrl, X86PMU),
        VMSTATE_UINT64_ARRAY(rem, X86PMU, PMU_MAX_CTRS),
        VMSTATE_UINT64(skid_left, X86PMU),
        VMSTATE_RUNS(model.l1, vmstate_info_runs64),
        VMSTATE_RUNS(model.llc, vmstate_info_runs64),
        VMSTATE_RUNS(model.tlb, vmstate_info_runs64),
        VMSTATE_RUNS(model.target, vmstate_info_runs64),
        VMSTATE_UINT64_ARRAY(model.ras, X86PMU, PMU_RAS_SIZE),
        VMSTATE_UINT8_ARRAY(model.bimodal, X86PMU, PMU_BTB_SIZE),
        VMSTATE_UINT32(model.ras_top, X86PMU),
        VMSTATE_UINT64_ARRAY(stats.retired, X86PMU, 2),
        VMSTATE_UINT64(stats.wrmsr, X86PMU),
        VMSTATE_UINT64(stats.rdmsr, X86PMU),
        VMSTATE_UINT64(stats.rdpmc, X86PMU),
        VMSTATE_UINT64(stats.pmi, X86PMU),
        VMSTATE_UINT64(stats.pmi_lost, X86PMU),
        VMSTATE_UINT64(stats.faults, X86PMU),
        VMSTATE_RUNS(stats.wr, vmstate_info_runs32),
        VMSTATE_RUNS(stats.rd, vmstate_info_runs32),
        VMSTATE_END_OF_LIST()
    }
};

/* Last branch records, except what cpu/arch_lbr has, which is loaded before */
static bool lbr_not_arch(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;

    return !pmu_lbr_arch(cpu->pmu);
}

static bool lbr_amd(void *opaque, int version_id)
{
    return pmu_lbr_kind(opaque) == PMU_LBR_AMD;
}

static bool lbr_needed(void *opaque)
{
    X86CPU *cpu = opaque;
    PMULbr *l = &cpu->pmu->lbr;
    uint64_t any = l->select | l->extn_cfg | l->tos | l->ler.from | l->ler.to |
                   l->ler.info | l->smm | cpu->env.pmu.lbr_n[0] |
                   cpu->env.pmu.lbr_n[1];

    for (int i = 0; lbr_not_arch(cpu, 0) && i < PMU_LBR_LEGACY_NR; i++) {
        const LBREntry *e = &cpu->env.lbr_records[i];

        any |= e->from | e->to | e->info;
    }
    return any != 0;
}

static const VMStateDescription vmstate_lbr_entry = {
    .name = "cpu/tcg_pmu/lbr/entry",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(from, LBREntry),
        VMSTATE_UINT64(to, LBREntry),
        VMSTATE_UINT64(info, LBREntry),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_lbr_regs = {
    .name = "cpu/tcg_pmu/lbr/regs",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(lbr.select, X86PMU),
        VMSTATE_UINT32(lbr.tos, X86PMU),
        VMSTATE_STRUCT(lbr.ler, X86PMU, 1, vmstate_lbr_entry, LBREntry),
        VMSTATE_BOOL(lbr.smm, X86PMU),
        VMSTATE_UINT64_TEST(lbr.extn_cfg, X86PMU, lbr_amd),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_lbr = {
    .name = "cpu/tcg_pmu/lbr",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = lbr_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(pmu, X86CPU, vmstate_lbr_regs, X86PMU),
        VMSTATE_STRUCT_ARRAY_TEST(env.lbr_records, X86CPU, PMU_LBR_LEGACY_NR,
                                  lbr_not_arch, 1, vmstate_lbr_entry, LBREntry),
        VMSTATE_INT64_ARRAY(env.pmu.lbr_n, X86CPU, 2),
        VMSTATE_END_OF_LIST()
    }
};

/* Precise events */
static bool pebs_needed(void *opaque)
{
    X86CPU *cpu = opaque;
    PMUPebs *b = &cpu->pmu->pebs;

    return (b->enable | b->data_cfg | b->ld_lat | b->ds_area | b->armed |
            b->due) != 0;
}

static const VMStateDescription vmstate_pebs_state = {
    .name = "cpu/tcg_pmu/pebs/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(pebs.enable, X86PMU),
        VMSTATE_UINT64(pebs.data_cfg, X86PMU),
        VMSTATE_UINT64(pebs.ld_lat, X86PMU),
        VMSTATE_UINT64(pebs.ds_area, X86PMU),
        VMSTATE_UINT32(pebs.armed, X86PMU),
        VMSTATE_UINT32(pebs.due, X86PMU),
        VMSTATE_UINT64(pebs.ip, X86PMU),
        VMSTATE_UINT64(pebs.addr, X86PMU),
        VMSTATE_UINT64(pebs.source, X86PMU),
        VMSTATE_UINT64(pebs.latency, X86PMU),
        VMSTATE_BOOL(pebs.has_mem, X86PMU),
        VMSTATE_BOOL(pebs.pmi, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_pebs = {
    .name = "cpu/tcg_pmu/pebs",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = pebs_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8_EQUAL(pmu_props.pebs_fmt, X86CPU, "pebs-fmt"),
        VMSTATE_STRUCT_POINTER(pmu, X86CPU, vmstate_pebs_state, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

static bool hybrid_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->pmu_props.atom_from != X86_PMU_ATOM_NONE;
}

static const VMStateDescription vmstate_hybrid_state = {
    .name = "cpu/tcg_pmu/hybrid/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(metrics, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_hybrid = {
    .name = "cpu/tcg_pmu/hybrid",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = hybrid_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT16_EQUAL(pmu_props.atom_from, X86CPU, "x-pmu-atom-from"),
        VMSTATE_STRUCT_POINTER(pmu, X86CPU, vmstate_hybrid_state, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

/* Instruction-based sampling; no sample is due when a CPU stops */
static bool ibs_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return x86_pmu_eilvt(cpu);
}

static const VMStateDescription vmstate_ibs_state = {
    .name = "cpu/tcg_pmu/ibs/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_ARRAY(ibs.reg, X86PMU, IBS_REGS),
        VMSTATE_UINT32_ARRAY(ibs.eilvt, X86PMU, PMU_IBS_EILVT_NR),
        VMSTATE_UINT8_ARRAY(ibs.state, X86PMU, PMU_IBS_NR),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_ibs = {
    .name = "cpu/tcg_pmu/ibs",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = ibs_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(pmu, X86CPU, vmstate_ibs_state, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

/* Lines that this CPU has modified */
static bool owned_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    for (int i = 0; i < PMU_OWNED; i++) {
        if (cpu->pmu->model.owned[i]) {
            return true;
        }
    }
    return false;
}

static const VMStateDescription vmstate_owned_state = {
    .name = "cpu/tcg_pmu/owned/state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_RUNS(model.owned, vmstate_info_runs64),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_owned = {
    .name = "cpu/tcg_pmu/owned",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = owned_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(pmu, X86CPU, vmstate_owned_state, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_x86_pmu = {
    .name = "cpu/tcg_pmu",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = pmu_needed,
    .pre_save = pmu_pre_save,
    .pre_load = pmu_pre_load,
    .post_load = pmu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8_EQUAL(pmu_props.version, X86CPU, "x-pmu-version"),
        VMSTATE_UINT8_EQUAL(pmu_props.gp, X86CPU, "x-pmu-gp"),
        VMSTATE_UINT8_EQUAL(pmu_props.fixed, X86CPU, "x-pmu-fixed"),
        VMSTATE_UINT8_EQUAL(pmu_props.width, X86CPU, "x-pmu-width"),
        VMSTATE_STRUCT_POINTER(pmu, X86CPU, vmstate_pmu_state, X86PMU),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_lbr,
        &vmstate_pebs,
        &vmstate_hybrid,
        &vmstate_owned,
        &vmstate_ibs,
        NULL
    }
};
