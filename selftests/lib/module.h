/* SPDX-License-Identifier: GPL-2.0-only */
/* The module loaded and unloaded by a test.  The guest has it as /kpmu.ko. */
#ifndef KPMU_TEST_MODULE_H
#define KPMU_TEST_MODULE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 0 or the errno */
static inline int module_load(const char *params)
{
	int fd = open("/kpmu.ko", O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	err = syscall(SYS_finit_module, fd, params, 0) ? errno : 0;
	close(fd);
	return err;
}

static inline int module_unload(void)
{
	return syscall(SYS_delete_module, "kpmu", O_NONBLOCK) ? errno : 0;
}

#endif
