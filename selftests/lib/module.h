/* SPDX-License-Identifier: GPL-2.0-only */
/* Load and unload the module from a test.  Its path in the guest is /kpmu.ko. */
#ifndef KPMU_TEST_MODULE_H
#define KPMU_TEST_MODULE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event.h"

/* Module parameters of this guest (qemu/run.sh -P), so that a reload does not lose check=1 */
static inline void module_params(char *to, size_t room)
{
	FILE *f = fopen("/run/env", "re");
	char line[256], *p = NULL;

	*to = 0;
	while (f && !p && fgets(line, sizeof(line), f))
		p = strstr(line, "KPMU_PARAMS='");
	if (p) {
		p += strlen("KPMU_PARAMS='");
		snprintf(to, room, "%.*s", (int)strcspn(p, "'"), p);
	}
	if (f)
		fclose(f);
}

/* Load the module with @params after those of the guest; 0 or the errno */
static inline int module_load(const char *params)
{
	int fd = open("/kpmu.ko", O_RDONLY | O_CLOEXEC), err;
	char all[256];

	if (fd < 0)
		return errno;
	module_params(all, sizeof(all) / 2);
	snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", params);
	err = syscall(SYS_finit_module, fd, all, 0) ? errno : 0;
	close(fd);
	return err;
}

static inline int module_unload(void)
{
	return syscall(SYS_delete_module, "kpmu", O_NONBLOCK) ? errno : 0;
}

/* Retry while the module is in use: its last references may be dropped with a delay */
static inline int module_unload_at_last(void)
{
	uint64_t end = patience();
	int err;

	while ((err = module_unload()) == EAGAIN && now_ns() < end)
		usleep(10000);
	return err;
}

#endif
