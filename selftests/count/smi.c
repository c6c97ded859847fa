// SPDX-License-Identifier: GPL-2.0-only
/*
 * System-management mode and freeze_on_smi.  A write to the chipset's port B2H raises an SMI on
 * the first CPU: it runs the firmware's SMI handler at CPL 0, invisible to the kernel.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/io.h>
#include <sys/ioctl.h>

#include "event.h"
#include "harness.h"
#include "module.h"

/* The module is loaded again, so no child may have the device open from its start */
const bool ev_device_late = true;

#define PORT_NOTHING	0x80
#define PORT_SMI	0xb2
#define COMMAND		0x77	/* the firmware knows no such command */
#define TRIES		50

#define NATIVE_KNOB	"/sys/bus/event_source/devices/cpu/freeze_on_smi"

static const char *knob(void)
{
	return route_is_native() ? NATIVE_KNOB : "/sys/bus/kpmu/devices/cpu/freeze_on_smi";
}

static int in_kernel(void)
{
	struct perf_event_attr a = ev_attr(PERF_TYPE_HARDWARE,
					   PERF_COUNT_HW_INSTRUCTIONS);

	a.exclude_kernel = 0;
	a.exclude_user = 1;
	a.disabled = 0;
	return ev_must(&a, 0, -1, -1, 0);
}

/*
 * Kernel-mode instructions between two reads of the event with one outb() to @port between
 * them: the least of TRIES measurements.
 */
static uint64_t cost(int fd, unsigned short port)
{
	uint64_t before, after, least = -1;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = ev_count(fd);
		outb(COMMAND, port);
		after = ev_count(fd);
		if (after - before < least)
			least = after - before;
	}
	return least;
}

static void prepare(void)
{
	if (read_long(knob()) < 0)
		SKIP(return, "no freezing in SMM here");
	if (!exact())
		SKIP(return, "SMIs of a real machine are left alone");
	if (ioperm(PORT_NOTHING, 1, 1) || ioperm(PORT_SMI, 1, 1))
		SKIP(return, "no way to ports");
	pin_to(0);
}

TEST(freeze_on_smi)
{
	uint64_t none, counted;
	long old;
	int fd;

	prepare();
	fd = in_kernel();
	/* The kernel sets the bit by default on CPUs that support it; restored below */
	old = read_long(knob());
	EXPECT_EQ(write_long(knob(), 0), 0);
	EXPECT_EQ(read_long(knob()), 0);
	none = cost(fd, PORT_NOTHING);
	counted = cost(fd, PORT_SMI);
	TH_LOG("the handler takes %ld instructions", (long)(counted - none));
	EXPECT_GT(counted, none);

	EXPECT_EQ(write_long(knob(), 1), 0);
	EXPECT_EQ(read_long(knob()), 1);
	EXPECT_EQ(cost(fd, PORT_SMI), none);
	EXPECT_EQ(write_long(knob(), 0), 0);
	EXPECT_EQ(read_long(knob()), 0);
	EXPECT_EQ(cost(fd, PORT_SMI), counted);
	EXPECT_EQ(write_long(knob(), old), 0);
	EXPECT_EQ(read_long(knob()), old);
}

/* The knob exists whatever the hardware's bit is while the module is loaded */
TEST(loaded_with_each_value)
{
	long old;
	int val;

	if (route_is_native())
		SKIP(return, "about loading kpmu");
	prepare();
	old = read_long(NATIVE_KNOB);
	ASSERT_GE(old, 0);
	for (val = 0; val <= 1; val++) {
		ASSERT_EQ(module_unload_at_last(), 0);
		EXPECT_EQ(write_long(NATIVE_KNOB, val), 0);
		ASSERT_EQ(module_load(""), 0);
		EXPECT_EQ(read_long(knob()), val);
	}
	ASSERT_EQ(module_unload_at_last(), 0);
	EXPECT_EQ(write_long(NATIVE_KNOB, old), 0);
	ASSERT_EQ(module_load(""), 0);
}

TEST(knob_takes_0_and_1)
{
	long old;
	int fd;

	prepare();
	old = read_long(knob());
	EXPECT_EQ(write_long(knob(), 2), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(write_long(knob(), -1), -1);
	fd = open(knob(), O_WRONLY);
	EXPECT_EQ(write(fd, "x", 1), -1);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(read_long(knob()), old);
}

/*
 * A CPU that comes online must use the current setting.  Check FREEZE_WHILE_SMM in its register:
 * bit 14 of IA32_DEBUGCTL (MSR 1D9H).
 */
static void check_back(struct __test *_metadata, int cpu, int want)
{
	uint64_t debugctl = 0;
	char path[40];
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	EXPECT_EQ(cpu_online(cpu, 0), 0);
	EXPECT_EQ(write_long(knob(), want), 0);
	EXPECT_EQ(cpu_online(cpu, 1), 0);
	fd = open(path, O_RDONLY);
	EXPECT_EQ(pread(fd, &debugctl, 8, 0x1d9), 8);
	EXPECT_EQ(debugctl >> 14 & 1, want);
	close(fd);
}

TEST(after_hotplug)
{
	int cpu = nr_cpus() - 1;
	long old;

	prepare();
	if (cpu == 0 || access("/dev/cpu/0/msr", R_OK))
		SKIP(return, "no CPU that may go, or no /dev/cpu/0/msr");
	old = read_long(knob());
	check_back(_metadata, cpu, 0);
	check_back(_metadata, cpu, 1);
	check_back(_metadata, cpu, old);
}

TEST_HARNESS_MAIN
