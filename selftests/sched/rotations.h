/* SPDX-License-Identifier: GPL-2.0-only */
/* The number of rotations. */
#ifndef KPMU_TEST_ROTATIONS_H
#define KPMU_TEST_ROTATIONS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"

#define NATIVE_INTERVAL "/sys/bus/event_source/devices/cpu/perf_event_mux_interval_ms"

/* Rotations so far, by kpmu's statistics; natively an estimate by the clock */
static inline uint64_t rotations(void)
{
	static int fd = -1;
	char buf[4096], *p;
	ssize_t n;

	if (route_is_native())
		return now_ns() / 1000000 / read_long(NATIVE_INTERVAL);
	if (fd < 0)
		fd = open("/sys/kernel/debug/kpmu/stats", O_RDONLY);
	n = pread(fd, buf, sizeof(buf) - 1, 0);
	buf[n > 0 ? n : 0] = 0;
	p = strstr(buf, "rotations");
	if (!p) {
		printf("# no number of rotations in kpmu/stats\n");
		exit(1);
	}
	return strtoull(p + strlen("rotations"), NULL, 10);
}

#endif
