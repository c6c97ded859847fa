/*
 * x86 performance monitoring unit for TCG: what a sample of IBS contains
 *
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The address of the instruction, of its data and of its target are exact.  The
 * model of caches and prediction says where data came from.  Latencies are
 * invented.  Fetches always hit.  Also CPUID and the registers that the APIC
 * has for IBS.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-amd.h"
#include "hw/core/cpu.h"

/* IbsOpData */
#define DATA_COMP_TO_RET    4
#define DATA_TAG_TO_RET     12
#define DATA_RET            (1ull << 34)
#define DATA_TAKEN          (1ull << 35)
#define DATA_MISS           (1ull << 36)
#define DATA_BRANCH         (1ull << 37)

/* IbsOpData2: the source of a load; its state in the other cache */
#define SRC_LOCAL           2       /* before Zen 4 */
#define SRC_LOCAL_ZEN4      1
#define SRC_RAM             3
#define DATA2_SHARED        (1ull << 5)

/* IbsOpData3 */
#define DATA3_LD            (1ull << 0)
#define DATA3_ST            (1ull << 1)
#define DATA3_L1_TLB_MISS   (1ull << 2)
#define DATA3_L2_TLB_MISS   (1ull << 3)
#define DATA3_MISS          (1ull << 7)
#define DATA3_MISALIGNED    (1ull << 8)
#define DATA3_LOCK          (1ull << 15)
#define DATA3_LIN           (1ull << 17)
#define DATA3_PHYS          (1ull << 18)
#define DATA3_L2_MISS       (1ull << 20)
#define DATA3_WIDTH_SHIFT   22
#define DATA3_LAT_SHIFT     32
#define DATA3_TLB_LAT_SHIFT 48
#define TLB_LATENCY         20

/* IbsFetchCtl */
#define FETCH_COMP          (1ull << 50)
#define FETCH_PHYS          (1ull << 52)
#define FETCH_LAT_SHIFT     32
#define FETCH_LATENCY       8

/**
 * pmu_ibs_caps - Fn8000_001B:EAX
 * @env: the CPU
 *
 * Return: the capabilities of a CPU that has IBS.
 */
uint32_t pmu_ibs_caps(CPUX86State *env)
{
    int family = pmu_amd_family(env);

    return IBS_CAPS_BASE | (pmu_amd_zen4(env) ? IBS_CAPS_ZEN4 : 0) |
           (family >= 0x1a ? IBS_CAPS_LDLAT : 0);
}

/* False if no page is mapped there */
static bool translate(CPUX86State *env, uint64_t addr, uint64_t *phys)
{
    MemTxAttrs attrs;
    hwaddr page = cpu_get_phys_page_attrs_debug(env_cpu(env),
                                                addr & TARGET_PAGE_MASK, &attrs);

    *phys = page == -1 ? 0 : page | (addr & ~TARGET_PAGE_MASK);
    return page != -1;
}

/* The width of an access as IBS encodes it: 1, 2, 4 ... 64 bytes are 1, 2, 3 ... 7 */
static uint64_t width(uint32_t size)
{
    return size && size <= 64 ? 32 - clz32(size) : 0;
}

static uint64_t source(X86PMU *p, const PMUMemInfo *m)
{
    uint64_t local = pmu_ibs_caps(&p->cpu->env) & IBS_CAPS_ZEN4
                     ? SRC_LOCAL_ZEN4 : SRC_LOCAL;

    switch (m->level) {
    case PMU_MEM_LLC:
        return local | DATA2_SHARED;
    case PMU_MEM_HITM:
        return local;
    case PMU_MEM_RAM:
        return SRC_RAM;
    }
    return 0;
}

static void fill_branch(PMUIbs *b, uint64_t latency)
{
    uint64_t data = DATA_COMP_TO_RET | (DATA_TAG_TO_RET + latency) << 16;

    b->reg[IBS_BR_TARGET] = 0;
    if (b->branch) {
        /* Far branches are always taken, and have no target here */
        data |= DATA_BRANCH | (b->ret ? DATA_RET : 0) |
                (b->taken || !b->target ? DATA_TAKEN : 0) |
                (b->miss ? DATA_MISS : 0);
        b->reg[IBS_BR_TARGET] = b->target;
    }
    b->reg[IBS_OP_DATA] = data;
}

/* Returns the latency of a load */
static uint64_t fill_memory(CPUX86State *env, const PMUMemInfo *m, bool ld)
{
    X86PMU *p = env_pmu(env);
    PMUIbs *b = &p->ibs;
    bool miss = m->level != PMU_MEM_L1;
    uint64_t latency = ld && miss ? pmu_pebs_latency(m) : 0;
    uint64_t data3 = DATA3_LIN, last = m->addr + MAX(m->size, 1) - 1;

    b->reg[IBS_DC_LIN] = m->addr;
    data3 |= translate(env, m->addr, &b->reg[IBS_DC_PHYS]) ? DATA3_PHYS : 0;
    data3 |= m->tlb_miss ? DATA3_L1_TLB_MISS | DATA3_L2_TLB_MISS |
                           (uint64_t)TLB_LATENCY << DATA3_TLB_LAT_SHIFT : 0;
    data3 |= miss ? DATA3_MISS | DATA3_L2_MISS : 0;
    data3 |= (m->addr ^ last) >> 6 ? DATA3_MISALIGNED : 0;
    data3 |= m->lock ? DATA3_LOCK : 0;
    data3 |= width(m->size) << DATA3_WIDTH_SHIFT | latency << DATA3_LAT_SHIFT;
    b->reg[IBS_OP_DATA3] |= data3;
    b->reg[IBS_OP_DATA2] = ld ? source(p, m) : 0;
    return latency;
}

