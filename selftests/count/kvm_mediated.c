// SPDX-License-Identifier: GPL-2.0-only
/*
 * A virtual machine that is given the counters themselves while it runs (mediated vPMU, from 7.0 on)
 * and events of the host exclude each other.
 */
#define _GNU_SOURCE
#include <linux/kvm.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "kvm.h"

struct machine {
	int kvm, vm, cpu;
};

/* The machine has the counters from the creation of its first CPU on.  Return: 0 or the errno of that */
static int make_machine(struct machine *m)
{
	/* Local APICs, which such a vPMU needs, and no other interrupt controllers, which some kernels lack */
	struct kvm_enable_cap split = { .cap = KVM_CAP_SPLIT_IRQCHIP, .args = { 24 } };

	m->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	m->vm = ioctl(m->kvm, KVM_CREATE_VM, 0);
	if (m->vm < 0 || ioctl(m->vm, KVM_ENABLE_CAP, &split)) {
		printf("# no virtual machine: %s\n", strerror(errno));
		exit(1);
	}
	m->cpu = ioctl(m->vm, KVM_CREATE_VCPU, 0);
	return m->cpu < 0 ? errno : 0;
}

static void end_machine(struct machine *m)
{
	if (m->cpu >= 0)
		close(m->cpu);
	close(m->vm);
	close(m->kvm);
}

static bool has_mediated_pmu(void)
{
	char line[256];
	bool found = false;
	FILE *f = fopen("/proc/kallsyms", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, " perf_create_mediated_pmu");
	if (f)
		fclose(f);
	if (!found || load_kvm("enable_mediated_pmu=1"))
		return false;
	f = fopen("/sys/module/kvm_amd/parameters/enable_mediated_pmu", "r");
	found = f && fgetc(f) == 'Y';
	if (f)
		fclose(f);
	return found;
}

#define NEED_MEDIATED() do {						\
	if (!has_mediated_pmu())					\
		SKIP(return, "no KVM with a mediated vPMU");		\
} while (0)

static struct perf_event_attr insns(int no_guest)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);

	a.exclude_guest = no_guest;
	return a;
}

TEST(machine_first)
{
	ROWS("U-41");
	struct perf_event_attr all = insns(0), host = insns(1);
	uint64_t end = patience();
	struct machine m;
	int err;

	NEED_MEDIATED();
	ASSERT_EQ(make_machine(&m), 0);
	EXPECT_EQ(ev_errno(&all, 0, -1, -1, 0), EOPNOTSUPP);
	EXPECT_EQ(ev_errno(&all, -1, 0, -1, 0), EOPNOTSUPP);
	/* kpmu does not hand the counters over when the machine is entered */
	EXPECT_EQ(ev_errno(&host, 0, -1, -1, 0), route_is_native() ? 0 : EOPNOTSUPP);
	/* What needs no counter is not refused */
	EXPECT_EQ(fd_errno(ev_self(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, -1)), 0);
	end_machine(&m);
	while ((err = ev_errno(&all, 0, -1, -1, 0)) && now_ns() < end)
		usleep(10000);
	EXPECT_EQ(err, 0);
}

TEST(event_first)
{
	ROWS("U-41");
	struct perf_event_attr all = insns(0);
	struct machine m;
	uint64_t before;
	int fd;

	NEED_MEDIATED();
	fd = ev_must(&all, 0, -1, -1, 0);
	EXPECT_EQ(make_machine(&m), EBUSY);
	end_machine(&m);
	ev_enable(fd);
	work(1000);
	before = ev_count(fd);
	EXPECT_GE(before, WORK_INSNS(1000));
	close(fd);
	/* kpmu keeps the counters for a while, but not from the machine */
	EXPECT_EQ(make_machine(&m), 0);
	end_machine(&m);
}

TEST_HARNESS_MAIN