/* True if a filter rejects the sample */
static bool filtered(uint64_t ctl, const PMUMemInfo *m, bool ld,
                     uint64_t latency)
{
    bool l3_miss = m && m->level == PMU_MEM_RAM;

    return (ctl & OP_L3_MISS && !l3_miss) ||
           (ctl & OP_LDLAT_EN &&
            (!ld || latency <= ((ctl & OP_LDLAT_THRESHOLD) >> 59) * 128 + 128));
}

/**
 * pmu_ibs_fill_op - write a sample of an op
 * @env: the CPU
 *
 * Return: false if it is to be dropped.
 */
bool pmu_ibs_fill_op(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    PMUIbs *b = &p->ibs;
    PMUMemInfo *last = p->pebs.last;
    const PMUMemInfo *m = last[0].valid ? &last[0] :
                          last[1].valid ? &last[1] : NULL;
    uint64_t latency = 0;

    b->reg[IBS_OP_DATA2] = b->reg[IBS_DC_LIN] = b->reg[IBS_DC_PHYS] = 0;
    b->reg[IBS_OP_DATA3] = (b->ld ? DATA3_LD : 0) | (b->st ? DATA3_ST : 0);
    if (m) {
        latency = fill_memory(env, m, b->ld);
    }
    b->reg[IBS_OP_RIP] = p->pebs.ip;
    fill_branch(b, latency);
    return !filtered(b->reg[IBS_OP_CTL], m, b->ld, latency);
}

/**
 * pmu_ibs_fill_fetch - write a sample of a fetch
 * @env: the CPU
 *
 * Return: false if it is to be dropped: no fetch misses.
 */
bool pmu_ibs_fill_fetch(CPUX86State *env)
{
    X86PMU *p = env_pmu(env);
    uint64_t *reg = p->ibs.reg, ip = p->pebs.ip;
    bool phys = translate(env, ip, &reg[IBS_FETCH_PHYS]);

    reg[IBS_FETCH_LIN] = ip;
    reg[IBS_FETCH_EXT] = 0;
    reg[IBS_FETCH_CTL] = (reg[IBS_FETCH_CTL] & ~FETCH_RESULT) | FETCH_COMP |
                         (phys ? FETCH_PHYS : 0) |
                         (uint64_t)FETCH_LATENCY << FETCH_LAT_SHIFT;
    return !(reg[IBS_FETCH_CTL] & FETCH_L3_MISS);
}

/* ---- the APIC ---------------------------------------------------------------- */

#define APIC_EXT_FEATURE    0x40
#define APIC_EXT_CONTROL    0x41
#define APIC_EILVT0         0x50
#define EILVT_VALID         0x107ffu

/**
 * x86_pmu_eilvt - the APIC has the extended registers
 * @cpu: the CPU
 */
bool x86_pmu_eilvt(X86CPU *cpu)
{
    return cpu->pmu && pmu_amd_ibs(&cpu->env);
}

static bool is_eilvt(int index)
{
    return index >= APIC_EILVT0 && index < APIC_EILVT0 + PMU_IBS_EILVT_NR;
}

/**
 * x86_pmu_eilvt_read - read an extended register of the APIC
 * @cpu: the CPU
 * @index: its offset / 16
 * @val: its value
 *
 * Return: false if there is no such register.
 */
bool x86_pmu_eilvt_read(X86CPU *cpu, int index, uint32_t *val)
{
    if (!x86_pmu_eilvt(cpu)) {
        return false;
    }
    if (is_eilvt(index)) {
        *val = cpu->pmu->ibs.eilvt[index - APIC_EILVT0];
        return true;
    }
    *val = index == APIC_EXT_FEATURE ? PMU_IBS_EILVT_NR << 16 : 0;
    return index == APIC_EXT_FEATURE || index == APIC_EXT_CONTROL;
}

/**
 * x86_pmu_eilvt_write - write an extended register of the APIC
 * @cpu: the CPU
 * @index: its offset / 16
 * @val: the value
 *
 * Return: false if there is no such register.
 */
bool x86_pmu_eilvt_write(X86CPU *cpu, int index, uint32_t val)
{
    if (!x86_pmu_eilvt(cpu)) {
        return false;
    }
    if (is_eilvt(index)) {
        cpu->pmu->ibs.eilvt[index - APIC_EILVT0] = val & EILVT_VALID;
        return true;
    }
    return index == APIC_EXT_FEATURE || index == APIC_EXT_CONTROL;
}
